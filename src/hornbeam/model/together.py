"""Models of classes that were learned together: their file, their edits, and what a SQL query needs of them.

A file lists each effect once, with one list for each class in the order of the classes: its levels, the level
for missing values, its importance, and the standard errors of the levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hornbeam.errors import OptionError
from hornbeam.logic.effects import Curve
from hornbeam.logic.schema import number_of
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.editing.edits import Edit, edit_fields, effect_name, read_edit
from hornbeam.model.effects import FittedEffect, effect_fields, levels_of, read_effect
from hornbeam.model.fields import Fields
from hornbeam.model.files import Common, clause_fields, read_clause
from hornbeam.model.scales import SOFTMAX
from hornbeam.model.training import read_training, training_fields

if TYPE_CHECKING:
    from hornbeam.engines.export.scoring import ScoringModel

OF_EACH = ("levels", "missing", "importance", "errors")
"""The fields of an effect that each class has."""
NEED_CLASS = ("rise", "fall")
"""Edits of one class only: what raises one lowers others."""


# --- files -------------------------------------------------------------------------------------------


def fields_together(classes: Sequence[str], models: Sequence[Model]) -> dict[str, object]:
    """The fields of the models of all classes, as JSON values."""
    fields: dict[str, object] = {
        "priors": [model.prior for model in models],
        "effects": [_joined(own) for own in zip(*(model.effects for model in models), strict=True)],
    }
    if models[0].clauses:
        clauses = zip(*(model.clauses for model in models), strict=True)
        fields["clauses"] = [_joined_clauses(own) for own in clauses]
    if models[0].training is not None:
        fields["training"] = training_fields(models[0].training)
    edits = list(_edit_fields(classes, models))
    return fields | ({"edits": edits} if edits else {})


def _joined(own: Sequence[FittedEffect]) -> dict[str, object]:
    """One effect with the levels of all classes."""
    each = [effect_fields(fitted) for fitted in own]
    return each[0] | {name: [fields[name] for fields in each] for name in OF_EACH}


def _joined_clauses(own: Sequence[WeightedClause]) -> dict[str, object]:
    """A clause whose constants have a weight for each class."""
    each = [clause_fields(weighted) for weighted in own]
    weights = [dict(weighted.constants) for weighted in own]
    return each[0] | {"constants": {name: [by[name] for by in weights] for name in weights[0]}}


def _edit_fields(classes: Sequence[str], models: Sequence[Model]) -> Iterator[dict[str, object]]:
    for name, model in zip(classes, models, strict=True):
        yield from ({"class": name, **edit_fields(edit)} for edit in model.edits)


def read_together(common: Common, fields: Fields, classes: Sequence[str]) -> list[Model]:
    """The models whose fields ``fields_together`` wrote."""
    number = len(classes)
    priors = numbers_of_classes(fields, "priors", number)
    effects = [
        [read_effect(common.target, common.schema, one) for one in each.one_by_one(OF_EACH, number)]
        for each in fields.objects("effects", "effect")
    ]
    clauses = [
        _read_clauses(common, each, number)
        for each in (fields.objects("clauses", "clause") if fields.has("clauses") else ())
    ]
    training = read_training(fields.nested("training")) if fields.has("training") else None
    edits = _read_edits(common, fields, classes) if fields.has("edits") else {}
    return [
        Model(
            common.target,
            common.schema,
            prior,
            tuple(own[place] for own in clauses),
            common.settings,
            "rlr",
            tuple(own[place] for own in effects),
            training,
            SOFTMAX,
            tuple(edits.get(name, ())),
        )
        for place, (name, prior) in enumerate(zip(classes, priors, strict=True))
    ]


def numbers_of_classes(fields: Fields, name: str, number: int) -> tuple[float, ...]:
    """A field with a number for each class."""
    numbers = fields.numbers(name)
    if len(numbers) != number:
        raise fields.wrong(name, f"{number} numbers, one for each class", list(numbers))
    return numbers


def _read_clauses(common: Common, fields: Fields, number: int) -> list[WeightedClause]:
    return [read_clause(common, one) for one in fields.one_by_one((), number, maps=("constants",))]


def _read_edits(common: Common, fields: Fields, classes: Sequence[str]) -> dict[str, list[Edit]]:
    found: dict[str, list[Edit]] = {}
    for member in fields.objects("edits", "edit"):
        name = member.text("class")
        if name not in classes:
            raise member.wrong("class", "a class of the model", name)
        found.setdefault(name, []).append(read_edit(common.schema, member))
    return found


# --- edits -------------------------------------------------------------------------------------------


def edited_together(
    models: Sequence[Model], edits: Sequence[str | Edit], by: str, chosen: Sequence[bool]
) -> list[Model]:
    """The models after edits of some classes; the others keep their levels.

    An effect that is switched off in some classes has a level of 0 there; without a level in any class, it is
    left out. If all classes are edited, the numbers of effects are those that ``show`` prints for all.
    """
    if all(chosen):
        edits = [_named(each, models[0]) for each in edits]
    edited = [
        model.edited(*edits, by=by) if own else model for model, own in zip(models, chosen, strict=True)
    ]
    rows = [
        [_placed(fitted, after) for fitted, after in zip(before, edited, strict=True)]
        for before in zip(*(model.effects for model in models), strict=True)
    ]
    kept = [row for row in rows if any(any(_levels(fitted)) for fitted in row)]
    clauses = [
        [own if own in after.clauses else _without_weights(own) for own in model.clauses]
        for model, after in zip(models, edited, strict=True)
    ]
    weighed = [place for place, row in enumerate(zip(*clauses, strict=True)) if any(map(_weighs, row))]
    return [
        replace(
            after,
            effects=tuple(row[place] for row in kept),
            clauses=tuple(clauses[place][each] for each in weighed),
        )
        for place, after in enumerate(edited)
    ]


def _without_weights(weighted: WeightedClause) -> WeightedClause:
    return replace(weighted, constants=tuple((name, 0.0) for name, _ in weighted.constants))


def _weighs(weighted: WeightedClause) -> bool:
    return any(weight for _, weight in weighted.constants)


def _named(edit: str | Edit, first: Model) -> str | Edit:
    """An edit of all classes with the name of its effect in place of the number."""
    if not isinstance(edit, str):
        return edit
    action, _, rest = edit.partition(" ")
    if action in NEED_CLASS:
        raise OptionError(f'"{edit}" needs a class, because what raises one lowers others; name it.')
    number, space, more = rest.partition(" ")
    if not number.isdecimal():
        return edit
    if not 1 <= int(number) <= len(first.effects):
        raise OptionError(f"there is no effect {number}: the model has {first.size_text}.")
    return f"{action} {effect_name(first.effects[int(number) - 1].effect)}{space}{more}"


def _levels(fitted: FittedEffect) -> tuple[float, ...]:
    return (fitted.effect.curve.missing, *fitted.effect.curve.levels)


def _placed(before: FittedEffect, after: Model) -> FittedEffect:
    """An effect of a class after edits, at the cuts that all classes have; 0 if it was switched off."""
    name, curve = effect_name(before.effect), before.effect.curve
    found = [fitted for fitted in after.effects if effect_name(fitted.effect) == name]
    if not found:
        flat = Curve(curve.cuts, (0.0,) * len(curve.levels), 0.0)
        return replace(before, effect=before.effect._replace(curve=flat), importance=0.0, errors=())
    own = found[0].effect.curve
    if own == curve:
        return before
    # A range begins with the cut below it, which has the level of the range.
    points = np.array([-math.inf, *map(number_of, curve.cuts)])
    levels = tuple(levels_of(own, points).tolist())
    changed = Curve(curve.cuts, levels, own.missing)
    return replace(
        found[0], effect=before.effect._replace(curve=changed), errors=(), examples=before.examples
    )


# --- SQL ---------------------------------------------------------------------------------------------


def scored_together(classes: Sequence[str], models: Sequence[Model]) -> ScoringModel:
    """The model as a query computes it: each effect once, with what it adds to the score of each class."""
    from hornbeam.engines.export.class_scores import ClassScore

    of_classes = [model.as_scored() for model in models]
    scores = tuple(
        ClassScore(name, scored.prior, scored.clauses, scored.effects)
        for name, scored in zip(classes, of_classes, strict=True)
    )
    return replace(of_classes[0], classes=scores)
