"""What a database is made of: constants coded per type, facts in columns of codes, examples.

Codes are an implementation detail: no count, score or model depends on their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from hornbeam.data.numbers import Floats
from hornbeam.errors import Place

Codes = npt.NDArray[np.int32]
UNKNOWN = -1
"""The code of a constant that the database does not have."""
UNLABELLED = -1
"""The label of an example that is to be predicted and whose label nobody knows."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something accepted, and said once: what was ignored, merged or empty."""

    message: str
    place: Place | None = None

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


@dataclass(frozen=True, slots=True)
class Numbered(Sequence[str]):
    """The names p0, p1, ...; each is made when asked for, so that a million of them cost nothing.

    >>> names = Numbered("p", 1_000_000)
    >>> len(names), names[3], names[-1], names.index("p17"), "p1000000" in names
    (1000000, 'p3', 'p999999', 17, False)
    >>> list(Numbered("", 3, first=1))
    ['1', '2', '3']
    """

    prefix: str
    size: int
    first: int = 0

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [f"{self.prefix}{number}" for number in self._numbers()[index]]
        return f"{self.prefix}{self._numbers()[index]}"

    def __iter__(self) -> Iterator[str]:
        return (f"{self.prefix}{number}" for number in self._numbers())

    def __contains__(self, name: object) -> bool:
        digits = name[len(self.prefix) :] if isinstance(name, str) else ""
        return digits.isdecimal() and int(digits) in self._numbers() and f"{self.prefix}{int(digits)}" == name

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        if value in self:
            place = int(value[len(self.prefix) :]) - self.first
            if place in range(self.size)[start:stop]:
                return place
        raise ValueError(f"{value!r} is not one of these {self.size} names")

    def _numbers(self) -> range:
        return range(self.first, self.first + self.size)


@dataclass(frozen=True, eq=False)
class Population:
    """The constants of a type; a constant's code is its position in ``names``."""

    names: Sequence[str]

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {name: code for code, name in enumerate(self.names)}

    def code(self, name: str) -> int:
        """The code of a constant, ``UNKNOWN`` for one that is not in the population."""
        if isinstance(self.names, Numbered):
            return self.names.index(name) if name in self.names else UNKNOWN
        return self._codes.get(name, UNKNOWN)

    def encode(self, names: Iterable[str]) -> Codes:
        """Codes of many names, ``UNKNOWN`` for those not in the population."""
        codes = self._codes
        return np.array([codes.get(name, UNKNOWN) for name in names], dtype=np.int32)

    def decode(self, codes: Codes) -> list[str]:
        names = self.names
        return [names[code] for code in codes.tolist()]


@dataclass(frozen=True, eq=False)
class Relation:
    """The facts of one predicate: equally long columns of codes, rows sorted and distinct."""

    columns: tuple[Codes, ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    @classmethod
    def of(cls, columns: Sequence[npt.NDArray[Any]], sizes: Sequence[int]) -> Relation:
        """Rows in any order, with duplicates, whose column i has codes below ``sizes[i]``."""
        if len(columns[0]) == 0:
            return cls(tuple(np.empty(0, dtype=np.int32) for _ in columns))
        if product_of(sizes) < 2**63:
            # One integer per row: sorting and removing duplicates is then a sort of numbers.
            return cls(_columns_of(_sorted_distinct(row_keys(columns, sizes)), sizes))
        rows = np.unique(np.stack(columns, axis=1), axis=0)
        return cls(tuple(np.ascontiguousarray(rows[:, i], dtype=np.int32) for i in range(len(columns))))

    @classmethod
    def timed(cls, columns: Sequence[npt.NDArray[Any]], times: Floats) -> tuple[Relation, Floats]:
        """As ``of``, with the time of each row; the same fact at two times is there from the earliest."""
        if len(columns[0]) == 0:
            return cls(tuple(np.empty(0, dtype=np.int32) for _ in columns)), times
        sizes = [int(column.max()) + 1 for column in columns]
        if product_of(sizes) < 2**63:
            # One number per row, as in ``of``: one sort, where a sort by each column takes five times that.
            keys = row_keys(columns, sizes)
            order = np.argsort(keys)
            keys = keys[order]
            starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
            earliest = np.minimum.reduceat(times[order], starts)
            return cls(_columns_of(keys[starts], sizes)), earliest
        order = np.lexsort((times, *reversed(columns)))
        sorted_columns = [column[order] for column in columns]
        fresh = np.ones(len(order), dtype=bool)
        fresh[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in sorted_columns])
        kept = tuple(np.ascontiguousarray(column[fresh], dtype=np.int32) for column in sorted_columns)
        return cls(kept), times[order][fresh]


def product_of(sizes: Sequence[int]) -> int:
    """How many rows there may be."""
    result = 1
    for size in sizes:
        result *= max(int(size), 1)
    return result


def row_keys(columns: Sequence[npt.NDArray[Any]], sizes: Sequence[int]) -> npt.NDArray[np.int64]:
    """One number per row, in the order of the rows; ``product_of`` the sizes is below 2**63."""
    keys = columns[0].astype(np.int64)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        keys *= size
        keys += column
    return keys


def _sorted_distinct(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    # np.unique does the same, but hashes first: 9.8 s of CPU for ten million keys against 0.7 s.
    keys.sort()
    fresh = np.empty(len(keys), dtype=bool)
    fresh[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    return keys[fresh]


def _columns_of(keys: npt.NDArray[np.int64], sizes: Sequence[int]) -> tuple[Codes, ...]:
    columns: list[Codes] = []
    for size in reversed(sizes[1:]):
        keys, last = np.divmod(keys, size)
        columns.append(last.astype(np.int32))
    columns.append(keys.astype(np.int32))
    return tuple(reversed(columns))


@dataclass(frozen=True, eq=False)
class Examples:
    """Groundings of a target and their labels: positives first, then negatives, in file order."""

    target: str
    keys: Codes
    """one row per example, one column of codes per head argument; where examples have cut-offs and facts
    times, one more, so that whoever passes keys on passes the cut-offs on (``Database.cutoff_codes``)"""
    labels: npt.NDArray[np.int8]
    """0 and 1, or positions in ``classes``; ``UNLABELLED`` where the label is not known"""
    classes: tuple[str, ...] = ()
    """the values that labels stand for, where the target is not true or false"""
    cutoffs: Floats | None = None
    """for each example, as given, the last time of facts that exist for it; infinity: all; None: no times"""

    def __len__(self) -> int:
        return len(self.labels)

    def labelled(self) -> Examples:
        """Those whose label is known, in the same order."""
        known = self.labels != UNLABELLED
        return self if known.all() else self.at(known)

    def at(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Examples:
        """The examples at some positions, or where a mask is true."""
        cutoffs = None if self.cutoffs is None else self.cutoffs[rows]
        return replace(self, keys=self.keys[rows], labels=self.labels[rows], cutoffs=cutoffs)
