"""The sections of a report that differ for a numeric target: the result, how good it is, and the examples."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Database
from hornbeam.data.keys import Names
from hornbeam.drawing.markup import Markup, element, number_text, percent_text, signed_text
from hornbeam.report.html.elements import figure, section, table
from hornbeam.report.html.summary import About, edits, note, tiles_of
from hornbeam.report.numbers.measurements import Measurements
from hornbeam.report.plots.numbers import against_plot, residual_plot

GROUPS = 5
"""Groups of examples, by their prediction, whose errors are compared."""
LARGEST = 50
"""Maximum number of examples in the table: those with the largest errors."""

Floats = npt.NDArray[np.float64]


def heading(measurements: Measurements) -> Markup:
    """The question that the model answers, and how well it answers it, in a sentence."""
    scores = measurements.numbers
    verdict = f"Not scored: none of the {len(measurements.examples):,} examples has a number."
    if scores is not None:
        verdict = (
            f"A prediction is off by {number_text(scores.mae, 3)} on average; always predicting the same "
            f"number is off by {number_text(scores.constant_mae, 3)}."
        )
    return element(
        "header",
        element("p", "Hornbeam model report", class_="kicker"),
        element("h1", measurements.wording.question),
        element("p", verdict, class_="lead"),
    )


def summary(measurements: Measurements, about: About) -> Markup:
    """The scores beside those of a constant, and whether the model was learned from these examples."""
    scores = measurements.numbers
    tiles = []
    if scores is not None:
        mae, rmse = number_text(scores.constant_mae), number_text(scores.constant_rmse)
        share = percent_text(max(scores.constant_r2, 0.0))
        tiles = [
            ("Mean absolute error", number_text(scores.mae), f"a constant: {mae}"),
            ("Root of the mean squared error", number_text(scores.rmse), f"a constant: {rmse}"),
            ("Variance explained (R2)", percent_text(max(scores.r2, 0.0), 1), f"a constant: {share}"),
        ]
        if scores.r2 < 0:
            tiles[-1] = ("Variance explained (R2)", number_text(scores.r2), "worse than their mean")
    return section(
        "summary",
        "Result",
        "",
        note(measurements, about),
        edits(measurements),
        tiles_of(tiles) if tiles else None,
    )


def _known(measurements: Measurements) -> tuple[Floats, Floats]:
    known, values = measurements.labelled, measurements.examples.values
    assert values is not None
    return values[known], measurements.judged_predictions[known]


def quality(measurements: Measurements) -> Markup | None:
    """Predictions against the truth, residuals, and the errors of groups."""
    if measurements.numbers is None:
        return None
    values, predictions = _known(measurements)
    return section(
        "quality",
        "How good it is",
        f"Over {len(values):,} examples.",
        element(
            "div",
            figure(against_plot(values, predictions)),
            figure(residual_plot(values, predictions)),
            class_="grid",
        ),
        element("h3", "Errors by group"),
        _scrolled(
            "Errors by group",
            table(
                ("predicted", "examples", "predicted, mean", "actual, mean", "mean absolute error"),
                _groups(values, predictions),
            ),
        ),
    )


def _scrolled(name: str, drawn: Markup) -> Markup:
    """A table that may be wider than the page; a region that scrolls must be reachable with the keyboard."""
    return element("div", drawn, class_="scroll", tabindex="0", role="region", aria_label=name)


def _groups(values: Floats, predictions: Floats) -> list[tuple[str, ...]]:
    """Groups of equal size, from low predictions to high ones, and their errors."""
    order = np.argsort(predictions, kind="stable")
    rows: list[tuple[str, ...]] = []
    for group in np.array_split(order, min(GROUPS, len(order))):
        ends = float(predictions[group[0]]), float(predictions[group[-1]])
        off = float(np.abs(values[group] - predictions[group]).mean())
        means = number_text(float(predictions[group].mean())), number_text(float(values[group].mean()))
        shown = f"{number_text(ends[0], 3)} to {number_text(ends[1], 3)}"
        rows.append((shown, f"{len(group):,}", *means, number_text(off, 3)))
    return rows


def examples(measurements: Measurements, database: Database, names: Names | None) -> Markup | None:
    """The examples with the largest errors."""
    if measurements.numbers is None:
        return None
    own, known = measurements.examples, np.flatnonzero(measurements.labelled)
    values, predictions = _known(measurements)
    worst = np.argsort(-np.abs(values - predictions), kind="stable")[:LARGEST]
    rows_of = known[worst]
    arity = database.schema.arity(own.target)
    shown = database.names_of(own.target, own.keys[rows_of]) if names is None else names[rows_of, :arity]
    cutoffs = None if own.cutoffs is None else database.cutoff_texts(own.cutoffs[rows_of])
    rows = [
        (
            ", ".join(map(str, key)) + ("" if cutoffs is None else f" at {cutoffs[place]}"),
            number_text(float(values[row]), 5),
            number_text(float(predictions[row]), 5),
            signed_text(float(values[row] - predictions[row]), 3),
        )
        for place, (row, key) in enumerate(zip(worst.tolist(), shown.tolist(), strict=True))
    ]
    lead = (
        f"The {len(rows):,} examples with the largest errors. hornbeam explain says why one is predicted so."
    )
    header = ("example", "actual", "predicted", "actual minus predicted")
    return section("examples", "Largest errors", lead, _scrolled("Largest errors", table(header, rows)))
