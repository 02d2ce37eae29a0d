"""All weights at once: the most likely weights of given features under a ridge penalty.

Boosting chooses a clause for what the model still gets wrong; weights chosen early are then no
longer the best. The refit finds them anew, jointly. It may start from the weights of fewer features: the
minimum is the same, but for a last digit perhaps.

Sums over the examples are taken by ``einsum``, one after the other in the order of the examples, or by
matrix products too small to be shared among threads: those may add in another order, and give another
last digit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.learning.search.ridge import round_weight
from hornbeam.model.clause_model import sigmoid

Floats = npt.NDArray[np.float64]

MOST_ROUNDS = 100
CLOSE = 1e-10
"""The fit ends when no weight moves by more than this."""
SMALL = 200_000
"""Multiplications in a matrix product that BLAS does not share among threads; it begins to above 2**18."""
FEW = 64
"""Features, at most, for which such products have enough examples each to be worth their while."""


class Refitted(NamedTuple):
    """An intercept and one weight per feature, rounded to 12 significant digits."""

    intercept: float
    weights: tuple[float, ...]

    def without(self, place: int) -> Refitted:
        """The same but for one weight."""
        return self._replace(weights=self.weights[:place] + self.weights[place + 1 :])

    def scores(self, features: Floats) -> Floats:
        """The log-odds of each example; features are rows, examples columns."""
        scores = np.full(features.shape[1], self.intercept)
        for weight, feature in zip(self.weights, features, strict=True):
            scores += weight * feature
        return scores


def refitted(
    features: Floats, labels: npt.NDArray[np.int8], l2: float, start: Refitted | None = None
) -> Refitted:
    """The weights w that minimise the sum of log-losses plus ``l2/2 * |w|^2``; the intercept is free.

    Features are rows, examples columns; ``start`` has weights of the first of them.
    Newton's method on centred features, each step halved until
    the loss falls: the loss is convex, so there is one minimum. Weights stay finite on separable
    examples as l2 > 0, and the intercept as long as both labels occur.
    """
    means = features.mean(axis=1)
    rows = np.vstack([np.ones(features.shape[1]), features - means[:, None]])
    penalty = np.full(len(rows), l2)
    penalty[0] = 0.0
    share = float(labels.mean())
    weights = np.zeros(len(rows))
    weights[0] = np.log(share / (1.0 - share))
    if start is not None:
        known = len(start.weights)
        weights[1 : known + 1] = start.weights
        weights[0] = start.intercept + sum(weights[1 : known + 1] * means[:known])
    loss = _loss(rows, labels, weights, penalty)
    for _ in range(MOST_ROUNDS):
        chances = sigmoid(np.einsum("i,ij->j", weights, rows))
        slope = np.einsum("ij,j->i", rows, labels - chances) - penalty * weights
        spread = np.maximum(chances * (1.0 - chances), 1e-12)
        curve = _products(rows, spread) + np.diag(penalty)
        move = np.linalg.solve(curve, slope)
        length = 1.0
        while length > 1e-9:
            found = _loss(rows, labels, weights + length * move, penalty)
            if found <= loss:
                break
            length /= 2
        else:
            break
        weights = weights + length * move
        loss = found
        if float(np.max(np.abs(length * move))) < CLOSE:
            break
    slopes = tuple(map(round_weight, weights[1:].tolist()))
    intercept = float(weights[0]) - sum(w * m for w, m in zip(slopes, means.tolist(), strict=True))
    return Refitted(round_weight(intercept), slopes)


def spreads(features: Floats, fitted: Refitted, l2: float) -> Floats:
    """The variance of each weight, about: what the curve of the penalised loss leaves to it."""
    rows = np.vstack([np.ones(features.shape[1]), features - features.mean(axis=1)[:, None]])
    chances = sigmoid(fitted.scores(features))
    curve = _products(rows, np.maximum(chances * (1.0 - chances), 1e-12))
    found: Floats = np.diag(np.linalg.inv(curve + np.diag([0.0, *[l2] * len(features)])))[1:]
    return found


def _products(rows: Floats, spread: Floats) -> Floats:
    """The sums of products of every two rows, examples weighted by their spread."""
    number, examples = rows.shape
    if number > FEW:
        found: Floats = np.einsum("ij,kj->ik", rows * spread, rows)
        return found
    size = SMALL // number**2
    whole = examples // size * size
    parts = rows[:, :whole].reshape(number, -1, size).transpose(1, 0, 2)
    weighted = parts * spread[:whole].reshape(-1, 1, size)
    rest = rows[:, whole:]
    sums: Floats = np.matmul(weighted, parts.transpose(0, 2, 1)).sum(axis=0)
    sums += np.einsum("ij,kj->ik", rest * spread[whole:], rest)
    return sums


def _loss(rows: Floats, labels: npt.NDArray[np.int8], weights: Floats, penalty: Floats) -> float:
    scores = np.einsum("i,ij->j", weights, rows)
    losses = np.logaddexp(0.0, np.where(labels == 1, -scores, scores))
    return float(losses.sum() + 0.5 * np.sum(penalty * weights * weights))
