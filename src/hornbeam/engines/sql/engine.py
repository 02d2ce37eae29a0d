"""The base of the SQL engines: it opens a connection, and groups groundings in queries on it."""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol

from hornbeam.data.database import Codes, Database
from hornbeam.engines.contract import DEFAULT_MEMORY, Skipped
from hornbeam.engines.features.answers import TallyEngine
from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.expressions import Dialect
from hornbeam.engines.sql.loaded import LoadedSource
from hornbeam.engines.sql.tallies.answers import KeptTallies, SqlTallies
from hornbeam.engines.sql.tallies.fetched_facts import FetchedFacts
from hornbeam.engines.sql.tallies.queries import TallySource
from hornbeam.engines.tally import Tally, TallyRequest, TallySizes
from hornbeam.errors import OptionError

FETCHED_SHARE = 4
"""Facts that are fetched for tallies have this part of the memory."""


class SourceInPlace(TallySource, Protocol):
    """Facts that stay in their tables, and the connection that reads them."""

    @property
    def connection(self) -> Connection: ...


class SqlEngine(TallyEngine):
    """Answers with SQL; a subclass connects to a SQL system."""

    _dialect: Dialect

    def __init__(self, database: Database, memory: int = DEFAULT_MEMORY) -> None:
        super().__init__(database, memory)
        self._connection: Connection | None = None
        self._source: LoadedSource | None = None
        self._finalizer: Callable[[], object] | None = None
        self._tally_sizes = TallySizes(database, memory)

    @abstractmethod
    def _connect(self) -> Connection:
        """Open a new connection."""

    def tally(self, requests: Sequence[TallyRequest], keys: Codes) -> list[Tally | Skipped]:
        connection, source = self._opened()
        return self._tallies_of(connection, source, keys).answers(requests)

    def expect_tallies(self, requests: Sequence[TallyRequest], keys: Codes) -> None:
        connection, source = self._opened()
        self._tallies_of(connection, source, keys).expect(requests)

    def _tallies_of(self, connection: Connection, source: TallySource, keys: Codes) -> SqlTallies:
        """The tallies of some examples. Their tables are kept until another engine asks."""
        kept = connection.kept
        if not isinstance(kept, KeptTallies) or not kept.is_for(self.database, self._tally_sizes):
            if kept is not None:
                kept.close()
            facts = FetchedFacts(self.database, connection, source, self.memory // FETCHED_SHARE)
            connection.kept = kept = KeptTallies(facts, self._tally_sizes)
        return kept.of(keys)

    def close(self) -> None:
        """Close the connection and drop the tables made through it; a later call opens a new one."""
        if self._finalizer is not None:
            self._finalizer()
        self._connection = self._source = self._finalizer = None

    def _opened(self) -> tuple[Connection, TallySource]:
        """The connection, opened if necessary, and the facts that it reads."""
        tables = self.database.tables
        if tables is not None:
            if tables.engine != self._dialect.name:
                raise OptionError(
                    f'the facts are in tables of {tables.engine}: use engine="{tables.engine}".'
                )
            source: SourceInPlace = tables.source
            return source.connection, source
        if self._connection is not None and self._connection.inherited:
            self.close()
        if self._connection is None or self._source is None:
            self._connection = self._connect()
            self._finalizer = weakref.finalize(self, _close, self._connection)
            self._source = LoadedSource(self.database, self._connection)
        return self._connection, self._source


def _close(connection: Connection) -> None:
    if not connection.inherited:
        connection.close()
