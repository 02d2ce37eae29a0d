"""Features: the number that a clause's weight multiplies, computed from the clause's counts.

``count`` is the count itself. ``log`` is ln(1 + count), so that the hundredth grounding adds less than the
first. ``at least 5`` is 1 if the count is 5 or more, else 0. ``share`` is the share of the guard's groundings
for which the last literal is true (see ``logic.guards``), and 0 if the guard has none.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from hornbeam.engines.contract import Column
from hornbeam.engines.counting.exact_sums import whole_logarithms

Floats = npt.NDArray[np.float64]
COUNT = "count"
LOG = "log"
SHARE = "share"
FEATURES = (COUNT, LOG, "at least N", SHARE)
"""How features are written; N is a whole number from 1."""

_AT_LEAST = re.compile(r"at least ([1-9][0-9]{0,18})")


def at_least(bound: int) -> str:
    """The feature that is 1 if a count reaches a bound.

    >>> at_least(5)
    'at least 5'
    """
    return f"at least {bound}"


def bound_of(feature: str) -> int | None:
    """The bound of an ``at least`` feature; None for any other."""
    match = _AT_LEAST.fullmatch(feature)
    return int(match[1]) if match else None


def is_feature(text: str) -> bool:
    """Whether a text names a feature."""
    return text in (COUNT, LOG, SHARE) or bound_of(text) is not None


def feature_values(counts: Floats, feature: str) -> Floats:
    """The value of a feature other than ``share`` for each count.

    A count may be negative: the false count on data with more true groundings than the training total.

    >>> feature_values(np.array([0.0, 4.0, 5.0]), "at least 5").tolist()
    [0.0, 0.0, 1.0]
    """
    if feature == COUNT:
        return counts
    if feature == LOG:
        return np.log1p(np.maximum(counts, 0.0))
    bound = bound_of(feature)
    assert bound is not None
    return (counts >= bound).astype(np.float64)


def false_counts(true: Column, total: int | Column) -> Floats:
    """``total - true``, rounded to the nearest float from the exact integer."""
    if not isinstance(total, int) or total < 2**63:
        return (total - true.astype(np.int64)).astype(np.float64)
    values, inverse = np.unique(true, return_inverse=True)
    exact = np.array([float(total - int(value)) for value in values], dtype=np.float64)
    return exact[inverse.ravel()]


def shares(true: Column, within: Column) -> Floats:
    """True counts divided by the counts of the guard, ``within``; 0 where the guard has none.

    >>> shares(np.array([0, 1, 3]), np.array([0, 4, 3])).tolist()
    [0.0, 0.25, 1.0]
    """
    return true.astype(np.float64) / np.maximum(within.astype(np.float64), 1.0)


def in_units(counts: Column) -> npt.NDArray[np.int64]:
    """ln(1 + count) in whole units of 1/LOG_UNIT: sums are exact."""
    return whole_logarithms(counts).astype(np.int64)
