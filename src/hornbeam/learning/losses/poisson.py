"""Poisson loss with a logarithmic link: for counts, and for amounts of at least 0."""

from __future__ import annotations

import math

import numpy as np

from hornbeam.learning.losses.loss import Loss, Unit, binary_scale, exact_mean, whole_units
from hornbeam.learning.numbers import Floats

MOST = 300.0
"""Scores beyond this are treated as this, so that no exponential overflows."""
LEAST_SUM = 0.5
"""The sum of the targets is not taken to be smaller; the mean of all targets is 1."""


class Poisson(Loss):
    """Half the deviance of a Poisson distribution; the score is the logarithm of the mean.

    The unit is the mean of the values. The curvature is the larger one of target and prediction, so that a
    step never changes a prediction by more than a factor of e.
    """

    name = "poisson"
    measure = "Poisson deviance"
    constant = "mean"

    def refusal(self, values: Floats) -> str:
        least = float(values.min())
        return "" if least >= 0 else f"the loss poisson needs numbers of at least 0, found {least:g}"

    def prepared(self, values: Floats, weights: Floats) -> tuple[Floats, Unit]:
        size = binary_scale(values)
        small = values / size
        mean = exact_mean(small, weights)
        return whole_units(small / mean), Unit(math.log(mean) + math.log(size))

    def start(self, targets: Floats, weights: Floats) -> float:
        # For zeros alone the best score is minus infinity, and any other value would cost far too much.
        total = float(weights.sum())
        return math.log(max(float((weights * targets).sum()), LEAST_SUM) / total) if total > 0 else 0.0

    def gradients(self, targets: Floats, scores: Floats) -> tuple[Floats, Floats]:
        mean = np.exp(np.clip(scores, -MOST, MOST))
        return targets - mean, np.maximum(targets, mean)

    def each(self, targets: Floats, scores: Floats) -> Floats:
        score = np.clip(scores, -MOST, MOST)
        least = targets - targets * np.log(np.where(targets > 0, targets, 1.0))
        result: Floats = np.maximum(np.exp(score) - targets * score - least, 0.0)
        return result

    def excess(self, targets: Floats, right: Floats, scores: Floats) -> Floats:
        return self.each(np.exp(np.clip(right, -MOST, MOST)), scores)

    def measured(self, loss: float, unit: Unit) -> float:
        return 2.0 * loss * math.exp(min(unit.centre, MOST))
