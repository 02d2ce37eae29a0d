"""Logistic regression on many sparse features under a ridge penalty.

Newton's method, each step solved by conjugate gradients: no matrix of features by features is made, so
thousands of features cost no more than their entries. Products with a sparse matrix add in the order of
its entries, whatever the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hornbeam.data.sparse import Matrix
from hornbeam.model.clause_model import sigmoid

Floats = npt.NDArray[np.float64]

MOST_ROUNDS = 30
MOST_TURNS = 60
CLOSE = 1e-4
"""A fit ends when the slope has shrunk to this share of what it was at zero weights."""


def logistic_weights(
    features: Matrix, positives: Floats, negatives: Floats, l2: float, start: Floats | None = None
) -> Floats:
    """The weights that minimise the sum of log-losses plus ``l2/2 * |w|^2``; last, the intercept.

    Features have a row per example, or for some positives and negatives that are alike, and a column per
    weight; ``start`` is where to begin.
    The intercept is hardly penalised; where one label is missing the little keeps it finite.
    """
    columns = features.shape[1]
    penalty = np.full(columns + 1, l2)
    penalty[columns] = 1e-3
    sizes = positives + negatives
    if start is None:
        weights = np.zeros(columns + 1)
        weights[columns] = np.log((positives.sum() + 0.5) / (negatives.sum() + 0.5))
    else:
        weights = start.copy()

    def scores_of(vector: Floats) -> Floats:
        scores: Floats = features @ vector[:columns] + vector[columns]
        return scores

    def back(values: Floats) -> Floats:
        found = np.empty(columns + 1)
        found[:columns] = features.transposed_times(values)
        found[columns] = values.sum()
        return found

    def loss_of(vector: Floats, scores: Floats) -> float:
        losses = positives * np.logaddexp(0.0, -scores) + negatives * np.logaddexp(0.0, scores)
        return float(losses.sum() + 0.5 * (penalty * vector * vector).sum())

    first = _length(back(positives - 0.5 * sizes))
    scores = scores_of(weights)
    loss = loss_of(weights, scores)
    for _ in range(MOST_ROUNDS):
        chances = sigmoid(scores)
        slope = back(positives - sizes * chances) - penalty * weights
        if _length(slope) <= CLOSE * first:
            break
        spread = sizes * np.maximum(chances * (1.0 - chances), 1e-10)

        def curved(vector: Floats, spread: Floats = spread) -> Floats:
            return back(spread * scores_of(vector)) + penalty * vector

        move = _solved(curved, slope)
        length = 1.0
        while length > 1e-6:
            moved = weights + length * move
            found_scores = scores_of(moved)
            found = loss_of(moved, found_scores)
            if found <= loss:
                break
            length /= 2
        else:
            break
        weights, scores, loss = moved, found_scores, found
    return weights


def _length(vector: Floats) -> float:
    return math.sqrt(vector.dot(vector))


def _solved(product: Callable[[Floats], Floats], right: Floats) -> Floats:
    """``product(x) = right`` by conjugate gradients, to a hundredth."""
    solution = np.zeros_like(right)
    rest = right.copy()
    way = rest.copy()
    size = float((rest * rest).sum())
    enough = 1e-4 * size
    for _ in range(MOST_TURNS):
        if size <= enough:
            break
        turned = product(way)
        length = size / float((way * turned).sum())
        solution += length * way
        rest -= length * turned
        now = float((rest * rest).sum())
        way = rest + (now / size) * way
        size = now
    return solution
