"""Huber's loss: squared error for most examples, absolute error for outliers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hornbeam.learning.losses.absolute import weighted_median
from hornbeam.learning.losses.loss import Loss, Unit, binary_scale, exact_mean, whole_units
from hornbeam.learning.numbers import Floats

THRESHOLD = 1.345
"""Larger errors, in robust standard deviations of the target, are outliers: with normal errors, 95 % of the
precision of the squared error is left."""
NORMAL = 1.4826
"""The standard deviation of a normal distribution, in median absolute differences from its median."""
HALVINGS = 60
"""Steps to the best constant: each halves the range in which it lies."""


class Huber(Loss):
    """Half the squared error up to the threshold, and beyond it a line with the slope that it has there.

    The unit is the robust standard deviation of the values: from the median absolute difference from their
    median, or from the mean one, if more than half of the values are equal.
    """

    name = "huber"
    measure = "Huber loss"
    constant = "robust mean"

    def prepared(self, values: Floats, weights: Floats) -> tuple[Floats, Unit]:
        size = binary_scale(values)
        small = values / size
        centre = weighted_median(small, weights)
        away = np.abs(small - centre)
        spread = NORMAL * weighted_median(away, weights) or exact_mean(away, weights)
        return whole_units((small - centre) / spread), Unit(centre * size, spread * size)

    def start(self, targets: Floats, weights: Floats) -> float:
        if not weights.sum() > 0:
            return 0.0
        low, high = float(targets.min()), float(targets.max())
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            first, _ = self.gradients(targets, np.full_like(targets, middle))
            low, high = (middle, high) if float((weights * first).sum()) > 0 else (low, middle)
        return 0.5 * (low + high)

    def gradients(self, targets: Floats, scores: Floats) -> tuple[Floats, Floats]:
        left = targets - scores
        return np.clip(left, -THRESHOLD, THRESHOLD), np.ones_like(left)

    def each(self, targets: Floats, scores: Floats) -> Floats:
        left = np.abs(targets - scores)
        near = np.minimum(left, THRESHOLD)
        result: Floats = near * (left - 0.5 * near)
        return result

    def excess(self, targets: Floats, right: Floats, scores: Floats) -> Floats:
        return self.each(right, scores)

    def measured(self, loss: float, unit: Unit) -> float:
        return unit.scale * unit.scale * loss

    def kept(self, unit: Unit) -> Mapping[str, float]:
        return {"huber_threshold": THRESHOLD * unit.scale}
