"""The loss of several classes learned together: an example has a score for each class, on one softmax."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.learning.losses.loss import PLAIN_UNIT, Loss, Unit
from hornbeam.learning.losses.softmax import log_softmax
from hornbeam.learning.numbers import Floats
from hornbeam.model.scales import SOFTMAX

LEAST = 0.5
"""A class counts as this many examples at least in the constant score."""
LEAST_CURVATURE = 1e-9


@dataclass(frozen=True, eq=False)
class ClassLoss(Loss):
    """The log-loss of the softmax of the scores; targets are the places of the classes.

    Scores have the classes as their last axis. Each class has a Newton step of its own. Together these go too
    far, because what raises one class lowers the others; the share (K - 1) / K of them is what one score
    would do for two classes.
    """

    n_classes: int = 2
    name = SOFTMAX
    measure = "log-loss"
    constant = "base rate"

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n_classes,)

    @property
    def pace(self) -> float:
        return (self.n_classes - 1) / self.n_classes

    def refusal(self, values: Floats) -> str:
        return "it has numbers, not classes"

    def prepared(self, values: Floats, weights: Floats) -> tuple[Floats, Unit]:
        return values, PLAIN_UNIT

    def start(self, targets: Floats, weights: Floats) -> Floats:
        sums = np.bincount(targets.astype(np.intp), weights, minlength=self.n_classes)
        logs: Floats = np.log(np.maximum(sums, LEAST) / np.maximum(sums, LEAST).sum())
        centred: Floats = logs - logs.mean()
        return centred

    def gradients(self, targets: Floats, scores: Floats) -> tuple[Floats, Floats]:
        chances = np.exp(log_softmax(scores))
        first = -chances
        first[np.arange(len(targets)), targets.astype(np.intp)] += 1.0
        return first, np.maximum(chances * (1.0 - chances), LEAST_CURVATURE)

    def each(self, targets: Floats, scores: Floats) -> Floats:
        logs = log_softmax(scores)
        places = np.broadcast_to(targets.astype(np.intp), np.broadcast_shapes(targets.shape, logs.shape[:-1]))
        logs = np.broadcast_to(logs, (*places.shape, self.n_classes))
        result: Floats = -np.take_along_axis(logs, places[..., None], axis=-1)[..., 0]
        return result

    def excess(self, targets: Floats, right: Floats, scores: Floats) -> Floats:
        logs = log_softmax(right)
        more: Floats = (np.exp(logs) * (logs - log_softmax(scores))).sum(axis=-1)
        return np.maximum(more, 0.0)

    def measured(self, loss: float, unit: Unit) -> float:
        return loss
