"""The tables that a SQL engine makes on the way: messages and guards, within a memory budget."""

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
from hornbeam.engines.sql.sizes import Sizes
from hornbeam.errors import EngineError

MOST_COLUMNS = 200
"""Numbers in one table; PostgreSQL rows must fit a page of 8 kB."""
CELL = 8
"""Bytes of one number or key in a table, for the budget."""


@dataclass(frozen=True, slots=True)
class _MessageTable:
    """A table of messages, and its size."""

    messages: tuple[SqlMessage, ...]
    size: int


class TableMaker(Protocol):
    """Makes tables: a connection, or something that remembers how they are made."""

    @property
    def dialect(self) -> Dialect: ...
    def new_name(self) -> str: ...
    def create(self, name: str, query: exp.Select) -> None: ...
    def drop(self, name: str) -> None: ...


class MessageQueries:
    """Remembers the queries of tables, to be parts of one query that a connection runs."""

    def __init__(self, connection: Connection) -> None:
        self.dialect = connection.dialect
        self.new_name = connection.new_name
        self._parts: list[tuple[str, exp.Select]] = []

    def create(self, name: str, query: exp.Select) -> None:
        self._parts.append((name, query))

    def drop(self, name: str) -> None:
        raise AssertionError("parts of a query go with it")

    def around(self, query: exp.Select) -> exp.Select:
        """The query with all that it reads."""
        for name, part in self._parts:
            # A name as text would be parsed.
            query = query.with_(exp.TableAlias(this=exp.to_identifier(name)), as_=part, copy=False)
        return query


class MessageTables:
    """Messages computed once each, many in one pass; those used longest ago go first."""

    def __init__(self, source: SqlSource, connection: TableMaker, sizes: Sizes, memory: int) -> None:
        self._source = source
        self._connection = connection
        self._sizes = sizes
        self._memory = memory
        self._placed: dict[SqlMessage, MessageTable] = {}
        self._largest: dict[SqlMessage, int] = {}
        self._tables: OrderedDict[str, _MessageTable] = OrderedDict()
        self._bytes = 0
        self.guards: dict[Guard, str] = {}
        """tables of guards; those of the examples' bindings are put here by their owner"""

    @property
    def tables(self) -> Tables:
        return Tables(self._placed, self.guards, self._largest, self._sizes.population)

    @property
    def is_empty(self) -> bool:
        """Whether no table was made."""
        return not self._tables and not any(isinstance(guard, Projection) for guard in self.guards)

    def beside(self, queries: MessageQueries) -> MessageTables:
        """The same messages, guards and sizes; what is new becomes part of a query."""
        found = MessageTables(self._source, queries, self._sizes, self._memory)
        found._placed.update(self._placed)
        found._largest.update(self._largest)
        found.guards.update(self.guards)
        return found

    def cost(self, formula: Formula, planned: set[SqlMessage]) -> int:
        """Bytes of the tables that a formula needs and that neither exist nor are planned, which it adds."""
        bytes_needed = 0
        for message in needed([formula]):
            if not message.is_relation and message not in planned and message not in self._placed:
                planned.add(message)
                bytes_needed += CELL * self._sizes.rows(message.shape)
        return bytes_needed

    def place(self, formulas: Iterable[Formula]) -> None:
        """Make the tables of all messages that formulas need."""
        self._place(needed(formulas))

    def place_children(self, messages: Iterable[SqlMessage]) -> None:
        """Make the tables of all messages that some messages read."""
        seen: set[SqlMessage] = set()
        children = (child.message for message in messages for child in message.children)
        self._place(below for child in children for below in _walk(child, seen))

    def _place(self, messages: Iterable[SqlMessage]) -> None:
        new: list[SqlMessage] = []
        for message in messages:
            if message.is_relation:
                self._largest[message] = 1
            elif message in self._placed:
                if self._placed[message].table in self._tables:
                    self._tables.move_to_end(self._placed[message].table)
            else:
                new.append(message)
        for group in _passes(new):
            self._make(group)

    def queries(
        self, messages: Sequence[SqlMessage], by_example: bool
    ) -> Iterator[tuple[list[SqlMessage], exp.Select]]:
        """Messages that are counts of clauses: queries of key and numbers, several in one pass.

        The key is the example, or else the one anchor. What they read must be placed; a key without a
        row has the count 0.
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
        """Drop tables, the ones used longest ago first, until the rest fits the budget."""
        while self._bytes > self._memory and self._tables:
            name, table = self._tables.popitem(last=False)
            self._connection.drop(name)
            self._bytes -= table.size
            for message in table.messages:
                del self._placed[message]

    def close(self) -> None:
        made = [name for guard, name in self.guards.items() if isinstance(guard, Projection)]
        for name in (*self._tables, *made):
            # A connection that is gone has removed them itself.
            with suppress(EngineError):
                self._connection.drop(name)
        self._tables.clear()
        self._placed.clear()
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
            self._placed[message] = MessageTable(name, f"n{number}")

    def _guard(self, guard: Projection) -> None:
        if guard in self.guards:
            return
        if isinstance(guard.of.guard, Projection):
            self._guard(guard.of.guard)
        name = self._connection.new_name()
        self._connection.create(name, projection_query(self._source, guard, self.guards))
        self.guards[guard] = name


def needed(formulas: Iterable[Formula]) -> Iterator[SqlMessage]:
    """Every message that formulas use, children before parents, each once."""
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
    """Messages in groups that one pass computes, each after the groups that it reads.

    A group has one shape and the same children on several variables: those restrict the join, so
    each choice of them is a pass of its own, while children on one variable only multiply. A
    message that no other reads waits for the last of its kind.
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
