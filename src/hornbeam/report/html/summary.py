"""The head of a report: the title, and a summary of scores, data and settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hornbeam.data.database import Database
from hornbeam.drawing.markup import Child, Markup, element, signed_text
from hornbeam.errors import plural
from hornbeam.logic.clauses import head_atom
from hornbeam.report.html.elements import pairs, section
from hornbeam.report.numbers.measurements import Measurements


@dataclass(frozen=True, slots=True)
class About:
    """Facts about the data and the fit that a report shows besides the model."""

    data: str = ""
    """name of the data"""
    split: str = ""
    """name of the split, such as ``test``"""
    of_training: bool = False
    """whether the model was learned from the examples of the report"""
    history: Mapping[str, Any] | None = None
    """what each step of the fit did, as ``History.as_dict`` returns it"""
    phases: tuple[tuple[str, float], ...] = ()
    """names of phases, and their seconds"""
    notes: tuple[str, ...] = ()
    """notes for the reader, shown at the top"""
    of_class: str = ""
    """the class that is positive, if the target has several classes"""


def heading(measurements: Measurements, about: About) -> Markup:
    """The title of the page, and one sentence about the model."""
    model = measurements.model
    head = head_atom(model.target, model.schema.arity(model.target))
    used = len(model.predicates())
    description = f"{model.size_text} over {plural(used, 'relation')}"
    if about.data:
        description += f", on {about.data}" + (f", {about.split} split" if about.split else "")
    return element(
        "header",
        element("p", "Hornbeam model report", class_="kicker"),
        element(
            "h1",
            element("code", str(head).replace(",", ", ")),
            f" is {about.of_class}" if about.of_class else None,
        ),
        element("p", f"{description}. {_verdict(measurements)}", class_="lead"),
    )


def _verdict(measurements: Measurements) -> str:
    """How well the model ranks the examples, in a sentence."""
    scores = measurements.scores
    if scores is None:
        return f"Not scored: the {len(measurements.examples):,} examples do not have both labels."
    return (
        f"It ranks a positive example above a negative one in {100 * scores.auc_roc:.1f} % of all pairs. "
        f"{scores.n_pos:,} of {scores.n_pos + scores.n_neg:,} examples are positive."
    )


def summary(measurements: Measurements, database: Database, about: About) -> Markup:
    """Scores, data and settings."""
    warnings = [*about.notes]
    if about.of_training:
        warnings.insert(
            0,
            "The model was learned from these examples, so the scores on this page flatter it. To judge the "
            "model, run hornbeam report on data that it was not learned from.",
        )
    return section(
        "summary",
        "Summary",
        "",
        element("div", [element("p", text) for text in warnings], class_="note") if warnings else None,
        _tiles(measurements),
        element(
            "div",
            element("div", element("h3", "Data"), _data(measurements, database, about)),
            element("div", element("h3", "Settings"), _settings(measurements), class_="settings"),
            class_="columns",
        ),
    )


def _tiles(measurements: Measurements) -> Markup | None:
    scores = measurements.scores
    if scores is None:
        return None
    tiles = [
        ("AUC-ROC", f"{scores.auc_roc:.4f}", "pairs in the right order"),
        ("AUC-PR", f"{scores.auc_pr:.4f}", "average precision, all negatives"),
        (
            "AUC-PR 2:1",
            f"{scores.auc_pr_2to1:.4f}",
            "two negatives per positive; only to compare with published numbers",
        ),
        ("Log-loss", f"{scores.log_loss:.4f}", "nats per example; lower is better"),
        ("Brier", f"{scores.brier:.4f}", "mean squared error; lower is better"),
    ]
    return element(
        "dl",
        [
            element("div", element("dt", name), element("dd", element("b", value), element("span", what)))
            for name, value, what in tiles
        ],
        class_="tiles",
    )


def _data(measurements: Measurements, database: Database, about: About) -> Markup:
    labels = measurements.examples.labels
    counts = [
        (int((labels == 1).sum()), "positive"),
        (int((labels == 0).sum()), "negative"),
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
        ("examples", ", ".join(f"{count:,} {name}" for count, name in counts if count) or "none"),
        ("facts", f"{facts:,} of {plural(len(relations), 'relation')}"),
        ("constants", f"{constants:,} of {plural(len(database.populations), 'type')}"),
    ]
    return pairs(rows)


def _settings(measurements: Measurements) -> Markup:
    model = measurements.model
    rows: list[tuple[str, Child]] = [
        ("learner", model.learner),
        ("prior (log-odds)", signed_text(model.prior, 6)),
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
    return f"{value:g}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False, default=str)
