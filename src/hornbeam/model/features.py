"""Readings: what of a clause's counts is weighted.

``count`` is the count itself, ``log`` is ln(1 + count), so that the hundredth grounding says less than
the first, and ``at least 5`` is 1 where the count is 5 or more, and 0 elsewhere. ``share`` is the part of
its guard's groundings for which the last literal holds (see ``guards``), 0 where there are none. A search
chooses clauses by one reading; which one a clause then keeps is chosen when it is added.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from hornbeam.engines.contract import LOG_UNIT, Column
from hornbeam.engines.exact_sums import whole_logarithms

Floats = npt.NDArray[np.float64]
COUNT = "count"
LOG = "log"
SHARE = "share"
READINGS = (COUNT, LOG, "at least N", SHARE)
"""How readings are written; N is a whole number from 1."""
OFFERED = 8
"""Bounds that are tried for a clause, at most."""

_AT_LEAST = re.compile(r"at least ([1-9][0-9]{0,18})")


def at_least(bound: int) -> str:
    """The reading that asks whether a count reaches a bound.

    >>> at_least(5)
    'at least 5'
    """
    return f"at least {bound}"


def bound_of(reading: str) -> int | None:
    """The bound of a reading that has one."""
    found = _AT_LEAST.fullmatch(reading)
    return int(found[1]) if found else None


def is_reading(text: str) -> bool:
    """Whether a text names a reading."""
    return text in (COUNT, LOG, SHARE) or bound_of(text) is not None


def read(counts: Floats, reading: str) -> Floats:
    """What is weighted of some counts; other data may have more true counts than the total of training.

    >>> read(np.array([0.0, 4.0, 5.0]), "at least 5").tolist()
    [0.0, 0.0, 1.0]
    """
    if reading == COUNT:
        return counts
    if reading == LOG:
        return np.log1p(np.maximum(counts, 0.0))
    bound = bound_of(reading)
    assert bound is not None
    return (counts >= bound).astype(np.float64)


def shares(true: Column, within: Column) -> Floats:
    """The shares that true counts are of those of the guard.

    >>> shares(np.array([0, 1, 3]), np.array([0, 4, 3])).tolist()
    [0.0, 0.25, 1.0]
    """
    below = np.maximum(within.astype(np.float64), 1.0)
    return true.astype(np.float64) / below


def shares_in_units(true: Column, within: Column) -> npt.NDArray[np.int64]:
    """Shares as whole numbers, LOG_UNIT of them to one."""
    return np.rint(shares(true, within) * LOG_UNIT).astype(np.int64)


def in_units(counts: Column, reading: str) -> npt.NDArray[np.int64]:
    """A reading as whole numbers, LOG_UNIT of them to one, so that sums are exact."""
    if reading == LOG:
        return whole_logarithms(counts).astype(np.int64)
    bound = bound_of(reading)
    assert bound is not None
    return (counts >= bound).astype(np.int64) * LOG_UNIT


def offered(counts: Column, most: int = OFFERED) -> tuple[str, ...]:
    """The readings that tell some counts apart: bounds at quantiles, and the logarithm of three or more.

    >>> offered(np.array([0, 0, 3, 7]))
    ('log', 'at least 3', 'at least 7')
    """
    values = np.unique(counts)[1:]
    several = len(values) > 1
    if len(values) > most:
        # Whole positions in the sorted counts: quantiles that no rounding can move.
        ranks = (np.arange(1, most + 1) * len(counts)) // (most + 1)
        values = np.intersect1d(np.sort(counts)[ranks], values)
    bounds = tuple(at_least(int(value)) for value in values)
    return (LOG, *bounds) if several else bounds
