"""What-if on tables: the answer is that of a model on tables that were changed and loaded."""

import csv
from pathlib import Path

import numpy as np
import pytest

import hornbeam as hb
from folders import write
from hornbeam.datasets.worlds import shop_files
from hornbeam.engines.registry import open_engine
from hornbeam.errors import HornbeamError
from hornbeam.in_place.load import load_quietly
from hornbeam.model.explain import explain
from hornbeam.model.predict import codes_for, data_for
from hornbeam.report.live.what_if import Change, ChangeableTables, difference

EVENTS = "order_id,customer_id,product_id,amount,day\n" + "".join(
    f"o{n},c{n % 90},p{n % 7},{n % 23}{'.5' if n % 9 == 0 else ''},2024-0{1 + n % 9}-1{n % 9}\n"
    for n in range(400)
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A folder of tables with texts, numbers, dates and missing values, and a model learned from them."""
    folder = tmp_path_factory.mktemp("shop")
    files = shop_files(n_customers=150)
    tables = {name: text for name, text in files.items() if name.startswith("shop/") and "orders" not in name}
    write(folder, tables | {"shop/orders.csv": EVENTS})
    products = (folder / "shop/products.csv").read_text().splitlines()
    products[4] = "p3,,"
    (folder / "shop/products.csv").write_text("\n".join(products) + "\n")
    database = load_quietly(folder / "shop", target="customers.churned")
    classifier = hb.RLRClassifier(
        database=database, n_bags=1, validate=False, n_steps=60, per_constant=False, max_effects="all"
    )
    return folder / "shop", classifier.fit(*database.examples()).model_


def loaded(folder, model, names):
    """What the model says of an example in the tables of a folder."""
    seen, _ = data_for(model, load_quietly(folder, origin=model.settings))
    keys, _ = codes_for(model, seen, np.array([names], dtype=object))
    return explain(model, open_engine("memory", seen), keys[0], tuple(names), 3)


def rewritten(folder: Path, target: Path, table: str, change) -> Path:
    """A copy of the folder in which the rows of a table were changed."""
    target.mkdir()
    for path in folder.iterdir():
        with path.open(newline="") as file:
            rows = list(csv.reader(file))
        if path.stem == table:
            rows[1:] = change(rows[0], rows[1:])
        with (target / path.name).open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    return target


CHANGES = [
    [("customers", 5, "age", "23")],
    [("customers", 5, "age", "")],
    [("customers", 5, "region", "a new one")],
    [("orders", 5, "amount", "99.25")],
    [("orders", 5, "product_id", "p6")],
    [("orders", 5, "day", "2020-01-01")],
    [("orders", 95, None, "")],
    [("orders", 95, None, ""), ("orders", 5, None, "")],
    [("orders", 5, "amount", "1"), ("orders", 4, None, ""), ("orders", 95, "amount", "2")],
    [("products", 5, "price", "1000000")],
    [("products", 5, None, "")],
]


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_what_if_is_the_answer_for_changed_tables(shop, changes, tmp_path):
    folder, model = shop
    tables = ChangeableTables(folder, model.settings, {})
    answer = tables.explained(model, ["c5"], [Change(*each) for each in changes])
    made = folder
    for number, (table, row, column, value) in enumerate(
        sorted(changes, key=lambda each: (each[2] is None, -each[1]))
    ):

        def change(header, rows, row=row, column=column, value=value):
            if column is None:
                return rows[:row] + rows[row + 1 :]
            rows[row][header.index(column)] = value
            return rows

        made = rewritten(made, tmp_path / str(number), table, change)
    wanted = loaded(made, model, ["c5"])
    assert answer.log_odds == wanted.log_odds
    assert answer.as_dict() == wanted.as_dict()


def test_the_difference_says_which_effects_moved(shop):
    folder, model = shop
    tables = ChangeableTables(folder, model.settings, {})
    before = tables.explained(model, ["c5"])
    assert before.as_dict() == loaded(folder, model, ["c5"]).as_dict()
    after = tables.explained(
        model, ["c5"], [Change("customers", 5, "age", "79" if before.log_odds > 0 else "20")]
    )
    parts = difference(before, after)
    moved = [part for part in parts if part["before"] != part["after"]]
    assert moved
    assert all("age" in part["sentence"] for part in moved)
    assert sum(part["after"] - part["before"] for part in parts) == pytest.approx(
        after.log_odds - before.log_odds
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("customers", 5, "age", "old"), 'column "age" is stated to hold numbers, but "old" is not a number'),
        (("orders", 5, "day", "some day"), "some day"),
        (("customers", 5, "height", "1"), 'table "customers" has no column "height".'),
        (("customers", 999, "age", "1"), 'table "customers" has no row 999'),
        (("visits", 0, "age", "1"), 'there is no table "visits".'),
    ],
)
def test_changes_that_the_tables_cannot_have_are_refused(shop, change, message):
    folder, model = shop
    with pytest.raises(HornbeamError, match=message):
        ChangeableTables(folder, model.settings, {}).explained(model, ["c5"], [Change(*change)])


def test_the_rows_near_an_example_are_its_own_those_that_link_to_it_and_those_they_link_to(shop):
    folder, model = shop
    near = {
        each.table: each for each in ChangeableTables(folder, model.settings, {}).near(["customers"], ["c5"])
    }
    assert near["customers"].numbers == (5,)
    assert near["customers"].fixed == ("customer_id", "churned")
    assert near["orders"].numbers == tuple(range(5, 400, 90))
    assert {row[0] for row in near["products"].rows} == {f"p{n % 7}" for n in range(5, 400, 90)}
