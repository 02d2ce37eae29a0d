"""Columns that stay in DuckDB answer as loaded columns do, and opening asks no more than a fit needs."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.engines.sql.drivers.duckdb import DuckDBConnection
from hornbeam.in_place.columns import ColumnInPlace, table_in_place
from hornbeam.in_place.load import load_quietly
from hornbeam.in_place.table_queries import TableQueries
from hornbeam.loading.tables.columns.column import Column
from hornbeam.loading.tables.columns.new_columns import value_column

NUMBERS = st.lists(
    st.none() | st.integers(-3, 40) | st.sampled_from([10**12, -(10**12), 2**63 - 1, -(2**63)]), max_size=12
)
SHOP = """
[users]
key = "id"
links = {}
[orders]
key = "id"
links = { user = "users" }
"""


@settings(max_examples=20)
@given(NUMBERS, NUMBERS, st.sampled_from(["BIGINT", "HUGEINT", "DOUBLE"]))
def test_counts_are_those_of_loaded_columns(
    links: list[int | None], keys: list[int | None], kind: str
) -> None:
    connection = DuckDBConnection(10**9)
    try:
        in_place = [_in_place(connection, links, kind), _in_place(connection, keys, kind)]
        values = [links, keys] if kind != "DOUBLE" else [[*map(_real, links)], [*map(_real, keys)]]
        loaded = [value_column("v", each)[0] for each in values]
        for one, other in zip(in_place, loaded, strict=True):
            assert (one.n_values, one.n_missing, one.is_unique) == (
                other.n_values,
                other.n_missing,
                other.is_unique,
            )
            if other.is_whole and one.is_whole and other.n_values:
                assert one.extent == other.extent
        if not in_place[1].n_missing and loaded[0].domain is loaded[1].domain:
            assert _lost(in_place[0], in_place[1]) == _lost(loaded[0], loaded[1])
    finally:
        connection.close()


def _real(value: int | None) -> float | None:
    return None if value is None else float(value)


def _in_place(connection: DuckDBConnection, values: list[int | None], kind: str) -> ColumnInPlace:
    name = connection.new_name()
    rows = ", ".join(f"({'NULL' if value is None else value})" for value in values)
    connection._execute(f"CREATE TABLE {name} (v {kind})")
    if values:
        connection._execute(f"INSERT INTO {name} VALUES {rows}")
    column = table_in_place(name, TableQueries(connection, (name,)), ()).columns["v"]
    assert isinstance(column, ColumnInPlace)
    return column


def _lost(one: Column, key: Column) -> tuple[int, int]:
    number, rows, _ = one.lost(key)
    return number, rows


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "schema.toml").write_text(SHOP)
    with duckdb.connect() as own:
        own.execute(
            f"COPY (SELECT range AS id, range % 3 = 0 AS good FROM range(50)) TO '{tmp_path}/users.parquet'"
        )
        orders = (
            "SELECT range + 7 AS id, range * 7 % 50 AS \"user\", 'k' || range % 3 AS kind FROM range(400)"
        )
        own.execute(f"COPY ({orders}) TO '{tmp_path}/orders.parquet'")
    return tmp_path


def test_opening_lists_only_the_constants_that_examples_name(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    run = DuckDBConnection._execute
    monkeypatch.setattr(
        DuckDBConnection, "_execute", lambda self, query: asked.append(query) or run(self, query)
    )
    with load_quietly(shop, target="users.good", engine="duckdb") as database:
        made = [query for query in asked if query.startswith("CREATE TEMPORARY TABLE") and "TEXT" in query]
        assert len(made) == 1
        loaded = load_quietly(shop, target="users.good")
        assert {name: len(database.population(name)) for name in database.populations} == {
            name: len(loaded.population(name)) for name in loaded.populations
        }
        for predicate in ("kind", "user"):
            for place in (0, 1):
                assert database.facts.shape_at(predicate, [place]) == loaded.facts.shape_at(
                    predicate, [place]
                )
