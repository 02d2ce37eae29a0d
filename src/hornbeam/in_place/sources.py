"""Which sources of tables an engine counts in place."""

from __future__ import annotations

import os
from pathlib import Path

from hornbeam.loading.tables.sources.read import holds_tables_only, is_connection

CATALOGUE = "catalog:"
"""The prefix of a source that names a schema of Spark's catalogue."""


def is_catalogue(source: object) -> bool:
    """Whether a source names a schema of Spark's catalogue."""
    return isinstance(source, str) and source.startswith(CATALOGUE)


def stays_in_place(engine: str, source: object, has_schema: bool = False) -> bool:
    """Whether an engine counts in the tables of a source, so that they need not be loaded.

    With ``has_schema``, a schema from elsewhere makes any folder one of tables.

    >>> stays_in_place("postgres", "dbname=shop"), stays_in_place("duckdb", "dbname=shop")
    (True, False)
    """
    if not isinstance(source, str | os.PathLike):
        return False
    if is_connection(source):
        return engine == "postgres"
    if is_catalogue(source):
        return engine == "spark"
    if engine not in ("duckdb", "spark") or not holds_tables_only(source, has_schema):
        return False
    path = Path(source)
    return path.is_dir() or (engine == "duckdb" and not _is_sqlite(path))


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"
