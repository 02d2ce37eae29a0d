"""Plots of a fit: the loss after each step, the candidates of each step, and the time taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hornbeam.drawing.axes import AxisScale, Frame, ticks
from hornbeam.drawing.figure import Figure
from hornbeam.drawing.markup import Child, together
from hornbeam.drawing.shapes import bar, dot, label, path_of

_CANDIDATES = (("counted", "counted"), ("reused", "known"), ("skipped", "skipped"))
"""What happened to candidates: the field of a step (also the class of its bar), and the word shown."""

_LOSSES = {"log_loss": "training", "held_out_loss": "held-out"}
"""The losses that steps record, and the examples that they are means over."""


def learning_plot(steps: Sequence[Mapping[str, Any]]) -> Figure | None:
    """The log-loss after each step, on training or on held-out examples; None if no step records it."""
    name = next((each for each in _LOSSES if any(each in step for step in steps)), None)
    if name is None:
        return None
    loss_of = {int(step["step"]): float(step[name]) for step in steps if name in step}
    measure = str(steps[0].get("measure", "log-loss"))
    numbers, losses = list(loss_of), list(loss_of.values())
    least, most = min(losses), max(losses)
    span = max(most - least, 0.05 * most, 1e-9)
    frame = Frame.of(_steps_range(numbers), (least - 0.3 * span, most + 0.15 * span))
    points = [(frame.x(number), frame.y(loss)) for number, loss in loss_of.items()]
    drawn: list[Child] = [
        frame.axes("step", measure, x_ticks=_step_ticks(numbers)),
        path_of(points, "curve"),
    ]
    for (number, loss), (x, y) in zip(loss_of.items(), points, strict=True):
        drawn.append(dot(x, y, 3.5, "dot", f"step {number}: {loss:.4f}"))
    return Figure(
        title="Learning curve",
        caption=(
            f"{'Mean log-loss' if measure == 'log-loss' else measure} of the {_LOSSES[name]} examples: "
            f"{losses[0]:.4f} after step {numbers[0]}, {losses[-1]:.4f} after step {numbers[-1]}."
        ),
        width=frame.width,
        height=frame.height,
        drawing=together(drawn),
        header=("step", measure),
        rows=tuple((str(number), f"{loss:.6f}") for number, loss in loss_of.items()),
    )


def effort_plot(steps: Sequence[Mapping[str, Any]]) -> Figure | None:
    """Candidates of each step: newly counted, known before, skipped; None if no step records them."""
    by_step: dict[int, list[int]] = {}
    for step in steps:
        if "counted" in step:
            # A step that adds several clauses searches once, and records the same numbers for each.
            by_step.setdefault(int(step["step"]), [int(step.get(name, 0)) for name, _ in _CANDIDATES])
    if not by_step:
        return None
    top = max(sum(counts) for counts in by_step.values()) or 1
    frame = Frame.of(_steps_range(by_step), (0.0, top * 1.05))
    drawn: list[Child] = [frame.axes("step", "candidates", x_ticks=_step_ticks(by_step))]
    width = _bar_width(frame)
    for number, counts in by_step.items():
        base = 0
        for (name, word), count in zip(_CANDIDATES, counts, strict=True):
            if count:
                height = frame.y(0) - frame.y(count)
                hint = f"step {number}: {count:,} {word}"
                drawn.append(
                    bar(frame.x(number) - width / 2, frame.y(base + count), width, height, name, hint)
                )
            base += count
    sums = [sum(column) for column in zip(*by_step.values(), strict=True)]
    words = ", ".join(f"{count:,} {word}" for count, (_, word) in zip(sums, _CANDIDATES, strict=True))
    return Figure(
        title="Search effort",
        caption=f"Candidate clauses: {words}. Known ones were counted in an earlier step.",
        width=frame.width,
        height=frame.height,
        drawing=together(drawn),
        header=("step", *(word for _, word in _CANDIDATES)),
        rows=tuple((str(number), *(f"{count:,}" for count in counts)) for number, counts in by_step.items()),
    )


def time_plot(steps: Sequence[Mapping[str, Any]]) -> Figure | None:
    """Seconds of each step; None if no step records them."""
    by_step: dict[int, float] = {}
    for step in steps:
        if "seconds" in step:
            number = int(step["step"])
            by_step[number] = by_step.get(number, 0.0) + float(step["seconds"])
    if not by_step:
        return None
    top = max(by_step.values()) or 1.0
    frame = Frame.of(_steps_range(by_step), (0.0, top * 1.05))
    drawn: list[Child] = [frame.axes("step", "seconds", x_ticks=_step_ticks(by_step))]
    width = _bar_width(frame)
    for number, seconds in by_step.items():
        height = frame.y(0) - frame.y(seconds)
        hint = f"step {number}: {seconds:.2f} s"
        drawn.append(bar(frame.x(number) - width / 2, frame.y(seconds), width, height, "phase", hint))
    slowest = max(by_step, key=lambda number: by_step[number])
    return Figure(
        title="Time by step",
        caption=f"Wall time {sum(by_step.values()):.2f} s; step {slowest} took {by_step[slowest]:.2f} s.",
        width=frame.width,
        height=frame.height,
        drawing=together(drawn),
        header=("step", "seconds"),
        rows=tuple((str(number), f"{seconds:.3f}") for number, seconds in by_step.items()),
    )


def phase_plot(phases: Sequence[tuple[str, float]]) -> Figure:
    """Seconds of each phase, as horizontal bars."""
    top = max((seconds for _, seconds in phases), default=1.0) or 1.0
    height, left, width = 30, 110, 440
    scale = AxisScale(0.0, top, left, width - 70)
    drawn: list[Child] = []
    for place, (name, seconds) in enumerate(phases):
        y = place * height + 6
        drawn.append(label(left - 12, y + 14, name, "tick", "end"))
        drawn.append(bar(left, y, max(scale(seconds) - left, 1.5), 18, "phase", rx=2))
        drawn.append(label(scale(seconds) + 8, y + 14, f"{seconds:.2f} s", "tick", "start"))
    total = sum(seconds for _, seconds in phases)
    return Figure(
        title="Time by phase",
        caption=f"Wall time {total:.2f} s.",
        width=width,
        height=len(phases) * height + 8,
        drawing=together(drawn),
        header=("phase", "seconds"),
        rows=tuple((name, f"{seconds:.3f}") for name, seconds in phases),
    )


def _steps_range(numbers: Iterable[int]) -> tuple[float, float]:
    steps = list(numbers)
    return min(steps) - 0.6, max(steps) + 0.6


def _step_ticks(numbers: Iterable[int]) -> list[tuple[float, str]]:
    """Whole numbers of steps for an axis."""
    last = max(numbers)
    return [(value, f"{value:g}") for value in ticks(1, last, 8) if value == int(value)] or [(1.0, "1")]


def _bar_width(frame: Frame) -> float:
    """The width of a bar on an axis of steps."""
    return min(28.0, (frame.x(1) - frame.x(0)) * 0.72)
