"""Groups of training examples: one example stands for all of its group.

Examples with equal values of the head variables that a path uses have equal features, so these are computed
once for each distinct key. Examples with equal bins and equal targets are handled as one in boosting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes
from hornbeam.data.rows import distinct_rows, mixed
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.engines.questions import FeatureRequest, FrequentConstant, ValueRequest
from hornbeam.learning.numbers import Floats

WORTHWHILE = 2
"""Keys are made distinct if this divides their number at least."""


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


class BinHashes:
    """A hash of the bins of each example, for a growing number of candidates."""

    def __init__(self) -> None:
        self.number = 0
        """number of candidates so far"""
        self._sums: npt.NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)

    def groups(self, bins: Sequence[npt.NDArray[np.uint8]], columns: list[Floats]) -> EqualExamples:
        """The groups of examples with equal bins of all candidates and equal numbers in all columns.

        The first candidates are those of the call before.
        """
        levels = np.arange(256, dtype=np.uint64)
        if not self.number:
            self._sums = np.zeros(len(columns[0]), dtype=np.uint64)
        for row in bins[self.number :]:
            self.number += 1
            known = levels[: int(row.max(initial=0)) + 1]
            self._sums += mixed(known + np.uint64(self.number << 8))[row]
        return _groups_of(self._sums, self.number, columns)


def all_alone(size: int) -> EqualExamples:
    """Groups of one example each, in order."""
    return EqualExamples(np.arange(size), np.arange(size))


def _groups_of(of_bins: npt.NDArray[np.uint64], number: int, columns: list[Floats]) -> EqualExamples:
    """The groups of examples with equal hashes of their bins and equal numbers in all columns."""
    hashes = np.stack([of_bins, of_bins * np.uint64(3)])
    for column in columns:
        number += 1
        values = mixed((column + 0.0).view(np.uint64) + np.uint64(number))
        hashes += mixed(values * np.uint64(2 * number + 1)) * np.array([[1], [5]], dtype=np.uint64)
    both = hashes[0] ^ mixed(hashes[1])
    _, first, which = np.unique(both, return_index=True, return_inverse=True)
    return EqualExamples(first.astype(np.int64), which.ravel().astype(np.int64))


@dataclass(eq=False)
class DistinctKeys:
    """What an engine says of keys; ``equal`` says which key each example has, None if each has its own."""

    engine: Engine
    keys: Codes
    equal: EqualExamples | None = None

    def __post_init__(self) -> None:
        self.sizes: Floats | None = None if self.equal is None else self.equal.counts
        """how many examples have each key; None for one"""
        self.own = self.keys if self.equal is None else self.keys[self.equal.first]
        """the distinct keys"""

    def __len__(self) -> int:
        return len(self.own)

    def expect(self, requests: Sequence[FeatureRequest]) -> None:
        """Tell the engine what will probably be asked for next."""
        self.engine.expect(requests, self.own)

    def features(self, requests: Sequence[FeatureRequest]) -> Iterator[Floats | Skipped]:
        """The value of each feature for each key."""
        return self.engine.features(requests, self.own)

    def thresholds(self, requests: Sequence[ValueRequest], number: int) -> list[tuple[float, ...] | Skipped]:
        """Thresholds that divide the values in the groundings of all examples."""
        return self.engine.thresholds(requests, number, self.own, self.sizes)

    def constants(
        self, requests: Sequence[ValueRequest], number: int
    ) -> list[tuple[FrequentConstant, ...] | Skipped]:
        """The constants that most examples have."""
        return self.engine.constants(requests, number, self.own, self.sizes)


def distinct_keys(engine: Engine, keys: Codes, used: tuple[int, ...], arity: int) -> DistinctKeys:
    """The distinct keys, if a body uses some of the head variables, or the cut-offs alone."""
    if used == tuple(range(arity)):
        return DistinctKeys(engine, keys)
    first, which = distinct_rows([keys[:, variable] for variable in used], len(keys))
    if WORTHWHILE * len(first) > len(keys):
        return DistinctKeys(engine, keys)
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return DistinctKeys(engine, keys, EqualExamples(first[order], place[which]))
