"""The counts of a search: every clause is counted once, and its counts are kept in memory.

A boosting step then costs one product of the cached counts with the gradients. Counts are stored in
blocks of narrow integers, which are in the engine's cache. When its budget is exceeded, the least
recently used blocks are dropped, and their clauses are counted again when they are needed. This
changes no result. All sums are exact.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.engines.clauses.contract import BYTES_PER_ANSWER, ClauseCounter, Column, Counts, Sums
from hornbeam.engines.clauses.counting.candidates import Candidates
from hornbeam.engines.clauses.counting.count_rows import CountRows, count_rows
from hornbeam.engines.clauses.counting.exact_sums import (
    Integers,
    RowSum,
    plain_sum,
    square_sum,
    weighted_sum,
    whole_logarithms,
)
from hornbeam.engines.clauses.counting.product_sums import ProductSums
from hornbeam.engines.contract import Skipped
from hornbeam.logic.clauses import Clause

_TYPES = (np.uint8, np.uint16, np.uint32, np.int64)
_CAPACITIES = (2**8, 2**16, 2**32)


@dataclass(slots=True, eq=False)
class _Block:
    """Counts of several clauses, one row each, none above ``largest``."""

    counts: CountRows
    columns: list[_CountColumn]
    largest: int


@dataclass(slots=True, eq=False)
class _CountColumn:
    """Counts that one or more clauses have: their sums, and their row in a block."""

    clause: Clause
    true: int
    true_squared: int
    true_gradient: int
    round: int
    """which gradients ``true_gradient`` was computed with: how many times they had been set"""
    block: _Block | None
    """None once the block was dropped"""
    row: int


class _CountedClause(NamedTuple):
    """A counted clause: its column, which other clauses may share, and its total."""

    column: _CountColumn
    total: int


class CountCache:
    """Caches the counts of all clauses, up to ``memory`` bytes and within the engine's budget.

    With ``logarithm`` it sums ln(1 + count), as whole numbers, instead of counts.
    In a search, about two thirds of the clauses have the same counts as another clause. Equal columns
    are stored and multiplied once.
    """

    def __init__(
        self,
        counter: ClauseCounter,
        keys: Codes,
        memory: int | None = None,
        logarithm: bool = False,
    ) -> None:
        self.counter = counter
        self.keys = keys
        self.logarithm = logarithm
        # At most half of the budget, so that counts do not displace the indexes they are computed with.
        self.memory = counter.memory // 2 if memory is None else memory
        self._answers: dict[Clause, _CountedClause | Skipped] = {}
        self._by_sums: dict[tuple[int, int, int], list[_CountColumn]] = {}
        self._by_signature: dict[Hashable, _CountColumn] = {}
        self._blocks = counter.cache.part(self.memory, _forget)
        self._answers_kept = counter.cache.part()
        self._round = 0
        self._gradients = np.zeros(len(keys), dtype=np.int64)
        self._mass = 0
        # A fixed weight for each example: columns with different weighted sums are different.
        mixed = np.arange(1, len(keys) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        self._weights = (mixed >> np.uint64(44)).astype(np.int64)
        self._weights_mass = int(self._weights.sum())
        self._products = ProductSums(counter, keys) if counter.counts_components and not logarithm else None

    def set_gradients(self, gradients: Integers) -> None:
        """Set the gradients, one per example, as integers (multiples of 2**-30)."""
        self._gradients = gradients
        self._mass = int(np.abs(gradients).sum())
        self._round += 1

    def sums(self, clauses: Sequence[Clause]) -> Sums:
        """Exact sums of distinct clauses with the current gradients."""
        if isinstance(clauses, Candidates):
            if self._products is not None:
                sums = self._products.sums(clauses, self._gradients)
                if sums is not None:
                    return sums
            clauses = list(clauses)
        self._tidy(len(clauses))
        known = self._answers
        new: list[Clause] = []
        dropped: dict[int, Clause] = {}
        stale: dict[int, list[_CountColumn]] = {}
        for clause in clauses:
            answer = known.get(clause)
            if answer is None:
                new.append(clause)
            elif isinstance(answer, _CountedClause) and answer.column.round != self._round:
                column = answer.column
                if column.block is None:
                    dropped[id(column)] = column.clause
                else:
                    column.round = self._round
                    stale.setdefault(id(column.block), []).append(column)
        for block_id, columns in stale.items():
            self._multiply(block_id, columns)
        self._count([*new, *dropped.values()])
        answers = [known[clause] for clause in clauses]
        counted = [answer for answer in answers if isinstance(answer, _CountedClause)]
        complete = len(counted) == len(answers)
        return Sums(
            clauses if complete else [c for c in clauses if isinstance(known[c], _CountedClause)],
            [total for _, total in counted],
            [column.true for column, _ in counted],
            [column.true_squared for column, _ in counted],
            [column.true_gradient for column, _ in counted],
            () if complete else tuple(answer for answer in answers if isinstance(answer, Skipped)),
            len(new) + len(dropped),
        )

    def columns(self, clauses: Sequence[Clause]) -> list[Column]:
        """The true counts of clauses that were summed before, one column each."""
        if self.logarithm:
            counted = self.counter.count(clauses, self.keys)
            return [counts.true for counts in counted if isinstance(counts, Counts)]
        return [self._column(clause) for clause in clauses]

    def column(self, clause: Clause) -> Column:
        """The true counts of one clause that was summed before."""
        return self.columns([clause])[0]

    def _column(self, clause: Clause) -> Column:
        answer = self._answers.get(clause)
        if not isinstance(answer, _CountedClause):
            self._count([clause])
        elif answer.column.block is None:
            self._count([answer.column.clause])
        answer = self._answers[clause]
        assert isinstance(answer, _CountedClause)
        return _values(answer.column)

    def close(self) -> None:
        """Forget all counts."""
        self._answers.clear()
        self._by_sums.clear()
        self._by_signature.clear()
        self._blocks.clear()
        self._answers_kept.clear()
        if self._products is not None:
            self._products.clear()

    def _tidy(self, new: int) -> None:
        """Forget all answers if they, with those of new clauses, exceed a quarter of the engine's budget."""
        size = BYTES_PER_ANSWER * (len(self._answers) + new)
        if size > self.counter.memory // 4 and self._answers:
            self.close()
            size = BYTES_PER_ANSWER * new
        self._answers_kept.put("answers", None, size)

    def _multiply(self, block_id: int, columns: list[_CountColumn]) -> None:
        """Recompute the products of some columns of a block with the current gradients."""
        block: _Block = self._blocks.get(block_id)
        columns.sort(key=lambda column: column.row)
        rows = np.array([column.row for column in columns])
        (products,) = block.counts.sums(rows, (self._gradient_sum(block.largest),))
        for column, product in zip(columns, products, strict=True):
            column.true_gradient = product

    def _gradient_sum(self, largest: int) -> RowSum:
        return weighted_sum(largest, self._gradients, self._mass)

    def _count(self, clauses: Sequence[Clause]) -> None:
        """Count clauses, new or dropped, a few at a time: raw counts take up to eight bytes each."""
        size = max(1, self.memory // 4 // (8 * max(1, len(self.keys))))
        for start in range(0, len(clauses), size):
            batch = clauses[start : start + size]
            signatures = self.counter.signatures(batch, self.keys)
            to_count, repeats = self._split_repeats(batch, signatures)
            self._count_each(to_count)
            for clause, first in repeats:
                answer = self._answers[first]
                if isinstance(answer, Skipped):
                    self._answers[clause] = replace(answer, clause=clause)
                else:
                    self._answers[clause] = _CountedClause(answer.column, self.counter.total(clause))

    def _split_repeats(
        self, clauses: Sequence[Clause], signatures: Sequence[Hashable]
    ) -> tuple[dict[Clause, Hashable], list[tuple[Clause, Clause]]]:
        """Find the clauses to count, and pairs of a repeated clause and the first one with equal counts.

        A clause whose counts are cached in a column gets that column here and is in neither result.
        """
        to_count: dict[Clause, Hashable] = {}
        repeats: list[tuple[Clause, Clause]] = []
        firsts: dict[Hashable, Clause] = {}
        stale: dict[int, list[_CountColumn]] = {}
        for clause, signature in zip(clauses, signatures, strict=True):
            if signature is None:
                to_count[clause] = None
                continue
            column = self._by_signature.get(signature)
            if column is not None and column.block is not None:
                if column.round != self._round:
                    column.round = self._round
                    stale.setdefault(id(column.block), []).append(column)
                self._answers[clause] = _CountedClause(column, self.counter.total(clause))
            elif (first := firsts.setdefault(signature, clause)) is clause:
                to_count[clause] = signature
            else:
                repeats.append((clause, first))
        for block_id, columns in stale.items():
            self._multiply(block_id, columns)
        return to_count, repeats

    def _count_each(self, clauses: dict[Clause, Hashable]) -> None:
        by_type: dict[int, list[tuple[Clause, Counts]]] = {}
        largest = [0] * len(_TYPES)
        for clause, counts in zip(clauses, self._features(list(clauses)), strict=True):
            if isinstance(counts, Skipped):
                self._answers[clause] = counts
                continue
            largest_count = int(counts.true.max(initial=0))
            width = bisect_right(_CAPACITIES, largest_count)
            largest[width] = max(largest[width], largest_count)
            by_type.setdefault(width, []).append((clause, counts))
        for width, counted in by_type.items():
            rows = np.empty((len(counted), len(self.keys)), dtype=_TYPES[width])
            for row, (_, counts) in enumerate(counted):
                rows[row] = counts.true
            self._add(_Block(count_rows(rows), [], largest[width]), counted, clauses)

    def _features(self, clauses: Sequence[Clause]) -> list[Counts | Skipped]:
        """The values to sum for each clause: its counts, or their logarithms as integers."""
        counted = self.counter.count(clauses, self.keys)
        if not self.logarithm:
            return counted
        return [
            counts if isinstance(counts, Skipped) else Counts(whole_logarithms(counts.true), counts.total)
            for counts in counted
        ]

    def _add(
        self, block: _Block, counted: list[tuple[Clause, Counts]], signatures: dict[Clause, Hashable]
    ) -> None:
        """Cache the rows of a block that equal no cached column."""
        size, largest = len(self.keys), block.largest
        kinds = (
            plain_sum(largest, size),
            square_sum(largest, size),
            weighted_sum(largest, self._weights, self._weights_mass),
            self._gradient_sum(largest),
        )
        sums = block.counts.sums(np.arange(len(counted)), kinds)
        for row, (clause, counts) in enumerate(counted):
            true, squared, weighted, product = (values[row] for values in sums)
            same_sums = self._by_sums.setdefault((true, squared, weighted), [])
            signature = signatures[clause]
            # A signature keeps its column: clauses may still refer to it after its counts were dropped.
            column = self._by_signature.get(signature) or self._equal(same_sums, clause, block.counts, row)
            if column is None:
                column = _CountColumn(clause, true, squared, product, self._round, block, row)
                same_sums.append(column)
                block.columns.append(column)
            elif column.block is None:
                column.block, column.row = block, row
                block.columns.append(column)
            column.true_gradient, column.round = product, self._round
            if signature is not None:
                self._by_signature[signature] = column
            self._answers[clause] = _CountedClause(column, counts.total)
        if block.columns:
            self._store(block)

    def _equal(
        self, same_sums: list[_CountColumn], clause: Clause, rows: CountRows, row: int
    ) -> _CountColumn | None:
        """The column, among those with the same sums, that equals a row."""
        equal = None
        for column in same_sums:
            if column.clause == clause:
                return column
            if column.block is not None and _same(column.block.counts, column.row, rows, row):
                equal = column
        return equal

    def _store(self, block: _Block) -> None:
        if len(block.columns) < len(block.counts):
            block.counts = block.counts.taken([column.row for column in block.columns])
            for row, column in enumerate(block.columns):
                column.row = row
        self._blocks.put(id(block), block, block.counts.nbytes)


def _forget(block: _Block) -> None:
    """The counts of a block were dropped."""
    for column in block.columns:
        column.block = None


def _values(column: _CountColumn) -> Column:
    assert column.block is not None
    return column.block.counts.row(column.row)


def _same(rows: CountRows, row: int, others: CountRows, other: int) -> bool:
    """Whether two rows with the same sums are equal."""
    if isinstance(rows, type(others)):
        return rows.value(row) == others.value(other)
    return rows.row(row).tobytes() == others.row(other).tobytes()
