"""Cut-off times from tables, through every verb and the estimator: what came later plays no part."""

import csv
import io
import json
import tempfile
from contextlib import contextmanager
from datetime import date
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
import servers
from every_engine import ENGINES
from folders import write
from hornbeam.engines.questions import FeatureRequest
from hornbeam.engines.registry import open_engine
from hornbeam.estimators.learners import RLRClassifier
from hornbeam.logic.features import DISTINCT, OF_NUMBERS
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.model.clause_model import Model
from hornbeam.model.effects import FittedEffect
from hornbeam.model.predict import data_for

SCHEMA = {"visits": {"links": {"user_id": "users"}, "time": "day", "rows": True}}
QUICK = ("--steps", "3", "--max-literals", "2")
CLAUSE = "vip(A) :- user_id(B,A), paid(B,C), C >= 50."


def world(seed=0, n_users=40, n_visits=300):
    draw = np.random.default_rng(seed)
    users = {"user_id": list(range(n_users)), "vip": [bool(draw.random() < 0.5) for _ in range(n_users)]}
    days = draw.integers(1, [13, 29], (n_visits, 2)).tolist()
    visits = {
        "user_id": draw.integers(0, n_users, n_visits).tolist(),
        "day": [f"2024-{month:02d}-{day:02d}" for month, day in days],
        "paid": draw.integers(0, 100, n_visits).tolist(),
    }
    months = [1] * n_users + [7] * n_users, [7] * n_users + [13] * n_users
    examples = {
        "user_id": [*range(n_users), *range(n_users)],
        "cutoff": [f"2024-{month:02d}-15" for month in draw.integers(*months).tolist()],
    }
    return users, visits, examples


def later_than_all(visits, examples):
    """The same visits and, for each user, more of them at the last cut-off and after it."""
    more = {name: list(values) for name, values in visits.items()}
    month, last = max(examples["cutoff"])[:-2], 15
    for user in dict.fromkeys(examples["user_id"]):
        for number in range(3):
            more["user_id"].append(user)
            more["day"].append(f"{month}{last + number}")
            more["paid"].append(90 + number)
    return more


def text(columns):
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()


@pytest.fixture
def hornbeam(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def printed(*words):
        status, out, said = run(*words)
        assert status == 0, said
        return out

    return printed


def put(folder, name, users, visits, examples):
    schema = '[visits]\nlinks = { user_id = "users" }\ntime = "day"\nrows = true\n'
    write(folder / name, {"users.csv": text(users), "visits.csv": text(visits), "schema.toml": schema})
    (folder / "examples.csv").write_text(text(examples))


@pytest.fixture
def two(tmp_path):
    """Two folders that differ in what happened after the cut-offs only."""
    users, visits, examples = world()
    put(tmp_path, "then", users, visits, examples)
    put(tmp_path, "later", users, later_than_all(visits, examples), examples)
    return users, visits, examples


def test_every_verb_says_the_same_whatever_came_later(hornbeam, two):
    asked_for = ("--examples", "examples.csv")
    target = ("--target", "users.vip")
    for name in ("then", "later"):
        hornbeam("fit", name, *target, *asked_for, *QUICK, "--model", f"{name}.json")
    counts = [hornbeam("count", name, CLAUSE, *target, *asked_for) for name in ("then", "later")]
    # Rows are things here, so that more of them are a greater population: only what is true is the same.
    true = [[line.rpartition(",")[0] for line in each.splitlines()] for each in counts]
    assert true[0] == true[1]
    assert counts[0].startswith("user_id,cutoff,true,false\n")
    models = [json.loads(hornbeam("show", f"{name}.json", "--json")) for name in ("then", "later")]
    assert [clause["clause"] for clause in models[0]["clauses"]] == [
        c["clause"] for c in models[1]["clauses"]
    ]
    for verb in ("predict", "evaluate"):
        said = [hornbeam(verb, name, "--model", "then.json", *asked_for) for name in ("then", "later")]
        assert said[0] == said[1]
    asked = ("--model", "then.json", "--example", "vip(7)", "--cutoff", "2024-03-15")
    said = [hornbeam("explain", name, *asked) for name in ("then", "later")]
    assert said[0] == said[1]


def test_explain_at_a_cut_off_is_what_predict_says(hornbeam, two):
    _, _, examples = two
    asked_for = ("--examples", "examples.csv")
    hornbeam("fit", "then", "--target", "users.vip", *asked_for, *QUICK, "--model", "m.json")
    rows = list(csv.DictReader(io.StringIO(hornbeam("predict", "then", "--model", "m.json", *asked_for))))
    assert len(rows) == len(examples["user_id"])
    for row in rows[:3]:
        asked = (
            "--model",
            "m.json",
            "--example",
            f"vip({row['user_id']})",
            "--cutoff",
            row["cutoff"],
            "--json",
        )
        explained = json.loads(hornbeam("explain", "then", *asked))
        assert explained["probability"] == pytest.approx(float(row["probability"]), abs=1e-12)


def test_counts_are_those_of_the_visits_before_the_cut_off(hornbeam, two):
    _, visits, examples = two
    out = hornbeam("count", "then", CLAUSE, "--target", "users.vip", "--examples", "examples.csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == len(examples["user_id"])
    assert len({row["true"] for row in rows}) > 1
    for row in rows:
        seen = [
            paid
            for user, day, paid in zip(*visits.values(), strict=True)
            if str(user) == row["user_id"] and day < row["cutoff"] and paid >= 50
        ]
        assert int(row["true"]) == len(seen)
        assert int(row["true"]) + int(row["false"]) == len(visits["paid"]) * len(set(visits["paid"]))


def test_the_estimator_takes_cut_offs_as_a_column(two):
    users, visits, examples = two
    tables = {
        "users": pl.DataFrame(users),
        "visits": pl.DataFrame(visits).with_columns(pl.col("day").str.to_date()),
    }
    given = pl.DataFrame(examples).with_columns(pl.col("cutoff").str.to_date())
    database = hb.load(tables, target="users.vip", schema=SCHEMA, examples=given)
    X, y = database.examples()
    assert X.shape[1] == 2
    assert set(X[:, 1]) == set(examples["cutoff"])
    fitted = RLRClassifier(database=database, n_steps=3, validate=False, n_bags=1, learning_rate=1.0).fit(
        X, y
    )
    later = {
        **tables,
        "visits": pl.DataFrame(later_than_all(visits, examples)).with_columns(pl.col("day").str.to_date()),
    }
    other = hb.load(later, origin=fitted.model_.settings)
    assert np.array_equal(fitted.predict_proba(X), fitted.predict_proba(X, database=other))
    assert str(fitted.explain(X[:1])[0]) == str(fitted.explain(X[:1], database=other)[0])
    # Keys without cut-offs see all there is.
    assert not np.array_equal(
        fitted.predict_proba(X), fitted.predict_proba(np.column_stack([X[:, 0], ["inf"] * len(X)]))
    )


def test_a_cut_off_without_times_is_refused(hornbeam, run, tmp_path):
    users, _, _ = world()
    write(tmp_path / "users", {"users.csv": text(users | {"age": users["user_id"]})})
    hornbeam("fit", "users", "--target", "users.vip", *QUICK, "--model", "m.json")
    status, _, said = run("explain", "users", "--model", "m.json", "--example", "vip(1)", "--cutoff", "3")
    assert status == 2
    refusal = "hornbeam: --cutoff is refused: no table of the data has a time column."
    assert said.splitlines()[-1] == refusal


def seen(visits, row, last, equal=False):
    """The definition: how many visits with a payment of 50 or more a user has before a day."""
    return sum(
        str(user) == row["user_id"] and paid >= 50 and (day < last or (equal and day == last))
        for user, day, paid in zip(*visits.values(), strict=True)
    )


def test_the_command_line_takes_both_meanings_and_both_protocols(hornbeam, run, two):
    _, visits, _ = two
    asked = ("count", "then", CLAUSE, "--target", "users.vip", "--examples", "examples.csv")
    for words, equal, frozen in (
        ((), False, "9999"),
        (("--at-cutoff", "before"), False, "9999"),
        (("--at-cutoff", "include"), True, "9999"),
        (("--as-of", "2024-05-07"), False, "2024-05-07"),
        (("--at-cutoff", "include", "--as-of", "2024-05-07"), True, "2024-05-07"),
    ):
        rows = list(csv.DictReader(io.StringIO(hornbeam(*asked, *words))))
        expected = [seen(visits, row, min(row["cutoff"], frozen), equal) for row in rows]
        assert [int(row["true"]) for row in rows] == expected, words
    # Without cut-offs, a frozen world is the same for every example.
    out = hornbeam("count", "then", CLAUSE, "--target", "users.vip", "--as-of", "2024-05-07")
    for row in csv.DictReader(io.StringIO(out)):
        assert int(row["true"]) == seen(visits, row, "2024-05-07")
    status, _, said = run(*asked, "--at-cutoff", "after")
    assert status == 2 and "at_cutoff='after' is refused: it must be before or include." in said
    status, _, said = run(*asked, "--as-of", "soon")
    assert status == 2 and "as_of='soon' is refused" in said


def test_a_model_keeps_the_meaning_that_it_was_learned_with(hornbeam, run, two, tmp_path):
    asked_for = ("--examples", "examples.csv")
    said = {}
    for meaning in ("before", "include"):
        file = f"{meaning}.json"
        hornbeam(
            "fit",
            "then",
            "--target",
            "users.vip",
            *asked_for,
            *QUICK,
            "--at-cutoff",
            meaning,
            "--model",
            file,
        )
        kept = json.loads((tmp_path / file).read_text())["settings"]
        assert kept["at_cutoff"] == meaning
        said[meaning] = hornbeam("predict", "then", "--model", file, *asked_for)
        again = hornbeam("predict", "then", "--model", file, *asked_for, "--at-cutoff", meaning)
        assert again == said[meaning]
    status, _, refusal = run(
        "predict", "then", "--model", "include.json", *asked_for, "--at-cutoff", "before"
    )
    assert status == 2 and "the model was learned with include" in refusal
    # A file from before the setting means that facts at the cut-off count.
    old = json.loads((tmp_path / "include.json").read_text())
    del old["settings"]["at_cutoff"]
    (tmp_path / "old.json").write_text(json.dumps(old))
    assert hornbeam("predict", "then", "--model", "old.json", *asked_for) == said["include"]
    # Also if the database was loaded on its own.
    model = hb.load_model(tmp_path / "old.json")
    schema = {"visits": {"links": {"user_id": "users"}, "time": "day", "rows": True}}
    database = hb.load(
        tmp_path / "then", target="users.vip", schema=schema, examples=tmp_path / "examples.csv"
    )
    followed, _ = data_for(model, database)
    assert (database.rule.at_cutoff, followed.rule.at_cutoff) == ("before", "include")


def test_the_frozen_protocol_needs_times(run, hornbeam, tmp_path):
    users, _, _ = world()
    write(tmp_path / "users", {"users.csv": text(users | {"age": users["user_id"]})})
    status, _, said = run(
        "fit", "users", "--target", "users.vip", "--as-of", "2024-01-01", "--model", "m.json"
    )
    assert status == 2 and "as_of is refused: no table has a time column" in said


CURVE = "[missing: 0.3; < 1: -0.2; < 3: 0.1; else: 0.4]"
PAYMENTS = "vip(A) :- user_id(B,A), paid(B,C)."
FEATURES = [
    "count : vip(A) :- user_id(B,A).",
    "count : vip(A) :- within 1 user_id(B,A).",
    "share : vip(A) :- user_id(B,A), paid(B,C), C >= 1.",
    "mean C : vip(A) :- last 2 user_id(B,A), paid(B,C).",
    "since first : vip(A) :- user_id(B,A).",
    "since last : vip(A) :- user_id(B,A).",
    "month : vip(A) :- true.",
    "since C : vip(A) :- user_id(B,A), due(B,C).",
    "count : vip(A) :- within 1 user_id(B,C).",
    "mean D : vip(A) :- within 9 user_id(B,C), paid(B,D).",
    *(f"{kind} C : {PAYMENTS}" for kind in (*OF_NUMBERS, DISTINCT)),
]


SOME_FEATURES = [FEATURES[place] for place in (1, 3, 5, 7, 9)]
"""For Spark, where a query takes a second; loaded facts have all features there (``test_features.py``)."""


def every_feature(database, engine, features):
    """The features of each user, and the predictions of a model that has them all."""
    examples = database.examples_of("vip")
    effects = []
    for text in features:
        feature, _, clause = text.partition(" : ")
        effects.append(parse_effect(f"{feature} {CURVE} : {clause}", database.schema))
    opened = open_engine(engine or "memory", database)
    found = opened.features([FeatureRequest(*effect[:3]) for effect in effects], examples.keys)
    model = Model("vip", database.schema, 0.1, (), effects=tuple(map(FittedEffect, effects)))
    values = [["missing" if value != value else value for value in each.tolist()] for each in found]
    columns = zip(*values, model.probabilities(opened, examples.keys).tolist(), strict=True)
    return dict(zip(database.names_of("vip", examples.keys)[:, 0].tolist(), columns, strict=True))


MOMENTS = [f"2024-03-10 05:30:0{second}.{part:06d}" for second in (0, 1) for part in (0, 1, 999_999)]
MOMENTS += ["1969-12-31 23:59:59.999999", "1970-01-01 00:00:00.000000", "1960-05-05 12:00:00.000000"]
ALWAYS = (0, "1950-01-01 00:00:00.000000", 2.0)
"""One row that every example sees: a column has values whatever is drawn."""
VISITS_SCHEMA = {
    "users": {"key": "id"},
    "visits": {
        "key": "visit",
        "links": {"user_id": "users"},
        "time": "day",
        "roles": {"paid": "number", "due": "date"},
    },
}


class Timed(NamedTuple):
    """Visits, the cut-offs of three users, and what they mean."""

    visits: list
    cutoffs: list
    meaning: str
    as_of: str | None
    zone: str | None

    def is_seen(self, day, end):
        return day is not None and (day < end or (self.meaning == "include" and day == end))

    def ends(self):
        return [min(cutoff, self.as_of or cutoff) for cutoff in self.cutoffs]

    def tables(self, rows):
        days = pl.Series([day for _, day, _ in rows], dtype=pl.String).str.to_datetime(time_unit="us")
        if self.zone is not None:
            days = days.dt.replace_time_zone("UTC").dt.convert_time_zone(self.zone)
        visits = {
            "visit": range(len(rows)),
            "user_id": [who for who, _, _ in rows],
            "day": days,
            "paid": pl.Series([paid for _, _, paid in rows], dtype=pl.Float64),
            "due": [date(2024, 3, 20 - who) for who, _, _ in rows],
        }
        return {"users": pl.DataFrame({"id": [0, 1, 2]}), "visits": pl.DataFrame(visits)}


@st.composite
def timed(draw):
    paid = st.sampled_from([None, 2.0, 0.1, -7.0, 1e300, 5e-324])
    row = st.tuples(st.integers(0, 2), st.sampled_from([*MOMENTS, None]), paid)
    return Timed(
        [ALWAYS, *draw(st.lists(row, min_size=1, max_size=12))],
        draw(st.lists(st.sampled_from(MOMENTS), min_size=3, max_size=3)),
        draw(st.sampled_from(["before", "include"])),
        draw(st.sampled_from([None, *MOMENTS])),
        draw(st.sampled_from([None, "Asia/Kolkata", "America/New_York"])),
    )


@contextmanager
def stored(tables, engine):
    """Where an engine finds tables: Parquet files, or a server."""
    with tempfile.TemporaryDirectory() as folder:
        for name, frame in tables.items():
            frame.write_parquet(f"{folder}/{name}.parquet")
        if engine != "postgres":
            yield folder
            return
        import psycopg

        server = servers.postgres()
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute("DROP DATABASE IF EXISTS visited")
            connection.execute("CREATE DATABASE visited")
        server += " dbname=visited"
        zone = "" if tables["visits"]["day"].dtype.time_zone is None else "tz"
        columns = f"visit int, user_id int, day timestamp{zone}, paid double precision, due date"
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute("CREATE TABLE users (id int)")
            connection.execute(f"CREATE TABLE visits ({columns})".encode())
            for name, frame in tables.items():
                values = ", ".join(["%s"] * frame.width)
                connection.cursor().executemany(f"INSERT INTO {name} VALUES ({values})", frame.rows())
        yield server


def check_law(case, engine, features=FEATURES):
    """Removing all rows at or after the last cut-off changes no feature and no prediction; loaded and in
    place are the same, whatever the zone of the times."""
    examples = pl.DataFrame({"id": [0, 1, 2], "cutoff": case.cutoffs, "label": [0, 1, 0]})
    examples = examples.with_columns(pl.col("cutoff").str.to_datetime(time_unit="us"))
    early = [visit for visit in case.visits if case.is_seen(visit[1], max(case.ends()))]
    options = {"schema": VISITS_SCHEMA, "examples": examples, "at_cutoff": case.meaning, "as_of": case.as_of}

    def seen_of(rows, engine):
        with (
            stored(case.tables(rows), engine) as place,
            hb.load(place, target="vip(users)", engine=engine, **options) as database,
        ):
            return every_feature(database, engine, features)

    found = seen_of(case.visits, None)
    for user, end in enumerate(case.ends() if features is FEATURES else ()):
        of_user = [day for who, day, _ in case.visits if who == user]
        assert found[str(user)][0] == sum(case.is_seen(day, end) for day in of_user)
    assert found == seen_of(case.visits, engine)
    assert found == seen_of(early, engine) == seen_of(early, None)


@pytest.mark.parametrize("engine", [name for name in ("duckdb", "postgres") if name in ENGINES])
@given(case=timed())
@settings(max_examples=10, deadline=None)
def test_tables_in_place_obey_the_law(case, engine):
    check_law(case, engine)


@pytest.mark.skipif("spark" not in ENGINES, reason="Spark is not available")
def test_tables_in_place_obey_the_law_on_spark():
    """One world: ties in time, missing times and values, numbers beyond 64 bits, each end met exactly."""
    values = [3.0, None, -7.0, 1e300, 5e-324, 0.1]
    visits = [(n % 2, MOMENTS[n // 2], values[n % 6]) for n in range(12)]
    visits += [ALWAYS, (1, None, 2.0), (1, MOMENTS[8], 0.1)]
    cutoffs = [MOMENTS[3], MOMENTS[1], MOMENTS[8]]
    check_law(Timed(visits, cutoffs, "before", MOMENTS[2], "Asia/Kolkata"), "spark", SOME_FEATURES)
