"""The default session: every clause is counted once, and its counts are kept in memory.

A step then costs one product of the kept counts with the gradients. Counts are kept in blocks of
narrow integers; past the memory budget the blocks used longest ago are dropped and counted again
when asked for, which changes no result. All sums are exact: floats are used only where every
partial sum is a whole number below 2**53.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes
from hornbeam.engines.contract import LOG_UNIT, Column, Counts, Engine, Session, Skipped, Sums
from hornbeam.logic.clauses import Clause

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

EXACT_FLOAT = 2**53
EXACT_INT64 = 2**63
_CHUNK_BYTES = 4_000_000
"""Rows widened to floats at a time: what stays in a core's cache is twice as fast as all at once."""
_TYPES = (np.uint8, np.uint16, np.uint32, np.int64)
_CAPACITIES = (2**8, 2**16, 2**32)


@dataclass(slots=True, eq=False)
class _Block:
    """Counts of several clauses, one row each, none above ``largest``."""

    counts: Column
    columns: list[_CountColumn]
    largest: int


@dataclass(slots=True, eq=False)
class _CountColumn:
    """Counts that one clause or several alike have: their sums, and where they are while kept."""

    clause: Clause
    true: int
    true_squared: int
    true_gradient: int
    round: int
    """the gradients that ``true_gradient`` belongs to"""
    block: _Block | None
    row: int


class _Kept(NamedTuple):
    """A counted clause."""

    column: _CountColumn
    total: int


class KeptCounts(Session):
    """Keeps the counts of all clauses asked for, up to ``memory`` bytes.

    With ``logarithm`` it sums ln(1 + count), as whole numbers, in place of counts.
    Two thirds of the clauses of a search have the counts of another one; equal columns are kept
    and multiplied once.
    """

    def __init__(
        self,
        engine: Engine,
        keys: Codes,
        memory: int | None = None,
        logarithm: bool = False,
    ) -> None:
        self.engine = engine
        self.keys = keys
        self.logarithm = logarithm
        # The engine keeps partial results of its own within the same budget.
        self.memory = engine.memory // 2 if memory is None else memory
        self._kept: dict[Clause, _Kept | Skipped] = {}
        self._alike: dict[tuple[int, int, int], list[_CountColumn]] = {}
        self._by_mark: dict[Hashable, _CountColumn] = {}
        self._blocks: OrderedDict[int, _Block] = OrderedDict()
        self._bytes = 0
        self._round = 0
        self._gradients = np.zeros(len(keys), dtype=np.int64)
        self._mass = 0
        # Some fixed weight for each example: columns whose sums differ are different.
        mixed = np.arange(1, len(keys) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        self._weights = (mixed >> np.uint64(44)).astype(np.int64)
        self._weights_mass = int(self._weights.sum())

    def set_gradients(self, gradients: Integers) -> None:
        self._gradients = gradients
        self._mass = int(np.abs(gradients).sum())
        self._round += 1

    def sums(self, clauses: Sequence[Clause]) -> Sums:
        known = self._kept
        new: list[Clause] = []
        dropped: dict[int, Clause] = {}
        stale: dict[int, list[_CountColumn]] = {}
        for clause in clauses:
            kept = known.get(clause)
            if kept is None:
                new.append(clause)
            elif isinstance(kept, _Kept) and kept.column.round != self._round:
                column = kept.column
                if column.block is None:
                    dropped[id(column)] = column.clause
                else:
                    column.round = self._round
                    stale.setdefault(id(column.block), []).append(column)
        for number, columns in stale.items():
            self._multiply(number, columns)
        self._count([*new, *dropped.values()])
        answers = [known[clause] for clause in clauses]
        found = [kept for kept in answers if isinstance(kept, _Kept)]
        whole = len(found) == len(answers)
        return Sums(
            clauses if whole else [clause for clause in clauses if isinstance(known[clause], _Kept)],
            [total for _, total in found],
            [column.true for column, _ in found],
            [column.true_squared for column, _ in found],
            [column.true_gradient for column, _ in found],
            () if whole else tuple(kept for kept in answers if isinstance(kept, Skipped)),
            len(new) + len(dropped),
        )

    def columns(self, clauses: Sequence[Clause]) -> list[Column]:
        if self.logarithm:
            return [found.true for found in self._counted(clauses) if isinstance(found, Counts)]
        return [self._column(clause) for clause in clauses]

    def _column(self, clause: Clause) -> Column:
        kept = self._kept.get(clause)
        if not isinstance(kept, _Kept):
            self._count([clause])
        elif kept.column.block is None:
            self._count([kept.column.clause])
        kept = self._kept[clause]
        assert isinstance(kept, _Kept)
        return _values(kept.column)

    def close(self) -> None:
        self._kept.clear()
        self._alike.clear()
        self._by_mark.clear()
        self._blocks.clear()
        self._bytes = 0

    def _multiply(self, number: int, columns: list[_CountColumn]) -> None:
        """Bring some columns of a block up to the present gradients."""
        self._blocks.move_to_end(number)
        block = self._blocks[number]
        columns.sort(key=lambda column: column.row)
        rows = np.array([column.row for column in columns])
        (products,) = measured(block.counts, rows, (self._product(block.largest),))
        for column, product in zip(columns, products, strict=True):
            column.true_gradient = product

    def _product(self, largest: int) -> Measure:
        return weighted_sum(largest, self._gradients, self._mass)

    def _count(self, clauses: Sequence[Clause]) -> None:
        """Count clauses, new or dropped, a few at a time: raw counts take up to eight bytes each."""
        size = max(1, self.memory // 4 // (8 * max(1, len(self.keys))))
        for start in range(0, len(clauses), size):
            batch = clauses[start : start + size]
            marks = self.engine.alike(batch, self.keys)
            alone, others = self._apart(batch, marks)
            self._count_each(alone)
            for clause, first in others:
                kept = self._kept[first]
                if isinstance(kept, Skipped):
                    self._kept[clause] = replace(kept, clause=clause)
                else:
                    self._kept[clause] = _Kept(kept.column, self.engine.total(clause))

    def _apart(
        self, clauses: Sequence[Clause], marks: Sequence[Hashable]
    ) -> tuple[dict[Clause, Hashable], list[tuple[Clause, Clause]]]:
        """The clauses to be counted, with their marks, and others that each have the counts of one of them.

        Those that have the counts of a column kept already are given it.
        """
        alone: dict[Clause, Hashable] = {}
        others: list[tuple[Clause, Clause]] = []
        firsts: dict[Hashable, Clause] = {}
        stale: dict[int, list[_CountColumn]] = {}
        for clause, mark in zip(clauses, marks, strict=True):
            if mark is None:
                alone[clause] = None
                continue
            column = self._by_mark.get(mark)
            if column is not None and column.block is not None:
                if column.round != self._round:
                    column.round = self._round
                    stale.setdefault(id(column.block), []).append(column)
                self._kept[clause] = _Kept(column, self.engine.total(clause))
            elif (first := firsts.setdefault(mark, clause)) is clause:
                alone[clause] = mark
            else:
                others.append((clause, first))
        for number, columns in stale.items():
            self._multiply(number, columns)
        return alone, others

    def _count_each(self, clauses: dict[Clause, Hashable]) -> None:
        by_type: dict[int, list[tuple[Clause, Counts]]] = {}
        largest = [0] * len(_TYPES)
        for clause, counts in zip(clauses, self._features(list(clauses)), strict=True):
            if isinstance(counts, Skipped):
                self._kept[clause] = counts
                continue
            each = int(counts.true.max(initial=0))
            width = bisect_right(_CAPACITIES, each)
            largest[width] = max(largest[width], each)
            by_type.setdefault(width, []).append((clause, counts))
        for width, counted in by_type.items():
            rows = np.empty((len(counted), len(self.keys)), dtype=_TYPES[width])
            for row, (_, counts) in enumerate(counted):
                rows[row] = counts.true
            self._keep(_Block(rows, [], largest[width]), counted, clauses)

    def _counted(self, clauses: Sequence[Clause]) -> list[Counts | Skipped]:
        return self.engine.count(clauses, self.keys)

    def _features(self, clauses: Sequence[Clause]) -> list[Counts | Skipped]:
        """What is summed of each clause: its counts, or their logarithms as integers."""
        counted = self._counted(clauses)
        if not self.logarithm:
            return counted
        return [
            each if isinstance(each, Skipped) else Counts(whole_logarithms(each.true), each.total)
            for each in counted
        ]

    def _keep(
        self, block: _Block, counted: list[tuple[Clause, Counts]], marks: dict[Clause, Hashable]
    ) -> None:
        """Keep the rows of a block that no kept column equals."""
        size, largest = len(self.keys), block.largest
        measures = (
            row_sum(largest, size),
            square_sum(largest, size),
            weighted_sum(largest, self._weights, self._weights_mass),
            self._product(largest),
        )
        sums = measured(block.counts, np.arange(len(counted)), measures)
        for row, (clause, counts) in enumerate(counted):
            true, squared, weighted, product = (values[row] for values in sums)
            alike = self._alike.setdefault((true, squared, weighted), [])
            mark = marks[clause]
            # One column for each mark, for good: others may hold on to it while its counts are dropped.
            column = self._by_mark.get(mark) or self._equal(alike, clause, block.counts[row])
            if column is None:
                column = _CountColumn(clause, true, squared, product, self._round, block, row)
                alike.append(column)
                block.columns.append(column)
            elif column.block is None:
                column.block, column.row = block, row
                block.columns.append(column)
            column.true_gradient, column.round = product, self._round
            if mark is not None:
                self._by_mark[mark] = column
            self._kept[clause] = _Kept(column, counts.total)
        if block.columns:
            self._store(block)

    def _equal(self, alike: list[_CountColumn], clause: Clause, values: Column) -> _CountColumn | None:
        """Of columns with the same sums, the one that has these values."""
        found = None
        for column in alike:
            if column.clause == clause:
                return column
            if column.block is not None and _values(column).tobytes() == values.tobytes():
                found = column
        return found

    def _store(self, block: _Block) -> None:
        if len(block.columns) < len(block.counts):
            block.counts = block.counts[[column.row for column in block.columns]]
            for row, column in enumerate(block.columns):
                column.row = row
        self._blocks[id(block)] = block
        self._bytes += block.counts.nbytes
        while self._bytes > self.memory and len(self._blocks) > 1:
            _, oldest = self._blocks.popitem(last=False)
            self._bytes -= oldest.counts.nbytes
            for column in oldest.columns:
                column.block = None


_TABLED = 2**16
"""Counts below this have their logarithms in a table, which stays in a core's cache."""


def whole_logarithms(counts: Column) -> Column:
    """ln(1 + count) in units of 1/LOG_UNIT, to the nearest whole number: 16 bits are enough for all."""
    largest = int(counts.max(initial=0))
    if largest >= _TABLED:
        return _logarithms(counts)
    logarithms: Column = _table(1 << largest.bit_length())[counts]
    return logarithms


def _logarithms(counts: Column) -> Column:
    logarithms: Column = np.rint(np.log1p(counts.astype(np.float64)) * LOG_UNIT).astype(np.uint16)
    return logarithms


@lru_cache
def _table(size: int) -> Column:
    return _logarithms(np.arange(size))


def _values(column: _CountColumn) -> Column:
    assert column.block is not None
    values: Column = column.block.counts[column.row]
    return values


# --- exact sums --------------------------------------------------------------------------------


class Measure(NamedTuple):
    """A sum over each row of counts."""

    bound: int
    """no sum of some of the terms exceeds it"""
    of_rows: Callable[[Floats], Floats]
    """for several rows of floats at once"""
    of_row: Callable[[Any], Any]
    """for one row of int64 or Python integers"""


def row_sum(largest: int, size: int) -> Measure:
    """The sum of t, for ``size`` counts up to ``largest``."""
    ones = np.ones(size)
    return Measure(largest * size, lambda rows: rows @ ones, lambda row: row.sum())


def square_sum(largest: int, size: int) -> Measure:
    """The sum of t*t."""

    def of_rows(rows: Floats) -> Floats:
        # A product of 1 x n by n x 1 for each row: BLAS, four times as fast as einsum.
        squares: Floats = np.matmul(rows[:, None, :], rows[:, :, None])[:, 0, 0]
        return squares

    return Measure(largest * largest * size, of_rows, lambda row: np.dot(row, row))


def weighted_sum(largest: int, weights: Integers, mass: int) -> Measure:
    """The sum of t*w; ``mass`` is the sum of the sizes of the weights."""
    floats = weights.astype(np.float64)
    return Measure(largest * mass, lambda rows: rows @ floats, lambda row: np.dot(row, weights))


def measured(block: Column, rows: npt.NDArray[np.int64], measures: Sequence[Measure]) -> list[list[int]]:
    """Each measure of some rows, which are in rising order, as Python integers."""
    fast = [measure for measure in measures if measure.bound < EXACT_FLOAT]
    parts: list[list[Floats]] = [[] for _ in fast]
    if fast:
        for some in _chunks(block, rows):
            for part, measure in zip(parts, fast, strict=True):
                part.append(measure.of_rows(some))
    found = iter(parts)
    results: list[list[int]] = []
    for measure in measures:
        if measure.bound < EXACT_FLOAT:
            results.append(_whole_numbers(next(found)))
        else:
            exact = np.int64 if measure.bound < EXACT_INT64 else object
            results.append([int(measure.of_row(block[row].astype(exact))) for row in rows.tolist()])
    return results


def _chunks(block: Column, rows: npt.NDArray[np.int64]) -> Iterator[Floats]:
    """The rows as floats, a few at a time."""
    size = max(1, _CHUNK_BYTES // (8 * max(1, block.shape[1])))
    whole = len(rows) == len(block)
    for start in range(0, len(rows), size):
        some = block[start : start + size] if whole else block[rows[start : start + size]]
        yield some.astype(np.float64)


def _whole_numbers(parts: list[Floats]) -> list[int]:
    numbers: list[int] = np.concatenate(parts).astype(np.int64).tolist() if parts else []
    return numbers
