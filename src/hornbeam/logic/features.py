"""Kinds of features: one row for each says what it needs, how it is said and what it is offered for.

A feature is a number that the groundings of a body give for an example. ``docs/effects.md`` defines them. How
an engine computes the measure of a row is in ``engines/features/values`` for facts in memory, and in
``engines/export/effects`` for SQL; what it is, in plain Python, is at the end of this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import chain
from typing import NamedTuple

COUNT, SHARE, DISTINCT = "count", "share", "distinct"
VALUE, MEAN, SUM, MINIMUM, MAXIMUM, SPREAD = "value", "mean", "sum", "min", "max", "spread"
FIRST, LAST = "first", "last"
SINCE, SINCE_FIRST, SINCE_LAST, MONTH = "since", "since first", "since last", "month"

# What a feature needs.
GROUNDINGS = "groundings"
GUARD = "groundings, and those of the body without its last step"
NUMBERS = "a variable of numbers or dates"
CONSTANTS = "a variable"
DATES = "a variable of dates"
TIMES = "times of groundings, and a cut-off"
CUTOFF = "a cut-off"

# What a feature is offered for: the role of a column, or numbers of several rows of which some are left out.
NUMBER, CATEGORY, FLAG, DATE, LINK, TIME = "number", "category", "flag", "date", "link", "time"
MANY = "numbers of all rows"
RECENT = "numbers of recent rows, behind one link"
FAR_RECENT = "numbers of recent rows, behind more links"
IN_ORDER = "numbers of rows that have times"


class FeatureKind(NamedTuple):
    """One kind of feature."""

    name: str
    needs: str
    measure: str
    """what engines compute of the groundings"""
    words: str = ""
    """how the measure of the values of a variable is said, as in ``the mean amount of its orders``"""
    offered: tuple[str, ...] = ()
    """what the default learner offers it for"""
    edge: str = ""
    """``first`` or ``last`` if only the groundings with the earliest or latest time matter"""
    dates: bool = False
    """whether values are dates if those of the variable are"""
    whole: bool = False
    """whether values are whole numbers from 0"""
    line: bool = False
    """whether the score may be a straight line of it"""

    @property
    def has_variable(self) -> bool:
        """Whether it is a feature of the values of a variable, which its text names."""
        return self.needs in (NUMBERS, CONSTANTS, DATES)


_NUMBERS = (NUMBER, MANY)
_ALSO_RECENT = (*_NUMBERS, RECENT)
_ROWS = (
    FeatureKind(VALUE, NUMBERS, MEAN, offered=(NUMBER, DATE), dates=True, line=True),
    FeatureKind(MEAN, NUMBERS, MEAN, "mean ", (*_ALSO_RECENT, FAR_RECENT), dates=True, line=True),
    FeatureKind(SUM, NUMBERS, SUM, "total ", _NUMBERS, line=True),
    FeatureKind(MINIMUM, NUMBERS, MINIMUM, "smallest ", (*_ALSO_RECENT, DATE), dates=True),
    FeatureKind(MAXIMUM, NUMBERS, MAXIMUM, "largest ", _ALSO_RECENT, dates=True),
    FeatureKind(SPREAD, NUMBERS, SPREAD, "standard deviation of the ", _NUMBERS),
    FeatureKind(FIRST, NUMBERS, MEAN, "earliest ", (IN_ORDER,), edge=FIRST, dates=True),
    FeatureKind(LAST, NUMBERS, MEAN, "latest ", (IN_ORDER,), edge=LAST, dates=True, line=True),
    FeatureKind(COUNT, GROUNDINGS, COUNT, offered=(NUMBER, CATEGORY, FLAG, LINK), whole=True, line=True),
    FeatureKind(SHARE, GUARD, COUNT, offered=(NUMBER, CATEGORY, FLAG), line=True),
    FeatureKind(DISTINCT, CONSTANTS, DISTINCT, offered=(CATEGORY, LINK), whole=True),
    FeatureKind(SINCE, DATES, MINIMUM, offered=(DATE,), line=True),
    FeatureKind(SINCE_FIRST, TIMES, MINIMUM, "earliest", (TIME,), edge=FIRST, line=True),
    FeatureKind(SINCE_LAST, TIMES, MAXIMUM, "latest", (TIME,), edge=LAST, line=True),
    FeatureKind(MONTH, CUTOFF, "", line=True),
)
KINDS: Mapping[str, FeatureKind] = {kind.name: kind for kind in _ROWS}
"""Every kind of feature, by its name."""
OF_NUMBERS = tuple(kind.name for kind in _ROWS if kind.needs == NUMBERS)
OF_VARIABLES = tuple(kind.name for kind in _ROWS if kind.has_variable)
OF_TIMES = tuple(kind.name for kind in _ROWS if kind.needs == TIMES)
MEASURES = tuple(dict.fromkeys(kind.measure for kind in _ROWS if kind.measure))
"""What engines compute of groundings and their values."""


def offered_for(what: str) -> tuple[str, ...]:
    """The kinds of features that the default learner offers for a role or for numbers of several rows."""
    return tuple(name for name, kind in KINDS.items() if what in kind.offered)


def of_values(kind: str, numbers: Mapping[float, int]) -> float:
    """A feature of values, each of which is there a number of times; NaN if there are none."""
    return DEFINITIONS[KINDS[kind].measure](numbers) if numbers else math.nan


def _sum(numbers: Mapping[float, int]) -> float:
    return math.fsum(chain.from_iterable([value] * times for value, times in numbers.items()))


def _mean(numbers: Mapping[float, int]) -> float:
    return _sum(numbers) / sum(numbers.values())


def _spread(numbers: Mapping[float, int]) -> float:
    count = sum(numbers.values())
    scale = math.frexp(max(abs(value) for value in numbers))[1]
    least = min(numbers)
    above = [
        (math.ldexp(value, -scale) - math.ldexp(least, -scale), times) for value, times in numbers.items()
    ]
    first = math.fsum(value * times for value, times in above)
    second = math.fsum(value * value * times for value, times in above)
    return math.ldexp(math.sqrt(max(second - first * first / count, 0.0) / count), scale)


DEFINITIONS: Mapping[str, Callable[[Mapping[float, int]], float]] = {
    MINIMUM: min,
    MAXIMUM: max,
    MEAN: _mean,
    SUM: _sum,
    SPREAD: _spread,
}
"""Measures of the values of a variable, each of which is there a number of times, in plain Python."""
