"""Logistic regression on a few dense features under a ridge penalty.

Sums over the examples are computed by ``einsum``, which adds in the order of the examples, or by matrix
products too small to be split among threads. Larger products may add in another order, and so change
the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hornbeam.learning.losses.logistic import curvatures, losses
from hornbeam.learning.losses.newton import Stopping, minimise
from hornbeam.learning.numbers import Floats, Labels, round_weight
from hornbeam.model.scales import sigmoid

STOPPING = Stopping(rounds=100, shortest=1e-9, close=1e-10)
LEAST_CURVATURE = 1e-12
SMALL = 200_000
"""Size (multiplications) of matrix products that BLAS does not split among threads: its limit is 2**18."""
FEW = 64
"""With at most this many features, such a product covers enough examples to be worthwhile."""


class JointWeights(NamedTuple):
    """An intercept and one weight per feature, rounded to 12 significant digits."""

    intercept: float
    weights: tuple[float, ...]

    def scores(self, features: Floats) -> Floats:
        """The log-odds of each example; features are rows, examples columns."""
        scores = np.full(features.shape[1], self.intercept)
        for weight, feature in zip(self.weights, features, strict=True):
            scores += weight * feature
        return scores


def fit_weights(
    features: Floats, labels: Labels, l2: float, start: JointWeights | None = None
) -> JointWeights:
    """The weights w that minimise the sum of log-losses plus ``l2/2 * |w|^2``; the intercept is free.

    Features are rows, examples columns. ``start`` has initial weights of the first features; it saves time,
    and changes at most the last digit. The weights are finite on separable examples because l2 > 0, and the
    intercept is finite if both labels occur.
    """
    means = features.mean(axis=1)
    rows = _centred(features, means)
    penalty = np.full(len(rows), l2)
    penalty[0] = 0.0
    share = float(labels.mean())
    weights = np.zeros(len(rows))
    weights[0] = np.log(share / (1.0 - share))
    if start is not None:
        known = len(start.weights)
        weights[1 : known + 1] = start.weights
        weights[0] = start.intercept + sum(weights[1 : known + 1] * means[:known])
    weights = minimise(_DenseLoss(rows, labels, penalty), weights, STOPPING)
    rounded = tuple(map(round_weight, weights[1:].tolist()))
    intercept = float(weights[0]) - sum(w * m for w, m in zip(rounded, means.tolist(), strict=True))
    return JointWeights(round_weight(intercept), rounded)


def _centred(features: Floats, means: Floats) -> Floats:
    """A row of ones for the intercept, then the features with mean 0."""
    return np.vstack([np.ones(features.shape[1]), features - means[:, None]])


@dataclass(frozen=True, eq=False)
class _DenseLoss:
    """The penalised loss of weights of rows."""

    rows: Floats
    labels: Labels
    penalty: Floats

    def scores(self, weights: Floats) -> Floats:
        scores: Floats = np.einsum("i,ij->j", weights, self.rows)
        return scores

    def loss(self, weights: Floats, scores: Floats) -> float:
        return float(losses(self.labels, scores).sum() + 0.5 * np.sum(self.penalty * weights * weights))

    def direction(self, weights: Floats, scores: Floats) -> Floats:
        chances = sigmoid(scores)
        gradient = np.einsum("ij,j->i", self.rows, self.labels - chances) - self.penalty * weights
        curvature = _products(self.rows, curvatures(chances, LEAST_CURVATURE)) + np.diag(self.penalty)
        direction: Floats = np.linalg.solve(curvature, gradient)
        return direction


def _products(rows: Floats, weights: Floats) -> Floats:
    """The sums over the examples of the weighted products of every two rows."""
    number, examples = rows.shape
    if number > FEW:
        all_at_once: Floats = np.einsum("ij,kj->ik", rows * weights, rows)
        return all_at_once
    size = SMALL // number**2
    whole = examples // size * size
    blocks = rows[:, :whole].reshape(number, -1, size).transpose(1, 0, 2)
    weighted = blocks * weights[:whole].reshape(-1, 1, size)
    remaining = rows[:, whole:]
    sums: Floats = np.matmul(weighted, blocks.transpose(0, 2, 1)).sum(axis=0)
    sums += np.einsum("ij,kj->ik", remaining * weights[whole:], remaining)
    return sums
