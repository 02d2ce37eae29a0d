"""Means over folds, their spread, and whether one method is above another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

SIGNIFICANT = 0.05


class Summary(NamedTuple):
    """Mean and standard deviation (n - 1) of a number per fold; one fold has no spread."""

    mean: float
    deviation: float | None
    n: int

    @property
    def standard_error(self) -> float | None:
        return None if self.deviation is None else self.deviation / math.sqrt(self.n)


def summary(values: Sequence[float]) -> Summary:
    """Mean and spread of at least one value.

    >>> summary([1.0, 2.0, 3.0])
    Summary(mean=2.0, deviation=1.0, n=3)
    """
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return Summary(mean, None, 1)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return Summary(mean, math.sqrt(squares / (len(values) - 1)), len(values))


class PairedTest(NamedTuple):
    """A two-sided paired t-test: the mean difference, and how likely one as large is by chance."""

    difference: float
    p: float

    @property
    def significant(self) -> bool:
        return self.p < SIGNIFICANT


def paired_t_test(ours: Sequence[float], theirs: Sequence[float]) -> PairedTest | None:
    """Ours against theirs, fold by fold; None where there are fewer than two folds.

    Where all differences are the same there is no spread to judge by: no difference at all is no
    evidence (p = 1), any other is as strong as evidence gets (p = 0).

    >>> found = paired_t_test([0.9, 0.8, 0.95], [0.8, 0.75, 0.8])
    >>> round(found.difference, 6), round(found.p, 6), found.significant
    (0.1, 0.07418, False)
    """
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]
    if len(differences) < 2:
        return None
    mean, deviation, n = summary(differences)
    assert deviation is not None
    # Differences of numbers that are equal to the last bits are noise of the arithmetic.
    if deviation <= 1e-12:
        return PairedTest(mean, 1.0 if abs(mean) <= 1e-12 else 0.0)
    # Late: scipy.special takes a tenth of a second, and scipy.stats, which has the whole test, a second.
    from scipy.special import stdtr

    t = mean / (deviation / math.sqrt(n))
    return PairedTest(mean, float(2 * stdtr(n - 1, -abs(t))))
