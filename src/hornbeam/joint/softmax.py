"""Weights of neighbours: a softmax over labels, under ridge penalties, beside fixed scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.numbers import Floats

ROUNDS = 50
SHORTEST = 1e-6
CLOSE = 1e-8
"""A fit ends when the loss falls by less than this share."""


class LabelDesign(NamedTuple):
    """Fixed scores of each label, features of the free labels, and labels; one row per example.

    ``features`` has for each example and each free label the values that weights multiply. The free labels
    are the last ones: all, or all but the first.
    """

    fixed: Floats
    features: Floats
    labels: npt.NDArray[np.int64]

    def at(self, rows: npt.NDArray[np.bool_]) -> LabelDesign:
        return LabelDesign(self.fixed[rows], self.features[rows], self.labels[rows])

    def scores(self, weights: Floats) -> Floats:
        scores = self.fixed.copy()
        scores[:, -self.features.shape[1] :] += self.features @ weights
        return scores

    def losses(self, weights: Floats) -> Floats:
        """The log-loss of each example."""
        logs = log_softmax(self.scores(weights))
        losses: Floats = -logs[np.arange(len(logs)), self.labels]
        return losses


def log_softmax(scores: Floats) -> Floats:
    """The logarithm of the probability of each label, from scores."""
    scores = scores - scores.max(axis=1, keepdims=True)
    logs: Floats = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return logs


def fit_softmax(design: LabelDesign, penalties: Floats, start: Floats | None = None) -> Floats:
    """The weights that minimise the sum of log-losses plus half the penalties times the squared weights."""
    weights = np.zeros(len(penalties)) if start is None else start
    loss = _loss(design, weights, penalties)
    for _ in range(ROUNDS):
        direction = _newton_step(design, weights, penalties)
        length = 1.0
        while length > SHORTEST:
            moved = weights + length * direction
            lower = _loss(design, moved, penalties)
            if lower <= loss:
                break
            length /= 2
        else:
            break
        fallen = loss - lower
        weights, loss = moved, lower
        if fallen <= CLOSE * abs(loss):
            break
    return weights


def _loss(design: LabelDesign, weights: Floats, penalties: Floats) -> float:
    return float(design.losses(weights).sum() + 0.5 * (penalties * weights * weights).sum())


def _newton_step(design: LabelDesign, weights: Floats, penalties: Floats) -> Floats:
    features = design.features
    n_examples, n_free, n_weights = features.shape
    chances = np.exp(log_softmax(design.scores(weights)))
    wrong = -chances
    wrong[np.arange(n_examples), design.labels] += 1.0
    free = chances[:, -n_free:]
    gradient = np.einsum("nkp,nk->p", features, wrong[:, -n_free:]) - penalties * weights
    rooted = (features * np.sqrt(free)[:, :, None]).reshape(-1, n_weights)
    mean = np.einsum("nkp,nk->np", features, free)
    curvature = rooted.T @ rooted - mean.T @ mean + np.diag(penalties)
    step: Floats = np.linalg.solve(curvature, gradient)
    return step
