"""Means and spreads over folds, and paired t-tests between two methods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

SIGNIFICANT = 0.05


class Summary(NamedTuple):
    """Mean and sample standard deviation of one number per fold; a single fold has no deviation."""

    mean: float
    deviation: float | None
    n: int

    @property
    def standard_error(self) -> float | None:
        return None if self.deviation is None else self.deviation / math.sqrt(self.n)


def summary(values: Sequence[float]) -> Summary:
    """Mean and standard deviation of at least one value.

    >>> summary([1.0, 2.0, 3.0])
    Summary(mean=2.0, deviation=1.0, n=3)
    """
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return Summary(mean, None, 1)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return Summary(mean, math.sqrt(squares / (len(values) - 1)), len(values))


class PairedTest(NamedTuple):
    """A two-sided paired t-test: the mean difference, and the probability of one as large by chance."""

    difference: float
    p: float

    @property
    def significant(self) -> bool:
        return self.p < SIGNIFICANT


def paired_t_test(ours: Sequence[float], theirs: Sequence[float]) -> PairedTest | None:
    """Test our values against theirs, fold by fold; None if there are fewer than two folds.

    If all differences are equal, the t statistic is undefined: p is then 1 for differences of zero, and 0
    for others.

    >>> test = paired_t_test([0.9, 0.8, 0.95], [0.8, 0.75, 0.8])
    >>> round(test.difference, 6), round(test.p, 6), test.significant
    (0.1, 0.07418, False)
    """
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]
    if len(differences) < 2:
        return None
    mean, deviation, n = summary(differences)
    assert deviation is not None
    # Smaller differences are rounding errors.
    if deviation <= 1e-12:
        return PairedTest(mean, 1.0 if abs(mean) <= 1e-12 else 0.0)
    # Imported late: scipy.special takes 0.1 s, and scipy.stats, which has the whole test, 1 s.
    from scipy.special import stdtr

    t = mean / (deviation / math.sqrt(n))
    return PairedTest(mean, float(2 * stdtr(n - 1, -abs(t))))
