"""Rows of counts have the same rows and sums in both forms."""

from __future__ import annotations

import numpy as np
import pytest

from hornbeam.engines.clauses.counting.count_rows import DenseRows, SparseRows, count_rows
from hornbeam.engines.clauses.counting.exact_sums import plain_sum, square_sum, weighted_sum


def sparse_counts(dtype: type[np.integer]) -> np.ndarray:
    """Counts of 20 clauses for 300 examples, 2 % of them not 0; the first and the last row are 0."""
    rng = np.random.default_rng(0)
    counts = np.where(rng.random((20, 300)) < 0.02, rng.integers(1, 200, (20, 300)), 0).astype(dtype)
    counts[[0, -1]] = 0
    return counts


def test_the_form_depends_on_the_number_of_counts_that_are_not_0() -> None:
    counts = sparse_counts(np.uint8)
    assert isinstance(count_rows(counts), SparseRows)
    assert isinstance(count_rows(counts + np.uint8(1)), DenseRows)
    assert count_rows(counts).nbytes < DenseRows(counts).nbytes


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.int64])
def test_sparse_rows_are_the_rows_they_were_made_of(dtype: type[np.integer]) -> None:
    counts = sparse_counts(dtype)
    rows = count_rows(counts)
    assert len(rows) == 20
    for place, row in enumerate(counts):
        assert rows.row(place).dtype == row.dtype
        assert rows.row(place).tolist() == row.tolist()
    some = rows.taken([1, 5, 19])
    assert [some.row(place).tolist() for place in range(3)] == counts[[1, 5, 19]].tolist()


def test_rows_have_equal_bytes_only_if_they_are_equal() -> None:
    counts = sparse_counts(np.uint8)
    counts[7] = counts[3]
    rows = count_rows(counts)
    same = {(a, b) for a in range(20) for b in range(a) if rows.value(a) == rows.value(b)}
    assert same == {(7, 3), (19, 0)}


@pytest.mark.parametrize("scale", [1, 2**40, 2**62])
@pytest.mark.parametrize("places", [range(20), [0, 2, 3, 19], []])
def test_sums_of_both_forms_are_equal_and_exact(scale: int, places: range | list[int]) -> None:
    counts = sparse_counts(np.int64)
    counts[4, 0] = 2**31
    weights = np.random.default_rng(1).integers(-9, 9, 300) * scale // 9
    largest, mass = int(counts.max()), int(sum(map(abs, weights.tolist())))
    kinds = (plain_sum(largest, 300), square_sum(largest, 300), weighted_sum(largest, weights, mass))
    chosen = np.array(places, dtype=np.int64)
    rows = count_rows(counts)
    assert isinstance(rows, SparseRows)
    expected = [
        [sum(row) for row in counts[chosen].tolist()],
        [sum(count * count for count in row) for row in counts[chosen].tolist()],
        [
            sum(count * weight for count, weight in zip(row, weights.tolist(), strict=True))
            for row in counts[chosen].tolist()
        ],
    ]
    assert rows.sums(chosen, kinds) == expected
