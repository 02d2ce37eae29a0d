"""The further sections of a report: quality, learning, schema, examples, words.

What is true of every model stands here as HTML; the script adds what moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hornbeam.data.database import Database
from hornbeam.drawing.markup import Child, Markup, element
from hornbeam.errors import plural
from hornbeam.report.html.elements import figure, pairs, section, table
from hornbeam.report.html.summary import About
from hornbeam.report.numbers.measured import Measured
from hornbeam.report.plots.fit import effort_plot, learning_plot, phase_plot, time_plot
from hornbeam.report.plots.predictions import calibration_plot, precision_recall_plot, roc_plot, score_plot
from hornbeam.report.plots.schema_graph import schema_graph


def quality(measured: Measured) -> Markup | None:
    """How well the probabilities rank, and whether they can be trusted."""
    scores = measured.scores
    if scores is None:
        return None
    known = measured.labelled
    labels, probabilities = measured.examples.labels[known], measured.probabilities[known]
    return section(
        "quality",
        "How good it is",
        f"Over {scores.n_pos:,} positive and {scores.n_neg:,} negative examples.",
        element(
            "div",
            figure(roc_plot(labels, probabilities, scores)),
            figure(precision_recall_plot(labels, probabilities, scores)),
            figure(calibration_plot(labels, probabilities)),
            figure(score_plot(labels, measured.log_odds[known])),
            class_="grid",
        ),
        _threshold(measured),
    )


def _threshold(measured: Measured) -> Markup:
    """A threshold to move: the script fills in what follows from it."""
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
        element("p", "The rings on the two curves above are the threshold.", class_="quiet"),
        element(
            "p",
            element("label", "Call an example positive from probability ", for_="threshold"),
            element("input", type="range", id="threshold", min="0", max="1", step="0.01", value="0.5"),
            element("output", "0.50", for_="threshold", id="threshold-value"),
        ),
        element(
            "dl",
            [
                element("div", element("dt", said), element("dd", "–", id=f"at-{name}"))
                for name, said in cells
            ],
            class_="tiles small",
        ),
        class_="threshold needs-script",
    )


def learning(about: About) -> Markup | None:
    """The fit step by step, its effort and its time."""
    if not about.history and not about.phases:
        return None
    history = about.history or {}
    # Of classes there is a history for each.
    if history and "steps" not in history:
        steps, skipped, ended = (
            [],
            [],
            "; ".join(f"{name}: {each.get('ended', '')}" for name, each in history.items()),
        )
    else:
        steps, skipped, ended = (
            list(history.get("steps", ())),
            list(history.get("skipped", ())),
            str(history.get("ended", "")),
        )
    drawn = [
        learning_plot(steps),
        effort_plot(steps),
        time_plot(steps),
        phase_plot(about.phases) if about.phases else None,
    ]
    lead = (
        f"{plural(len({each.get('step') for each in steps}), 'step')}; it ended because: {ended}."
        if ended
        else ""
    )
    return section(
        "learning",
        "How it was learned",
        lead,
        element("div", [figure(each) for each in drawn if each is not None], class_="grid"),
        _skipped(skipped) if history else None,
    )


def _skipped(skipped: Sequence[Mapping[str, Any]]) -> Markup:
    if not skipped:
        return element(
            "p",
            "No candidate was skipped: every clause looked at was counted exactly and within the budget.",
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


def schema(measured: Measured, database: Database) -> Markup:
    """The relations, with those that the model reads lit up."""
    drawn = schema_graph(database, measured.model.target, measured.model.predicates())
    return section("schema", "What it reads", "", figure(drawn, "wide"))


def examples(measured: Measured) -> Markup:
    """The frame of the table of examples; the script fills it."""
    shown = measured.shown
    lead = shown.how or f"All {len(shown.rows):,} examples."
    return section(
        "examples",
        "Examples, and why",
        f"{lead} Choose one to see what made its probability.",
        element(
            "noscript",
            element(
                "p", "The table of examples needs scripts, which this browser does not run.", class_="note"
            ),
        ),
        element(
            "div",
            element(
                "p",
                element(
                    "label",
                    "Find ",
                    element(
                        "input",
                        type="search",
                        id="find",
                        placeholder="part of a name",
                        autocomplete="off",
                        spellcheck="false",
                    ),
                ),
                element(
                    "label",
                    "Label ",
                    element(
                        "select",
                        element("option", "all", value=""),
                        element("option", "positive", value="1"),
                        element("option", "negative", value="0"),
                        id="label",
                    ),
                ),
                element(
                    "label", element("input", type="checkbox", id="wrong"), " only wrong at the threshold"
                ),
                class_="controls",
            ),
            element("p", "", id="found", class_="quiet", aria_live="polite"),
            element(
                "div",
                element(
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
                ),
                element(
                    "div",
                    element("p", "No example is chosen.", class_="quiet"),
                    id="why",
                    tabindex="-1",
                    role="region",
                    aria_label="Explanation",
                ),
                class_="browse",
            ),
            class_="needs-script",
        ),
    )


def words() -> Markup:
    """What the words of the page mean."""
    meanings: list[tuple[str, Child]] = [
        ("probability", "sigmoid of the log-odds: 0 is one half, +2.2 is nine in ten, −2.2 one in ten."),
        (
            "true count",
            "how many ways there are to fill in a clause's free variables so that all of its body is true, "
            "the example being given.",
        ),
        (
            "false count",
            "how many ways make it false: of all combinations of constants or, where false counts are "
            "guarded, of those that make the body without its last condition (the guard) true.",
        ),
        (
            "contribution",
            "what a part adds to the log-odds of an example: its bias, plus its weights times the counts, "
            "their logarithms, 1 and 0 for whether they reach a bound, or the share of the guard that holds.",
        ),
        (
            "AUC-PR",
            "average precision over every example. “2:1” is the mean over draws of two negatives per "
            "positive: much of the literature reports that, and the two must never be compared.",
        ),
        (
            "how much it tells examples apart",
            "the mean distance of a contribution from its mean over all examples.",
        ),
    ]
    return section("words", "Words", "", pairs(meanings))
