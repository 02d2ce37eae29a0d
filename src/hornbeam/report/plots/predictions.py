"""The plots of predictions, each a figure with its numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hornbeam.data.ranking import Ranking, ranking
from hornbeam.drawing.figure import Figure, Frame, bar, label, line, path_of
from hornbeam.drawing.markup import Child, Markup, element, number_text, together
from hornbeam.model.evaluate import Scores, evaluate
from hornbeam.report.numbers.curves import BINS, THRESHOLDS, calibration, histogram, thinned

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
