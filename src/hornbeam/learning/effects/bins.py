"""Bins: the values of a feature as a few levels, one byte for each training example.

Bin 0 is for missing values; bin i for values below the i-th cut and not below the cut before it. Cuts are at
order statistics of the training values. A cut is the shortest decimal between the two values beside it,
near their middle, so that it is easy to read and no rounding of a quotient can move a value across it.
"""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.numbers import Floats

Bins = npt.NDArray[np.uint8]
SMALLEST, LARGEST = 1e-3, 1e100
"""Values whose largest is beyond these are scaled before sums of their squares."""
BLOCK = 1 << 22
"""Bytes of bins that are allocated at once."""


def cuts_of(
    values: Floats, n_cuts: int, min_support: int, counts: bool = False, sizes: Floats | None = None
) -> tuple[float, ...]:
    """At most ``n_cuts`` rising cuts (one more for counts: at 1), each with enough values on both sides.

    ``sizes`` has how many examples have each value; None for one.

    >>> cuts_of(np.array([0.0, 0.0, 1.0, 2.0, 2.0, 7.0, 9.0, np.nan]), 3, 2, counts=True)
    (1.0, 2.0, 5.0)
    >>> values, sizes = np.array([2.0, 0.0, 9.0, 1.0, 7.0, np.nan]), np.array([2.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    >>> cuts_of(values, 3, 2, counts=True, sizes=sizes)
    (1.0, 2.0, 5.0)
    """
    distinct, upto = _distinct(values, sizes)
    size = int(upto[-1]) if len(upto) else 0
    if size < 2 * min_support or len(distinct) < 2:
        return ()
    places = upto.searchsorted(_ranks(size, n_cuts), side="right").tolist()
    if counts and distinct[0] <= 1.0:
        places.append(int(distinct.searchsorted(1.0)))
    cuts = set()
    for place in set(places):
        # The smallest value is frequent: cut above it.
        above = max(place, 1)
        if above < len(distinct) and min_support <= upto[above - 1] <= size - min_support:
            cuts.add(shortest_between(float(distinct[above - 1]), float(distinct[above])))
    return tuple(sorted(cuts))


@lru_cache(maxsize=4096)
def _ranks(size: int, n_cuts: int) -> npt.NDArray[np.int64]:
    """The places in order of the values at which a number of examples is divided equally."""
    return np.array([-(-place * size // (n_cuts + 1)) - 1 for place in range(1, n_cuts + 1)])


def _distinct(values: Floats, sizes: Floats | None) -> tuple[Floats, npt.NDArray[Any]]:
    """The distinct known values in rising order, and how many examples have them or smaller ones."""
    missing = np.isnan(values)
    if missing.any():
        values = values[~missing]
        sizes = None if sizes is None else sizes[~missing]
    if sizes is None:
        ordered = np.sort(values)
    else:
        order = values.argsort()
        ordered = values[order]
    last = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=last[:-1])
    if sizes is None:
        places = np.flatnonzero(last)
        return ordered[places], places + 1
    return ordered[last], sizes[order].cumsum()[last]


@lru_cache(maxsize=4096)
def shortest_between(low: float, high: float) -> float:
    """The number with the fewest digits that is above ``low`` and not above ``high``.

    Of several with equally few digits it is the one nearest to the middle: other examples may have values
    that no training example has.

    >>> shortest_between(2.0, 3.0), shortest_between(1.23, 1.38), shortest_between(-0.7, 0.4)
    (3.0, 1.3, 0.0)
    >>> shortest_between(0.0, 0.2), shortest_between(2.0, 7.0), shortest_between(9.0, 60.0)
    (0.1, 5.0, 30.0)
    """
    if low < 0 < high:
        return 0.0
    lower, upper = Decimal(low), Decimal(high)
    middle = (lower + upper) / 2
    first = max(abs(lower), abs(upper)).adjusted()
    for digits in range(-first - 1, 18 - min(first, 0)):
        unit = Decimal(1).scaleb(-digits)
        below = (middle / unit).to_integral_value(ROUND_FLOOR) * unit
        near = [float(each) for each in (below + unit, below) if low < float(each) <= high]
        if near:
            return min(near, key=lambda each: abs(Decimal(each) - middle)) + 0.0
    return high


def bins_of(values: Floats, cuts: tuple[float, ...]) -> Bins:
    """The bin of each value.

    >>> bins_of(np.array([np.nan, 0.0, 1.0, 5.0]), (1.0, 3.0)).tolist()
    [0, 1, 2, 3]
    """
    bins = 1 + np.searchsorted(np.array(cuts), values, side="right")
    bins[np.isnan(values)] = 0
    return bins.astype(np.uint8)


class BinBlocks:
    """Copies of bins side by side in large blocks, whose memory can be used for other things afterwards."""

    def __init__(self) -> None:
        self._free: Bins = np.empty((0, 0), dtype=np.uint8)

    def copied(self, bins: Bins) -> Bins:
        """A copy of the bins of all examples."""
        if not len(self._free):
            self._free = np.empty((1 + BLOCK // max(1, len(bins)), len(bins)), dtype=np.uint8)
        copy: Bins = self._free[0]
        self._free = self._free[1:]
        copy[:] = bins
        return copy


def scores_of(
    values: Floats, bins: Bins, n_cuts: int, counts: bool, sizes: Floats | None = None
) -> tuple[float, ...]:
    """A score for each bin: the mean of its values, in units of their standard deviation; 0 for missing.

    Counts enter as ln(1 + count), and values beyond the 1st and 99th percentile as these. ``sizes`` has how
    many examples have each value; None for one.
    """
    number = len(values) if sizes is None else float(sizes.sum())
    known = ~np.isnan(values)
    values, bins = values[known], bins[known]
    sizes = None if sizes is None else sizes[known]
    if not len(values):
        return (0.0,) * (n_cuts + 2)
    x = np.log1p(values) if counts else _in_range(_clipped(values, sizes))
    sizes = np.ones(len(values)) if sizes is None else sizes
    size = np.bincount(bins, sizes, minlength=n_cuts + 2)
    total = np.bincount(bins, np.round(x, 9) * sizes, minlength=n_cuts + 2)
    mean = total / np.maximum(size, 1.0)
    centred = mean - float((size * mean).sum()) / float(sizes.sum())
    deviation = float(np.sqrt((size * centred * centred).sum() / number))
    if deviation < 1e-12:
        return (0.0,) * (n_cuts + 2)
    result = np.where(size > 0, centred / deviation, 0.0)
    result[0] = 0.0
    return tuple(np.round(result, 6).tolist())


def _in_range(values: Floats) -> Floats:
    """Values that are neither so large that their squares overflow nor so small that rounding leaves nothing.

    Others are divided by a power of 2: scores have no unit.
    """
    largest = float(np.abs(values).max())
    if SMALLEST <= largest <= LARGEST or largest == 0.0:
        return values
    scaled: Floats = np.ldexp(values, -int(np.frexp(largest)[1]))
    return scaled


def _clipped(values: Floats, sizes: Floats | None) -> Floats:
    """Values beyond the 1st and 99th percentile as these."""
    if sizes is None:
        ends = len(values) // 100, len(values) - 1 - len(values) // 100
        return np.clip(values, *np.partition(values, ends)[list(ends)])
    order = values.argsort()
    upto = sizes[order].cumsum()
    beyond = int(upto[-1]) // 100
    low, high = upto.searchsorted([beyond, upto[-1] - 1 - beyond], side="right")
    return np.clip(values, values[order[low]], values[order[high]])
