"""Columns from the values that a source gives: numbers, booleans, dates, moments, text, or any values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Notice
from hornbeam.data.keys import key_text
from hornbeam.data.rows import taken
from hornbeam.errors import DataError
from hornbeam.loading.tables.columns.column import LARGEST_WHOLE, MISSING, Column, Domain

_LONGEST = 60
"""Maximum number of characters of a value in a sentence."""


def number_column(
    name: str, values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None
) -> Column:
    """A column of numbers. NaN is missing; floats become integers if all of them are whole and exact.

    >>> column = number_column("age", np.array([2.0, np.nan, 1.0]))
    >>> column.values.tolist(), column.codes.tolist(), list(column.texts)
    ([1, 2], [1, -1, 0], ['1', '2'])
    """
    exact_below = LARGEST_WHOLE
    if values.dtype.kind == "f":
        exact_below = min(LARGEST_WHOLE, 2.0 ** (np.finfo(values.dtype).nmant + 1))
        if values.dtype != np.float64:
            # Through its shortest text: the 32-bit float 0.1 becomes 0.1, not 0.10000000149011612.
            distinct, places = np.unique(values, return_inverse=True)
            values = np.array([float(str(value)) for value in distinct], dtype=np.float64)[places.ravel()]
        absent = np.isnan(values)
        missing = absent if missing is None else missing | absent
        present = values[~missing] if missing.any() else values
        if np.isinf([present.min(initial=0.0), present.max(initial=0.0)]).any():
            raise DataError(
                f'column "{name}" holds infinity, which is not allowed; replace it or leave it empty.'
            )
        if all(_are_whole(present[part], exact_below) for part in _blocks(len(present))):
            values = np.where(missing, 0.0, values).astype(np.int64)
    elif values.dtype == np.uint64:
        if len(values) and int(values.max()) >= 2**63:
            return value_column(name, values.tolist())[0]
        values = values.astype(np.int64)
    return replace(_coded(name, Domain.NUMBER, values, missing), exact_below=exact_below)


def boolean_column(
    name: str, values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None
) -> Column:
    """A column of true and false."""
    column = _coded(name, Domain.BOOLEAN, values.astype(np.int64), missing)
    return Column(name, Domain.BOOLEAN, column.values.astype(bool), column.codes)


def moment_column(name: str, values: npt.NDArray[Any]) -> Column:
    """A column of dates or moments (``datetime64``). NaT is missing. If all are at midnight, they are dates.

    >>> moment_column("day", np.array(["2024-02-01T00:00", "NaT"], dtype="datetime64[ns]")).texts
    ['2024-02-01']
    """
    missing = np.isnat(values)
    whole = values.astype("datetime64[us]").view(np.int64)
    column = _coded(name, Domain.MOMENT, whole, missing)
    moments = column.values.view("datetime64[us]")
    days = moments.astype("datetime64[D]")
    if (days == moments).all():
        return Column(name, Domain.DATE, days, column.codes)
    return Column(name, Domain.MOMENT, moments, column.codes)


def text_column(name: str, words: Iterable[str | None]) -> Column:
    """A column of text; None and empty text are missing.

    >>> text_column("city", ["Rome", "", None, "Bonn", "Rome"]).codes.tolist()
    [1, -1, -1, 0, 1]
    """
    words = list(words)
    values = sorted(cast("set[str]", set(words) - {None, ""}))
    places: dict[str | None, int] = dict(zip(values, range(len(values)), strict=True))
    places[None] = places[""] = MISSING
    codes = np.fromiter(map(places.__getitem__, words), dtype=np.int32, count=len(words))
    return Column(name, Domain.TEXT, _objects(values), codes)


def coded_text(name: str, words: Sequence[str], codes: npt.NDArray[Any]) -> Column:
    """A column of text from distinct words, none of them empty, and their codes."""
    order = sorted(range(len(words)), key=words.__getitem__)
    places = np.full(len(words) + 1, MISSING, dtype=np.int32)
    places[order] = np.arange(len(words), dtype=np.int32)
    return Column(name, Domain.TEXT, _objects([words[position] for position in order]), taken(places, codes))


def _objects(words: list[str]) -> npt.NDArray[Any]:
    values = np.empty(len(words), dtype=object)
    values[:] = words
    return values


def value_column(name: str, values: Sequence[object]) -> tuple[Column, Notice | None]:
    """A column of Python values of any type, and a notice if they are of several types.

    Numbers and text together become text by one rule, so that 1 and "1" are the same value.
    """
    kinds = {type(value) for value in values}
    kinds.discard(type(None))
    if all(issubclass(kind, str) for kind in kinds):
        return text_column(name, values), None  # type: ignore[arg-type]
    blank = [_is_blank(value) for value in values]
    present = [value for value, skip in zip(values, blank, strict=True) if not skip]
    missing = np.array(blank, dtype=bool)
    kinds = {type(value) for value in present}
    if all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return boolean_column(name, _spread(present, missing, bool), missing), None
    if all(issubclass(kind, date) for kind in kinds):
        return moment_column(name, _moments(present, missing)), None
    numbers = [_number(value) for value in present]
    whole = all(isinstance(number, int) for number in numbers)
    if all(number is not None and (whole or not _loses_digits(number)) for number in numbers):
        return number_column(
            name, _spread(numbers, missing, np.int64 if whole else np.float64), missing
        ), None
    words = iter([key_text(value) for value in present])
    column = text_column(name, [None if skip else next(words) for skip in blank])
    names = {kind.__name__: value for kind, value in reversed([(type(value), value) for value in present])}
    if len(names) == 1 or set(names) == {"int", "Decimal"}:
        return column, None
    shown = " and ".join(f"{kind} (first: {value!r})" for kind, value in sorted(names.items()))
    return column, Notice(f'column "{name}" mixes {shown}, so all of its values are read as text.')


def _is_blank(value: object) -> bool:
    if value is None or (isinstance(value, str) and not value):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _number(value: object) -> int | float | None:
    """The value as a number: whole numbers that int64 holds, and the nearest float of others; else None."""
    if isinstance(value, bool | np.bool_ | str | date):
        return None
    if isinstance(value, float):
        return value
    try:
        text = key_text(value)
    except DataError:
        raise DataError(
            f"{repr(value)[:_LONGEST]} ({type(value).__name__}) is not a value that a column can hold."
        ) from None
    if re.fullmatch(r"-?\d+", text):
        whole = int(text)
        return whole if -(2**63) <= whole < 2**63 else None
    if re.fullmatch(r"-?\d+\.\d+", text) and key_text(float(text)) == text:
        return float(text)
    return float(value) if isinstance(value, np.floating | Decimal | Fraction) else None


def _loses_digits(number: int | float) -> bool:
    """Whether a whole number may become another one as a float."""
    return isinstance(number, int) and abs(number) >= LARGEST_WHOLE


def _spread(present: Sequence[Any], missing: npt.NDArray[np.bool_], dtype: Any) -> npt.NDArray[Any]:
    values = np.zeros(len(missing), dtype=dtype)
    values[~missing] = present
    return values


def _moments(present: Sequence[Any], missing: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    values = np.full(len(missing), np.datetime64("NaT"), dtype="datetime64[us]")
    values[~missing] = [np.datetime64(_in_utc(value), "us") for value in present]
    return values


def _in_utc(value: date) -> date:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return (value - value.utcoffset()).replace(tzinfo=None)  # type: ignore[operator]
    return value


def _coded(
    name: str, domain: Domain, values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None
) -> Column:
    """Distinct values, sorted, and codes."""
    if missing is None or not missing.any():
        return Column(name, domain, *_distinct(values))
    distinct, present = _distinct(values[~missing])
    codes = np.full(len(values), MISSING, dtype=np.int32)
    codes[~missing] = present
    return Column(name, domain, distinct, codes)


def _are_whole(values: npt.NDArray[np.float64], below: float) -> bool:
    return bool(((np.abs(values) < below) & (values == np.floor(values))).all())


_BLOCK = 1 << 20
"""Values that are handled together: copies of all values of a long column would be large."""
_SCALES = (10.0, 100.0, 1000.0, 10_000.0)
_TRIED = 1000
"""values that are tried before all are"""


def _distinct(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Codes]:
    """The distinct values, sorted, and the place of each value among them."""
    if values.dtype.kind in "iu" and len(values):
        counted = _by_counting(values.astype(np.int64, copy=False))
        if counted is not None:
            return counted
    elif values.dtype == np.float64 and len(values):
        for scale in _SCALES:
            whole = _multiples(values, scale)
            counted = None if whole is None else _by_counting(whole)
            if counted is not None:
                return counted[0] / scale, counted[1]
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    fresh = np.ones(len(values), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    codes = np.empty(len(values), dtype=np.int32)
    codes[order] = np.cumsum(fresh) - 1
    distinct = ordered[fresh]
    return distinct.astype(np.int64) if distinct.dtype.kind in "iu" else distinct, codes


def _by_counting(values: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], Codes] | None:
    """``_distinct`` of whole numbers that are dense, as keys mostly are: those that occur are marked.

    Days in microseconds are dense in steps of a day. None if too few of the numbers between the least and the
    largest occur: then sorting is faster.
    """
    least, most = int(values.min()), int(values.max())
    enough = min(max(4 * len(values), 1 << 20), 2**31 - 1)
    step = 1
    if most - least >= enough:
        step = int(np.gcd.reduce(values[:_TRIED] - least)) if most - least < 2**62 else 1
        if step < 2 or (most - least) // step >= enough:
            return None
    seen = np.zeros((most - least) // step + 1, dtype=bool)
    codes = np.empty(len(values), dtype=np.int32)
    for part in _blocks(len(values)):
        offsets = values[part] - least
        if step > 1:
            offsets, rest = np.divmod(offsets, step)
            if rest.any():
                return None
        seen[offsets] = True
        codes[part] = offsets
    if seen.all():
        return np.arange(len(seen)) * step + least, codes
    places = np.cumsum(seen, dtype=np.int32)
    places -= 1
    for part in _blocks(len(values)):
        codes[part] = places[codes[part]]
    return np.flatnonzero(seen) * step + least, codes


def _multiples(values: npt.NDArray[np.float64], scale: float) -> npt.NDArray[np.int64] | None:
    """The whole numbers that give the values if divided by the scale, as cents do; None if there are none."""
    whole = np.empty(len(values), dtype=np.int64)
    for part in (slice(_TRIED), *_blocks(len(values))):
        multiples = np.rint(values[part] * scale)
        # Neither NaN nor a number too large for exact cents passes.
        if not ((multiples / scale == values[part]) & (np.abs(multiples) < LARGEST_WHOLE)).all():
            return None
        whole[part] = multiples
    return whole


def _blocks(length: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, length, _BLOCK))
