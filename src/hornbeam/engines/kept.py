"""The default session: every clause is counted once, and its counts are kept in memory.

A step then costs one product of the kept counts with the gradients. All sums are exact: floats
are used only where every partial sum is a whole number below 2**53.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hornbeam.clauses import Clause
from hornbeam.database import Codes
from hornbeam.engines.contract import Column, Counts, Engine, Session, Skipped, Sums

Integers = npt.NDArray[np.int64]


@dataclass(slots=True)
class _Kept:
    """A counted clause: where its counts are, and the sums that do not depend on gradients."""

    block: int
    row: int
    total: int
    true: int
    true_squared: int
    largest: int


class KeptCounts(Session):
    """Counts of all clauses asked for, in blocks of one batch each, in the narrowest integer type."""

    def __init__(self, engine: Engine, keys: Codes) -> None:
        self.engine = engine
        self.keys = keys
        self._kept: dict[Clause, _Kept | Skipped] = {}
        self._blocks: list[Column] = []
        self._products: dict[int, list[int]] = {}
        self._gradients = np.zeros(len(keys), dtype=np.int64)
        self._gradient_mass = 0

    def set_gradients(self, gradients: Integers) -> None:
        self._gradients = gradients
        self._gradient_mass = int(np.abs(gradients).sum())
        self._products = {}

    def sums(self, clauses: Sequence[Clause]) -> list[Sums | Skipped]:
        new = [clause for clause in dict.fromkeys(clauses) if clause not in self._kept]
        if new:
            self._count(new)
        return [self._sums(clause) for clause in clauses]

    def column(self, clause: Clause) -> Column:
        kept = self._kept[clause]
        assert isinstance(kept, _Kept)
        column: Column = self._blocks[kept.block][kept.row]
        return column

    def close(self) -> None:
        self._kept.clear()
        self._blocks.clear()
        self._products.clear()

    def _sums(self, clause: Clause) -> Sums | Skipped:
        kept = self._kept[clause]
        if isinstance(kept, Skipped):
            return kept
        products = self._products.get(kept.block)
        if products is None:
            products = self._products[kept.block] = self._product(self._blocks[kept.block])
        return Sums(kept.total, kept.true, kept.true_squared, products[kept.row])

    def _count(self, clauses: Sequence[Clause]) -> None:
        counted: list[tuple[Clause, Counts]] = []
        for clause, counts in zip(clauses, self.engine.count(clauses, self.keys), strict=True):
            if isinstance(counts, Skipped):
                self._kept[clause] = counts
            else:
                counted.append((clause, counts))
        by_type: dict[np.dtype[np.generic], list[tuple[Clause, Counts, int]]] = {}
        for clause, counts in counted:
            largest = int(counts.true.max(initial=0))
            by_type.setdefault(np.min_scalar_type(largest), []).append((clause, counts, largest))
        for dtype, members in by_type.items():
            block = np.empty((len(members), len(self.keys)), dtype=dtype)
            for row, (_, counts, _) in enumerate(members):
                block[row] = counts.true
            number = len(self._blocks)
            self._blocks.append(block)
            largest = max(largest for _, _, largest in members)
            true = exact_sums(block, largest)
            squared = exact_square_sums(block, largest)
            for row, (clause, counts, each) in enumerate(members):
                self._kept[clause] = _Kept(number, row, counts.total, true[row], squared[row], each)

    def _product(self, block: Column) -> list[int]:
        return exact_product(block, self._gradients, self._gradient_mass)


def exact_sums(block: Column, largest: int) -> list[int]:
    """The sum of each row, as Python integers."""
    if largest * block.shape[1] < 2**63:
        return block.sum(axis=1, dtype=np.int64).tolist()  # type: ignore[no-any-return]
    return [sum(row.tolist()) for row in block]


def exact_square_sums(block: Column, largest: int) -> list[int]:
    """The sum of squares of each row, as Python integers."""
    bound = largest * largest * block.shape[1]
    if bound < 2**53:
        wide = block.astype(np.float64)
        return [int(value) for value in np.einsum("ij,ij->i", wide, wide)]
    if bound < 2**63:
        wide = block.astype(np.int64)
        return np.einsum("ij,ij->i", wide, wide).tolist()  # type: ignore[no-any-return]
    return [sum(value * value for value in row.tolist()) for row in block]


def exact_product(block: Column, gradients: Integers, mass: int) -> list[int]:
    """The product of each row with the gradients, as Python integers; ``mass`` is their sum of sizes."""
    bound = int(block.max(initial=0)) * mass
    if bound < 2**53:
        product = block.astype(np.float64) @ gradients.astype(np.float64)
        return [int(value) for value in product]
    if bound < 2**63:
        return (block.astype(np.int64) @ gradients).tolist()  # type: ignore[no-any-return]
    values = gradients.tolist()
    return [sum(t * d for t, d in zip(row.tolist(), values, strict=True)) for row in block]
