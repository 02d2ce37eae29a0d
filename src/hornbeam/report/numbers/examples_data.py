"""The examples of a report as JSON for the page, compact enough for thousands of explanations."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Database
from hornbeam.data.keys import Names
from hornbeam.engines.contract import Engine
from hornbeam.logic.english.clauses import body_pieces
from hornbeam.logic.english.phrases import WHETHER
from hornbeam.model.clause_model import Model
from hornbeam.model.effects import values_of
from hornbeam.model.explain import explain
from hornbeam.model.features import SHARE
from hornbeam.model.readable.constants import constants_title
from hornbeam.model.readable.reasons import value_text
from hornbeam.report.numbers.constants import strongest_constants
from hornbeam.report.numbers.evidence import Evidence, find_evidence
from hornbeam.report.numbers.measurements import Measurements

MOST_EXPLAINED = 200
"""Maximum number of examples with reasons in words, for models whose parts are not clauses."""


def examples_data(measurements: Measurements, engine: Engine, names: Names | None = None) -> dict[str, Any]:
    """The table of examples and their explanations, as JSON values.

    ``names`` holds the names of all examples. It may be left out if the database has them all.
    """
    shown, database = measurements.shown, engine.database
    target = measurements.model.target
    keys = measurements.examples.keys[shown.rows]
    arity = database.schema.arity(target)
    shown_names = database.names_of(target, keys) if names is None else names[shown.rows, :arity]
    data: dict[str, Any] = {
        "target": target,
        "words": {"example": measurements.wording.example, "labels": measurements.wording.labels},
        "prior": measurements.model.prior,
        "names": _shown_names(database, target, shown_names),
        "label": measurements.examples.labels[shown.rows].tolist(),
        "probability": measurements.probabilities[shown.rows].tolist(),
        "logOdds": measurements.log_odds[shown.rows].tolist(),
        "parts": [_part_data(measurements, number) for number in range(len(measurements.parts))],
    }
    if measurements.held_out is not None:
        chances = measurements.judged_predictions[shown.rows].tolist()
        data["heldOut"] = [None if math.isnan(chance) else chance for chance in chances]
    if measurements.examples.cutoffs is not None:
        data["cutoff"] = database.cutoff_texts(measurements.examples.cutoffs[shown.rows])
    _add_values(data["parts"], measurements, engine)
    if shown.counts:
        data["evidence"] = evidence_data(measurements, database, find_evidence(measurements, database))
        data["evidence"]["parts"] |= _constants_data(measurements, engine)
    elif any(part.fitted is None for part in measurements.parts):
        data["reasons"] = _reasons(measurements, engine, shown_names)
    return data


def _shown_names(database: Database, target: str, names: Names) -> list[list[str]]:
    """The names of examples, a list per argument: display names with the key in parentheses, or keys."""
    columns = []
    for type_name, column in zip(database.schema.types_of(target), names.T, strict=True):
        display = database.display_names.get(type_name, {})
        columns.append([f"{display[key]} ({key})" if key in display else key for key in column.tolist()])
    return columns


def _add_values(parts: list[dict[str, Any]], measurements: Measurements, engine: Engine) -> None:
    """Add to each effect its feature in words, and its value for each example."""
    places = [place for place, part in enumerate(measurements.parts) if part.fitted is not None]
    effects = [part.fitted.effect for part in measurements.parts if part.fitted is not None]
    keys = measurements.examples.keys[measurements.shown.rows]
    schema = engine.database.schema
    for place, effect, values in zip(places, effects, values_of(engine, effects, keys), strict=True):
        phrase = list(measurements.parts[place].phrase)
        if phrase[0] == WHETHER:
            phrase = phrase[1:]
            texts = ["yes" if value else "no" for value in values.tolist()]
            parts[place]["whether"] = True
        else:
            wording = measurements.wording
            texts = [value_text(effect, schema, value, wording) for value in values.tolist()]
        parts[place]["body"] = phrase
        parts[place]["value"] = packed(np.array(texts, dtype=np.str_))


def _part_data(measurements: Measurements, number: int) -> dict[str, Any]:
    part, shown = measurements.parts[number], measurements.shown
    data: dict[str, Any] = {"name": part.name, "adds": packed(shown.contributions[:, number])}
    if part.clause is not None and shown.counts:
        counts = shown.counts[number]
        data["body"] = body_pieces(part.clause.body)
        data["free"] = list(part.clause.free_variables())
        if part.each is not None:
            schema, wording = measurements.model.schema, measurements.wording
            title = constants_title([(part.clause, part.each)], schema, wording)
            data["title"] = f"{wording.owner} {title}" if wording.example else title
        if (part.bound is not None and part.bound > 1) or part.feature == SHARE:
            data["feature"] = part.feature
        data["true"] = packed(counts.true)
        # As text: totals may be larger than a browser's numbers.
        if counts.within is not None:
            within = packed(counts.within)
            data["within"] = within | {"values": list(map(str, within["values"]))}
        elif counts.false_known:
            data["total"] = str(counts.total)
    else:
        data["body"] = part.formula or [part.name]
    return data


def packed(column: npt.NDArray[Any]) -> dict[str, Any]:
    """A column as its distinct values and, for each row, the position of its value among them.

    >>> packed(np.array([0.5, 0.25, 0.5]))
    {'values': [0.25, 0.5], 'bytes': 1, 'codes': 'AQAB'}
    """
    values, codes = np.unique(column, return_inverse=True)
    width = 1 if len(values) <= 256 else 2 if len(values) <= 65536 else 4
    kind = {1: "<u1", 2: "<u2", 4: "<u4"}[width]
    text = base64.b64encode(codes.ravel().astype(kind).tobytes()).decode("ascii")
    return {"values": values.tolist(), "bytes": width, "codes": text}


def evidence_data(measurements: Measurements, database: Database, evidence: Evidence) -> dict[str, Any]:
    """Groundings as positions in a list of names per type, because names are long and occur often."""
    places: dict[str, dict[int, int]] = {}
    parts: dict[str, Any] = {}
    for number, by_row in evidence.by_part.items():
        clause = measurements.parts[number].clause
        assert clause is not None
        types = database.schema.variable_types(clause)
        own = [types[variable] for variable in clause.free_variables()]
        lists = [places.setdefault(name, {}) for name in own]
        parts[str(number)] = {
            "types": own,
            "rows": {
                str(row): [
                    [known.setdefault(code, len(known)) for known, code in zip(lists, codes, strict=True)]
                    for codes in each
                ]
                for row, each in by_row.items()
            },
        }
    names = {}
    for name, known in places.items():
        display = database.display_names.get(name, {})
        keys = [database.population(name).names[code] for code in known]
        names[name] = [display.get(key, key) for key in keys]
    return {"names": names, "parts": parts, "complete": evidence.complete}


def _constants_data(measurements: Measurements, engine: Engine) -> dict[str, Any]:
    """For clauses with a weight for each constant: the constants that add most to each example."""
    data: dict[str, Any] = {}
    keys = measurements.examples.keys[measurements.shown.rows]
    model = measurements.model
    for number, weighted in enumerate(model.clauses if isinstance(model, Model) else ()):
        if measurements.parts[number].each is None:
            continue
        places: dict[str, int] = {}
        rows = {
            str(row): [
                [places.setdefault(constant, len(places)), float(f"{adds:.6g}")]
                for constant, adds in contributions
            ]
            for row, contributions in strongest_constants(weighted, engine, keys).items()
        }
        part = measurements.parts[number]
        assert part.clause is not None and part.each is not None
        type_name = model.schema.variable_types(part.clause)[part.each]
        constants = [measurements.wording.name(type_name, name) for name in places]
        data[str(number)] = {"each": part.each, "constants": constants, "rows": rows}
    return data


def _reasons(measurements: Measurements, engine: Engine, names: Names) -> dict[str, list[str]]:
    """Reasons in words, the strongest first, for the examples whose scores are farthest from the prior."""
    shown, model = measurements.shown, measurements.model
    found: dict[str, list[str]] = {}
    if engine.database.is_in_place:
        return found  # queries for all these examples would take too long
    order = np.argsort(-np.abs(measurements.log_odds[shown.rows] - model.prior), kind="stable")
    for row in sorted(order[:MOST_EXPLAINED].tolist()):
        key = measurements.examples.keys[shown.rows[row]]
        explanation = explain(model, engine, key, names[row].tolist())
        found[str(row)] = [reason.because(explanation.key) for reason in explanation.reasons]
    return found
