"""Weights of classes: how the models of several classes are put together, fitted to held-out scores.

Each model is learned for its class against all others, so no model knows how far the others are sure.
Probabilities that are only divided by their sum are too close to each other. Two weights, fitted to scores
from models that were learned without the example, make up for it; the order of the classes stays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hornbeam.data.relations import Examples
from hornbeam.learning.losses.softmax import LabelDesign, fit_softmax
from hornbeam.learning.numbers import Floats
from hornbeam.model.class_model import PLAIN_WEIGHTS, ClassWeights

PENALTY = 30.0
"""Ridge penalty of the difference from plain weights: a hundred examples without error make little of it."""
DIGITS = 4
"""Number of decimals of the weights."""


def class_weights(held_out: Sequence[Floats | None], examples: Examples) -> ClassWeights:
    """The weights for the held-out log-odds of each class; plain ones if there are none, or two classes.

    Labels are positions in the examples' classes.
    """
    given = [each for each in held_out if each is not None]
    if len(given) < len(held_out) or len(given) < 3:
        return PLAIN_WEIGHTS
    scores = np.column_stack(given)
    known = np.logical_and.reduce(np.isfinite(scores), axis=1)
    counts = _counts(examples, known)
    scores, labels = scores[known], examples.labels[known].astype(np.int64)
    # The order in which examples are given must not matter.
    order = np.lexsort([counts, labels, *scores.T])
    scores, labels = scores[order], labels[order]
    logs = -np.logaddexp(0.0, -scores)
    design = LabelDesign(logs, np.stack([logs, scores], axis=2), labels, counts[order])
    weights = _fitted(design)
    if weights.odds < 0.0:
        weights = _fitted(design._replace(features=design.features[:, :, :1]))
    return weights if weights.rise else PLAIN_WEIGHTS


def _counts(examples: Examples, known: npt.NDArray[np.bool_]) -> Floats:
    """How much each known example counts: also for those of its class that sampling left out."""
    weights = np.ones(len(known)) if examples.weights is None else examples.weights
    size = len(examples.classes)
    in_all = np.bincount(examples.labels, weights, minlength=size)
    here = np.bincount(examples.labels[known], weights[known], minlength=size)
    stands_for = in_all / np.where(here > 0, here, 1.0)
    result: Floats = weights[known] * stands_for[examples.labels[known]]
    return result


def _fitted(design: LabelDesign) -> ClassWeights:
    """The weights of the features: of logarithms of probabilities, and perhaps of log-odds."""
    n_weights = design.features.shape[2]
    more = [*fit_softmax(design, np.full(n_weights, PENALTY)).tolist(), 0.0]
    return ClassWeights(
        *(round(own + added, DIGITS) for own, added in zip(PLAIN_WEIGHTS, more, strict=False))
    )
