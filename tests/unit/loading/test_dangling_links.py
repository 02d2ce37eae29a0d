"""Links to keys that do not exist are left out, loaded, in place and in SQL alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import hornbeam as hb
from hornbeam import HornbeamError
from hornbeam.engines.registry import open_engine
from hornbeam.in_place.load import load_quietly

USERS = pd.DataFrame(
    {"id": range(60), "city_id": [n % 7 for n in range(60)], "y": [int(n % 7 < 3) for n in range(60)]}
)
CITIES = pd.DataFrame({"id": range(6), "size": [1.5 * n for n in range(6)]})
VISITS = pd.DataFrame(
    {
        "user_id": [n % 66 for n in range(150)],
        "city_id": [n * 5 % 8 for n in range(150)],
        "cost": [n % 9 for n in range(150)],
    }
)
PROFILES = pd.DataFrame({"user_id": range(20, 70), "age": range(50)})
SHOP = {"all.cities": CITIES, "profiles": PROFILES, "users": USERS, "visits": VISITS}
LINKS = {"user_id": "users", "city_id": "all.cities"}
SCHEMA: dict[str, Any] = {
    "users": {"key": "id", "links": {"city_id": "all.cities"}},
    "all.cities": {"key": "id"},
    "profiles": {"key": "user_id", "links": {"user_id": "users"}},
    "visits": {"key": False, "links": LINKS, "rows": False},
}


def folder(path: Path) -> Path:
    for name, frame in SHOP.items():
        frame.to_csv(path / f"{name}.csv", index=False)
    return path


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return folder(tmp_path)


def test_the_same_links_are_left_out_loaded_in_place_and_in_sql(shop: Path) -> None:
    results = []
    for engine in (None, "duckdb"):
        with load_quietly(shop, target="users.y", schema=SCHEMA, engine=engine) as database:
            model = hb.RLRClassifier(database, n_bags=1, n_steps=20).fit(*database.examples()).model_
            examples = database.examples_of("y")
            probabilities = model.probabilities(open_engine(engine or "memory", database), examples.keys)
            keys = database.names_of("y", examples.keys)[:, 0]
            named = dict(zip(keys.tolist(), probabilities.tolist(), strict=True))
            sizes = {name: database.n_facts(name) for name in sorted(database.schema.predicates)}
            results.append((str(model), sizes, [str(notice) for notice in database.notices], named))
            query = model.sql()
    assert results[0] == results[1]
    (_, sizes, notices, named) = results[0]
    assert sizes["city_id"] == 52 and sizes["age"] == 40
    assert notices[0] == (
        "keys in 67 rows of 4 columns are not in the linked tables: profiles.user_id (10), "
        "users.city_id (8), visits.user_id (12), visits.city_id (37); these links are left "
        "out; --dangling error refuses them."
    )
    with duckdb.connect() as own:
        for name, frame in SHOP.items():
            own.register("frame", frame)
            own.execute(f'CREATE TABLE "{name}" AS FROM frame')
        scored = {str(key): probability for key, *_, probability in own.execute(query).fetchall()}
    assert scored == pytest.approx(named, abs=1e-12)


@pytest.mark.parametrize("engine", [None, "duckdb"])
def test_links_of_which_most_dangle_are_refused(engine: str | None, shop: Path) -> None:
    CITIES[:2].to_csv(shop / "all.cities.csv", index=False)
    VISITS[:6].to_csv(shop / "visits.csv", index=False)
    users = 'table "users", column "city_id": 5 keys in 42 rows are not in "all.cities" '
    with pytest.raises(HornbeamError) as refused:
        load_quietly(shop, schema=SCHEMA, engine=engine)
    assert f"{users}(first: 2, 3, 4), more than half of the rows that have one; correct them" in str(
        refused.value
    )
    dropped = load_quietly(shop, schema=SCHEMA, engine=engine, dangling="drop")
    assert dropped.n_facts("city_id") == 18


@pytest.mark.parametrize("engine", [None, "duckdb"])
def test_dangling_links_are_an_error_on_request_or_kept(engine: str | None, shop: Path) -> None:
    with pytest.raises(HornbeamError, match="10 keys in 10 rows are not in"):
        load_quietly(shop, schema=SCHEMA, engine=engine, dangling="error")
    kept = load_quietly(shop, schema=SCHEMA, engine=engine, dangling="keep")
    assert kept.n_facts("city_id") == 60
    assert "the keys are added." in str(kept.notices[0]) and "dropped" not in kept.origin


def test_rows_whose_key_dangles_are_no_examples(shop: Path) -> None:
    database = load_quietly(shop, target="profiles.age", schema=SCHEMA)
    assert len(database.examples_of("age")) == 40


def test_a_few_rows_to_predict_may_all_have_dangling_links() -> None:
    with load_quietly(SHOP, target="users.y", schema=SCHEMA) as database:
        origin = database.origin
    few = {**SHOP, "users": USERS[6:7], "visits": VISITS[:0], "profiles": PROFILES[:0]}
    again = load_quietly(few, origin=origin)
    assert again.n_facts("city_id") == 0
