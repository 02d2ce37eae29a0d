"""How sure scores are: intervals from the examples they were measured on, and what a constant would score."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.ranking import ranking

Floats = npt.NDArray[np.float64]
Z = 1.96
"""Standard deviations of a 95 % interval."""


class Interval(NamedTuple):
    """A 95 % interval."""

    low: float
    high: float


def auc_interval(labels: npt.NDArray[Any], probabilities: Floats) -> Interval:
    """The interval of AUC-ROC by DeLong's variance, on the scale of log-odds so that it stays within 0 and 1.

    >>> labels, probabilities = np.arange(200) % 2, np.arange(200) % 7 / 10 + np.arange(200) % 2 / 10
    >>> low, high = auc_interval(labels, probabilities)
    >>> round(low, 2), round(high, 2)
    (0.57, 0.72)
    """
    ranked = ranking(labels, probabilities)
    # From the highest probability to the lowest: positives and negatives with each probability.
    pos, neg = ranked.positives.astype(np.float64), ranked.negatives.astype(np.float64)
    below = neg.sum() - np.cumsum(neg) + neg / 2
    above = np.cumsum(pos) - pos / 2
    of_pos, of_neg = below / neg.sum(), above / pos.sum()
    auc = ranked.auc_roc()
    variance = 0.0
    for values, weights in ((of_pos, pos), (of_neg, neg)):
        size = weights.sum()
        spread = float((weights * (values - auc) ** 2).sum()) / max(size - 1, 1)
        variance += spread / size
    if not 0.0 < auc < 1.0:
        return Interval(auc, auc)
    half = Z * math.sqrt(variance) / (auc * (1.0 - auc))
    middle = math.log(auc / (1.0 - auc))
    low, high = (1.0 / (1.0 + math.exp(-(middle + sign * half))) for sign in (-1, 1))
    return Interval(low, high)


def loss_error(labels: npt.NDArray[Any], probabilities: Floats) -> float:
    """The standard error of the mean log-loss."""
    least = np.finfo(np.float64).eps
    right = np.clip(np.where(labels == 1, probabilities, 1.0 - probabilities), least, 1.0)
    return float(np.std(-np.log(right))) / math.sqrt(len(labels))


def base_loss(n_pos: int, n_neg: int) -> float:
    """The log-loss of a model that always predicts the share of positives.

    >>> round(base_loss(1, 1), 4)
    0.6931
    """
    share = n_pos / (n_pos + n_neg)
    return -(share * math.log(share) + (1.0 - share) * math.log(1.0 - share))
