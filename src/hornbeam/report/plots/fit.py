"""The plots of a fit: what each step gained, looked at and took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hornbeam.drawing.figure import Figure, Frame, Scale, bar, label, path_of, ticks
from hornbeam.drawing.markup import Child, element, together


def learning_plot(steps: Sequence[Mapping[str, Any]]) -> Figure | None:
    """The log-loss on the training examples after each step; None where no step tells it."""
    told = [(int(each["step"]), float(each["log_loss"])) for each in steps if "log_loss" in each]
    last = dict(told)
    if not last:
        return None
    numbers, losses = list(last), list(last.values())
    least, most = min(losses), max(losses)
    span = max(most - least, 0.05 * most, 1e-9)
    frame = Frame.of(_steps_range(numbers), (least - 0.3 * span, most + 0.15 * span))
    marks = _step_marks(numbers)
    points = [(frame.x(number), frame.y(loss)) for number, loss in last.items()]
    drawn: list[Child] = [frame.axes("step", "log-loss", x_ticks=marks), path_of(points, "curve")]
    for (number, loss), (x, y) in zip(last.items(), points, strict=True):
        hint = f"step {number}: {loss:.4f}"
        drawn.append(element("circle", element("title", hint), cx=x, cy=y, r=3.5, class_="dot"))
    return Figure(
        title="Learning curve",
        caption=(
            f"Mean log-loss of the training examples: {losses[0]:.4f} after step {numbers[0]}, "
            f"{losses[-1]:.4f} after step {numbers[-1]}."
        ),
        width=frame.width,
        height=frame.height,
        drawing=together(drawn),
        header=("step", "log-loss"),
        rows=tuple((str(number), f"{loss:.6f}") for number, loss in last.items()),
    )


def effort_plot(steps: Sequence[Mapping[str, Any]]) -> Figure | None:
    """Candidates of each step: counted anew, known already, skipped; None where no step tells them."""
    kinds = (("counted", "counted"), ("reused", "known"), ("skipped", "skipped"))
    by_step: dict[int, list[int]] = {}
    for each in steps:
        if "counted" in each:
            # A step that adds several clauses looks at its candidates once.
            by_step.setdefault(int(each["step"]), [int(each.get(name, 0)) for name, _ in kinds])
    if not by_step:
        return None
    top = max(sum(counts) for counts in by_step.values()) or 1
    frame = Frame.of(_steps_range(by_step), (0.0, top * 1.05))
    marks = _step_marks(by_step)
    drawn: list[Child] = [frame.axes("step", "candidates", x_ticks=marks)]
    width = min(28.0, (frame.x(1) - frame.x(0)) * 0.72)
    for number, counts in by_step.items():
        base = 0
        for (name, said), count in zip(kinds, counts, strict=True):
            if count:
                height = frame.y(0) - frame.y(count)
                hint = f"step {number}: {count:,} {said}"
                drawn.append(
                    bar(frame.x(number) - width / 2, frame.y(base + count), width, height, name, hint)
                )
            base += count
    sums = [sum(column) for column in zip(*by_step.values(), strict=True)]
    said = ", ".join(f"{count:,} {word}" for count, (_, word) in zip(sums, kinds, strict=True))
    return Figure(
        title="Search effort",
        caption=f"Candidate clauses looked at: {said}. Known ones were counted in an earlier step.",
        width=frame.width,
        height=frame.height,
        drawing=together(drawn),
        header=("step", *(word for _, word in kinds)),
        rows=tuple((str(number), *(f"{count:,}" for count in counts)) for number, counts in by_step.items()),
    )


def time_plot(steps: Sequence[Mapping[str, Any]]) -> Figure | None:
    """Seconds of each step; None where no step tells them."""
    by_step: dict[int, float] = {}
    for each in steps:
        if "seconds" in each:
            number = int(each["step"])
            by_step[number] = by_step.get(number, 0.0) + float(each["seconds"])
    if not by_step:
        return None
    top = max(by_step.values()) or 1.0
    frame = Frame.of(_steps_range(by_step), (0.0, top * 1.05))
    drawn: list[Child] = [frame.axes("step", "seconds", x_ticks=_step_marks(by_step))]
    width = min(28.0, (frame.x(1) - frame.x(0)) * 0.72)
    for number, seconds in by_step.items():
        height = frame.y(0) - frame.y(seconds)
        hint = f"step {number}: {seconds:.2f} s"
        drawn.append(bar(frame.x(number) - width / 2, frame.y(seconds), width, height, "phase", hint))
    slowest = max(by_step, key=lambda number: by_step[number])
    return Figure(
        title="Time by step",
        caption=f"{sum(by_step.values()):.2f} s by the clock, {by_step[slowest]:.2f} s in step {slowest}.",
        width=frame.width,
        height=frame.height,
        drawing=together(drawn),
        header=("step", "seconds"),
        rows=tuple((str(number), f"{seconds:.3f}") for number, seconds in by_step.items()),
    )


def _steps_range(numbers: Iterable[int]) -> tuple[float, float]:
    known = list(numbers)
    return min(known) - 0.6, max(known) + 0.6


def _step_marks(numbers: Iterable[int]) -> list[tuple[float, str]]:
    """Whole numbers of steps for an axis."""
    last = max(numbers)
    return [(each, f"{each:g}") for each in ticks(1, last, 8) if each == int(each)] or [(1.0, "1")]


def phase_plot(phases: Sequence[tuple[str, float]]) -> Figure:
    """Seconds by phase, as bars."""
    top = max((seconds for _, seconds in phases), default=1.0) or 1.0
    height, left, width = 30, 110, 440
    scale = Scale(0.0, top, left, width - 70)
    drawn: list[Child] = []
    for place, (name, seconds) in enumerate(phases):
        y = place * height + 6
        drawn.append(label(left - 12, y + 14, name, "tick", "end"))
        drawn.append(bar(left, y, max(scale(seconds) - left, 1.5), 18, "phase", round_=2))
        drawn.append(label(scale(seconds) + 8, y + 14, f"{seconds:.2f} s", "tick", "start"))
    total = sum(seconds for _, seconds in phases)
    return Figure(
        title="Time by phase",
        caption=f"{total:.2f} s in all, by the clock.",
        width=width,
        height=len(phases) * height + 8,
        drawing=together(drawn),
        header=("phase", "seconds"),
        rows=tuple((name, f"{seconds:.3f}") for name, seconds in phases),
    )
