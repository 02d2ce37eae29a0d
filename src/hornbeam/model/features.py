"""Features, the numbers that a clause's weights multiply, computed from its counts; and weighted clauses.

``count`` is the count itself. ``log`` is ln(1 + count), so that the hundredth grounding adds less than the
first. ``at least 5`` is 1 if the count is 5 or more, else 0. ``share`` is the share of the guard's groundings
for which the last literal is true (see ``logic.guards``), and 0 if the guard has none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.logic.clauses import Clause, format_constant, variable_name

Floats = npt.NDArray[np.float64]
Column = npt.NDArray[Any]
"""Counts, one per example, in any integer type."""
COUNT = "count"
LOG = "log"
SHARE = "share"
FEATURES = (COUNT, LOG, "at least N", SHARE)
"""How features are written; N is a whole number from 1."""

SHOWN = 5
"""Maximum number of constants that the text of a clause shows."""
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
    from hornbeam.engines.clauses.counting.exact_sums import whole_logarithms

    return whole_logarithms(counts).astype(np.int64)


@dataclass(frozen=True, slots=True)
class WeightedClause:
    """A clause, its weights ``(w0, w1, w2)``, its total on the training data, and its feature.

    The weights multiply 1, the feature of the true count, and the feature of the false count (see
    ``features``). In a model with guarded false counts, the total counts only the variables that the last
    literal introduces; the total of an example is that number times the count of its guard.

    If ``each`` is set, ``constants`` holds a weight for each constant of that variable. The clause then adds,
    over these constants, the weight times the feature of the true count with the constant filled in.
    """

    clause: Clause
    weights: tuple[float, float, float]
    total: int
    feature: str = COUNT
    each: int | None = None
    constants: tuple[tuple[str, float], ...] = ()

    def contribution(self, true: Column, total: int | Column) -> Floats:
        """``(w0 + w1*t) + w2*f`` for each example, where t and f are features of the true and false counts.

        ``total`` is one number for all examples or, for guarded false counts, one for each.
        """
        w0, w1, w2 = self.weights
        if self.feature == SHARE:
            return w0 + w1 * shares(true, np.broadcast_to(total, true.shape))
        t = feature_values(true.astype(np.float64), self.feature)
        return (w0 + w1 * t) + w2 * feature_values(false_counts(true, total), self.feature)

    def rises(self) -> bool | None:
        """Sign of the effect of more true groundings.

        True raises the probability, False lowers it, None if mixed or zero.
        """
        if self.each is not None:
            return None
        if self.feature == SHARE:
            return None if self.weights[1] == 0 else self.weights[1] > 0
        enough = bound_of(self.feature) or 1
        none, one = self.contribution(np.array([0, enough]), max(self.total, enough)).tolist()
        return None if none == one else one > none

    @property
    def weighs_false(self) -> bool:
        """Whether the contribution depends on false counts."""
        return self.feature == SHARE or self.weights[2] != 0.0

    def __str__(self) -> str:
        weights = ", ".join(format(weight, ".6g") for weight in self.weights)
        feature = "" if self.feature == COUNT else f" {self.feature}"
        if self.each is None:
            return f"[{weights}]{feature} : {self.clause}"
        shown = ", ".join(f"{weight:+.3g} {format_constant(name)}" for name, weight in self.strongest(SHOWN))
        hidden = len(self.constants) - SHOWN
        more = f", and {hidden:,} more" if hidden > 0 else ""
        return f"[{variable_name(self.each)}: {shown}{more}]{feature} : {self.clause}"

    def strongest(self, number: int) -> list[tuple[str, float]]:
        """The constants with the largest absolute weights, and their weights, in descending order."""
        return sorted(self.constants, key=lambda entry: (-abs(entry[1]), entry[0]))[:number]

    def by_constant(self) -> list[WeightedClause]:
        """Equivalent clauses with one weight vector each: one for each constant, or only this clause."""
        from hornbeam.logic.canonical import with_constant

        if self.each is None:
            return [self]
        return [
            WeightedClause(with_constant(self.clause, self.each, name), (0.0, weight, 0.0), 1, self.feature)
            for name, weight in self.constants
        ]
