"""Random effects for hypothesis: bodies of steps, features and curves, with or without a database."""

from typing import Any

from hypothesis import strategies as st

from hornbeam.data.database import Database
from hornbeam.logic import features as kinds
from hornbeam.logic.clauses import Atom, Comparison, Not, Term, head_atom
from hornbeam.logic.effects import (
    NUMBER_OF_FACTS,
    Body,
    Curve,
    Effect,
    Equals,
    Feature,
    NumberOf,
    Recent,
    Step,
    has_dates,
    kind_of_type,
    new_variables_of,
    step_variables,
    variable_types,
)
from hornbeam.logic.schema import DATE, NUMBER, Schema, number_of
from strategies import STRANGER, TARGET, THRESHOLDS

finite = st.floats(-1e200, 1e200)
"""The numbers that a model file may hold."""
levels = st.one_of(finite, st.sampled_from([0.0, -0.0, 1.0, -0.5, 0.1, 1e-7]))
ends = st.one_of(st.integers(-3, 12).map(float), st.floats(-1e4, 1e4).map(lambda end: round(end, 3) + 0.0))
number_cuts = st.one_of(finite, st.integers(-3, 12).map(float)).map(lambda number: number + 0.0)


@st.composite
def curves(draw: st.DrawFn, dates: bool = False) -> Curve:
    """Up to five cuts, numbers or dates, and a level for each range; often no level for missing, no slope."""
    cut: Any = st.datetimes() if dates else number_cuts
    cuts = tuple(sorted(draw(st.lists(cut, max_size=5, unique_by=number_of)), key=number_of))
    chosen = draw(st.lists(levels, min_size=len(cuts) + 1, max_size=len(cuts) + 1))
    curve = Curve(cuts, tuple(chosen), draw(st.one_of(st.just(0.0), levels)))
    if dates or draw(st.integers(0, 2)):
        return curve
    low, high = sorted(draw(st.lists(ends, min_size=2, max_size=2, unique=True)))
    return curve._replace(slope=draw(st.sampled_from([0.12, -3.5, 1e-4])), low=low, high=high)


@st.composite
def step_bodies(draw: st.DrawFn, database: Database, most: int = 4) -> Body:
    """Well-typed steps that follow links from the head; variables are numbered by first use."""
    schema = database.schema
    head = head_atom(TARGET, schema.arity(TARGET))
    types = dict(enumerate(schema.types_of(TARGET)))
    known, body, used = set(types), [], len(types)
    for _ in range(draw(st.integers(0, most))):
        numeric = sorted(v for v in known if kind_of_type(schema, types[v]))
        forms = ("atom", "atom", "recent", "recent", "not", "number", "compare", "equals")
        form = draw(st.sampled_from(forms))
        if form == "equals":
            variable = draw(st.sampled_from(sorted(known)))
            names = database.population(types[variable]).names[:3]
            if types[variable] != NUMBER_OF_FACTS:
                body.append(Equals(variable, draw(st.sampled_from([*names, STRANGER]))))
            continue
        if form == "compare":
            if numeric:
                variable = draw(st.sampled_from(numeric))
                values = THRESHOLDS[kind_of_type(schema, types[variable]) or NUMBER]
                operator = draw(st.sampled_from((">=", "<")))
                body.append(Comparison(variable, operator, draw(st.sampled_from(values))))
            continue
        number = used
        if form == "number":
            types[number], used = NUMBER_OF_FACTS, used + 1
        atom, fresh = draw(_atoms(database, types, known, used))
        step: Step = atom
        if form == "number":
            step = NumberOf(number, atom)
        elif form == "not":
            step = Not(atom)
        elif form == "recent":
            last = draw(st.one_of(st.none(), st.integers(1, 5)))
            within = draw(st.sampled_from((None, 0.5, 1.0, 30.0, 365.0)))
            step = Recent(atom, last, within) if last or within else atom
        types |= fresh
        used += len(fresh)
        known |= set(new_variables_of(step, known))
        body.append(step)
    return _checked(schema, head, tuple(body))


def _checked(schema: Schema, head: Atom, body: Body) -> Body:
    variable_types(schema, head, body)
    return body


@st.composite
def _atoms(
    draw: st.DrawFn, database: Database, types: dict[int, str], known: set[int], used: int
) -> tuple[Atom, dict[int, str]]:
    """An atom of known variables, new ones and constants, and the types of the new ones."""
    schema = database.schema
    predicate = draw(st.sampled_from(sorted(name for name in schema.predicates if name != TARGET)))
    args: list[Term] = []
    fresh: dict[int, str] = {}
    for type_name in schema.types_of(predicate):
        terms: list[Term] = [v for v in sorted(known) if types[v] == type_name]
        terms += [v for v, name in fresh.items() if name == type_name]
        terms += [used + len(fresh)] * (1 + len(terms) // 2)
        if draw(st.integers(0, 4)) == 0:
            terms += [*database.population(type_name).names[:2], STRANGER]
        term = draw(st.sampled_from(terms))
        if isinstance(term, int) and term == used + len(fresh):
            fresh[term] = type_name
        args.append(term)
    return Atom(predicate, tuple(args)), fresh


@st.composite
def features_of(draw: st.DrawFn, schema: Schema, head: Atom, body: Body) -> Feature:
    """A feature that fits a body."""
    types = variable_types(schema, head, body)
    known = {term for term in head.args if isinstance(term, int)}
    used = {variable for step in body for variable in step_variables(step)}
    for step in body:
        known |= set(new_variables_of(step, known))
    known &= used
    offered = [Feature(kinds.COUNT), Feature(kinds.MONTH), *(Feature(kind) for kind in kinds.OF_TIMES)]
    offered += [Feature(kinds.SHARE)] if body else []
    for variable in sorted(known):
        kind = kind_of_type(schema, types[variable])
        offered.append(Feature(kinds.DISTINCT, variable))
        offered += [Feature(name, variable) for name in kinds.OF_NUMBERS] if kind else []
        offered += [Feature(kinds.SINCE, variable)] if kind == DATE else []
    return draw(st.sampled_from(offered))


@st.composite
def effects_of(draw: st.DrawFn, database: Database) -> Effect:
    """An effect of the target of a database."""
    schema = database.schema
    head = head_atom(TARGET, schema.arity(TARGET))
    body = draw(step_bodies(database))
    feature = draw(features_of(schema, head, body))
    dates = has_dates(schema, head, body, feature)
    curve = draw(curves(dates and draw(st.booleans())))
    return Effect(head, body, feature, curve._replace(slope=0.0, low=0.0, high=0.0) if dates else curve)
