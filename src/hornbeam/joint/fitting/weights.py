"""Fitting the weights of terms for one target, judged by cross-validation on its training examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.numbers import Floats
from hornbeam.joint.neighbours import Term, TermWeights
from hornbeam.joint.things import JointTarget
from hornbeam.learning.effects.examples.bagging import FOLDS
from hornbeam.learning.losses.softmax import LabelDesign, fit_softmax

PENALTY = 1.0
"""Penalty of the weight of the separate score, of biases, and of weights of the same label."""
PAIRS = (100.0, 10.0)
"""Penalties of the weights of pairs of labels to try, besides none of them where the same label has one."""
PAIRS_OF_TRUTH = (100.0, 10.0, 1.0)
MOST_CELLS = 20_000_000
"""With more features, fewer examples are used."""


class Trained(NamedTuple):
    """Training examples of a target that reach others."""

    target: JointTarget
    fixed: Floats
    """scores of the separate model, held out"""
    labels: npt.NDArray[np.int64]
    folds: npt.NDArray[np.int64]
    alone: Floats
    """held-out log-losses of the separate model"""
    counts: Floats
    """for how many examples each stands: models may be learned from a sample of the false ones"""


class WeightSet(NamedTuple):
    """The weight of the separate score, biases, and weights of terms."""

    own: float
    bias: tuple[float, ...]
    terms: tuple[TermWeights, ...]


class FittedTerms(NamedTuple):
    """Weights of terms, and the held-out losses of the training examples without and with them."""

    weights: WeightSet
    by_fold: tuple[WeightSet, ...]
    """the weights that were fitted without the examples of each fold"""
    pairs: float | None
    separate: Floats
    """of the separate model"""
    without: tuple[Floats, ...]
    """of the model that gives the score beside the neighbours: as it is, with a weight and biases, and with
    a weight alone"""
    joint: Floats
    counts: Floats
    plain: WeightSet
    """a weight of the own score alone"""

    @property
    def loss(self) -> float:
        return self._mean(self.joint)

    @property
    def alone(self) -> float:
        """The loss of the separate model."""
        return self._mean(self.separate)

    @property
    def gains(self) -> bool:
        """Whether the held-out loss is lower with neighbours than without them, by a standard error.

        Without neighbours, the score beside them may have a weight and a bias too: what these alone gain is
        no reason to hear neighbours.
        """
        return self._lower(self.joint, min(self.without, key=self._mean))

    @property
    def plain_loss(self) -> float:
        """The loss of the own score with a weight, without terms."""
        return self._mean(self.without[2])

    @property
    def plain_gains(self) -> bool:
        """Whether it is lower than that of the separate model.

        No standard error is asked for: neither model is the simpler one, and of few examples it is so large
        that the worse one would often be kept.
        """
        return self.plain_loss < self.alone

    def _lower(self, losses: Floats, others: Floats) -> bool:
        gained = others - losses
        mean = self._mean(gained)
        error = np.sqrt(((self.counts * (gained - mean)) ** 2).sum()) / self.counts.sum()
        return bool(mean > error)

    def _mean(self, losses: Floats) -> float:
        return float(np.average(losses, weights=self.counts))


def penalties_of_pairs(target: JointTarget) -> tuple[float | None, ...]:
    """The penalties of pairs to try; None for no weights of pairs."""
    return (None, *PAIRS) if target.classes else PAIRS_OF_TRUTH


class Plain(NamedTuple):
    """The model that gives the score beside the neighbours, without them: its weight and held-out losses."""

    weights: WeightSet
    losses: tuple[Floats, ...]
    """as it is, with a weight and biases, and with a weight alone"""


def fit_plain(trained: Trained) -> Plain:
    """The own scores without terms; the same beside all sets of terms."""
    shape = _Shape(trained.target, (), (), None)
    features, penalties = shape.features(trained.fixed, ()), shape.penalties()
    design = LabelDesign(trained.fixed, features, trained.labels, trained.counts)
    beside = design.losses(np.zeros(len(penalties)))
    calibrated = _fitted(design, penalties, trained.folds)
    weighted = _fitted(design._replace(features=features[:, :, :1]), penalties[:1], trained.folds)
    weights = WeightSet(_rounded(float(weighted.weights[0])), (0.0,) * shape.free, ())
    return Plain(weights, (beside, calibrated.losses, weighted.losses))


def fit_terms(
    trained: Trained, plain: Plain, terms: Sequence[Term], values: Sequence[Floats], pairs: float | None
) -> FittedTerms:
    """The weights of terms, given their values for the training examples."""
    scales = [float(np.sqrt(np.mean(each**2))) or 1.0 for each in values]
    shape = _Shape(trained.target, terms, [each.shape[1] for each in values], pairs)
    scaled = [each / scale for each, scale in zip(values, scales, strict=True)]
    features = shape.features(trained.fixed, scaled)
    design = LabelDesign(trained.fixed, features, trained.labels, trained.counts)
    fitted = _fitted(design, shape.penalties(), trained.folds)
    return FittedTerms(
        shape.unpacked(fitted.weights, scales),
        tuple(shape.unpacked(of_fold, scales) for of_fold in fitted.by_fold),
        pairs,
        trained.alone,
        plain.losses,
        fitted.losses,
        trained.counts,
        plain.weights,
    )


class _Fitted(NamedTuple):
    """Weights fitted to all examples and without each fold, and the held-out losses."""

    weights: Floats
    by_fold: list[Floats]
    losses: Floats


def _fitted(design: LabelDesign, penalties: Floats, folds: npt.NDArray[np.int64]) -> _Fitted:
    few = max(1, MOST_CELLS // max(1, design.features[0].size)) if len(design.features) else 1
    used = np.arange(len(folds)) % (len(folds) // few + 1) == 0
    weights = fit_softmax(design.at(used), penalties)
    losses = np.zeros(len(folds))
    by_fold = []
    for fold in range(FOLDS):
        inside, outside = (folds != fold) & used, folds == fold
        by_fold.append(fit_softmax(design.at(inside), penalties, weights))
        if outside.any():
            losses[outside] = design.at(outside).losses(by_fold[-1])
    return _Fitted(weights, by_fold, losses)


class _Shape:
    """Where each weight is in a vector: own, biases, then the weights of each term."""

    def __init__(
        self, target: JointTarget, terms: Sequence[Term], widths: Sequence[int], pairs: float | None
    ) -> None:
        self.free = target.columns
        self.widths = widths
        self.penalty = PAIRS[-1] if pairs is None else pairs
        self.same = [bool(target.classes) and term.target == target.name for term in terms]
        self.pairs = [pairs is not None or not same for same in self.same]

    def features(self, fixed: Floats, values: Sequence[Floats]) -> Floats:
        """For each example and free label, what each weight multiplies."""
        n_examples, free = len(fixed), self.free
        parts = [fixed[:, -free:, None], np.broadcast_to(np.eye(free), (n_examples, free, free))]
        for term_values, same, pairs in zip(values, self.same, self.pairs, strict=True):
            if same:
                parts.append(term_values[:, :, None])
            if pairs:
                crossed = np.einsum("nc,fg->nfcg", term_values, np.eye(free))
                parts.append(crossed.reshape(n_examples, free, -1))
        return np.concatenate(parts, axis=2)

    def penalties(self) -> Floats:
        result = [PENALTY] * (1 + self.free)
        for width, same, pairs in zip(self.widths, self.same, self.pairs, strict=True):
            result += [PENALTY] * same + [self.penalty] * (pairs * width * self.free)
        return np.array(result)

    def unpacked(self, weights: Floats, scales: Sequence[float]) -> WeightSet:
        """The weights by what they are for, rounded, and without the scales of the values."""
        remaining = iter(weights.tolist())
        own = _rounded(next(remaining))
        bias = tuple(_rounded(next(remaining)) for _ in range(self.free))
        terms = []
        for width, same, pairs, scale in zip(self.widths, self.same, self.pairs, scales, strict=True):
            same_weight = _rounded(next(remaining) / scale) if same else 0.0
            rows = [
                tuple(_rounded(next(remaining) / scale) for _ in range(self.free))
                for _ in range(width if pairs else 0)
            ]
            terms.append(TermWeights(same_weight, tuple(rows)))
        return WeightSet(own, bias, tuple(terms))


def _rounded(weight: float) -> float:
    """Rounded to 9 significant digits: the last digits of sums may differ between machines."""
    return float(f"{weight:.9g}")
