"""Counts of several clauses, one row each: all numbers, or those that are not 0 with their positions.

In a search, few of the counts of a clause are not 0. Sums over those alone are several times as fast.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.engines.clauses.contract import Column
from hornbeam.engines.clauses.counting.exact_sums import EXACT_INT64, Integers, RowSum, exact_row_sums

FEW = 8
"""Rows are sparse if at most one number in this many is not 0: a number by its position costs more."""
_PIECE = 1 << 20
"""So many numbers are looked at together, which fit a core's cache."""


class DenseRows:
    """All numbers."""

    def __init__(self, counts: Column) -> None:
        self._counts = counts

    def __len__(self) -> int:
        return len(self._counts)

    @property
    def nbytes(self) -> int:
        return self._counts.nbytes

    def row(self, place: int) -> Column:
        """The numbers of one row."""
        row: Column = self._counts[place]
        return row

    def value(self, place: int) -> bytes:
        """The bytes of a row: rows of one type and with equal bytes are equal."""
        return self.row(place).tobytes()

    def taken(self, places: Sequence[int]) -> DenseRows:
        """Some of the rows."""
        return DenseRows(self._counts[places])

    def sums(self, places: Integers, kinds: Sequence[RowSum]) -> list[list[int]]:
        """Each kind of sum for some rows, in rising order, as Python integers."""
        return exact_row_sums(self._counts, places, kinds)


class SparseRows:
    """The numbers that are not 0, row by row, with their positions."""

    def __init__(self, starts: Integers, positions: Integers, values: Column, width: int) -> None:
        self._starts = starts
        self._positions = positions
        self._values = values
        self._width = width

    def __len__(self) -> int:
        return len(self._starts) - 1

    @property
    def nbytes(self) -> int:
        return self._starts.nbytes + self._positions.nbytes + self._values.nbytes

    def row(self, place: int) -> Column:
        """The numbers of one row, with the zeros."""
        part = slice(self._starts[place], self._starts[place + 1])
        row: Column = np.zeros(self._width, dtype=self._values.dtype)
        row[self._positions[part]] = self._values[part]
        return row

    def value(self, place: int) -> bytes:
        """Bytes of a row: sparse rows of one type and with equal bytes are equal."""
        part = slice(self._starts[place], self._starts[place + 1])
        return self._positions[part].tobytes() + self._values[part].tobytes()

    def taken(self, places: Sequence[int]) -> SparseRows:
        """Some of the rows."""
        entries, starts = self._entries(np.asarray(places, dtype=np.int64))
        return SparseRows(starts, self._positions[entries], self._values[entries], self._width)

    def sums(self, places: Integers, kinds: Sequence[RowSum]) -> list[list[int]]:
        """Each kind of sum for some rows, in rising order, as Python integers."""
        entries, starts = self._entries(places)
        positions, values = self._positions[entries], self._values[entries].astype(np.int64)
        results = []
        for kind in kinds:
            if kind.bound < EXACT_INT64:
                # Sums up to each entry may exceed int64 and wrap around; their differences do not.
                until = np.zeros(len(values) + 1, dtype=np.int64)
                np.cumsum(kind.of_entries(values, positions), out=until[1:])
                ends = until[starts]
                results.append((ends[1:] - ends[:-1]).tolist())
            else:
                results.append([int(kind.of_row(self.row(row).astype(object))) for row in places.tolist()])
        return results

    def _entries(self, places: Integers) -> tuple[slice | Integers, Integers]:
        """Where the entries of some rows are, and where each of these rows starts among them."""
        if len(places) == len(self):
            return slice(None), self._starts
        lengths = self._starts[places + 1] - self._starts[places]
        starts = np.zeros(len(places) + 1, dtype=np.int64)
        np.cumsum(lengths, out=starts[1:])
        return np.repeat(self._starts[places] - starts[:-1], lengths) + np.arange(starts[-1]), starts


CountRows = DenseRows | SparseRows


def count_rows(counts: Column) -> CountRows:
    """The rows in the form that is faster to sum."""
    rows, width = counts.shape
    numbers = counts.reshape(-1)
    pieces, found = [], 0
    for start in range(0, len(numbers), _PIECE):
        piece = np.flatnonzero(numbers[start : start + _PIECE] != 0)
        found += len(piece)
        if found * FEW > len(numbers):
            return DenseRows(counts)
        pieces.append(piece + start)
    flat = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)
    starts = np.searchsorted(flat, np.arange(rows + 1) * width)
    positions = flat - np.repeat(np.arange(rows) * width, np.diff(starts))
    return SparseRows(starts, positions.astype(np.int32), numbers[flat], width)
