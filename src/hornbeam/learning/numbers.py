"""Numbers that come out the same on every machine: gradients as integers, weights to 12 digits."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Labels = npt.NDArray[np.int8]
"""0 or 1 for each example."""
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

GRADIENT_BITS = 30
"""Gradients are stored as whole multiples of 2**-30, so that their sums are exact."""
_TWELVE_DIGITS = Context(prec=12, rounding=ROUND_HALF_EVEN)


def whole_gradients(values: Floats) -> Integers:
    """Values in units of 2**-30, rounded.

    >>> whole_gradients(np.array([0.5, -1.0])).tolist()
    [536870912, -1073741824]
    """
    units: Floats = np.rint(values * 2.0**GRADIENT_BITS)
    return units.astype(np.int64)


def round_weight(value: Fraction | float) -> float:
    """The nearest number with 12 significant digits, halves to even.

    >>> round_weight(Fraction(2, 3))
    0.666666666667
    """
    exact = Fraction(value)
    return float(_TWELVE_DIGITS.divide(Decimal(exact.numerator), Decimal(exact.denominator)))
