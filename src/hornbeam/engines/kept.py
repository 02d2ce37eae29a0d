"""The default session: every clause is counted once, and its counts are kept in memory.

A step then costs one product of the kept counts with the gradients. Counts are kept in blocks of
narrow integers; past the memory budget the blocks used longest ago are dropped and counted again
when asked for, which changes no result. All sums are exact: floats are used only where every
partial sum is a whole number below 2**53.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
_CAPACITIES = np.array([2**8, 2**16, 2**32], dtype=np.int64)


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
        products = exact_products(block.counts, rows, self._gradients, block.largest * self._mass)
        for kept, product in zip(members, products, strict=True):
            kept.true_gradient = product
            kept.round = self._round

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
        wide = np.empty((len(counted), len(self.keys)), dtype=np.int64)
        for row, (_, counts) in enumerate(counted):
            wide[row] = counts.true
        largest = wide.max(axis=1, initial=0)
        widths = np.searchsorted(_CAPACITIES, largest, side="right")
        for width in np.unique(widths).tolist():
            rows = np.flatnonzero(widths == width)
            some = wide if len(rows) == len(wide) else wide[rows]
            block = _Block(some.astype(_TYPES[width]), [], int(largest[rows].max()))
            self._add(block, [counted[row] for row in rows.tolist()])

    def _add(self, block: _Block, counted: list[tuple[Clause, Counts]]) -> None:
        rows = np.arange(len(counted))
        true = exact_sums(block.counts, block.largest)
        squared = exact_square_sums(block.counts, block.largest)
        products = exact_products(block.counts, rows, self._gradients, block.largest * self._mass)
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


def exact_sums(block: Column, largest: int) -> list[int]:
    """The sum of each row, as Python integers."""
    if largest * block.shape[1] < EXACT_INT64:
        sums: list[int] = block.sum(axis=1, dtype=np.int64).tolist()
        return sums
    return [sum(row.tolist()) for row in block]


def exact_square_sums(block: Column, largest: int) -> list[int]:
    """The sum of squares of each row, as Python integers."""
    bound = largest * largest * block.shape[1]
    if bound < EXACT_FLOAT:
        rows = np.arange(len(block))
        return _whole_numbers([np.einsum("ij,ij->i", some, some) for some in _chunks(block, rows)])
    if bound < EXACT_INT64:
        return [int(np.dot(row, row)) for row in map(_wide, block)]
    return [sum(value * value for value in row.tolist()) for row in block]


def exact_products(block: Column, rows: npt.NDArray[np.int64], gradients: Integers, bound: int) -> list[int]:
    """The product of some rows, in rising order, with the gradients, as Python integers.

    No sum of some of the terms of a product may exceed ``bound``.
    """
    if bound < EXACT_FLOAT:
        floats = gradients.astype(np.float64)
        return _whole_numbers([some @ floats for some in _chunks(block, rows)])
    if bound < EXACT_INT64:
        return [int(np.dot(_wide(block[row]), gradients)) for row in rows.tolist()]
    values = gradients.tolist()
    return [sum(t * d for t, d in zip(block[row].tolist(), values, strict=True)) for row in rows.tolist()]


def _wide(row: Column) -> Integers:
    return row.astype(np.int64)
