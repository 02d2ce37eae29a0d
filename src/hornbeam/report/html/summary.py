"""The head of a report: what the model is, how good, on which data, with which settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hornbeam.data.database import Database
from hornbeam.drawing.markup import Child, Markup, element, signed_text
from hornbeam.errors import plural
from hornbeam.logic.clauses import format_literal, head_atom
from hornbeam.report.html.elements import pairs, section
from hornbeam.report.numbers.measured import Measured


@dataclass(frozen=True, slots=True)
class About:
    """Where the numbers come from: what a reader of the page must know besides the model."""

    data: str = ""
    """what the data are called"""
    split: str = ""
    of_training: bool = False
    """whether the model was learned from these very examples"""
    history: Mapping[str, Any] | None = None
    """what each step did, as ``History.as_dict`` gives it"""
    phases: tuple[tuple[str, float], ...] = ()
    """seconds by phase"""
    notes: tuple[str, ...] = ()
    """what else must be said"""
    of_class: str = ""
    """which class is the positive one, where there are classes"""


def heading(measured: Measured, about: About) -> Markup:
    """The title of the page, and in a sentence what the model is."""
    model = measured.model
    head = head_atom(model.target, model.schema.arity(model.target))
    used = len(model.predicates())
    said = [f"{model.size_text} over {plural(used, 'relation')}"]
    if about.data:
        said.append(f"on {about.data}" + (f", {about.split} split" if about.split else ""))
    return element(
        "header",
        element("p", "Hornbeam model report", class_="kicker"),
        element(
            "h1",
            element("code", format_literal(head).replace(",", ", ")),
            f" is {about.of_class}" if about.of_class else None,
        ),
        element("p", f"{', '.join(said)}. {_judgement(measured)}", class_="lead"),
    )


def _judgement(measured: Measured) -> str:
    scores = measured.scores
    if scores is None:
        return f"{len(measured.examples):,} examples, not of both labels, so that nothing can be scored."
    return (
        f"It puts a positive example above a negative one in {100 * scores.auc_roc:.1f} % of all pairs; "
        f"of {scores.n_pos + scores.n_neg:,} examples {scores.n_pos:,} are positive."
    )


def summary(measured: Measured, database: Database, about: About) -> Markup:
    """Scores, data and settings."""
    warnings = [*about.notes]
    if about.of_training:
        warnings.insert(
            0,
            "The model was learned from these very examples: its scores here flatter it. Judge it on others, "
            "with hornbeam report and data that it has not seen.",
        )
    return section(
        "summary",
        "Summary",
        "",
        element("div", [element("p", text) for text in warnings], class_="note") if warnings else None,
        _tiles(measured),
        element(
            "div",
            element("div", element("h3", "Data"), _data(measured, database, about)),
            element("div", element("h3", "Settings"), _settings(measured), class_="settings"),
            class_="columns",
        ),
    )


def _tiles(measured: Measured) -> Markup | None:
    scores = measured.scores
    if scores is None:
        return None
    told = [
        ("AUC-ROC", f"{scores.auc_roc:.4f}", "pairs in the right order"),
        ("AUC-PR", f"{scores.auc_pr:.4f}", "average precision, all negatives"),
        (
            "AUC-PR 2:1",
            f"{scores.auc_pr_2to1:.4f}",
            "two negatives drawn per positive; only to compare with published numbers",
        ),
        ("Log-loss", f"{scores.log_loss:.4f}", "nats per example; less is better"),
        ("Brier", f"{scores.brier:.4f}", "mean squared error; less is better"),
    ]
    return element(
        "dl",
        [
            element("div", element("dt", name), element("dd", element("b", value), element("span", what)))
            for name, value, what in told
        ],
        class_="tiles",
    )


def _data(measured: Measured, database: Database, about: About) -> Markup:
    labels = measured.examples.labels
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
        ("target", element("code", measured.model.target)),
        ("examples", ", ".join(f"{count:,} {name}" for count, name in counts if count) or "none"),
        ("facts", f"{facts:,} of {plural(len(relations), 'relation')}"),
        ("constants", f"{constants:,} of {plural(len(database.populations), 'type')}"),
    ]
    return pairs(rows)


def _settings(measured: Measured) -> Markup:
    model = measured.model
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
