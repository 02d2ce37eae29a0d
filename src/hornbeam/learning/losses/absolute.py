"""Absolute error: the model predicts the median, and outliers count little."""

from __future__ import annotations

import numpy as np

from hornbeam.learning.losses.loss import Loss, Unit, binary_scale, exact_mean, whole_units
from hornbeam.learning.losses.squared import Squared
from hornbeam.learning.numbers import Floats

LEAST = 0.01
"""The curvature is at most one over this."""
LOOKED_AT = 20_000
"""About this many residuals decide the curvature."""


def weighted_median(values: Floats, weights: Floats) -> float:
    """The smallest value that half of the weight does not exceed; 0 without weight."""
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weights[order])
    if not sums[-1] > 0:
        return 0.0
    return float(values[order[int(np.searchsorted(sums, 0.5 * sums[-1]))]])


class Absolute(Loss):
    """The absolute error; the unit is the mean absolute difference of the values from their median.

    The gradient is the sign of the residual. The curvature is the same for all examples: one over the median
    size of the residuals, so that a step has about their size.
    """

    name = "absolute"
    measure = "MAE"
    constant = "median"

    def prepared(self, values: Floats, weights: Floats) -> tuple[Floats, Unit]:
        size = binary_scale(values)
        small = values / size
        centre = self.start(small, weights)
        spread = exact_mean(np.abs(small - centre), weights)
        return whole_units((small - centre) / spread), Unit(centre * size, spread * size)

    def start(self, targets: Floats, weights: Floats) -> float:
        return weighted_median(targets, weights)

    def gradients(self, targets: Floats, scores: Floats) -> tuple[Floats, Floats]:
        left = targets - scores
        some = np.abs(left[:: len(left) // LOOKED_AT + 1])
        sizes = np.maximum(np.median(some, axis=0), LEAST) if len(some) else LEAST
        return np.sign(left), np.broadcast_to(1.0 / sizes, left.shape)

    def each(self, targets: Floats, scores: Floats) -> Floats:
        return np.abs(targets - scores)

    def excess(self, targets: Floats, right: Floats, scores: Floats) -> Floats:
        # A small error costs by its square, because about half of the targets are on its other side.
        left = np.abs(right - scores)
        _, curvature = self.gradients(targets, right)
        return left * np.minimum(0.5 * curvature * left, 1.0)

    def measured(self, loss: float, unit: Unit) -> float:
        return unit.scale * loss

    def smooth(self) -> Loss:
        return Squared()
