"""The systems that tables of random worlds stand in, and that exported SQL runs on."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any, Self

import duckdb

import random_worlds
from random_worlds import World
from results import ROOT

POSTGRES = "postgres"
SYSTEMS = ("duckdb", "sqlite", POSTGRES)
Rows = list[tuple[Any, ...]]


def available() -> list[str]:
    """The systems that this machine has: a PostgreSQL server needs its programs, or an address."""
    if str(ROOT / "tests") not in sys.path:
        sys.path.insert(0, str(ROOT / "tests"))
    import servers

    return [each for each in SYSTEMS if each != POSTGRES or servers.can_run_postgres()]


class Systems:
    """One world in several systems, each made when it is first asked."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._running: dict[str, Callable[[str], Rows]] = {}
        self._ends = ExitStack()
        self._served = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._ends.close()

    def rows(self, system: str, query: str) -> Rows:
        """The rows of a query over the tables and the examples."""
        if system not in self._running:
            self._running[system] = getattr(self, f"_in_{system}")()
        return self._running[system](query)

    def _in_duckdb(self) -> Callable[[str], Rows]:
        made = self._ends.enter_context(duckdb.connect())
        random_worlds.create(random_worlds.with_examples(self.world), made.execute)
        return lambda query: made.execute(query).fetchall()

    def _in_sqlite(self) -> Callable[[str], Rows]:
        made = self._ends.enter_context(closing(sqlite3.connect(":memory:")))
        run = lambda sql, values: made.execute(sql, random_worlds.plain(values))  # noqa: E731
        random_worlds.create(random_worlds.with_examples(self.world), run)
        return lambda query: made.execute(query).fetchall()

    def _in_postgres(self) -> Callable[[str], Rows]:
        import psycopg

        made = self._ends.enter_context(psycopg.connect(self.server(), autocommit=True))
        return lambda query: made.execute(query.encode()).fetchall()

    def server(self) -> str:
        """How to connect to a PostgreSQL database of its own that has the tables."""
        if self._served:
            return self._served
        import psycopg

        import servers

        name, address = "campaign", servers.postgres()
        with psycopg.connect(address, autocommit=True) as made:
            made.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            made.execute(f"CREATE DATABASE {name}")
        self._served = psycopg.conninfo.make_conninfo(address, dbname=name)
        with psycopg.connect(self._served) as made:
            run = psycopg.RawCursor(made).execute
            world = random_worlds.with_examples(self.world)
            random_worlds.create(world, lambda sql, values: run(sql.encode(), values), "$")
        return self._served
