"""The types of the variables of a body, and whether a feature fits them."""

from __future__ import annotations

from hornbeam.errors import SchemaError
from hornbeam.logic.clauses import Atom, Comparison
from hornbeam.logic.effects import Body, Equals, Feature, NumberOf, atom_in
from hornbeam.logic.features import DATES, KINDS, NUMBERS
from hornbeam.logic.schema import DATE, NUMBER, Schema
from hornbeam.logic.text import variable_name

NUMBER_OF_FACTS = "#"
"""The type of a variable that is a number of facts."""


def variable_types(schema: Schema, head: Atom, body: Body) -> dict[int, str]:
    """The type of each variable of a head and a body; refuses a body that is not well typed."""
    known = dict(
        zip(
            (term for term in head.args if isinstance(term, int)),
            schema.types_of(head.predicate),
            strict=True,
        )
    )
    for step in body:
        if isinstance(step, Comparison | Equals):
            if step.variable not in known:
                raise SchemaError(
                    f"{step}: variable {variable_name(step.variable)} occurs in no step before it."
                )
            continue
        atom = atom_in(step)
        assert atom is not None
        types = schema.types_of(atom.predicate)
        if len(types) != len(atom.args):
            raise SchemaError(
                f'{atom} has {len(atom.args)} arguments, but "{atom.predicate}" takes {len(types)}: '
                f"{atom.predicate}({','.join(types)})."
            )
        for term, type_name in zip(atom.args, types, strict=True):
            if isinstance(term, int) and known.setdefault(term, type_name) != type_name:
                raise SchemaError(
                    f"variable {variable_name(term)} is used as {known[term]} and as {type_name} "
                    f"in {atom}; use two variables."
                )
        if isinstance(step, NumberOf):
            known[step.variable] = NUMBER_OF_FACTS
    return known


def kind_of_type(schema: Schema, type_name: str) -> str | None:
    """The kind of a numeric type, or of a number of facts; None for any other type."""
    return NUMBER if type_name == NUMBER_OF_FACTS else schema.numeric.get(type_name)


def feature_misfit(
    schema: Schema, head: Atom, body: Body, feature: Feature, name: str | None = None
) -> str | None:
    """Why a feature does not fit the type of its variable, as a sentence; None if it fits.

    ``name`` is the variable's name in the sentence.
    """
    if feature.variable is None or KINDS[feature.kind].needs not in (NUMBERS, DATES):
        return None
    type_name = variable_types(schema, head, body)[feature.variable]
    kind = kind_of_type(schema, type_name)
    name = name or variable_name(feature.variable)
    if KINDS[feature.kind].needs == DATES and kind != DATE:
        return (
            f'"{feature.kind}" needs a date, but variable {name} is of type {type_name}, which is not a date.'
        )
    if kind is None:
        return (
            f'"{feature.kind}" needs a number, but variable {name} is of type {type_name}, '
            "which is not numeric."
        )
    return None


def has_dates(schema: Schema, head: Atom, body: Body, feature: Feature) -> bool:
    """Whether the values of a feature are dates."""
    if feature.variable is None or not KINDS[feature.kind].dates:
        return False
    return kind_of_type(schema, variable_types(schema, head, body)[feature.variable]) == DATE
