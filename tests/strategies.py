"""Random worlds for hypothesis: schemas, databases, modes, clauses and keys.

Everything shrinks: to one type, one predicate, populations of one, empty relations, one literal.
A ``Case`` prints in the form of the files in ``golden/``, so that a failure can be kept there.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf, prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from hornbeam.data.build import build
from hornbeam.data.database import UNKNOWN, Codes, Database, Relation
from hornbeam.data.numbers import BEFORE, Floats
from hornbeam.logic.clauses import Atom, Clause, Comparison, Literal, Not, Term, head_atom
from hornbeam.logic.schema import DATE, NUMBER, Argument, Kind, Mode, Schema, read_value

CASES = int(os.environ.get("HORNBEAM_CASES", "400"))
"""Random cases in the main property of the engines; the laws draw a tenth each."""
TARGET = "target"
TYPES = ("thing", "place", "day")
PREDICATES = ("p", "q", "r", "s")
NAMES = ("a", "Bob", "it's", "7", "naïve Ω", "-1.5", "B", "_", 'say "hi"', "back\\slash", "not", "", "end.")
"""Constants as they come: upper case, quotes, numbers, unicode, words with a meaning, nothing."""
NUMBERS = ("35", "7", "-1.5", "351", "0", "7.0", "1e3", "2.50", "0.1")
EXTREME_NUMBERS = (*NUMBERS, "1e300", "-1e300", "5e-324", "-5e-324", "9007199254740993", "-0.0")
"""... with huge, tiny and long ones, whose sums are exact all the same."""
DATES = ("1998-03-01", "1998-03-01T12:30:00", "1970-01-01", "2001-12-31", "0001-01-01", "1998-03-02")
NAMES_OF = {None: NAMES, NUMBER: NUMBERS, DATE: DATES}
"""Constants by the kind of their type; 7 and 7.0 are two constants of one value."""
THRESHOLDS = {
    NUMBER: [*map(read_value, NUMBERS), 3.0, -1e300, 1e300],
    DATE: [*map(read_value, DATES), read_value("1969-12-31T23:59:59.999999")],
}
TIMES = (1.0, 2.0, 3.0, 4.0, 2.5, -inf, inf)
STRANGER = "stranger"
"""A constant that no database here has."""

FILLS = ("absent", "none", "few", *["half"] * 6, *["most"] * 6, "all")
"""How full a relation is; mostly full enough that a conjunction of five literals is sometimes true."""
MOST_ASSIGNMENTS = 600
"""Bound on the total of a drawn clause: the naive engine tries every assignment for every key."""
MOST_TRIALS = 4000
"""Bound on assignments times keys."""


@dataclass(frozen=True)
class Case:
    """A database, clauses with one head, and rows of keys for it, perhaps with cut-offs."""

    database: Database
    clauses: tuple[Clause, ...]
    keys: Codes
    cutoffs: Floats | None = None
    """what the last column of the keys stands for"""

    def __repr__(self) -> str:
        lines = ["", *describe(self.database)]
        for clause in self.clauses:
            lines += ["clause", f"    {clause}"]
        lines.append(f"keys {self.keys.tolist()} (codes; -1 is unknown)")
        if self.cutoffs is not None:
            lines.append(f"cut-offs {self.cutoffs.tolist()}")
        return "\n".join(lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        # Hypothesis would print the fields of a dataclass instead.
        printer.text(repr(self))


def describe(database: Database) -> list[str]:
    """The predicates, constants and facts of a database as the lines of a golden case."""
    schema = database.schema
    lines = ["predicates"]
    lines += [f"    {Atom(name, types)}" for name, types in schema.predicates.items()]
    if schema.numeric:
        lines.append("numeric")
        lines += [f"    {Atom(name, (kind,))}" for name, kind in schema.numeric.items()]
    lines.append("constants")
    for type_name, population in database.populations.items():
        lines += [f"    {Atom(type_name, (name,))}" for name in population.names]
    lines.append("facts")
    for predicate, relation in database.relations.items():
        populations = [database.population(type_name) for type_name in schema.types_of(predicate)]
        times = database.times.get(predicate)
        for place, row in enumerate(zip(*(column.tolist() for column in relation.columns), strict=True)):
            names = tuple(population.names[code] for population, code in zip(populations, row, strict=True))
            since = "" if times is None else f" @ {times[place]:g}"
            lines.append(f"    {Atom(predicate, names)}{since}")
    return lines


def _signatures(types: Sequence[str]) -> list[tuple[str, ...]]:
    """Every choice of argument types for one to three arguments, the simplest first.

    Those of two arguments, which make chains and cycles, come about as often as all others.
    """
    one, two, three = (list(product(types, repeat=arity)) for arity in (1, 2, 3))
    return [*one, *two * len(types), *two * 2, *three]


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """One to three types, some numeric, a target and one to four predicates of one to three arguments."""
    types = TYPES[: draw(st.integers(1, 3))]
    signature = st.sampled_from(_signatures(types))
    names = (TARGET, *PREDICATES[: draw(st.integers(1, 4))])
    predicates = {name: draw(signature) for name in names}
    kinds = {name: draw(st.sampled_from((None, None, NUMBER, DATE))) for name in types}
    used = {name for each in predicates.values() for name in each}
    return Schema(predicates, {name: kind for name, kind in kinds.items() if kind and name in used})


@st.composite
def databases(
    draw: st.DrawFn, schema: Schema, numbers: Sequence[str] = NUMBERS, timed: bool = False
) -> Database:
    """Populations of one to five (seldom none), relations from absent to full, odd names, some times.

    If ``timed``, all facts have times.
    """
    constants = {}
    for type_name in schema.types():
        size = draw(st.sampled_from((1, 2, 3, 4, 5, 2, 3, 4, 5, 3, 4, 5, 0)))
        kind = schema.numeric.get(type_name)
        names = numbers if kind == NUMBER else NAMES_OF[kind]
        first = draw(st.integers(0, len(names) - 1))
        constants[type_name] = [names[(first + i) % len(names)] for i in range(size)]
    facts = {}
    times = {}
    for predicate, types in schema.predicates.items():
        # The target has facts too, sometimes: counting does not care which predicate is the target.
        rows = list(product(*(constants[type_name] for type_name in types)))
        fill = draw(st.sampled_from(FILLS))
        if fill == "absent":
            continue
        chosen = []
        if fill == "all":
            chosen = rows
        elif fill != "none":
            size = (len(rows) + 7) // 8
            bits = int.from_bytes(draw(st.binary(min_size=size, max_size=size)), "little")
            if fill == "few":
                bits &= bits >> 1
            elif fill == "most":
                bits = ~(bits & bits >> 1)
            chosen = [row for position, row in enumerate(rows) if bits >> position & 1]
        chosen = [*reversed(chosen), *chosen[:1]]  # neither in order nor distinct
        facts[predicate] = [[row[i] for row in chosen] for i in range(len(types))]
        if timed or draw(st.booleans()):
            size = len(chosen)
            drawn = draw(st.binary(min_size=size, max_size=size))
            times[predicate] = [TIMES[number % len(TIMES)] for number in drawn]
    return build(schema, (), facts, ranges=constants, times=times)


@st.composite
def bodies(
    draw: st.DrawFn,
    database: Database,
    start: tuple[Literal, ...] = (),
    most_literals: int = 5,
    comparisons: bool = True,
) -> tuple[Literal, ...]:
    """Well-typed literals after ``start``: shared and repeated variables, constants, negation, comparisons.

    Nothing makes a literal touch the head, so components apart from it, and cycles, come by.
    """
    schema = database.schema
    head = head_atom(TARGET, schema.arity(TARGET))
    types = schema.variable_types(Clause(head, start))
    total = prod(len(database.population(types[v])) for v in types if v >= len(head.args))
    body = list(start)
    # Constants make most bodies false, unknown ones all the more: many clauses do without.
    strangers = {"none": (), "known": (), "any": (STRANGER,)}
    constants = draw(st.sampled_from(("none", "none", "known", "any")))
    for _ in range(draw(st.integers(1, most_literals - len(start)))):
        numeric = [variable for variable in types if types[variable] in schema.numeric]
        if comparisons and numeric and draw(st.sampled_from((False, True))):
            body.append(draw(comparisons_of(numeric, types, schema)))
            continue
        predicate = draw(st.sampled_from(tuple(schema.predicates)))
        args: list[Term] = []
        for type_name in schema.types_of(predicate):
            population = database.population(type_name)
            terms: list[Term] = [v for v in types if types[v] == type_name]
            if total * len(population) <= MOST_ASSIGNMENTS:
                terms += [len(types)] * (1 + len(terms) // 2)
            if constants != "none" or not terms:
                terms += [*population.names[:2], *strangers[constants]] or [STRANGER]
            term = draw(st.sampled_from(terms))
            if isinstance(term, int) and term not in types:
                types[term] = type_name
                total *= len(population)
            args.append(term)
        atom = Atom(predicate, tuple(args))
        body.append(Not(atom) if draw(st.sampled_from((False, False, True))) else atom)
    return tuple(body)


@st.composite
def comparisons_of(
    draw: st.DrawFn, variables: Sequence[int], types: dict[int, str], schema: Schema
) -> Comparison:
    """A comparison of one of these variables, which are numeric."""
    variable = draw(st.sampled_from(variables))
    operator = draw(st.sampled_from((">=", "<")))
    values = THRESHOLDS[schema.numeric[types[variable]]]
    return Comparison(variable, operator, draw(st.sampled_from(values)))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A database, one to four clauses (some differ in their last literal only), and keys."""
    database = draw(schemas().flatmap(databases))
    arity = database.schema.arity(TARGET)
    first = draw(bodies(database))
    found = [first]
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.sampled_from((first[:-1], ())))
        found.append(draw(bodies(database, start, most_literals=len(start) + 1 if start else 3)))
    clauses = tuple(Clause(head_atom(TARGET, arity), body) for body in found)
    return Case(database, clauses, draw(key_rows(database, clauses)))


@st.composite
def timed_cases(draw: st.DrawFn) -> Case:
    """A case with a cut-off for each key: few distinct ones or many, some before or after all facts."""
    case = draw(cases())
    number = len(case.keys)
    drawn = draw(st.lists(st.sampled_from((*TIMES, 0.0, 2.7)), min_size=number, max_size=number))
    cutoffs = np.array(drawn, dtype=np.float64)
    return replace(case, keys=with_cutoffs(case.database, case.keys, cutoffs), cutoffs=cutoffs)


def with_cutoffs(database: Database, keys: Codes, cutoffs: Floats) -> Codes:
    """Keys that carry cut-offs; those of data without times do not."""
    return np.column_stack([keys, database.cutoff_codes(cutoffs)]) if database.times else keys


@st.composite
def other_futures(draw: st.DrawFn, database: Database, last: float) -> Database:
    """The database with some of the facts that no example with this cut-off sees gone, and others added."""
    after = float(np.nextafter(last, np.inf))
    first = last if database.rule.at_cutoff == BEFORE and last > -inf else after
    for predicate, times in database.times.items():
        if last == inf:
            break
        unseen = np.flatnonzero((times >= first) & (times > -inf)).tolist()
        gone = draw(st.one_of(st.just(unseen), st.lists(st.sampled_from(unseen)))) if unseen else []
        columns = [np.delete(column, gone) for column in database.relations[predicate].columns]
        kept = np.delete(times, gone)
        sizes = [len(database.population(name)) for name in database.schema.types_of(predicate)]
        added = draw(st.integers(0, 3)) if min(sizes) else 0
        new = [draw(st.lists(st.integers(0, max(n - 1, 0)), min_size=added, max_size=added)) for n in sizes]
        columns = [np.append(*pair).astype(np.int32) for pair in zip(columns, new, strict=True)]
        late = st.sampled_from((first, after, inf))
        kept = np.append(kept, draw(st.lists(late, min_size=added, max_size=added)))
        relation, since = Relation.timed(columns, kept)
        database = replace(
            database,
            relations={**database.relations, predicate: relation},
            times={**database.times, predicate: since},
        )
    return database


@st.composite
def key_rows(draw: st.DrawFn, database: Database, clauses: Sequence[Clause]) -> Codes:
    """Rows of codes for the head, with unknown ones, in no order, perhaps none, perhaps repeated."""
    types = database.schema.types_of(TARGET)
    sizes = [len(database.population(name)) for name in types]
    known = list(product(*(range(size) for size in sizes)))
    unknown = [row for row in product(*(range(UNKNOWN, size) for size in sizes)) if UNKNOWN in row]
    rows = [*unknown[:4], *known * (8 // len(known) + 1)] if known else unknown
    worst = max(1, *(assignments(database, clause) for clause in clauses), 1)
    most = min(12, MOST_TRIALS // worst)
    number = draw(st.sampled_from((*range(1, most + 1), 0)))
    first = draw(st.integers(0, len(rows) - 1))
    stride = draw(st.integers(0, len(rows) - 1))
    chosen = [rows[-1 - (first + i * stride) % len(rows)] for i in range(number)]
    return np.array(chosen, dtype=np.int32).reshape(number, len(types))


def assignments(database: Database, clause: Clause) -> int:
    """How many assignments the free variables of a clause have."""
    types = database.schema.variable_types(clause)
    return prod(len(database.population(types[variable])) for variable in clause.free_variables())


@st.composite
def modes(draw: st.DrawFn, schema: Schema) -> tuple[Mode, ...]:
    """One or two modes for each predicate but the target."""
    kinds = st.sampled_from((Kind.BOUND, Kind.OPEN, Kind.NEW, Kind.CONSTANT))
    found = []
    for predicate, types in schema.predicates.items():
        if predicate != TARGET:
            for _ in range(draw(st.integers(1, 2))):
                args = tuple(Argument(draw(kinds), type_name) for type_name in types)
                found.append(Mode(predicate, args))
    return tuple(found)
