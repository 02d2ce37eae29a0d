"""Predicting with a model on data that need not be those it was learned on.

The data are seen under the model's schema. What the model asks for and the data lack is empty, and
said; data that have nothing of what the model asks for, or mean something else by it, are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hornbeam.data.database import UNKNOWN, Codes, Database, Notice
from hornbeam.data.keys import Names
from hornbeam.data.under_schema import under
from hornbeam.engines.contract import DEFAULT_MEMORY
from hornbeam.engines.registry import open_engine
from hornbeam.errors import DataError, ModelError, OptionError, SchemaError
from hornbeam.model.clause_model import Floats
from hornbeam.model.files import LearnedModel

UNKNOWN_KEYS = ("warn", "error")
"""What may be done with keys that the data do not have: count them as having no facts, or refuse."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """Probabilities of the positive label, one per key in the order given, and what to say once."""

    probabilities: Floats
    notices: tuple[Notice, ...]


def predict(
    model: LearnedModel,
    database: Database,
    names: Names,
    *,
    unknown: str = "warn",
    engine: str = "memory",
    memory: int = DEFAULT_MEMORY,
) -> Predictions:
    """Probabilities for keys given as rows of names, one column per argument of the target."""
    seen, notices = data_for(model, database)
    keys, more = codes_for(model, seen, names, unknown)
    return Predictions(model.probabilities(open_engine(engine, seen, memory), keys), notices + more)


def data_for(model: LearnedModel, database: Database) -> tuple[Database, tuple[Notice, ...]]:
    """The database under the model's schema, and one notice about predicates it has no facts of."""
    _check_arguments(model, database)
    try:
        seen = under(database, model.schema)
    except SchemaError as error:
        raise ModelError(f"the model does not fit these data: {error.message}") from None
    asked = model.predicates()
    if asked and not any(name in database.schema.predicates for name in asked):
        raise ModelError(
            f"the model does not fit these data: they have none of its predicates ({_listed(asked)}), "
            f"only {_listed(sorted(database.schema.predicates)) or 'no predicates at all'}."
        )
    empty = [name for name in asked if not seen.has_facts(name)]
    if not empty:
        return seen, ()
    said = f"the data have no facts of {_listed(empty)}, which the model uses; counted as empty."
    return seen, (Notice(said),)


def _check_arguments(model: LearnedModel, database: Database) -> None:
    """Refuse tables whose links are in another order than in the model, which would take one for another."""
    given, known = _arguments(database.origin), _arguments(model.settings)
    pairs = [(f'table "{table}" links', given[table], known[table]) for table in given.keys() & known.keys()]
    if "tables" in database.origin:
        # Models of old do not say the order; types tell it where they differ.
        for name in database.schema.predicates.keys() & model.schema.predicates.keys():
            own, wanted = list(database.schema.types_of(name)), list(model.schema.types_of(name))
            if own != wanted and database.has_facts(name):
                pairs.append((f"{name} takes", own, wanted))
    for what, own, wanted in sorted(pairs):
        if own != wanted and sorted(own) == sorted(wanted):
            raise ModelError(
                f"the model does not fit these data: {what} {','.join(own)} in the data, but "
                f"{','.join(wanted)} in the model; state their order by arguments, or load them with "
                "origin=model.settings."
            )


def _arguments(settings: Mapping[str, object]) -> dict[str, list[str]]:
    """The links of tables in the order of arguments, where somebody stated it: a model file is anybody's."""
    tables = settings.get("tables")
    found = {}
    for name, stated in tables.items() if isinstance(tables, Mapping) else ():
        order = stated.get("arguments") if isinstance(stated, Mapping) else None
        if isinstance(order, list):
            found[str(name)] = list(map(str, order))
    return found


def codes_for(
    model: LearnedModel, seen: Database, names: Names, unknown: str = "warn"
) -> tuple[Codes, tuple[Notice, ...]]:
    """Codes of keys in data seen by ``data_for``, and one notice about those the data do not have."""
    if unknown not in UNKNOWN_KEYS:
        raise OptionError(f"unknown={unknown!r} is refused: it must be 'warn' or 'error'.")
    keys = seen.encode_keys(model.target, names)
    strange = np.flatnonzero((keys == UNKNOWN).any(axis=1))
    if not len(strange):
        return keys, ()
    first = ", ".join(map(str, names[strange[0]]))
    said = f"{len(strange)} of {len(keys)} keys are not in the data (first: {first})"
    if unknown == "error":
        raise DataError(f'{said}; remove them, or pass unknown="warn" to count them as having no facts.')
    return keys, (Notice(f"{said}; they count as having no facts."),)


def _listed(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
