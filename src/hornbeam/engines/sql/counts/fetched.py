"""Counts that are fetched from the SQL system, and their exact sums."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from hornbeam.engines.contract import INT64_MAX
from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.expressions import Dialect, own_column

Integers = npt.NDArray[np.int64]


def fetched_columns(connection: Connection, query: exp.Select, bindings: int) -> Integers:
    """The counts of a query with the columns ``example weight t0 t1 ...``: a row for each count column."""
    selects = [_as_bigint(select, connection.dialect) for select in query.selects]
    query.set("expressions", selects)
    example, _, *columns = connection.integers(connection.dialect.text(query), len(selects))
    counts = np.zeros((len(columns), bindings), dtype=np.int64)
    for row, column in zip(counts, columns, strict=True):
        row[example] = column
    return counts


def fetched_rows(connection: Connection, query: exp.Select, size: tuple[int, int]) -> Integers:
    """The counts of a query with the columns ``example weight member t0``: a row for each member."""
    columns = (own_column(name, "t") for name in ("example", "member", "t0"))
    query = exp.Select().from_(query.subquery("t", copy=False), copy=False)
    query = query.select(*map(connection.dialect.cast, columns), copy=False)
    rows, members, values = connection.integers(connection.dialect.text(query), 3)
    counts = np.zeros(size, dtype=np.int64)
    counts[members, rows] = values
    return counts


def _as_bigint(select: exp.Expr, dialect: Dialect) -> exp.Expr:
    """A selected value as BIGINT; counts whose bound was too high are wide integers."""
    value = select.this
    if isinstance(select, exp.Alias) and value.args["to"].this != exp.DataType.Type.BIGINT:
        select.set("this", dialect.cast(value))
    return select


def exact_products(counts: Integers, weights: Integers) -> list[int]:
    """The sum of each row's products with the weights."""
    if int(counts.max(initial=0)) * sum(map(abs, weights.tolist())) > INT64_MAX:
        return [int(product) for product in counts.astype(object) @ weights.astype(object)]
    products: list[int] = (counts @ weights).tolist()
    return products


def exact_squares(counts: Integers, weights: Integers) -> list[int]:
    """The sum of each row's squares times the weights."""
    if int(counts.max(initial=0)) ** 2 > INT64_MAX:
        wide = counts.astype(object)
        return [int(product) for product in (wide * wide) @ weights.astype(object)]
    return exact_products(counts * counts, weights)
