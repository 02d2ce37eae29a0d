"""Where tables are read if no engine is named: loaded if they fit, else in place, with a note."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import hornbeam as hb
from folders import write
from hornbeam.errors import DataWarning
from hornbeam.in_place import choice
from hornbeam.in_place.choice import engine_for
from hornbeam.loading.tables.sources.sizes import PER_BYTE, loaded_bytes

ROWS = 2000
SCHEMA = {"users": {"key": "id", "links": {}}, "orders": {"key": "id", "links": {"user": "users"}}}
USERS = "SELECT range AS id, range % 3 = 0 AS good FROM range(200)"
ORDERS = f"SELECT range AS id, range * 7 % 200 AS \"user\", 'kind' || range % 3 AS kind FROM range({ROWS})"


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    folder = tmp_path / "parquet"
    folder.mkdir()
    with duckdb.connect() as own:
        own.execute(
            f"COPY ({USERS}) TO '{folder}/users.parquet'; COPY ({ORDERS}) TO '{folder}/orders.parquet'"
        )
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with duckdb.connect(tmp_path / "shop.duckdb") as own:
        own.execute(f"CREATE TABLE users AS {USERS}; CREATE TABLE orders AS {ORDERS}")
    return tmp_path / "shop.duckdb"


def test_estimates_follow_the_number_of_values(parquet: Path, file: Path, tmp_path: Path) -> None:
    values = 3 * ROWS
    assert 16 * values <= loaded_bytes(parquet / "orders.parquet") <= 40 * values
    assert 16 * values <= loaded_bytes(file) <= 60 * values
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    assert loaded_bytes(tmp_path / "t.csv") == PER_BYTE * 8


def test_tables_that_do_not_fit_stay(parquet: Path, file: Path) -> None:
    for source in (parquet, file):
        estimate = sum(map(loaded_bytes, [source] if source.is_file() else source.iterdir()))
        assert engine_for(source, None, estimate) == (None, [])
        engine, (note,) = engine_for(source, None, estimate - 1)
        assert engine == "duckdb"
        assert "more than the budget" in str(note) and "--engine memory" in str(note)
    left_out = {"orders": {"use": False}, "users": SCHEMA["users"]}
    assert engine_for(parquet, left_out, loaded_bytes(parquet / "users.parquet")) == (None, [])


def test_other_data_are_loaded(tmp_path: Path) -> None:
    write(
        tmp_path / "facts", {"facts.txt": "friends(a,b).\n", "pos.txt": "good(a).\n", "neg.txt": "good(b).\n"}
    )
    assert engine_for(tmp_path / "facts", None, 1) == (None, [])
    assert engine_for({"users": [1]}, None, 1) == (None, [])


def test_half_of_the_memory_is_the_budget(parquet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not hb.load(parquet, schema=SCHEMA, target="users.good").is_in_place
    monkeypatch.setattr(choice, "most_memory", lambda: 20_000)
    with pytest.warns(DataWarning, match=r"more than half of the memory here \(0.01 MB\)"):
        chosen = hb.load(parquet, schema=SCHEMA, target="users.good")
    loaded = hb.load(parquet, schema=SCHEMA, target="users.good", engine="memory")
    with chosen:
        assert chosen.is_in_place and not loaded.is_in_place
        models = [
            hb.RLRClassifier(database=database, target="users.good", n_steps=20, validate=False).fit(
                *database.examples("users.good")
            )
            for database in (chosen, loaded)
        ]
    assert str(models[0].model_) == str(models[1].model_)
