"""Sums over rows of counts, longer and shorter than the pieces in which they are added."""

from __future__ import annotations

import numpy as np
import pytest

from hornbeam.engines.clauses.counting.exact_sums import exact_row_sums, plain_sum, square_sum, weighted_sum


@pytest.mark.parametrize("size", [1, 8191, 8192, 8193, 20_000])
@pytest.mark.parametrize("largest", [3, 2**31])
def test_sums_are_exact_at_any_length(size: int, largest: int) -> None:
    random = np.random.default_rng(size)
    block = random.integers(0, largest, (3, size))
    weights = random.integers(-1000, 1000, size)
    sums = [
        plain_sum(largest, size),
        square_sum(largest, size),
        weighted_sum(largest, weights, int(np.abs(weights).sum())),
    ]
    found = exact_row_sums(block, np.array([0, 2]), sums)
    counts = block.astype(object)[[0, 2]]
    assert found == [
        counts.sum(axis=1).tolist(),
        (counts * counts).sum(axis=1).tolist(),
        (counts * weights.astype(object)).sum(axis=1).tolist(),
    ]
