"""Regression on many sparse features under a ridge penalty, for any smooth loss.

Each Newton step is solved by conjugate gradients: no matrix of features by features is made, so thousands
of features cost no more than their entries. Products with a sparse matrix add in the order of its entries,
whatever the number of threads.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from hornbeam.data.sparse import Matrix
from hornbeam.learning.losses.logistic import curvatures, grouped_losses
from hornbeam.learning.losses.loss import Logistic, Loss, Score
from hornbeam.learning.losses.newton import Stopping, conjugate_gradients, minimise
from hornbeam.learning.losses.softmax import log_softmax
from hornbeam.learning.numbers import Floats
from hornbeam.model.scales import sigmoid

STOPPING = Stopping(rounds=30, shortest=1e-6)
LEAST_CURVATURE = 1e-10
CLOSE = 1e-8
"""A fit ends when the gradient has shrunk to this share of its length at zero weights."""
INTERCEPT_PENALTY = 1e-3
"""Keeps the intercept finite where one label is missing."""
RESIDUE = 0.01
"""A Newton step is solved until at most this share of the gradient remains; less near the optimum."""
MOST_TURNS = 500
"""Maximum number of iterations of conjugate gradients."""


class RowLoss(Protocol):
    """The loss of the scores of rows; a row stands for one example or for several."""

    def start(self) -> Score:
        """The intercept to begin with; with classes, one for each."""
        ...

    def total(self, scores: Floats) -> float:
        """The sum of the losses."""
        ...

    def gradients(self, scores: Floats) -> tuple[Floats, Floats]:
        """For each row, minus the derivative of its loss, and its curvature."""
        ...

    def turned(self, curvatures: Floats, change: Floats) -> Floats:
        """How a small change of the scores changes minus the gradients."""
        ...


class SeparateRows:
    """Rows with one score each."""

    def turned(self, curvatures: Floats, change: Floats) -> Floats:
        result: Floats = curvatures * change
        return result


class GroupedLogistic(SeparateRows):
    """The log-loss of rows that stand for a number of positives and a number of negatives."""

    def __init__(self, positives: Floats, negatives: Floats) -> None:
        self.positives, self.negatives = positives, negatives
        self.sizes = positives + negatives

    def start(self) -> float:
        return float(np.log((self.positives.sum() + 0.5) / (self.negatives.sum() + 0.5)))

    def total(self, scores: Floats) -> float:
        return float(grouped_losses(self.positives, self.negatives, scores).sum())

    def gradients(self, scores: Floats) -> tuple[Floats, Floats]:
        chances = sigmoid(scores)
        return self.positives - self.sizes * chances, self.sizes * curvatures(chances, LEAST_CURVATURE)


class WeightedRows(SeparateRows):
    """Any smooth loss of examples, each with a weight."""

    def __init__(self, loss: Loss, targets: Floats, weights: Floats) -> None:
        self.loss, self.targets, self.weights = loss, targets, weights

    def start(self) -> Score:
        return self.loss.start(self.targets, self.weights)

    def total(self, scores: Floats) -> float:
        return float((self.weights * self.loss.each(self.targets, scores)).sum())

    def gradients(self, scores: Floats) -> tuple[Floats, Floats]:
        first, second = self.loss.gradients(self.targets, scores)
        return self.weights * first, self.weights * np.maximum(second, LEAST_CURVATURE)


class ClassRows:
    """The log-loss of examples with a score for each class, each with a weight."""

    def __init__(self, loss: Loss, targets: Floats, weights: Floats) -> None:
        self.loss, self.targets, self.weights = loss, targets, weights

    def start(self) -> Score:
        return self.loss.start(self.targets, self.weights)

    def total(self, scores: Floats) -> float:
        return float((self.weights * self.loss.each(self.targets, scores)).sum())

    def gradients(self, scores: Floats) -> tuple[Floats, Floats]:
        """Minus the derivatives, and the probabilities, which say the curvature."""
        chances = np.exp(log_softmax(scores))
        first = -chances
        first[np.arange(len(first)), self.targets.astype(np.intp)] += 1.0
        return self.weights[:, None] * first, chances

    def turned(self, curvatures: Floats, change: Floats) -> Floats:
        mean = (curvatures * change).sum(axis=1, keepdims=True)
        result: Floats = self.weights[:, None] * curvatures * (change - mean)
        return result


def rows_of(loss: Loss, targets: Floats, weights: Floats) -> RowLoss:
    """The loss of weighted examples."""
    if isinstance(loss, Logistic):
        return GroupedLogistic(weights * targets, weights * (1.0 - targets))
    return ClassRows(loss, targets, weights) if loss.shape else WeightedRows(loss, targets, weights)


def fit_sparse_weights(features: Matrix, rows: RowLoss, l2: float, start: Floats | None = None) -> Floats:
    """The weights that minimise the loss of the rows plus ``l2/2 * |w|^2``; the intercept comes last.

    Features have a column per weight. ``start`` has the weights to begin with.
    """
    objective = _SparseLoss(features, rows, l2)
    if start is None:
        first = rows.start()
        start = np.zeros((features.shape[1] + 1, *np.shape(first)))
        start[-1] = first
    return minimise(objective, start, STOPPING)


class _SparseLoss:
    """The penalised loss of weights of sparse columns."""

    def __init__(self, features: Matrix, rows: RowLoss, l2: float) -> None:
        self.features, self.rows = features, rows
        self.penalty = np.full(features.shape[1] + 1, l2)
        self.penalty[-1] = INTERCEPT_PENALTY
        zero = np.zeros((features.shape[0], *np.shape(rows.start())))
        self.penalty = self.penalty.reshape(-1, *(1 for _ in zero.shape[1:]))
        self.first_length = _length(self._transposed(rows.gradients(zero)[0]))

    def scores(self, weights: Floats) -> Floats:
        scores: Floats = self.features @ weights[:-1] + weights[-1]
        return scores

    def loss(self, weights: Floats, scores: Floats) -> float:
        return self.rows.total(scores) + 0.5 * float((self.penalty * weights * weights).sum())

    def direction(self, weights: Floats, scores: Floats) -> Floats | None:
        first, curvature = self.rows.gradients(scores)
        gradient = self._transposed(first) - self.penalty * weights
        share = _length(gradient) / self.first_length if self.first_length else 0.0
        if share <= CLOSE:
            return None

        def hessian_times(vector: Floats) -> Floats:
            turned = self.rows.turned(curvature, self.scores(vector))
            return self._transposed(turned) + self.penalty * vector

        return conjugate_gradients(hessian_times, gradient, min(RESIDUE, share), MOST_TURNS)

    def _transposed(self, values: Floats) -> Floats:
        """The product of the transposed features, and of the intercept's column, with values per row."""
        product = np.empty((self.features.shape[1] + 1, *values.shape[1:]))
        product[:-1] = self.features.transposed_times(values)
        product[-1] = values.sum(axis=0)
        return product


def _length(vector: Floats) -> float:
    flat = vector.ravel()
    return math.sqrt(flat.dot(flat))
