"""The plot of an effect: its curve as steps, error bars, and the training examples below it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from hornbeam.drawing.axes import AxisScale, labelled_ticks
from hornbeam.drawing.figure import Figure
from hornbeam.drawing.markup import Child, Markup, percent_text, signed_text, together
from hornbeam.drawing.shapes import bar, dot, label, line
from hornbeam.logic.clauses import Value, format_value
from hornbeam.logic.english.curves import curve_rows
from hornbeam.logic.features import KINDS
from hornbeam.model.readable.cards import EffectCard, card_table
from hornbeam.model.scales import Scale

WIDTH, LEFT, RIGHT = 440, 52, 12
_TOP, _BOTTOM = 12, 124
"""The upper and the lower end of the curve."""
_LINE = 54
"""Maximum number of characters in a line of the axis title."""
_HISTOGRAM = 34
"""Height of the tallest bar of examples."""
_LEAST = 0.25
"""The axis spans at least this much log-odds on both sides of zero, so that a tiny effect looks tiny."""
_TICKS = (
    (0.7, (0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4)),
    (1.8, (0.4, 0.5, 0.7, 1.0, 1.4, 2.0, 2.5)),
    (4.5, (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)),
    (9.5, (0.01, 0.1, 1.0, 10.0, 100.0)),
)
"""Odds factors to label, by the span of the axis in log-odds."""


class _Bin(NamedTuple):
    """One step of the curve: where it is drawn, and what it shows."""

    left: float
    right: float
    level: float
    end: float
    """the level at the right end, which differs from that at the left one if the curve has a slope"""
    error: float
    examples: int
    values: str


def curve_plot(card: EffectCard) -> Figure:
    """The curve of an effect: how the odds change with its value."""
    bins = _bins(card)
    levels = [(level, each.error) for each in bins for level in (each.level, each.end)]
    ends = [0.0, *(end for level, error in levels for end in (level - error, level + error))]
    factors = bool(card.readers.scale.factor)
    least = _LEAST if factors else 0.0
    low, high = min(-least, min(ends)), max(least, max(ends))
    up = AxisScale(low - 0.06 * (high - low), high + 0.06 * (high - low), _BOTTOM, _TOP)
    shows_examples = any(each.examples for each in bins)
    floor = _BOTTOM + (8 + _HISTOGRAM if shows_examples else 0)
    axis = _odds_axis(up) if factors else _number_axis(up)
    drawn: list[Child] = [axis, *_examples(bins, floor), *_steps(bins, up, card.readers.scale)]
    drawn.append(line(LEFT, floor, WIDTH - RIGHT, floor, "axis"))
    drawn += _labels(card, bins, floor)
    title = card.phrase.removeprefix("whether ") + (", in %" if card.in_percent else "")
    lines = textwrap.wrap(title, _LINE, max_lines=2, placeholder="…")
    for number, text in enumerate(lines):
        drawn.append(label((LEFT + WIDTH - RIGHT) / 2, floor + 38 + 16 * number, text, "title"))
    header, rows = card_table(card)
    return Figure(
        title=card.sentence,
        caption="",
        width=WIDTH,
        height=floor + 28 + 16 * len(lines),
        drawing=together(drawn),
        header=tuple(header),
        rows=tuple(rows),
    )


def _bins(card: EffectCard) -> list[_Bin]:
    """The steps from small values to large ones, all equally wide; missing values stand apart."""
    fitted = card.fitted
    curve = fitted.effect.curve
    rows = curve_rows(curve, fitted.effect.feature)
    has_missing = bool(curve.missing or (fitted.examples and fitted.examples[0]))
    places = [*range(1, len(curve.levels) + 1), *([0] if has_missing else [])]
    gap = 16.0 if has_missing else 0.0
    width = (WIDTH - RIGHT - LEFT - gap) / len(places)
    bins = []
    for number, place in enumerate(places):
        left = LEFT + number * width + (gap if place == 0 else 0.0)
        values = "missing" if place == 0 else rows[number].values
        level, end = (curve.missing,) * 2 if place == 0 else curve.ends[number]
        error = fitted.errors[place] if fitted.errors else 0.0
        examples = fitted.examples[place] if fitted.examples else 0
        bins.append(_Bin(left, left + width, level, end, error, examples, values))
    return bins


def _odds_axis(up: AxisScale) -> Markup:
    """Lines and numbers at round factors of the odds."""
    span = up.high - up.low
    factors: tuple[float, ...] = next((each for most, each in _TICKS if span <= most), ())
    if not factors:
        step = max(1, round(span / math.log(10) / 5))
        first = math.ceil(up.low / math.log(10))
        factors = tuple(10.0**power for power in range(first, first + 40, step))
    drawn: list[Child] = []
    for factor in dict.fromkeys((*factors, 1.0)):
        level = math.log(factor)
        if up.low <= level <= up.high:
            drawn.append(line(LEFT, up(level), WIDTH - RIGHT, up(level), "zero" if factor == 1 else "grid"))
            drawn.append(label(LEFT - 8, up(level) + 4, f"× {factor:g}", anchor="end"))
    return together(drawn)


def _number_axis(up: AxisScale) -> Markup:
    """Lines at round numbers, which are what the effect adds to the prediction."""
    drawn: list[Child] = []
    for value, text in labelled_ticks(up.low, up.high):
        drawn.append(line(LEFT, up(value), WIDTH - RIGHT, up(value), "zero" if value == 0 else "grid"))
        drawn.append(label(LEFT - 8, up(value) + 4, f"+{text}" if value > 0 else text, anchor="end"))
    return together(drawn)


def _steps(bins: Sequence[_Bin], up: AxisScale, scale: Scale) -> list[Child]:
    """The curve: areas between it and no change, the steps, and one standard error up and down."""
    drawn: list[Child] = []
    zero = up(0.0)
    for each in bins:
        first, last = up(each.level), up(each.end)
        middle = (first + last) / 2
        style = "rise" if each.level + each.end >= 0 else "fall"
        levels = [each.level] if each.level == each.end else [each.level, each.end]
        hint = f"{each.values}: {scale.adds} {' to '.join(signed_text(level, 3) for level in levels)}"
        if scale.factor:
            factors = (f"× {math.exp(min(level, 709.0)):.3g}" for level in levels)
            hint += f", {scale.factor} {' to '.join(factors)}"
        top = min(middle, zero)
        drawn.append(bar(each.left, top, each.right - each.left, abs(zero - middle), f"range {style}", hint))
        drawn.append(line(each.left, first, each.right, last, f"step {style}"))
        if each.error:
            x = (each.left + each.right) / 2
            level = (each.level + each.end) / 2
            drawn.append(line(x, up(level - each.error), x, up(level + each.error), "error"))
            drawn.append(dot(x, middle, 2.4, "median"))
    return drawn


def _examples(bins: Sequence[_Bin], floor: float) -> list[Child]:
    """The training examples of each step, as bars."""
    total = sum(each.examples for each in bins)
    most = max(each.examples for each in bins)
    drawn: list[Child] = []
    for each in bins:
        if each.examples:
            height = max(_HISTOGRAM * each.examples / most, 1.0)
            share = percent_text(each.examples / total)
            hint = f"{each.values}: {each.examples:,} training examples, {share}"
            width = each.right - each.left - 2
            drawn.append(bar(each.left + 1, floor - height, width, height, "sizes", hint))
    return drawn


def _labels(card: EffectCard, bins: Sequence[_Bin], floor: float) -> list[Child]:
    """The values under the axis: in the middle of a step where they fit, else at the cuts between steps."""
    effect = card.fitted.effect
    known = [each for each in bins if each.values != "missing"]
    room = (known[0].right - known[0].left) / 6.8
    words = [each.values for each in known]
    if card.whether and len(known) == 2:
        words = ["no", "yes"]
    texts: list[tuple[float, str]] = []
    if KINDS[effect.feature.kind].whole or len(known) <= 2:
        short = [word.replace(" to ", "–").replace(" or more", "+").replace(" %", "") for word in words]
        if all(len(word) + 1 <= room for word in short):
            texts = [((each.left + each.right) / 2, word) for each, word in zip(known, short, strict=True)]
    if not texts:
        cuts = [_cut_text(cut, card.in_percent) for cut in effect.curve.cuts]
        every = max(1, math.ceil((max(map(len, cuts), default=0) + 1) / room))
        texts = [(each.right, cut) for each, cut in zip(known, cuts, strict=False)][::every]
    # A narrow last step must not push its word over the edge.
    edge = WIDTH - len("missing") * 3.6
    texts += [
        (min((each.left + each.right) / 2, edge), "missing") for each in bins if each.values == "missing"
    ]
    return [label(x, floor + 16, text) for x, text in texts]


def _cut_text(cut: Value, percent: bool) -> str:
    if not isinstance(cut, float | int):
        return format_value(cut)
    return f"{100 * cut:.3g}" if percent else f"{cut:.4g}"
