"""Curves for people: their shape in a word, and their levels as a small table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from hornbeam.logic.clauses import Value, format_value
from hornbeam.logic.effects import Curve, Feature
from hornbeam.logic.features import KINDS, SHARE

FLAT, RISES, FALLS, PEAKS, DIPS, VARIES = "is flat", "rises", "falls", "peaks", "dips", "varies"
"""The shapes of curves."""
SMALL_TURN = 0.15
"""A turn that is smaller than this share of a curve's range is not part of its shape."""
JUMP = 0.75
"""A step that makes at least this share of a curve's range is a threshold."""


class CurveRow(NamedTuple):
    """One level of a curve: the range of values that have it, and the change in log-odds."""

    values: str
    level: float
    end: float | None = None
    """the change at the end of the range, if the curve has a slope; ``level`` is that at its beginning"""

    @property
    def odds(self) -> float:
        """The factor by which the odds change."""
        return math.exp(min(self.level, 709.0))


def shape_of(levels: Sequence[float]) -> str:
    """The shape of a curve with these levels, from small values to large ones.

    A turn that is small beside the whole range of the curve does not count: bags make curves uneven.

    >>> shape_of((0.0, 1.0, 1.0)), shape_of((0.0, 2.0, 1.0)), shape_of((1.0, 0.0, 1.0, 0.0))
    ('rises', 'peaks', 'varies')
    >>> shape_of((0.0, 1.0, 0.9, 2.0))
    'rises'
    """
    directions = _directions(levels)
    if not directions:
        return FLAT
    if len(directions) == 1:
        return RISES if directions[0] else FALLS
    if len(directions) == 2:
        return PEAKS if directions[0] else DIPS
    return VARIES


def _directions(levels: Sequence[float]) -> list[bool]:
    """For each stretch of the curve whether it goes up; smaller turns are part of a stretch."""
    least = SMALL_TURN * (max(levels) - min(levels))
    directions: list[bool] = []
    low = high = levels[0]
    for level in levels:
        low, high = min(low, level), max(high, level)
        if directions[-1:] != [True] and level > low and level - low >= least:
            directions.append(True)
            high = level
        elif directions[-1:] != [False] and level < high and high - level >= least:
            directions.append(False)
            low = level
    return directions


def jump_of(levels: Sequence[float]) -> int | None:
    """The place of the step that makes most of the curve's range; None if no step does.

    >>> jump_of((-1.2, -1.1, 1.6, 1.7)), jump_of((0.0, 1.0, 2.0))
    (1, None)
    """
    steps = [later - earlier for earlier, later in pairwise(levels)]
    if not steps:
        return None
    place = max(range(len(steps)), key=lambda each: abs(steps[each]))
    return place if abs(steps[place]) >= JUMP * (max(levels) - min(levels)) else None


def near_extreme(levels: Sequence[float], peak: bool) -> list[int]:
    """The places of the highest level (or the lowest) and of neighbours that are almost as high.

    >>> near_extreme((0.0, 1.0, 0.95, 0.2), True)
    [1, 2]
    """
    extreme = max(levels) if peak else min(levels)
    near = SMALL_TURN * (max(levels) - min(levels))
    first = last = list(levels).index(extreme)
    while first > 0 and abs(levels[first - 1] - extreme) <= near:
        first -= 1
    while last < len(levels) - 1 and abs(levels[last + 1] - extreme) <= near:
        last += 1
    return list(range(first, last + 1))


def curve_rows(curve: Curve, feature: Feature) -> list[CurveRow]:
    """The levels of a curve with their ranges of values; the last row is that of missing values.

    Values of counts are never missing, so such a curve has no row for them.

    >>> curve_rows(Curve((1.0, 3.0), (-0.5, 0.0, 0.7)), Feature("count"))[:2]
    [CurveRow(values='0', level=-0.5, end=None), CurveRow(values='1 to 2', level=0.0, end=None)]
    >>> curve_rows(Curve((), (-0.5,), 0.0, 0.1, 0.0, 25.0), Feature("count"))
    [CurveRow(values='0 to 25', level=-0.5, end=2.0)]
    """
    bounds = [None, *curve.cuts, None]
    whole = KINDS[feature.kind].whole and _whole_ranges(curve.cuts)
    if curve.slope:
        rows = _sloped_rows(curve, feature, whole)
        return [*rows, CurveRow("missing", curve.missing)] if not whole or curve.missing else rows
    rows = [
        CurveRow(range_of(feature, low, high, whole), level)
        for low, high, level in zip(bounds, bounds[1:], curve.levels, strict=False)
    ]
    if not KINDS[feature.kind].whole or curve.missing:
        rows.append(CurveRow("missing", curve.missing))
    return rows


def _sloped_rows(curve: Curve, feature: Feature, whole: bool) -> list[CurveRow]:
    """The levels of a curve with a slope, each with what it adds at both ends of its range."""
    bounds: list[Value] = [curve.low, *curve.cuts, curve.high]
    rows = []
    for (low, high), (start, end) in zip(pairwise(bounds), curve.ends, strict=True):
        values = range_of(feature, low, high, whole)
        if high == curve.high:
            # The last range has both of its ends.
            values = range_of(feature, low, curve.high + 1.0, True) if whole else values.replace("below ", "")
        rows.append(CurveRow(values, start, end))
    return rows


def step_of(curve: Curve) -> float:
    """A round number of units whose effect on a line is neither tiny nor longer than the line.

    >>> step_of(Curve((), (0.0,), 0.0, 0.12, 1.0, 25.0)), step_of(Curve((), (0.0,), 0.0, 2e-5, 0.0, 4e5))
    (1.0, 100000.0)
    """
    length = curve.high - curve.low
    if length >= 1.0 and abs(curve.slope) >= 0.01:
        return 1.0
    return float(10.0 ** math.floor(math.log10(length)))


def range_of(feature: Feature, low: Value | None, high: Value | None, whole: bool = False) -> str:
    """The values of a feature from ``low`` to below ``high`` in words; shares are in percent.

    >>> range_of(Feature("share"), 0.25, 0.5), range_of(Feature("mean", 1), None, 2.5)
    ('25 % to below 50 %', 'below 2.5')
    >>> range_of(Feature("share"), 1.0, None)
    '100 %'
    """
    if feature.kind != SHARE or isinstance(low, datetime) or isinstance(high, datetime):
        return range_text(low, high, whole)
    ends = [None if end is None else f"{_percent(end)} %" for end in (low, high)]
    if ends[0] is None:
        return "any" if ends[1] is None else f"below {ends[1]}"
    if ends[1] is None:
        return ends[0] if low == 1 else f"{ends[0]} or more"
    return f"{ends[0]} to below {ends[1]}"


def _percent(share: float) -> str:
    return f"{100 * share:.12g}"


def range_text(low: Value | None, high: Value | None, whole: bool = False) -> str:
    """The values from ``low`` to below ``high`` in words; None is no bound, ``whole``: whole numbers from 0.

    >>> range_text(None, 3.0), range_text(3.0, 7.0), range_text(7.0, None), range_text(None, 1.0, True)
    ('below 3', '3 to below 7', '7 or more', '0')
    """
    if whole and not isinstance(low, datetime) and not isinstance(high, datetime):
        first = 0 if low is None else max(math.ceil(low), 0)
        if high is None:
            return f"{first:,} or more" if first else "any"
        last = math.ceil(high) - 1
        return f"{first:,}" if first == last else f"{first:,} to {last:,}"
    date = isinstance(low, datetime) or isinstance(high, datetime)
    if low is None:
        return "any" if high is None else f"{'before' if date else 'below'} {format_value(high)}"
    if high is None:
        return f"{format_value(low)} {'or later' if date else 'or more'}"
    return f"{format_value(low)} to {'before' if date else 'below'} {format_value(high)}"


def _whole_ranges(cuts: Sequence[Value]) -> bool:
    """Whether there is a whole number from 0 between every two cuts, and one below the first cut."""
    numbers = [cut for cut in cuts if not isinstance(cut, datetime)]
    steps = [0, *map(math.ceil, numbers)]
    return len(numbers) == len(cuts) and all(one < two for one, two in pairwise(steps))


def odds_text(level: float) -> str:
    """The change of the odds that a level makes.

    >>> odds_text(0.42), odds_text(-7.0), odds_text(30.0)
    ('odds x 1.52', 'odds x 0.000912', 'odds x 1.07e+13')
    """
    return f"odds x {CurveRow('', level).odds:.3g}"


def curve_table(curve: Curve, feature: Feature) -> str:
    """The levels of a curve as lines of text.

    >>> print(curve_table(Curve((3.0,), (-0.5, 0.42), -0.2), Feature("mean", 1)))
    below 3    -0.5   odds x 0.607
    3 or more  +0.42  odds x 1.52
    missing    -0.2   odds x 0.819
    """
    rows = [
        (row.values, from_to(_signed, row), from_to(odds_text, row)) for row in curve_rows(curve, feature)
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(2)]
    return "\n".join(f"{values:<{widths[0]}}  {level:<{widths[1]}}  {odds}" for values, level, odds in rows)


def from_to(text_of: Callable[[float], str], row: CurveRow) -> str:
    """The text of a level, or of both ends of a range with a slope."""
    first = text_of(row.level)
    return first if row.end is None else f"{first} to {text_of(row.end)}"


def _signed(level: float) -> str:
    return f"{level:+.4g}" if level else "0"
