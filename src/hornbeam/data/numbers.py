"""Numeric types as arrays: values of constants, thresholds, and times of facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.names import MadeNames
from hornbeam.errors import DataError, ModelError
from hornbeam.logic.clauses import Value, format_value
from hornbeam.logic.schema import DATE, kind_of, number_of, read_value, value_of

Floats = npt.NDArray[np.float64]
"""Values of constants, or times: numbers, or microseconds since the start of 1970 (see ``schema``)."""
_PLAIN = frozenset("0123456789+-.eE")


def numbers_of(names: Sequence[str], kind: str, type_name: str) -> Floats:
    """The value that each name of a numeric type spells; a name that spells none is refused.

    >>> numbers_of(["35", "-0.5"], "number", "years").tolist()
    [35.0, -0.5]
    """
    made = names.numbers() if isinstance(names, MadeNames) else None
    if kind != DATE and made is not None:
        return made.astype(np.float64) + 0.0
    if kind != DATE and set("".join(names)) <= _PLAIN:
        # With these characters, Python's float accepts the same texts as read_value.
        try:
            plain = np.array([float(name) for name in names], dtype=np.float64)
            if np.isfinite(plain).all():
                return plain + 0.0
        except ValueError:
            pass
    return np.array([_number(name, kind, type_name) for name in names], dtype=np.float64)


def _number(name: str, kind: str, type_name: str) -> float:
    value = read_value(name)
    if value is None or kind_of(value) != kind:
        expected = "an ISO date such as 2001-12-31" if kind == DATE else "a number"
        raise DataError(
            f'"{name}" is a constant of the numeric type {type_name}, but is not {expected}; '
            "correct it, or do not declare the type numeric."
        )
    return number_of(value)


def quantiles(values: Floats, number: int, kind: str) -> tuple[Value, ...]:
    """At most ``number`` thresholds, each one of the values, that cut them into groups of about equal size.

    ``X >= threshold`` and ``X < threshold`` are each true for some value. A value frequent enough to fill a
    group alone does not take thresholds away from the others. If there are few values, there is a threshold
    between any two.

    >>> quantiles(np.array([1.0, 2.0, 2.0, 3.0]), 16, "number")
    (2.0, 3.0)
    >>> quantiles(np.array([0.0] * 90 + [1.0, 2.0, 3.0, 4.0]), 2, "number")
    (1.0, 3.0)
    """
    distinct, counts = np.unique(values, return_counts=True)
    return weighted_quantiles(distinct, counts, number, kind)


def weighted_quantiles(
    distinct: Floats, counts: npt.NDArray[np.intp], number: int, kind: str
) -> tuple[Value, ...]:
    """``quantiles`` of values that are given as distinct values in rising order, and the count of each."""
    if len(distinct) <= number + 1:
        return tuple(value_of(each, kind) for each in distinct[1:].tolist())
    upto = np.cumsum(counts)
    total, done = int(upto[-1]), 0
    thresholds: list[Value] = []
    for groups in range(number + 1, 1, -1):
        # Divide the remaining rows equally among the remaining groups; a frequent value fills a group alone.
        wanted = done - (done - total) // groups
        place = min(int(np.searchsorted(upto, wanted)), len(distinct) - 2)
        if int(upto[place]) <= done:
            break
        done = int(upto[place])
        thresholds.append(value_of(float(distinct[place + 1]), kind))
    return tuple(thresholds)


def times_of(values: Sequence[float] | Floats, what: str) -> Floats:
    """Times as an array; minus infinity means "always", and NaN is refused."""
    times = np.asarray(values, dtype=np.float64)
    if np.isnan(times).any():
        raise DataError(f"a time of {what} is not a number; give a number, or -inf for the earliest time.")
    return times


def moments_of(times: Mapping[str, Floats]) -> Floats:
    """The distinct times among those of several predicates, sorted."""
    # np.unique imports masked arrays, which takes 20 ms; most data have no times.
    return np.unique(np.concatenate([*times.values()])) if times else np.empty(0)


class TimeColumn(NamedTuple):
    """A column that has times of rows: of the table itself, or of another one that its links lead to."""

    column: str
    links: tuple[tuple[str, Any, str], ...] = ()
    """for each link on the way its column, the table that it leads to, and the key of that table"""


BEFORE, INCLUDE = "before", "include"
AT_CUTOFF = (BEFORE, INCLUDE)
"""Whether a fact at the very time of a cut-off exists: it does not (it must be before), or it does."""


@dataclass(frozen=True, slots=True)
class CutoffRule:
    """Which facts exist for an example with a cut-off. This is the only place that says it.

    A fact exists if its time is before the cut-off or, with ``include``, at the cut-off. ``as_of`` is the
    frozen protocol: it replaces every later cut-off. An infinite cut-off admits every fact, even one
    without a time. A fact at minus infinity always exists.

    >>> CutoffRule().last_times(np.array([3.0, np.inf])).tolist()
    [2.9999999999999996, inf]
    >>> CutoffRule("include", as_of=2.0).last_times(np.array([1.0, 3.0])).tolist()
    [1.0, 2.0]
    """

    at_cutoff: str = BEFORE
    as_of: float = np.inf

    def last_times(self, cutoffs: Floats) -> Floats:
        """For each cut-off, the last time that a fact may have to exist."""
        last = np.minimum(cutoffs, self.as_of)
        if self.at_cutoff == INCLUDE:
            return last
        return np.where(np.isfinite(last), np.nextafter(last, -np.inf), last)

    def cutoffs(self, last: Floats) -> Floats:
        """The cut-offs for which ``last_times`` gives these last times."""
        if self.at_cutoff == INCLUDE:
            return last
        return np.where(np.isfinite(last), np.nextafter(last, np.inf), last)

    @classmethod
    def of_settings(cls, settings: Mapping[str, object]) -> CutoffRule:
        """The rule that a model was learned with. Models without this setting are from before it was one."""
        at_cutoff = settings.get("at_cutoff", INCLUDE)
        if at_cutoff not in AT_CUTOFF:
            raise ModelError(f"its setting at_cutoff is {at_cutoff!r}; it must be {' or '.join(AT_CUTOFF)}.")
        return cls(str(at_cutoff))

    @property
    def is_frozen(self) -> bool:
        """Whether there is a time that no example sees beyond."""
        return bool(np.isfinite(self.as_of))


STRICT = CutoffRule()
"""The rule of the data that state no other: facts before the cut-off exist."""


def time_text(time: float) -> str:
    """A time as text that reads back as the same time.

    >>> time_text(3.0), time_text(float("inf"))
    ('3', 'inf')
    """
    return format_value(time) if np.isfinite(time) else repr(time)


def read_times(texts: Sequence[str]) -> Floats:
    """Cut-offs from text: numbers, ISO dates, or ``inf`` for none. A date without a zone is in UTC.

    >>> read_times(["3", "1970-01-02", "1970-01-01T19:00-05:00", "inf"]).tolist()
    [3.0, 86400000000.0, 86400000000.0, inf]
    """
    return np.array([_time(text) for text in texts], dtype=np.float64)


def _time(text: str) -> float:
    if text in ("inf", "-inf"):
        return float(text)
    value = read_value(text)
    if value is None:
        value = _zoned(text)
    if value is None:
        raise DataError(f'"{text}" is not a cut-off; give a number, an ISO date such as 2001-12-31, or inf.')
    return number_of(value)


def _zoned(text: str) -> datetime | None:
    """The moment in UTC that a text with a zone spells, such as 2001-12-31T12:00-05:00."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
