"""Steps of boosting over bins: sums in blocks of candidates against sums one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.learning.effects.steps import bin_sums as module
from hornbeam.learning.effects.steps.bin_sums import bin_sums


def naive_sums(bins: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    return np.array([[values[row == level].sum(axis=0) for level in range(size)] for row in bins])


@st.composite
def tables(draw):
    size, candidates, examples = draw(st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(1, 12)))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    bins = random.integers(0, size, (candidates, examples)).astype(np.uint8)
    # Whole numbers, whose sums are exact in any order.
    return bins, random.integers(-(2**20), 2**20, (examples, 3)).astype(np.float64), size


@pytest.mark.parametrize("at_once", [1, 7, 250_000])
@given(table=tables(), data=st.data())
def test_sums_of_bins(at_once, table, data):
    bins, values, size = table
    before = module.AT_ONCE
    module.AT_ONCE = at_once
    try:
        sums = bin_sums(bins, size)
        found = np.zeros((len(bins), size, 3))
        for block, each in sums.of(values):
            found[block] = each
        assert (found == naive_sums(bins, values, size)).all()
        which = np.array(data.draw(st.lists(st.integers(0, len(bins) - 1), min_size=1, unique=True)))
        used = int(bins[which].max()) + 1
        taken = sums.take(which, used)
        found = np.zeros((len(which), used, 3))
        for block, each in taken.of(values):
            found[block] = each
    finally:
        module.AT_ONCE = before
    assert (found == naive_sums(bins[which], values, used)).all()
