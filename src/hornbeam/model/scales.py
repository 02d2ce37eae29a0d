"""Losses and their scales: what the score of a model stands for, in numbers, in words and in SQL.

A model adds up a score. The scale of its loss says what the score is (log-odds, a logarithm, or the
prediction itself), which prediction it stands for, and whether effects multiply or add. Nothing else asks
which loss a model has.

The scores of a choice stand for probabilities only together: each alternative has the share of its
exponential among those of all alternatives of its choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hornbeam.errors import DataError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

PROBABILITY, PREDICTION = "probability", "prediction"
LARGEST_SCORE = 700
"""SQL clips scores to this size: some systems refuse exp of a larger number, because it overflows."""


def sigmoid(scores: Floats) -> Floats:
    """1 / (1 + exp(-score)), without overflow."""
    small = np.exp(-np.abs(scores))
    return np.where(scores >= 0, 1.0, small) / (1.0 + small)


def exponential(scores: Floats) -> Floats:
    """exp(score), without overflow."""
    result: Floats = np.exp(np.minimum(scores, 709.0))
    return result


def shares(scores: Floats, choices: Integers) -> Floats:
    """The share of each exponential among those of the same choice, without overflow.

    >>> shares(np.log([1.0, 3.0, 5.0]), np.array([7, 7, 8])).round(4).tolist()
    [0.25, 0.75, 1.0]
    """
    _, which = np.unique(choices, return_inverse=True)
    which = which.ravel()
    most = np.full(int(which.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(most, which, scores)
    powers = np.exp(scores - most[which])
    result: Floats = powers / np.bincount(which, powers, minlength=len(most))[which]
    return result


def softmax(scores: Floats) -> Floats:
    """The share of the exponential of each class, which are the columns, without overflow.

    >>> softmax(np.log([[1.0, 3.0]])).round(4).tolist()
    [[0.25, 0.75]]
    """
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    result: Floats = powers / powers.sum(axis=1, keepdims=True)
    return result


def _only_together(scores: Floats) -> Floats:
    raise DataError("a score of a choice has a probability only beside those of the other alternatives.")


@dataclass(frozen=True, slots=True)
class Scale:
    """What scores stand for."""

    name: str
    link: Callable[[Floats], Floats]
    """the prediction that each score stands for"""
    prediction: str
    """what is predicted, ``probability`` or ``prediction``; also the name of its column in SQL"""
    sql: str
    """the link in SQL, of the column ``score``"""
    score: str = ""
    """the word for the score; empty if it is the prediction itself"""
    factor: str = ""
    """the word for the exponential of an effect: ``odds`` or ``factor``; empty if effects do not multiply"""
    of_choice: bool = False
    """whether scores stand for probabilities only together with those of the same choice"""
    of_class: bool = False
    """whether a score is that of one of several classes: only all together say their probabilities"""

    @property
    def numeric(self) -> bool:
        """Whether numbers are predicted, not probabilities."""
        return self.prediction != PROBABILITY

    @property
    def adds(self) -> str:
        """The heading of what an effect adds."""
        return self.score or "adds"

    @property
    def unit(self) -> str:
        """What effects on a probability add to, in a sentence."""
        return "the score" if self.of_class else "the log-odds"

    def of_score(self, score: float) -> float:
        """The prediction that one score stands for."""
        return float(self.link(np.array([score]))[0])


IDENTITY = Scale("identity", lambda scores: scores, PREDICTION, "score")
LOG = Scale(
    "log",
    exponential,
    PREDICTION,
    f"EXP(CASE WHEN score > {LARGEST_SCORE} THEN {LARGEST_SCORE} ELSE score END)",
    "logarithm",
    "factor",
)
LOG_ODDS = Scale(
    "logistic",
    sigmoid,
    PROBABILITY,
    f"1.0 / (1.0 + EXP(-CASE WHEN score > {LARGEST_SCORE} THEN {LARGEST_SCORE} "
    f"WHEN score < -{LARGEST_SCORE} THEN -{LARGEST_SCORE} ELSE score END))",
    "log-odds",
    "odds",
)

AMONG_ALTERNATIVES = Scale(
    "choice",
    _only_together,
    PROBABILITY,
    "EXP(above) / SUM(EXP(above)) OVER (PARTITION BY choice)",
    "score",
    "odds",
    of_choice=True,
)
"""In SQL, ``above`` is how far a score is above the largest one of its choice, at most 0."""

OF_CLASS = Scale(
    "softmax",
    exponential,
    PROBABILITY,
    "EXP(score - top_score) / total_power",
    "score",
    "factor",
    of_class=True,
)
"""A score is the logarithm of a probability but for a constant that all classes share.

In SQL, ``top_score`` is the largest score of the classes, and ``total_power`` the sum of the exponentials of
how far each is above it.
"""

LOGISTIC = "logistic"
"""The loss of labels; models without a loss of their own have it."""
SQUARED = "squared"
"""The loss of numbers unless another one is asked for."""
SOFTMAX = "softmax"
"""The loss of more than two classes that are learned together."""
CHOICE = "choice"
"""The loss of alternatives, some of which are right."""
SCALES: Mapping[str, Scale] = {
    LOGISTIC: LOG_ODDS,
    SQUARED: IDENTITY,
    "absolute": IDENTITY,
    "huber": IDENTITY,
    "poisson": LOG,
    CHOICE: AMONG_ALTERNATIVES,
    SOFTMAX: OF_CLASS,
}
"""The scale of each loss, by the name of the loss."""
NUMERIC_LOSSES = tuple(loss for loss, scale in SCALES.items() if scale.numeric)
