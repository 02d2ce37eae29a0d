"""Rows of codes as one integer each, so that sorting, comparing and finding rows is work on integers.

A row ``(a, b, c)`` whose columns have codes below ``sizes`` becomes ``(a * sizes[1] + b) * sizes[2] + c``:
equal rows get equal numbers, and numbers sort like rows. Where the next product would not fit into 64 bits,
the numbers so far are first replaced by their ranks, which changes neither.

Hashes of names and rows are for samples and fingerprints that do not depend on the order of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[Any]
RowNumbers = npt.NDArray[np.int64]
Folds = tuple[tuple[int, Integers | None], ...]
"""How each column after the first is folded in: its size and, where the numbers before it were replaced by
ranks, the numbers that have the ranks 0, 1, ..."""

_LIMIT = 2**63
_BLOCK = 1 << 20
"""Rows that are handled together where copies of all rows would be large."""
_MOST_PLACES = 8
"""Rows are put where their codes say if there are at most so many codes for each row."""


def fold(columns: Sequence[Integers], sizes: Sequence[int]) -> tuple[RowNumbers, Folds]:
    """The number of each row, and how to number other rows in the same way (see ``probe``).

    >>> numbers, folds = fold([np.array([0, 2]), np.array([1, 3])], [3, 10])
    >>> numbers.tolist(), probe([np.array([2]), np.array([3])], folds).tolist()
    ([1, 23], [23])
    """
    numbers = columns[0].astype(np.int64)
    span = int(sizes[0])
    folds: list[tuple[int, Integers | None]] = []
    for column, size in zip(columns[1:], map(int, sizes[1:]), strict=True):
        ranked: Integers | None = None
        if span * size >= _LIMIT:
            ranked, ranks = np.unique(numbers, return_inverse=True)
            numbers = ranks.ravel().astype(np.int64)
            span = len(ranked)
        numbers *= size
        numbers += column
        span *= size
        folds.append((size, ranked))
    return numbers, tuple(folds)


def probe(columns: Sequence[Integers], folds: Folds) -> RowNumbers:
    """The numbers of other rows; -1 for rows that cannot be equal to a folded row."""
    numbers = columns[0].astype(np.int64)
    missing = None
    for column, (size, ranked) in zip(columns[1:], folds, strict=True):
        if ranked is not None:
            if len(ranked) == 0:
                return np.full(len(numbers), -1, dtype=np.int64)
            place = np.minimum(np.searchsorted(ranked, numbers), len(ranked) - 1)
            other = ranked[place] != numbers
            missing = other if missing is None else missing | other
            numbers = place.astype(np.int64)
        numbers *= size
        numbers += column
    if missing is not None:
        numbers[missing] = -1
    return numbers


def unfold(numbers: RowNumbers, sizes: Sequence[int]) -> tuple[npt.NDArray[np.int32], ...]:
    """The columns of rows that were folded without ranks.

    >>> [column.tolist() for column in unfold(np.array([1, 23]), [3, 10])]
    [[0, 2], [1, 3]]
    """
    columns: list[npt.NDArray[np.int32]] = []
    for size in reversed(sizes[1:]):
        numbers, last = np.divmod(numbers, size)
        columns.append(last.astype(np.int32))
    columns.append(numbers.astype(np.int32))
    return tuple(reversed(columns))


def run_starts(numbers: Integers) -> npt.NDArray[np.intp]:
    """Where each run of equal numbers starts; sorted numbers have one run for each distinct number.

    >>> run_starts(np.array([4, 4, 7, 9, 9])).tolist()
    [0, 2, 3]
    """
    fresh = np.empty(len(numbers), dtype=bool)
    fresh[:1] = True
    np.not_equal(numbers[1:], numbers[:-1], out=fresh[1:])
    return np.flatnonzero(fresh)


def grouped(numbers: Integers) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The order that sorts numbers, equal ones as given, and where in it each distinct number starts.

    >>> order, starts = grouped(np.array([7, 4, 7]))
    >>> order.tolist(), starts.tolist()
    ([1, 0, 2], [0, 1])
    """
    order = np.argsort(numbers, kind="stable")
    return order, run_starts(numbers[order])


def sorted_distinct(columns: Sequence[Integers], sizes: Sequence[int]) -> tuple[npt.NDArray[np.int32], ...]:
    """The distinct rows in sorted order, as columns."""
    in_order = by_first(columns)
    if in_order is not None:
        return tuple([column.astype(np.int32, copy=False) for column in in_order])
    numbers, folds = fold(columns, sizes)
    if any(ranked is not None for _, ranked in folds):
        order, starts = grouped(numbers)
        return tuple([column[order[starts]].astype(np.int32) for column in columns])
    # np.unique does the same, but hashes first: 9.8 s of CPU for ten million rows instead of 0.7 s.
    numbers.sort()
    repeats = len(numbers) > 1 and bool((numbers[1:] == numbers[:-1]).any())
    return unfold(numbers[run_starts(numbers)] if repeats else numbers, sizes)


def by_first(columns: Sequence[Integers]) -> list[Integers] | None:
    """The rows in order, if no two have the same code in the first column; else None.

    Columns whose rows are in order already are returned as they are. The first column has codes from 0 on.
    No sorting: each row is put where its code says, which takes a tenth of the time.

    >>> [column.tolist() for column in by_first([np.array([3, 1]), np.array([8, 9])]) or ()]
    [[1, 3], [9, 8]]
    >>> by_first([np.array([1, 1]), np.array([8, 9])]) is None
    True
    """
    first = columns[0]
    if not len(first) or (first[1:] > first[:-1]).all():
        return list(columns)
    span = int(first.max()) + 1
    if span < len(first) or span > _MOST_PLACES * len(first) or int(first.min()) < 0:
        return None
    where = np.full(span, -1, dtype=np.int32)
    where[first] = np.arange(len(first), dtype=np.int32)
    order = where if span == len(first) and int(where.min()) >= 0 else where[where >= 0]
    return [taken(column, order) for column in columns] if len(order) == len(first) else None


def taken(values: Integers, places: Integers) -> Integers:
    """``values[places]`` in blocks: NumPy makes 64-bit integers of all places at once."""
    found = np.empty(len(places), dtype=values.dtype)
    for start in range(0, len(places), _BLOCK):
        found[start : start + _BLOCK] = values[places[start : start + _BLOCK]]
    return found


def distinct_rows(columns: Sequence[Integers], length: int) -> tuple[Integers, Integers]:
    """The first position of each distinct row, in sorted order, and for each row which distinct row it is.

    Codes may be negative. All ``length`` rows are equal if there are no columns.

    >>> first, which = distinct_rows([np.array([7, 7, 7]), np.array([1, -1, 1])], 3)
    >>> first.tolist(), which.tolist()
    ([1, 0], [1, 0, 1])
    """
    _, first, which = np.unique(row_numbers(columns, length), return_index=True, return_inverse=True)
    return first, which.ravel()


def row_numbers(columns: Sequence[Integers], length: int) -> RowNumbers:
    """``fold`` for columns of unknown sizes, whose codes may be negative, and for no columns."""
    if not columns or not length:
        return np.zeros(length, dtype=np.int64)
    lowest = [min(0, int(column.min())) for column in columns]
    shifted = [column - least if least else column for column, least in zip(columns, lowest, strict=True)]
    return fold(shifted, [int(column.max()) + 1 for column in shifted])[0]


def count_rows(
    columns: Sequence[Integers], sizes: Sequence[int], times: Integers | None = None
) -> tuple[Integers, Integers]:
    """The first position of each distinct row, in sorted order of rows, and how often it occurs.

    ``times`` is the number of times that each given row counts; None counts each row once.
    """
    order, starts = grouped(fold(columns, sizes)[0])
    if times is None:
        return order[starts], np.diff(starts, append=len(order))
    return order[starts], np.add.reduceat(times[order], starts) if len(starts) else times[:0]


Hashes = npt.NDArray[np.uint64]

_FACTOR = np.uint64(0xD6E8FEB86659FD93)
_ROWS = 1 << 16


def mixed(values: Hashes, shifts: tuple[int, ...] = (32, 32, 32)) -> Hashes:
    """Scramble 64-bit values by a one-to-one function; the order of the results looks random."""
    for shift in shifts[:-1]:
        values = values ^ (values >> np.uint64(shift))
        values = values * _FACTOR
    return values ^ (values >> np.uint64(shifts[-1]))


def name_hashes(names: Sequence[str]) -> Hashes:
    """Two independent hashes of each name, in two rows; the last column has the hashes of an unknown key."""
    digests = [_digest(name) for name in names]
    digests.append(_digest("unknown key", person=b"unknown"))
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64).reshape(-1, 2).T


def _digest(text: str, person: bytes = b"") -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, person=person).digest()


def hash_of_rows(
    names: Sequence[Hashes],
    columns: Sequence[npt.NDArray[np.int32]],
    times: npt.NDArray[np.float64] | None = None,
) -> tuple[int, int]:
    """A hash of a set of rows, by the names that codes stand for; the order of the rows does not matter.

    ``names`` has the hashes of the names of each column, ``times`` the time of each row, if rows have times.
    """
    first, second = 0, 0
    for start in range(0, len(columns[0]), _ROWS):
        rows = np.zeros((2, 1), dtype=np.uint64)
        for hashes, column in zip(names, columns, strict=True):
            # Mixing between columns tells friends(ann,bob) from friends(bob,ann).
            rows = _stirred(rows + hashes[:, column[start : start + _ROWS]])
        if times is not None:
            rows = _stirred(rows + (times[start : start + _ROWS] + 0.0).view(np.uint64))
        part = hash_of_set(rows)
        first, second = first + part[0], second + part[1]
    return first % 2**64, second % 2**64


def hash_of_set(hashes: Hashes) -> tuple[int, int]:
    """A hash of a set of hashes: a sum does not depend on their order, and mixing makes it depend on each."""
    first, second = _stirred(hashes).sum(axis=1, dtype=np.uint64).tolist()
    return first, second


def _stirred(values: Hashes) -> Hashes:
    """``mixed`` in one round, with the shifts that stored checkpoints were made with."""
    return mixed(values, (32, 29))
