"""Levels of classes that were learned together, in the one form that says most to a reader.

A softmax does not change if all scores of an example are moved alike, so the levels of a bin are fixed up to
a number. Here they are such that for an example that is average in all other effects, ``exp(level)`` is the
factor by which the probability of a class changes; the prior is the logarithm of its probability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.learning.losses.softmax import log_softmax
from hornbeam.learning.numbers import Floats, round_weight
from hornbeam.logic.effects import Curve, Effect, in_order_of_use
from hornbeam.logic.schema import value_of
from hornbeam.model.effects import FittedEffect


def mean_of(levels: Floats, shares: Floats) -> Floats:
    """The mean level of each class over examples, of which each bin has a share."""
    result: Floats = (shares[:, None] * levels).sum(axis=0)
    return result


def log_chances(scores: Floats) -> Floats:
    """The logarithm of the probability of each class, from one score for each."""
    result: Floats = log_softmax(scores[None])[0]
    return result


def balanced(levels: Floats, shares: Floats, average: Floats) -> Floats:
    """The levels of a curve as factors of the probabilities of an average example; rows are bins.

    ``average`` has the logarithm of the probability of each class.

    >>> levels = np.log([[4.0, 2.0], [2.0, 4.0]])
    >>> np.exp(balanced(levels, np.array([0.5, 0.5]), np.log([0.5, 0.5]))).round(6).tolist()
    [[1.333333, 0.666667], [0.666667, 1.333333]]
    """
    centred = levels - mean_of(levels, shares)
    raised = centred + average
    most = raised.max(axis=1, keepdims=True)
    result: Floats = centred - (most + np.log(np.exp(raised - most).sum(axis=1, keepdims=True)))
    return result


def all_balanced(
    intercept: Floats,
    levels: Mapping[int, Floats],
    bags: Sequence[Mapping[int, Floats]],
    shares: Mapping[int, Floats],
) -> tuple[Floats, dict[int, Floats], list[dict[int, Floats]]]:
    """The intercepts, all levels and those of each bag in this form; ``shares`` has those of the bins."""
    for candidate, own in levels.items():
        intercept = intercept + mean_of(own[: len(shares[candidate])], shares[candidate])
    average = log_chances(intercept)

    def of_one(curves: Mapping[int, Floats]) -> dict[int, Floats]:
        empty = {each: np.zeros((len(share), len(average))) for each, share in shares.items()}
        return {
            each: balanced(curves.get(each, empty[each])[: len(share)], share, average)
            for each, share in shares.items()
        }

    return average, of_one(levels), [of_one(each) for each in bags]


class Shown(NamedTuple):
    """What the effects of a candidate have in common."""

    effect: Effect
    """without its curve"""
    cuts: Sequence[float]
    kind: str
    """whether the values of the feature are numbers or dates"""
    spread: float
    """the variance of a level, as a multiple of that between bags"""


def effects_of_classes(
    shown: Shown,
    levels: Floats,
    bags: Sequence[Floats],
    row: npt.NDArray[np.uint8],
    counted: tuple[Floats, Floats],
) -> tuple[FittedEffect, ...]:
    """The effect of a candidate for each class; neighbouring bins of equal levels are one.

    ``counted`` has the number of examples of each row, and how much they count.
    """
    size = len(shown.cuts) + 2
    numbers, sizes = counted
    counts = np.bincount(row, numbers, minlength=size)
    rounded = [tuple(map(round_weight, own)) for own in levels[:size].tolist()]
    starts = [1, *(each for each in range(2, size) if rounded[each] != rounded[each - 1])]
    ends = [*starts[1:], size]
    errors = np.std(np.array(bags), axis=0) * math.sqrt(shown.spread) if bags else None
    examples = (int(counts[0]), *(int(counts[a:b].sum()) for a, b in zip(starts, ends, strict=True)))
    found = []
    for place in range(levels.shape[1]):
        curve = Curve(
            tuple(value_of(shown.cuts[start - 2], shown.kind) for start in starts[1:]),
            tuple(rounded[start][place] for start in starts),
            rounded[0][place] if counts[0] else 0.0,
        )
        at = () if errors is None else tuple(round(each, 6) for each in errors[[0, *starts], place].tolist())
        added = levels[row, place]
        mean = float((added * sizes).sum() / sizes.sum())
        importance = float((np.abs(added - mean) * sizes).sum() / sizes.sum())
        effect = in_order_of_use(shown.effect._replace(curve=curve))
        found.append(FittedEffect(effect, round(importance, 9), at, examples))
    return tuple(found)
