"""Effects: a body, one feature of its groundings, and a curve; ``str`` of each gives its text.

A *body* is a sequence of steps that lead from the head's variables along links. Besides the literals of a
clause, a step may be a link limited in time (``Recent``) or a number of facts (``NumberOf``). A *feature*
is a number that the groundings of the body give for an example: their count, the mean of a variable, and so
on. A *curve* is a step function from the feature to a change in the score. ``docs/effects.md`` defines them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from hornbeam.errors import SchemaError
from hornbeam.logic.clauses import (
    Atom,
    Clause,
    Comparison,
    Literal,
    Not,
    Value,
    atom_of,
    format_constant,
    format_threshold,
    rename,
    rename_atom,
    variable_name,
)
from hornbeam.logic.features import DATES, KINDS, NUMBERS
from hornbeam.logic.schema import DATE, NUMBER, Schema


class Recent(NamedTuple):
    """A link limited in time: ``last 5 race(B,A)``, ``within 365 race(B,A)``.

    Of the facts that match the atom for given values of the variables before it, ``last`` takes those with
    fewer than that many later ones, and ``within`` those at most that long before the example's cut-off: in
    days if times are dates, else in the unit of times.
    """

    atom: Atom
    last: int | None = None
    within: float | None = None

    def __str__(self) -> str:
        within = "" if self.within is None else f"within {format_threshold(self.within)} "
        return f"{within}{'' if self.last is None else f'last {self.last} '}{self.atom}"


class NumberOf(NamedTuple):
    """A variable that is the number of facts which match an atom: ``V = number of bond(B,C)``.

    The atom's variables that no earlier step has are its own: they occur nowhere else.
    """

    variable: int
    atom: Atom

    def __str__(self) -> str:
        return f"{variable_name(self.variable)} = number of {self.atom}"


class Equals(NamedTuple):
    """A variable that has a certain constant: ``B = drama``."""

    variable: int
    constant: str

    def __str__(self) -> str:
        return f"{variable_name(self.variable)} = {format_constant(self.constant)}"


Step = Literal | Recent | NumberOf | Equals
Body = tuple[Step, ...]


class Feature(NamedTuple):
    """A number that the groundings of a body give for an example: ``count``, ``mean V``."""

    kind: str
    """its name in ``logic.features.KINDS``"""
    variable: int | None = None

    def __str__(self) -> str:
        return self.kind if self.variable is None else f"{self.kind} {variable_name(self.variable)}"


class Curve(NamedTuple):
    """A step function: ``levels[i]`` below ``cuts[i]``, the last level from the last cut on.

    With a slope, each unit beyond ``low`` adds that much more, up to ``high``: a smaller value counts as
    ``low``, a larger one as ``high``.

    >>> print(Curve((3.0, 7.0), (-0.11, 0.0, 0.42), -0.2))
    [missing: -0.2; < 3: -0.11; < 7: 0; else: 0.42]
    >>> print(Curve((), (-0.3,), 0.0, 0.12, 1.0, 25.0))
    [slope: 0.12 from 1 to 25; else: -0.3]
    """

    cuts: tuple[Value, ...]
    levels: tuple[float, ...]
    missing: float = 0.0
    slope: float = 0.0
    low: float = 0.0
    high: float = 0.0

    def __str__(self) -> str:
        parts = [f"missing: {self.missing:.6g}"] if self.missing else []
        if self.slope:
            ends = f"{format_threshold(self.low)} to {format_threshold(self.high)}"
            parts.append(f"slope: {self.slope:.6g} from {ends}")
        parts += [
            f"< {format_threshold(cut)}: {level:.6g}"
            for cut, level in zip(self.cuts, self.levels, strict=False)
        ]
        return f"[{'; '.join([*parts, f'else: {self.levels[-1]:.6g}'])}]"

    def risen(self, value: float) -> float:
        """What the slope adds at a value."""
        return self.slope * (min(max(value, self.low), self.high) - self.low) if self.slope else 0.0

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        """What the curve adds where each of its levels begins and where it ends.

        >>> Curve((3.0,), (0.0, 1.0), 0.0, 0.5, 1.0, 5.0).ends
        ((0.0, 1.0), (2.0, 3.0))
        """
        if not self.slope:
            return tuple((level, level) for level in self.levels)
        cuts = [float(cut) for cut in self.cuts if not isinstance(cut, datetime)]
        places = zip([self.low, *cuts], [*cuts, self.high], self.levels, strict=True)
        return tuple((level + self.risen(start), level + self.risen(end)) for start, end, level in places)


class Effect(NamedTuple):
    """A body with one feature and its curve.

    >>> curve = Curve((3.0,), (-0.5, 0.5))
    >>> print(Effect(Atom("bad", (0,)), (Atom("age", (0, 1)),), Feature("value", 1), curve))
    value B [< 3: -0.5; else: 0.5] : bad(A) :- age(A,B).
    """

    head: Atom
    body: Body
    feature: Feature
    curve: Curve

    def __str__(self) -> str:
        return f"{self.feature} {self.curve} : {body_text(self.head, self.body)}"


def body_text(head: Atom, body: Body) -> str:
    """A head and a body as text, in the form of a clause."""
    return f"{head} :- {', '.join(map(str, body)) or 'true'}."


def atom_in(step: Step) -> Atom | None:
    """The atom of a step; a comparison and an equality have none."""
    if isinstance(step, Comparison | Equals):
        return None
    return step.atom if isinstance(step, Recent | NumberOf) else atom_of(step)


def is_clause(body: Body) -> bool:
    """Whether a body has only the literals of a clause."""
    return not any(isinstance(step, Recent | NumberOf | Equals) for step in body)


def clause_of(head: Atom, body: Body) -> Clause:
    """The clause with this body, which must have only the literals of a clause."""
    assert is_clause(body)
    return Clause(head, tuple(step for step in body if not isinstance(step, Recent | NumberOf | Equals)))


@lru_cache(maxsize=4096, typed=True)
def step_variables(step: Step) -> tuple[int, ...]:
    """The distinct variables of a step in order of first use; a number comes before its atom's variables."""
    if isinstance(step, Comparison | Equals):
        return (step.variable,)
    atom = atom_in(step)
    assert atom is not None
    first = (step.variable,) if isinstance(step, NumberOf) else ()
    return tuple(dict.fromkeys([*first, *(term for term in atom.args if isinstance(term, int))]))


def new_variables_of(step: Step, known: set[int]) -> tuple[int, ...]:
    """The variables that a step binds for later steps: not the atom's own variables of a number."""
    if isinstance(step, NumberOf):
        return (step.variable,)
    if isinstance(step, Comparison | Equals | Not):
        return ()
    return tuple(variable for variable in step_variables(step) if variable not in known)


def rename_step(step: Step, names: dict[int, int]) -> Step:
    """The step with each variable replaced; variables not in ``names`` stay."""
    if isinstance(step, Equals):
        return step._replace(variable=names.get(step.variable, step.variable))
    if isinstance(step, Recent):
        return step._replace(atom=rename_atom(step.atom, names))
    if isinstance(step, NumberOf):
        return NumberOf(names.get(step.variable, step.variable), rename_atom(step.atom, names))
    return rename(step, names)


def predicates_in(body: Body) -> Iterator[str]:
    """The predicate of each atom of a body, in order, with repetitions."""
    for step in body:
        atom = atom_in(step)
        if atom is not None:
            yield atom.predicate


def in_order_of_use(effect: Effect) -> Effect:
    """The effect with its variables numbered by first use: the head's first, then as the text has them.

    >>> curve = Curve((), (1.0,))
    >>> print(in_order_of_use(Effect(Atom("bad", (0,)), (Atom("age", (0, 7)),), Feature("value", 7), curve)))
    value B [else: 1] : bad(A) :- age(A,B).
    """
    names: dict[int, int] = {}
    for step in (effect.head, *effect.body):
        for variable in step_variables(step):
            names.setdefault(variable, len(names))
    kind, number = effect.feature
    return Effect(
        rename_atom(effect.head, names),
        tuple(rename_step(step, names) for step in effect.body),
        Feature(kind, None if number is None else names.get(number, number)),
        effect.curve,
    )


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
