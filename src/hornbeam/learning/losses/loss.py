"""Losses: what a learner minimises. Search, curves, bags and engines do not know which one it is."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hornbeam.learning.numbers import Floats


class Loss(Protocol):
    """A convex loss of a score for each example, with its first two derivatives."""

    name: str

    def start(self, targets: Floats, weights: Floats) -> float:
        """The constant score with the least loss."""
        ...

    def gradients(self, targets: Floats, scores: Floats) -> tuple[Floats, Floats]:
        """For each example, minus the derivative of the loss, and its curvature; both of the order of 1."""
        ...

    def each(self, targets: Floats, scores: Floats) -> Floats:
        """The loss of each example."""
        ...


class Logistic:
    """Log-loss of labels 0 and 1; the score is in log-odds."""

    name = "logistic"

    def start(self, targets: Floats, weights: Floats) -> float:
        total, positive = float(weights.sum()), float((weights * targets).sum())
        share = min(max(positive, 0.5), total - 0.5) / total if total > 1 else 0.5
        return float(np.log(share / (1.0 - share)))

    def gradients(self, targets: Floats, scores: Floats) -> tuple[Floats, Floats]:
        small = np.exp(-np.abs(scores))
        odds = 1.0 / (1.0 + small)
        chance = np.where(scores >= 0, odds, small * odds)
        return targets - chance, chance * (1.0 - chance)

    def each(self, targets: Floats, scores: Floats) -> Floats:
        result: Floats = np.logaddexp(0.0, (1.0 - 2.0 * targets) * scores)
        return result
