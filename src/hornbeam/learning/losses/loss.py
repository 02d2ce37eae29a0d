"""Losses: what a learner minimises. Search, curves, bags and engines do not know which one it is.

A learner works in units of its own: targets of the order of 1, as whole multiples of 2**-30, so that their
sums are exact. ``Unit`` turns its scores into the scores of a model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from hornbeam.learning.numbers import GRADIENT_BITS, Floats
from hornbeam.model.scales import LOGISTIC, sigmoid

_UNITS = 2.0**GRADIENT_BITS
Score = Any
"""The score of an example: a number, or a number for each class."""


class Unit(NamedTuple):
    """A score of a model is ``centre + scale * score`` of the learner."""

    centre: float = 0.0
    scale: float = 1.0

    def of_model(self, score: float) -> float:
        """The score in a model."""
        return self.centre + self.scale * score

    def of_learner(self, score: float) -> float:
        """The score in the learner."""
        return (score - self.centre) / self.scale


PLAIN_UNIT = Unit()


class Loss(Protocol):
    """A convex loss of a score for each example, with its first two derivatives; losses inherit from it."""

    name: str
    """its name in ``SCALES``, which say what its scores stand for"""
    measure: str
    """the name of the measure that readers see"""
    constant: str
    """what predicts the same for all examples"""
    together: bool = False
    """whether the loss of an example depends on the scores of others: examples keep their order, and none is
    merged with another one"""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an example's score: empty if it is one number."""
        return ()

    @property
    def pace(self) -> float:
        """The share of a Newton step that a step takes."""
        return 1.0

    def refusal(self, values: Floats) -> str:
        """Why it cannot learn these values; empty if it can."""
        return ""

    def prepared(self, values: Floats, weights: Floats) -> tuple[Floats, Unit]:
        """The targets of the learner for the values of examples, and its unit."""
        ...

    def start(self, targets: Floats, weights: Floats) -> Score:
        """The constant score with the least loss."""
        ...

    def gradients(self, targets: Floats, scores: Floats) -> tuple[Floats, Floats]:
        """For each example, minus the derivative of the loss, and its curvature; both of the order of 1."""
        ...

    def each(self, targets: Floats, scores: Floats) -> Floats:
        """The loss of each example."""
        ...

    def excess(self, targets: Floats, right: Floats, scores: Floats) -> Floats:
        """How much more loss than the right scores the scores of examples have, on average over targets.

        The right scores are those that the targets were drawn for.
        """
        ...

    def measured(self, loss: float, unit: Unit) -> float:
        """The measure that readers see, for a mean loss."""
        ...

    def smooth(self) -> Loss:
        """The loss by which many weights are fitted together: itself if Newton's method works for it."""
        return self

    def kept(self, unit: Unit) -> Mapping[str, float]:
        """What a model keeps of the loss beside its name, by the name of the setting."""
        return {}


class Logistic(Loss):
    """Log-loss of labels 0 and 1; the score is in log-odds."""

    name = LOGISTIC
    measure = "log-loss"
    constant = "base rate"

    def prepared(self, values: Floats, weights: Floats) -> tuple[Floats, Unit]:
        return values, PLAIN_UNIT

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

    def excess(self, targets: Floats, right: Floats, scores: Floats) -> Floats:
        more = np.logaddexp(0.0, scores) - np.logaddexp(0.0, right) - sigmoid(right) * (scores - right)
        return np.maximum(more, 0.0)

    def measured(self, loss: float, unit: Unit) -> float:
        return loss


def whole_units(values: Floats) -> Floats:
    """Values rounded to whole multiples of 2**-30."""
    rounded: Floats = np.rint(values * _UNITS) / _UNITS
    return rounded


def binary_scale(values: Floats) -> float:
    """The power of two that brings the largest value between 1/2 and 1: division by it is exact."""
    return math.ldexp(1.0, min(math.frexp(float(np.abs(values).max()))[1], 1023))


def exact_mean(values: Floats, weights: Floats) -> float:
    """The weighted mean; it does not depend on the order of the examples."""
    return math.fsum((values * weights).tolist()) / math.fsum(weights.tolist())
