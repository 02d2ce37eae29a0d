"""Examples from events: labels are those of their definition, and never share a row with features."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb
from hornbeam.errors import DataError, OptionError
from hornbeam.in_place.load import load_quietly

draw = np.random.default_rng(5)
START = date(2024, 1, 1)
DAYS = sorted(draw.integers(0, 200, 120).tolist())
ORDERS = pd.DataFrame(
    {
        "order_id": [f"o{n}" for n in range(120)],
        "customer_id": [f"c{n}" for n in draw.integers(0, 12, 120)],
        "day": [START + timedelta(days=n) for n in DAYS],
        "amount": [None if n % 7 == 0 else float(n % 23) for n in range(120)],
    }
)
CUSTOMERS = pd.DataFrame(
    {
        "customer_id": [f"c{n}" for n in range(14)],
        "left": [None if n % 3 else START + timedelta(days=50 + 10 * n) for n in range(14)],
    }
)
SHOP = {"customers": CUSTOMERS, "orders": ORDERS}
MEASURES = {
    "no orders within 30d": lambda rows: int(len(rows) == 0),
    "any orders within 30d": lambda rows: int(len(rows) > 0),
    "count(orders) within 30d >= 2": lambda rows: int(len(rows) >= 2),
    "count(orders) within 30d": len,
    "sum(orders.amount) within 30d": lambda rows: rows["amount"].sum(),
    "mean(orders.amount) within 30d": lambda rows: rows["amount"].mean(),
    "max(orders.amount) within 30d < 10": lambda rows: (
        np.nan if rows["amount"].isna().all() else int(rows["amount"].max() < 10)
    ),
    "min(orders.amount) within 30d": lambda rows: rows["amount"].min(),
}


@pytest.mark.parametrize("label", MEASURES)
@pytest.mark.parametrize("active", [None, "20d"])
def test_labels_are_those_of_their_definition(label, active):
    made = hb.examples(SHOP, "customers", "14d", label, active=active)
    found = dict(zip(zip(made.keys, made.cutoffs, strict=True), made.labels, strict=True))
    last, expected = ORDERS["day"].max() - timedelta(days=30), {}
    while last >= ORDERS["day"].min() + timedelta(days=30):
        for key, own in ORDERS.groupby("customer_id"):
            before = own[own["day"] < last]
            if active is not None:
                before = before[before["day"] >= last - timedelta(days=20)]
            if len(before):
                rows = own[(own["day"] >= last) & (own["day"] < last + timedelta(days=30))]
                expected[key, str(last)] = float(MEASURES[label](rows))
        last -= timedelta(days=14)
    assert found.keys() == expected.keys()
    for place, value in expected.items():
        text = found[place]
        assert (text == "") == np.isnan(value)
        assert text == "" or float(text) == pytest.approx(value, rel=1e-12)


def test_a_date_of_the_things_is_a_label_until_it_comes():
    made = hb.examples(SHOP, "customers", "10d", "customers.left within 20d", start="2024-02-01")
    left = dict(zip(CUSTOMERS["customer_id"], CUSTOMERS["left"], strict=True))
    assert {key for key, text in zip(made.keys, made.labels, strict=True) if text == "1"}
    for key, cutoff, label in zip(made.keys, made.cutoffs, made.labels, strict=True):
        day, start = left[key], date.fromisoformat(cutoff)
        assert day is None or day >= start
        assert label == str(int(day is not None and day < start + timedelta(days=20)))
    assert made.target == "left_soon(customers)"


def test_features_see_no_row_of_the_window_of_the_label():
    made = hb.examples(SHOP, "customers", "14d", "count(orders) within 30d")
    tables = SHOP | {"customers": CUSTOMERS[["customer_id"]]}
    database = load_quietly(tables, target=made.target, examples=made.to_frame())
    counts = hb.count(
        database, f"{database.origin['target'].split('(')[0]}(A) :- customer_id(B,A)."
    ).to_frame()
    merged = counts.merge(made.to_frame(), on=["customer_id", "cutoff"])
    assert len(merged) == len(made)
    for _, row in merged.iterrows():
        own = ORDERS[ORDERS["customer_id"] == row["customer_id"]]
        cutoff = date.fromisoformat(row["cutoff"])
        assert row["true"] == (own["day"] < cutoff).sum()
        assert (
            float(row["label"]) == ((own["day"] >= cutoff) & (own["day"] < cutoff + timedelta(days=30))).sum()
        )


def test_windows_end_with_the_data_or_at_the_given_end():
    made = hb.examples(SHOP, "customers", "7d", "no orders within 30d", start="2024-03-01", end="2024-06-01")
    assert max(made.cutoffs) == "2024-05-02"
    assert min(made.cutoffs) >= "2024-03-01"
    assert made.key == "customer_id"
    assert list(made.to_frame()) == ["customer_id", "cutoff", "label"]
    assert made.target == "no_orders(customers)"


def test_times_may_be_numbers():
    events = pd.DataFrame({"id": range(60), "who": [f"w{n % 4}" for n in range(60)], "at": range(60)})
    tables = {"people": pd.DataFrame({"who": [f"w{n}" for n in range(4)]}), "events": events}
    schema = {"events": {"key": "id", "links": {"who": "people"}, "time": "at"}, "people": {"key": "who"}}
    made = hb.examples(tables, "people", "10", "count(events) within 8", schema=schema)
    assert set(made.labels) == {"2"}
    with pytest.raises(OptionError, match="every 10d is refused: it must be a number above 0"):
        hb.examples(tables, "people", "10d", "count(events) within 8", schema=schema)


@pytest.mark.parametrize(
    ("things", "every", "label", "message"),
    [
        ("customers", "30d", "churn", "must be of the form"),
        ("customers", "30d", "no orders within 90d >= 3", "it is yes or no already"),
        ("customers", "30d", "count(orders.amount) within 9d", "count needs a table alone"),
        ("customers", "30d", "sum(orders) within 9d", "sum needs a table and a column"),
        ("clients", "30d", "no orders within 90d", 'no table "clients". Tables are: customers, orders.'),
        ("customers", "30d", "no order within 90d", 'no table "order"'),
        ("customers", "30", "no orders within 90d", "every 30 is refused: it must be hours, days or weeks"),
        ("customers", "30d", "no orders within 0d", "within 0d is refused"),
        ("orders", "30d", "no orders within 90d", 'links to "orders" by no column'),
        ("customers", "30d", "no orders within 900d", "no window of 900d is over in the data"),
        ("customers", "30d", "sum(orders.price) within 9d", 'table "orders" has no column "price"'),
        ("customers", "30d", "customers.gone within 9d", "name a date of"),
        ("customers", "1h", "no orders within 1h", "at most"),
    ],
)
def test_what_cannot_be_made_is_said_in_one_sentence(things, every, label, message):
    if message == "at most":
        every = "0.001h"
    with pytest.raises((OptionError, DataError), match=message.replace("(", r"\(")):
        hb.examples(SHOP, things, every, label)
