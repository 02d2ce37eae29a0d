"""Groups of training examples with equal bins and equal targets: one example stands for all of its group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hornbeam.data.hashes import mixed
from hornbeam.learning.numbers import Floats


@dataclass(frozen=True, eq=False)
class EqualExamples:
    """The first example of each group, and the group of each example."""

    first: npt.NDArray[np.int64]
    which: npt.NDArray[np.int64]

    @cached_property
    def counts(self) -> Floats:
        """The number of examples in each group."""
        return self.sizes()

    def sizes(self, weights: Floats | None = None) -> Floats:
        """The number of examples in each group, or the sum of their weights."""
        return np.bincount(self.which, weights, minlength=len(self.first)).astype(np.float64)

    def summed(self, values: Floats) -> Floats:
        """The sum over each group of each column of values."""
        columns = [np.bincount(self.which, column, minlength=len(self.first)) for column in values.T]
        return np.column_stack(columns).astype(np.float64)


def groups_of(bins: npt.NDArray[np.uint8], columns: list[Floats]) -> EqualExamples:
    """The groups of examples with equal bins of all candidates and equal numbers in all columns."""
    size = len(columns[0])
    hashes = np.zeros((2, size), dtype=np.uint64)
    number = 0
    for row in bins:
        number += 1
        hashes += mixed(row.astype(np.uint64) + np.uint64(number << 8)) * np.array(
            [[1], [3]], dtype=np.uint64
        )
    for column in columns:
        number += 1
        values = mixed((column + 0.0).view(np.uint64) + np.uint64(number))
        hashes += mixed(values * np.uint64(2 * number + 1)) * np.array([[1], [5]], dtype=np.uint64)
    both = hashes[0] ^ mixed(hashes[1])
    _, first, which = np.unique(both, return_index=True, return_inverse=True)
    return EqualExamples(first.astype(np.int64), which.ravel().astype(np.int64))
