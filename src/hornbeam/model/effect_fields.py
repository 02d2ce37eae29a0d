"""Effects as JSON values of a model file. Levels are read back exactly."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from hornbeam.errors import InputError
from hornbeam.logic.clauses import Value
from hornbeam.logic.effects import Curve, Effect, body_text, in_order_of_use
from hornbeam.logic.parse_effect import cut_misfit, parse_feature
from hornbeam.logic.schema import Schema, kind_of, number_of, read_value
from hornbeam.logic.text import format_value
from hornbeam.model.effects import FittedEffect
from hornbeam.model.fields import Fields


def effect_fields(fitted: FittedEffect) -> dict[str, object]:
    """An effect as JSON values; its variables are numbered by first use."""
    effect = in_order_of_use(fitted.effect)
    curve = effect.curve
    return {
        "feature": str(effect.feature),
        "clause": body_text(effect.head, effect.body),
        "cuts": [format_value(cut) if isinstance(cut, datetime) else cut for cut in curve.cuts],
        "levels": list(curve.levels),
        "missing": curve.missing,
        "importance": fitted.importance,
        "errors": list(fitted.errors),
        "examples": list(fitted.examples),
    }


def read_effect(target: str, schema: Schema, fields: Fields) -> FittedEffect:
    """The effect that ``effect_fields`` wrote."""
    feature, clause = fields.text("feature"), fields.text("clause")
    try:
        head, body, parsed = parse_feature(feature, clause, schema, "clause")
    except InputError as error:
        named = "feature" if error.place is not None and error.place.source == "feature" else "clause"
        value = feature if named == "feature" else clause
        raise fields.wrong(named, f"a {named} of the model's schema ({error})", value) from None
    if head.predicate != target:
        raise fields.wrong("clause", f'a clause with head "{target}"', clause)
    cuts, levels = _read_cuts(fields), fields.numbers("levels")
    if len(levels) != len(cuts) + 1:
        raise fields.wrong("levels", f"{len(cuts) + 1} numbers, one more than cuts", list(levels))
    effect = Effect(head, body, parsed, Curve(cuts, levels, fields.number("missing")))
    problem = cut_misfit(schema, effect)
    if problem is not None:
        raise fields.wrong("cuts", f"numbers ({problem})", list(map(str, cuts)))
    importance = fields.number("importance")
    if importance < 0:
        raise fields.wrong("importance", "a number of at least 0", importance)
    errors, examples = fields.numbers("errors"), fields.wholes("examples")
    _check_numbers(fields, "errors", errors, len(levels))
    _check_numbers(fields, "examples", examples, len(levels))
    fields.close()
    return FittedEffect(effect, importance, errors, examples)


def _read_cuts(fields: Fields) -> tuple[Value, ...]:
    cuts: list[Value] = []
    for value in fields.values("cuts"):
        cut = read_value(value) if isinstance(value, str) else fields.as_number("cuts", value)
        if cut is None or (isinstance(value, str) and not isinstance(cut, datetime)):
            raise fields.wrong("cuts", "numbers, or dates such as 2001-12-31", value)
        cuts.append(cut)
    if len({kind_of(cut) for cut in cuts}) > 1:
        raise fields.wrong("cuts", "all numbers or all dates", list(map(str, cuts)))
    if any(number_of(one) >= number_of(other) for one, other in pairwise(cuts)):
        raise fields.wrong("cuts", "in ascending order, each once", list(map(str, cuts)))
    return tuple(cuts)


def _check_numbers(fields: Fields, name: str, numbers: Sequence[float], n_levels: int) -> None:
    """Refuse numbers that do not belong to the levels: one for missing values, then one for each level."""
    if numbers and (len(numbers) != n_levels + 1 or min(numbers) < 0):
        expected = f"empty, or {n_levels + 1} numbers of at least 0: for missing values, then for each level"
        raise fields.wrong(name, expected, list(numbers))
