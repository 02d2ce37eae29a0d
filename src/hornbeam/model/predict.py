"""Prediction with a model on data other than its training data.

The data are read under the model's schema. A predicate that the model uses and the data lack counts as
empty, with a notice. It is an error if the data have none of the model's predicates, or if a predicate
has different arguments in the data and in the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from hornbeam.data.database import UNKNOWN, Codes, Database, Examples, Notice
from hornbeam.data.keys import Names
from hornbeam.data.numbers import CutoffRule
from hornbeam.data.under_schema import under
from hornbeam.engines.contract import DEFAULT_MEMORY, Engine
from hornbeam.engines.registry import open_engine
from hornbeam.errors import DataError, ModelError, OptionError, SchemaError
from hornbeam.model.choices import choices_of
from hornbeam.model.class_model import ClassModel
from hornbeam.model.clause_model import Floats
from hornbeam.model.evaluate import (
    ChoiceScores,
    ClassScores,
    NumberScores,
    Scores,
    evaluate,
    evaluate_choices,
    evaluate_classes,
    evaluate_numbers,
)
from hornbeam.model.files import LearnedModel, constant_of, predictions_of, scale_of

UNKNOWN_KEYS = ("warn", "error")
"""How to treat keys that are not in the data: as having no facts, with a notice, or as an error."""
NO_FACTS = "they are treated as having no facts."
"""The end of a notice about unknown keys."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """Probabilities of the positive label, one per key in the order given, and notices for the user.

    For a numeric target, they are numbers on its scale.
    """

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
    """Probabilities, or numbers, for keys given as rows of names, one column per argument of the target."""
    seen, notices = data_for(model, database)
    keys, more = codes_for(model, seen, names, unknown)
    return Predictions(predictions_of(model, open_engine(engine, seen, memory), keys), notices + more)


def examples_for(model: LearnedModel, examples: Examples) -> Examples:
    """The examples with numbers, classes or labels, whichever the model predicts."""
    if scale_of(model).numeric:
        if examples.classes:
            raise DataError(
                f'the model predicts numbers, but an example of "{examples.target}" has the label '
                f'"{examples.classes[0]}"; give numbers, or leave the labels out.'
            )
        return examples.as_numbers()
    if hasattr(model, "classes"):
        return examples.as_classes()
    if examples.values is not None:
        known = examples.values[~np.isnan(examples.values)]
        found = f" (such as {known[0]:g})" if len(known) else ""
        raise DataError(
            f'the model predicts a probability, but the labels of "{examples.target}" are numbers{found}; '
            "labels must be 0 and 1."
        )
    return examples


def scores_of(
    model: LearnedModel, engine: Engine, examples: Examples
) -> Scores | ClassScores | NumberScores | ChoiceScores:
    """How good a model is on the examples that have a label, from ``examples_for``."""
    examples = examples.labelled()
    if not len(examples):
        raise DataError(f'no example of "{model.target}" has a label, so the model cannot be scored.')
    if scale_of(model).of_choice:
        choices = choices_of(model, engine, examples.keys, examples.choices)
        return evaluate_choices(
            examples.labels, predictions_of(model, engine, examples.keys, choices), choices
        )
    predicted = predictions_of(model, engine, examples.keys)
    if examples.values is not None:
        return evaluate_numbers(examples.values, predicted, constant_of(model))
    if isinstance(model, ClassModel):
        labels = [examples.classes[label] for label in examples.labels]
        return evaluate_classes(labels, predicted, model.classes)
    return evaluate(examples.labels, predicted)


def data_for(model: LearnedModel, database: Database) -> tuple[Database, tuple[Notice, ...]]:
    """The database under the model's schema, and a notice if predicates of the model have no facts.

    Facts at the time of a cut-off exist, or do not, as for the model.
    """
    _check_arguments(model, database)
    try:
        seen = under(database, model.schema)
    except SchemaError as error:
        raise ModelError(f"the model does not fit these data: {error.message}") from None
    if "times" in model.settings:
        learned_with = CutoffRule.of_settings(model.settings)
        seen = seen.under_rule(replace(learned_with, as_of=seen.rule.as_of))
    asked = model.predicates()
    if asked and not any(name in database.schema.predicates for name in asked):
        raise ModelError(
            f"the model does not fit these data: they have none of its predicates ({_listed(asked)}), "
            f"only {_listed(sorted(database.schema.predicates)) or 'no predicates at all'}."
        )
    empty = [name for name in asked if not seen.has_facts(name)]
    if not empty:
        return seen, ()
    text = f"the data have no facts of {_listed(empty)}, which the model uses; they count as empty."
    return seen, (Notice(text),)


def _check_arguments(model: LearnedModel, database: Database) -> None:
    """Refuse tables whose links are in a different order than in the model: they would be swapped."""
    given, known = _arguments(database.origin), _arguments(model.settings)
    pairs = [(f'table "{table}" links', given[table], known[table]) for table in given.keys() & known.keys()]
    if "tables" in database.origin:
        # Where the order is not stated, the types show it if they differ.
        for name in database.schema.predicates.keys() & model.schema.predicates.keys():
            own, wanted = list(database.schema.types_of(name)), list(model.schema.types_of(name))
            if own != wanted and database.has_facts(name):
                pairs.append((f"{name} takes", own, wanted))
    for what, own, wanted in sorted(pairs):
        if own != wanted and sorted(own) == sorted(wanted):
            raise ModelError(
                f"the model does not fit these data: {what} {','.join(own)} in the data, but "
                f"{','.join(wanted)} in the model; set their order with arguments in schema.toml, or load "
                "the data with origin=model.settings."
            )


def _arguments(settings: Mapping[str, object]) -> dict[str, list[str]]:
    """The links of tables in the order of arguments, for tables whose settings give the order."""
    tables = settings.get("tables")
    orders = {}
    # A model file may come from anywhere, so the settings may hold anything.
    for name, stated in tables.items() if isinstance(tables, Mapping) else ():
        order = stated.get("arguments") if isinstance(stated, Mapping) else None
        if isinstance(order, list):
            orders[str(name)] = list(map(str, order))
    return orders


def codes_for(
    model: LearnedModel, seen: Database, names: Names, unknown: str = "warn"
) -> tuple[Codes, tuple[Notice, ...]]:
    """The codes of keys in a database from ``data_for``, and a notice if keys are not in the data."""
    if unknown not in UNKNOWN_KEYS:
        raise OptionError(f"unknown={unknown!r} is refused: it must be 'warn' or 'error'.")
    keys = seen.encode_keys(model.target, names)
    missing = unknown_keys(keys[:, : seen.schema.arity(model.target)], names)
    if not missing:
        return keys, ()
    if unknown == "error":
        raise DataError(f'{missing}; remove them, or pass unknown="warn" to treat them as having no facts.')
    return keys, (Notice(f"{missing}; {NO_FACTS}"),)


def unknown_keys(keys: Codes, names: Names) -> str:
    """How many keys are not in the data, and the first of them; empty if the data have all."""
    strange = np.flatnonzero((keys == UNKNOWN).any(axis=1))
    if not len(strange):
        return ""
    first = ", ".join(map(str, names[strange[0]]))
    return f"{len(strange)} of {len(keys)} keys are not in the data (first: {first})"


def _listed(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
