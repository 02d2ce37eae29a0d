"""A guessed time of rows is a value to learn from where examples have no cut-offs."""

from __future__ import annotations

import pandas as pd
import pytest

import hornbeam as hb

MAKERS = pd.DataFrame({"id": range(4)})


def cars(times: object) -> pd.DataFrame:
    return pd.DataFrame(
        {"id": range(60), "maker_id": [n % 4 for n in range(60)], "y": [n % 2 for n in range(60)]}
    ).assign(at=times)


@pytest.mark.parametrize(
    ("times", "kind"),
    [(range(1950, 2010), "number"), (pd.date_range("2001-02-03", periods=60), "date")],
)
def test_without_cutoffs_a_guessed_time_is_learned_from(times: object, kind: str) -> None:
    shop = {"makers": MAKERS, "cars": cars(times)}
    database = hb.load(shop, target="cars.y")
    assert database.origin["tables"]["cars"]["time"] == "at"  # type: ignore[index]
    assert database.schema.numeric == {"at_value": kind}
    assert database.n_facts("at") == 60
    assert hb.load(shop, origin=database.origin).schema == database.schema


def test_a_running_clock_is_a_time_alone() -> None:
    seconds = range(1_700_000_000, 1_700_000_000 + 1_200 * 3_607, 3_607)
    visits = pd.DataFrame(
        {"car_id": [n % 60 for n in range(1_200)], "stars": [n % 5 for n in range(1_200)], "at": seconds}
    )
    garage = {"cars": cars(range(1950, 2010)).drop(columns="at"), "visits": visits}
    database = hb.load(garage, target="cars.y")
    assert database.origin["tables"]["visits"]["time"] == "at"  # type: ignore[index]
    assert "at" not in database.schema.predicates


def test_with_cutoffs_or_stated_it_is_a_time_alone() -> None:
    shop = {"makers": MAKERS, "cars": cars(range(1950, 2010))}
    stated = hb.load(shop, target="cars.y", schema={"cars": {"time": "at"}})
    assert "at" not in stated.schema.predicates
    examples = pd.DataFrame({"id": [1, 2, 3, 4], "label": [0, 1, 0, 1], "cutoff": [1990] * 4})
    with_cutoffs = hb.load(shop, target="good(cars)", examples=examples, schema={"cars": {"unused": ["y"]}})
    assert "at" not in with_cutoffs.schema.predicates


def test_a_table_of_one_link_and_one_value_stays_one_for_the_model() -> None:
    visits = pd.DataFrame(
        {
            "customer_id": ["c1", "c1", "c3"],
            "place": ["x", "y", "x"],
            "visited": pd.date_range("2024-01-01", periods=3),
        }
    )
    customers = pd.DataFrame({"customer_id": ["c1", "c2", "c3"], "y": [0, 1, 1]})
    shop = {"customers": customers, "visits": visits}
    database = hb.load(shop, target="customers.y")
    assert database.schema.types_of("place") == ("customers", "place_value")
    assert hb.load(shop, origin=database.origin).schema == database.schema
