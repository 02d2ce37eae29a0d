"""Effects with a condition on the example: the same model in place, and the same probabilities by SQL."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pytest

import servers
from every_engine import ENGINES

N = 500
TYPES = {
    "customers": "customer_id TEXT, age INTEGER, city TEXT, size DOUBLE PRECISION, churned INTEGER",
    "orders": "order_id TEXT, customer_id TEXT, price DOUBLE PRECISION",
}
SCHEMA = """
[customers]
key = "customer_id"
[orders]
key = "order_id"
links = { customer_id = "customers" }
"""
FIT = ("--target", "customers.churned", "--bags", "3")


def hornbeam(*words: object) -> str:
    command = [sys.executable, "-m", "hornbeam", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What size and prices say depends on age and city; some cells are empty."""
    folder = tmp_path_factory.mktemp("shop")
    random = np.random.default_rng(0)
    age, size = random.integers(18, 80, N), random.normal(size=N).round(3)
    city, owner = random.choice(["oslo", "paris", "rome"], N), random.integers(0, N, 5 * N)
    price = random.gamma(2, 10, 5 * N).round(2)
    mean = np.bincount(owner, price, N) / np.maximum(np.bincount(owner, minlength=N), 1)
    score = np.where((age < 45) == (size > 0), 2, -2) + np.where(city == "rome", 0.3 * (mean - 20), 0)
    churned = (random.random(N) < 1 / (1 + np.exp(-score))).astype(int)
    rows = zip(age.tolist(), city, size.tolist(), churned.tolist(), strict=True)
    customers = [
        (f"c{n}", "" if n % 19 == 0 else own, "" if n % 23 == 0 else place, *rest)
        for n, (own, place, *rest) in enumerate(rows)
    ]
    orders = [(f"o{n}", f"c{who}", paid) for n, (who, paid) in enumerate(zip(owner, price, strict=True))]
    data = folder / "tables"
    data.mkdir()
    (data / "schema.toml").write_text(SCHEMA)
    for name, some in (("customers", customers), ("orders", orders)):
        with (data / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([[word.split()[0] for word in TYPES[name].split(", ")], *some])
    hornbeam("fit", data, *FIT, "--model", folder / "memory.json")
    return folder


def in_duckdb(shop: Path) -> str:
    with duckdb.connect(str(shop / "shop.duckdb")) as own:
        for name, types in TYPES.items():
            own.execute(f"CREATE TABLE IF NOT EXISTS {name} ({types})")
            own.execute(f"DELETE FROM {name}")
            own.execute(f"COPY {name} FROM '{shop}/tables/{name}.csv' (HEADER)")
    return str(shop / "shop.duckdb")


def in_postgres(shop: Path) -> str:
    import psycopg

    with psycopg.connect(servers.postgres(), autocommit=True) as own:
        own.execute("DROP DATABASE IF EXISTS conditions")
        own.execute("CREATE DATABASE conditions")
    server = f"{servers.postgres()} dbname=conditions"
    with psycopg.connect(server, autocommit=True) as own:
        for name, types in TYPES.items():
            own.execute(f"CREATE TABLE {name} ({types})".encode())
            with own.cursor().copy(f"COPY {name} FROM STDIN CSV HEADER".encode()) as copy:
                copy.write((shop / "tables" / f"{name}.csv").read_text())
    return server


def rows_of(engine: str, place: str, query: str) -> list[tuple]:
    if engine == "duckdb":
        with duckdb.connect(place, read_only=True) as own:
            return own.execute(query).fetchall()
    import psycopg

    with closing(psycopg.connect(place)) as own:
        return own.execute(query.encode()).fetchall()


PLACES = {"duckdb": in_duckdb, "postgres": in_postgres}


@pytest.mark.parametrize("engine", [name for name in PLACES if name in ENGINES])
def test_conditions_on_the_example_are_the_same_in_place_and_in_sql(shop: Path, engine: str) -> None:
    place, model = PLACES[engine](shop), shop / f"{engine}.json"
    given = ("--engine", engine, "--schema", shop / "tables" / "schema.toml")
    hornbeam("fit", place, *FIT, *given, "--model", model)
    assert model.read_bytes() == (shop / "memory.json").read_bytes()
    bodies = [each["clause"] for each in json.loads(model.read_text())["effects"]]
    assert [body for body in bodies if "age(" in body and "size(" in body]
    assert [body for body in bodies if "= rome" in body and "price(" in body]
    predicted = csv.DictReader(hornbeam("predict", place, "--model", model, *given).splitlines())
    expected = {row["customer_id"]: float(row["probability"]) for row in predicted}
    rows = rows_of(engine, place, hornbeam("sql", "--model", model, "--dialect", engine))
    assert {row[0]: float(row[-1]) for row in rows} == pytest.approx(expected, abs=1e-9)
    assert len(expected) == N
