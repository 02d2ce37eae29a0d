"""Plots of contributions: the range of one part of a model, and of all parts by label."""

from __future__ import annotations

from collections.abc import Sequence

from hornbeam.drawing.axes import AxisScale, tick_text, ticks
from hornbeam.drawing.figure import Figure
from hornbeam.drawing.markup import Child, Markup, signed_text, together
from hornbeam.drawing.shapes import bar, dot, label, line


def spread_bar(
    spread: Sequence[float],
    extremes: tuple[float, float],
    scale: AxisScale,
    height: int = 22,
    lines: Markup | None = None,
) -> Markup:
    """The range of what a part adds to the log-odds, on both sides of zero.

    A line spans all examples, a thin bar nine in ten, a thick bar the middle half; a dot is the median.
    """
    low, lower, median, upper, high = spread
    zero, middle = scale(0.0), height / 2
    least, most = (min(max(end, scale.low), scale.high) for end in extremes)
    style = "rise" if abs(high) >= abs(low) else "fall"
    hint = f"5 %: {signed_text(low)}, median: {signed_text(median)}, 95 %: {signed_text(high)}"
    drawn: list[Child] = [lines, line(zero, 0, zero, height, "zero")]
    for start, end, side in ((least, min(most, 0.0), "fall"), (max(least, 0.0), most, "rise")):
        if end > start:
            drawn.append(line(scale(start), middle, scale(end), middle, f"all {side}"))
    for start, end, thick, kind in ((low, high, 8, "range"), (lower, upper, 14, "half")):
        for a, b, side in ((start, min(end, 0.0), "fall"), (max(start, 0.0), end, "rise")):
            if b > a:
                x, width = scale(a), scale(b) - scale(a)
                drawn.append(bar(x, middle - thick / 2, width, thick, f"{kind} {side}", rx=1.5))
    drawn.append(dot(scale(median), middle, 3.2, f"median {style}", hint))
    return together(drawn)


def label_spreads(
    names: Sequence[str], positives: Sequence[Sequence[float]], negatives: Sequence[Sequence[float]]
) -> Figure:
    """The range of what each part adds to the log-odds of positives and of negatives."""
    values = [value for spread in (*positives, *negatives) for value in spread]
    low, high = min([0.0, *values]), max([0.0, *values])
    room = 0.04 * (high - low or 1.0)
    left, width, row = 96, 900, 38
    height = len(names) * row + 48
    scale = AxisScale(low - room, high + room, left, width - 14)
    drawn: list[Child] = []
    for value in ticks(low, high, 8):
        drawn.append(line(scale(value), 6, scale(value), height - 42, "grid"))
        drawn.append(label(scale(value), height - 24, tick_text(value)))
    drawn.append(line(scale(0.0), 6, scale(0.0), height - 42, "zero"))
    drawn.append(label((left + width) / 2, height - 6, "what it adds to the log-odds", "title"))
    for place, name in enumerate(names):
        y = place * row + 14
        drawn.append(label(left - 12, y + 14, name, "tick", "end"))
        for spread, offset, style in ((positives[place], 3, "positive"), (negatives[place], 17, "negative")):
            a, lower, median, upper, b = spread
            drawn.append(line(scale(a), y + offset + 3, scale(b), y + offset + 3, f"thin {style}"))
            drawn.append(
                bar(scale(lower) - 0.75, y + offset, scale(upper) - scale(lower) + 1.5, 6, style, rx=1)
            )
            hint = f"{name}, {style}s: median {signed_text(median)}"
            drawn.append(dot(scale(median), y + offset + 3, 4, f"dot {style}", hint))
    rows = tuple(
        (name, *(signed_text(spread[place]) for spread in (of_pos, of_neg) for place in (0, 2, 4)))
        for name, of_pos, of_neg in zip(names, positives, negatives, strict=True)
    )
    return Figure(
        title="Contributions by label",
        caption=(
            "Orange: positives. Blue: negatives. A line spans nine in ten examples, a bar the middle half; "
            "a dot is the median."
        ),
        width=width,
        height=height,
        drawing=together(drawn),
        header=("part", "positives 5 %", "median", "95 %", "negatives 5 %", "median", "95 %"),
        rows=rows,
    )
