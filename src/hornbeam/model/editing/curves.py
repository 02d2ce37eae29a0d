"""Simpler curves: flat, straight, rising, falling or rounded, as near to the learned curve as they can be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from hornbeam.logic.effects import Curve
from hornbeam.logic.schema import number_of
from hornbeam.model.effects import FittedEffect

FLATTEN, STRAIGHTEN, RISE, FALL = "flatten", "straighten", "rise", "fall"
Change = Callable[[Curve, Sequence[float], Curve], Curve]
"""A change of a curve, given the number of training examples at each level, and the curve without a slope."""


def changed(fitted: FittedEffect, change: Change) -> FittedEffect:
    """The effect with its curve changed; standard errors of its levels are not known any more."""
    curve = fitted.effect.curve
    known = len(fitted.examples) == len(curve.levels) + 1 and sum(fitted.examples[1:]) > 0
    weights = [max(n, 1) for n in fitted.examples[1:]] if known else [1] * len(curve.levels)
    return _joined(fitted, change(curve, weights, _stepped(fitted)))


def _stepped(fitted: FittedEffect) -> Curve:
    """The curve without its slope, which its levels take over: what it adds in the middle of each range."""
    curve = fitted.effect.curve
    if not curve.slope:
        return curve
    levels = tuple((start + end) / 2 for start, end in curve.ends)
    if not curve.cuts and fitted.centre is not None:
        levels = (curve.levels[0] + curve.risen(fitted.centre),)
    return Curve(curve.cuts, levels, curve.missing)


def rounded(step: float) -> Change:
    """The change that rounds levels to multiples of a step."""

    def nearest(level: float) -> float:
        # Without the errors of the product in the last digits; and no negative zero.
        return float(f"{round(level / step) * step:.12g}") + 0.0

    return lambda curve, *_: curve._replace(
        levels=tuple(map(nearest, curve.levels)), missing=nearest(curve.missing)
    )


def _flat(_: Curve, weights: Sequence[float], stepped: Curve) -> Curve:
    """One level for all values that are not missing: the mean over the examples."""
    return stepped._replace(levels=(_mean(stepped.levels, weights),) * len(stepped.levels))


def _straight(curve: Curve, weights: Sequence[float], stepped: Curve) -> Curve:
    """The levels on the straight line that is nearest to the curve, by least squares over the examples.

    A curve with a slope becomes one line between its ends; others stay steps. A level stands at the middle
    between its cuts; the first and the last stand as far outside as the next one inside.
    """
    if len(curve.levels) < (2 if curve.slope else 3):
        return curve
    cuts = [number_of(cut) for cut in curve.cuts]
    middles = [(one + two) / 2 for one, two in pairwise(cuts)]
    if curve.slope:
        places = [(curve.low + cuts[0]) / 2, *middles, (cuts[-1] + curve.high) / 2]
    else:
        places = [2 * cuts[0] - middles[0], *middles, 2 * cuts[-1] - middles[-1]]
    centre, height = _mean(places, weights), _mean(stepped.levels, weights)
    unit = max(abs(place - centre) for place in places)
    offsets = [(place - centre) / unit for place in places]
    spread = math.fsum(w * x * x for w, x in zip(weights, offsets, strict=True))
    both = math.fsum(w * x * y for w, x, y in zip(weights, offsets, stepped.levels, strict=True))
    if curve.slope:
        slope = both / spread / unit
        return curve._replace(cuts=(), levels=(height + slope * (curve.low - centre),), slope=slope)
    return curve._replace(levels=tuple(height + both / spread * offset for offset in offsets))


def rising(levels: Sequence[float], weights: Sequence[float]) -> tuple[float, ...]:
    """The nearest levels that never fall, by weighted least squares: neighbours that fall are joined.

    >>> rising([1.0, 3.0, 2.0], [1, 1, 3])
    (1.0, 2.25, 2.25)
    """
    blocks: list[tuple[float, float, int]] = []
    for level, weight in zip(levels, weights, strict=True):
        blocks.append((level, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (one, w, n), (two, v, m) = blocks[-2:]
            blocks[-2:] = [((w * one + v * two) / (w + v), w + v, n + m)]
    return tuple(level for level, _, number in blocks for _ in range(number))


def falling(levels: Sequence[float], weights: Sequence[float]) -> tuple[float, ...]:
    """The nearest levels that never rise."""
    return tuple(-level for level in rising([-level for level in levels], weights))


def _rising(curve: Curve, weights: Sequence[float], stepped: Curve) -> Curve:
    kept = curve if curve.slope >= 0 else stepped
    return kept._replace(levels=rising(kept.levels, weights))


def _falling(curve: Curve, weights: Sequence[float], stepped: Curve) -> Curve:
    kept = curve if curve.slope <= 0 else stepped
    return kept._replace(levels=falling(kept.levels, weights))


CHANGES: dict[str, Change] = {FLATTEN: _flat, STRAIGHTEN: _straight, RISE: _rising, FALL: _falling}
"""The changes that need no number, by name."""


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return math.fsum(w * each for w, each in zip(weights, values, strict=True)) / math.fsum(weights)


def _joined(fitted: FittedEffect, curve: Curve) -> FittedEffect:
    """The effect with this curve; neighbouring levels that are equal become one."""
    starts = [place for place in range(len(curve.levels)) if not _equal_to_last(curve.levels, place)]
    ends = [*starts[1:], len(curve.levels)]
    shorter = curve._replace(
        cuts=tuple(curve.cuts[place - 1] for place in starts[1:]),
        levels=tuple(curve.levels[place] for place in starts),
    )
    examples: tuple[int, ...] = ()
    if len(curve.levels) == 1 and len(fitted.examples) > 1:
        examples = (fitted.examples[0], sum(fitted.examples[1:]))
    elif len(fitted.examples) == len(curve.levels) + 1:
        numbers = fitted.examples[1:]
        examples = (fitted.examples[0], *(sum(numbers[a:b]) for a, b in zip(starts, ends, strict=True)))
    shortened = FittedEffect(fitted.effect._replace(curve=shorter), 0.0, (), examples)
    if shorter.slope:
        # How far values are from their mean is not known here; the slope makes most of the importance.
        return replace(shortened, importance=fitted.importance, centre=fitted.centre)
    return replace(shortened, importance=_importance(shortened))


def _equal_to_last(levels: Sequence[float], place: int) -> bool:
    return place > 0 and levels[place] == levels[place - 1]


def _importance(fitted: FittedEffect) -> float:
    """Mean absolute difference from the mean, over the examples if they are known, else over the levels."""
    levels = (fitted.effect.curve.missing, *fitted.effect.curve.levels)
    weights = fitted.examples if sum(fitted.examples) else (0, *(1 for _ in levels[1:]))
    mean = _mean(levels, weights)
    return round(_mean([abs(level - mean) for level in levels], weights), 9)
