"""The logistic loss of examples and its derivatives, from their log-odds."""

from __future__ import annotations

import numpy as np

from hornbeam.learning.numbers import Floats, Integers, Labels, whole_gradients
from hornbeam.model.scales import sigmoid


def losses(labels: Labels, scores: Floats) -> Floats:
    """``-log P(label)`` of each example, without overflow."""
    return np.logaddexp(0.0, np.where(labels == 1, -scores, scores))


def grouped_losses(positives: Floats, negatives: Floats, scores: Floats) -> Floats:
    """The total loss of each row; a row stands for a number of positives and a number of negatives."""
    return positives * np.logaddexp(0.0, -scores) + negatives * np.logaddexp(0.0, scores)


def log_loss(labels: Labels, scores: Floats) -> float:
    """The mean of ``-log P(label)``."""
    return float(np.mean(losses(labels, scores)))


def gradients(labels: Labels, scores: Floats) -> Integers:
    """``y - P`` of each example, rounded to whole multiples of 2**-30."""
    return whole_gradients(labels - sigmoid(scores))


def curvatures(probabilities: Floats, least: float = 0.0) -> Floats:
    """``P(1-P)``, the second derivative of each example's loss; at least ``least``."""
    return np.maximum(probabilities * (1.0 - probabilities), least)
