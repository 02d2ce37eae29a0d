"""Logistic regression on many sparse features under a ridge penalty.

Each Newton step is solved by conjugate gradients: no matrix of features by features is made, so thousands
of features cost no more than their entries. Products with a sparse matrix add in the order of its entries,
whatever the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hornbeam.data.sparse import Matrix
from hornbeam.learning.losses.logistic import curvatures, grouped_losses
from hornbeam.learning.losses.newton import Stopping, minimise
from hornbeam.learning.numbers import Floats
from hornbeam.model.clause_model import sigmoid

STOPPING = Stopping(rounds=30, shortest=1e-6)
LEAST_CURVATURE = 1e-10
CLOSE = 1e-4
"""A fit ends when the gradient has shrunk to this share of its length at zero weights."""
INTERCEPT_PENALTY = 1e-3
"""Keeps the intercept finite where one label is missing."""
MOST_TURNS = 60
"""Maximum number of iterations of conjugate gradients."""


def fit_sparse_weights(
    features: Matrix, positives: Floats, negatives: Floats, l2: float, start: Floats | None = None
) -> Floats:
    """The weights that minimise the sum of log-losses plus ``l2/2 * |w|^2``; the intercept comes last.

    Features have a column per weight and a row per group of equal examples; ``positives`` and ``negatives``
    are the numbers of examples in each group. ``start`` has the weights to begin with.
    """
    objective = _SparseLoss(features, positives, negatives, l2)
    if start is None:
        start = np.zeros(features.shape[1] + 1)
        start[-1] = np.log((positives.sum() + 0.5) / (negatives.sum() + 0.5))
    return minimise(objective, start, STOPPING)


class _SparseLoss:
    """The penalised loss of weights of sparse columns."""

    def __init__(self, features: Matrix, positives: Floats, negatives: Floats, l2: float) -> None:
        self.features = features
        self.positives, self.negatives = positives, negatives
        self.sizes = positives + negatives
        self.penalty = np.full(features.shape[1] + 1, l2)
        self.penalty[-1] = INTERCEPT_PENALTY
        self.first_length = _length(self._transposed(positives - 0.5 * self.sizes))

    def scores(self, weights: Floats) -> Floats:
        scores: Floats = self.features @ weights[:-1] + weights[-1]
        return scores

    def loss(self, weights: Floats, scores: Floats) -> float:
        losses = grouped_losses(self.positives, self.negatives, scores)
        return float(losses.sum() + 0.5 * (self.penalty * weights * weights).sum())

    def direction(self, weights: Floats, scores: Floats) -> Floats | None:
        chances = sigmoid(scores)
        gradient = self._transposed(self.positives - self.sizes * chances) - self.penalty * weights
        if _length(gradient) <= CLOSE * self.first_length:
            return None
        curvature = self.sizes * curvatures(chances, LEAST_CURVATURE)

        def hessian_times(vector: Floats) -> Floats:
            return self._transposed(curvature * self.scores(vector)) + self.penalty * vector

        return _solved(hessian_times, gradient)

    def _transposed(self, values: Floats) -> Floats:
        """The product of the transposed features, and of the intercept's column, with values per row."""
        product = np.empty(self.features.shape[1] + 1)
        product[:-1] = self.features.transposed_times(values)
        product[-1] = values.sum()
        return product


def _length(vector: Floats) -> float:
    return math.sqrt(vector.dot(vector))


def _solved(product: Callable[[Floats], Floats], right: Floats) -> Floats:
    """Solve ``product(x) = right`` by conjugate gradients until the residual is a hundredth of ``right``."""
    solution = np.zeros_like(right)
    residual = right.copy()
    direction = residual.copy()
    size = float((residual * residual).sum())
    enough = 1e-4 * size
    for _ in range(MOST_TURNS):
        if size <= enough:
            break
        turned = product(direction)
        length = size / float((direction * turned).sum())
        solution += length * direction
        residual -= length * turned
        new_size = float((residual * residual).sum())
        direction = residual + (new_size / size) * direction
        size = new_size
    return solution
