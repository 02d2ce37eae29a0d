"""Targets that compare a column with a threshold, and what is said about other targets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hornbeam as hb
from hornbeam import HornbeamError
from hornbeam.in_place.load import load_quietly
from hornbeam.model.files import load_model, save_model

DELAYS = [4, 31, 30, "NA", -2, 45, 29.5, 30, 100, 0]


@pytest.fixture
def flights(tmp_path: Path) -> Path:
    rows = (f"f{n},{DELAYS[n % 10]},2024-01-{n % 28 + 1:02},c{n % 3},{'ab'[n % 2]}\n" for n in range(60))
    (tmp_path / "flights.csv").write_text("id,arr_delay,day,carrier_id,kind\n" + "".join(rows))
    (tmp_path / "carriers.csv").write_text("id,size\n" + "".join(f"c{n},{n}\n" for n in range(5)))
    return tmp_path


@pytest.mark.parametrize("engine", [None, "duckdb"])
@pytest.mark.parametrize(
    ("condition", "positive"),
    [(">30", [31, 45, 100]), (">= 30", [30, 31, 45, 100]), ("<0", [-2]), ("<=29.5", [-2, 0, 4, 29.5])],
)
def test_a_threshold_is_a_target(
    condition: str, positive: list[float], engine: str | None, flights: Path
) -> None:
    with load_quietly(flights, target=f"flights.arr_delay{condition}", engine=engine) as database:
        keys, labels = database.examples()
    said = {key: label for (key,), label in zip(keys, labels, strict=True)}
    assert said == {f"f{n}": int(DELAYS[n % 10] in positive) for n in range(60) if DELAYS[n % 10] != "NA"}


def test_a_threshold_may_be_a_date(flights: Path) -> None:
    database = load_quietly(flights, target="flights.day>=2024-01-15")
    assert database.examples()[1].sum() == sum(n % 28 + 1 >= 15 for n in range(60))


def test_a_threshold_is_said_in_words(flights: Path, tmp_path: Path) -> None:
    database = load_quietly(flights, target="flights.arr_delay>30")
    model = hb.RLRClassifier(database).fit(*database.examples()).model_
    assert model.target == "arr_delay_above_30"
    assert model.wording.question == "Which flights have arr delay above 30?"
    assert model.wording.labels == ("not above 30", "above 30")
    save_model(model, tmp_path / "m.json")
    assert load_quietly(flights, origin=load_model(tmp_path / "m.json").settings).examples()[1].sum() == 18


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("flights.kind>3", '"flights.kind>3" compares "kind" with 3, but it holds text values'),
        ("flights.arr_delay>x", 'compares "arr_delay" with "x", which is not a number.'),
        ("flights.day<3", 'compares "day" with "3", which is not a date such as 2024-12-31.'),
        ("flights.delay>3", 'table "flights" has no column "delay". Columns are'),
        ("arr_delay>3", "a column needs its table, as in flights.arr_delay"),
    ],
)
def test_a_threshold_that_cannot_be_is_refused(target: str, sentence: str, flights: Path) -> None:
    with pytest.raises(HornbeamError) as refused:
        load_quietly(flights, target=target)
    assert sentence in str(refused.value)


def test_examples_are_in_the_order_of_the_table(flights: Path) -> None:
    keys, _ = load_quietly(flights, target="flights.kind=b").examples()
    assert [key for (key,) in keys] == [f"f{n}" for n in range(60)]


def test_a_link_as_target_says_how_to_learn_classes(flights: Path) -> None:
    database = load_quietly(flights, target="flights.carrier_id")
    (notice,) = (str(each) for each in database.notices if "is a link" in str(each))
    assert notice == (
        '"flights.carrier_id" is a link, so each pair of keys of "flights" and "carriers" is an example, '
        'linked or not; to learn it as classes, state roles = { carrier_id = "category" } under [flights] in '
        "schema.toml."
    )
    schema: Any = {"flights": {"roles": {"carrier_id": "category"}}}
    _, labels = load_quietly(flights, target="flights.carrier_id", schema=schema).examples()
    assert np.unique(labels).tolist() == ["c0", "c1", "c2"]


def test_numbers_among_a_few_words_say_why_they_are_no_number(tmp_path: Path) -> None:
    rows = "".join(f"f{n},{'late' if n % 30 == 0 else n}\n" for n in range(300))
    (tmp_path / "flights.csv").write_text(f"id,delay\n{rows}")
    with pytest.raises(HornbeamError, match=r'more than the limit .* state missing = \["late"\]'):
        load_quietly(tmp_path, target="flights.delay")
