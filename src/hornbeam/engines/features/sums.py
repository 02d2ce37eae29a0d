"""Exact sums of numbers: the sum of the values is rounded once, so no order of the rows changes it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hornbeam.data.numbers import Floats
from hornbeam.errors import DataError

Whole = npt.NDArray[np.int64]
_MOST = 2.0**53
"""Whole numbers up to this one are exact as floats."""


def sums_by_row(row: Whole, values: Floats, number: Whole, size: int) -> Floats:
    """For each of ``size`` rows, the exact sum of its values, each ``number`` times, as the nearest float.

    >>> sums_by_row(np.array([0, 0, 1]), np.array([0.1, 0.2, 7.0]), np.array([1, 1, 2]), 3).tolist()
    [0.30000000000000004, 14.0, 0.0]
    """
    if not len(values):
        return np.zeros(size)
    largest, groundings = float(np.abs(values).max()), float(number.sum(dtype=np.float64))
    if not math.isfinite(largest * groundings):
        raise DataError("a sum of numbers exceeds the largest float; scale the column, or leave it out.")
    if largest * groundings < _MOST and (values == np.rint(values)).all():
        return _sums(row, values * number, size)
    if groundings < 2.0**26:
        # Each value is split in two parts of 26 bits, so that both sums are exact.
        top = math.frexp(largest)[1]
        coarse, fine = math.ldexp(1.0, top - 26), math.ldexp(1.0, top - 53)
        high = np.rint(values / coarse) * coarse if coarse > 0 else values
        low = values - high
        # The quotient of a tiny number may be rounded to 0, so the product decides.
        if fine > 0 and (np.rint(low / fine) * fine == low).all():
            return _sums(row, high * number, size) + _sums(row, low * number, size)
    return _one_by_one(row, values, number, size)


def _sums(row: Whole, values: Floats, size: int) -> Floats:
    return np.bincount(row, values, minlength=size).astype(np.float64)


def _one_by_one(row: Whole, values: Floats, number: Whole, size: int) -> Floats:
    """The same for values of very different magnitudes."""
    from fractions import Fraction

    exact: dict[int, Fraction] = {}
    for place, value, times in zip(row.tolist(), values.tolist(), number.tolist(), strict=True):
        exact[place] = exact.get(place, Fraction(0)) + Fraction(value) * times
    result = np.zeros(size)
    for place, total in exact.items():
        result[place] = float(total)
    return result
