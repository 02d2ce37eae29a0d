"""Keys of several columns: stated or declared, loaded, in place and in SQL, they give the same model."""

from __future__ import annotations

import sqlite3
import warnings
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
import servers
from every_engine import ENGINES
from folders import facts_of
from hornbeam.errors import DataError, SchemaError
from hornbeam.in_place.load import load_quietly
from hornbeam.loading.tables.columns.column import MISSING, joined_column
from hornbeam.loading.tables.columns.new_columns import number_column, text_column, value_column
from hornbeam.model.files import model_text
from hornbeam.report.live.what_if import Change, ChangeableTables

TEAMS = "year integer NOT NULL, team varchar NOT NULL, budget integer, name varchar, PRIMARY KEY (year, team)"
PLAYERS = "id integer PRIMARY KEY, club varchar, born integer, skill double precision, star integer"
FOREIGN = "FOREIGN KEY (club, born) REFERENCES teams (team, year)"
"""Its references are not in the order of the primary key; DuckDB asks for that order."""
ORDERED = "FOREIGN KEY (born, club) REFERENCES teams (year, team)"
STATED = {
    "teams": {"key": ["year", "team"]},
    "players": {"joined": {"born_club": ["born", "club"]}, "links": {"born_club": "teams"}},
}
OPTIONS = {"n_bags": 1, "n_steps": 25, "validate": False, "max_effects": "all"}


def tables(dangling: bool = False) -> dict[str, pd.DataFrame]:
    """Teams by year and name, some of which have a stroke or a percent sign, and players."""
    draw = np.random.default_rng(3)
    names = ["A/B", "A", "A%2F", "BOS", "B/A"]
    teams = [(year, name, int(draw.integers(100))) for year in range(2000, 2009) for name in names]
    players = []
    for number in range(150):
        year, name, budget = teams[draw.integers(len(teams))]
        club = None if number % 30 == 3 else "NONE" if dangling and number % 40 == 7 else name
        star = int(draw.random() < 1 / (1 + np.exp((50 - budget) / 10)))
        players.append((number, club, year, round(float(draw.normal()), 2), star))
    of_teams = [(*team, f"{team[1]} of {team[0]}") for team in teams]
    return {
        "teams": pd.DataFrame(of_teams, columns=["year", "team", "budget", "name"]),
        "players": pd.DataFrame(players, columns=["id", "club", "born", "skill", "star"]),
    }


def rows(frame: pd.DataFrame) -> list[tuple]:
    return [tuple(row) for row in frame.astype(object).where(frame.notna(), None).itertuples(index=False)]


def in_folder(given: dict[str, pd.DataFrame], folder: Path, kind: str) -> Path:
    folder.mkdir()
    for name, frame in given.items():
        if kind == "csv":
            frame.to_csv(folder / f"{name}.csv", index=False)
        else:
            frame.to_parquet(folder / f"{name}.parquet")
    return folder


def in_sqlite(given: dict[str, pd.DataFrame], folder: Path) -> Path:
    path = folder / "teams.sqlite"
    with closing(sqlite3.connect(path)) as made:
        made.execute(f"CREATE TABLE teams ({TEAMS})")
        made.execute(f"CREATE TABLE players ({PLAYERS}, {FOREIGN})")
        for name, frame in given.items():
            made.executemany(f"INSERT INTO {name} VALUES ({','.join('?' * frame.shape[1])})", rows(frame))
        made.commit()
    return path


def in_duckdb(given: dict[str, pd.DataFrame], folder: Path) -> Path:
    path = folder / "teams.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute(f"CREATE TABLE teams ({TEAMS})")
        made.execute(f"CREATE TABLE players ({PLAYERS}, {ORDERED})")
        for name, frame in given.items():
            made.executemany(f"INSERT INTO {name} VALUES ({','.join('?' * frame.shape[1])})", rows(frame))
    return path


def in_postgres(given: dict[str, pd.DataFrame]) -> str:
    import psycopg

    server = servers.postgres()
    with psycopg.connect(server, autocommit=True) as made:
        made.execute("DROP DATABASE IF EXISTS teams")
        made.execute("CREATE DATABASE teams")
    server += " dbname=teams"
    with psycopg.connect(server) as made:
        made.execute(f"CREATE TABLE teams ({TEAMS})".encode())
        made.execute(f"CREATE TABLE players ({PLAYERS}, {FOREIGN})".encode())
        for name, frame in given.items():
            values = ", ".join(["%s"] * frame.shape[1])
            made.cursor().executemany(f"INSERT INTO {name} VALUES ({values})".encode(), rows(frame))
    return server


def learned(source: object, target: str = "players.star", **options: object) -> tuple[hb.RLRClassifier, str]:
    with load_quietly(source, target=target, **options) as database:
        fitted = hb.RLRClassifier(database=database, **OPTIONS).fit(*database.examples())
        return fitted, model_text(fitted.model_).split('"settings"')[0]


def test_a_key_of_two_columns_gives_one_model_wherever_the_tables_are(tmp_path: Path) -> None:
    given = tables()
    csv, parquet = (in_folder(given, tmp_path / kind, kind) for kind in ("csv", "parquet"))
    sqlite_file, duckdb_file = in_sqlite(given, tmp_path), in_duckdb(given, tmp_path)
    model, text = learned(csv, schema=STATED)
    assert "born_club(A,B), budget(B,C)" in text
    assert learned(given, schema=STATED)[1] == text
    assert learned(csv, schema=STATED, engine="duckdb")[1] == text
    assert learned(parquet, schema=STATED, engine="duckdb")[1] == text
    assert learned(sqlite_file)[1] == text
    assert learned(duckdb_file)[1] == text
    assert learned(duckdb_file, engine="duckdb")[1] == text
    keys = model.database.examples()[0]
    wanted = model.predict_proba(keys)
    with load_quietly(duckdb_file, origin=model.model_.settings) as other:
        assert model.predict_proba(keys, database=other).tolist() == wanted.tolist()


@pytest.mark.skipif("postgres" not in ENGINES, reason="PostgreSQL is not available")
def test_a_key_of_two_columns_on_a_server(tmp_path: Path) -> None:
    given = tables()
    _, text = learned(given, schema=STATED)
    server = in_postgres(given)
    assert learned(server)[1] == text
    model, there = learned(server, engine="postgres")
    assert there == text
    import psycopg

    with psycopg.connect(server) as connection:
        scored = connection.execute(model.model_.sql("postgres").encode()).fetchall()
    check_scores(model, {str(row[0]): row[-1] for row in scored}, given)


def check_scores(model: hb.RLRClassifier, scored: dict[str, float], given: dict[str, pd.DataFrame]) -> None:
    with load_quietly(given, origin=model.model_.settings) as database:
        keys = database.examples()[0]
        wanted = model.predict_proba(keys, database=database)[:, 1]
    assert [scored[key] for (key,) in keys.tolist()] == pytest.approx(wanted.tolist(), abs=1e-12)


@pytest.mark.parametrize("system", ["duckdb", "sqlite"])
def test_exported_sql_joins_the_columns(system: str, tmp_path: Path) -> None:
    given = tables(dangling=True)
    model, _ = learned(given, schema=STATED)
    query = model.model_.sql(system)
    if system == "duckdb":
        with duckdb.connect() as database:
            for name, frame in given.items():
                database.register(name, frame)
            scored = database.execute(query).fetchall()
    else:
        with closing(sqlite3.connect(in_sqlite(given, tmp_path))) as lite:
            scored = lite.execute(query).fetchall()
    check_scores(model, {str(row[0]): row[-1] for row in scored}, given)


def test_the_rows_of_a_table_with_such_a_key_are_examples(tmp_path: Path) -> None:
    """Examples are named by the joined key, or by its parts; SQL names them in the same way."""
    given = tables()
    given["teams"]["rich"] = (given["teams"]["budget"] > 50).astype(int)
    given["teams"] = given["teams"].drop(columns="budget")
    model, _ = learned(given, "teams.rich", schema=STATED)
    assert "2000/A%2FB" in model.database.examples()[0][:, 0]
    examples = pd.DataFrame({"team": ["A/B", "A%2F"], "year": [2000, 2001], "label": [1, 0]})
    with load_quietly(given, origin=model.model_.settings, examples=examples) as database:
        assert database.examples()[0].tolist() == [["2000/A%2FB"], ["2001/A%252F"]]
    with duckdb.connect() as connection:
        for name, frame in given.items():
            connection.register(name, frame)
        scored = connection.execute(model.model_.sql("duckdb")).fetchall()
    check_scores(model, {row[0]: row[-1] for row in scored}, given)


def test_dangling_links_of_such_keys_are_left_out_and_counted(tmp_path: Path) -> None:
    given = tables(dangling=True)
    loaded = load_quietly(given, target="players.star", schema=STATED)
    (note,) = (str(each) for each in loaded.notices if "NONE" in str(each))
    assert note.startswith('players.born_club: 4 keys in 4 rows are not in "teams" (first: 200')
    folder = in_folder(given, tmp_path / "parquet", "parquet")
    with load_quietly(folder, target="players.star", schema=STATED, engine="duckdb") as placed:
        assert note in map(str, placed.notices)
        assert learned(folder, schema=STATED, engine="duckdb")[1] == learned(given, schema=STATED)[1]
    with pytest.raises(DataError, match='table "players", column "born_club": 4 keys in 4 rows are not in'):
        load_quietly(given, target="players.star", schema=STATED, dangling="error")


def test_moments_join_tables_as_in_weather_by_airport_and_hour(tmp_path: Path) -> None:
    """Midnight is written as a day, whatever the other values of its column, in memory as in SQL."""
    start = datetime(2013, 1, 1)
    hours = [start + timedelta(hours=6 * number) for number in range(40)]
    weather = [(place, hour, number % 7) for number, hour in enumerate(hours) for place in ("EWR", "JFK")]
    draw = np.random.default_rng(1)
    flights = [weather[draw.integers(len(weather))] for _ in range(120)]
    given = {
        "weather": pd.DataFrame(weather, columns=["origin", "hour", "wind"]),
        "flights": pd.DataFrame(
            [(n, at, hour, int(wind > 3)) for n, (at, hour, wind) in enumerate(flights)],
            columns=["id", "at", "hour", "late"],
        ),
    }
    schema = {
        "weather": {"joined": {"where_when": ["origin", "hour"]}, "key": "where_when"},
        "flights": {"key": "id", "joined": {"weather": ["at", "hour"]}, "links": {"weather": "weather"}},
    }
    model, text = learned(given, "flights.late", schema=schema)
    assert "wind(B,C)" in text
    facts = {str(fact).replace('"', "'") for fact in facts_of(model.database)}
    assert any(fact.startswith("wind('EWR/2013-01-02',") for fact in facts)
    assert any(fact.startswith("wind('EWR/2013-01-02 06:00:00',") for fact in facts)
    for kind in ("csv", "parquet"):
        folder = in_folder(given, tmp_path / kind, kind)
        assert learned(folder, "flights.late", schema=schema)[1] == text
        assert learned(folder, "flights.late", schema=schema, engine="duckdb")[1] == text
    with duckdb.connect() as connection:
        for name, frame in given.items():
            connection.register(name, frame)
        scored = connection.execute(model.model_.sql("duckdb")).fetchall()
    check_scores(model, {str(row[0]): row[-1] for row in scored}, given)


def test_what_if_of_such_keys_is_the_answer_for_changed_tables(tmp_path: Path) -> None:
    given = tables()
    folder = in_folder(given, tmp_path / "csv", "csv")
    (folder / "schema.toml").write_text(
        '[teams]\nkey = ["year", "team"]\n[players]\njoined = { born_club = ["born", "club"] }\n'
        'links = { born_club = "teams" }\n'
    )
    model, _ = learned(folder)
    changeable = ChangeableTables(folder, model.model_.settings, {})
    near = {each.table: each for each in changeable.near(["players"], ["1"])}
    assert near["teams"].fixed == ("year", "team")
    row = near["teams"].numbers[0]
    before = changeable.explained(model.model_, ["1"])
    after = changeable.explained(model.model_, ["1"], [Change("teams", row, "budget", "1")])
    moved = changeable.explained(model.model_, ["1"], [Change("players", 1, "club", "A%2F")])
    given["teams"].loc[row, "budget"] = 1
    with load_quietly(given, origin=model.model_.settings) as database:
        wanted = model.decision_function(np.array([["1"]], dtype=object), database=database)[0]
    assert after.log_odds == wanted != before.log_odds != moved.log_odds


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"teams": {"key": ["yeer", "team"]}}, r"\[teams\] no column \"yeer\" to join\. .*mean \"year\"\?"),
        ({"teams": {"key": []}}, r"\[teams\] key must be a column, a list of columns, or false, found \[\]"),
        ({"teams": {"joined": {"x": "year"}}}, r"\[teams\] joined must be pairs of a new column and a list"),
        ({"teams": {"joined": {"year": ["team"]}}}, r"there is a column \"year\" already; give the new one"),
        (
            {"teams": {"key": ["year", "team"]}, "players": {"links": {"year_team": "teams"}}},
            r"A key of several columns is linked by joined = \{ year_team = \[\"year\", \"team\"\] \}",
        ),
        ({"players": {"joined": {"x": ["born", "skill"]}}}, 'column "skill" holds decimal numbers, whose'),
        ({"teams": {"key": ["year", "budget"]}}, r'key "year_budget": \d+ values? occurs? in more than one'),
    ],
)
@pytest.mark.parametrize("engine", [None, "duckdb"])
def test_what_cannot_be_joined_is_said(schema, message, engine, tmp_path: Path) -> None:
    given = tables()
    given["teams"].loc[1, "budget"] = given["teams"].loc[0, "budget"]
    folder = in_folder(given, tmp_path / "parquet", "parquet")
    with pytest.raises((SchemaError, DataError), match=message), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hb.load(folder, target="players.star", schema=schema, engine=engine)


def test_a_link_table_that_others_refer_to_is_a_table_of_things(tmp_path: Path) -> None:
    """The same key joins the tables of a one-to-one chain, and is a link where it is a foreign key too."""
    path = tmp_path / "school.sqlite"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(
            """
            CREATE TABLE students (id integer PRIMARY KEY, clever integer);
            CREATE TABLE courses (id text PRIMARY KEY, hard integer);
            CREATE TABLE enrolled (student integer REFERENCES students, course text REFERENCES courses,
                PRIMARY KEY (student, course));
            CREATE TABLE marks (course text, student integer, mark integer, PRIMARY KEY (course, student),
                FOREIGN KEY (course, student) REFERENCES enrolled (course, student));
            """
        )
        made.executemany("INSERT INTO students VALUES (?, ?)", [(n, n % 2) for n in range(30)])
        made.executemany("INSERT INTO courses VALUES (?, ?)", [(c, c in "ab") for c in "abcd"])
        both = [(n, c) for n in range(30) for c in "abcd" if (n + ord(c)) % 3]
        made.executemany("INSERT INTO enrolled VALUES (?, ?)", both)
        made.executemany("INSERT INTO marks VALUES (?, ?, ?)", [(c, n, n % 5) for n, c in both[::2]])
        made.commit()
    database = load_quietly(path, target="students.clever")
    facts = {str(fact).replace('"', "'") for fact in facts_of(database)}
    assert {"enrolled_student('1/a',1)", "enrolled_course('1/a',a)"} <= facts
    assert database.schema.types_of("marks") == ("enrolled",)
    assert database.schema.types_of("mark") == ("enrolled", "mark_value")


PARTS = st.lists(
    st.tuples(st.text("a/%2F5 é", max_size=4) | st.none(), st.integers(-20, 120) | st.none()),
    min_size=1,
    max_size=30,
)


@settings(max_examples=25, deadline=None)
@given(rows=PARTS)
def test_joined_texts_differ_where_rows_differ_and_sql_writes_the_same(rows) -> None:
    texts = [text for text, _ in rows]
    numbers, _ = value_column("n", [number for _, number in rows])
    column = joined_column("both", [text_column("t", texts), numbers])
    found = [None if code == MISSING else column.texts[code] for code in column.codes.tolist()]
    whole = [(text, number) if text and number is not None else None for text, number in rows]
    assert [each is None for each in found] == [each is None for each in whole]
    assert len({*found}) == len({*whole})
    assert list(column.texts) == sorted({each for each in found if each is not None})
    schema = {"t": {"joined": {"both": ["t", "n"]}, "links": {"both": "keys"}}, "keys": {"key": "k"}}
    frames = {
        "keys": pd.DataFrame(
            {"k": [*column.texts, "other"], "y": [n % 2 for n in range(len(column.texts) + 1)]}
        ),
        "t": pd.DataFrame(
            {"id": [f"r{n}" for n in range(len(rows))], "t": texts, "n": [n for _, n in rows]}
        ).astype({"n": "Int64"}),
    }
    if not any(whole):
        return
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        place = in_folder(frames, Path(folder) / "frames", "parquet")
        with load_quietly(place, target="keys.y", schema=schema, engine="duckdb", dangling="error") as placed:
            assert not [str(each) for each in placed.notices if "not in" in str(each)]


def test_decimal_numbers_are_not_joined() -> None:
    with pytest.raises(DataError, match='column "x" holds decimal numbers'):
        joined_column("both", [number_column("x", np.array([0.5])), text_column("t", ["a"])])
