"""The loss of choices: which of several alternatives is right (conditional logit).

The target of an example states its choice and its label in one number, so that examples may be taken apart
and put together again as long as they are in order. The alternatives of a choice stand side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hornbeam.data.rows import Integers
from hornbeam.learning.losses.loss import PLAIN_UNIT, Loss, Unit
from hornbeam.learning.numbers import Floats
from hornbeam.model.scales import CHOICE

STARTING = 30
"""Number of Newton steps to the best constant score beside alternatives elsewhere."""
LEAST = 1e-3
SHORTEST = 0.25
"""The curvature of an example is at least this share of its gradient: no step changes a score by more than 4,
however sure a wrong probability is."""
SUREST = 0.25
"""The curvature of an example is at least this share of that with equal chances: a choice of which a model is
sure still counts when its curves are fitted to fewer effects."""
LEAST_SCORE = -700.0
"""A smaller score has no probability."""


def targets_of(choices: Integers, labels: Floats) -> Floats:
    """A number for each example that states its choice, which is a number from 0 on, and its label."""
    result: Floats = 2.0 * choices + labels
    return result


class _Alternatives(NamedTuple):
    """Which examples are alternatives of one choice; a choice is a run of neighbours."""

    starts: Integers
    sizes: Integers
    right: Floats
    """the share of each alternative in the right ones of its choice"""
    elsewhere: Floats
    """for each choice, the share of the right ones that are not among the examples"""
    others: Floats
    """for each choice, the logarithm of the sum of the exponentials of the scores elsewhere"""

    def each(self, of_choices: Floats) -> Floats:
        """The value of its choice for each example."""
        return np.repeat(of_choices, self.sizes)

    def log_sums(self, scores: Floats) -> Floats:
        """For each choice, the logarithm of the sum of the exponentials of all its scores."""
        most = np.maximum(np.maximum.reduceat(scores, self.starts), self.others)
        sums = np.add.reduceat(np.exp(scores - self.each(most)), self.starts)
        result: Floats = most + np.log(sums + np.exp(self.others - most))
        return result


@dataclass(frozen=True, eq=False)
class ChoiceLoss(Loss):
    """The log-loss of the right alternative of each choice; several right ones are equal.

    It is the cross-entropy between equal shares of the right alternatives and the softmax of the scores. It
    counts for the right examples alone; ``alternatives``, the mean size of a choice, makes a mean over
    examples one over choices. ``elsewhere`` has, for each choice, what ``Examples.elsewhere`` says of its
    alternatives that are not among the examples; their scores are fixed.
    """

    alternatives: float = 1.0
    elsewhere: Floats | None = None
    name = CHOICE
    measure = "log-loss"
    constant = "equal chances"
    together = True

    def refusal(self, values: Floats) -> str:
        return "choices have labels 0 and 1, not numbers"

    def prepared(self, values: Floats, weights: Floats) -> tuple[Floats, Unit]:
        return values, PLAIN_UNIT

    def start(self, targets: Floats, weights: Floats) -> float:
        if self.elsewhere is None:
            return 0.0
        score = 0.0
        for _ in range(STARTING):
            first, second = self.gradients(targets, np.full(len(targets), score))
            score += float((weights * first).sum()) / max(float((weights * second).sum()), LEAST)
        return score

    def gradients(self, targets: Floats, scores: Floats) -> tuple[Floats, Floats]:
        known = self._alternatives(targets)
        chance = np.exp(scores - known.each(known.log_sums(scores)))
        right = known.each(np.add.reduceat(known.right, known.starts) + known.elsewhere)
        first = np.where(right > 0, known.right - chance, 0.0)
        number = known.sizes + (self.elsewhere is not None)
        least = known.each(SUREST * (number - 1) / number**2)
        return first, np.maximum(chance * (1.0 - chance), np.maximum(SHORTEST * np.abs(first), least))

    def each(self, targets: Floats, scores: Floats) -> Floats:
        if scores.ndim == 2:
            targets = np.broadcast_to(targets, (len(targets), 1))[:, 0]
            columns = np.broadcast_to(scores, (len(targets), scores.shape[1]))
            return np.column_stack([self.each(targets, column) for column in columns.T])
        known = self._alternatives(targets)
        sums = known.log_sums(scores)
        result: Floats = known.right * (known.each(sums) - scores)
        if self.elsewhere is not None:
            others = np.where(known.elsewhere > 0, known.others, 0.0)
            result += known.each(known.elsewhere / known.sizes * (sums - others))
        return result

    def excess(self, targets: Floats, right: Floats, scores: Floats) -> Floats:
        known = self._alternatives(targets)
        sums = [known.log_sums(each) for each in (right, scores)]
        result = _divergence(right - known.each(sums[0]), scores - known.each(sums[1]))
        if self.elsewhere is not None:
            others = np.maximum(known.others, LEAST_SCORE)
            result += known.each(_divergence(others - sums[0], others - sums[1]) / known.sizes)
        return result

    def measured(self, loss: float, unit: Unit) -> float:
        return loss * self.alternatives

    def _alternatives(self, targets: Floats) -> _Alternatives:
        choices = np.floor(targets / 2.0)
        starts = np.flatnonzero(np.diff(choices, prepend=-1.0) != 0).astype(np.int64)
        sizes = np.diff(starts, append=len(targets))
        label = targets - 2.0 * choices
        number = np.add.reduceat(label, starts) if len(starts) else np.zeros(0)
        others, right = np.full(len(starts), -np.inf), np.zeros(len(starts))
        if self.elsewhere is not None:
            others, right = self.elsewhere[choices[starts].astype(np.int64)].T
        total = np.maximum(number + right, 1.0)
        return _Alternatives(starts, sizes, label / np.repeat(total, sizes), right / total, others)


def _divergence(right: Floats, other: Floats) -> Floats:
    """What it costs to have other probabilities than the right ones, from the logarithms of both; at least 0.

    Over all alternatives of a choice, the sum is the divergence of Kullback and Leibler.
    """
    chance = np.exp(right)
    result: Floats = np.maximum(chance * (right - other) - chance + np.exp(other), 0.0)
    return result
