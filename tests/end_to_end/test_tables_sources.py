"""The same tables from every source are the same facts and give the same model, byte for byte."""

import os
from contextlib import contextmanager

import numpy as np
import pytest

import hornbeam as hb
import servers
from folders import examples_of, facts_of
from hornbeam.estimators.learners import RLRClassifier
from hornbeam.model.files import model_text
from table_worlds import ODD_KEYS, SHOP_KEYS, SOURCES, create, oddly_named, shop

TABLES = shop()
TARGETS = ["users.gender=F", "users.premium", "users.job"]


def learned(source, target):
    database = hb.load(source, target=target)
    keys, labels = database.examples()
    fitted = RLRClassifier(database=database, preset="paper", n_steps=3, max_literals=2).fit(keys, labels)
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
    with served("shop", TABLES, SHOP_KEYS) as conninfo:
        yield conninfo


@pytest.fixture(scope="module")
def odd_server():
    with served("odd", ODD, ODD_KEYS) as conninfo:
        yield conninfo


@contextmanager
def served(name, tables, keys):
    """The tables in a database of their own on a PostgreSQL server."""
    import psycopg

    if not servers.can_run_postgres():
        pytest.skip("no PostgreSQL server program (initdb, pg_ctl) to start, and no HORNBEAM_POSTGRES")
    conninfo = servers.postgres()
    name = f"{name}_{os.getpid()}"
    with psycopg.connect(conninfo, autocommit=True) as made:
        made.execute(f"CREATE DATABASE {name}")
    own = psycopg.conninfo.make_conninfo(conninfo, dbname=name)
    with psycopg.connect(own) as made, made.cursor() as cursor:
        raw = psycopg.RawCursor(made)
        create(tables, cursor.execute, raw.execute, "$", keys)
    yield own
    with psycopg.connect(conninfo, autocommit=True) as made:
        made.execute(f"DROP DATABASE {name}")


@pytest.mark.parametrize("target", TARGETS)
def test_the_same_model_from_a_server(server, target, expected):
    assert learned(server, target) == expected[target]


def test_a_server_s_facts_are_those_of_frames(server, tmp_path):
    other = hb.load(SOURCES["pandas"](TABLES, tmp_path), target="users.gender=F")
    found = hb.load(server, target="users.gender=F")
    assert facts_of(found) == facts_of(other)
    # Keys that are numbers come in their order, not in that of their text.
    assert examples_of(found, "gender_f") == examples_of(other, "gender_f")


def test_the_order_of_rows_plays_no_part(tmp_path, expected):
    draw = np.random.default_rng(3)
    shuffled = {}
    for name, columns in TABLES.items():
        order = draw.permutation(len(next(iter(columns.values()))))
        shuffled[name] = {column: [values[i] for i in order] for column, values in columns.items()}
    for target in TARGETS:
        assert learned(SOURCES["polars"](shuffled, tmp_path), target) == expected[target]


ODD = oddly_named()
ODD_TARGETS = ['my "users".x; DROP TABLE y; --', 'my "users".naïve café=Robert\'); DROP TABLE "order";--']


def odd_facts(source, target=ODD_TARGETS[0]):
    return hb.load(source, target=target, schema=ODD_KEYS.stated())


@pytest.mark.parametrize("kind", SOURCES)
def test_names_and_values_are_never_anything_else(kind, tmp_path):
    """Quotes, reserved words, other alphabets, signs of SQL: the same facts and model from every source."""
    source = SOURCES[kind](ODD, tmp_path / "data", ODD_KEYS)
    expected = SOURCES["pandas"](ODD, tmp_path, ODD_KEYS)
    for target in ODD_TARGETS:
        found, right = odd_facts(source, target), odd_facts(expected, target)
        assert facts_of(found) == facts_of(right)
        models = [
            RLRClassifier(database=each, preset="paper", n_steps=2, max_literals=2)
            .fit(*each.examples())
            .model_
            for each in (found, right)
        ]
        assert model_text(models[0]) == model_text(models[1])
        assert models[0].clauses


def test_all_odd_values_are_there(tmp_path):
    database = odd_facts(SOURCES["polars"](ODD, tmp_path))
    assert sorted(database.population('my "users"').names) == sorted(ODD['my "users"']["from"])
    values = set(ODD['my "users"']["naïve café"]) - {None}
    assert set(database.population("naïve café_value").names) == values


def learned_oddly(engine, tmp_path):
    database = odd_facts(SOURCES["polars"](ODD, tmp_path))
    return RLRClassifier(database=database, n_steps=2, max_literals=2, engine=engine).fit(
        *database.examples()
    )


def test_odd_names_through_an_sql_engine(tmp_path):
    assert model_text(learned_oddly("duckdb", tmp_path).model_) == model_text(
        learned_oddly("memory", tmp_path).model_
    )


def test_odd_names_from_and_in_a_server(odd_server, tmp_path):
    assert facts_of(odd_facts(odd_server)) == facts_of(odd_facts(SOURCES["polars"](ODD, tmp_path)))
    assert model_text(learned_oddly("postgres", tmp_path).model_) == model_text(
        learned_oddly("memory", tmp_path).model_
    )


def only(columns, name, wanted):
    rows = [place for place, value in enumerate(columns[name]) if value in wanted]
    return {column: [values[place] for place in rows] for column, values in columns.items()}


@pytest.mark.parametrize("kind", ["pandas", "csv", "sqlite"])
def test_a_model_predicts_on_tables_from_elsewhere_without_inferring_again(kind, tmp_path):
    """One user with some films looks quite different to inference: columns are constant, or unique."""
    database = hb.load(SOURCES["duckdb"](TABLES, tmp_path / "train"), target="users.gender=F")
    fitted = RLRClassifier(
        database=database, preset="paper", n_steps=3, max_literals=1, populations="training"
    )
    fitted.fit(*database.examples())
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
