"""Enumerated groundings against the definition: every assignment tried in turn."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.naive import NaiveEngine
from hornbeam.logic.clauses import Atom, Clause, Literal, Not, atom_of, head_atom
from hornbeam.logic.schema import Schema
from hornbeam.model.groundings.lookup import GroundingLookup
from hornbeam.model.groundings.search import groundings
from strategies import CASES, Case, cases, with_cutoffs

SCHEMA = Schema({"t": ("x", "y"), "p": ("x", "y"), "q": ("y", "y"), "r": ("x",), "s": ("y", "x", "y")})
NAMES = {"x": ["x0", "x1", "x2"], "y": ["y0", "y1", "y2", "y3"]}


@st.composite
def databases(draw: st.DrawFn) -> Database:
    facts = {}
    for predicate in ("p", "q", "r", "s"):
        types = SCHEMA.types_of(predicate)
        rows = draw(st.lists(st.tuples(*(st.sampled_from(NAMES[t]) for t in types)), max_size=9))
        facts[predicate] = [[row[i] for row in rows] for i in range(len(types))]
    return build(SCHEMA, (), facts, ranges=NAMES)


@st.composite
def clauses(draw: st.DrawFn) -> Clause:
    terms = {"x": [0, 2, 4, "x1", "x9"], "y": [1, 3, 5, "y0", "y9"]}
    body: list[Literal] = []
    for predicate in draw(st.lists(st.sampled_from("pqrs"), max_size=4)):
        args = tuple(draw(st.sampled_from(terms[t])) for t in SCHEMA.types_of(predicate))
        atom = Atom(predicate, args)
        body.append(Not(atom) if draw(st.booleans()) else atom)
    return Clause(head_atom("t", 2), tuple(body))


def true_assignments(database: Database, clause: Clause, key: tuple[int, ...]) -> list[tuple[int, ...]]:
    types = SCHEMA.variable_types(clause)
    free = clause.free_variables()

    def holds(literal: Literal, values: dict[int, int]) -> bool:
        atom = atom_of(literal)
        row = tuple(
            values[term] if isinstance(term, int) else database.population(type_name).code(term)
            for term, type_name in zip(atom.args, SCHEMA.types_of(atom.predicate), strict=True)
        )
        columns = database.relation(atom.predicate).columns
        is_fact = row in set(zip(*(c.tolist() for c in columns), strict=True))
        return is_fact != isinstance(literal, Not)

    sizes = [range(len(database.population(types[variable]))) for variable in free]
    bound = dict(enumerate(key))
    return [
        values
        for values in product(*sizes)
        if all(holds(literal, {**bound, **dict(zip(free, values, strict=True))}) for literal in clause.body)
    ]


@given(databases(), clauses(), st.integers(-1, 2), st.integers(-1, 3))
@settings(max_examples=max(CASES // 10, 1), deadline=None)
def test_groundings_are_exactly_the_true_assignments(
    database: Database, clause: Clause, first: int, second: int
) -> None:
    found = groundings(database, clause, (first, second))
    assert sorted(found) == true_assignments(database, clause, (first, second))
    (counts,) = counter_of(NaiveEngine(database)).count([clause], np.array([[first, second]], dtype=np.int32))
    assert len(found) == counts.true[0]


@given(databases(), clauses(), st.integers(0, 3))
@settings(max_examples=max(CASES // 16, 1), deadline=None)
def test_a_limit_gives_the_first_of_them(database: Database, clause: Clause, limit: int) -> None:
    assert groundings(database, clause, (0, 0), limit) == groundings(database, clause, (0, 0))[:limit]


@given(cases(), st.booleans())
@settings(max_examples=max(CASES // 8, 1), deadline=None)
def test_looked_up_groundings_are_the_same(case: Case, timed: bool) -> None:
    database, keys = case.database, case.keys
    if timed and database.times:
        keys = with_cutoffs(database, keys, np.resize([0.0, 2.7, 5.0], len(keys)))
    lookup = GroundingLookup(database)
    for clause in case.clauses:
        for key in keys.tolist():
            if lookup.can_search(clause):
                found = lookup.find(clause, key, 10**6, 10**6)
                assert sorted(found) == sorted(groundings(database, clause, key))


@given(databases(), clauses(), st.integers(0, 3), st.integers(0, 5))
@settings(max_examples=max(CASES // 16, 1), deadline=None)
def test_what_few_steps_find_is_true(database: Database, clause: Clause, limit: int, steps: int) -> None:
    lookup = GroundingLookup(database)
    if lookup.can_search(clause):
        found = lookup.find(clause, (0, 0), limit, steps)
        assert len(found) == len(set(found)) <= limit
        assert set(found) <= set(groundings(database, clause, (0, 0)))
