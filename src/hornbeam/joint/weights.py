"""Fitting the weights of terms for one target, judged by cross-validation on its training examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.numbers import Floats
from hornbeam.joint.neighbours import Term, TermWeights
from hornbeam.joint.things import JointTarget
from hornbeam.learning.effects.bagging import FOLDS
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
    alone: Floats
    """of the model that gives the score beside the neighbours"""
    joint: Floats

    @property
    def loss(self) -> float:
        return float(self.joint.mean())

    @property
    def gains(self) -> bool:
        """Whether the held-out loss is lower with neighbours than without them, by a standard error."""
        gained = self.alone - self.joint
        return bool(gained.mean() > gained.std() / np.sqrt(max(len(gained), 1)))


def penalties_of_pairs(target: JointTarget) -> tuple[float | None, ...]:
    """The penalties of pairs to try; None for no weights of pairs."""
    return (None, *PAIRS) if target.classes else PAIRS_OF_TRUTH


def fit_terms(
    trained: Trained, terms: Sequence[Term], values: Sequence[Floats], pairs: float | None
) -> FittedTerms:
    """The weights of terms, given their values for the training examples."""
    scales = [float(np.sqrt(np.mean(each**2))) or 1.0 for each in values]
    shape = _Shape(trained.target, terms, [each.shape[1] for each in values], pairs)
    scaled = [each / scale for each, scale in zip(values, scales, strict=True)]
    design = LabelDesign(trained.fixed, shape.features(trained.fixed, scaled), trained.labels)
    penalties = shape.penalties()
    few = max(1, MOST_CELLS // max(1, design.features[0].size)) if len(design.features) else 1
    used = np.arange(len(trained.labels)) % (len(trained.labels) // few + 1) == 0
    weights = fit_softmax(design.at(used), penalties)
    joint = np.zeros(len(trained.labels))
    by_fold = []
    for fold in range(FOLDS):
        inside, outside = (trained.folds != fold) & used, trained.folds == fold
        of_fold = fit_softmax(design.at(inside), penalties, weights)
        by_fold.append(shape.unpacked(of_fold, scales))
        if outside.any():
            joint[outside] = design.at(outside).losses(of_fold)
    alone = design.losses(np.zeros(len(penalties)))
    return FittedTerms(shape.unpacked(weights, scales), tuple(by_fold), pairs, trained.alone, alone, joint)


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
