"""Cut-off times from tables, through every verb and the estimator: what came later plays no part."""

import csv
import io
import json

import numpy as np
import polars as pl
import pytest

import hornbeam as hb
from folders import write
from hornbeam.estimators.learners import RLRClassifier

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
    """The same visits and, for each user, more of them after the last cut-off."""
    more = {name: list(values) for name, values in visits.items()}
    month, last = max(examples["cutoff"])[:-2], 16
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
    given = ("--examples", "examples.csv")
    target = ("--target", "users.vip")
    for name in ("then", "later"):
        hornbeam("fit", name, *target, *given, *QUICK, "--model", f"{name}.json")
    counts = [hornbeam("count", name, CLAUSE, *target, *given) for name in ("then", "later")]
    # Rows are things here, so that more of them are a greater population: only what is true is the same.
    true = [[line.rpartition(",")[0] for line in each.splitlines()] for each in counts]
    assert true[0] == true[1]
    assert counts[0].startswith("arg1,cutoff,true,false\n")
    models = [json.loads(hornbeam("show", f"{name}.json", "--json")) for name in ("then", "later")]
    assert [clause["clause"] for clause in models[0]["clauses"]] == [
        c["clause"] for c in models[1]["clauses"]
    ]
    for verb in ("predict", "evaluate"):
        said = [hornbeam(verb, name, "--model", "then.json", *given) for name in ("then", "later")]
        assert said[0] == said[1]
    asked = ("--model", "then.json", "--example", "vip(7)", "--cutoff", "2024-03-15")
    said = [hornbeam("explain", name, *asked) for name in ("then", "later")]
    assert said[0] == said[1]


def test_explain_at_a_cut_off_is_what_predict_says(hornbeam, two):
    _, _, examples = two
    given = ("--examples", "examples.csv")
    hornbeam("fit", "then", "--target", "users.vip", *given, *QUICK, "--model", "m.json")
    rows = list(csv.DictReader(io.StringIO(hornbeam("predict", "then", "--model", "m.json", *given))))
    assert len(rows) == len(examples["user_id"])
    for row in rows[:3]:
        asked = ("--model", "m.json", "--example", f"vip({row['arg1']})", "--cutoff", row["cutoff"], "--json")
        explained = json.loads(hornbeam("explain", "then", *asked))
        assert explained["probability"] == pytest.approx(float(row["probability"]), abs=1e-12)


def test_counts_are_those_of_the_visits_until_the_cut_off(hornbeam, two):
    _, visits, examples = two
    out = hornbeam("count", "then", CLAUSE, "--target", "users.vip", "--examples", "examples.csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == len(examples["user_id"])
    assert len({row["true"] for row in rows}) > 1
    for row in rows:
        seen = [
            paid
            for user, day, paid in zip(*visits.values(), strict=True)
            if str(user) == row["arg1"] and day <= row["cutoff"] and paid >= 50
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
    fitted = RLRClassifier(database=database, n_steps=3, max_literals=2).fit(X, y)
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
