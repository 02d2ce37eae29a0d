"""What the SQL engines share: a loaded database as a source, and sessions on a connection."""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from sqlglot import exp

from hornbeam.data.database import UNKNOWN, Codes, Database
from hornbeam.engines.contract import DEFAULT_MEMORY, Counts, Engine, Session, Skipped
from hornbeam.engines.sql.expressions import Dialect, SqlRelation, SqlSource, integer
from hornbeam.engines.sql.messages import Connection, Values
from hornbeam.engines.sql.query_texts import QueryTexts
from hornbeam.engines.sql.session import SqlSession
from hornbeam.engines.sql.sizes import ColumnSizes, Statistics
from hornbeam.errors import OptionError
from hornbeam.logic.clauses import AT_LEAST, Clause, Value
from hornbeam.logic.schema import Schema, number_of


class LoadedSource:
    """The facts of a ``Database``, each relation copied to the engine when first asked for.

    Constants are the database's codes, so no name ever becomes SQL. Those of a numeric type are
    their places in the order of values, so that a comparison of values is one of integers.
    """

    coded = True

    def __init__(self, database: Database, connection: Connection) -> None:
        self._database = database
        self._connection = connection
        self._relations: dict[str, SqlRelation] = {}
        self._sizes: dict[tuple[str, int], ColumnSizes] = {}
        self._places: dict[str, Codes] = {}

    @property
    def schema(self) -> Schema:
        return self._database.schema

    def relation(self, predicate: str) -> SqlRelation:
        known = self._relations.get(predicate)
        if known is None:
            types = self.schema.types_of(predicate)
            relation = self._database.relation(predicate)
            columns = [self._placed(t, codes) for t, codes in zip(types, relation.columns, strict=True)]
            names = tuple(f"c{position}" for position in range(len(columns)))
            loaded = dict(zip(names, columns, strict=True))
            times = self._database.times.get(predicate)
            if times is not None:
                # As the keys have it: a cut-off is how many of the distinct times are not after it.
                moments = self._database.moments
                loaded["since"] = np.searchsorted(moments, times, "left").astype(np.int32)
            table = self._connection.new_name()
            self._connection.load(table, loaded)
            known = SqlRelation(exp.to_table(table), names, True, None if times is None else "since")
            self._relations[predicate] = known
        return known

    def timed(self) -> frozenset[str]:
        return frozenset(self._database.times)

    def exists(self, since: exp.Expr, cutoff: exp.Expr) -> exp.Expr:
        return exp.LT(this=since, expression=cutoff)

    def equals(self, value: exp.Expr, type_name: str, name: str) -> exp.Expr:
        code = self._database.population(type_name).code(name)
        if code == UNKNOWN:
            return exp.false()
        placed = int(self._placed(type_name, np.array([code], dtype=np.int32))[0])
        return exp.EQ(this=value, expression=integer(placed))

    def compares(self, value: exp.Expr, type_name: str, operator: str, threshold: Value) -> exp.Expr:
        below = int(np.count_nonzero(self._database.numbers[type_name] < number_of(threshold)))
        if operator == AT_LEAST:
            return exp.GTE(this=value, expression=integer(below))
        # An unknown key is -1: it has no value and is on neither side.
        return exp.Between(this=value, low=integer(0), high=integer(below - 1)) if below else exp.false()

    def key_values(self, type_name: str, codes: Codes) -> Values:
        # Unknown keys stay -1: no fact has that code.
        return self._placed(type_name, codes)

    def bound(self, keys: str, types: Sequence[str]) -> exp.Select | None:
        return None

    def _placed(self, type_name: str, codes: Codes) -> Codes:
        """Places in the order of values for codes of a numeric type; other codes, and -1, as they are."""
        if type_name not in self.schema.numeric:
            return codes
        if type_name not in self._places:
            numbers = self._database.numbers[type_name]
            # One place more, and last, so that the code -1 finds it.
            places = np.full(len(numbers) + 1, UNKNOWN, dtype=np.int32)
            places[np.argsort(numbers, kind="stable")] = np.arange(len(numbers), dtype=np.int32)
            self._places[type_name] = places
        return self._places[type_name][codes]

    def population(self, type_name: str, comparisons: Sequence[tuple[str, Value]] = ()) -> int:
        if not comparisons:
            return len(self._database.population(type_name))
        numbers = self._database.numbers[type_name]
        met = np.ones(len(numbers), dtype=np.bool_)
        for operator, value in comparisons:
            threshold = number_of(value)
            met &= numbers >= threshold if operator == AT_LEAST else numbers < threshold
        return int(np.count_nonzero(met))

    def rows(self, predicate: str) -> int:
        return len(self._database.relation(predicate))

    def sizes(self, predicate: str, position: int) -> ColumnSizes:
        place = (predicate, position)
        if place not in self._sizes:
            counts = np.bincount(self._database.relation(predicate).columns[position])
            self._sizes[place] = ColumnSizes(int(np.count_nonzero(counts)), int(counts.max(initial=0)))
        return self._sizes[place]


class SourceInPlace(SqlSource, Statistics, Protocol):
    """Facts that stay in their tables, and the connection that reads them."""

    @property
    def connection(self) -> Connection: ...


class SqlEngine(Engine):
    """Counts by SQL; subclasses say where it runs."""

    _dialect: Dialect

    def __init__(self, database: Database, memory: int = DEFAULT_MEMORY) -> None:
        super().__init__(database, memory)
        self._connection: Connection | None = None
        self._source: LoadedSource | None = None
        self._finalizer: Callable[[], object] | None = None
        self._texts = QueryTexts()

    @abstractmethod
    def _connect(self) -> Connection:
        """A new connection."""

    def count(self, clauses: Sequence[Clause], keys: Codes) -> list[Counts | Skipped]:
        session = self._session(keys)
        try:
            return session.counts(clauses)
        finally:
            session.close()

    def session(self, keys: Codes, logarithm: bool = False) -> Session:
        return self._session(keys, logarithm)

    def close(self) -> None:
        """Let go of the connection, and remove what was made through it; a later call connects anew."""
        if self._finalizer is not None:
            self._finalizer()
        self._connection = self._source = self._finalizer = None
        self._texts = QueryTexts()

    def _session(self, keys: Codes, logarithm: bool = False) -> SqlSession:
        tables = self.database.tables
        if tables is not None:
            if tables.engine != self._dialect.name:
                raise OptionError(
                    f'the facts are in tables of {tables.engine}: use engine="{tables.engine}".'
                )
            source: SourceInPlace = tables.source
            return SqlSession(
                source.connection, source, source, keys, self.total, self.memory, logarithm, self._texts
            )
        if self._connection is not None and self._connection.inherited:
            self.close()
        if self._connection is None or self._source is None:
            self._connection = self._connect()
            self._finalizer = weakref.finalize(self, _close, self._connection)
            self._source = LoadedSource(self.database, self._connection)
        loaded = self._source
        return SqlSession(
            self._connection, loaded, loaded, keys, self.total, self.memory, logarithm, self._texts
        )


def _close(connection: Connection) -> None:
    if not connection.inherited:
        connection.close()
