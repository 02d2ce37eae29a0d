"""The systems that exported queries run on: those of the engines available here, and SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import duckdb

from every_engine import ENGINES

Rows = list[tuple[object, ...]]
SYSTEMS = [name for name in ("duckdb", "postgres", "spark") if name in ENGINES]


@contextmanager
def opened(system: str) -> Iterator[Callable[[str], Rows]]:
    """A function that runs a statement on a system and returns its rows; create only temporary tables."""
    match system:
        case "duckdb":
            with duckdb.connect() as connection:
                yield lambda text: connection.execute(text).fetchall()
        case "sqlite":
            with closing(sqlite3.connect(":memory:")) as file:
                yield lambda text: file.execute(text).fetchall()
        case "postgres":
            yield from _postgres()
        case "spark":
            from hornbeam.engines.sql.drivers.spark import SparkConnection

            with closing(SparkConnection()) as spark:
                yield spark.rows


def _postgres() -> Iterator[Callable[[str], Rows]]:
    import psycopg

    import servers

    with psycopg.connect(servers.postgres(), autocommit=True) as connection:

        def run(text: str) -> Rows:
            cursor = connection.execute(text.encode())
            return cursor.fetchall() if cursor.description else []

        yield run
