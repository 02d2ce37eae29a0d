"""Tables of groundings, and their groups by key and values: matrices with a row for each key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.numbers import Floats
from hornbeam.data.rows import Integers, row_numbers, run_starts
from hornbeam.data.sparse import Matrix, summed

MOST_VALUES = 1 << 30


@dataclass(slots=True, eq=False)
class GroundingTable:
    """Groundings of some steps: the key of each, and the values of variables."""

    row: Integers
    columns: dict[int, npt.NDArray[Any]]
    times: Floats | None = None
    """the time of the fact of the last step that has times"""
    number: Integers | None = None
    """how many groundings a row stands for; None: one"""

    @property
    def nbytes(self) -> int:
        arrays = (self.row, self.times, self.number, *self.columns.values())
        return sum(array.nbytes for array in arrays if array is not None)


def grouped(table: GroundingTable, wanted: tuple[int, ...], times: bool, keys: int) -> GroundingTable:
    """One row for each distinct key, wanted values and time; ``keys`` is the number of keys."""
    if not len(table.row):
        empty = {variable: table.columns[variable][:0] for variable in wanted}
        none = np.empty(0, dtype=np.int64)
        return GroundingTable(none, empty, np.empty(0) if times else None, none)
    if not wanted and not times and table.number is None:
        counts = np.bincount(table.row, minlength=keys)
        rows = np.flatnonzero(counts != 0)
        return GroundingTable(rows, {}, None, counts[rows])
    matrix, (columns, moments) = as_matrix(table, wanted, times, keys)
    return from_matrix(matrix, wanted, columns, moments)


Values = tuple[list[npt.NDArray[Any]], Floats | None]
"""The values of wanted variables, and the time, that each column of a matrix stands for."""


def as_matrix(
    table: GroundingTable, wanted: tuple[int, ...], times: bool, keys: int
) -> tuple[Matrix, Values]:
    """The number of groundings by key and by wanted values and time."""
    columns: list[npt.NDArray[Any]] = [table.columns[variable] for variable in wanted]
    at = None
    if times:
        at = table.times if table.times is not None else np.full(len(table.row), -np.inf)
    if len(columns) == 1 and at is None and columns[0].min(initial=0) >= 0:
        # The codes themselves number the columns.
        size = int(columns[0].max(initial=0)) + 1
        codes: Integers = columns[0]
        values: Values = ([np.arange(size, dtype=columns[0].dtype)], None)
    elif not columns and at is None:
        codes, size, values = np.zeros(len(table.row), dtype=np.int32), 1, ([], None)
    else:
        folded = list(columns) if at is None else [*columns, np.unique(at, return_inverse=True)[1].ravel()]
        numbers = row_numbers(folded, len(table.row))
        order = np.argsort(numbers, kind="stable")
        starts = run_starts(numbers[order])
        codes = np.empty(len(order), dtype=np.int32)
        codes[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
        size = len(starts)
        first = order[starts]
        values = ([column[first] for column in columns], None if at is None else at[first])
    number = np.ones(len(table.row), dtype=np.int64) if table.number is None else table.number
    return summed(table.row, codes, number.astype(np.int64, copy=False), (keys, size)), values


def from_matrix(
    matrix: Matrix, wanted: tuple[int, ...], columns: list[npt.NDArray[Any]], moments: Floats | None
) -> GroundingTable:
    """The groups that a matrix holds, sorted by key."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.starts))
    return GroundingTable(
        rows,
        {variable: column[matrix.ends] for variable, column in zip(wanted, columns, strict=True)},
        None if moments is None else moments[matrix.ends],
        matrix.entries,
    )


def ranges(first: Integers, end: Integers) -> tuple[Integers | None, Integers]:
    """For slices from ``first`` to ``end``: the number of the slice, and each position in it.

    The numbers are None if every slice has one position.
    """
    lengths = end - first
    longest = int(lengths.max(initial=0))
    if longest <= 1:
        if lengths.all():
            return None, first
        rows = np.flatnonzero(lengths != 0)
        return rows, first[rows]
    rows = np.repeat(np.arange(len(first)), lengths)
    shift = first - np.cumsum(lengths)
    shift += lengths
    places = shift[rows]
    places += np.arange(len(rows))
    return rows, places


def is_in_order(which: Integers) -> bool:
    """Whether these are the numbers 0, 1, 2, ..."""
    return not which[:1].any() and bool((which[1:] - which[:-1] == 1).all())


def taken(array: npt.NDArray[Any], places: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    """The elements at some places; all of them if there are no places."""
    return array if places is None else array[places]


def taken_or_none(array: npt.NDArray[Any] | None, places: npt.NDArray[Any] | None) -> npt.NDArray[Any] | None:
    return None if array is None else taken(array, places)
