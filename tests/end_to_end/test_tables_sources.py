"""The same tables from every source are the same facts and give the same model, byte for byte."""

import os

import numpy as np
import pytest

import hornbeam as hb
import servers
from folders import examples_of, facts_of
from hornbeam.estimators import RLRClassifier
from hornbeam.model_json import model_text
from table_worlds import SOURCES, create, shop

TABLES = shop()
TARGETS = ["users.gender=F", "users.premium", "users.job"]


def learned(source, target):
    database = hb.load(source, target=target)
    keys, labels = database.examples()
    fitted = RLRClassifier(database=database, n_steps=3, max_literals=2).fit(keys, labels)
    return model_text(fitted.model_)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    source = SOURCES["pandas"](TABLES, tmp_path_factory.mktemp("pandas"))
    return {target: learned(source, target) for target in TARGETS}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", SOURCES)
def test_the_same_model_from_every_source(kind, target, tmp_path, expected):
    assert learned(SOURCES[kind](TABLES, tmp_path / "data"), target) == expected[target]


@pytest.mark.parametrize("kind", SOURCES)
def test_the_same_facts_from_every_source(kind, tmp_path):
    database = hb.load(SOURCES[kind](TABLES, tmp_path / "data"), target="users.gender=F")
    other = hb.load(SOURCES["pandas"](TABLES, tmp_path), target="users.gender=F")
    assert facts_of(database) == facts_of(other)
    assert database.modes == other.modes
    assert sorted(examples_of(database, "gender_f")) == sorted(examples_of(other, "gender_f"))
    assert {name: sorted(p.names) for name, p in database.populations.items()} == {
        name: sorted(p.names) for name, p in other.populations.items()
    }


@pytest.fixture(scope="module")
def server():
    import psycopg

    if not servers.can_run_postgres():
        pytest.skip(
            "no PostgreSQL server program (initdb, pg_ctl) to start, and HORNBEAM_POSTGRES is not set"
        )
    conninfo = servers.postgres()
    name = f"shop_{os.getpid()}"
    with psycopg.connect(conninfo, autocommit=True) as made:
        made.execute(f"CREATE DATABASE {name}")
    own = psycopg.conninfo.make_conninfo(conninfo, dbname=name)
    with psycopg.connect(own) as made:
        create(TABLES, made.execute, made.execute, "%s")
    yield own
    with psycopg.connect(conninfo, autocommit=True) as made:
        made.execute(f"DROP DATABASE {name}")


@pytest.mark.parametrize("target", TARGETS)
def test_the_same_model_from_a_server(server, target, expected):
    assert learned(server, target) == expected[target]


def test_a_server_s_facts_are_those_of_frames(server, tmp_path):
    other = hb.load(SOURCES["pandas"](TABLES, tmp_path), target="users.gender=F")
    assert facts_of(hb.load(server, target="users.gender=F")) == facts_of(other)


def test_the_order_of_rows_plays_no_part(tmp_path, expected):
    draw = np.random.default_rng(3)
    shuffled = {}
    for name, columns in TABLES.items():
        order = draw.permutation(len(next(iter(columns.values()))))
        shuffled[name] = {column: [values[i] for i in order] for column, values in columns.items()}
    for target in TARGETS:
        assert learned(SOURCES["polars"](shuffled, tmp_path), target) == expected[target]


def only(columns, name, wanted):
    rows = [place for place, value in enumerate(columns[name]) if value in wanted]
    return {column: [values[place] for place in rows] for column, values in columns.items()}


@pytest.mark.parametrize("kind", ["pandas", "csv", "sqlite"])
def test_a_model_predicts_on_tables_from_elsewhere_without_inferring_again(kind, tmp_path):
    """One user with some films looks quite different to inference: columns are constant, or unique."""
    database = hb.load(SOURCES["duckdb"](TABLES, tmp_path / "train"), target="users.gender=F")
    fitted = RLRClassifier(database=database, n_steps=3, max_literals=2).fit(*database.examples())
    users, ratings = TABLES["users"], TABLES["ratings"]
    user = users["user_id"][users["gender"].index("F")]
    films = set(only(ratings, "user_id", {user})["movie_id"])
    rows = {
        "users": only(users, "user_id", {user}),
        "movies": only(TABLES["movies"], "movie_id", films),
        "ratings": only(ratings, "user_id", {user}),
    }
    other = hb.load(SOURCES[kind](rows, tmp_path / "other"), origin=fitted.model_.settings)
    assert other.schema.predicates == database.schema.predicates
    expected = fitted.predict_proba([[user]])
    assert fitted.predict_proba([[user]], database=other).tolist() == expected.tolist()
