"""Exact sums of numbers: the sum of the values is rounded once, so no order of the rows changes it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hornbeam.data.numbers import Floats
from hornbeam.errors import DataError

Whole = npt.NDArray[np.int64]
BITS, LEAST_BITS = 26, 8
"""Bits of each part of a value: fewer than 2**26 parts of 26 bits have an exact sum; of more, it is fewer."""
MOST_PARTS = 8
_MOST = 2.0**53
"""Whole numbers up to this one are exact as floats."""


def sums_by_row(row: Whole, values: Floats, number: Whole, size: int) -> Floats:
    """For each of ``size`` rows, the exact sum of its values, each ``number`` times, as the nearest float.

    >>> sums_by_row(np.array([0, 0, 1]), np.array([0.1, 0.2, 7.0]), np.array([1, 1, 2]), 3).tolist()
    [0.30000000000000004, 14.0, 0.0]
    """
    if not len(values):
        return np.zeros(size)
    # Each row is a sum of its own, so the row with most groundings decides how many bits are exact.
    largest, groundings = float(np.abs(values).max()), float(np.bincount(row, number).max())
    if not math.isfinite(largest * groundings):
        raise DataError("a sum of numbers exceeds the largest float; scale the column, or leave it out.")
    if largest * groundings < _MOST and (values == np.rint(values)).all():
        return _sums(row, values * number, size)
    bits = min(BITS, 2 * BITS - math.frexp(groundings)[1])
    parts = _parts(values, math.frexp(largest)[1], bits) if bits >= LEAST_BITS else None
    if parts is None:
        return _one_by_one(row, values, number, size)
    sums = [_sums(row, part * number, size) for part in parts]
    if len(sums) < 3:
        return sum(sums[1:], sums[0])
    return np.array([math.fsum(each) for each in zip(*(column.tolist() for column in sums), strict=True)])


def _parts(values: Floats, top: int, bits: int) -> list[Floats] | None:
    """Values below 2**top as sums of parts of so many bits; None if that takes too many.

    >>> [part.tolist() for part in _parts(np.array([3.0, 2.0**-30]), 2, 26)]
    [[3.0, 0.0], [0.0, 9.313225746154785e-10]]
    """
    parts: list[Floats] = []
    rest = values
    for place in range(1, MOST_PARTS * BITS // bits + 1):
        coarse = math.ldexp(1.0, top - bits * place)
        if coarse < np.finfo(np.float64).tiny:
            return None
        part = np.rint(rest / coarse) * coarse
        parts.append(part)
        rest = rest - part
        if not rest.any():
            return parts
    return None


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
