"""Columns of 32-bit floats in PostgreSQL: the same model loaded and in place, and nothing left behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import hornbeam as hb
import servers
from every_engine import ENGINES
from hornbeam.engines.registry import open_engine
from hornbeam.learning.learners import learn
from hornbeam.learning.options import EffectOptions, Options, PaperOptions
from hornbeam.model.files import model_text

pytestmark = pytest.mark.skipif("postgres" not in ENGINES, reason="no PostgreSQL server to start")
PRICES = (0.1, 0.2, 0.3, 16777217.0, 1e-7, -0.0, None)


@pytest.fixture
def shop() -> Iterator[str]:
    import psycopg

    server = servers.postgres()
    with psycopg.connect(server, autocommit=True) as own:
        own.execute("DROP DATABASE IF EXISTS floats WITH (FORCE)")
        own.execute("CREATE DATABASE floats")
    found = server.replace("dbname=postgres", "dbname=floats")
    with psycopg.connect(found, autocommit=True) as own, own.cursor() as cursor:
        cursor.execute("CREATE SCHEMA scratch")
        cursor.execute("CREATE TABLE users (id INTEGER PRIMARY KEY, score REAL, whole REAL, bad BOOLEAN)")
        cursor.execute(
            "CREATE TABLE visits (id INTEGER PRIMARY KEY, user_id INTEGER REFERENCES users (id), price REAL)"
        )
        cursor.executemany(
            "INSERT INTO users VALUES (%s, %s, %s, %s)",
            [(n, n * 7 % 11 / 10, float(n % 3), n * n % 5 < 2) for n in range(60)],
        )
        cursor.executemany(
            "INSERT INTO visits VALUES (%s, %s, %s)",
            [(n, n * 7 % 60, PRICES[n % len(PRICES)]) for n in range(200)],
        )
    yield found
    with psycopg.connect(server, autocommit=True) as own:
        own.execute("DROP DATABASE floats WITH (FORCE)")


@pytest.mark.parametrize("scratch", [None, "scratch"])
@pytest.mark.parametrize(
    "options",
    [PaperOptions(n_steps=2, max_literals=3), EffectOptions(n_steps=20, validate=False, min_support=1)],
    ids=["paper", "default"],
)
def test_loaded_and_in_place_learn_the_same_from_short_floats(
    shop: str, options: Options, scratch: str | None
) -> None:
    import psycopg

    texts = []
    for engine in ("memory", "postgres"):
        place = {"scratch": scratch} if engine == "postgres" else {}
        database = hb.load(shop, target="users.bad", engine=engine, **place)
        assert set(database.origin["tables"]) == {"users", "visits"}
        model = learn("rlr", open_engine(engine, database), database.examples_of("bad"), options).model
        texts.append(model_text(model))
        database.close()
    assert texts[0] == texts[1]
    assert "0.30000001192092896" not in texts[0]
    with psycopg.connect(shop) as own:
        assert own.execute("SELECT relname FROM pg_class WHERE relname LIKE 'hornbeam%'").fetchall() == []
