"""Labels in words, such as ``no orders within 90d`` and ``count(orders) within 30d >= 3``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from hornbeam.data.numbers import Floats
from hornbeam.errors import OptionError

DAY = 86_400_000_000.0
"""A day, in the unit of times that are dates: microseconds."""
UNITS = {"h": DAY / 24, "d": DAY, "w": 7 * DAY}
COUNT, NONE, SOME = "count", "no", "any"
SUM, MEAN, LEAST, MOST = "sum", "mean", "min", "max"
COMPARISONS: Mapping[str, Callable[[Floats, float], Floats]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "=": operator.eq,
}  # fmt: skip
_LABEL = re.compile(
    r"""\s* (?: (?P<no>no\s+|any\s+)? (?P<name>[^\s().]+) (?:\.(?P<date>[^\s().]+))?
          | (?P<measure>count|sum|mean|min|max)
            \( \s* (?P<table>[^\s().]+) (?:\.(?P<column>[^\s().]+))? \s* \) )
        \s+ within \s+ (?P<length>[0-9.]+[a-z]?)
        (?: \s* (?P<compare>>=|<=|>|<|=) \s* (?P<bound>-?[0-9.]+(?:e-?[0-9]+)?) )? \s*""",
    re.VERBOSE | re.IGNORECASE,
)
_FORMS = (
    '"no orders within 90d", "any orders within 30d", "count(orders) within 30d >= 3", '
    '"sum(orders.amount) within 90d" or, with a date of the things, "customers.left within 90d"'
)


class Label(NamedTuple):
    """What is asked of the time after a cut-off."""

    text: str
    measure: str
    table: str
    """the table whose rows are counted, or the things that have the date"""
    column: str | None
    """the column that is measured, or the date"""
    length: str
    compare: str | None = None
    bound: float = 0.0

    @property
    def is_date(self) -> bool:
        """Whether a date of the things themselves says when it happened."""
        return self.measure == SOME and self.column is not None

    @property
    def is_number(self) -> bool:
        """Whether the label is a number, not yes or no."""
        return self.compare is None and self.measure not in (NONE, SOME)

    def of(self, values: Floats) -> Floats:
        """The label from what was measured: 1 or 0, or the number; NaN if it is missing."""
        if self.measure == NONE:
            return np.asarray(values == 0, dtype=np.float64)
        if self.measure == SOME:
            return np.asarray(values > 0, dtype=np.float64)
        if self.compare is None:
            return values
        holds: Floats = np.where(np.isnan(values), np.nan, COMPARISONS[self.compare](values, self.bound))
        return holds


def read_label(text: str) -> Label:
    """The label that a text asks for.

    >>> read_label("no orders within 90d")[1:5]
    ('no', 'orders', None, '90d')
    >>> read_label("sum(orders.amount) within 4w > 100").compare
    '>'
    """
    match = _LABEL.fullmatch(text)
    if match is None:
        raise OptionError(f'the label "{text}" is refused: it must be of the form {_FORMS}.')
    compare = match["compare"]
    bound = float(match["bound"]) if compare else 0.0
    if match["measure"] is None:
        measure = (match["no"] or SOME).strip().lower()
        if compare or (match["date"] and measure == NONE):
            raise OptionError(
                f'the label "{text}" is refused: it is yes or no already; the forms are {_FORMS}.'
            )
        return Label(text, measure, match["name"], match["date"], match["length"])
    measure = match["measure"].lower()
    if (match["column"] is None) != (measure == COUNT):
        needs = "a table alone" if measure == COUNT else "a table and a column, such as orders.amount"
        raise OptionError(f'the label "{text}" is refused: {measure} needs {needs}.')
    return Label(text, measure, match["table"], match["column"], match["length"], compare, bound)


def read_length(text: str, dated: bool, what: str) -> float:
    """A length of time in the unit of the times: ``90d``, ``4w``, ``12h``; or a number if times are numbers.

    >>> read_length("2d", True, "every") / DAY
    2.0
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([hdw]?)", text.strip().lower())
    length = float(match[1]) * (UNITS[match[2]] if match[2] else 1.0) if match else 0.0
    if match is None or bool(match[2]) != dated or length <= 0:
        form = "hours, days or weeks, such as 90d" if dated else "a number above 0, as times are numbers"
        raise OptionError(f"{what} {text} is refused: it must be {form}.")
    return length
