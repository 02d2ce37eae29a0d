"""Faults amid real work: two fits on one checkpoint, a server that dies, a disk that is full."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import servers
from every_engine import ENGINES
from hornbeam.datasets.worlds import write_shop

FIT = ("--target", "customers.churned", "--bags", "2", "--effects", "4")
DISK = 16_384
"""The bytes of a small disk: fewer than a report has."""
with_postgres = pytest.mark.skipif("postgres" not in ENGINES, reason="no PostgreSQL server to start")


def hornbeam(*words: object) -> list[str]:
    return [sys.executable, "-m", "hornbeam", *map(str, words)]


def begun(words: list[str], **more: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, **more
    )


def finished(process: subprocess.Popen[str], status: int = 0) -> str:
    """The messages of a process, which ends with this status and without a traceback."""
    _, messages = process.communicate(timeout=300)
    assert process.returncode == status, messages
    assert "Traceback" not in messages
    return messages


def wait_for(ready: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 200
    while not ready():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of the shop, and examples."""
    folder = tmp_path_factory.mktemp("shop")
    write_shop(folder)
    return folder


@pytest.fixture(scope="module")
def undisturbed(shop: Path) -> bytes:
    """The model of a fit that nothing happens to."""
    path = shop / "undisturbed.json"
    finished(begun(fit(shop, path)))
    return path.read_bytes()


def fit(shop: Path, model: Path, *words: object) -> list[str]:
    examples = ("--examples", shop / "train.csv", "--model", model)
    return hornbeam("fit", shop / "shop", *FIT, *examples, *words)


def test_two_fits_on_one_checkpoint_give_the_model_of_one(
    shop: Path, undisturbed: bytes, tmp_path: Path
) -> None:
    models = [tmp_path / f"{number}.json" for number in range(2)]
    words = ("--checkpoint", tmp_path / "saved")
    for process in [begun(fit(shop, model, *words)) for model in models]:
        finished(process)
    assert [model.read_bytes() for model in models] == [undisturbed] * 2
    assert [each.name for each in (tmp_path / "saved").iterdir()] == ["checkpoint.json"]


# --- a server that dies ----------------------------------------------------------------------------


@pytest.fixture
def server(shop: Path) -> Iterator[tuple[str, Path]]:
    """A server of this test alone, with the tables of the shop."""
    import duckdb
    import psycopg

    address, folder = servers.start()
    with psycopg.connect(address, autocommit=True) as made, duckdb.connect() as reader:
        for file in sorted((shop / "shop").glob("*.csv")):
            table = reader.execute(f"SELECT * FROM '{file}'")
            kinds = {"BIGINT": "BIGINT", "DOUBLE": "DOUBLE PRECISION", "DATE": "DATE", "BOOLEAN": "BOOLEAN"}
            columns = ", ".join(
                f'"{each[0]}" {kinds.get(str(each[1]), "TEXT")}' for each in table.description
            )
            made.execute(f'CREATE TABLE "{file.stem}" ({columns})'.encode())
            with made.cursor().copy(f'COPY "{file.stem}" FROM STDIN'.encode()) as copy:
                for row in table.fetchall():
                    copy.write_row(row)
    yield address, folder
    servers.stop(folder)


@with_postgres
def test_a_server_that_dies_amid_a_fit_is_one_sentence_and_the_fit_goes_on_when_it_is_back(
    shop: Path, server: tuple[str, Path], tmp_path: Path
) -> None:
    import psycopg

    address, folder = server
    saved = tmp_path / "saved"
    examples = ("--examples", shop / "train.csv", "--engine", "postgres")

    def words(name: str, *more: object) -> list[str]:
        return hornbeam("fit", address, *FIT, *examples, "--model", tmp_path / name, *more)

    finished(begun(words("alone.json")))
    process = begun(words("model.json", "--checkpoint", saved))
    # The folder is made when a fit begins; a lock then keeps it in the middle of its questions.
    wait_for(saved.exists, process)
    other, watcher = psycopg.connect(address), psycopg.connect(address, autocommit=True)
    with closing(other), closing(watcher):
        other.execute("LOCK TABLE orders IN ACCESS EXCLUSIVE MODE")
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        wait_for(lambda: watcher.execute(waiting).fetchone() == (1,), process)
        servers.halt(folder)
    message = finished(process, 2)
    *notes, error = message.strip().splitlines()
    assert all(note.startswith("note:") for note in notes)
    assert "PostgreSQL" in error and error.endswith("check that the server runs, and run again.")
    assert not (tmp_path / "model.json").exists()
    servers.resume(folder)
    finished(begun(words("model.json", "--checkpoint", saved)))
    assert (tmp_path / "model.json").read_bytes() == (tmp_path / "alone.json").read_bytes()


# --- a disk that is full ---------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", str(place)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("only an administrator may make a small disk")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture(scope="module")
def model(shop: Path, undisturbed: bytes) -> Path:
    return shop / "undisturbed.json"


def test_a_disk_that_is_full_amid_a_report_is_one_sentence_and_the_old_report_stays(
    shop: Path, model: Path, small_disk: Path
) -> None:
    page = small_disk / "report.html"
    page.write_text("the old one")
    words = ("report", shop / "shop", model, "--examples", shop / "test.csv", "--out", page)
    message = finished(begun(hornbeam(*words)), 2)
    assert "No space left on device" in message
    assert page.read_text() == "the old one"
    assert [each.name for each in small_disk.iterdir()] == ["report.html"]


def test_a_disk_that_is_full_amid_serve_is_said_on_the_page_which_goes_on(
    shop: Path, model: Path, small_disk: Path
) -> None:
    words = hornbeam("serve", model, shop / "shop", "--examples", shop / "test.csv")
    with begun(words, cwd=small_disk) as process:
        try:
            assert process.stdout is not None
            line = next(each for each in process.stdout if "http://" in each)
            address = urlsplit(next(each for each in line.split() if each.startswith("http://")))
            (small_disk / "filler").write_bytes(b"x" * DISK)
            status, answer = ask(address.netloc, f"{address.path.rstrip('/')}/save", {"name": "m.json"})
            assert status >= 400 and "No space left on device" in answer["error"]
            assert [each.name for each in small_disk.iterdir()] == ["filler"]
            (small_disk / "filler").unlink()
            status, _ = ask(address.netloc, f"{address.path.rstrip('/')}/save", {"name": "m.json"})
            assert status == 200 and (small_disk / "m.json").exists()
        finally:
            process.kill()


def ask(server: str, path: str, body: object) -> tuple[int, dict[str, str]]:
    connection = http.client.HTTPConnection(server, timeout=60)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    found: dict[str, str] = json.loads(answer.read())
    connection.close()
    return answer.status, found
