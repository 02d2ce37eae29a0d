"""Faults of real systems that have the facts: one sentence, nothing left behind, and a fit goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

import servers
from every_engine import ENGINES, MISSING
from hornbeam.data.database import Database
from hornbeam.engines.contract import Engine
from hornbeam.engines.registry import open_engine
from hornbeam.engines.sql.drivers.duckdb import DuckDBConnection
from hornbeam.errors import DataError, EngineError
from hornbeam.in_place.load import load
from hornbeam.learning.learners import learn
from hornbeam.learning.loop import Control
from hornbeam.learning.options import PaperOptions
from hornbeam.model.files import model_text
from plain_options import plain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPTIONS = plain(n_steps=3, max_literals=3, beam_width=1, l2=1.0, neg_pos_ratio=None)
SCHEMA = {
    "persons": {"key": "id", "roles": {"smokes": "flag", "city": "category"}, "unused": ["sick"]},
    "friends": {"key": False, "links": {"who": "persons", "whom": "persons"}},
}
PERSONS = [(n, n % 3 == 0, f"city{n % 4}", int((n % 3 == 0 and n % 5 < 3) or n % 4 == 1)) for n in range(60)]
FRIENDS = sorted({(n * 7 % 60, n * n % 60) for n in range(300)})
with_postgres = pytest.mark.skipif("postgres" not in ENGINES, reason="no PostgreSQL server to start")
with_spark = pytest.mark.skipif("spark" not in ENGINES, reason=f"no Spark: it needs {MISSING.get('spark')}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The tables as Parquet files, and a file of examples beside them."""
    data = tmp_path / "data"
    data.mkdir()
    with duckdb.connect() as own:
        own.execute("CREATE TABLE persons (id INTEGER, smokes BOOLEAN, city VARCHAR, sick INTEGER)")
        own.executemany("INSERT INTO persons VALUES (?, ?, ?, ?)", PERSONS)
        own.execute("CREATE TABLE friends (who INTEGER, whom INTEGER)")
        own.executemany("INSERT INTO friends VALUES (?, ?)", FRIENDS)
        for name in ("persons", "friends"):
            own.execute(f"COPY {name} TO '{data / name}.parquet'")
        own.execute(f"COPY (SELECT id, sick AS label FROM persons) TO '{tmp_path / 'examples.parquet'}'")
    return data


def opened(engine: str, source: str | Path, examples: Path, scratch: str | None = None) -> Database:
    return load(
        source, engine=engine, scratch=scratch, target="sick(persons)", schema=SCHEMA, examples=examples
    )


def learned(
    engine: Engine,
    saved: Path | None = None,
    on_step: Callable[..., None] | None = None,
    options: PaperOptions = OPTIONS,
) -> str:
    examples = engine.database.examples_of("sick")
    control = Control(on_step=on_step, checkpoint=saved)
    return model_text(learn("rlr", engine, examples, options, control).model)


@pytest.fixture
def right(folder: Path) -> str:
    """The model that is learned where nothing happens."""
    data = load(folder, target="sick(persons)", schema=SCHEMA, examples=examples_of(folder))
    return learned(open_engine("memory", data))


def examples_of(folder: Path) -> Path:
    return folder.parent / "examples.parquet"


def sentence(error: EngineError) -> str:
    assert "\n" not in str(error)
    return str(error)


# --- DuckDB --------------------------------------------------------------------------------------


def test_a_fit_without_memory_goes_on_where_there_is_some(folder: Path, right: str) -> None:
    database = opened("duckdb", folder, examples_of(folder))
    assert database.tables is not None
    connection = database.tables.source.connection
    assert isinstance(connection, DuckDBConnection)
    connection.rows("SET max_temp_directory_size = '0KB'")
    connection.rows("SET memory_limit = '1MB'")
    with pytest.raises(EngineError) as caught:
        learned(open_engine("duckdb", database))
    assert sentence(caught.value).startswith("DuckDB ran out of memory or of disk space in ")
    connection.rows("SET memory_limit = '100MB'")
    assert learned(open_engine("duckdb", database)) == right
    made = {name for (name,) in connection.rows("SELECT table_name FROM duckdb_tables()")}
    assert made <= set(database.tables.source._temporary)
    database.close()


def test_a_file_that_somebody_removed_is_named_and_the_fit_goes_on_when_it_is_back(
    folder: Path, right: str
) -> None:
    file = folder / "friends.parquet"
    away = folder.parent / "friends.away"
    database = opened("duckdb", folder, examples_of(folder))
    file.rename(away)
    with pytest.raises(EngineError) as caught:
        learned(open_engine("duckdb", database))
    assert "friends.parquet" in sentence(caught.value)
    away.rename(file)
    assert learned(open_engine("duckdb", database)) == right
    database.close()


def test_other_facts_do_not_go_on_from_a_saved_fit(folder: Path) -> None:
    saved = folder.parent / "saved"
    database = opened("duckdb", folder, examples_of(folder))
    learned(open_engine("duckdb", database), saved)
    database.close()
    with duckdb.connect() as own:
        own.execute(
            f"COPY (SELECT * FROM '{folder / 'friends.parquet'}' WHERE who <> 7) "
            f"TO '{folder.parent / 'fewer.parquet'}'"
        )
    (folder.parent / "fewer.parquet").rename(folder / "friends.parquet")
    database = opened("duckdb", folder, examples_of(folder))
    with pytest.raises(DataError, match="facts"):
        learned(open_engine("duckdb", database), saved)
    database.close()


# --- PostgreSQL ----------------------------------------------------------------------------------


@pytest.fixture
def shop() -> Iterator[str]:
    """A database of its own in the server of the tests, with a schema for tables of ours."""
    import psycopg

    server = servers.postgres()
    with psycopg.connect(server, autocommit=True) as own:
        own.execute("DROP DATABASE IF EXISTS faults WITH (FORCE)")
        own.execute("CREATE DATABASE faults")
    found = server.replace("dbname=postgres", "dbname=faults")
    with psycopg.connect(found, autocommit=True) as own, own.cursor() as cursor:
        cursor.execute('CREATE SCHEMA "my scratch"')
        cursor.execute("CREATE TABLE persons (id INTEGER, smokes BOOLEAN, city VARCHAR, sick INTEGER)")
        cursor.executemany("INSERT INTO persons VALUES (%s, %s, %s, %s)", PERSONS)
        cursor.execute("CREATE TABLE friends (who INTEGER, whom INTEGER)")
        cursor.executemany("INSERT INTO friends VALUES (%s, %s)", FRIENDS)
    yield found
    with psycopg.connect(server, autocommit=True) as own:
        own.execute("DROP DATABASE faults WITH (FORCE)")


def ask(server: str, query: str) -> list[tuple[object, ...]]:
    import psycopg

    with psycopg.connect(server, autocommit=True) as own:
        cursor = own.execute(query.encode())
        return cursor.fetchall() if cursor.description else []


LEFT = "SELECT tablename FROM pg_tables WHERE schemaname = 'my scratch'"


@with_postgres
def test_a_table_renamed_in_the_server_is_named_and_the_fit_goes_on_when_it_is_back(
    folder: Path, right: str, shop: str
) -> None:
    database = opened("postgres", shop, examples_of(folder), scratch="my scratch")
    assert ask(shop, LEFT)
    ask(shop, "ALTER TABLE friends RENAME TO enemies")
    with pytest.raises(EngineError) as caught:
        learned(open_engine("postgres", database))
    assert "PostgreSQL no longer has a table or column" in sentence(caught.value)
    assert "friends" in str(caught.value)
    database.close()
    assert not ask(shop, LEFT)
    ask(shop, "ALTER TABLE enemies RENAME TO friends")
    database = opened("postgres", shop, examples_of(folder))
    assert learned(open_engine("postgres", database)) == right
    database.close()


@with_postgres
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_after_an_interrupt_or_an_error_the_scratch_schema_is_empty(
    folder: Path, shop: str, error: type[BaseException]
) -> None:
    database = opened("postgres", shop, examples_of(folder), scratch="my scratch")
    while_it_runs = []

    def on_step(step: object) -> None:
        while_it_runs.extend(ask(shop, LEFT))
        raise error

    if error is KeyboardInterrupt:
        learned(open_engine("postgres", database), None, on_step)
    else:
        with pytest.raises(error):
            learned(open_engine("postgres", database), None, on_step)
    assert while_it_runs
    database.close()
    assert not ask(shop, LEFT)


@with_postgres
def test_a_table_that_must_not_be_read_and_one_that_must_not_be_made_are_one_sentence(
    folder: Path, shop: str, right: str
) -> None:
    for query in (
        "DROP ROLE IF EXISTS visitor",
        "CREATE ROLE visitor LOGIN",
        "GRANT SELECT ON persons, friends TO visitor",
        "REVOKE TEMPORARY ON DATABASE faults FROM PUBLIC",
    ):
        ask(shop, query)
    visitor = shop.replace("user=hornbeam", "user=visitor")
    try:
        with pytest.raises(EngineError) as caught:
            opened("postgres", visitor, examples_of(folder))
        assert "PostgreSQL refused: permission denied to create temporary tables" in sentence(caught.value)
        assert "CREATE on a scratch schema" in str(caught.value)
        with pytest.raises(EngineError) as caught:
            opened("postgres", visitor, examples_of(folder), scratch="my scratch")
        assert 'does not allow this user to create tables in "my scratch"' in sentence(caught.value)
        with pytest.raises(EngineError) as caught:
            opened("postgres", visitor, examples_of(folder), scratch="nowhere")
        assert 'there is no schema "nowhere"' in sentence(caught.value)
        ask(shop, 'GRANT CREATE, USAGE ON SCHEMA "my scratch" TO visitor')
        # Reading is all that is asked of the tables themselves.
        database = opened("postgres", visitor, examples_of(folder), scratch="my scratch")
        ask(shop, "REVOKE SELECT ON friends FROM visitor")
        with pytest.raises(EngineError) as caught:
            learned(open_engine("postgres", database))
        assert "PostgreSQL refused: permission denied for table friends" in sentence(caught.value)
        database.close()
        assert not ask(shop, LEFT)
        ask(shop, "GRANT SELECT ON friends TO visitor")
        database = opened("postgres", visitor, examples_of(folder), scratch="my scratch")
        assert learned(open_engine("postgres", database)) == right
        database.close()
    finally:
        ask(shop, "DROP OWNED BY visitor")
        ask(shop, "DROP ROLE visitor")


# --- Spark ---------------------------------------------------------------------------------------


@pytest.fixture
def catalogue(folder: Path) -> Iterator[SparkSession]:
    """The tables in a schema of the catalogue of a local session, and that session."""
    from pyspark.sql import SparkSession

    from hornbeam.engines.sql.drivers.spark import SparkConnection

    SparkConnection()
    spark = SparkSession.builder.getOrCreate()
    spark.sql(f"CREATE SCHEMA shop LOCATION '{folder.parent / 'shop'}'")
    for name in ("persons", "friends"):
        spark.read.parquet(str(folder / f"{name}.parquet")).write.saveAsTable(f"shop.{name}")
    yield spark
    spark.sql("DROP SCHEMA shop CASCADE")


@with_spark
def test_tables_of_the_catalogue_are_counted_by_name_and_one_that_somebody_dropped_is_named(
    folder: Path, catalogue: SparkSession
) -> None:
    # Spark takes its time for each of many small queries.
    options = replace(OPTIONS, n_steps=1, max_literals=2, feature="count")
    # Other tests share the session; what they keep in it may go meanwhile.
    kept_by_others = set(catalogue.sparkContext._jsc.getPersistentRDDs())
    database = opened("spark", "catalog:shop", examples_of(folder))
    assert database.is_in_place
    catalogue.sql("ALTER TABLE shop.friends RENAME TO shop.enemies")
    with pytest.raises(EngineError) as caught:
        learned(open_engine("spark", database), options=options)
    assert "friends" in sentence(caught.value)
    catalogue.sql("ALTER TABLE shop.enemies RENAME TO shop.friends")
    data = load(folder, target="sick(persons)", schema=SCHEMA, examples=examples_of(folder))
    right = learned(open_engine("memory", data), options=options)
    assert learned(open_engine("spark", database), options=options) == right
    assert "friends" in right
    database.close()
    assert set(catalogue.sparkContext._jsc.getPersistentRDDs()) <= kept_by_others
