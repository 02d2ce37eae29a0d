"""Views give the facts and the model of the tables that they show, though the order of their rows changes."""

import os
import sqlite3
from contextlib import closing, contextmanager

import duckdb
import pandas as pd
import pytest

import hornbeam as hb
import servers
from folders import facts_of, write
from hornbeam.errors import DataError
from hornbeam.files import quoted
from hornbeam.in_place.load import load_quietly
from hornbeam.model.files import model_text
from table_worlds import SHOP_KEYS, as_duckdb, as_pandas, as_sqlite, create, shop

TABLES = shop(n_users=40, n_movies=15)
TARGETS = ["users.gender=F", "users.job", "ratings"]
SCHEMA = SHOP_KEYS.stated() | {f"raw_{name}": {"use": False} for name in TABLES}
OPTIONS = {"n_steps": 20, "n_bags": 2, "max_literals": 2, "validate": False}


def hide(run):
    """Rename the tables, and show them by views whose rows come in another order in each query."""
    for name in TABLES:
        run(f"ALTER TABLE {quoted(name)} RENAME TO {quoted(f'raw_{name}')}")
    for name in TABLES:
        run(f"CREATE VIEW {quoted(name)} AS SELECT * FROM {quoted(f'raw_{name}')} ORDER BY random()")


@contextmanager
def in_duckdb(folder):
    # DuckDB does not rename tables that foreign keys refer to.
    bare = {name: pd.DataFrame(columns) for name, columns in TABLES.items()}
    folder.mkdir()
    with duckdb.connect(str(folder / "shop.duckdb")) as made:
        for name, frame in bare.items():
            made.register("frame", frame)
            made.execute(f"CREATE TABLE {name} AS SELECT * FROM frame")
            made.unregister("frame")
        hide(made.execute)
    yield folder / "shop.duckdb"


@contextmanager
def in_sqlite(folder):
    path = as_sqlite(TABLES, folder)
    with closing(sqlite3.connect(path)) as made:
        hide(made.execute)
        made.commit()
    yield path


@contextmanager
def in_postgres(folder):
    import psycopg

    if not servers.can_run_postgres():
        pytest.skip("no PostgreSQL server program (initdb, pg_ctl) to start, and no HORNBEAM_POSTGRES")
    conninfo = servers.postgres()
    name = f"views_{os.getpid()}"
    with psycopg.connect(conninfo, autocommit=True) as made:
        made.execute(f"CREATE DATABASE {name}")
    own = psycopg.conninfo.make_conninfo(conninfo, dbname=name)
    with psycopg.connect(own) as made, made.cursor() as cursor:
        create(TABLES, cursor.execute, psycopg.RawCursor(made).execute, "$")
        hide(cursor.execute)
    yield own
    with psycopg.connect(conninfo, autocommit=True) as made:
        made.execute(f"DROP DATABASE {name} WITH (FORCE)")


PLACES = {"duckdb": in_duckdb, "sqlite": in_sqlite, "postgres": in_postgres}


@pytest.fixture(scope="module", params=PLACES)
def views(request, tmp_path_factory):
    with PLACES[request.param](tmp_path_factory.mktemp("views") / "data") as source:
        yield request.param, source


def learned(database):
    keys, labels = database.examples()
    text = model_text(hb.RLRClassifier(database=database, **OPTIONS).fit(keys, labels).model_)
    assert '{"clause": ' in text, "nothing is learned that could differ"
    return text


def options_of(target):
    return {"target": target} | ({"negatives": 1, "seed": 4} if target == "ratings" else {})


@pytest.mark.parametrize("target", TARGETS)
def test_views_load_as_the_tables_that_they_show(views, target, tmp_path):
    _, source = views
    expected = hb.load(as_pandas(TABLES, tmp_path), schema=SHOP_KEYS.stated(), **options_of(target))
    for _ in range(2):
        database = hb.load(source, schema=SCHEMA, **options_of(target))
        assert facts_of(database) == facts_of(expected)
    assert learned(database) == learned(expected)


@pytest.mark.parametrize("target", TARGETS)
def test_views_in_place_give_the_model_of_the_tables_that_they_show(views, target, tmp_path):
    kind, source = views
    if kind == "sqlite":
        pytest.skip("no engine counts in a SQLite file")
    expected = hb.load(as_pandas(TABLES, tmp_path), schema=SHOP_KEYS.stated(), **options_of(target))
    with closing(hb.load(source, schema=SCHEMA, engine=kind, **options_of(target))) as database:
        assert learned(database) == learned(expected)


def test_rows_of_a_view_without_a_key_have_the_same_numbers_each_time(views):
    """Numbers name rows: a model that was learned from row 7 must not be asked about another one."""
    _, source = views
    schema = SCHEMA | {"ratings": {"key": False, "rows": True, "links": {"user_id": "users"}}}
    first, second = (facts_of(hb.load(source, schema=schema)) for _ in range(2))
    assert first == second
    frames = {name: pd.DataFrame(columns) for name, columns in TABLES.items()}
    frames["ratings"] = frames["ratings"].sort_values(list(TABLES["ratings"]), ignore_index=True)
    expected = hb.load(frames, schema={name: schema[name] for name in TABLES})
    assert first == facts_of(expected)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_large_view_that_several_threads_group(engine, run, tmp_path):
    """Groups come in the order in which threads finish them."""
    path, counts = tmp_path / "visits.duckdb", tmp_path / "counts.csv"
    size = 300_000
    with duckdb.connect(str(path)) as made:
        made.execute(
            "CREATE TABLE raw AS SELECT i AS id, CAST(hash(i) % 2 AS INTEGER) AS y, "
            f"CASE WHEN hash(i) % 2 = 1 THEN 'red' ELSE 'blue' END AS colour FROM range({size}) AS t(i)"
        )
        shown = "id, any_value(y) AS y, any_value(colour) AS colour"
        made.execute(f"CREATE VIEW users AS SELECT {shown} FROM raw GROUP BY id")
    schema = write(tmp_path, {"schema.toml": '[users]\nkey = "id"\n[raw]\nuse = false\n'}) / "schema.toml"
    words = ("--target", "users.y", "--schema", schema, "--engine", engine, "--out", counts)
    assert run("count", path, "y(A) :- colour(A, red).", *words).status == 0
    with duckdb.connect(str(path), read_only=True) as made:
        wrong = f"FROM '{counts}' JOIN raw USING (id) WHERE \"true\" <> y"
        assert made.execute(f"SELECT count(*) FROM '{counts}'").fetchall() == [(size,)]
        assert made.execute(f"SELECT count(*) {wrong}").fetchall() == [(0,)]


def test_tables_that_are_left_out_are_not_read(tmp_path):
    """A view may show a table that somebody dropped."""
    for source in (as_duckdb(TABLES, tmp_path / "duckdb"), as_sqlite(TABLES, tmp_path / "sqlite")):
        made = duckdb.connect(str(source)) if source.suffix == ".duckdb" else sqlite3.connect(source)
        made.execute("CREATE TABLE gone (x INTEGER)")
        made.execute("CREATE VIEW broken AS SELECT x FROM gone")
        made.execute("DROP TABLE gone")
        made.commit()
        made.close()
        with pytest.raises(DataError, match="gone"):
            hb.load(source, target="users.gender=F", views=True)
        hb.load(source, target="users.gender=F")
        hb.load(source, target="users.gender=F", schema=SHOP_KEYS.stated() | {"broken": {"use": False}})


@pytest.mark.parametrize("engine", [None, "duckdb"])
def test_views_are_read_if_they_are_asked_for(tmp_path, engine):
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE users AS SELECT i AS id, i % 2 AS y FROM range(9) AS t(i)")
        made.execute("CREATE VIEW old AS SELECT id, y AS z FROM users")
        made.execute("CREATE VIEW young AS SELECT id, y AS x FROM users")

    def tables(**options):
        with load_quietly(path, engine=engine, **options) as database:
            return sorted(database.origin["tables"]), [str(notice) for notice in database.notices]

    names, said = tables()
    assert names == ["users"] and 'not used: 2 views ("old", "young"; --views reads all).' in said
    names, said = tables(schema={"young": {"key": "id"}})
    assert names == ["users", "young"] and 'not used: 1 view ("old"; --views reads all).' in said
    assert tables(views=True)[0] == ["old", "users", "young"]
    assert tables(origin=load_quietly(path, views=True).origin)[0] == ["old", "users", "young"]


def test_a_database_of_nothing_but_views_is_read(tmp_path):
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE VIEW users AS SELECT i AS id, i % 2 AS y FROM range(9) AS t(i)")
    assert list(load_quietly(path).origin["tables"]) == ["users"]
