"""Counts by DuckDB, embedded in the process, out of core."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
from sqlglot import exp

from hornbeam.engines.sql import DUCKDB, create_table, drop_table
from hornbeam.engines.sql_engine import SqlEngine
from hornbeam.engines.sql_messages import Connection, Values

LEAST_MEMORY = 256_000_000
"""DuckDB needs some memory to work in, whatever the budget for partial results."""


class DuckDBConnection(Connection):
    """A DuckDB in this process; what exceeds its memory goes to a folder that is removed at the end."""

    dialect = DUCKDB

    def __init__(self, memory: int) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="hornbeam-")
        self._duckdb = duckdb.connect(
            config={
                "memory_limit": f"{max(memory, LEAST_MEMORY)}B",
                "temp_directory": self._folder.name,
                "preserve_insertion_order": "false",
                "autoinstall_known_extensions": "false",
            }
        )

    def create(self, name: str, query: exp.Select) -> None:
        self._execute(self.dialect.text(create_table(name, query)))

    def load(self, name: str, columns: Mapping[str, Values]) -> None:
        view = f"{name}_arrays"
        self._duckdb.register(view, {key: np.ascontiguousarray(values) for key, values in columns.items()})
        try:
            query = exp.select(*columns).from_(exp.to_table(view))
            self._execute(self.dialect.text(create_table(name, query)))
        finally:
            self._duckdb.unregister(view)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self._execute(query).fetchall()
        return rows

    def integers(self, query: str) -> list[npt.NDArray[np.int64]]:
        return [np.asarray(column) for column in self._execute(query).fetchnumpy().values()]

    def drop(self, name: str) -> None:
        self._execute(self.dialect.text(drop_table(name)))

    def close(self) -> None:
        self._duckdb.close()
        self._folder.cleanup()

    def _execute(self, query: str) -> duckdb.DuckDBPyConnection:
        return self._duckdb.execute(query)


class DuckDBEngine(SqlEngine):
    """Counts by DuckDB."""

    name = "duckdb"

    def _connect(self) -> Connection:
        return DuckDBConnection(self.memory)
