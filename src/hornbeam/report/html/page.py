"""The report as one file: HTML with its style, script and data inside, and nothing from outside.

The page forbids itself everything but its own style and script, which it names by their hashes: text
that looks like a script stays text, whatever the data hold.
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
from hornbeam.drawing.figure import figure_style
from hornbeam.drawing.markup import Markup, element, escape, together
from hornbeam.engines.contract import Engine
from hornbeam.files import write_file
from hornbeam.model.files import LearnedModel
from hornbeam.report.html import sections, summary
from hornbeam.report.html.clause_list import clauses
from hornbeam.report.html.summary import About
from hornbeam.report.numbers.curves import ranking
from hornbeam.report.numbers.examples_data import examples_data
from hornbeam.report.numbers.measured import SHOWN, Measured, measure
from hornbeam.report.numbers.parts import additive
from hornbeam.version import __version__


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """A page that explains a model, as HTML."""

    html: str

    def save(self, path: str | Path) -> None:
        """Write the page."""
        write_file(path, self.html)

    def __repr__(self) -> str:
        return f"Report({len(self.html):,} characters of HTML; save(path) writes them)"

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

    ``names`` are those of the examples, where the database does not have them all.
    Of a model of classes, report one of its members (``class_view`` says which, and what it is about).
    """
    about = about or About()
    start = time.perf_counter()
    measured = measure(additive(model), engine, examples, shown)
    if about.phases:
        about = replace(about, phases=(*about.phases, ("score", time.perf_counter() - start)))
    return Report(_page(measured, engine, about, names))


def _page(measured: Measured, engine: Engine, about: About, names: Names | None) -> str:
    database = engine.database
    parts = [
        summary.summary(measured, database, about),
        clauses(measured),
        sections.quality(measured),
        sections.examples(measured),
        sections.learning(about),
        sections.schema(measured, database),
        sections.words(),
    ]
    titles = {"summary": "Summary", "clauses": "Clauses", "quality": "Quality", "examples": "Examples",
              "learning": "Learning", "schema": "Schema", "words": "Words"}  # fmt: skip
    links = [
        element("a", title, href=f"#{name}")
        for (name, title), part in zip(titles.items(), parts, strict=True)
        if part is not None
    ]
    style = figure_style() + _template("style.css")
    script = _template("script.js")
    fields = {
        "title": escape(f"{measured.model.target}: model report"),
        "policy": (
            f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
            "base-uri 'none'; form-action 'none'"
        ),
        "style": style,
        "links": together(links),
        "heading": summary.heading(measured, about),
        "sections": together(parts),
        "version": escape(__version__),
        "data": _json(_data(measured, engine, names)),
        "script": script,
    }
    pieces = _template("page.html").split("{{")
    found = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        found += [fields[name], rest]
    # Half of a pair of surrogates, which a name may hold, is no text that could be written.
    return "".join(found).encode("utf-8", "replace").decode()


def _data(measured: Measured, engine: Engine, names: Names | None) -> dict[str, Any]:
    data = examples_data(measured, engine, names)
    if measured.scores is not None:
        known = measured.labelled
        found = ranking(measured.examples.labels[known], measured.probabilities[known])
        data["thresholds"] = [[*found.at(place / 100)] for place in range(101)]
        data["positives"], data["negatives"] = found.n_pos, found.n_neg
    return data


def _json(data: dict[str, Any]) -> Markup:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def _template(name: str) -> str:
    return (files("hornbeam.report.html") / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
