"""How well scores put positive examples above negative ones: ROC, precision and recall, and their areas.

Examples with equal scores are tied: the order of the rows never changes a result.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ranking:
    """The distinct scores, highest first, and how many positives and negatives have each of them."""

    scores: Floats
    positives: Integers
    negatives: Integers

    @cached_property
    def positives_above(self) -> Integers:
        """How many positives have at least each score."""
        return np.cumsum(self.positives)

    @cached_property
    def negatives_above(self) -> Integers:
        """How many negatives have at least each score."""
        return np.cumsum(self.negatives)

    @property
    def n_pos(self) -> int:
        return int(self.positives_above[-1])

    @property
    def n_neg(self) -> int:
        return int(self.negatives_above[-1])

    def at(self, threshold: float) -> tuple[int, int]:
        """How many positives and negatives have at least the score ``threshold``."""
        place = int(np.searchsorted(-self.scores, -threshold, side="right"))
        if not place:
            return 0, 0
        return int(self.positives_above[place - 1]), int(self.negatives_above[place - 1])

    def roc(self) -> tuple[Floats, Floats]:
        """The share of negatives (x) and of positives (y) above each score, from (0, 0) to (1, 1)."""
        x = np.concatenate([[0.0], self.negatives_above / self.n_neg])
        y = np.concatenate([[0.0], self.positives_above / self.n_pos])
        return x, y

    def precision_recall(self, negatives_per_positive: float | None = None) -> tuple[Floats, Floats]:
        """Recall (x) and precision (y) at each score.

        With ``negatives_per_positive``, precision is what it would be with that ratio of negatives.
        """
        weight = 1.0
        if negatives_per_positive is not None:
            weight = min(1.0, negatives_per_positive * self.n_pos / self.n_neg)
        above = self.positives_above
        return above / self.n_pos, above / np.maximum(above + weight * self.negatives_above, 1e-300)

    def auc_roc(self) -> float:
        """Share of pairs of a positive and a negative in the right order; a tie counts half."""
        # Counted in halves, so that the number of pairs stays a whole number up to 2**63.
        below = self.n_neg - self.negatives_above
        halves = int((self.positives * (2 * below + self.negatives)).sum())
        return halves / (2 * self.n_pos * self.n_neg)

    def average_precision(self, negatives: Integers | None = None) -> float:
        """Precision at each score, weighted by the recall gained there.

        ``negatives`` replaces the number of negatives with each score, as when only a sample is scored.
        """
        above = self.positives_above
        negatives_above = self.negatives_above if negatives is None else np.cumsum(negatives)
        precision = above / np.maximum(above + negatives_above, 1)
        return float((precision * self.positives).sum() / above[-1])


def ranking(labels: npt.NDArray[Any], scores: Floats) -> Ranking:
    """Rank examples by their scores; those with label 1 are positive, all others negative.

    >>> ranked = ranking(np.array([1, 0, 1]), np.array([0.9, 0.5, 0.5]))
    >>> ranked.scores.tolist(), ranked.positives.tolist(), ranked.negatives.tolist()
    ([0.9, 0.5], [1, 1], [0, 1])
    >>> ranked.at(0.5), ranked.at(0.7), ranked.at(1.0)
    ((2, 1), (1, 0), (0, 0))
    >>> ranked.auc_roc(), round(ranked.average_precision(), 4)
    (0.75, 0.8333)
    """
    values, group = np.unique(-scores, return_inverse=True)
    group = group.ravel()
    is_positive = labels == 1
    return Ranking(
        -values,
        np.bincount(group[is_positive], minlength=len(values)),
        np.bincount(group[~is_positive], minlength=len(values)),
    )
