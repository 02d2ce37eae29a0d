"""Choices: which examples are alternatives of each other, and what is predicted of them together.

A choice is the examples with equal values in a column: an argument of the target, or a column of its table.
An example without a value is a choice of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Database
from hornbeam.data.numbers import Floats
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.engines.questions import FeatureRequest, ValueRequest
from hornbeam.errors import DataError, LimitError, OptionError, did_you_mean, plural
from hornbeam.loading.tables.learned import key_names, learned_tables
from hornbeam.logic.clauses import Atom, head_atom
from hornbeam.logic.effects import Body, Feature
from hornbeam.logic.features import MAXIMUM, MINIMUM
from hornbeam.logic.schema import Schema
from hornbeam.model.scales import Integers

SETTING = "choice"
"""The setting of a model that names the column of its choices."""


class ChoicePlace(NamedTuple):
    """Where the choice of an example is stated."""

    argument: int | None
    """the place of an argument of the target"""
    predicate: str | None = None
    """or the predicate that has it after the arguments of the target"""


class ModelOfChoices(Protocol):
    """A model, as far as its choices need it."""

    @property
    def target(self) -> str: ...
    @property
    def schema(self) -> Schema: ...
    @property
    def settings(self) -> Mapping[str, object]: ...


def choice_place(schema: Schema, target: str, settings: Mapping[str, object], column: str) -> ChoicePlace:
    """Where a column is, by its name in the tables, or by that of an argument or a predicate."""
    types = schema.types_of(target)
    names = key_names(settings, len(types))
    for place, name in enumerate(names):
        if column.lower() in (name.lower(), f"arg{place + 1}"):
            return ChoicePlace(place)
    columns = _columns_of(schema, target)
    tables = learned_tables(settings)
    for name, place_of in () if tables is None else tables.predicates.items():
        if name in columns and (place_of.columns[-1] or "").lower() == column.lower():
            return ChoicePlace(None, name)
    if column.lower() in columns:
        return ChoicePlace(None, column.lower())
    hint = did_you_mean(column, sorted({*names, *columns}), "Columns")
    raise OptionError(f'no column "{column}" of the examples of "{target}" for choice. {hint}')


def _columns_of(schema: Schema, target: str) -> list[str]:
    """The predicates that have one more argument than the target, after its own."""
    types = tuple(schema.types_of(target))
    size = len(types) + 1
    return [
        name
        for name, own in schema.predicates.items()
        if name != target and len(own) == size and tuple(own[:-1]) == types
    ]


def choices_at(engine: Engine, target: str, keys: Codes, place: ChoicePlace) -> Integers:
    """The number of the choice of each example; -1 if it has no value. Numbers are from 0 on."""
    if place.argument is not None:
        return _numbered(keys[:, place.argument].astype(np.int64), keys[:, place.argument] >= 0)
    assert place.predicate is not None
    arity = engine.database.schema.arity(target)
    body: Body = (Atom(place.predicate, tuple(range(arity + 1))),)
    head = head_atom(target, arity)
    numeric = engine.database.schema.types_of(place.predicate)[-1] in engine.database.schema.numeric
    values = _numbers(engine, head, body, keys) if numeric else _codes(engine, head, body, keys)
    if isinstance(values, Skipped):
        raise LimitError(f'the choices by "{place.predicate}" exceed the memory budget; raise --memory.')
    least, most = values
    several = int(np.count_nonzero(least < most))
    if several:
        raise DataError(
            f'{plural(several, "example")} of "{target}" {"has" if several == 1 else "have"} several values '
            f'of "{place.predicate}"; an example belongs to one choice.'
        )
    return _numbered(least, ~np.isnan(least))


def _codes(engine: Engine, head: Atom, body: Body, keys: Codes) -> tuple[Floats, Floats] | Skipped:
    """The least and the largest code of the constants of each example; NaN if it has none."""
    answer = engine.counts_by_constant(ValueRequest(head, body, len(head.args)), keys)
    if isinstance(answer, Skipped):
        return answer
    least, most = np.full(len(keys), np.inf), np.full(len(keys), -np.inf)
    for counts in answer:
        np.minimum.at(least, counts.row, counts.code)
        np.maximum.at(most, counts.row, counts.code)
    known = np.isfinite(least)
    return np.where(known, least, np.nan), np.where(known, most, np.nan)


def _numbers(engine: Engine, head: Atom, body: Body, keys: Codes) -> tuple[Floats, Floats] | Skipped:
    """The least and the largest number of each example; NaN if it has none."""
    asked = [FeatureRequest(head, body, Feature(kind, len(head.args))) for kind in (MINIMUM, MAXIMUM)]
    least, most = engine.features(asked, keys)
    if isinstance(least, Skipped):
        return least
    return most if isinstance(most, Skipped) else (least, most)


def _numbered(values: npt.NDArray[np.generic], known: npt.NDArray[np.bool_]) -> Integers:
    _, which = np.unique(values, return_inverse=True)
    return np.where(known, which.ravel(), -1).astype(np.int64)


def numbers_of_choices(given: object, size: int) -> Integers:
    """The number of the choice of each example, from the values that a user gives."""
    values = np.asarray(given)
    if values.shape != (size,):
        raise DataError(f"choice has the shape {values.shape}, but X has {size} rows: give one value each.")
    missing = np.array([each is None or each != each for each in values.tolist()], dtype=bool)
    texts = np.array([str(each) for each in values.tolist()], dtype=object)
    return _numbered(texts, ~missing)


def choices_of(model: ModelOfChoices, engine: Engine, keys: Codes, given: Integers | None = None) -> Integers:
    """The choice of each example of a model: as given, or by the column that the model was learned with."""
    if given is None:
        column = model.settings.get(SETTING)
        if column is None:
            raise OptionError(
                f'the model of "{model.target}" was learned with a list of choices, so it cannot know which '
                'examples are one choice; give choice=, or the column "choice" of the examples.'
            )
        place = choice_place(model.schema, model.target, model.settings, str(column))
        given = choices_at(engine, model.target, keys, place)
    return each_alone(given)


def each_alone(choices: Integers) -> Integers:
    """The choices, with a number of its own for each example without one."""
    alone = np.flatnonzero(choices < 0)
    if not len(alone):
        return choices
    result = choices.copy()
    result[alone] = int(choices.max(initial=-1)) + 1 + np.arange(len(alone))
    return result


def best_of(predicted: Floats, choices: Integers) -> npt.NDArray[np.bool_]:
    """Whether each example has the largest prediction of its choice; of equal ones, the first."""
    order = np.lexsort((-predicted, choices))
    first = order[np.flatnonzero(np.diff(choices[order], prepend=choices.min(initial=0) - 1))]
    best = np.zeros(len(choices), dtype=bool)
    best[first] = True
    return best


def choices_in_data(
    model: ModelOfChoices, database: Database, engine: Engine, key: Codes
) -> tuple[Codes, Integers]:
    """An example, then the other examples of the data that are alternatives to it; and their choices."""
    keys = np.vstack([key.reshape(1, -1), database.examples_of(model.target).keys])
    choices = choices_of(model, engine, keys)
    others = (choices == choices[0]) & (keys != key).any(axis=1)
    rows = np.append(0, np.flatnonzero(others))
    return keys[rows], choices[rows]
