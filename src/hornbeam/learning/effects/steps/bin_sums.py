"""Sums over the examples in each bin of many candidates, by sparse products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.sparse import Matrix
from hornbeam.learning.numbers import Floats

Places = npt.NDArray[np.int64]
AT_ONCE = 250_000
"""About this many entries are multiplied at once..."""
CELLS = 200_000
"""... and about this many sums are made."""


class BinSums:
    """The examples in each bin of each candidate; the bin with most examples is left out.

    Its sum is what the other bins leave of the total.
    """

    def __init__(self, size: int, usual: Places, starts: Places, examples: npt.NDArray[np.int32]) -> None:
        self.size = size
        """number of bins of each candidate"""
        self.usual = usual
        self._starts = starts
        self._examples = examples
        most = max((int(self._edge(b) - self._edge(a)) for a, b in self._blocks(1)), default=0)
        self._ones = np.ones(most)

    def __len__(self) -> int:
        return len(self.usual)

    def of(self, values: Floats) -> Iterator[tuple[slice, Floats]]:
        """The sum of each column of values for some candidates and all their bins, until all are done."""
        total = values.sum(axis=0)
        for first, end in self._blocks(values.shape[1]):
            left, right = self._edge(first), self._edge(end)
            rows = (end - first) * self.size
            starts = self._starts[first * self.size : end * self.size + 1] - left
            matrix = Matrix(
                starts.astype(np.int32),
                self._examples[left:right],
                self._ones[: right - left],
                (rows, len(values)),
            )
            sums = (matrix @ values).reshape(end - first, self.size, values.shape[1])
            sums[np.arange(end - first), self.usual[first:end]] = total - sums.sum(axis=1)
            yield slice(first, end), sums

    def take(self, which: Places, size: int) -> BinSums:
        """Some of the candidates, which have at most ``size`` bins."""
        edges = which * self.size
        counts = np.diff(self._starts)[edges[:, None] + np.arange(size)]
        parts = [self._examples[self._edge(each) : self._edge(each + 1)] for each in which.tolist()]
        examples = np.concatenate(parts) if parts else self._examples[:0]
        return BinSums(size, self.usual[which], np.append(0, np.cumsum(counts)), examples)

    def _edge(self, candidate: int) -> int:
        return int(self._starts[candidate * self.size])

    def _blocks(self, width: int) -> list[tuple[int, int]]:
        """Ranges of candidates that are handled at once."""
        edges, number = self._starts[:: self.size], len(self.usual)
        most = max(1, CELLS // (self.size * width))
        blocks, first = [], 0
        while first < number:
            end = int(np.searchsorted(edges, edges[first] + AT_ONCE, side="right")) - 1
            end = min(max(end, first + 1), first + most, number)
            blocks.append((first, end))
            first = end
        return blocks


def bin_sums(bins: npt.NDArray[np.uint8], size: int) -> BinSums:
    """The sums of candidates with ``size`` bins, from the bin of each example for each of them."""
    counts = np.array([np.bincount(row, minlength=size) for row in bins]).reshape(len(bins), size)
    usual = counts.argmax(axis=1)
    counts[np.arange(len(bins)), usual] = 0
    starts = np.append(0, np.cumsum(counts.ravel()))
    examples = np.empty(starts[-1], dtype=np.int32)
    for row, left_out, place in zip(bins, usual.tolist(), starts[::size].tolist(), strict=False):
        others = np.flatnonzero(row != left_out)
        examples[place : place + len(others)] = others[np.argsort(row[others], kind="stable")]
    return BinSums(size, usual, starts, examples)


def summed_by(which: npt.NDArray[Any], values: Floats, size: int) -> Floats:
    """The sums of values over the examples with each number from 0 to ``size``, for each column of values.

    >>> summed_by(np.array([0, 2, 2]), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), 3).tolist()
    [[1.0, 2.0], [0.0, 0.0], [8.0, 10.0]]
    """
    if values.ndim == 1:
        sums: Floats = np.bincount(which, values, minlength=size).astype(np.float64)
        return sums
    return np.stack([np.bincount(which, column, minlength=size) for column in values.T], axis=-1)
