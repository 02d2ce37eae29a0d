"""Processes that are killed or told to end amid a fit: what they leave is never data, and is removed."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np
import pytest

import hornbeam as hb
import servers
from every_engine import ENGINES
from hornbeam.errors import DataError, EngineError
from hornbeam.files import FOLDER_PREFIX, TemporaryFolder
from hornbeam.model.files import load_model

PERSONS = [(n, n % 3 == 0, f"city{n % 4}", int((n % 3 == 0 and n % 5 < 3) or n % 4 == 1)) for n in range(60)]
FRIENDS = sorted({(n * 7 % 60, n * n % 60) for n in range(300)})
CREATE = (
    "CREATE TABLE persons (id INTEGER PRIMARY KEY, smokes BOOLEAN, city VARCHAR, sick INTEGER)",
    "CREATE TABLE friends (who INTEGER REFERENCES persons (id), whom INTEGER REFERENCES persons (id))",
)
LEFT = "SELECT tablename FROM pg_tables WHERE schemaname = 'my scratch' ORDER BY 1"
STEPS = 100
"""More than a fit takes until it is killed."""
with_postgres = pytest.mark.skipif("postgres" not in ENGINES, reason="no PostgreSQL server to start")


@pytest.fixture
def shop() -> Iterator[str]:
    """A database of its own in the server of the tests, with a schema for tables of ours."""
    import psycopg

    server = servers.postgres()
    with psycopg.connect(server, autocommit=True) as own:
        own.execute("DROP DATABASE IF EXISTS ended WITH (FORCE)")
        own.execute("CREATE DATABASE ended")
    found = server.replace("dbname=postgres", "dbname=ended")
    with psycopg.connect(found, autocommit=True) as own, own.cursor() as cursor:
        cursor.execute('CREATE SCHEMA "my scratch"')
        for statement in CREATE:
            cursor.execute(statement.encode())
        cursor.executemany("INSERT INTO persons VALUES (%s, %s, %s, %s)", PERSONS)
        cursor.executemany("INSERT INTO friends VALUES (%s, %s)", FRIENDS)
    yield found
    with psycopg.connect(server, autocommit=True) as own:
        own.execute("DROP DATABASE ended WITH (FORCE)")


def ask(server: str, query: str) -> list[tuple[object, ...]]:
    import psycopg

    with psycopg.connect(server, autocommit=True) as own:
        cursor = own.execute(query.encode())
        return cursor.fetchall() if cursor.description else []


def command(source: str | Path, folder: Path, steps: int, *words: str) -> list[str]:
    """A fit of many steps in place; the paper's preset finds something to add for ever."""
    return [
        *(sys.executable, "-m", "hornbeam", "fit", str(source), "--target", "persons.sick"),
        *("--preset", "paper", "--max-literals", "2", "--steps", str(steps)),
        *("--checkpoint", str(folder / "saved"), "--model", str(folder / "model.json"), *words),
    ]


@contextmanager
def running(words: list[str], ready: Callable[[], bool]) -> Iterator[subprocess.Popen[str]]:
    """A command that runs, from the moment when it is ready."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        words, stderr=subprocess.PIPE, text=True, env=environment, preexec_fn=_heed_hangups
    ) as process:
        try:
            end = time.monotonic() + 120
            while not ready():
                assert process.poll() is None, process.stderr and process.stderr.read()
                assert time.monotonic() < end
                time.sleep(0.05)
            yield process
        finally:
            process.kill()


def _heed_hangups() -> None:
    """Undo what nohup does, in case the tests run under it."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def steps_saved(folder: Path) -> int:
    saved = folder / "saved" / "checkpoint.json"
    return len(json.loads(saved.read_text())["steps"]) if saved.exists() else 0


def in_schema(folder: Path) -> list[str]:
    return ["--engine", "postgres", "--scratch", "my scratch"]


def ended(process: subprocess.Popen[str], number: int) -> tuple[int, str]:
    """The status and the messages of a process after a signal."""
    process.send_signal(number)
    _, messages = process.communicate(timeout=60)
    return process.returncode, messages


@with_postgres
def test_tables_of_a_killed_fit_are_never_data_and_the_next_start_drops_them(
    shop: str, tmp_path: Path
) -> None:
    place = in_schema(tmp_path)
    with running(command(shop, tmp_path, STEPS, *place), lambda: steps_saved(tmp_path) >= 1) as process:
        assert ask(shop, LEFT)
        ended(process, signal.SIGKILL)
    ask(shop, 'CREATE TABLE "my scratch".hornbeam_notes (id INTEGER PRIMARY KEY, text VARCHAR)')
    left = ask(shop, LEFT)
    assert len(left) > 1, "a killed process cannot drop its tables"
    # Loaded and in place, only tables of the user are data, even where their names are like ours.
    for options in ({}, {"engine": "postgres"}):
        database = hb.load(shop, target="persons.sick", **options)
        assert set(database.origin["tables"]) == {"persons", "friends", "my scratch.hornbeam_notes"}
        database.close()
    ask(shop, 'DROP TABLE "my scratch".hornbeam_notes')
    assert steps_saved(tmp_path) < STEPS
    wait_for_the_end_of_connections(shop)
    subprocess.run(command(shop, tmp_path, STEPS, *place), check=True)
    assert ask(shop, LEFT) == []
    other = tmp_path / "undisturbed"
    other.mkdir()
    subprocess.run(command(shop, other, STEPS, *place), check=True, stderr=subprocess.PIPE)
    assert (tmp_path / "model.json").read_bytes() == (other / "model.json").read_bytes()


def wait_for_the_end_of_connections(server: str) -> None:
    """The server notices after a moment that a client is gone."""
    others = "SELECT pid FROM pg_stat_activity WHERE datname = 'ended' AND pid <> pg_backend_pid()"
    end = time.monotonic() + 60
    while ask(server, others):
        assert time.monotonic() < end
        time.sleep(0.05)


@with_postgres
def test_a_start_drops_tables_of_lost_connections_and_keeps_those_in_use(shop: str) -> None:
    lost = hb.load(shop, target="persons.sick", engine="postgres", scratch="my scratch")
    tables_of_lost = ask(shop, LEFT)
    ask(shop, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    with pytest.raises(EngineError, match="was lost"):
        lost.tables.source.connection.rows("SELECT 1")  # type: ignore[union-attr]
    assert ask(shop, LEFT) == tables_of_lost != []
    wait_for_the_end_of_connections(shop)
    first = hb.load(shop, target="persons.sick", engine="postgres", scratch="my scratch")
    tables_of_first = ask(shop, LEFT)
    assert not set(tables_of_first) & set(tables_of_lost)
    second = hb.load(shop, target="persons.sick", engine="postgres", scratch="my scratch")
    assert set(tables_of_first) < set(ask(shop, LEFT))
    second.close()
    assert ask(shop, LEFT) == tables_of_first
    first.close()
    assert ask(shop, LEFT) == []


@with_postgres
def test_the_end_of_a_lost_connection_drops_its_tables(shop: str) -> None:
    lost = hb.load(shop, target="persons.sick", engine="postgres", scratch="my scratch")
    assert ask(shop, LEFT)
    ask(shop, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    wait_for_the_end_of_connections(shop)
    lost.close()
    assert ask(shop, LEFT) == []


@with_postgres
def test_an_interrupt_in_the_middle_of_a_command_leaves_no_table(shop: str) -> None:
    from hornbeam.engines.sql.drivers.postgres import PostgresConnection

    connection = PostgresConnection(shop, 10**8, "my scratch")
    connection.load(connection.new_name(), {"a": np.arange(3)})
    assert ask(shop, LEFT)
    connection._psycopg.pgconn.send_query(b"SELECT 1")  # nobody waits for the answer
    connection.close()
    assert ask(shop, LEFT) == []


@with_postgres
def test_sigterm_drops_the_tables_and_keeps_the_steps(shop: str, tmp_path: Path) -> None:
    words = command(shop, tmp_path, 100_000, *in_schema(tmp_path))
    with running(words, lambda: steps_saved(tmp_path) >= 2) as process:
        assert ask(shop, LEFT)
        status, messages = ended(process, signal.SIGTERM)
    assert status == 128 + signal.SIGTERM
    assert "the fit was stopped early (interrupted)" in messages
    assert "Traceback" not in messages
    assert ask(shop, LEFT) == []
    assert str(load_model(tmp_path / "model.json")).count(":-") >= 2


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The tables as a DuckDB file."""
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(path) as own:
        for statement in CREATE:
            own.execute(statement)
        own.executemany("INSERT INTO persons VALUES (?, ?, ?, ?)", PERSONS)
        own.executemany("INSERT INTO friends VALUES (?, ?)", FRIENDS)
    return path


def folders(place: Path) -> list[Path]:
    return sorted(place.glob(f"{FOLDER_PREFIX}*"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_end_removes_the_scratch_folder_of_duckdb(
    file: Path, tmp_path: Path, number: signal.Signals
) -> None:
    place = tmp_path / "scratch"
    words = command(file, tmp_path, 100_000, "--engine", "duckdb", "--scratch", str(place))
    with running(words, lambda: steps_saved(tmp_path) >= 1) as process:
        assert len(folders(place)) == 1
        status, messages = ended(process, number)
    assert status == 128 + number
    assert "Traceback" not in messages
    assert folders(place) == []
    assert load_model(tmp_path / "model.json")


def test_the_next_start_removes_the_scratch_folder_of_a_killed_process_and_no_other(
    file: Path, tmp_path: Path
) -> None:
    place = tmp_path / "scratch"
    other = place / f"{FOLDER_PREFIX}of-the-user"
    other.mkdir(parents=True)
    words = command(file, tmp_path, 100_000, "--engine", "duckdb", "--scratch", str(place))
    with running(words, lambda: steps_saved(tmp_path) >= 1) as process:
        ended(process, signal.SIGKILL)
    (left,) = set(folders(place)) - {other}
    (left / "spill").mkdir(exist_ok=True)
    (left / "spill" / "duckdb_temp_storage-0.tmp").write_bytes(b"rows")
    before = steps_saved(tmp_path)
    with running(
        command(file, tmp_path, 100_000, "--engine", "duckdb", "--scratch", str(place)),
        lambda: steps_saved(tmp_path) > before,
    ) as process:
        assert not left.exists() and len(folders(place)) == 2
        used = set(folders(place))
        with TemporaryFolder(place) as mine:
            assert set(folders(place)) == used | {mine}, "a folder in use stays"
        ended(process, signal.SIGTERM)
    assert folders(place) == [other]


def test_a_place_where_no_folder_can_be_created_is_named(file: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(DataError, match=r"taken: no temporary folder can be created there"):
        hb.load(file, target="persons.sick", engine="duckdb", scratch=str(tmp_path / "taken"))


def test_a_system_without_a_temporary_folder_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_usable() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none_usable)
    with pytest.raises(DataError, match=r"^no temporary folder can be created .*; set TMPDIR to a folder"):
        TemporaryFolder()


WRITE_AND_WAIT = """
import sys, time
from hornbeam.cli.app import interrupted_by_signals
from hornbeam.files import write_file

def pieces():
    yield "half"
    print("begun", file=sys.stderr, flush=True)
    time.sleep(600)

with interrupted_by_signals([]):
    write_file(sys.argv[1], pieces())
"""


def test_sigterm_removes_the_file_that_is_being_written(tmp_path: Path) -> None:
    words = [sys.executable, "-c", WRITE_AND_WAIT, str(tmp_path / "out.csv")]
    with running(words, lambda: len(list(tmp_path.iterdir())) == 1) as process:
        assert process.stderr is not None and process.stderr.readline() == "begun\n"
        _, messages = ended(process, signal.SIGTERM)
    assert "KeyboardInterrupt" in messages
    assert list(tmp_path.iterdir()) == []
