"""The other sections of a report: examples, quality, and details that are folded away.

They hold the static HTML; ``script.js`` fills in the table of examples and the explanations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hornbeam.data.database import Database
from hornbeam.drawing.markup import Child, Markup, element
from hornbeam.errors import plural
from hornbeam.model.clause_model import Model
from hornbeam.report.html.class_list import confusion_matrix
from hornbeam.report.html.elements import figure, pairs, section, table
from hornbeam.report.html.summary import About, data_and_settings
from hornbeam.report.numbers.measurements import Measurements
from hornbeam.report.plots.fit import effort_plot, learning_plot, phase_plot, time_plot
from hornbeam.report.plots.predictions import (
    calibration_plot,
    gain_plot,
    precision_recall_plot,
    roc_plot,
    score_plot,
)
from hornbeam.report.plots.schema_graph import schema_graph


def quality(measurements: Measurements, about: About) -> Markup | None:
    """How well the probabilities rank examples, and how well they are calibrated."""
    scores = measurements.scores
    if scores is None:
        return None
    negative, positive = measurements.wording.labels
    known = measurements.labelled
    labels, probabilities = measurements.examples.labels[known], measurements.judged_predictions[known]
    return section(
        "quality",
        "How good it is",
        f"Over {scores.n_pos:,} examples that are {positive} (positives) and {scores.n_neg:,} that are "
        f"{negative} (negatives).",
        element(
            "div",
            figure(roc_plot(labels, probabilities, scores)),
            figure(precision_recall_plot(labels, probabilities, scores)),
            figure(calibration_plot(labels, probabilities)),
            figure(gain_plot(labels, probabilities)),
            figure(score_plot(labels, measurements.judged_scores[known])),
            class_="grid",
        ),
        _threshold(),
        None if about.confusion is None or about.classes else confusion_matrix(*about.confusion),
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
            element("output", "50 %", for_="threshold", id="threshold-value"),
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


def details(measurements: Measurements, database: Database, about: About) -> Markup:
    """Settings, the course of the fit, the schema and the meaning of words, each folded away."""
    return section(
        "details",
        "Details",
        "",
        data_and_settings(measurements, database, about),
        learning(measurements, about),
        schema(measurements, database),
        words(measurements),
    )


def _folded(name: str, title: str, *children: Child) -> Markup:
    return element("details", element("summary", title), *children, id=name)


def learning(measurements: Measurements, about: About) -> Markup | None:
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
    course = _course(measurements.model.settings, n_steps, ended) if ended else ""
    return _folded(
        "learning",
        "How it was learned, and the time it took",
        element("p", course, class_="lead") if course else None,
        element("div", [figure(each) for each in figures if each is not None], class_="grid"),
        _skipped(skipped) if history else None,
    )


def _course(settings: Mapping[str, object], n_steps: int, ended: str) -> str:
    """How many steps the model has, of how many, and why there are not more."""
    most, chosen = settings.get("n_steps"), settings.get("steps")
    if isinstance(chosen, int) and isinstance(most, int):
        return f"{chosen:,} of at most {plural(most, 'small step')}: the number with the least held-out loss."
    if isinstance(most, int) and n_steps < most and ended == "all steps done":
        return f"{n_steps:,} of at most {plural(most, 'step')}: the number chosen on held-out examples."
    return f"{plural(n_steps, 'step')}; learning ended because: {ended}."


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
    return _folded("schema", "What it reads", figure(drawn, "wide"))


def examples(measurements: Measurements) -> Markup:
    """The frame of the table of examples and of their explanations; the script fills both."""
    shown = measurements.shown
    lead = shown.selection or f"All {len(shown.rows):,} examples."
    return section(
        "examples",
        "Examples, and why",
        f"{lead} Choose one to see why it has its probability.",
        element(
            "noscript",
            element("p", "The table of examples needs JavaScript, which is turned off.", class_="note"),
        ),
        element(
            "div",
            _example_filters(measurements.wording.labels),
            element("p", "", id="found", class_="quiet", aria_live="polite"),
            element("div", _example_table(), _explanation_frame(), class_="browse"),
            class_="needs-script",
        ),
    )


def _example_filters(names: tuple[str, str]) -> Markup:
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
        element("option", names[1], value="1"),
        element("option", names[0], value="0"),
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


def words(measurements: Measurements) -> Markup:
    """The meaning of the words on the page."""
    meanings: list[tuple[str, Child]] = [
        ("odds", "probability divided by its rest: 1 at 50 %, 3 at 75 %. Effects multiply the odds."),
        (
            "log-odds",
            "the logarithm of the odds, in which effects add up: 0 at 50 %, +2.2 at 90 %.",
        ),
        (
            "importance of an effect",
            "the mean absolute difference from its mean of what it adds to the log-odds of an example.",
        ),
        (
            "average",
            "an example with the mean log-odds of the training examples; “from 30 % to 44 %” is for one.",
        ),
    ]
    if measurements.readers.scale.of_choice:
        meanings = [
            (
                "score",
                "the sum of the effects; alternatives share a choice by the exponentials of their scores.",
            ),
            (
                "odds",
                "the probability of an alternative divided by that of another one. Effects multiply them.",
            ),
            ("importance of an effect", "the mean absolute difference from its mean of what it adds."),
        ]
    elif measurements.wording.numeric:
        word = measurements.readers.scale.score
        score = f"{word} of the prediction" if word else "prediction"
        meanings = [
            ("score", f"the {score}, to which effects add."),
            ("importance of an effect", "the mean absolute difference from its mean of what it adds."),
            ("average", "an example with the mean score of the training examples."),
            ("R2", "share of the variance that the predictions explain; 0 for always predicting the mean."),
        ]
    elif not isinstance(measurements.model, Model) or not measurements.model.effects:
        meanings = [*meanings[:2], *_CLAUSE_WORDS]
    return _folded("words", "Words", pairs(meanings))


_CLAUSE_WORDS: list[tuple[str, Child]] = [
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
