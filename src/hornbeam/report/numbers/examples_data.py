"""The shown examples as data of the page: compact, so that thousands of explanations fit in it."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Database
from hornbeam.data.keys import Names
from hornbeam.engines.contract import Engine
from hornbeam.logic.english import body_pieces
from hornbeam.model.clause_model import Model
from hornbeam.model.explain import explain
from hornbeam.model.features import SHARE
from hornbeam.report.numbers.constants import strongest_constants
from hornbeam.report.numbers.evidence import Evidence, evidence
from hornbeam.report.numbers.measured import Measured

TOLD = 200
"""Examples whose reasons are told one by one, where a model's parts are not clauses."""


def examples_data(measured: Measured, engine: Engine, names: Names | None = None) -> dict[str, Any]:
    """What the table of examples and their explanations are drawn from, as JSON values.

    ``names`` are those of all examples; without them the database is asked, which must know them.
    """
    shown, database = measured.shown, engine.database
    target = measured.model.target
    keys = measured.examples.keys[shown.rows]
    arity = database.schema.arity(target)
    shown_names = database.names_of(target, keys) if names is None else names[shown.rows, :arity]
    data: dict[str, Any] = {
        "target": target,
        "prior": measured.model.prior,
        "names": [column.tolist() for column in shown_names.T],
        "label": measured.examples.labels[shown.rows].tolist(),
        "probability": measured.probabilities[shown.rows].tolist(),
        "logOdds": measured.log_odds[shown.rows].tolist(),
        "parts": [_part_data(measured, number) for number in range(len(measured.parts))],
    }
    if measured.examples.cutoffs is not None:
        data["cutoff"] = database.cutoff_texts(measured.examples.cutoffs[shown.rows])
    if shown.counts:
        data["evidence"] = evidence_data(measured, database, evidence(measured, database))
        data["evidence"]["parts"] |= _constants_data(measured, engine)
    else:
        data["reasons"] = _reasons(measured, engine, shown_names)
    return data


def _part_data(measured: Measured, number: int) -> dict[str, Any]:
    part, shown = measured.parts[number], measured.shown
    data: dict[str, Any] = {"name": part.name, "adds": packed(shown.contributions[:, number])}
    if part.clause is not None and shown.counts:
        counts = shown.counts[number]
        data["body"] = body_pieces(part.clause.body)
        data["free"] = list(part.clause.free_variables())
        if (part.bound is not None and part.bound > 1) or part.reading == SHARE:
            data["reading"] = part.reading
        data["true"] = packed(counts.true)
        # Totals go beyond what a browser's numbers hold.
        if counts.within is not None:
            within = packed(counts.within)
            data["within"] = within | {"values": list(map(str, within["values"]))}
        elif counts.false_known:
            data["total"] = str(counts.total)
    else:
        data["body"] = part.logic or [part.name]
    return data


def packed(column: npt.NDArray[Any]) -> dict[str, Any]:
    """A column as its distinct values and, for each row, which of them it has.

    >>> packed(np.array([0.5, 0.25, 0.5]))
    {'values': [0.25, 0.5], 'bytes': 1, 'codes': 'AQAB'}
    """
    values, codes = np.unique(column, return_inverse=True)
    width = 1 if len(values) <= 256 else 2 if len(values) <= 65536 else 4
    kind = {1: "<u1", 2: "<u2", 4: "<u4"}[width]
    text = base64.b64encode(codes.ravel().astype(kind).tobytes()).decode("ascii")
    return {"values": values.tolist(), "bytes": width, "codes": text}


def evidence_data(measured: Measured, database: Database, found: Evidence) -> dict[str, Any]:
    """Groundings as places in lists of names, a list per type: names are long, and repeat."""
    places: dict[str, dict[int, int]] = {}
    parts: dict[str, Any] = {}
    for number, by_row in found.by_part.items():
        clause = measured.parts[number].clause
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
    names = {
        name: [database.population(name).names[code] for code in known] for name, known in places.items()
    }
    return {"names": names, "parts": parts, "complete": found.complete}


def _constants_data(measured: Measured, engine: Engine) -> dict[str, Any]:
    """Of clauses with a weight for each constant, the constants that say most of each shown example."""
    found: dict[str, Any] = {}
    keys = measured.examples.keys[measured.shown.rows]
    model = measured.model
    for number, weighted in enumerate(model.clauses if isinstance(model, Model) else ()):
        if measured.parts[number].each is None:
            continue
        places: dict[str, int] = {}
        rows = {
            str(row): [
                [places.setdefault(constant, len(places)), float(f"{adds:.6g}")] for constant, adds in said
            ]
            for row, said in strongest_constants(weighted, engine, keys).items()
        }
        found[str(number)] = {"each": measured.parts[number].each, "constants": list(places), "rows": rows}
    return found


def _reasons(measured: Measured, engine: Engine, names: Names) -> dict[str, list[str]]:
    """For some examples why each part adds what it adds, in the model's own words, the strongest first."""
    shown, model = measured.shown, measured.model
    found: dict[str, list[str]] = {}
    if engine.database.is_in_place:
        return found  # queries for all these examples would take too long
    order = np.argsort(-np.abs(measured.log_odds[shown.rows] - model.prior), kind="stable")
    for row in sorted(order[:TOLD].tolist()):
        key = measured.examples.keys[shown.rows[row]]
        explained = explain(model, engine, key, names[row].tolist())
        found[str(row)] = [reason.because(explained.key) for reason in explained.reasons]
    return found
