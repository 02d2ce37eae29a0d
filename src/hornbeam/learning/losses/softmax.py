"""The loss of several classes: a softmax over labels, with fixed scores and weights under ridge penalties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.numbers import Floats
from hornbeam.learning.losses.newton import Stopping, minimise, one_thread

STOPPING = Stopping(rounds=50, shortest=1e-6, close=1e-8)


class LabelDesign(NamedTuple):
    """Fixed scores of each label, features of the free labels, and labels; one row per example.

    ``features`` has for each example and each free label the values that weights multiply. The free labels
    are the last ones: all, or all but the first. ``counts`` says how much each example counts; None for once.
    """

    fixed: Floats
    features: Floats
    labels: npt.NDArray[np.int64]
    counts: Floats | None = None

    def at(self, rows: npt.NDArray[np.bool_]) -> LabelDesign:
        counts = None if self.counts is None else self.counts[rows]
        return LabelDesign(self.fixed[rows], self.features[rows], self.labels[rows], counts)

    def scores(self, weights: Floats) -> Floats:
        scores = self.fixed.copy()
        scores[:, -self.features.shape[1] :] += self.features @ weights
        return scores

    def losses(self, weights: Floats) -> Floats:
        """The log-loss of each example."""
        return self.losses_at(self.scores(weights))

    def losses_at(self, scores: Floats) -> Floats:
        """The log-loss of each example, from scores."""
        logs = log_softmax(scores)
        losses: Floats = -logs[np.arange(len(logs)), self.labels]
        return losses


def log_softmax(scores: Floats) -> Floats:
    """The logarithm of the probability of each label, from scores; labels are the last axis."""
    scores = scores - scores.max(axis=-1, keepdims=True)
    logs: Floats = scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))
    return logs


def fit_softmax(design: LabelDesign, penalties: Floats, start: Floats | None = None) -> Floats:
    """The weights that minimise the sum of log-losses plus half the penalties times the squared weights."""
    weights = np.zeros(len(penalties)) if start is None else start
    # Products of many examples by few weights: threads cost more than they do.
    with one_thread():
        return minimise(_SoftmaxLoss(design, penalties), weights, STOPPING)


class _SoftmaxLoss(NamedTuple):
    """The penalised loss of weights."""

    design: LabelDesign
    penalties: Floats

    def scores(self, weights: Floats) -> Floats:
        return self.design.scores(weights)

    def loss(self, weights: Floats, scores: Floats) -> float:
        losses = self.design.losses_at(scores)
        if self.design.counts is not None:
            losses = losses * self.design.counts
        return float(losses.sum() + 0.5 * (self.penalties * weights * weights).sum())

    def direction(self, weights: Floats, scores: Floats) -> Floats:
        features = self.design.features
        n_examples, n_free, n_weights = features.shape
        chances = np.exp(log_softmax(scores))
        wrong = -chances
        wrong[np.arange(n_examples), self.design.labels] += 1.0
        free = chances[:, -n_free:]
        if self.design.counts is not None:
            wrong *= self.design.counts[:, None]
        gradient = np.einsum("nkp,nk->p", features, wrong[:, -n_free:]) - self.penalties * weights
        mean = np.einsum("nkp,nk->np", features, free)
        if self.design.counts is not None:
            mean *= np.sqrt(self.design.counts)[:, None]
            free = free * self.design.counts[:, None]
        rooted = (features * np.sqrt(free)[:, :, None]).reshape(-1, n_weights)
        curvature = rooted.T @ rooted - mean.T @ mean + np.diag(self.penalties)
        step: Floats = np.linalg.solve(curvature, gradient)
        return step
