"""Scores of predictions: how well probabilities rank examples, and how close they are to the labels.

All scores use every example. Examples with equal probabilities are tied: the order of the rows never
changes a score. ``auc_pr_2to1`` is only for comparison with published results that use two negatives
per positive; never compare it with ``auc_pr``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from hornbeam.data.ranking import Floats, Ranking, ranking
from hornbeam.errors import DataError, did_you_mean

DRAWS = 200
"""Number of samples of negatives that ``auc_pr_2to1`` is averaged over."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of predicted probabilities against labels."""

    auc_roc: float
    """share of pairs (positive, negative) in the right order; ties count half"""
    auc_pr: float
    """average precision over all examples"""
    auc_pr_2to1: float
    """mean average precision over seeded draws of two negatives per positive"""
    log_loss: float
    """mean of -log P(label), in nats"""
    brier: float
    """mean squared difference of probability and label"""
    n_pos: int
    n_neg: int

    def as_dict(self) -> dict[str, float | int]:
        """The scores by name, in the order of the fields."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(
            f"{name:<12} {value:,}" if isinstance(value, int) else f"{name:<12} {value:.6f}"
            for name, value in self.as_dict().items()
        )


def evaluate(
    labels: npt.ArrayLike, probabilities: npt.ArrayLike, draws: int = DRAWS, seed: int = 0
) -> Scores:
    """All scores of probabilities for labels 0 and 1; at least one example of each label is needed.

    >>> scores = evaluate([1, 1, 0, 0], [0.9, 0.4, 0.4, 0.1])
    >>> scores.auc_roc, round(scores.auc_pr, 4), scores.n_pos, scores.n_neg
    (0.875, 0.8333, 2, 2)
    """
    label = np.asarray(labels)
    probability = np.asarray(probabilities, dtype=np.float64)
    if label.ndim != 1 or label.shape != probability.shape:
        raise DataError(
            "labels and probabilities must be two lists of the same length, "
            f"not arrays of the shapes {label.shape} and {probability.shape}."
        )
    if not np.isin(label, (0, 1)).all():
        raise DataError("labels must be 0 or 1.")
    if not ((probability >= 0) & (probability <= 1)).all():
        raise DataError("probabilities must be numbers between 0 and 1.")
    n_pos = int(np.count_nonzero(label == 1))
    n_neg = len(label) - n_pos
    if not n_pos or not n_neg:
        missing = "positive" if not n_pos else "negative"
        raise DataError(f"there are no {missing} examples; scores need at least one of each label.")
    ranked = ranking(label, probability)
    return Scores(
        auc_roc=ranked.auc_roc(),
        auc_pr=ranked.average_precision(),
        auc_pr_2to1=_at_two_to_one(ranked, draws, seed),
        log_loss=_log_loss(label, probability),
        brier=float(np.mean((probability - label) ** 2)),
        n_pos=n_pos,
        n_neg=n_neg,
    )


@dataclass(frozen=True, slots=True)
class ClassScores:
    """Scores of predicted probabilities of classes."""

    accuracy: float
    """share of examples whose most probable class is their class"""
    auc_roc: float
    """mean over the classes of the AUC-ROC of a class against all others"""
    log_loss: float
    """mean of -log P(class), in nats"""
    brier: float
    """mean over the examples of the sum of squared differences over the classes; from 0 to 2"""
    n: dict[str, int]
    """examples of each class"""

    def as_dict(self) -> dict[str, object]:
        """The scores by name, in the order of the fields."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{name:<12} {value:.6f}" for name, value in self.as_dict().items() if name != "n"]
        return "\n".join([*lines, *(f"{'n_' + name:<12} {number:,}" for name, number in self.n.items())])


def evaluate_classes(
    labels: Sequence[str], probabilities: npt.ArrayLike, classes: Sequence[str]
) -> ClassScores:
    """All scores of probabilities of classes, given as a row per example and a column per class.

    >>> scores = evaluate_classes(["a", "b"], [[0.7, 0.3], [0.4, 0.6]], ["a", "b"])
    >>> scores.accuracy, scores.auc_roc, scores.n
    (1.0, 1.0, {'a': 1, 'b': 1})
    """
    probability = np.asarray(probabilities, dtype=np.float64)
    places = {name: place for place, name in enumerate(classes)}
    if probability.shape != (len(labels), len(classes)) or not len(labels):
        raise DataError(
            f"probabilities must have a row for each of {len(labels)} labels and a column for each of "
            f"{len(classes)} classes, not the shape {probability.shape}."
        )
    strange = next((label for label in labels if label not in places), None)
    if strange is not None:
        raise DataError(f'unknown class "{strange}". {did_you_mean(strange, classes, "Classes")}')
    label = np.array([places[each] for each in labels])
    least = np.finfo(np.float64).eps
    right = np.clip(probability[np.arange(len(label)), label], least, 1.0)
    truth = label[:, None] == np.arange(len(classes))
    areas = [
        ranking(truth[:, place], probability[:, place]).auc_roc()
        for place in range(len(classes))
        if truth[:, place].any() and not truth[:, place].all()
    ]
    if not areas:
        raise DataError("all examples have the same class; scores need at least two classes.")
    return ClassScores(
        accuracy=float(np.mean(probability.argmax(axis=1) == label)),
        auc_roc=float(np.mean(areas)),
        log_loss=float(-np.log(right).mean()),
        brier=float(((probability - truth) ** 2).sum(axis=1).mean()),
        n={name: int(truth[:, place].sum()) for name, place in places.items()},
    )


@dataclass(frozen=True, slots=True)
class ChoiceScores:
    """Scores of predicted probabilities of the alternatives of choices."""

    hit_rate: float
    """share of choices whose most probable alternative is right; ties count in part"""
    log_loss: float
    """mean over the choices of -log P(right alternative), in nats; the mean of several right ones"""
    equal_chances: float
    """the log-loss if all alternatives of a choice are equally probable"""
    mean_reciprocal_rank: float
    """mean over the choices of 1 / rank of the best right alternative; equal ones share their mean rank"""
    n_choices: int
    n_alternatives: int
    without_right: int
    """choices without a right alternative, which are left out"""

    def as_dict(self) -> dict[str, float | int]:
        """The scores by name, in the order of the fields."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(
            f"{name:<20} {value:,}" if isinstance(value, int) else f"{name:<20} {value:.6f}"
            for name, value in self.as_dict().items()
        )


def evaluate_choices(
    labels: npt.ArrayLike, probabilities: npt.ArrayLike, choices: npt.ArrayLike
) -> ChoiceScores:
    """All scores of probabilities of alternatives; equal values of ``choices`` are one choice.

    >>> scores = evaluate_choices([1, 0, 0, 1], [0.7, 0.3, 0.6, 0.4], ["a", "a", "b", "b"])
    >>> scores.hit_rate, scores.mean_reciprocal_rank, round(scores.log_loss, 4)
    (0.5, 0.75, 0.6365)
    """
    label, probability = np.asarray(labels), np.asarray(probabilities, dtype=np.float64)
    _, which = np.unique(np.asarray(choices), return_inverse=True)
    if label.ndim != 1 or label.shape != probability.shape or label.shape != which.ravel().shape:
        raise DataError("labels, probabilities and choices must be lists of the same length.")
    if not np.isin(label, (0, 1)).all():
        raise DataError("labels must be 0 or 1.")
    groups = _members(which.ravel())
    kept = [members for members in groups if (label[members] == 1).any()]
    if not kept:
        raise DataError("no choice has a right alternative; scores need at least one.")
    each = np.array([_of_choice(label[members] == 1, probability[members]) for members in kept])
    hit, loss, equal, rank = each.mean(axis=0).tolist()
    size = sum(map(len, kept))
    return ChoiceScores(hit, loss, equal, rank, len(kept), size, len(groups) - len(kept))


def _members(which: npt.NDArray[np.int64]) -> list[npt.NDArray[np.intp]]:
    """The positions of the members of each group."""
    order = np.argsort(which, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(which[order])) + 1) if len(which) else []


def _of_choice(right: npt.NDArray[np.bool_], probability: Floats) -> tuple[float, float, float, float]:
    """Hit, loss, loss of equal chances, and reciprocal rank of one choice."""
    top = probability == probability.max()
    loss = -np.log(np.maximum(probability[right], np.finfo(np.float64).tiny)).mean()
    best = probability[right].max()
    rank = 1.0 + np.count_nonzero(probability > best) + (np.count_nonzero(probability == best) - 1) / 2.0
    return float(right[top].mean()), float(loss), float(np.log(len(right))), float(1.0 / rank)


@dataclass(frozen=True, slots=True)
class NumberScores:
    """Scores of predicted numbers, and the same scores of a constant."""

    mae: float
    """mean absolute error"""
    rmse: float
    """root of the mean squared error"""
    r2: float
    """share of the variance that is explained; 0 for the mean of these values"""
    constant_mae: float
    constant_rmse: float
    constant_r2: float
    n: int

    def as_dict(self) -> dict[str, float | int]:
        """The scores by name, in the order of the fields."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(
            f"{name:<14} {value:,}" if isinstance(value, int) else f"{name:<14} {value:.6g}"
            for name, value in self.as_dict().items()
        )


def evaluate_numbers(
    values: npt.ArrayLike, predictions: npt.ArrayLike, constant: float | None = None
) -> NumberScores:
    """All scores of predicted numbers; the constant to compare with is the mean of the values by default.

    >>> scores = evaluate_numbers([1.0, 2.0, 4.0], [1.0, 2.0, 3.0])
    >>> round(scores.mae, 3), round(scores.r2, 3), round(scores.constant_r2, 3)
    (0.333, 0.786, 0.0)
    """
    value, prediction = (np.asarray(each, dtype=np.float64) for each in (values, predictions))
    if value.ndim != 1 or value.shape != prediction.shape or not len(value):
        raise DataError(
            "values and predictions must be two lists of the same length, "
            f"not arrays of the shapes {value.shape} and {prediction.shape}."
        )
    if not np.isfinite(value).all() or not np.isfinite(prediction).all():
        raise DataError("values and predictions must be finite numbers.")
    # Squares of large numbers would overflow: divide by the largest number first.
    unit = float(max(np.abs(value).max(), np.abs(prediction).max(), abs(constant or 0.0))) or 1.0
    scaled = value / unit
    base = float(scaled.mean()) if constant is None else constant / unit
    own = _errors(scaled, prediction / unit, unit)
    return NumberScores(*own, *_errors(scaled, np.full(len(value), base), unit), len(value))


def _errors(value: Floats, prediction: Floats, unit: float) -> tuple[float, float, float]:
    """The mean absolute error, the root of the mean squared error, and the share of variance explained."""
    left = value - prediction
    squared, spread = float(np.mean(left * left)), float(np.var(value))
    share = 1.0 - squared / spread if spread > 0 else float(squared == 0)
    share = 0.0 if abs(share) < 1e-12 else share  # of the mean, rounding errors are left
    return unit * float(np.mean(np.abs(left))), unit * float(np.sqrt(squared)), share


def _at_two_to_one(ranked: Ranking, draws: int, seed: int) -> float:
    """Mean average precision over draws of two negatives per positive, or of all if there are fewer."""
    wanted = 2 * ranked.n_pos
    if ranked.n_neg <= wanted:
        return ranked.average_precision()
    generator = np.random.default_rng(seed)
    # Negatives in order of their probability, so that the draw does not depend on the order of rows.
    groups = np.repeat(np.arange(len(ranked.negatives)), ranked.negatives)
    precisions = []
    for _ in range(draws):
        drawn = generator.choice(groups, wanted, replace=False, shuffle=False)
        precisions.append(ranked.average_precision(np.bincount(drawn, minlength=len(ranked.negatives))))
    return float(np.mean(precisions))


def _log_loss(label: npt.NDArray[np.generic], probability: Floats) -> float:
    # A wrong prediction with probability 0 or 1 would have infinite loss; use the loss at 2**-52.
    least = np.finfo(np.float64).eps
    right = np.clip(np.where(label == 1, probability, 1.0 - probability), least, 1.0 - least)
    return float(-np.log(right).mean())
