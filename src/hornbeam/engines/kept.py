"""The default session: every clause is counted once, and its counts are kept in memory.

A step then costs one product of the kept counts with the gradients. Counts are kept in blocks of
narrow integers; past the memory budget the blocks used longest ago are dropped and counted again
when asked for, which changes no result. All sums are exact: floats are used only where every
partial sum is a whole number below 2**53.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.clauses import Clause
from hornbeam.database import Codes
from hornbeam.engines.contract import Column, Counts, Engine, Session, Skipped, Sums

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
    members: list[_Kept]
    largest: int


@dataclass(slots=True, eq=False)
class _Kept:
    """A counted clause: its sums, and where its counts are while they are kept."""

    clause: Clause
    total: int
    true: int
    true_squared: int
    true_gradient: int
    round: int
    """the gradients that ``true_gradient`` belongs to"""
    block: _Block | None
    row: int


class KeptCounts(Session):
    """Keeps the counts of all clauses asked for, up to ``memory`` bytes."""

    def __init__(self, engine: Engine, keys: Codes, memory: int | None = None) -> None:
        self.engine = engine
        self.keys = keys
        # The engine keeps partial results of its own within the same budget.
        self.memory = engine.memory // 2 if memory is None else memory
        self._kept: dict[Clause, _Kept | Skipped] = {}
        self._blocks: OrderedDict[int, _Block] = OrderedDict()
        self._bytes = 0
        self._round = 0
        self._gradients = np.zeros(len(keys), dtype=np.int64)
        self._mass = 0

    def set_gradients(self, gradients: Integers) -> None:
        self._gradients = gradients
        self._mass = int(np.abs(gradients).sum())
        self._round += 1

    def sums(self, clauses: Sequence[Clause]) -> Sums:
        known = self._kept
        new = [clause for clause in clauses if clause not in known]
        stale: dict[int, list[_Kept]] = {}
        dropped: list[Clause] = []
        for clause in clauses:
            kept = known.get(clause)
            if isinstance(kept, _Kept) and kept.round != self._round:
                if kept.block is None:
                    dropped.append(clause)
                else:
                    stale.setdefault(id(kept.block), []).append(kept)
        for number, members in stale.items():
            self._multiply(self._use(number), members)
        self._count(new + dropped)
        found: list[_Kept] = []
        skipped: list[Skipped] = []
        for clause in clauses:
            kept = known[clause]
            if isinstance(kept, Skipped):
                skipped.append(kept)
            else:
                found.append(kept)
        return Sums(
            [kept.clause for kept in found],
            [kept.total for kept in found],
            [kept.true for kept in found],
            [kept.true_squared for kept in found],
            [kept.true_gradient for kept in found],
            tuple(skipped),
            len(new),
        )

    def column(self, clause: Clause) -> Column:
        kept = self._kept.get(clause)
        if not isinstance(kept, _Kept) or kept.block is None:
            self._count([clause])
            kept = self._kept[clause]
        assert isinstance(kept, _Kept)
        assert kept.block is not None
        column: Column = kept.block.counts[kept.row]
        return column

    def close(self) -> None:
        self._kept.clear()
        self._blocks.clear()
        self._bytes = 0

    def _use(self, number: int) -> _Block:
        self._blocks.move_to_end(number)
        return self._blocks[number]

    def _multiply(self, block: _Block, members: list[_Kept]) -> None:
        """Bring the products of some members of a block up to the present gradients."""
        members.sort(key=lambda kept: kept.row)
        rows = np.array([kept.row for kept in members])
        (products,) = measured(block.counts, rows, (self._product(block),))
        for kept, product in zip(members, products, strict=True):
            kept.true_gradient = product
            kept.round = self._round

    def _product(self, block: _Block) -> Measure:
        return gradient_sum(block.largest, self._gradients, self._mass)

    def _count(self, clauses: Sequence[Clause]) -> None:
        """Count clauses, new or dropped, a few at a time: raw counts take eight bytes each."""
        size = max(1, self.memory // 4 // (8 * max(1, len(self.keys))))
        for start in range(0, len(clauses), size):
            batch = clauses[start : start + size]
            counted: list[tuple[Clause, Counts]] = []
            for clause, counts in zip(batch, self.engine.count(batch, self.keys), strict=True):
                if isinstance(counts, Skipped):
                    self._kept[clause] = counts
                else:
                    counted.append((clause, counts))
            if counted:
                self._keep(counted)

    def _keep(self, counted: list[tuple[Clause, Counts]]) -> None:
        """Store counts in one block for each integer type that they need."""
        by_type: dict[int, list[tuple[Clause, Counts]]] = {}
        largest = [0] * len(_TYPES)
        for clause, counts in counted:
            each = int(counts.true.max(initial=0))
            width = bisect_right(_CAPACITIES, each)
            by_type.setdefault(width, []).append((clause, counts))
            largest[width] = max(largest[width], each)
        for width, members in by_type.items():
            columns = np.empty((len(members), len(self.keys)), dtype=_TYPES[width])
            for row, (_, counts) in enumerate(members):
                columns[row] = counts.true
            self._add(_Block(columns, [], largest[width]), members)

    def _add(self, block: _Block, counted: list[tuple[Clause, Counts]]) -> None:
        measures = (
            row_sum(block.largest, len(self.keys)),
            square_sum(block.largest, len(self.keys)),
            self._product(block),
        )
        true, squared, products = measured(block.counts, np.arange(len(counted)), measures)
        for row, (clause, counts) in enumerate(counted):
            kept = _Kept(
                clause, counts.total, true[row], squared[row], products[row], self._round, block, row
            )
            self._kept[clause] = kept
            block.members.append(kept)
        self._blocks[id(block)] = block
        self._bytes += block.counts.nbytes
        while self._bytes > self.memory and len(self._blocks) > 1:
            self._drop(self._blocks.popitem(last=False)[1])

    def _drop(self, block: _Block) -> None:
        self._bytes -= block.counts.nbytes
        for kept in block.members:
            if kept.block is block:
                kept.block = None


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


def gradient_sum(largest: int, gradients: Integers, mass: int) -> Measure:
    """The sum of t*d; ``mass`` is the sum of the sizes of the gradients."""
    floats = gradients.astype(np.float64)
    return Measure(largest * mass, lambda rows: rows @ floats, lambda row: np.dot(row, gradients))


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
