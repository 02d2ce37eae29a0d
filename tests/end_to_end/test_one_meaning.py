"""Constants and dates mean the same in every engine, in place and in exported SQL."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import hornbeam as hb
from hornbeam.engines.registry import open_engine
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.model.clause_model import Model
from hornbeam.model.effects import FittedEffect
from hornbeam.model.files import predictions_of

USERS = [f"u{number}" for number in range(12)]
AMOUNTS = [0.5, 1e22, 2.0, 1 / 3, -0.0]
SCHEMA = {
    "users": {"key": "id", "roles": {"age": "number"}},
    "orders": {"key": "oid", "links": {"user": "users"}, "roles": {"amount": "number"}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Orders of some users; the user number n has orders with the first amounts, as many as n % 6."""
    rows = [(user, amount) for n, user in enumerate(USERS) for amount in AMOUNTS[: n % 6]]
    pd.DataFrame({"id": USERS, "age": range(12)}).to_parquet(tmp_path / "users.parquet")
    orders = pd.DataFrame(rows, columns=["user", "amount"])
    orders.assign(oid=[f"o{n}" for n in range(len(rows))]).to_parquet(tmp_path / "orders.parquet")
    return tmp_path


def examples() -> pd.DataFrame:
    return pd.DataFrame({"id": USERS, "label": [n % 2 for n in range(12)]})


@pytest.mark.parametrize("atom", [True, False])
@pytest.mark.parametrize(
    ("spelled", "number"),
    [
        ("0.50", 0.5),
        ("5e-1", 0.5),
        ("1e+22", 1e22),
        ("+2", 2.0),
        (f"{1 / 3!r}", 1 / 3),
        ("0", 0.0),
        ("0.3", 0.3),
    ],
)
def test_a_number_is_the_same_in_every_spelling(
    spelled: str, number: float, atom: bool, folder: Path
) -> None:
    step = f"amount(B,'{spelled}')" if atom else f"amount(B,C), C = '{spelled}'"
    expected = [float(number in AMOUNTS[: n % 6]) for n in range(12)]
    with hb.load(folder, target="good(users)", examples=examples(), schema=SCHEMA) as loaded:
        effect = parse_effect(f"count [< 1: 0; else: 1] : good(A) :- user(B,A), {step}.", loaded.schema)
        settings = {**loaded.origin}
        model = Model("good", loaded.schema, 0.0, (), settings, effects=(FittedEffect(effect),))
        keys = loaded.examples_of("good").as_given().keys
        for engine in ("memory", "naive", "duckdb"):
            found = model.scores(open_engine(engine, loaded), keys)
            assert found.tolist() == expected, engine
    with hb.load(folder, target="good(users)", examples=examples(), schema=SCHEMA, engine="duckdb") as placed:
        keys = placed.examples_of("good").as_given().keys
        assert model.scores(open_engine("duckdb", placed), keys).tolist() == expected
        assert np.all(predictions_of(model, open_engine("duckdb", placed), keys) > 0.4)
    with duckdb.connect() as made:
        for name in ("users", "orders"):
            made.execute(f"CREATE TABLE {name} AS SELECT * FROM '{folder / name}.parquet'")
        rows = made.execute(model.sql("duckdb", examples=("users", ["id"], None, None))).fetchall()
    assert {row[0]: row[-2] for row in rows} == dict(zip(USERS, expected, strict=True))


@pytest.mark.parametrize("step", ["A = nobody", "not user(B,A), A = nobody", "A = nobody, A = u3", "A = u3"])
@pytest.mark.parametrize("feature", ["count", "share"])
def test_an_example_that_no_table_has_is_known_by_its_name(step: str, feature: str, folder: Path) -> None:
    asked = pd.concat([examples(), pd.DataFrame({"id": ["nobody"], "label": [0]})])
    found = {}
    for where in (None, "duckdb"):
        with hb.load(folder, target="good(users)", examples=asked, schema=SCHEMA, engine=where) as database:
            text = f"{feature} [missing: 2; < 1: 0; else: 1] : good(A) :- {step}."
            effect = parse_effect(text, database.schema)
            model = Model(
                "good", database.schema, 0.0, (), {**database.origin}, effects=(FittedEffect(effect),)
            )
            keys = database.examples_of("good").keys
            for engine in ("memory", "naive", "duckdb") if where is None else ("duckdb",):
                scores = model.scores(open_engine(engine, database), keys).tolist()
                names = [name for (name,) in database.names_of("good", keys)]
                found[where, engine] = dict(zip(names, scores, strict=True))
    expected = dict.fromkeys([*USERS, "nobody"], 0.0)
    expected |= {"A = u3": {"u3": 1.0}, "A = nobody, A = u3": {}}.get(step, {"nobody": 1.0})
    if feature == "count":
        assert found[None, "naive"] == expected
    assert all(each == found[None, "naive"] for each in found.values())


@pytest.mark.parametrize("dated", [True, False])
def test_lengths_of_time_since_a_date_need_cut_offs_that_are_dates(dated: bool) -> None:
    """With cut-offs that are whole numbers, a length of time since a date would be no number of days."""
    start = pd.Timestamp("2024-01-01")
    days = [n * 7 % 90 for n in range(120)]
    when = [start + pd.Timedelta(days=day) for day in days]
    orders = pd.DataFrame(
        {
            "oid": [f"o{n}" for n in range(120)],
            "user": [USERS[n * n % 12] for n in range(120)],
            "due": [start + pd.Timedelta(days=n * 11 % 90) for n in range(120)],
            "at": when if dated else days,
        }
    )
    cutoff = start + pd.Timedelta(days=80) if dated else 80
    schema = {
        "users": {"key": "id", "time": False},
        "orders": {"key": "oid", "links": {"user": "users"}, "roles": {"due": "date"}, "time": "at"},
    }
    users = pd.DataFrame({"id": USERS, "age": range(12)})
    database = hb.load(
        {"users": users, "orders": orders},
        target="good(users)",
        examples=examples().assign(cutoff=cutoff),
        schema=schema,
    )
    options = {"n_bags": 1, "n_steps": 60, "validate": False, "n_jobs": 1, "max_effects": 50}
    model = hb.RLRClassifier(database, "good", **options).fit(*database.examples()).model_
    kinds = {each.effect.feature.kind for each in model.effects if "due(" in str(each.effect)}
    assert dated or not any(kind.startswith("since") for kind in kinds)
    values = [
        each for fitted in model.effects for each in fitted.effect.curve.cuts if isinstance(each, float)
    ]
    assert all(abs(each) < 1e6 for each in values)
