"""The numbers that plots of predictions are drawn from: thinned curves, calibration bins, histograms."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Labels = npt.NDArray[Any]

POINTS = 300
"""Maximum number of points of a drawn curve; more would not be visible."""
BINS = 10
THRESHOLDS = tuple(round(0.05 * number, 2) for number in range(1, 20))


def thinned(x: Floats, y: Floats, points: int = POINTS) -> tuple[Floats, Floats]:
    """Evenly spaced points of a curve, including both ends, so that fewer points look the same."""
    if len(x) <= points:
        return x, y
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    places = np.unique(np.searchsorted(along, np.linspace(0.0, along[-1], points)))
    places = np.unique(np.concatenate([places, [0, len(x) - 1]]))
    return x[places], y[places]


class Bin(NamedTuple):
    """Examples of similar probability: mean probability, share of positives, number of examples."""

    mean: float
    share: float
    examples: int
    low: float
    high: float
    """low and high bound the share with 95 % confidence (Wilson)"""


def calibration(labels: Labels, probabilities: Floats, bins: int = BINS) -> list[Bin]:
    """Bins in order of probability, each with about the same variance of the number of positives.

    Bins have equal sums of p(1 - p). With equal numbers of examples instead, most bins would hold no
    positives if positives are rare. Examples with equal probabilities are in the same bin.

    >>> bins = calibration(np.array([0, 0, 0, 1]), np.array([.25, .25, .25, .75]), 2)
    >>> [(each.mean, each.share, each.examples) for each in bins]
    [(0.25, 0.0, 3), (0.75, 1.0, 1)]
    """
    order = np.argsort(probabilities, kind="stable")
    ordered, of_label = probabilities[order], (labels[order] == 1)
    sums = np.cumsum(ordered * (1.0 - ordered) + 1e-12)
    wanted = np.searchsorted(sums, sums[-1] * np.arange(1, bins) / bins)
    cuts = [int(np.searchsorted(ordered, ordered[place], side="right")) for place in wanted.tolist()]
    edges = sorted({0, *cuts, len(ordered)})
    calibrated = []
    for start, end in pairwise(edges):
        size, share = end - start, float(of_label[start:end].mean())
        low, high = _wilson(share, size)
        calibrated.append(Bin(float(ordered[start:end].mean()), share, size, low, high))
    return calibrated


def _wilson(share: float, size: int, z: float = 1.96) -> tuple[float, float]:
    """The Wilson interval of a share; 1.96 standard deviations are 95 % confidence."""
    middle = (share + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * np.sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def histogram(values: Floats, edges: Sequence[float] | Floats) -> Integers:
    """How many values are in each interval; values outside count in the first or the last interval."""
    clipped = np.clip(values, edges[0], edges[-1])
    return np.histogram(clipped, bins=np.asarray(edges))[0].astype(np.int64)
