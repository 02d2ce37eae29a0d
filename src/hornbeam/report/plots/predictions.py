"""Plots of predictions: ROC, precision and recall, calibration, and scores by label."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hornbeam.data.ranking import Ranking, ranking
from hornbeam.drawing.axes import Frame, Margins
from hornbeam.drawing.figure import Figure
from hornbeam.drawing.markup import Child, Markup, percent_text, together
from hornbeam.drawing.shapes import bar, dot, label, line, path_of
from hornbeam.model.evaluate import Scores, evaluate
from hornbeam.report.numbers.curves import BINS, THRESHOLDS, calibration, histogram, thinned

SCORE_BINS = 40
LOOKED_AT = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
"""Shares of the examples for which the gain and the lift are in the table."""
LEAST_ROOM = 46
"""Pixels between the labels of an axis of probabilities."""
LEAST_BINS = 3
"""Minimum number of groups that a line of calibration is drawn through."""
_BELOW = (1e-6, 1e-4, 0.001, 0.01, 0.03, 0.1, 0.25)
PROBABILITIES = (*_BELOW, 0.5, *(1 - share for share in reversed(_BELOW)))
"""Probabilities that the axis of scores is labelled with."""


def roc_plot(labels: npt.ArrayLike, probabilities: npt.ArrayLike, scores: Scores | None = None) -> Figure:
    """The share of positives above each threshold against the share of negatives above it."""
    scores = scores or evaluate(labels, probabilities)
    ranked = ranking(np.asarray(labels), np.asarray(probabilities, dtype=np.float64))
    frame = Frame.of((0.0, 1.0), (0.0, 1.0))
    x, y = thinned(*ranked.roc())
    points = [(frame.x(a), frame.y(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    corner = (frame.x(1.0), frame.y(0.0))
    rows = []
    for threshold in THRESHOLDS[1::2]:
        positives, negatives = ranked.at(threshold)
        rows.append(
            (f"{threshold:.2f}", f"{negatives / ranked.n_neg:.4f}", f"{positives / ranked.n_pos:.4f}")
        )
    return Figure(
        title="ROC curve",
        caption=(
            f"Area {percent_text(scores.auc_roc, 1)}: the share of pairs, positive and negative, in the "
            "right order."
        ),
        width=frame.width,
        height=frame.height,
        drawing=together(
            [
                frame.axes("share of negatives above the threshold", "share of positives above it"),
                line(frame.x(0), frame.y(0), frame.x(1), frame.y(1), "chance"),
                path_of([*points, corner], "area"),
                path_of(points, "curve"),
                _ring(frame, "roc", *_rates(ranked, 0.5)),
            ]
        ),
        header=("threshold", "false positive rate", "true positive rate"),
        rows=tuple(rows),
    )


def _rates(ranked: Ranking, threshold: float) -> tuple[float, float]:
    """The shares of negatives and of positives with at least this probability."""
    positives, negatives = ranked.at(threshold)
    return negatives / ranked.n_neg, positives / ranked.n_pos


def _ring(frame: Frame, name: str, x: float, y: float) -> Markup:
    """A ring at the threshold of one half. The script of a page moves it, and reads the scales off it."""
    scales = " ".join(f"{end:g}" for scale in (frame.x, frame.y) for end in (scale.start, scale.end))
    return dot(frame.x(x), frame.y(y), 6, f"ring {name}", "the threshold", data_scales=scales)


def precision_recall_plot(
    labels: npt.ArrayLike, probabilities: npt.ArrayLike, scores: Scores | None = None
) -> Figure:
    """Precision against recall."""
    scores = scores or evaluate(labels, probabilities)
    ranked = ranking(np.asarray(labels), np.asarray(probabilities, dtype=np.float64))
    frame = Frame.of((0.0, 1.0), (0.0, 1.0))
    drawn: list[Child] = [
        frame.axes("recall: positives above the threshold", "precision: positives among all above")
    ]
    base = ranked.n_pos / (ranked.n_pos + ranked.n_neg)
    drawn.append(line(frame.x(0), frame.y(base), frame.x(1), frame.y(base), "chance"))
    recall, precision = thinned(*ranked.precision_recall())
    points = [(frame.x(a), frame.y(b)) for a, b in zip(recall.tolist(), precision.tolist(), strict=True)]
    drawn.append(path_of([(frame.x(0), points[0][1]), *points], "curve"))
    positives, negatives = ranked.at(0.5)
    if positives + negatives:
        drawn.append(_ring(frame, "pr", positives / ranked.n_pos, positives / (positives + negatives)))
    rows = []
    for threshold in THRESHOLDS[1::2]:
        positives, negatives = ranked.at(threshold)
        above = positives + negatives
        rows.append(
            (
                f"{threshold:.2f}",
                f"{positives / ranked.n_pos:.4f}",
                f"{positives / above:.4f}" if above else "none above",
                f"{above:,}",
            )
        )
    caption = (
        f"Average precision {percent_text(scores.auc_pr, 1)}; the dotted line is guessing, "
        f"{percent_text(base, 1)}."
    )
    return Figure(
        title="Precision and recall",
        caption=caption,
        width=frame.width,
        height=frame.height,
        drawing=together(drawn),
        header=("threshold", "recall", "precision", "examples above"),
        rows=tuple(rows),
    )


def gain_plot(labels: npt.ArrayLike, probabilities: npt.ArrayLike) -> Figure:
    """The share of positives that is found by looking at the most probable examples first, and the lift."""
    ranked = ranking(np.asarray(labels), np.asarray(probabilities, dtype=np.float64))
    size = ranked.n_pos + ranked.n_neg
    looked = np.concatenate([[0.0], (ranked.positives_above + ranked.negatives_above) / size])
    found = np.concatenate([[0.0], ranked.positives_above / ranked.n_pos])
    frame = Frame.of((0.0, 1.0), (0.0, 1.0))
    x, y = thinned(looked, found)
    points = [(frame.x(a), frame.y(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    rows = []
    for share in LOOKED_AT:
        # Examples with equal probabilities are looked at in any order, so the curve is straight between.
        part = float(np.interp(share, looked, found))
        rows.append((percent_text(share), percent_text(part, 1), f"{part / share:.2f}"))
    tenth = float(np.interp(0.1, looked, found))
    return Figure(
        title="Gain and lift",
        caption=(
            f"The most probable tenth of the examples has {percent_text(tenth)} of the positives: "
            f"{10 * tenth:.1f} times as many as a tenth drawn at random (the lift)."
        ),
        width=frame.width,
        height=frame.height,
        drawing=together(
            [
                frame.axes("share of examples, the most probable first", "share of positives found"),
                line(frame.x(0), frame.y(0), frame.x(1), frame.y(1), "chance"),
                path_of(points, "curve"),
            ]
        ),
        header=("looked at", "positives found", "lift"),
        rows=tuple(rows),
    )


def calibration_plot(labels: npt.ArrayLike, probabilities: npt.ArrayLike) -> Figure:
    """The share of positives among examples of similar probability."""
    label_of, probability = np.asarray(labels), np.asarray(probabilities, dtype=np.float64)
    # With few examples there are few groups, because a share of positives among a dozen means little.
    bins = calibration(label_of, probability, max(3, min(BINS, len(label_of) // 25)))
    frame = Frame.of((0.0, 1.0), (0.0, 1.0))
    drawn: list[Child] = [
        frame.axes("mean probability of a group", "share of positives in it"),
        line(frame.x(0), frame.y(0), frame.x(1), frame.y(1), "chance"),
    ]
    points = [(frame.x(each.mean), frame.y(each.share)) for each in bins]
    if len(bins) >= LEAST_BINS:
        # A line through one or two groups would look like a curve that nobody measured.
        drawn.append(path_of(points, "curve faint"))
    for each, (x, y) in zip(bins, points, strict=True):
        drawn.append(line(x, frame.y(each.low), x, frame.y(each.high), "whisker"))
        hint = f"{each.examples:,} examples: mean probability {each.mean:.3f}, positives {each.share:.3f}"
        drawn.append(dot(x, y, 4.5, "dot", hint))
    size = sum(each.examples for each in bins)
    gap = sum(each.examples * abs(each.share - each.mean) for each in bins) / size
    return Figure(
        title="Calibration",
        caption=(
            "Examples in groups of similar probability. On the diagonal, the predicted probability is the "
            "observed share of positives; the mean distance from it is "
            f"{100 * gap:.1f} percentage points. Whiskers: 95 % confidence."
        ),
        width=frame.width,
        height=frame.height,
        drawing=together(drawn),
        header=("examples", "mean probability", "share of positives"),
        rows=tuple((f"{each.examples:,}", f"{each.mean:.4f}", f"{each.share:.4f}") for each in bins),
    )


def _probability_ticks(frame: Frame) -> list[tuple[float, str]]:
    """Ticks at round probabilities on an axis of log-odds, as many as have room."""
    ticks: list[tuple[float, str]] = []
    # The middle first, so that crowded ticks at the ends are left out.
    for share in sorted(PROBABILITIES, key=lambda each: (abs(each - 0.5), each)):
        place = math.log(share / (1.0 - share))
        near = any(abs(frame.x(place) - frame.x(other)) < LEAST_ROOM for other, _ in ticks)
        if frame.x.low <= place <= frame.x.high and not near:
            ticks.append((place, f"{100 * share:.6g} %"))
    return ticks


def score_plot(labels: npt.ArrayLike, log_odds: npt.ArrayLike) -> Figure:
    """The probabilities of positives and of negatives, as shares of each label; the axis is log-odds."""
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
    # Square roots: beside a tall bar, bars drawn to scale would be too low to see.
    heights = [np.sqrt(share) for share in shares]
    top = max(float(height.max()) for height in heights) or 1.0
    frame = Frame.of((low, high), (-top, top), margins=Margins(left=64, top=34))
    y_ticks = [(0.0, "0")] + [
        (sign * share**0.5, f"{100 * share:g} %")
        for share in (0.01, 0.05, 0.2, 0.5, 1.0)
        for sign in (1, -1)
        if share**0.5 <= top
    ]
    x_ticks = _probability_ticks(frame)
    drawn: list[Child] = [frame.axes("probability", "share of its label", x_ticks, y_ticks)]
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
        quantiles = np.quantile(own, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist()
        rows.append(
            (name, f"{len(own):,}", *(percent_text(1.0 / (1.0 + math.exp(-value)), 1) for value in quantiles))
        )
    return Figure(
        title="Probabilities by label",
        caption=(
            "Shares of all positives and of all negatives. The height of a bar is the square root of its "
            "share, so that low bars can be seen beside tall ones. Probabilities near 0 and 1 are spread out."
        ),
        width=frame.width,
        height=frame.height,
        drawing=together(drawn),
        header=("label", "examples", "5 %", "25 %", "median", "75 %", "95 %"),
        rows=tuple(rows),
    )
