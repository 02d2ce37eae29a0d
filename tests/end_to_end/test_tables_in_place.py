"""Tables that stay where they are give the model and the predictions of tables that are loaded."""

from __future__ import annotations

import copy
import csv
import json
import pickle
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import hornbeam as hb
from every_engine import ENGINES
from hornbeam import HornbeamError
from hornbeam.cli import main

USERS = 60
TYPES = {
    "users": "id INTEGER, premium INTEGER, age INTEGER, city VARCHAR, born DATE, mark BOOLEAN",
    "movies": "id INTEGER, genre VARCHAR, length DOUBLE, sequel_of INTEGER",
    "ratings": "user_id INTEGER, movie_id INTEGER, stars INTEGER, seen DATE",
}
SCHEMA = """
[users]
key = "id"
[movies]
key = "id"
links = { sequel_of = "movies" }
[ratings]
links = { user_id = "users", movie_id = "movies" }
time = "seen"
"""
FEW_COLUMNS = """
[users]
key = "id"
unused = ["age", "city", "born", "mark"]
[movies]
key = "id"
links = {}
unused = ["length", "sequel_of"]
[ratings]
links = { user_id = "users", movie_id = "movies" }
time = "seen"
"""
"""For Spark, and for effects with cut-offs: there many small queries take their time."""
Run = Callable[..., tuple[object, str, str]]


def rows() -> dict[str, list[tuple[object, ...]]]:
    """A small shop: gaps, empty text, quotes, numbers, dates, a link of a table to itself."""
    random = np.random.default_rng(5)
    cities = ("Bonn", "", "O'Hara", 'say "hi"', "naïve", None)
    users: list[tuple[object, ...]] = []
    for key in range(1, USERS + 1):
        age = None if key % 7 == 0 else int(random.integers(18, 80))
        born = None if key % 5 == 0 else f"19{70 + key % 30}-0{1 + key % 9}-1{key % 10}"
        city = cities[int(random.integers(6))]
        users.append((key, int(random.random() < 0.4), age, city, born, (None, True, False)[key % 3]))
    genres = ("drama", "comedy", "war")
    movies = [
        (key, genres[key % 3], 60 + 1.5 * key, key - 1 if key % 4 == 2 else None) for key in range(1, 21)
    ]
    pairs = sorted({(int(a), int(b)) for a, b in random.integers(1, (USERS + 1, 21), (350, 2))})
    ratings = [
        (
            user,
            movie,
            int(random.integers(1, 6)),
            f"2024-0{1 + int(random.integers(9))}-15" if user % 9 else None,
        )
        for user, movie in pairs
    ]
    return {"users": users, "movies": list(movies), "ratings": list(ratings)}


def names_of(table: str) -> list[str]:
    return [word.split()[0] for word in TYPES[table].split(", ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables as CSV, Parquet and a DuckDB file, with a schema and a file of examples."""
    found = tmp_path_factory.mktemp("shop")
    with duckdb.connect(str(found / "shop.duckdb")) as own:
        for name, some in rows().items():
            for kind in ("csv", "parquet"):
                (found / kind).mkdir(exist_ok=True)
                (found / kind / "schema.toml").write_text(SCHEMA)
            with (found / "csv" / f"{name}.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(names_of(name))
                writer.writerows([["" if value is None else value for value in row] for row in some])
            own.execute(f"CREATE TABLE {name} ({TYPES[name]})")
            marks = ", ".join("?" * len(some[0]))
            own.executemany(f"INSERT INTO {name} VALUES ({marks})", some)
            own.execute(f"COPY {name} TO '{found / 'parquet' / name}.parquet'")
    (found / "schema.toml").write_text(SCHEMA)
    (found / "few.toml").write_text(FEW_COLUMNS)
    with (found / "asked.csv").open("w") as file:
        file.write("id,label,cutoff\n")
        for key in range(1, USERS + 1):
            file.write(f"{key},{int(key % 3 == 0)},2024-0{1 + key % 9}-15\n")
        file.write("7,0,\n")
    return found


@cache
def in_postgres(folder: Path) -> str:
    import psycopg

    import servers

    server = servers.postgres()
    with psycopg.connect(server, autocommit=True) as own, own.cursor() as cursor:
        cursor.execute("DROP DATABASE IF EXISTS shop")
        cursor.execute("CREATE DATABASE shop")
    shop = server.replace("dbname=postgres", "dbname=shop")
    with psycopg.connect(shop, autocommit=True) as own, own.cursor() as cursor:
        for name, some in rows().items():
            types = TYPES[name].replace("DOUBLE", "DOUBLE PRECISION")
            cursor.execute(f"CREATE TABLE {name} ({types})".encode())
            marks = ", ".join(["%s"] * len(some[0]))
            cursor.executemany(f"INSERT INTO {name} VALUES ({marks})".encode(), some)
    return shop


PLACES: dict[str, tuple[str, Callable[[Path], str]]] = {
    "csv": ("duckdb", lambda folder: str(folder / "csv")),
    "parquet": ("duckdb", lambda folder: str(folder / "parquet")),
    "duckdb": ("duckdb", lambda folder: str(folder / "shop.duckdb")),
    "postgres": ("postgres", in_postgres),
    "spark": ("spark", lambda folder: str(folder / "parquet")),
}
TARGETS = {
    "a flag": ["--target", "users.premium"],
    "cut-offs": ["--target", "churned(users)", "--examples", "ASKED"],
    "a value": ["--target", "movies.genre=war"],
    "classes": ["--target", "movies.genre"],
    "links": ["--target", "ratings", "--negatives", "2"],
}
SHORT = ["--preset", "paper", "--stop", "best", "--look-ahead", "--refit"]
SHORT += ["--steps", "1", "--max-literals", "2", "--thresholds", "3", "--beam-width", "3"]
EFFECTS = ["--bags", "2", "--steps", "20", "--max-literals", "2", "--thresholds", "3"]
SHORTER = ["--steps", "1", "--max-literals", "1", "--thresholds", "2"]


@pytest.fixture(scope="module")
def in_memory(folder: Path) -> Callable[[str, Sequence[str]], list[bytes]]:
    """Models and predictions of loaded tables, made once."""

    known: dict[tuple[str, ...], list[bytes]] = {}

    def of(what: str, options: Sequence[str]) -> list[bytes]:
        place = (what, *options)
        if place not in known:
            known[place] = _learned(folder, what, str(folder / "csv"), "memory", f"memory {what}", options)
        return known[place]

    return of


def _learned(
    folder: Path, what: str, data: str, engine: str, name: str, options: Sequence[str]
) -> list[bytes]:
    words = [str(folder / "asked.csv") if word == "ASKED" else word for word in TARGETS[what]]
    few = options is SHORTER or (options is EFFECTS and what != "a flag")
    schema = "few.toml" if few else "schema.toml"
    given = ["--engine", engine, "--schema", str(folder / schema)]
    files = [folder / f"{name}.json", folder / f"{name}.csv"]
    examples = words[2:4] if words[2:3] == ["--examples"] else []
    calls = [
        ["fit", data, *words, *options, *given, "--model", str(files[0])],
        ["predict", data, "--model", str(files[0]), *given, *examples, "--out", str(files[1])],
    ]
    if options is SHORTER:
        calls = calls[:1]
    for call in calls:
        with pytest.raises(SystemExit) as stopped:
            main(call)
        assert stopped.value.code == 0, call
    if options is SHORTER:
        return [files[0].read_bytes()]
    table = files[1].read_bytes().splitlines()
    return [files[0].read_bytes(), table[0], *sorted(table[1:])]


CASES = {
    # Every target once, every place with and without cut-offs: each run takes its time on these systems.
    "csv": ("a flag", "cut-offs", "a value", "classes", "links"),
    "parquet": ("cut-offs",),
    "duckdb": ("links",),
    "postgres": ("a flag", "cut-offs"),
    "spark": ("cut-offs",),
}


def cases() -> Iterator[tuple[str, str, list[str]]]:
    """Every place and target, with the options of clauses and of effects; Spark is slow, so effects alone."""
    for place in CASES:
        engine = PLACES[place][0]
        for what in CASES[place] if engine in ENGINES else ():
            for options in [SHORTER] if engine == "spark" else [SHORT, EFFECTS]:
                yield place, what, options


@pytest.mark.parametrize(("place", "what", "options"), list(cases()))
def test_the_same_model_and_predictions_as_from_loaded_tables(
    place: str,
    what: str,
    options: list[str],
    folder: Path,
    in_memory: Callable[[str, Sequence[str]], list[bytes]],
) -> None:
    engine, opened = PLACES[place]
    found = _learned(folder, what, opened(folder), engine, f"{place} {what}", options)
    assert found == in_memory(what, options)


def test_facts_are_never_loaded(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*words: object, **more: object) -> None:
        raise AssertionError("facts were loaded")

    monkeypatch.setattr(import_module("hornbeam.data.build"), "build", never)
    monkeypatch.setattr(import_module("hornbeam.loading.tables.database"), "build", never)
    status, out, _ = run("fit", folder / "parquet", "--target", "users.premium", "--engine", "duckdb", *SHORT)
    assert status == 0 and "premium(A)" in out


def test_what_the_tables_are_is_inferred_in_place_as_it_is_when_they_are_loaded(
    folder: Path, run: Run, tmp_path: Path
) -> None:
    for name in TYPES:
        (tmp_path / f"{name}.csv").write_bytes((folder / "csv" / f"{name}.csv").read_bytes())
    results = [
        run("fit", tmp_path, "--target", "users.premium", "--engine", engine, *SHORT)
        for engine in ("memory", "duckdb")
    ]
    assert results[0] == results[1]
    assert "keys and links were inferred" in results[0][2]


@pytest.mark.parametrize("lacking", ["users.premium", "movies.genre", "movies", "ratings", "users"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_that_lack_what_a_model_knows_are_predicted_as_if_they_were_loaded(
    folder: Path, run: Run, tmp_path: Path, kind: str, lacking: str
) -> None:
    model = tmp_path / "m.json"
    assert run("fit", folder / "csv", "--target", "users.premium", "--model", model, *SHORT)[0] == 0
    data = tmp_path / "data"
    data.mkdir()
    table, _, column = lacking.partition(".")
    with duckdb.connect() as own:
        for name in TYPES:
            if name != table or column:
                left_out = f"* EXCLUDE {column}" if name == table else "*"
                source, place = folder / "parquet" / f"{name}.parquet", data / f"{name}.{kind}"
                own.execute(f"COPY (SELECT {left_out} FROM '{source}') TO '{place}'")
    (data / "schema.toml").write_text(
        "".join(
            f"[{part}" for part in SCHEMA.split("[")[1:] if (data / f"{part.split(']')[0]}.{kind}").exists()
        )
    )
    for more in ((), ("--dangling", "keep"), ("--examples", folder / "asked.csv", "--dangling", "keep")):
        loaded, placed = (
            run("predict", data, "--model", model, "--engine", engine, *more)
            for engine in ("memory", "duckdb")
        )
        assert placed == loaded
        assert "of the training data" in placed[2] or "--dangling" in placed[2]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"id,y,y\n1,0,0\n2,1,1\n",
        b"id,y,\n1,0,\n2,1,\n",
        b"id,y\n1,0\n2\n",
        b'id,y\n1,0\n2,"1\n',
        b'id,y\n1,0\n2,"1"1\n',
        b"id,y\n1,0\n2,\xff\n",
        b"\xef\xbb\xbfid;y;z\r\n1;0;a\r\n2;1;b\r\n",
        b'"id","y","a b"\n1,0,"x,\ny"\n2,1,"say ""hi"""\n',
    ],
)
def test_text_is_read_in_place_as_it_is_when_it_is_loaded(run: Run, tmp_path: Path, text: bytes) -> None:
    (tmp_path / "users.csv").write_bytes(text)
    loaded, placed = (
        run("fit", tmp_path, "--target", "users.y", "--engine", engine, *SHORTER)
        for engine in ("memory", "duckdb")
    )
    assert placed == loaded


# --- what is refused -------------------------------------------------------------------------


REFUSALS = {
    "rows": (
        {"a.csv": "who,what\n1,x\n1,x\n2,y\n", "users.csv": "id,y\n1,0\n2,1\n"},
        '[a]\nlinks = { who = "users" }\n',
        'the rows of table "a" have no key and repeat each other, and rows are not numbered in place: state '
        "a key, or rows = false to count repeated rows once, or load the tables into memory "
        '(engine "memory").',
    ),
    "rows without links": (
        {"a.csv": "x,y\n1,x\n2,x\n", "users.csv": "id,y\n1,0\n2,1\n"},
        "[a]\nkey = false\nlinks = {}\n",
        'the rows of table "a" have no key and no link to another table, and rows are not numbered in place: '
        "state a key, links, or use = false to leave it out, or load the tables into memory",
    ),
    "rows with columns": (
        {"a.csv": "who,what,size\n1,x,4\n2,y,5\n", "users.csv": "id,y\n1,0\n2,1\n"},
        '[a]\nkey = false\nlinks = { who = "users" }\nrows = false\n',
        'the rows of table "a" have no key, one link and 2 other columns, and rows are not numbered in '
        "place: state a key, or load the tables into memory",
    ),
    "rows without columns": (
        {"a.csv": "who,what\n1,x\n2,x\n", "users.csv": "id,y\n1,0\n2,1\n"},
        '[a]\nkey = false\nlinks = { who = "users" }\n',
        'the rows of table "a" have no key, one link and no other usable column, and rows',
    ),
    "rows with a number": (
        {"a.csv": "who,size\n1,4.5\n2,5.5\n", "users.csv": "id,y\n1,0\n2,1\n"},
        '[a]\nkey = false\nlinks = { who = "users" }\n',
        'the rows of table "a" have no key, one link and a number, which may repeat, and rows are not '
        "numbered in place: state a key, or rows = false",
    ),
    "rows stated": (
        {"a.csv": "who,what\n1,x\n2,y\n", "users.csv": "id,y\n1,0\n2,1\n"},
        '[a]\nlinks = { who = "users" }\nrows = true\n',
        'the rows of table "a" are stated to be things (rows = true) that have no key, and rows are not '
        "numbered in place: state a key, or leave rows out, or load the tables into memory",
    ),
    "dates of another form": (
        {"a.csv": "id,y,born\n1,0,01.02.2020\n2,1,02.02.2020\n", "users.csv": "id,y\n1,0\n2,1\n"},
        '[a]\nkey = "id"\ndates = { born = "%d.%m.%Y" }\n',
        'column "born" of table "a" has dates of the form %d.%m.%Y, but in place dates are read as 2024',
    ),
    "moments": (
        {"a.csv": "id,y\n2024-01-01T10:00,0\n2024-01-01T11:00,1\n", "users.csv": "id,y\n1,0\n2,1\n"},
        '[a]\nkey = "id"\n',
        'column "id" of table "a" is a key that holds moments, whose text differs between systems',
    ),
    "decimals": (
        {"a.csv": "id,y\n1.5,0\n2.5,1\n", "users.csv": "id,y\n1,0\n2,1\n"},
        '[a]\nkey = "id"\n',
        'column "id" of table "a" is a key that holds decimal numbers',
    ),
    "words": (
        {"users.csv": "id,y,z\n1,0,yes\n2,1,no\n"},
        '[users]\nroles = { z = "flag" }\n',
        'column "z" of table "users" is stated to be a flag, but does not hold 0 and 1',
    ),
    "encoding": (
        {"users.csv": "id,y\n1,0\n2,1\n"},
        '[users]\nencoding = "latin-1"\n',
        'DuckDB reads UTF-8 text in place, but table "users" is in latin-1',
    ),
    "keys": (
        {"users.csv": "id,y\n1,0\n1,1\n"},
        '[users]\nkey = "id"\n',
        'key "id": 1 value occurs in more than one row (first: 1)',
    ),
    "links": (
        {"a.csv": "id,who\n1,5\n", "users.csv": "id,y\n1,0\n2,1\n"},
        '[a]\nlinks = { who = "users" }\n',
        '1 key in 1 row is not in "users" (first: 5)',
    ),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_what_cannot_be_done_in_place_is_one_sentence(what: str, run: Run, tmp_path: Path) -> None:
    files, schema, sentence = REFUSALS[what]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "schema.toml").write_text(schema)
    status, _, said = run("fit", tmp_path, "--target", "users.y", "--engine", "duckdb")
    assert status == 2 and sentence in said and len(said.strip().splitlines()) == 1


def test_options_that_an_engine_has_no_use_for_are_refused(folder: Path, run: Run) -> None:
    words = ("fit", folder / "csv", "--target", "users.premium")
    for option in ("--scratch", "--master"):
        status, _, said = run(*words, option, "x")
        assert status == 2 and re.search(f'engine "memory" has no option {option[2:]}; leave it out', said)


def test_explaining_names_groundings_in_place(folder: Path, run: Run, tmp_path: Path) -> None:
    data, model = folder / "parquet", tmp_path / "m.json"
    run("fit", data, "--target", "users.premium", "--engine", "duckdb", *SHORT, "--model", model)
    words = ("explain", data, "--model", model, "--example", "premium(3)", "--json", "--shown", 1000)
    loaded, in_place = (json.loads(run(*words, "--engine", engine)[1]) for engine in ("memory", "duckdb"))
    assert groundings_apart(in_place) == groundings_apart(loaded)
    assert any(groundings_apart(in_place)[1])


# --- in Python -------------------------------------------------------------------------------


OPTIONS: dict[str, Any] = {"preset": "paper", "stop": "best", "look_ahead": True, "refit": True}
OPTIONS |= {"n_steps": 2, "max_literals": 2, "n_thresholds": 3, "beam_width": 3}
OF_EFFECTS: dict[str, Any] = {
    "n_bags": 2,
    "n_steps": 20,
    "max_literals": 2,
    "n_thresholds": 3,
    "validate": False,  # noise among few users is enough here
}
EXPLAINED = 30
IN_PYTHON = ("duckdb", "parquet", "postgres")
"""A DuckDB file, a folder of Parquet files, a server."""


def shop_for(folder: Path, what: str) -> dict[str, Any]:
    """What ``load`` is told to learn a target of the shop."""
    options: dict[str, Any] = {"schema": str(folder / "schema.toml"), "target": TARGETS[what][1]}
    return options | ({"examples": str(folder / "asked.csv")} if what == "cut-offs" else {})


def learned_in_python(
    shop: hb.Database, **options: object
) -> tuple[str, dict[tuple[str, ...], Any], dict[tuple[str, ...], Any]]:
    """The model, and for each key its probabilities and the explanation of them."""
    X, y = shop.examples()
    classifier = hb.RLRClassifier(database=shop, **OPTIONS, **options).fit(X, y)
    keys = [tuple(map(str, row)) for row in X]
    probabilities = classifier.predict_proba(X).tolist()
    explained = [each.as_dict() for each in classifier.explain(X[:EXPLAINED], shown=10_000)]
    return (
        str(classifier.model_),
        dict(zip(keys, probabilities, strict=True)),
        dict(zip(keys[:EXPLAINED], explained, strict=True)),
    )


@pytest.fixture(scope="module")
def loaded_in_python(folder: Path) -> Callable[[str], Any]:
    return cache(lambda what: learned_in_python(hb.load(folder / "csv", **shop_for(folder, what))))


def groundings_apart(explanation: dict[str, Any]) -> tuple[object, list[set[tuple[object, ...]]]]:
    """An explanation without its groundings, and those of each reason as a set: their order is free."""
    groundings = [
        {tuple(sorted(each.items())) for each in reason["groundings"]} for reason in explanation["reasons"]
    ]
    return [{**reason, "groundings": None} for reason in explanation["reasons"]], groundings


@pytest.mark.parametrize("what", ["a flag", "cut-offs"])
@pytest.mark.parametrize("place", [place for place in IN_PYTHON if PLACES[place][0] in ENGINES])
def test_python_learns_predicts_and_explains_in_place_as_it_does_from_loaded_tables(
    place: str, what: str, folder: Path, loaded_in_python: Callable[[str], Any]
) -> None:
    engine, opened = PLACES[place]
    options = shop_for(folder, what)
    with hb.load(opened(folder), engine=engine, memory=500_000_000, **options) as shop:
        assert shop.is_in_place and not shop.relations
        assert repr(shop).startswith(f"Database(facts in {engine}, ")
        model, probabilities, explained = learned_in_python(shop)
    right_model, right_probabilities, right = loaded_in_python(what)
    assert model == right_model
    assert probabilities == right_probabilities
    compared = 0
    for key in explained.keys() & right.keys():
        (reasons, groundings), (right_reasons, all_groundings) = map(
            groundings_apart, (explained[key], right[key])
        )
        assert reasons == right_reasons
        assert groundings == all_groundings
        compared += sum(map(len, groundings))
    assert compared > 20


def test_explanations_of_effects_name_the_same_groundings_in_place(folder: Path) -> None:
    options = shop_for(folder, "a flag")
    found = []
    with hb.load(folder / "shop.duckdb", engine="duckdb", **options) as placed:
        for shop in (placed, hb.load(folder / "csv", **options)):
            X, y = shop.examples()
            order = np.argsort([int(key) for (key,) in X])
            classifier = hb.RLRClassifier(database=shop, **OF_EFFECTS).fit(X[order], y[order])
            explained = classifier.explain(X[order][:EXPLAINED], shown=10_000)
            found.append([groundings_apart(each.as_dict()) for each in explained])
    assert found[0] == found[1]
    assert sum(len(each) for _, groundings in found[0] for each in groundings) > 20


def test_a_database_in_place_names_its_engine_and_is_shared_by_copies(folder: Path) -> None:
    options = shop_for(folder, "a flag")
    shop = hb.load(folder / "shop.duckdb", engine="duckdb", **options)
    X, y = shop.examples()
    classifier = hb.RLRClassifier(database=shop, engine="naive", **OPTIONS)
    with pytest.raises(HornbeamError, match=r'engine "naive" cannot count these facts.*tables of duckdb'):
        classifier.fit(X, y)
    assert clone(classifier).database is copy.copy(shop) is shop
    with pytest.raises(HornbeamError, match=r"facts stay in duckdb cannot be pickled.*database=None"):
        pickle.dumps(classifier)
    shop.close()
    with pytest.raises(HornbeamError, match="the database is closed; load it again"):
        hb.RLRClassifier(database=shop, **OPTIONS).fit(X, y)


def test_without_an_engine_and_for_other_sources_tables_are_loaded(folder: Path) -> None:
    tables = {"users": pd.DataFrame(rows()["users"], columns=names_of("users"))}
    for database in (
        hb.load(folder / "shop.duckdb", **shop_for(folder, "a flag")),
        hb.load(folder / "shop.duckdb", engine="memory", **shop_for(folder, "a flag")),
        hb.load(tables, engine="duckdb", target="users.premium"),
    ):
        assert not database.is_in_place and database.relations


def test_tables_in_place_may_be_opened_without_a_target(folder: Path) -> None:
    with hb.load(folder / "shop.duckdb", engine="duckdb") as shop:
        assert shop.n_facts("ratings") == len(rows()["ratings"])
        assert not shop.example_sets


def test_a_schema_of_spark_is_read_by_spark_alone(run: Run) -> None:
    status, _, said = run("fit", "catalog:shop", "--target", "users.vip")
    assert status == 2
    assert said == (
        'hornbeam: "catalog:shop" is a schema of Spark\'s catalogue, which only Spark reads; name the '
        "engine spark (--engine spark).\n"
    )
