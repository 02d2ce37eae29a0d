"""Floats that cannot tell whole numbers apart name no keys, wherever they come from."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import hornbeam as hb
from hornbeam import HornbeamError

IDS = [1234567890123456789 + number for number in range(6)]
LINKS = [*IDS, None]
SCHEMA = {"users": {"key": "id"}, "orders": {"key": "id", "links": {"user_id": "users"}}}
USERS = pd.DataFrame({"id": IDS, "y": [0, 1, 0, 1, 0, 1]})


def linked(users: Any, orders: Any, schema: object = SCHEMA) -> list[str]:
    """The users that orders link to."""
    database = hb.load({"users": users, "orders": orders}, target="users.y", schema=schema)
    users_of = database.schema.types_of("user_id")[1]
    return sorted(database.population(users_of).decode(database.relation("user_id").columns[1]))


def orders(links: Any) -> pd.DataFrame:
    return pd.DataFrame({"id": range(len(links)), "user_id": links})


EXACT: dict[str, Any] = {
    "Int64 of pandas": orders(pd.Series(LINKS, dtype="Int64")),
    "UInt64 of pandas": orders(pd.Series(LINKS, dtype="UInt64")),
    "Arrow in pandas": orders(pd.Series(LINKS, dtype="int64[pyarrow]")),
    "objects": orders(pd.Series(LINKS, dtype=object)),
    "decimals": orders(pd.Series([*map(Decimal, IDS), None], dtype=object)),
    "text": orders(pd.Series([*map(str, IDS), None], dtype=object)),
    "polars": pl.DataFrame({"id": range(7), "user_id": LINKS}),
    "Arrow": pl.DataFrame({"id": range(7), "user_id": LINKS}).to_arrow(),
}


@pytest.mark.parametrize("name", EXACT)
def test_long_links_with_a_missing_value_are_exact(name: str) -> None:
    assert linked(USERS, EXACT[name]) == [str(key) for key in IDS]


@pytest.mark.parametrize("schema", [SCHEMA, None])
def test_links_that_pandas_made_floats_are_refused(schema: object) -> None:
    with pytest.raises(HornbeamError, match=r'column "user_id" holds floating-point .* "Int64"'):
        linked(USERS, orders(pd.Series(LINKS)), schema)


def test_a_key_of_large_floats_is_refused() -> None:
    users = USERS.assign(id=[2.0**53, 1, 2, 3, 4, 5])
    with pytest.raises(HornbeamError, match='table "users", column "id" holds floating-point'):
        linked(users, orders([1, 2]))


def test_floats_of_32_bits_are_exact_below_2_to_the_24() -> None:
    near = [2**24 - 1, 2**24, 1, 2, 3, 4]
    links = pd.Series([2**24 - 1, None], dtype="float32")
    assert linked(USERS.assign(id=near), orders(links)) == [str(2**24 - 1)]
    with pytest.raises(HornbeamError, match="floating-point"):
        linked(USERS.assign(id=near), orders(pd.Series([2**24 + 1, None], dtype="float32")))


def test_long_numbers_among_fractions_are_text_and_keep_their_digits() -> None:
    links = orders(pd.Series([*IDS, 0.5], dtype=object))
    with pytest.raises(HornbeamError, match=r"1 key in 1 row is not in .* \(first: 0.5\)"):
        hb.load({"users": USERS, "orders": links}, schema=SCHEMA, dangling="error")


@pytest.mark.parametrize("type_name", ["DOUBLE", "FLOAT", "DECIMAL(22,1)"])
@pytest.mark.parametrize("engine", [None, "duckdb"])
@pytest.mark.parametrize("parquet", [False, True])
def test_links_in_columns_of_floats_are_refused_loaded_and_in_place(
    type_name: str, engine: str | None, parquet: bool, tmp_path: Path
) -> None:
    source = _shop(tmp_path, type_name, LINKS, parquet)
    with pytest.raises(HornbeamError, match='table "orders", column "user_id" holds floating-point'):
        hb.load(source, target="users.y", schema=SCHEMA, engine=engine)


@pytest.mark.parametrize("type_name", ["HUGEINT", "DECIMAL(20,0)", "UBIGINT"])
@pytest.mark.parametrize("engine", [None, "duckdb"])
def test_links_in_columns_of_long_whole_numbers_are_exact(
    type_name: str, engine: str | None, tmp_path: Path
) -> None:
    with hb.load(_shop(tmp_path, type_name, LINKS), target="users.y", schema=SCHEMA, engine=engine) as shop:
        assert sorted(shop.frequent("user_id", 1, 1)) == [str(key) for key in IDS]


def _shop(folder: Path, type_name: str, links: Sequence[int | None], parquet: bool = False) -> Path:
    path = folder / "shop.duckdb"
    with duckdb.connect(str(path)) as own:
        own.execute("CREATE TABLE users (id BIGINT, y INTEGER)")
        own.execute(f"CREATE TABLE orders (id INTEGER, user_id {type_name})")
        own.executemany("INSERT INTO users VALUES (?, ?)", [(key, key % 2) for key in IDS])
        own.executemany("INSERT INTO orders VALUES (?, ?)", list(enumerate(links)))
        if parquet:
            for table in ("users", "orders"):
                own.execute(f"COPY {table} TO '{folder / table}.parquet'")
    if parquet:
        path.unlink()
    return folder if parquet else path


@pytest.mark.parametrize(
    "keys", [np.array([[float(key)] for key in IDS]), pd.DataFrame({"id": [float(key) for key in IDS]})]
)
def test_examples_whose_keys_are_large_floats_are_refused(keys: Any) -> None:
    database = hb.load({"users": USERS}, target="users.y", schema={"users": {"key": "id"}})
    with pytest.raises(HornbeamError, match="floating-point number too large"):
        hb.RLRClassifier(database).fit(keys, [0, 1, 0, 1, 0, 1])
    with pytest.raises(HornbeamError, match=r"examples, column .*: keys are floating-point"):
        hb.load(
            {"users": USERS}, target="users.y", examples=pd.DataFrame({"id": [float(key) for key in IDS]})
        )
