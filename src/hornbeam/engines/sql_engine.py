"""What the SQL engines share: a loaded database as a source, and sessions on a connection."""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from sqlglot import exp

from hornbeam.clauses import Clause
from hornbeam.database import UNKNOWN, Codes, Database
from hornbeam.engines.contract import DEFAULT_MEMORY, Counts, Engine, Session, Skipped
from hornbeam.engines.sql import SqlRelation, integer
from hornbeam.engines.sql_messages import Connection, Values
from hornbeam.engines.sql_session import SqlSession
from hornbeam.engines.sql_sizes import ColumnSizes
from hornbeam.schema import Schema


class LoadedSource:
    """The facts of a ``Database``, each relation copied to the engine when first asked for.

    Constants are the database's codes, so no name ever becomes SQL.
    """

    def __init__(self, database: Database, connection: Connection) -> None:
        self._database = database
        self._connection = connection
        self._relations: dict[str, SqlRelation] = {}
        self._sizes: dict[tuple[str, int], ColumnSizes] = {}

    @property
    def schema(self) -> Schema:
        return self._database.schema

    def relation(self, predicate: str) -> SqlRelation:
        known = self._relations.get(predicate)
        if known is None:
            columns = self._database.relation(predicate).columns
            names = tuple(f"c{position}" for position in range(len(columns)))
            table = self._connection.new_name()
            self._connection.load(table, dict(zip(names, columns, strict=True)))
            known = self._relations[predicate] = SqlRelation(exp.to_table(table), names, own=True)
        return known

    def equals(self, value: exp.Expr, type_name: str, name: str) -> exp.Expr:
        code = self._database.population(type_name).code(name)
        return exp.false() if code == UNKNOWN else exp.EQ(this=value, expression=integer(code))

    def key_values(self, type_name: str, codes: Codes) -> Values:
        # Unknown keys stay -1: no fact has that code.
        return codes

    def population(self, type_name: str) -> int:
        return len(self._database.population(type_name))

    def rows(self, predicate: str) -> int:
        return len(self._database.relation(predicate))

    def sizes(self, predicate: str, position: int) -> ColumnSizes:
        place = (predicate, position)
        if place not in self._sizes:
            counts = np.bincount(self._database.relation(predicate).columns[position])
            self._sizes[place] = ColumnSizes(int(np.count_nonzero(counts)), int(counts.max(initial=0)))
        return self._sizes[place]


class SqlEngine(Engine):
    """Counts by SQL; subclasses say where it runs."""

    def __init__(self, database: Database, memory: int = DEFAULT_MEMORY) -> None:
        super().__init__(database, memory)
        self._connection: Connection | None = None
        self._source: LoadedSource | None = None
        self._finalizer: Callable[[], object] | None = None

    @abstractmethod
    def _connect(self) -> Connection:
        """A new connection."""

    def count(self, clauses: Sequence[Clause], keys: Codes) -> list[Counts | Skipped]:
        session = self._session(keys)
        try:
            return session.counts(clauses)
        finally:
            session.close()

    def session(self, keys: Codes) -> Session:
        return self._session(keys)

    def close(self) -> None:
        """Let go of the connection, and remove what was made through it; a later call connects anew."""
        if self._finalizer is not None:
            self._finalizer()
        self._connection = self._source = self._finalizer = None

    def _session(self, keys: Codes) -> SqlSession:
        if self._connection is None or self._source is None:
            self._connection = self._connect()
            self._finalizer = weakref.finalize(self, self._connection.close)
            self._source = LoadedSource(self.database, self._connection)
        return SqlSession(self._connection, self._source, self._source, keys, self.total, self.memory)
