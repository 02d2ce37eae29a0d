"""Counts that are fetched: each at its place, with exact sums, however large they are."""

from contextlib import closing

import numpy as np
import pytest
import sqlglot

from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.counts.fetched import exact_products, exact_squares, fetched_columns, fetched_rows
from hornbeam.engines.sql.drivers.duckdb import DuckDBConnection
from hornbeam.engines.sql.drivers.postgres import PostgresConnection
from servers import can_run_postgres, postgres

LARGE = [(5, 3), (2**31, 2**20), (2**40, 2**30), (2**62, 2**62)]


@pytest.mark.parametrize(("count", "weight"), LARGE)
def test_sums_are_those_of_whole_numbers(count: int, weight: int) -> None:
    counts = np.array([[count, count - 1, 0], [1, 2, count]], dtype=np.int64)
    weights = np.array([weight, -weight + 1, weight - 2], dtype=np.int64)
    rows, whole = counts.tolist(), weights.tolist()
    assert exact_products(counts, weights) == [
        sum(a * b for a, b in zip(row, whole, strict=True)) for row in rows
    ]
    assert exact_squares(counts, weights) == [
        sum(a * a * b for a, b in zip(row, whole, strict=True)) for row in rows
    ]


def test_no_counts_have_no_sums() -> None:
    nothing = np.zeros((0, 3), dtype=np.int64)
    assert exact_products(nothing, np.ones(3, dtype=np.int64)) == []


needs_postgres = pytest.mark.skipif(not can_run_postgres(), reason="no PostgreSQL server")


@pytest.fixture(params=["duckdb", pytest.param("postgres", marks=needs_postgres)])
def connection(request):
    memory = 10**9
    made = DuckDBConnection(memory) if request.param == "duckdb" else PostgresConnection(postgres(), memory)
    with closing(made):
        yield made


def test_columns_have_the_counts_of_each_example(connection: Connection) -> None:
    rows = "(2, 9, 5, 1), (0, 9, 6, 4)"
    selects = "example, weight, CAST(a AS BIGINT) AS t0, CAST(b AS BIGINT) AS t1"
    keys = "CAST(e AS BIGINT) AS example, CAST(w AS BIGINT) AS weight"
    query = f"SELECT {selects} FROM (SELECT {keys}, a, b FROM (VALUES {rows}) v(e, w, a, b)) AS u"
    select = sqlglot.parse_one(query, dialect=connection.dialect.name)
    assert fetched_columns(connection, select, 4).tolist() == [[6, 0, 5, 0], [4, 0, 1, 0]]


def test_rows_have_the_counts_of_each_member(connection: Connection) -> None:
    rows = "(2, 9, 1, 5), (0, 9, 0, 3), (1, 9, 1, 7)"
    query = f"SELECT e AS example, w AS weight, m AS member, c AS t0 FROM (VALUES {rows}) v(e, w, m, c)"
    select = sqlglot.parse_one(query, dialect=connection.dialect.name)
    assert fetched_rows(connection, select, (2, 3)).tolist() == [[3, 0, 0], [0, 7, 5]]
