"""Tables as columns: for each column its distinct values, and for each row the position of its value.

Every source is read into this form, so that the same code infers keys, links and roles, and the same
data give the same facts from a file, a frame or a server. ``keys.key_text`` turns a value into text;
dates and moments become ISO text, and a missing value has no text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self, cast

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Notice
from hornbeam.data.keys import key_text
from hornbeam.data.rows import fold, run_starts
from hornbeam.errors import DataError

MISSING = -1
"""The code of a row that has no value in a column."""
_SHOWN = 3
_LARGEST_WHOLE = 2.0**53
"""up to here every whole number is a float of its own"""


class Domain(Enum):
    """What the values of a column are."""

    NUMBER = "number"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    MOMENT = "moment"


class ColumnQuestions(Protocol):
    """What inferring keys, links and roles asks of a column, whether its values were read or not.

    ``Column`` answers from values in memory; a column that stays in its database asks the database.
    """

    @property
    def name(self) -> str: ...
    @property
    def domain(self) -> Domain: ...
    @property
    def n_values(self) -> int:
        """The number of distinct values."""

    @property
    def n_missing(self) -> int:
        """The number of rows without a value."""

    @property
    def is_unique(self) -> bool:
        """Whether no two rows have the same value; rows without a value are not compared."""

    @property
    def is_whole(self) -> bool:
        """Whether the values are whole numbers."""

    @property
    def is_zero_one(self) -> bool:
        """Whether the values are whole numbers, and no other than 0 and 1."""

    @property
    def stays(self) -> bool:
        """Whether the values stay in their database."""

    @property
    def extent(self) -> tuple[int, int]:
        """The least and the greatest value, of whole numbers."""

    def __len__(self) -> int: ...
    def repeated(self) -> tuple[int, list[str]]:
        """The number of values that occur in more than one row, and the first few of them."""

    def n_shared(self, key: Self, /) -> int:
        """The number of values that are also values of a key."""

    def lost(self, key: Self, /) -> tuple[int, int, list[str]]:
        """Values that are not values of a key: their number, their number of rows, the first few of them."""

    def only(self, key: Self, /) -> Self:
        """The column without the values that are not values of a key."""

    def rows_differ(self, others: Sequence[Self], /) -> bool:
        """Whether no two rows agree in this and the other columns; rows that lack a value are left out."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column in memory: its distinct values, sorted, and for each row the position of its value.

    Values are int64 or float64 for numbers, False and True for booleans, ``datetime64[D]`` for dates,
    ``datetime64[us]`` in UTC for moments, and text as objects.
    """

    name: str
    domain: Domain
    values: npt.NDArray[Any]
    codes: Codes
    """``MISSING`` where the row has no value"""

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def n_missing(self) -> int:
        return int(np.count_nonzero(self.codes == MISSING))

    @property
    def n_values(self) -> int:
        return len(self.values)

    @property
    def is_unique(self) -> bool:
        return len(self.values) == len(self.codes) - self.n_missing

    @property
    def is_whole(self) -> bool:
        return self.domain is Domain.NUMBER and self.values.dtype.kind == "i"

    @cached_property
    def texts(self) -> list[str]:
        """The text of each distinct value."""
        if self.domain is Domain.TEXT:
            texts: list[str] = self.values.tolist()
            return texts
        if self.is_whole:
            return list(map(str, self.values.tolist()))
        return [key_text(value) for value in self.values.tolist()]

    @property
    def is_zero_one(self) -> bool:
        return self.is_whole and 0 < self.n_values <= 2 and set(self.values.tolist()) <= {0, 1}

    @property
    def stays(self) -> bool:
        return False

    @property
    def extent(self) -> tuple[int, int]:
        return int(self.values[0]), int(self.values[-1])

    def repeated(self) -> tuple[int, list[str]]:
        again = np.flatnonzero(np.bincount(self.codes[self.codes != MISSING], minlength=self.n_values) > 1)
        return len(again), [self.texts[code] for code in again[:_SHOWN]]

    def n_shared(self, key: Column) -> int:
        if self.domain is not key.domain:
            # The same keys may be numbers in one table and text in the other.
            return len(set(self.texts).intersection(key.texts))
        return len(np.intersect1d(self.values, key.values, assume_unique=True))

    def lost(self, key: Column) -> tuple[int, int, list[str]]:
        lost = np.flatnonzero(places_in(self, key) == MISSING)
        rows = int(np.isin(self.codes, lost).sum()) if len(lost) else 0
        return len(lost), rows, [self.texts[code] for code in lost[:_SHOWN]]

    def only(self, key: Column) -> Column:
        known = (self.codes != MISSING) & (places_in(self, key)[self.codes] != MISSING)
        return replace(self, codes=np.where(known, self.codes, MISSING).astype(np.int32))

    def rows_differ(self, others: Sequence[Column]) -> bool:
        columns = (self, *others)
        complete = np.logical_and.reduce([column.codes != MISSING for column in columns])
        codes = [column.codes[complete] for column in columns]
        rows, _ = fold(codes, [column.n_values for column in columns])
        rows.sort()
        return len(run_starts(rows)) == len(rows)


def places_in(column: Column, key: Column) -> Codes:
    """For each value of a column its position among the values of a key, or ``MISSING``."""
    values, known = column.values, key.values
    if column.domain is not key.domain:
        places = {text: place for place, text in enumerate(key.texts)}
        return np.array([places.get(text, MISSING) for text in column.texts], dtype=np.int32)
    if not len(known):
        return np.full(len(values), MISSING, dtype=np.int32)
    positions = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[positions] == values, positions, MISSING).astype(np.int32)


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A foreign key as a catalogue states it: columns, and the table and columns that they refer to."""

    columns: tuple[str, ...]
    table: str
    references: tuple[str, ...]


class Catalogued(NamedTuple):
    """A table in a catalogue: its schema and name there, and its keys."""

    path: tuple[str, ...]
    key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()


@dataclass(frozen=True, eq=False)
class Table:
    """A table, and what its source states about it."""

    name: str
    columns: Mapping[str, Column]
    size: int
    key: tuple[str, ...] = ()
    """the primary key that a catalogue states"""
    foreign_keys: tuple[ForeignKey, ...] = ()
    notices: tuple[Notice, ...] = field(default=())


def of_table(table: str, notice: Notice) -> Notice:
    """A notice about a column, with the name of its table."""
    return Notice(f'table "{table}": {notice.message}')


def unreadable_type(column: str, type_name: str) -> Notice:
    """The notice about a column that is left out because of the type of its values."""
    return Notice(f'column "{column}" is not used: values of the type {type_name} cannot be read.')


# --- making columns --------------------------------------------------------------------------


def number_column(
    name: str, values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None
) -> Column:
    """A column of numbers. NaN is missing; floats become integers if all of them are whole.

    >>> column = number_column("age", np.array([2.0, np.nan, 1.0]))
    >>> column.values.tolist(), column.codes.tolist(), column.texts
    ([1, 2], [1, -1, 0], ['1', '2'])
    """
    if values.dtype.kind == "f":
        if values.dtype != np.float64:
            # Through its shortest text: the 32-bit float 0.1 becomes 0.1, not 0.10000000149011612.
            distinct, places = np.unique(values, return_inverse=True)
            values = np.array([float(str(value)) for value in distinct], dtype=np.float64)[places.ravel()]
        absent = np.isnan(values)
        missing = absent if missing is None else missing | absent
        present = values[~missing] if missing.any() else values
        if np.isinf(present).any():
            raise DataError(
                f'column "{name}" holds infinity, which is not allowed; replace it or leave it empty.'
            )
        if (np.abs(present) <= _LARGEST_WHOLE).all() and (present == np.floor(present)).all():
            values = np.where(missing, 0.0, values).astype(np.int64)
    elif values.dtype == np.uint64:
        if len(values) and int(values.max()) >= 2**63:
            return value_column(name, values.tolist())[0]
        values = values.astype(np.int64)
    return _coded(name, Domain.NUMBER, values, missing)


def boolean_column(
    name: str, values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None
) -> Column:
    """A column of true and false."""
    column = _coded(name, Domain.BOOLEAN, values.astype(np.int64), missing)
    return Column(name, Domain.BOOLEAN, column.values.astype(bool), column.codes)


def moment_column(name: str, values: npt.NDArray[Any]) -> Column:
    """A column of dates or moments (``datetime64``). NaT is missing; dates are moments all at midnight.

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
    return Column(name, Domain.TEXT, _objects([words[position] for position in order]), places[codes])


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
    if all(number is not None for number in numbers):
        whole = all(isinstance(number, int) for number in numbers)
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
    """The value as a number that int64 or float64 holds exactly; None for anything else."""
    if isinstance(value, bool | np.bool_ | str | date):
        return None
    if isinstance(value, float):
        return value
    try:
        text = key_text(value)
    except DataError:
        raise DataError(
            f"{value!r} ({type(value).__name__}) is not a value that a column can hold."
        ) from None
    if re.fullmatch(r"-?\d+", text):
        whole = int(text)
        return whole if -(2**63) <= whole < 2**63 else None
    if re.fullmatch(r"-?\d+\.\d+", text) and key_text(float(text)) == text:
        return float(text)
    return float(value) if isinstance(value, np.floating) else None


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


def _distinct(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Codes]:
    if values.dtype.kind in "iu" and len(values):
        least, most = int(values.min()), int(values.max())
        if most - least < max(4 * len(values), 1 << 20):
            # Keys are mostly dense: marking those that occur is faster than sorting.
            seen = np.zeros(most - least + 1, dtype=bool)
            offsets = values.astype(np.int64) - least
            seen[offsets] = True
            places = (np.cumsum(seen) - 1).astype(np.int32)
            return np.flatnonzero(seen) + least, places[offsets]
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    fresh = np.ones(len(values), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    codes = np.empty(len(values), dtype=np.int32)
    codes[order] = np.cumsum(fresh) - 1
    distinct = ordered[fresh]
    return distinct.astype(np.int64) if distinct.dtype.kind in "iu" else distinct, codes
