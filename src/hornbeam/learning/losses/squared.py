"""Squared error: the model predicts the mean."""

from __future__ import annotations

import math

import numpy as np

from hornbeam.learning.losses.loss import Loss, Unit, binary_scale, exact_mean, whole_units
from hornbeam.learning.numbers import Floats
from hornbeam.model.scales import SQUARED


class Squared(Loss):
    """Half the squared error; the unit is the standard deviation of the values around their mean."""

    name = SQUARED
    measure = "RMSE"
    constant = "mean"

    def prepared(self, values: Floats, weights: Floats) -> tuple[Floats, Unit]:
        size = binary_scale(values)
        small = values / size
        centre = exact_mean(small, weights)
        spread = math.sqrt(exact_mean((small - centre) ** 2, weights))
        return whole_units((small - centre) / spread), Unit(centre * size, spread * size)

    def start(self, targets: Floats, weights: Floats) -> float:
        total = float(weights.sum())
        return float((weights * targets).sum()) / total if total > 0 else 0.0

    def gradients(self, targets: Floats, scores: Floats) -> tuple[Floats, Floats]:
        return targets - scores, np.ones_like(scores)

    def each(self, targets: Floats, scores: Floats) -> Floats:
        left = targets - scores
        return 0.5 * left * left

    def excess(self, targets: Floats, right: Floats, scores: Floats) -> Floats:
        return self.each(right, scores)

    def measured(self, loss: float, unit: Unit) -> float:
        return unit.scale * math.sqrt(2.0 * loss)
