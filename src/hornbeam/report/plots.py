"""The plots of predictions and of a fit, each a figure with its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.evaluate import Scores, evaluate
from hornbeam.markup import Child, Markup, element, number_text, signed_text, together
from hornbeam.report.curves import (
    BINS,
    THRESHOLDS,
    Ranking,
    calibration,
    histogram,
    ranking,
    thinned,
)
from hornbeam.report.figure import Figure, Frame, Scale, bar, label, line, path_of, tick_text, ticks

SCORE_BINS = 40


def roc_plot(labels: npt.ArrayLike, probabilities: npt.ArrayLike, scores: Scores | None = None) -> Figure:
    """The share of positives found against the share of negatives taken for positives."""
    scores = scores or evaluate(labels, probabilities)
    found = ranking(np.asarray(labels), np.asarray(probabilities, dtype=np.float64))
    frame = Frame.of((0.0, 1.0), (0.0, 1.0))
    x, y = thinned(*found.roc())
    points = [(frame.x(a), frame.y(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    corner = (frame.x(1.0), frame.y(0.0))
    rows = []
    for threshold in THRESHOLDS[1::2]:
        positives, negatives = found.at(threshold)
        rows.append((f"{threshold:.2f}", f"{negatives / found.n_neg:.4f}", f"{positives / found.n_pos:.4f}"))
    return Figure(
        title="ROC curve",
        caption=f"Area {scores.auc_roc:.4f}: the share of pairs, positive and negative, in the right order.",
        width=frame.width,
        height=frame.height,
        drawing=together(
            [
                frame.axes("share of negatives above the threshold", "share of positives above it"),
                line(frame.x(0), frame.y(0), frame.x(1), frame.y(1), "chance"),
                path_of([*points, corner], "area"),
                path_of(points, "curve"),
                _ring(frame, "roc", *_rates(found, 0.5)),
            ]
        ),
        header=("threshold", "false positive rate", "true positive rate"),
        rows=tuple(rows),
    )


def _rates(found: Ranking, threshold: float) -> tuple[float, float]:
    """The shares of negatives and of positives with at least that probability."""
    positives, negatives = found.at(threshold)
    return negatives / found.n_neg, positives / found.n_pos


def _ring(frame: Frame, name: str, x: float, y: float) -> Markup:
    """Where a threshold of one half lies; the script of a page moves it, and reads the scales off it."""
    scales = " ".join(f"{end:g}" for scale in (frame.x, frame.y) for end in (scale.start, scale.end))
    return element(
        "circle",
        element("title", "the threshold"),
        cx=frame.x(x),
        cy=frame.y(y),
        r=6,
        class_=f"ring {name}",
        data_scales=scales,
    )


def precision_recall_plot(
    labels: npt.ArrayLike, probabilities: npt.ArrayLike, scores: Scores | None = None
) -> Figure:
    """Precision against recall, with all negatives and with two per positive."""
    scores = scores or evaluate(labels, probabilities)
    found = ranking(np.asarray(labels), np.asarray(probabilities, dtype=np.float64))
    frame = Frame.of((0.0, 1.0), (0.0, 1.0))
    drawn: list[Child] = [frame.axes("recall: share of positives found", "precision: positives among those")]
    base = found.n_pos / (found.n_pos + found.n_neg)
    drawn.append(line(frame.x(0), frame.y(base), frame.x(1), frame.y(base), "chance"))
    fewer = found.n_neg > 2 * found.n_pos
    for ratio, style in ((2.0, "curve second"), (None, "curve")):
        if ratio is not None and not fewer:
            continue
        recall, precision = thinned(*found.precision_recall(ratio))
        points = [(frame.x(a), frame.y(b)) for a, b in zip(recall.tolist(), precision.tolist(), strict=True)]
        drawn.append(path_of([(frame.x(0), points[0][1]), *points], style))
    positives, negatives = found.at(0.5)
    if positives + negatives:
        drawn.append(_ring(frame, "pr", positives / found.n_pos, positives / (positives + negatives)))
    rows = []
    for threshold in THRESHOLDS[1::2]:
        positives, negatives = found.at(threshold)
        taken = positives + negatives
        rows.append(
            (
                f"{threshold:.2f}",
                f"{positives / found.n_pos:.4f}",
                f"{positives / taken:.4f}" if taken else "none above",
                f"{taken:,}",
            )
        )
    caption = f"Average precision {scores.auc_pr:.4f} with all {found.n_neg:,} negatives (solid)"
    if fewer:
        caption += f"; {scores.auc_pr_2to1:.4f} with two drawn per positive (dashed), "
        caption += "only to compare with published numbers"
    caption += f". Chance is {base:.4f}."
    return Figure(
        title="Precision and recall",
        caption=caption,
        width=frame.width,
        height=frame.height,
        drawing=together(drawn),
        header=("threshold", "recall", "precision", "examples above"),
        rows=tuple(rows),
    )


def calibration_plot(labels: npt.ArrayLike, probabilities: npt.ArrayLike) -> Figure:
    """The share of positives among examples of similar probability."""
    label_of, probability = np.asarray(labels), np.asarray(probabilities, dtype=np.float64)
    # Fewer groups of few examples: a share of a dozen tells nothing.
    bins = calibration(label_of, probability, max(3, min(BINS, len(label_of) // 25)))
    frame = Frame.of((0.0, 1.0), (0.0, 1.0))
    drawn: list[Child] = [
        frame.axes("mean probability of a group", "share of positives in it"),
        line(frame.x(0), frame.y(0), frame.x(1), frame.y(1), "chance"),
    ]
    points = [(frame.x(each.mean), frame.y(each.share)) for each in bins]
    drawn.append(path_of(points, "curve faint"))
    for each, (x, y) in zip(bins, points, strict=True):
        drawn.append(line(x, frame.y(each.low), x, frame.y(each.high), "whisker"))
        hint = f"{each.examples:,} examples: mean probability {each.mean:.3f}, positives {each.share:.3f}"
        drawn.append(element("circle", element("title", hint), cx=x, cy=y, r=4.5, class_="dot"))
    size = sum(each.examples for each in bins)
    gap = sum(each.examples * abs(each.share - each.mean) for each in bins) / size
    return Figure(
        title="Calibration",
        caption=(
            f"Groups of similar probability, each as uncertain as the others. On the diagonal, probabilities "
            f"mean what they say; mean distance from it {gap:.4f}. Whiskers: 95 % confidence."
        ),
        width=frame.width,
        height=frame.height,
        drawing=together(drawn),
        header=("examples", "mean probability", "share of positives"),
        rows=tuple((f"{each.examples:,}", f"{each.mean:.4f}", f"{each.share:.4f}") for each in bins),
    )


def score_plot(labels: npt.ArrayLike, log_odds: npt.ArrayLike) -> Figure:
    """Where the log-odds of positives and of negatives lie, each as shares of their own number."""
    label_of, scored = np.asarray(labels), np.asarray(log_odds, dtype=np.float64)
    ends = [np.quantile(scored[label_of == wanted], [0.005, 0.995]) for wanted in (1, 0)]
    low, high = float(min(each[0] for each in ends)), float(max(each[1] for each in ends))
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, SCORE_BINS + 1)
    shares = []
    for wanted in (1, 0):
        counts = histogram(scored[label_of == wanted], edges)
        shares.append(counts / max(counts.sum(), 1))
    # By their square roots, or a tall bar would leave nothing to see of the others.
    heights = [np.sqrt(share) for share in shares]
    top = max(float(height.max()) for height in heights) or 1.0
    frame = Frame.of((low, high), (-top, top), left=64, top=34)
    marks = [(0.0, "0")] + [
        (sign * each**0.5, f"{100 * each:g} %")
        for each in (0.01, 0.05, 0.2, 0.5, 1.0)
        for sign in (1, -1)
        if each**0.5 <= top
    ]
    drawn: list[Child] = [frame.axes("log-odds", "share of its label", y_ticks=marks)]
    for height, sign, style in zip(heights, (1, -1), ("positive", "negative"), strict=True):
        for place, each in enumerate(height.tolist()):
            if each:
                x, y = frame.x(float(edges[place])), frame.y(max(sign * each, 0.0))
                width = frame.x(float(edges[place + 1])) - x - 1
                hint = f"{100 * each**2:.3g} % of the {style}s"
                drawn.append(bar(x + 0.5, y, width, abs(frame.y(each) - frame.y(0.0)), style, hint))
    drawn.append(line(frame.x.start, frame.y(0), frame.x.end, frame.y(0), "axis"))
    drawn.append(label(frame.x.start, 18, "positives, upwards", "name positive", "start"))
    drawn.append(label(frame.x.end, 18, "negatives, downwards", "name negative", "end"))
    rows = []
    for name, wanted in (("positives", 1), ("negatives", 0)):
        own = scored[label_of == wanted]
        found = np.quantile(own, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist()
        rows.append((name, f"{len(own):,}", *map(number_text, found)))
    return Figure(
        title="Scores by label",
        caption=(
            "Each as shares of their own number; the height is the square root of the share, so that few can "
            "be seen beside many."
        ),
        width=frame.width,
        height=frame.height,
        drawing=together(drawn),
        header=("label", "examples", "5 %", "25 %", "median", "75 %", "95 %"),
        rows=tuple(rows),
    )


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


def spread_bar(
    spread: Sequence[float], scale: Scale, height: int = 22, lines: Markup | None = None
) -> Markup:
    """The range of a contribution about zero: thin for nine in ten examples, thick for the middle half."""
    low, lower, median, upper, high = spread
    zero, middle = scale(0.0), height / 2
    style = "rise" if abs(high) >= abs(low) else "fall"
    hint = f"5 %: {signed_text(low)}, median: {signed_text(median)}, 95 %: {signed_text(high)}"
    drawn: list[Child] = [lines, line(zero, 0, zero, height, "zero")]
    for start, end, thick, kind in ((low, high, 8, "range"), (lower, upper, 14, "half")):
        for a, b, side in ((start, min(end, 0.0), "fall"), (max(start, 0.0), end, "rise")):
            if b > a:
                drawn.append(
                    bar(
                        scale(a), middle - thick / 2, scale(b) - scale(a), thick, f"{kind} {side}", round_=1.5
                    )
                )
    drawn.append(
        element(
            "circle", element("title", hint), cx=scale(median), cy=middle, r=3.2, class_=f"median {style}"
        )
    )
    return together(drawn)


def label_spreads(
    names: Sequence[str], positives: Sequence[Sequence[float]], negatives: Sequence[Sequence[float]]
) -> Figure:
    """For each part where its contributions to positives and to negatives lie."""
    values = [value for spread in (*positives, *negatives) for value in spread]
    low, high = min([0.0, *values]), max([0.0, *values])
    room = 0.04 * (high - low or 1.0)
    left, width, row = 96, 900, 38
    height = len(names) * row + 48
    scale = Scale(low - room, high + room, left, width - 14)
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
                bar(scale(lower) - 0.75, y + offset, scale(upper) - scale(lower) + 1.5, 6, style, round_=1)
            )
            hint = f"{name}, {style}s: median {signed_text(median)}"
            drawn.append(
                element(
                    "circle",
                    element("title", hint),
                    cx=scale(median),
                    cy=y + offset + 3,
                    r=4,
                    class_=f"dot {style}",
                )
            )
    rows = tuple(
        (name, *(signed_text(spread[place]) for spread in (of_pos, of_neg) for place in (0, 2, 4)))
        for name, of_pos, of_neg in zip(names, positives, negatives, strict=True)
    )
    return Figure(
        title="Contributions by label",
        caption=(
            "Orange: positives. Blue: negatives. A line holds nine in ten examples, a bar the middle half; "
            "a dot is the median."
        ),
        width=width,
        height=height,
        drawing=together(drawn),
        header=("part", "positives 5 %", "median", "95 %", "negatives 5 %", "median", "95 %"),
        rows=rows,
    )
