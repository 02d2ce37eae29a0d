"""Spaces around values and capital letters: what they hide is said, and columns can be folded."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import hornbeam as hb
from hornbeam import HornbeamError
from hornbeam.in_place.load import load_quietly
from hornbeam.loading.inspect.inspectors import inspect_tables
from hornbeam.loading.options import TableOptions

USERS = pd.DataFrame({"id": [f"U{n}" for n in range(60)], "y": [int(n % 7 < 3) for n in range(60)]})
ORDERS = pd.DataFrame(
    {
        "order_id": range(180),
        "user_id": [f"u{n % 60} " if n % 60 < 56 else f"z{n % 60}" for n in range(180)],
        "cost": [n % 60 % 7 for n in range(180)],
    }
)
FOLDED = {"orders": {"links": {"user_id": "users"}, "fold": ["user_id"]}}


def clean() -> pd.DataFrame:
    return ORDERS.assign(user_id=ORDERS["user_id"].str.strip().str.upper())


def notes(database: hb.Database) -> list[str]:
    return [text for text in map(str, database.notices) if "inferred" not in text]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    USERS.to_csv(tmp_path / "users.csv", index=False)
    ORDERS.to_csv(tmp_path / "orders.csv", index=False)
    return tmp_path


def test_links_that_match_only_without_spaces_and_capitals_are_said(shop: Path) -> None:
    (note,) = (each for each in notes(load_quietly(shop, target="users.y")) if "orders.user_id" in each)
    assert note == (
        'orders.user_id: 56 of 60 values that are no keys of "users" would match without spaces and '
        'capital letters; if it is a link, state links = { user_id = "users" } and fold = ["user_id"] under '
        "[orders] in schema.toml."
    )


def test_what_the_note_says_makes_the_model_of_clean_data(shop: Path) -> None:
    folded = load_quietly(shop, target="users.y", schema=FOLDED)
    assert notes(folded) == [
        'orders.user_id: 4 keys in 12 rows are not in "users" (first: z56, z57, z58); these links are '
        "left out; --dangling error refuses them."
    ]
    clean().to_csv(shop / "orders.csv", index=False)
    expected = load_quietly(shop, target="users.y", schema={"orders": {"links": {"user_id": "users"}}})
    models = [
        hb.RLRClassifier(data, n_bags=1, n_steps=20).fit(*data.examples()).model_
        for data in (folded, expected)
    ]
    assert str(models[0]) == str(models[1])
    assert "cost" in str(models[0])


def test_a_model_of_folded_columns_folds_the_data_to_predict(shop: Path, tmp_path: Path) -> None:
    data = load_quietly(shop, target="users.y", schema=FOLDED)
    X, y = data.examples()
    learned = hb.RLRClassifier(data, n_bags=1, n_steps=20).fit(X, y)
    again = load_quietly(shop, origin=learned.model_.settings)
    assert (
        again.n_facts("orders_user_id" if "orders_user_id" in again.schema.predicates else "user_id") == 168
    )
    with pytest.raises(HornbeamError, match='column "user_id" of table "orders" is folded'):
        learned.model_.sql()


def test_folded_columns_of_no_use_may_be_missing_in_data_to_predict(shop: Path) -> None:
    USERS.assign(note="Good ").to_csv(shop / "users.csv", index=False)
    schema = {**FOLDED, "users": {"fold": ["note"]}}
    data = load_quietly(shop, target="users.y", schema=schema)
    settings = hb.RLRClassifier(data, n_bags=1, n_steps=20).fit(*data.examples()).model_.settings
    USERS.to_csv(shop / "users.csv", index=False)
    assert load_quietly(shop, origin=settings).n_facts("user_id") == 168


def test_dangling_links_that_would_match_are_counted(shop: Path) -> None:
    rows = ORDERS.assign(user_id=[f"U{n % 60}" if n < 120 else f" u{n % 60}" for n in range(180)])
    rows.to_csv(shop / "orders.csv", index=False)
    schema = {"orders": {"links": {"user_id": "users"}}}
    (note,) = notes(load_quietly(shop, target="users.y", schema=schema))
    assert note == (
        'orders.user_id: 60 keys in 60 rows are not in "users" (first:  u0,  u1,  u10); 60 of 60 would '
        'match without spaces and capital letters: state fold = ["user_id"] under [orders] in schema.toml; '
        "these links are left out; --dangling error refuses them."
    )


def test_in_place_folding_is_refused(shop: Path) -> None:
    with pytest.raises(HornbeamError, match='table "orders": columns are folded, which is not done in place'):
        load_quietly(shop, target="users.y", schema=FOLDED, engine="duckdb")


def test_keys_that_folding_makes_equal_are_refused(shop: Path) -> None:
    USERS.assign(id=["u1", *USERS["id"][1:]]).to_csv(shop / "users.csv", index=False)
    with pytest.raises(HornbeamError, match='the keys "U1" and "u1" that it links to are then the same'):
        load_quietly(shop, target="users.y", schema=FOLDED)


def test_a_key_stays_as_it_is_written(shop: Path) -> None:
    with pytest.raises(HornbeamError, match=r'\[users\] fold: "id" is the key'):
        load_quietly(shop, target="users.y", schema={"users": {"key": "id", "fold": ["id"]}})


def paid(*words: str) -> dict[str, pd.DataFrame]:
    return {"users": pd.DataFrame({"id": range(120), "paid": [words[n % len(words)] for n in range(120)]})}


def test_classes_that_differ_in_spelling_are_said_with_what_to_write() -> None:
    (note,) = notes(load_quietly(paid("Yes", "yes", "Y", "TRUE", "no"), target="users.paid"))
    assert note == (
        '"users.paid" is learned as 5 classes, but "TRUE", "Y", "Yes", "yes" differ in spelling only; if '
        "they mean the same, write each of these in one spelling in the data."
    )
    source = paid("Rock", "rock ", "jazz")
    (note,) = notes(load_quietly(source, target="users.paid"))
    assert note.endswith('if they mean the same, state fold = ["paid"] under [users] in schema.toml.')
    folded = load_quietly(source, target="users.paid", schema={"users": {"fold": ["paid"]}})
    assert notes(folded) == []
    assert folded.examples_of("paid").classes == ("jazz", "rock")


def test_folded_flags_are_flags() -> None:
    source = paid("TRUE", "true ", "False")
    folded = load_quietly(source, target="users.paid", schema={"users": {"fold": ["paid"]}})
    assert folded.examples_of("paid").classes == ()


def test_categories_that_differ_in_spelling_are_suspicious() -> None:
    source = paid("Rock", "rock", "jazz")
    source["users"]["y"] = [n % 2 for n in range(120)]
    found = inspect_tables(source, TableOptions(target="users.y")).suspicions
    why = '"Rock", "rock" differ in spelling only; if they mean the same, '
    assert f'{why}state fold = ["paid"] under [users] in schema.toml' in [each.why for each in found]
