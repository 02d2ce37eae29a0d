"""Fetched counts have exact sums, however large they are."""

import numpy as np
import pytest

from hornbeam.engines.sql.counts.fetched import exact_products, exact_squares

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
