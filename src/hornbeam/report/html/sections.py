"""The other sections of a report: quality, learning, schema, examples, words.

They hold the static HTML; ``script.js`` fills in the table of examples and the explanations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hornbeam.data.database import Database
from hornbeam.drawing.markup import Child, Markup, element
from hornbeam.errors import plural
from hornbeam.report.html.elements import figure, pairs, section, table
from hornbeam.report.html.summary import About
from hornbeam.report.numbers.measurements import Measurements
from hornbeam.report.plots.fit import effort_plot, learning_plot, phase_plot, time_plot
from hornbeam.report.plots.predictions import calibration_plot, precision_recall_plot, roc_plot, score_plot
from hornbeam.report.plots.schema_graph import schema_graph


def quality(measurements: Measurements) -> Markup | None:
    """How well the probabilities rank examples, and how well they are calibrated."""
    scores = measurements.scores
    if scores is None:
        return None
    known = measurements.labelled
    labels, probabilities = measurements.examples.labels[known], measurements.probabilities[known]
    return section(
        "quality",
        "How good it is",
        f"Over {scores.n_pos:,} positive and {scores.n_neg:,} negative examples.",
        element(
            "div",
            figure(roc_plot(labels, probabilities, scores)),
            figure(precision_recall_plot(labels, probabilities, scores)),
            figure(calibration_plot(labels, probabilities)),
            figure(score_plot(labels, measurements.log_odds[known])),
            class_="grid",
        ),
        _threshold(),
    )


def _threshold() -> Markup:
    """A slider for the threshold; the script fills in the numbers that follow from it."""
    cells = [
        ("tp", "positives found"),
        ("fn", "positives missed"),
        ("fp", "false alarms"),
        ("tn", "negatives left alone"),
        ("precision", "precision"),
        ("recall", "recall"),
    ]
    return element(
        "div",
        element("h3", "What a threshold does"),
        element("p", "The rings on the ROC and precision curves mark the threshold.", class_="quiet"),
        element(
            "p",
            element("label", "Call an example positive from probability ", for_="threshold"),
            element("input", type="range", id="threshold", min="0", max="1", step="0.01", value="0.5"),
            element("output", "0.50", for_="threshold", id="threshold-value"),
        ),
        element(
            "dl",
            [
                element("div", element("dt", title), element("dd", "–", id=f"at-{name}"))
                for name, title in cells
            ],
            class_="tiles small",
        ),
        class_="threshold needs-script",
    )


def learning(about: About) -> Markup | None:
    """The steps of the fit, the candidates it examined, and the time it took."""
    if not about.history and not about.phases:
        return None
    history = about.history or {}
    steps: list[Mapping[str, Any]] = []
    skipped: list[Mapping[str, Any]] = []
    if history and "steps" not in history:
        # A model of several classes has a history for each class.
        ended = "; ".join(f"{name}: {each.get('ended', '')}" for name, each in history.items())
    else:
        steps, skipped = list(history.get("steps", ())), list(history.get("skipped", ()))
        ended = str(history.get("ended", ""))
    figures = [
        learning_plot(steps),
        effort_plot(steps),
        time_plot(steps),
        phase_plot(about.phases) if about.phases else None,
    ]
    n_steps = len({each.get("step") for each in steps})
    return section(
        "learning",
        "How it was learned",
        f"{plural(n_steps, 'step')}; learning ended because: {ended}." if ended else "",
        element("div", [figure(each) for each in figures if each is not None], class_="grid"),
        _skipped(skipped) if history else None,
    )


def _skipped(skipped: Sequence[Mapping[str, Any]]) -> Markup:
    """The candidates that were too large to count."""
    if not skipped:
        return element(
            "p",
            "No candidate was skipped: every clause was counted exactly, within the memory budget.",
            class_="quiet",
        )
    rows = [
        (
            element("code", str(each.get("clause", ""))),
            str(each.get("reason", "")),
            f"{each.get('estimate', 0):,}",
            f"{each.get('budget', 0):,}",
        )
        for each in skipped[:200]
    ]
    return element(
        "details",
        element("summary", f"{plural(len(skipped), 'candidate')} skipped"),
        element(
            "div",
            table(("clause", "why", "estimate", "limit"), rows),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label="Skipped candidates",
        ),
        element("p", f"The first 200 of {len(skipped):,}.", class_="quiet") if len(skipped) > 200 else None,
    )


def schema(measurements: Measurements, database: Database) -> Markup:
    """The relations of the data, with those that the model uses highlighted."""
    drawn = schema_graph(database, measurements.model.target, measurements.model.predicates())
    return section("schema", "What it reads", "", figure(drawn, "wide"))


def examples(measurements: Measurements) -> Markup:
    """The frame of the table of examples and of their explanations; the script fills both."""
    shown = measurements.shown
    lead = shown.selection or f"All {len(shown.rows):,} examples."
    return section(
        "examples",
        "Examples, and why",
        f"{lead} Choose one to see how its probability comes about.",
        element(
            "noscript",
            element("p", "The table of examples needs JavaScript, which is turned off.", class_="note"),
        ),
        element(
            "div",
            _example_filters(),
            element("p", "", id="found", class_="quiet", aria_live="polite"),
            element("div", _example_table(), _explanation_frame(), class_="browse"),
            class_="needs-script",
        ),
    )


def _example_filters() -> Markup:
    """Filters for the table of examples: by name, by label, and only wrong predictions."""
    name = element(
        "input",
        type="search",
        id="find",
        placeholder="part of a name",
        autocomplete="off",
        spellcheck="false",
    )
    labels = element(
        "select",
        element("option", "all", value=""),
        element("option", "positive", value="1"),
        element("option", "negative", value="0"),
        id="label",
    )
    wrong = element("input", type="checkbox", id="wrong")
    return element(
        "p",
        element("label", "Find ", name),
        element("label", "Label ", labels),
        element("label", wrong, " only wrong at the threshold"),
        class_="controls",
    )


def _example_table() -> Markup:
    """The table of examples, and the buttons that turn its pages."""
    return element(
        "div",
        element(
            "div",
            element("table", id="table", aria_label="Examples"),
            class_="scroll",
            id="table-scroll",
            tabindex="0",
            role="region",
            aria_label="Table of examples",
        ),
        element(
            "p",
            element("button", "Previous", type="button", id="previous"),
            element("span", "", id="page"),
            element("button", "Next", type="button", id="next"),
            class_="pager",
        ),
    )


def _explanation_frame() -> Markup:
    """The element in which the script shows the explanation of the chosen example."""
    return element(
        "div",
        element("p", "No example is chosen.", class_="quiet"),
        id="why",
        tabindex="-1",
        role="region",
        aria_label="Explanation",
    )


def words() -> Markup:
    """The meaning of the words on the page."""
    meanings: list[tuple[str, Child]] = [
        ("probability", "the sigmoid of the log-odds: 0.5 at 0, 0.9 at +2.2, 0.1 at −2.2."),
        (
            "true count",
            "in how many ways the free variables of a clause can be filled in so that its body is true for "
            "the example.",
        ),
        (
            "false count",
            "in how many ways the body is false: over all combinations of constants or, if false counts are "
            "guarded, over those for which the body without its last condition (the guard) is true.",
        ),
        (
            "contribution",
            "what a part adds to the log-odds of an example: its bias, plus its weights times a feature of "
            "the counts: the count, its logarithm ln(1 + count), 1 or 0 for whether it reaches "
            "a bound, or the share of the guard's groundings that are true.",
        ),
        (
            "AUC-PR",
            "average precision over all examples. “2:1” is its mean over samples with two negatives per "
            "positive, as in much of the literature; never compare it with the AUC-PR over all examples.",
        ),
        (
            "how much it separates examples",
            "the mean absolute deviation of a contribution from its mean over all examples.",
        ),
    ]
    return section("words", "Words", "", pairs(meanings))
