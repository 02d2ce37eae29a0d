"""How well probabilities rank and how far they can be trusted, as numbers: what plots are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Labels = npt.NDArray[Any]

POINTS = 300
"""Points of a curve that are kept: more cannot be seen."""
BINS = 10
THRESHOLDS = tuple(round(0.05 * number, 2) for number in range(1, 20))


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """How many positives and negatives have at least each distinct probability, the highest first."""

    thresholds: Floats
    positives: Integers
    """cumulated, like the negatives"""
    negatives: Integers

    @property
    def n_pos(self) -> int:
        return int(self.positives[-1])

    @property
    def n_neg(self) -> int:
        return int(self.negatives[-1])

    def roc(self) -> tuple[Floats, Floats]:
        """The share of negatives (x) and of positives (y) found, from (0, 0) to (1, 1)."""
        x = np.concatenate([[0.0], self.negatives / self.n_neg])
        y = np.concatenate([[0.0], self.positives / self.n_pos])
        return x, y

    def precision_recall(self, negatives_per_positive: float | None = None) -> tuple[Floats, Floats]:
        """Recall (x) and precision (y); with a ratio, precision as if negatives were that many."""
        weight = 1.0
        if negatives_per_positive is not None:
            weight = min(1.0, negatives_per_positive * self.n_pos / self.n_neg)
        above = self.positives
        return above / self.n_pos, above / np.maximum(above + weight * self.negatives, 1e-300)

    def at(self, threshold: float) -> tuple[int, int]:
        """Positives and negatives with at least that probability."""
        place = int(np.searchsorted(-self.thresholds, -threshold, side="right"))
        return (int(self.positives[place - 1]), int(self.negatives[place - 1])) if place else (0, 0)


def ranking(labels: Labels, probabilities: Floats) -> Ranking:
    """The ranking of labels 0 and 1 by their probabilities.

    >>> found = ranking(np.array([1, 0, 1]), np.array([0.9, 0.5, 0.5]))
    >>> found.thresholds.tolist(), found.positives.tolist(), found.negatives.tolist()
    ([0.9, 0.5], [1, 2], [0, 1])
    >>> found.at(0.5), found.at(0.7), found.at(1.0)
    ((2, 1), (1, 0), (0, 0))
    """
    values, group = np.unique(-probabilities, return_inverse=True)
    group = group.ravel()
    is_positive = labels == 1
    return Ranking(
        -values,
        np.cumsum(np.bincount(group[is_positive], minlength=len(values))),
        np.cumsum(np.bincount(group[~is_positive], minlength=len(values))),
    )


def thinned(x: Floats, y: Floats, points: int = POINTS) -> tuple[Floats, Floats]:
    """Points evenly spaced along a curve, its ends among them: fewer, and the same to look at."""
    if len(x) <= points:
        return x, y
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    places = np.unique(np.searchsorted(along, np.linspace(0.0, along[-1], points)))
    places = np.unique(np.concatenate([places, [0, len(x) - 1]]))
    return x[places], y[places]


class Bin(NamedTuple):
    """Examples of similar probability: their mean, the share of positives, and how many."""

    mean: float
    share: float
    examples: int
    low: float
    """of the interval that holds the share with 95 % confidence (Wilson)"""
    high: float


def calibration(labels: Labels, probabilities: Floats, bins: int = BINS) -> list[Bin]:
    """Bins in order of probability, each about as uncertain as the others.

    Equal are the sums of p(1 - p), the variance of the number of positives: of rare positives tenths of
    the examples would tell nothing. Equal probabilities are never in two bins.

    >>> found = calibration(np.array([0, 0, 0, 1]), np.array([.25, .25, .25, .75]), 2)
    >>> [(each.mean, each.share, each.examples) for each in found]
    [(0.25, 0.0, 3), (0.75, 1.0, 1)]
    """
    order = np.argsort(probabilities, kind="stable")
    ordered, of_label = probabilities[order], (labels[order] == 1)
    sums = np.cumsum(ordered * (1.0 - ordered) + 1e-12)
    wanted = np.searchsorted(sums, sums[-1] * np.arange(1, bins) / bins)
    cuts = [int(np.searchsorted(ordered, ordered[place], side="right")) for place in wanted.tolist()]
    edges = sorted({0, *cuts, len(ordered)})
    found = []
    for start, end in pairwise(edges):
        size, share = end - start, float(of_label[start:end].mean())
        low, high = _wilson(share, size)
        found.append(Bin(float(ordered[start:end].mean()), share, size, low, high))
    return found


def _wilson(share: float, size: int, z: float = 1.96) -> tuple[float, float]:
    middle = (share + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * np.sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def histogram(values: Floats, edges: Sequence[float] | Floats) -> Integers:
    """How many values are in each interval; those outside belong to the first or the last."""
    clipped = np.clip(values, edges[0], edges[-1])
    return np.histogram(clipped, bins=np.asarray(edges))[0].astype(np.int64)
