"""The report as one HTML file that holds its style, script and data and loads nothing else.

The content security policy of the page allows only its own style and script, named by their hashes: text
in the data that looks like a script never runs.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from hornbeam.data.database import Examples
from hornbeam.data.keys import Names
from hornbeam.data.ranking import ranking
from hornbeam.drawing.figure import figure_style
from hornbeam.drawing.markup import Markup, element, escape, together
from hornbeam.engines.contract import Engine
from hornbeam.files import write_file
from hornbeam.logic.english.wording import wording_of
from hornbeam.model.files import LearnedModel, scale_of
from hornbeam.model.training import is_training_data, key_names
from hornbeam.report.html import numbers, sections, summary
from hornbeam.report.html.class_list import all_classes
from hornbeam.report.html.clause_list import clauses
from hornbeam.report.html.data_tables import data_tables
from hornbeam.report.html.summary import About
from hornbeam.report.numbers.examples_data import examples_data
from hornbeam.report.numbers.measurements import SHOWN, Measurements, measure
from hornbeam.report.numbers.parts import additive
from hornbeam.version import __version__


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """An HTML page that explains a model."""

    html: str

    def save(self, path: str | Path) -> None:
        """Write the page to a file."""
        write_file(path, self.html)

    def __repr__(self) -> str:
        return f"Report({len(self.html):,} characters of HTML; save(path) writes the page)"

    def _repr_html_(self) -> str:
        return element("iframe", srcdoc=self.html, width="100%", height=800, title="Hornbeam report")


def report(
    model: LearnedModel,
    engine: Engine,
    examples: Examples,
    about: About | None = None,
    shown: int = SHOWN,
    names: Names | None = None,
) -> Report:
    """The report of a model on examples of the engine's database.

    ``names`` holds the names of the examples; it may be left out if the database has them all. To report a
    model of several classes, pass the model and the examples of one class (see ``class_view``).
    """
    about = about or About()
    start = time.perf_counter()
    if about.of_training is None:
        known = key_names(engine.database, examples) if names is None else names.tolist()
        about = replace(about, of_training=is_training_data(model, known))
    wording = wording_of(
        model.target,
        model.schema,
        model.settings,
        about.of_class,
        engine.database.display_names,
        scale_of(model).numeric,
        scale_of(model).unit,
    )
    measurements = measure(additive(model), engine, examples, shown, wording, about.held_out)
    if about.phases:
        about = replace(about, phases=(*about.phases, ("score", time.perf_counter() - start)))
    return Report(_page(measurements, engine, about, names))


def _page(measurements: Measurements, engine: Engine, about: About, names: Names | None) -> str:
    database = engine.database
    numeric = measurements.wording.numeric
    parts = [
        numbers.summary(measurements, about) if numeric else summary.summary(measurements, about),
        all_classes(about.classes, about.confusion, database.display_names),
        clauses(measurements),
        numbers.examples(measurements, database, names) if numeric else sections.examples(measurements),
        numbers.quality(measurements) if numeric else sections.quality(measurements, about),
        data_tables(measurements, database, about),
        sections.details(measurements, database, about),
    ]
    learned = "Effects" if any(part.fitted is not None for part in measurements.parts) else "Model"
    titles = {"summary": "Result", "classes": "Classes", "clauses": learned, "examples": "Examples",
              "quality": "Quality", "tables": "", "details": "Details"}  # fmt: skip
    links = [
        element("a", title, href=f"#{name}")
        for (name, title), part in zip(titles.items(), parts, strict=True)
        if part is not None and title
    ]
    style = figure_style() + _template("style.css")
    # The script fills the table of examples with probabilities, which numbers do not have.
    script = "" if numeric else _template("script.js")
    fields = {
        "title": escape(measurements.wording.question),
        "policy": (
            f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
            "base-uri 'none'; form-action 'none'"
        ),
        "style": style,
        "links": together(links),
        "heading": numbers.heading(measurements) if numeric else summary.heading(measurements, about),
        "sections": together(parts),
        "version": escape(__version__),
        "data": _json({} if numeric else _data(measurements, engine, names)),
        "script": script,
    }
    pieces = _template("page.html").split("{{")
    html = [pieces[0]]
    for piece in pieces[1:]:
        name, _, after = piece.partition("}}")
        html += [fields[name], after]
    # A name may hold half of a surrogate pair, which cannot be written as UTF-8.
    return "".join(html).encode("utf-8", "replace").decode()


def _data(measurements: Measurements, engine: Engine, names: Names | None) -> dict[str, Any]:
    data = examples_data(measurements, engine, names)
    if measurements.scores is not None:
        known = measurements.labelled
        ranked = ranking(measurements.examples.labels[known], measurements.judged_predictions[known])
        data["thresholds"] = [[*ranked.at(place / 100)] for place in range(101)]
        data["positives"], data["negatives"] = ranked.n_pos, ranked.n_neg
    return data


def _json(data: dict[str, Any]) -> Markup:
    """JSON that cannot close the script element around it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def _template(name: str) -> str:
    return _packaged("hornbeam.report.html", name)


def _packaged(package: str, name: str) -> str:
    return (files(package) / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
