"""The section of the data: the tables, their rows, keys, links, and the span of time that they cover."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hornbeam.data.database import Database
from hornbeam.drawing.markup import Child, Markup, element
from hornbeam.errors import plural
from hornbeam.loading.tables.learned import learned_tables
from hornbeam.report.html.elements import section, table
from hornbeam.report.html.summary import About
from hornbeam.report.numbers.measurements import Measurements


def data_tables(measurements: Measurements, database: Database, about: About) -> Markup | None:
    """What each table is, for data that came from tables."""
    learned = learned_tables(database.origin)
    if learned is None:
        return None
    stated = database.origin["tables"]
    assert isinstance(stated, Mapping)
    facts = database.facts
    predicates: dict[str, list[str]] = {str(name): [] for name in stated}
    for name in facts.predicates():
        if name in learned.predicates:
            predicates[learned.predicates[name].table].append(name)
    rows = [
        _row(name, stated[name], {each: database.n_facts(each) for each in own}, _span(database, own))
        for name, own in predicates.items()
    ]
    header = ["table", "rows", "key", "links", "time of its rows"]
    if not any(row[-1] for row in rows):
        header, rows = header[:-1], [row[:-1] for row in rows]
    named = f" of {about.data}" if about.data else ""
    examples = plural(len(measurements.examples), "example")
    return section(
        "tables",
        "The data",
        f"{examples}{_cutoffs(measurements, database)}, from {plural(len(rows), 'table')}{named}. "
        "Rows are those with a value in the fullest column.",
        element(
            "div",
            table(header, rows),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label="Tables of the data",
        ),
    )


def _row(name: str, stated: Mapping[str, Any], facts: Mapping[str, int], span: str) -> tuple[Child, ...]:
    links = [
        element("div", element("code", column), f" → {other}")
        for column, other in (stated.get("links") or {}).items()
    ]
    key = stated.get("key")
    return (
        name,
        f"{max(facts.values(), default=0):,}",
        element("code", str(key)) if key else "",
        links or "",
        span,
    )


def _span(database: Database, predicates: list[str]) -> str:
    """From the first to the last time of the rows of a table; empty if they have none."""
    facts = database.facts
    spans = [facts.span_of(name) for name in predicates if name in facts.timed()]
    ends = [end for span in spans for end in span if np.isfinite(end)]
    return _from_to(database, ends)


def _from_to(database: Database, times: list[float]) -> str:
    if not times:
        return ""
    first, last = database.cutoff_texts(np.array([min(times), max(times)]))
    return first if first == last else f"{first} to {last}"


def _cutoffs(measurements: Measurements, database: Database) -> str:
    """The cut-offs of the examples, if they have any."""
    examples = measurements.examples
    cutoffs = database.real_cutoffs_of(examples.target, examples.keys)
    if cutoffs is None:
        return ""
    span = _from_to(database, [each for each in cutoffs.tolist() if np.isfinite(each)])
    return f" with cut-offs {span}" if span else ""
