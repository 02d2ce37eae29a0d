"""Numeric types as arrays: the values of constants, thresholds between them, and times of facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from hornbeam.errors import DataError
from hornbeam.logic.clauses import Value
from hornbeam.logic.schema import DATE, kind_of, number_of, read_value, value_of
from hornbeam.logic.text import format_value

Floats = npt.NDArray[np.float64]
"""Values of constants, or times: numbers, or microseconds since the start of 1970 (see ``schema``)."""
_PLAIN = frozenset("0123456789+-.eE")


def numbers_of(names: Sequence[str], kind: str, type_name: str) -> Floats:
    """The value that each name of a numeric type spells; one that spells none is refused.

    >>> numbers_of(["35", "-0.5"], "number", "years").tolist()
    [35.0, -0.5]
    """
    if kind != DATE and set("".join(names)) <= _PLAIN:
        # No letter but e, no space, no underscore: what Python reads as a float is then what we do.
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
    """Thresholds that cut values into parts of about equal size: at most so many, each a value seen.

    ``X >= threshold`` and ``X < threshold`` are both true of some value. A value so frequent that it
    fills a part alone does not take thresholds away from the others; values that are few are all cut.

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
    """``quantiles`` of values that are given once each, rising, with how often each stands there."""
    if len(distinct) <= number + 1:
        return tuple(value_of(each, kind) for each in distinct[1:].tolist())
    upto = np.cumsum(counts)
    total, done = int(upto[-1]), 0
    found: list[Value] = []
    for parts in range(number + 1, 1, -1):
        # The rest in equal parts: a heavy value makes one, and the others share what remains.
        wanted = done - (done - total) // parts
        place = min(int(np.searchsorted(upto, wanted)), len(distinct) - 2)
        if int(upto[place]) <= done:
            break
        done = int(upto[place])
        found.append(value_of(float(distinct[place + 1]), kind))
    return tuple(found)


def times_of(values: Sequence[float] | Floats, what: str) -> Floats:
    """Times as an array; minus infinity is "always", and no number is refused."""
    times = np.asarray(values, dtype=np.float64)
    if np.isnan(times).any():
        raise DataError(f"a time of {what} is not a number; give -inf for one that has always been.")
    return times


def moments_of(times: Mapping[str, Floats]) -> Floats:
    """The distinct times among those of several predicates, sorted."""
    # NumPy's unique imports masked arrays: 20 ms that most data have no use for.
    return np.unique(np.concatenate([*times.values()])) if times else np.empty(0)


def time_text(time: float) -> str:
    """A time as text that reads back.

    >>> time_text(3.0), time_text(float("inf"))
    ('3', 'inf')
    """
    return format_value(time) if np.isfinite(time) else repr(time)


def read_times(texts: Sequence[str]) -> Floats:
    """Cut-offs from text: numbers, ISO dates, or ``inf`` for none.

    >>> read_times(["3", "1970-01-02", "inf"]).tolist()
    [3.0, 86400000000.0, inf]
    """
    return np.array([_time(text) for text in texts], dtype=np.float64)


def _time(text: str) -> float:
    if text in ("inf", "-inf"):
        return float(text)
    value = read_value(text)
    if value is None:
        raise DataError(f'"{text}" is no cut-off: give a number, an ISO date such as 2001-12-31, or inf.')
    return number_of(value)
