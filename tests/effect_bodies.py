"""Random bodies of effects and requests for tallies, over the random databases of ``strategies``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from hornbeam.data.database import Codes, Database
from hornbeam.data.numbers import AT_CUTOFF, CutoffRule
from hornbeam.engines.contract import Engine
from hornbeam.engines.tally import Tally, TallyRequest
from hornbeam.logic.clauses import Atom, Comparison, Not, Term, head_atom
from hornbeam.logic.effects import NUMBER_OF_FACTS, Body, Equals, NumberOf, Recent, Step, new_variables_of
from strategies import (
    NUMBERS,
    STRANGER,
    TARGET,
    TIMES,
    comparisons_of,
    databases,
    describe,
    key_rows,
    schemas,
    with_cutoffs,
)

MOST_STEPS = 4
WITHIN = (0.0, 0.5, 1.0, 2.0, 1e9)
DAYS = 86_400_000_000.0


@dataclass(frozen=True)
class TallyCase:
    """A database, requests for tallies with one head, and rows of keys for it, perhaps with cut-offs."""

    database: Database
    requests: tuple[TallyRequest, ...]
    keys: Codes

    def __repr__(self) -> str:
        lines = ["", *describe(self.database), f"origin {dict(self.database.origin)}"]
        for request in self.requests:
            lines.append(f"tally {request} {request.variables} {'with times' if request.times else ''}")
            lines.append(f"    {request!r}")
        cutoffs = self.database.real_cutoffs_of(TARGET, self.keys)
        lines.append(f"keys {self.keys.tolist()} (codes; -1 is unknown)")
        lines.append(f"facts {self.database.rule.at_cutoff} the cut-off")
        return "\n".join([*lines, f"cut-offs {None if cutoffs is None else cutoffs.tolist()}"])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))


@st.composite
def steps(draw: st.DrawFn, database: Database, types: dict[int, str], fresh: int) -> Step:
    """A step after steps with these variables; its new variables are numbered from ``fresh``."""
    schema = database.schema
    numbers = [variable for variable, name in types.items() if name == NUMBER_OF_FACTS]
    numeric = [variable for variable, name in types.items() if name in schema.numeric]
    if numbers and draw(st.sampled_from((False, False, True))):
        value = draw(st.sampled_from((0.0, 1.0, 2.0, 1.5)))
        return Comparison(draw(st.sampled_from(numbers)), draw(st.sampled_from((">=", "<"))), value)
    if numeric and draw(st.sampled_from((False, False, False, False, True))):
        return draw(comparisons_of(numeric, types, schema))
    named = [variable for variable, name in types.items() if name != NUMBER_OF_FACTS]
    if named and draw(st.sampled_from((*[False] * 9, True))):
        variable = draw(st.sampled_from(named))
        names = database.population(types[variable]).names[:2]
        return Equals(variable, draw(st.sampled_from((*names, STRANGER))))
    kind = draw(st.sampled_from(("atom", "last", "atom", "within", "atom", "both", "number", "not")))
    number = fresh
    if kind == "number":
        fresh += 1
    predicate = draw(st.sampled_from(tuple(schema.predicates)))
    own: dict[int, str] = {}
    args: list[Term] = []
    constants = draw(st.sampled_from((False, False, False, False, True)))
    chain = draw(st.booleans())
    for type_name in schema.types_of(predicate):
        terms: list[Term] = [each for each in (*types, *own) if (types | own)[each] == type_name]
        if chain:
            # Only the last variable and new ones: a path, of which a part can be tallied alone.
            terms = [] if own else terms[-1:]
        terms += [fresh + len(own)] * (1 + len(terms) // 2)
        if constants:
            terms += [*database.population(type_name).names[:2], STRANGER]
        term = draw(st.sampled_from(terms))
        if isinstance(term, int) and term not in types:
            own[term] = type_name
        args.append(term)
    atom = Atom(predicate, tuple(args))
    last = draw(st.sampled_from((1, 2, 3, 10))) if kind in ("last", "both") else None
    within = draw(st.sampled_from(WITHIN)) if kind in ("within", "both") else None
    if kind == "number":
        return NumberOf(number, atom)
    if kind == "not":
        return Not(atom)
    return atom if kind == "atom" else Recent(atom, last, within)


@st.composite
def effect_bodies(draw: st.DrawFn, database: Database) -> tuple[Body, dict[int, str]]:
    """A body, and the types of the variables that it binds; most steps touch an earlier one or the head."""
    schema = database.schema
    types = dict(enumerate(schema.types_of(TARGET)))
    fresh = len(types)
    body: list[Step] = []
    for _ in range(draw(st.integers(0, MOST_STEPS))):
        step = draw(steps(database, types, fresh))
        body.append(step)
        atom = step if isinstance(step, Atom) else getattr(step, "atom", None)
        if isinstance(step, NumberOf):
            types[step.variable] = NUMBER_OF_FACTS
        elif atom is not None:
            for variable in new_variables_of(step, set(types)):
                types[variable] = schema.types_of(atom.predicate)[atom.args.index(variable)]
        # A variable of a negated atom or of a number stays that step's own.
        used = [term for term in (() if atom is None else atom.args) if isinstance(term, int)]
        fresh = max([fresh, *(variable + 1 for variable in (*used, *types))])
    return tuple(body), types


@st.composite
def tally_cases(draw: st.DrawFn, numbers: Sequence[str] = NUMBERS, timed: bool = False) -> TallyCase:
    """Requests over one database; some share the start of a body. Keys repeat, and some are unknown.

    Facts at the very time of a cut-off exist, or they do not. If ``timed``, facts have times, keys cut-offs.
    """
    database = draw(databases(draw(schemas()), numbers, timed))
    database = database.under_rule(CutoffRule(draw(st.sampled_from(AT_CUTOFF))))
    if draw(st.booleans()):
        database = _in_days(database)
    head = head_atom(TARGET, database.schema.arity(TARGET))
    requests: list[TallyRequest] = []
    for _ in range(draw(st.integers(1, 3))):
        body, types = draw(effect_bodies(database))
        wanted = draw(st.lists(st.sampled_from(tuple(types)), max_size=3, unique=True)) if types else []
        requests.append(TallyRequest(head, body, tuple(wanted), draw(st.booleans())))
        if draw(st.booleans()):
            requests.append(TallyRequest(head, body, (), draw(st.booleans())))
    keys = draw(key_rows(database, ()))
    if timed or draw(st.sampled_from((True, True, False))):
        unit = DAYS if database.origin.get("times") == "date" else 1.0
        drawn = draw(st.lists(st.sampled_from((*TIMES, 0.0, 2.7)), min_size=len(keys), max_size=len(keys)))
        keys = with_cutoffs(database, keys, np.array(drawn, dtype=np.float64) * unit)
    return TallyCase(database, tuple(requests), keys)


def _in_days(database: Database) -> Database:
    """The same database with dates as times: a unit of time is a day."""
    times = {name: each * DAYS for name, each in database.times.items()}
    return replace(database, origin={"times": "date"}, times=times)


def groups(tally: Tally) -> dict[tuple[object, ...], int]:
    """The groups of a tally: position, values and time, with the number of groundings."""
    columns = [*tally.columns, *([] if tally.times is None else [tally.times])]
    rows = [
        tuple("missing" if each != each else each for each in row)
        for row in zip(tally.row.tolist(), *(column.tolist() for column in columns), strict=True)
    ]
    assert len(set(rows)) == len(rows), "rows are distinct"
    assert (np.diff(tally.row) >= 0).all(), "rows are sorted by example"
    return dict(zip(rows, tally.number.tolist(), strict=True))


def check_tallies(engine: Engine, case: TallyCase, expected: Sequence[object]) -> None:
    """An engine gives the same tallies as the reference engine, of the same types."""
    answers = engine.tally(case.requests, case.keys)
    for request, right, tally in zip(case.requests, expected, answers, strict=True):
        assert isinstance(tally, Tally) and isinstance(right, Tally), tally
        assert groups(tally) == groups(right), request
        assert [column.dtype for column in tally.columns] == [column.dtype for column in right.columns]
        assert (tally.times is None) == (right.times is None)
        assert tally.row.dtype == tally.number.dtype == np.int64
