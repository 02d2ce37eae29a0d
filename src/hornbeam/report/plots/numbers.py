"""Plots of predicted numbers: predictions against the truth, and what they leave."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hornbeam.drawing.axes import Frame
from hornbeam.drawing.figure import Figure
from hornbeam.drawing.markup import Child, number_text, together
from hornbeam.drawing.shapes import bar, dot, line

MOST_POINTS = 1500
"""More points than this are not drawn: every n-th in order of the prediction is."""
BARS = 31
FEWEST = 11


def against_plot(values: npt.ArrayLike, predictions: npt.ArrayLike) -> Figure:
    """A point for each example: the prediction across, the truth up; the diagonal is perfect."""
    value, prediction = (np.asarray(each, dtype=np.float64) for each in (values, predictions))
    ends = float(min(value.min(), prediction.min())), float(max(value.max(), prediction.max()))
    frame = Frame.of(ends, ends)
    order = np.argsort(prediction, kind="stable")
    some = order[:: len(order) // MOST_POINTS + 1]
    drawn: list[Child] = [
        frame.axes("predicted", "actual"),
        line(frame.x(ends[0]), frame.y(ends[0]), frame.x(ends[1]), frame.y(ends[1]), "chance"),
    ]
    drawn += [dot(frame.x(float(prediction[row])), frame.y(float(value[row])), 2.2, "dot") for row in some]
    shown = "" if len(some) == len(order) else f" {len(some):,} of {len(order):,} examples are drawn."
    groups = np.array_split(order, min(10, len(order)))
    return Figure(
        title="Predicted and actual",
        caption=f"On the line, the prediction is right.{shown}",
        width=frame.width,
        height=frame.height,
        drawing=together(drawn),
        header=("predicted, mean", "actual, mean", "examples"),
        rows=tuple(
            (number_text(float(prediction[g].mean())), number_text(float(value[g].mean())), f"{len(g):,}")
            for g in groups
        ),
    )


def residual_plot(values: npt.ArrayLike, predictions: npt.ArrayLike) -> Figure:
    """How many examples are off by how much; the farthest hundredth on each side is at the ends."""
    left = np.asarray(values, dtype=np.float64) - np.asarray(predictions, dtype=np.float64)
    most = float(np.quantile(np.abs(left), 0.99)) or 1.0
    bars = BARS if len(left) > 200 else FEWEST
    counts, edges = np.histogram(np.clip(left, -most, most), bins=bars, range=(-most, most))
    frame = Frame.of((-most, most), (0.0, 1.05 * float(counts.max())))
    drawn: list[Child] = [frame.axes("actual minus predicted", "examples")]
    rows = []
    for number, low, high in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        what = f"{number_text(low, 3)} to {number_text(high, 3)}"
        width = frame.x(high) - frame.x(low) - 1
        top = frame.y(number)
        drawn.append(bar(frame.x(low), top, width, frame.y(0) - top, "phase", f"{what}: {number:,}"))
        rows.append((what, f"{number:,}"))
    half = number_text(float(np.median(np.abs(left))), 3)
    return Figure(
        title="Residuals",
        caption=f"Half of the examples are off by less than {half}.",
        width=frame.width,
        height=frame.height,
        drawing=together(drawn),
        header=("actual minus predicted", "examples"),
        rows=tuple(rows),
    )
