"""The head of a report: the question, the result with its scores, and the data and settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hornbeam.data.database import Database
from hornbeam.data.numbers import Floats
from hornbeam.drawing.markup import Child, Markup, element, percent_text, signed_text, together
from hornbeam.errors import plural
from hornbeam.logic.english.nouns import plural_of
from hornbeam.model.clause_model import Model
from hornbeam.model.evaluate import ChoiceScores
from hornbeam.report.html.elements import pairs, section, table
from hornbeam.report.numbers.classes import OneClass
from hornbeam.report.numbers.intervals import auc_interval, base_loss, loss_error
from hornbeam.report.numbers.measurements import Measurements


@dataclass(frozen=True, slots=True)
class About:
    """Facts about the data and the fit that a report shows besides the model."""

    data: str = ""
    """name of the data"""
    split: str = ""
    """name of the split, such as ``test``"""
    of_training: bool | None = None
    """whether the model was learned from the examples of the report; None if that is not known"""
    history: Mapping[str, Any] | None = None
    """what each step of the fit did, as ``History.as_dict`` returns it"""
    phases: tuple[tuple[str, float], ...] = ()
    """names of phases, and their seconds"""
    notes: tuple[str, ...] = ()
    """notes for the reader, shown at the top"""
    of_class: str = ""
    """the class that is positive, if the target has several classes"""
    confusion: tuple[tuple[str, ...], tuple[tuple[int, ...], ...]] | None = None
    """for several classes: their names, and how many examples of each (rows) have each as most probable"""
    held_out: Floats | None = None
    """what ``Fit.held_out`` says, if the examples were fitted; with classes, a column for each model"""
    classes: tuple[OneClass, ...] = ()
    """for more than two classes: each with its model and scores"""


def heading(measurements: Measurements, about: About) -> Markup:
    """The question that the model answers, and how well it answers it, in a sentence."""
    return element(
        "header",
        element("p", "Hornbeam model report", class_="kicker"),
        element("h1", measurements.wording.question),
        element("p", _unbroken(_verdict(measurements)), class_="lead"),
    )


def _verdict(measurements: Measurements) -> str:
    """How well the model ranks the examples, in a sentence."""
    scores, wording = measurements.scores, measurements.wording
    if measurements.choices is not None:
        hit, number = measurements.choices.hit_rate, measurements.choices.n_choices
        return f"The most probable alternative is right in {percent_text(hit)} of {plural(number, 'choice')}."
    if scores is None:
        return f"Not scored: the {len(measurements.examples):,} examples do not have both labels."
    low, high = auc_interval(*_labelled(measurements))
    things = plural_of(wording.example) if wording.example else "examples"
    return (
        f"Of two {things}, one {wording.labels[1]} and one {wording.labels[0]}, the model gives the first "
        f"the higher probability in {percent_text(scores.auc_roc)} of all pairs "
        f"(95 % interval: {percent_text(low)} to {percent_text(high)}; guessing: 50 %)."
    )


def _unbroken(text: str) -> str:
    """Text whose lines do not break before a percent sign."""
    return text.replace(" %", "\u00a0%")


def _labelled(measurements: Measurements) -> tuple[Any, Any]:
    known = measurements.labelled
    return measurements.examples.labels[known], measurements.judged_predictions[known]


def summary(measurements: Measurements, about: About) -> Markup:
    """The scores, what they are compared with, and whether the model was learned from these examples."""
    return section(
        "summary",
        "Result",
        "",
        note(measurements, about),
        edits(measurements),
        _tiles(measurements, about),
        _other_scores(measurements),
    )


def note(measurements: Measurements, about: About) -> Markup | None:
    """Whether the scores can be trusted, and further notes."""
    notes = [*about.notes]
    if measurements.held_out is not None:
        judging, size = int(measurements.labelled.sum()), len(measurements.examples)
        which = "each example" if judging == size else f"each of {judging:,} of the {size:,} examples"
        notes.insert(
            0,
            f"Scores and plots are held out: {which} is judged by models that were learned without it, "
            "before the model was shortened. What is said of one example below is by the model itself.",
        )
    elif about.of_training:
        notes.insert(
            0,
            "The model was learned from these examples, so the scores on this page flatter it. To judge the "
            "model, run hornbeam report on data that it was not learned from.",
        )
    if about.of_training is False:
        fresh = "These are not the examples that the model was learned from."
        return together(
            [
                element("p", fresh, class_="quiet held-out"),
                element("div", [element("p", text) for text in notes], class_="note") if notes else None,
            ]
        )
    return element("div", [element("p", text) for text in notes], class_="note") if notes else None


def edits(measurements: Measurements) -> Markup | None:
    """What a person changed in the model."""
    model = measurements.model
    if not isinstance(model, Model) or not model.edits:
        return None
    lines = model.edit_lines(measurements.wording)
    changed = f"This model was edited by hand after it was learned, in {plural(len(lines), 'step')}:"
    return element(
        "div",
        element("p", changed),
        element("ol", [element("li", line) for line in lines]),
        class_="note edits",
    )


def _tiles(measurements: Measurements, about: About) -> Markup | None:
    if measurements.choices is not None:
        return tiles_of(_tiles_of_choices(measurements.choices))
    scores = measurements.scores
    if scores is None:
        return None
    labels, probabilities = _labelled(measurements)
    low, high = auc_interval(labels, probabilities)
    share = scores.n_pos / (scores.n_pos + scores.n_neg)
    error = 1.96 * loss_error(labels, probabilities)
    constant = base_loss(scores.n_pos, scores.n_neg)
    tiles = [
        (
            "Pairs in the right order (AUC-ROC)",
            percent_text(scores.auc_roc, 1),
            f"95 % interval: {percent_text(low)} to {percent_text(high)}; guessing: 50 %",
        ),
        (
            "Mean precision (AUC-PR)",
            percent_text(scores.auc_pr, 1),
            f"guessing: {percent_text(share)}, the share of {measurements.wording.labels[1]}",
        ),
        (
            "Log-loss",
            f"{scores.log_loss:.3f}",
            f"± {error:.3f}; lower is better; always predicting {percent_text(share)}: {constant:.3f}",
        ),
    ]
    # A file of classes keeps the settings of one class for all.
    out_of_bag = measurements.model.settings.get("held_out_loss")
    if isinstance(out_of_bag, float) and measurements.held_out is None and not about.of_class:
        what = "on training examples that were left out while learning"
        tiles.append(("Log-loss, held out", f"{out_of_bag:.3f}", what))
    return tiles_of(tiles)


def _tiles_of_choices(scores: ChoiceScores) -> list[tuple[str, str, str]]:
    """How often the best alternative is right, and how sure the model is."""
    mean = scores.n_alternatives / scores.n_choices
    return [
        (
            "Choices that are hit",
            percent_text(scores.hit_rate, 1),
            f"of {scores.n_choices:,} choices of {mean:.3g} alternatives on average",
        ),
        (
            "Log-loss",
            f"{scores.log_loss:.3f}",
            f"lower is better; equal chances: {scores.equal_chances:.3f}",
        ),
        (
            "Mean reciprocal rank",
            f"{scores.mean_reciprocal_rank:.3f}",
            "1 if the right alternative is always the first",
        ),
    ]


def tiles_of(tiles: Iterable[tuple[str, str, str]]) -> Markup:
    """Tiles with a name, a value and a remark each."""
    return element(
        "dl",
        [
            element(
                "div",
                element("dt", name),
                element("dd", element("b", _unbroken(value)), element("span", _unbroken(what))),
            )
            for name, value, what in tiles
        ],
        class_="tiles",
    )


def _other_scores(measurements: Measurements) -> Markup | None:
    """Scores for comparison with other work, folded away."""
    scores = measurements.scores
    if scores is None:
        return None
    rows = [
        ("AUC-ROC", f"{scores.auc_roc:.4f}", "share of pairs in the right order"),
        ("AUC-PR", f"{scores.auc_pr:.4f}", "average precision, all negatives"),
        (
            "AUC-PR 2:1",
            f"{scores.auc_pr_2to1:.4f}",
            "two negatives per positive, as in much of the literature",
        ),
        ("Log-loss", f"{scores.log_loss:.4f}", "nats per example"),
        ("Brier", f"{scores.brier:.4f}", "mean squared error of the probability"),
    ]
    return element(
        "details",
        element("summary", "All scores, to compare with other work"),
        element(
            "div",
            table(("score", "value", "what it is"), rows),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label="All scores",
        ),
    )


def data_and_settings(measurements: Measurements, database: Database, about: About) -> Markup:
    """The data and the settings of the fit, folded away."""
    return element(
        "details",
        element("summary", "Data and settings"),
        element(
            "div",
            element("div", element("h3", "Data"), _data(measurements, database, about)),
            element("div", element("h3", "Settings"), _settings(measurements), class_="settings"),
            class_="columns",
        ),
        id="settings",
    )


def _data(measurements: Measurements, database: Database, about: About) -> Markup:
    labels = measurements.examples.labels
    counts = [
        (int((labels == 1).sum()), "positive"),
        (int((labels == 0).sum()), "with a number" if measurements.wording.numeric else "negative"),
        (int((labels < 0).sum()), "without a label"),
    ]
    relations = database.facts.predicates()
    facts = sum(map(database.n_facts, relations))
    constants = sum(map(len, database.populations.values()))
    rows: list[tuple[str, Child]] = []
    if about.data:
        rows.append(("data", about.data))
    if about.split:
        rows.append(("split", about.split))
    rows += [
        ("target", element("code", measurements.model.target)),
        ("model", measurements.model.size_text),
        ("examples", ", ".join(f"{count:,} {name}" for count, name in counts if count) or "none"),
        ("facts", f"{facts:,} of {plural(len(relations), 'relation')}"),
        ("constants", f"{constants:,} of {plural(len(database.populations), 'type')}"),
    ]
    return pairs(rows)


def _settings(measurements: Measurements) -> Markup:
    model = measurements.model
    rows: list[tuple[str, Child]] = [
        ("learner", model.learner),
        ("prior" if measurements.wording.numeric else "prior (log-odds)", signed_text(model.prior, 6)),
    ]
    rows += [(name.replace("_", " "), _setting_text(value)) for name, value in model.settings.items()]
    return pairs(rows)


def _setting_text(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:.4g}"
    return json.dumps(value, ensure_ascii=False, default=str)
