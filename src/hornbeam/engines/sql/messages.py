"""The intermediate tables of a SQL engine: messages and guards, within a memory budget."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.expressions import Dialect, SqlSource, integer
from hornbeam.engines.sql.plan import Attached, Formula, Guard, Projection, Shape, SqlMessage
from hornbeam.engines.sql.queries import MessageTable, Tables, message_query, projection_query
from hornbeam.engines.sql.sizes import MOST_MESSAGES, Sizes
from hornbeam.errors import EngineError

MOST_COLUMNS = 200
"""Maximum number of number columns in a table; a row of PostgreSQL must fit a page of 8 kB."""
CELL = 8
"""Bytes of the budget that one number or key in a table uses."""


@dataclass(frozen=True, slots=True)
class _MessageTable:
    """The messages in a table, and the table's size."""

    messages: tuple[SqlMessage, ...]
    size: int


class TableMaker(Protocol):
    """Makes tables: a connection, or an object that records their queries."""

    @property
    def dialect(self) -> Dialect: ...
    def new_name(self) -> str: ...
    def create(self, name: str, query: exp.Select) -> None: ...
    def drop(self, name: str) -> None: ...


class MessageQueries:
    """Records the queries of tables as common table expressions of one query."""

    def __init__(self, connection: Connection) -> None:
        self.dialect = connection.dialect
        self.new_name = connection.new_name
        self._queries: list[tuple[str, exp.Select]] = []

    def create(self, name: str, query: exp.Select) -> None:
        self._queries.append((name, query))

    def drop(self, name: str) -> None:
        raise AssertionError("a common table expression cannot be dropped: it ends with its query")

    def around(self, query: exp.Select) -> exp.Select:
        """A query together with the recorded queries that it reads."""
        for name, recorded in self._queries:
            # sqlglot would parse a name that is given as text.
            query = query.with_(exp.TableAlias(this=exp.to_identifier(name)), as_=recorded, copy=False)
        return query


class MessageTables:
    """Tables of messages: each message is computed once, many in one pass.

    When the budget is exceeded, the least recently used tables are dropped first.
    """

    def __init__(self, source: SqlSource, connection: TableMaker, sizes: Sizes, memory: int) -> None:
        self._source = source
        self._connection = connection
        self._sizes = sizes
        self._memory = memory
        self._places: dict[SqlMessage, MessageTable] = {}
        self._largest: dict[SqlMessage, int] = {}
        self._tables: OrderedDict[str, _MessageTable] = OrderedDict()
        self._bytes = 0
        self.guards: dict[Guard, str] = {}
        """the table of each guard; the session adds those of the examples' bindings"""

    @property
    def tables(self) -> Tables:
        return Tables(self._places, self.guards, self._largest, self._sizes.population)

    @property
    def is_empty(self) -> bool:
        """Whether no table exists."""
        return not self._tables and not any(isinstance(guard, Projection) for guard in self.guards)

    def beside(self, queries: MessageQueries) -> MessageTables:
        """A copy with the same messages, guards and sizes that records the queries of new tables."""
        copy = MessageTables(self._source, queries, self._sizes, self._memory)
        copy._places.update(self._places)
        copy._largest.update(self._largest)
        copy.guards.update(self.guards)
        return copy

    def cost(self, formula: Formula, planned: set[SqlMessage]) -> int:
        """Bytes of the tables that a formula needs, without tables that exist or are planned already.

        Their messages are added to ``planned``.
        """
        bytes_needed = 0
        for message in needed([formula]):
            if not message.is_relation and message not in planned and message not in self._places:
                planned.add(message)
                bytes_needed += CELL * self._sizes.rows(message.shape)
        return bytes_needed

    def make_for(self, formulas: Iterable[Formula]) -> None:
        """Make the tables of all messages that formulas need."""
        self._make_missing(needed(formulas))

    def make_all(self, messages: Iterable[SqlMessage]) -> None:
        """Make the tables of messages and of all that they read."""
        seen: set[SqlMessage] = set()
        self._make_missing(below for message in messages for below in _walk(message, seen))

    def make_children(self, messages: Iterable[SqlMessage]) -> None:
        """Make the tables of all messages that the given messages read."""
        self.make_all(child.message for message in messages for child in message.children)

    def _make_missing(self, messages: Iterable[SqlMessage]) -> None:
        new: list[SqlMessage] = []
        for message in messages:
            if message.is_relation:
                self._largest[message] = 1
            elif message in self._places:
                if self._places[message].table in self._tables:
                    self._tables.move_to_end(self._places[message].table)
            else:
                new.append(message)
        for group in _passes(new):
            self._make(group)

    def queries(
        self, messages: Sequence[SqlMessage], by_example: bool
    ) -> Iterator[tuple[list[SqlMessage], exp.Select]]:
        """Queries that return messages which are counts of clauses, by key; one query returns several.

        The key is the number of a binding or, without bindings, the value of the only anchor. The
        children's tables must exist. A key without a row has the count 0.
        """
        for group in _passes(messages):
            for message in group:
                self._largest[message] = self._sizes.largest(message)
            dialect = self._connection.dialect
            query = message_query(self._source, dialect, group, self.tables, by_example)
            numbers = [
                exp.Coalesce(this=number.this, expressions=[integer(0)]) for number in query.selects[1:]
            ]
            query.set("expressions", [query.selects[0], *numbers])
            yield group, query

    def trim(self) -> None:
        """Drop the least recently used tables until the others fit the budget."""
        while self._bytes > self._memory and self._tables:
            name, table = self._tables.popitem(last=False)
            self._connection.drop(name)
            self._bytes -= table.size
            for message in table.messages:
                del self._places[message]
        if len(self._largest) > len(self._places) + MOST_MESSAGES:
            self._largest = {message: self._largest[message] for message in self._places}

    def close(self) -> None:
        projections = [name for guard, name in self.guards.items() if isinstance(guard, Projection)]
        for name in (*self._tables, *projections):
            # A connection that was lost has dropped them already.
            with suppress(EngineError):
                self._connection.drop(name)
        self._tables.clear()
        self._places.clear()
        self._largest.clear()
        self.guards.clear()
        self._bytes = 0

    def _make(self, messages: Sequence[SqlMessage]) -> None:
        shape = messages[0].shape
        if isinstance(shape.guard, Projection):
            self._guard(shape.guard)
        for message in messages:
            self._largest[message] = self._sizes.largest(message)
        query = message_query(self._source, self._connection.dialect, messages, self.tables)
        name = self._connection.new_name()
        self._connection.create(name, query)
        size = CELL * self._sizes.rows(shape) * (shape.anchors + len(messages))
        self._tables[name] = _MessageTable(tuple(messages), size)
        self._bytes += size
        for number, message in enumerate(messages):
            self._places[message] = MessageTable(name, f"n{number}")

    def _guard(self, guard: Projection) -> None:
        if guard in self.guards:
            return
        if isinstance(guard.of.guard, Projection):
            self._guard(guard.of.guard)
        name = self._connection.new_name()
        self._connection.create(name, projection_query(self._source, guard, self.guards))
        self.guards[guard] = name


def needed(formulas: Iterable[Formula]) -> Iterator[SqlMessage]:
    """Every message that formulas use, once each, children before parents."""
    seen: set[SqlMessage] = set()
    for formula in formulas:
        for term in formula.terms:
            for factor in term.factors:
                yield from _walk(factor.message, seen)


def _walk(message: SqlMessage, seen: set[SqlMessage]) -> Iterator[SqlMessage]:
    if message not in seen:
        seen.add(message)
        for child in message.children:
            yield from _walk(child.message, seen)
        yield message


def _depth(message: SqlMessage) -> int:
    return 1 + max((_depth(c.message) for c in message.children if not c.message.is_relation), default=0)


def _passes(messages: Sequence[SqlMessage]) -> Iterator[list[SqlMessage]]:
    """Groups of messages that one pass computes, each after the groups that it reads.

    A group has one shape and the same children on several variables: such children restrict the
    join, so each combination of them needs its own pass, while children on one variable only
    multiply. A message that no other message reads joins the last group of its kind.
    """
    kinds: dict[SqlMessage, tuple[Shape, tuple[Attached, ...]]] = {}
    last: dict[tuple[Shape, tuple[Attached, ...]], int] = {}
    read = {child.message for message in messages for child in message.children}
    for message in messages:
        links = tuple(child for child in message.children if len(child.at) > 1)
        kind = kinds[message] = (message.shape, links)
        last[kind] = max(last.get(kind, 0), _depth(message))
    groups: dict[tuple[int, tuple[Shape, tuple[Attached, ...]]], list[SqlMessage]] = {}
    for message, own in kinds.items():
        turn = _depth(message) if message in read else last[own]
        groups.setdefault((turn, own), []).append(message)
    for _, group in sorted(groups.items(), key=lambda item: item[0][0]):
        for start in range(0, len(group), MOST_COLUMNS):
            yield group[start : start + MOST_COLUMNS]
