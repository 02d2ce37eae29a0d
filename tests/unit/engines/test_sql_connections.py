"""Connections to SQL systems: nothing is left behind, Ctrl-C ends a query, and faults are one sentence."""

from __future__ import annotations

import os
import re
import signal
import threading
from pathlib import Path

import pytest

import servers
from every_engine import ENGINES
from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.drivers.duckdb import DuckDBConnection
from hornbeam.errors import EngineError

with_postgres = pytest.mark.skipif("postgres" not in ENGINES, reason="no PostgreSQL server to start")


def test_closing_waits_for_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    # It may run while a thread starts and holds a lock that waiting for another thread needs.
    def never(thread: threading.Thread, timeout: float | None = None) -> None:
        raise AssertionError("waited for a thread")

    connection = DuckDBConnection(10**9)
    assert connection.rows("SELECT 1") == [(1,)]
    monkeypatch.setattr(threading.Thread, "join", never)
    connection.close()


def test_the_spill_folder_is_removed(tmp_path: Path) -> None:
    connection = DuckDBConnection(0, tmp_path)
    connection.rows("SELECT COUNT(*) FROM (SELECT DISTINCT hash(range) h, range FROM range(20000000))")
    connection.close()
    assert list(tmp_path.iterdir()) == []


def interrupted(connection: Connection, query: str) -> None:
    """Press Ctrl-C during a query that would run far longer than the test waits."""
    timer = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        connection.rows(query)
    timer.join()
    assert connection.rows("SELECT 1") == [(1,)]


def test_ctrl_c_amid_a_query_of_duckdb_is_just_that() -> None:
    import polars  # noqa: F401 - it sets a handler of Ctrl-C of its own, which does not end a wait

    connection = DuckDBConnection(2_000_000_000)
    endless = "SELECT COUNT(*) FROM range(100000000) a, range(100000) b WHERE hash(a.range + b.range) % 7 = 0"
    interrupted(connection, endless)
    connection.close()


@with_postgres
def test_ctrl_c_amid_a_query_of_postgres_is_just_that() -> None:
    from hornbeam.engines.sql.drivers.postgres import PostgresConnection

    connection = PostgresConnection(servers.postgres(), 2_000_000_000)
    interrupted(connection, "SELECT pg_sleep(3600)")
    connection.close()


def one_sentence(error: EngineError) -> str:
    text = str(error)
    assert "\n" not in text
    return text


def test_no_room_to_spill_is_one_sentence(tmp_path: Path) -> None:
    connection = DuckDBConnection(0, tmp_path)
    connection.rows("SET max_temp_directory_size = '1MB'")
    with pytest.raises(EngineError) as caught:
        connection.rows("SELECT COUNT(*) FROM (SELECT DISTINCT hash(range) h, range FROM range(50000000))")
    assert re.match(r"DuckDB ran out of memory or of disk space in .*memory=", one_sentence(caught.value))
    assert connection.rows("SELECT 1") == [(1,)]
    connection.close()
