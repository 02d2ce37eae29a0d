"""Tables as columns: for each column its distinct values, and for each row the position of its value.

Every source is read into this form, so that the same code infers keys, links and roles, and the same
data give the same facts from a file, a frame or a server. ``keys.key_text`` turns a value into text;
dates and moments become ISO text, and a missing value has no text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Notice
from hornbeam.data.keys import key_text
from hornbeam.data.names import number_names
from hornbeam.data.rows import fold, run_starts
from hornbeam.errors import DataError

MISSING = -1
"""The code of a row that has no value in a column."""
LARGEST_WHOLE = 2.0**53
"""Below this number every whole number is a float; from it on, several whole numbers share a float."""
_SHOWN = 3


class Domain(Enum):
    """What the values of a column are."""

    NUMBER = "number"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    MOMENT = "moment"


TIMES = (Domain.NUMBER, Domain.DATE, Domain.MOMENT)
"""Domains whose values may be times."""


class ColumnQuestions(Protocol):
    """The questions about a column that must be answered to infer keys, links and roles.

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
        """Whether the values are whole numbers, all of them 0 or 1."""

    @property
    def is_rounded(self) -> bool:
        """Whether some values are floats so large that several whole numbers share them: no exact keys."""

    @property
    def stays(self) -> bool:
        """Whether the values stay in their database."""

    @property
    def extent(self) -> tuple[int, int]:
        """The least and the greatest value, if the values are whole numbers."""

    def __len__(self) -> int: ...
    def first(self) -> list[str]:
        """The first few values, sorted, as text."""

    def n_from(self, time: float) -> int:
        """The number of rows with a number, or a date in microseconds since 1970, that is not below this."""

    def repeated(self) -> tuple[int, list[str]]:
        """The number of values that occur in more than one row, and the first few of them."""

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
    exact_below: float = field(default=LARGEST_WHOLE, kw_only=True)
    """the number from which on the source of floats cannot tell whole numbers apart"""
    n_words: int = field(default=0, kw_only=True)
    """the number of rows in which a word such as NA stands for a missing value"""

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

    def numbers(self) -> npt.NDArray[np.float64]:
        """The number in each row of a column of numbers or booleans; NaN where it is missing."""
        return np.append(self.values.astype(np.float64), np.nan)[self.codes]

    @cached_property
    def texts(self) -> Sequence[str]:
        """The text of each distinct value; of numbers it is made when it is read."""
        if self.domain is Domain.TEXT:
            texts: list[str] = self.values.tolist()
            return texts
        if self.domain is Domain.NUMBER:
            return number_names(self.values)
        return [key_text(value) for value in self.values.tolist()]

    @property
    def is_zero_one(self) -> bool:
        return self.is_whole and 0 < self.n_values <= 2 and set(self.values.tolist()) <= {0, 1}

    @property
    def is_rounded(self) -> bool:
        return self.values.dtype.kind == "f" and bool((np.abs(self.values) >= self.exact_below).any())

    @property
    def stays(self) -> bool:
        return False

    @property
    def extent(self) -> tuple[int, int]:
        return int(self.values[0]), int(self.values[-1])

    def times(self) -> npt.NDArray[np.float64]:
        """The number of each value, dates in microseconds since 1970."""
        values = self.values
        if self.domain in (Domain.DATE, Domain.MOMENT):
            values = values.astype("datetime64[us]").view(np.int64)
        return values.astype(np.float64)

    def first(self) -> list[str]:
        return list(self.texts[:_SHOWN])

    def n_from(self, time: float) -> int:
        return int(np.append(self.times() >= time, False)[self.codes].sum())

    def repeated(self) -> tuple[int, list[str]]:
        again = np.flatnonzero(np.bincount(self.codes[self.codes != MISSING], minlength=self.n_values) > 1)
        return len(again), [self.texts[code] for code in again[:_SHOWN]]

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


def joined_column(name: str, parts: Sequence[Column]) -> Column:
    """The column of several columns together: their texts, with a stroke between them.

    A stroke within a text is written %2F and a percent sign %25, so that rows that differ have texts that
    differ. ``sql.expressions.joined_text`` writes the same in SQL.
    """
    known = np.logical_and.reduce([column.codes != MISSING for column in parts])
    rows, _ = fold([column.codes[known] for column in parts], [column.n_values for column in parts])
    _, firsts, places = np.unique(rows, return_index=True, return_inverse=True)
    written = [
        [text.replace("%", "%25").replace(JOINT, "%2F") for text in _texts_to_join(column)]
        for column in parts
    ]
    chosen = [column.codes[known][firsts].tolist() for column in parts]
    texts = [JOINT.join(map(list.__getitem__, written, row)) for row in zip(*chosen, strict=True)]
    order = sorted(range(len(texts)), key=texts.__getitem__)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    codes = np.full(len(known), MISSING, dtype=np.int32)
    codes[known] = rank[places.ravel()]
    values = np.empty(len(texts), dtype=object)
    values[:] = [texts[place] for place in order]
    return Column(name, Domain.TEXT, values, codes)


JOINT = "/"
"""What stands between the texts of joined columns."""


def decimal_part(name: str) -> str:
    """Why a column cannot be joined."""
    return (
        f'column "{name}" holds decimal numbers, whose text differs between systems, so it cannot be joined; '
        "store whole numbers or text."
    )


def _texts_to_join(column: Column) -> Sequence[str]:
    """The text of each value, the same for a value in whatever column."""
    if column.domain is Domain.NUMBER and not column.is_whole and column.n_values:
        raise DataError(decimal_part(column.name))
    if column.domain is not Domain.MOMENT:
        return column.texts
    written = np.datetime_as_string(column.values.astype("datetime64[us]")).tolist()
    return [moment.replace("T", " ").replace(".000000", "").replace(" 00:00:00", "") for moment in written]


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
    in_schema: bool = False
    """whether the name of the table has its schema before a dot"""
    is_view: bool = False
    words: Mapping[str, int] | None = None
    """of a text file: for some columns the number of rows in which a word stands for a missing value"""


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
    in_schema: bool = False
    """whether the name has a schema before a dot"""
    unread: tuple[str, ...] = ()
    """columns that are not used because of the type of their values, each with this type"""
    omitted: bool = False
    """whether this is a view that nobody asked for: nothing of it is read"""

    joined: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """columns that are made of several others"""

    def with_joined(self, joined: Mapping[str, tuple[str, ...]]) -> Self:
        """The table with more columns, each made of several."""
        made = {name: joined_column(name, [self.columns[part] for part in joined[name]]) for name in joined}
        return replace(self, columns={**self.columns, **made}, joined={**self.joined, **joined})

    def without(self, names: Collection[str]) -> Self:
        """The table without some of its joined columns."""
        return replace(
            self,
            columns={name: column for name, column in self.columns.items() if name not in names},
            joined={name: parts for name, parts in self.joined.items() if name not in names},
        )

    def with_links_only_to(self, keys: Mapping[str, Column]) -> Self:
        """The table in which values of some columns are missing if they are no values of these keys."""
        only = {name: self.columns[name].only(key) for name, key in keys.items()}
        return replace(self, columns={**self.columns, **only})


def of_table(table: str, notice: Notice) -> Notice:
    """A notice about a column, with the name of its table."""
    return Notice(f'table "{table}": {notice.message}')


def unread_column(column: str, type_name: str) -> str:
    """A column that is not used because of the type of its values."""
    return f"{column} ({type_name})"


class Views(NamedTuple):
    """The views of a database that are read: all, or those that are named."""

    every: bool = True
    named: frozenset[str] = frozenset()

    def omitted(self, is_view: Mapping[str, bool]) -> set[str]:
        """The tables that are not read: views that nobody asked for, unless there is nothing but views."""
        if self.every or all(is_view.values()):
            return set()
        return {name for name, view in is_view.items() if view and name not in self.named}


EVERY_VIEW = Views()


def omitted_view(name: str) -> Table:
    """A view that is not read."""
    return Table(name, {}, 0, omitted=True)
