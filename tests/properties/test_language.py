"""Text, canonical form, modes and refinement, against brute force."""

from collections.abc import Iterator
from datetime import datetime
from itertools import combinations, permutations, product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.errors import SchemaError
from hornbeam.logic.canonical import canonical
from hornbeam.logic.clauses import (
    Atom,
    Clause,
    Comparison,
    Literal,
    Not,
    Term,
    Value,
    atom_of,
    atoms_of,
    format_value,
    head_atom,
    literal_variables,
    rename,
)
from hornbeam.logic.parse import parse_clause, parse_fact, parse_mode
from hornbeam.logic.refine import Language, memoised, refinements
from hornbeam.logic.schema import Argument, Kind, Mode, Schema, number_of, read_value, schema_of, value_of
from strategies import TARGET, modes, schemas

# --- text ------------------------------------------------------------------------------------

nasty = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["", "_", "A", "a.", "a..b", "1.5", "-3", "+x", "not", "true", "mode", "ü"]),
    st.sampled_from(["a'b", 'a"b', "\\", "\n", "\\n", "\t", "a b", "a%b", "//", "p(a)", ":-", "{}"]),
)
names = nasty.map(str.lower).filter(bool)
"""Names of predicates and types ignore case and print in lower case."""


values = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0),
    st.integers(-100, 100).map(float),
    st.datetimes(),
)
operators = st.sampled_from([">=", "<"])


@given(values)
def test_a_value_reads_back_from_its_text(value: Value) -> None:
    assert read_value(format_value(value)) == value


@given(st.datetimes(datetime(1700, 1, 1), datetime(2250, 1, 1)))
def test_a_moment_is_exact_as_a_number(moment: datetime) -> None:
    assert value_of(number_of(moment), "date") == moment


@given(st.datetimes(), st.datetimes())
def test_moments_are_ordered_as_their_numbers(one: datetime, other: datetime) -> None:
    assert (number_of(one) <= number_of(other)) or one > other


@st.composite
def nasty_clauses(draw: st.DrawFn) -> Clause:
    arity = draw(st.integers(1, 3))
    terms = st.one_of(st.integers(0, arity + 3), nasty)
    atoms = st.builds(Atom, names, st.lists(terms, min_size=1, max_size=3).map(tuple))
    comparisons = st.builds(Comparison, st.integers(0, arity + 3), operators, values)
    literals = st.one_of(atoms, atoms.map(Not), comparisons)
    body = draw(st.lists(literals, max_size=4))
    return Clause(head_atom(draw(names), arity), tuple(body))


@given(nasty_clauses())
def test_a_canonical_clause_reads_back_from_its_text(clause: Clause) -> None:
    clause = canonical(clause)
    text = str(clause)
    assert parse_clause(text) == clause
    assert parse_clause(text.removesuffix(".")) == clause
    assert "\n" not in text


@given(names, st.lists(nasty, min_size=1, max_size=3))
def test_a_fact_reads_back_from_its_text(predicate: str, args: list[str]) -> None:
    atom = Atom(predicate, tuple(args))
    text = str(Clause(atom, ())).removesuffix(" :- true.")
    assert parse_fact(text) == parse_fact(text + ".") == atom


arguments = st.builds(Argument, st.sampled_from(Kind), names)


@given(names, st.lists(arguments, min_size=1, max_size=4))
def test_a_mode_reads_back_from_its_text(predicate: str, args: list[Argument]) -> None:
    mode = Mode(predicate, tuple(args))
    assert parse_mode(str(mode)) == parse_mode(f"mode: {mode}") == mode
    assert schema_of([mode]).predicates == {predicate: tuple(arg.type for arg in args)}


# --- canonical form --------------------------------------------------------------------------


def smallest_text(clause: Clause) -> str:
    """The definition: over all orders, free variables named by first use, the smallest text.

    Comparisons come after the atoms, and are then moved behind the first literal of their variable.
    """
    body = list(dict.fromkeys(clause.body))
    comparisons = [literal for literal in body if isinstance(literal, Comparison)]
    atoms = [literal for literal in body if not isinstance(literal, Comparison)]
    named = (
        named_by_first_use(Clause(clause.head, (*first, *last)))
        for first in permutations(atoms)
        for last in permutations(comparisons)
    )
    smallest = min(named, key=lambda each: [str(literal) for literal in each.body])
    order = list(smallest.body[: len(atoms)])
    for comparison in reversed(smallest.body[len(atoms) :]):
        places = [i for i, atom in enumerate(order) if comparison.variable in literal_variables(atom)]
        order.insert(places[0] + 1 if places else len(order), comparison)
    alone = [c for c in smallest.body[len(atoms) :] if not any(c.variable in a.args for a in atoms_of(order))]
    order = [literal for literal in order if literal not in alone] + alone
    return str(Clause(clause.head, tuple(order)))


def named_by_first_use(clause: Clause) -> Clause:
    names = {variable: variable for variable in range(len(clause.head.args))}
    for literal in clause.body:
        for variable in literal_variables(literal):
            names.setdefault(variable, len(names))
    return Clause(clause.head, tuple(rename(literal, names) for literal in clause.body))


@st.composite
def symmetric_clauses(draw: st.DrawFn) -> Clause:
    """Few predicates, many free variables: as many ties between literals as can be."""
    terms = st.one_of(st.integers(0, 6), st.sampled_from(["a", "A"]))
    atoms = st.one_of(
        st.builds(Atom, st.just("e"), st.tuples(st.integers(0, 6), st.integers(0, 6))),
        st.builds(Atom, st.sampled_from(["e", "v"]), st.lists(terms, min_size=1, max_size=3).map(tuple)),
    )
    comparisons = st.builds(
        Comparison, st.integers(0, 6), operators, st.sampled_from([3.0, 3.5, 35.0, 351.0])
    )
    literals = st.one_of(atoms, atoms, atoms, atoms.map(Not), comparisons)
    body = draw(st.lists(literals, min_size=1, max_size=6))
    return Clause(head_atom("t", draw(st.integers(1, 2))), tuple(body))


@given(symmetric_clauses())
def test_the_canonical_form_is_the_smallest_text_of_all(clause: Clause) -> None:
    assert str(canonical(clause)) == smallest_text(clause)


@given(symmetric_clauses(), st.randoms(use_true_random=False))
def test_names_and_order_do_not_change_the_canonical_form(clause: Clause, random: Random) -> None:
    free = list(clause.free_variables())
    numbers = [*range(len(clause.head.args), len(clause.head.args) + len(free) + 2)]
    random.shuffle(numbers)
    body = [rename(literal, dict(zip(free, numbers, strict=False))) for literal in clause.body]
    random.shuffle(body)
    other = Clause(clause.head, (*body, *body[:1]))
    assert canonical(other) == canonical(clause) == canonical(canonical(clause))
    assert hash(canonical(other)) == hash(canonical(clause))


# --- refinement ------------------------------------------------------------------------------


def allowed(literal: Atom | Not, types: dict[int, str], language: Language) -> bool:
    """Whether some mode allows the literal next to variables of these types."""
    atom = atom_of(literal)
    if atom.predicate == language.head.predicate or (isinstance(literal, Not) and not language.negation):
        return False
    return any(
        mode.predicate == atom.predicate and fits(atom, mode, types, language) for mode in language.modes
    )


def fits(atom: Atom, mode: Mode, types: dict[int, str], language: Language) -> bool:
    new = [term for term in atom.args if isinstance(term, int) and term not in types]
    if len(set(new)) != len(new):
        return False
    for position, (term, (kind, type_name)) in enumerate(zip(atom.args, mode.args, strict=True)):
        is_old = types.get(term) == type_name if isinstance(term, int) else False
        is_new = term in new
        right = {
            Kind.BOUND: is_old,
            Kind.OPEN: is_old or is_new,
            Kind.NEW: is_new,
            Kind.CONSTANT: term in language.constants.get((mode.predicate, position), ()),
        }
        if not right[kind]:
            return False
    return True


def is_legal(clause: Clause, language: Language, additions: int) -> bool:
    """Whether so many additions, in some order, make the body, each allowed next to those before it."""
    return can_be_made(frozenset(clause.body), (), language, additions)


def is_well_typed(clause: Clause, language: Language) -> bool:
    try:
        language.schema.variable_types(clause)
    except SchemaError:
        return False
    return True


def can_be_made(
    rest: frozenset[Literal], body: tuple[Literal, ...], language: Language, additions: int
) -> bool:
    if not additions:
        return not rest
    types = language.schema.variable_types(Clause(language.head, body))
    for literal in rest:
        if isinstance(literal, Comparison):
            ways = [(literal,)] if may_compare(literal, body, language) else []
        elif allowed(literal, types, language):
            along = [
                other
                for other in rest
                if isinstance(literal, Atom) and isinstance(other, Comparison) and other.variable not in types
                if other.variable in literal.args and is_threshold(other, (literal,), language)
            ]
            ways = [(literal,), *((literal, other) for other in along)]
        else:
            ways = []
        if any(can_be_made(rest - set(way), (*body, *way), language, additions - 1) for way in ways):
            return True
    return False


def may_compare(comparison: Comparison, body: tuple[Literal, ...], language: Language) -> bool:
    """Whether it cuts what the variable may be, on a side that is still open."""
    others = [literal for literal in body if isinstance(literal, Comparison)]
    others = [other for other in others if other.variable == comparison.variable]
    if any(other.operator == comparison.operator for other in others):
        return False
    lower, upper = -float("inf"), float("inf")
    for variable, operator, value in (*others, comparison):
        assert variable == comparison.variable and isinstance(value, float)
        lower, upper = (max(lower, value), upper) if operator == ">=" else (lower, min(upper, value))
    return lower < upper and is_threshold(comparison, (language.head, *body), language)


def is_threshold(comparison: Comparison, body: tuple[Literal, ...], language: Language) -> bool:
    return any(
        term == comparison.variable
        and comparison.value in language.thresholds.get((atom.predicate, position), ())
        for atom in atoms_of(body)
        for position, term in enumerate(atom.args)
    )


def all_legal(language: Language, length: int) -> set[str]:
    """Every legal clause of so many additions, by trying all sets of literals over enough variables."""
    arity = len(language.head.args)
    most_new = max(
        (sum(kind in (Kind.OPEN, Kind.NEW) for kind, _ in mode.args) for mode in language.modes), default=0
    )
    atoms = list(all_literals(language, range(arity + most_new * length)))
    bodies = [
        (*body, *comparisons)
        for size in range(length + 1)
        for body in combinations(atoms, size)
        if uses_first_variables(body, arity) and is_well_typed(Clause(language.head, body), language)
        for more in range(length - size, length + 1)
        for comparisons in combinations(all_comparisons(language, body), more)
    ]
    clauses = (Clause(language.head, body) for body in bodies)
    return {smallest_text(clause) for clause in clauses if is_legal(clause, language, length)}


def uses_first_variables(body: tuple[Literal, ...], arity: int) -> bool:
    """Free variables without gaps, so that of the many names of a clause few are tried."""
    used = {variable for literal in body for variable in literal_variables(literal)} - set(range(arity))
    return used == set(range(arity, arity + len(used)))


def all_literals(language: Language, variables: range) -> Iterator[Literal]:
    for predicate, types in language.schema.predicates.items():
        choices: list[list[Term]] = [
            [*variables, *language.constants.get((predicate, position), ())] for position in range(len(types))
        ]
        for args in product(*choices):
            yield Atom(predicate, args)
            if language.negation:
                yield Not(Atom(predicate, args))


def all_comparisons(language: Language, body: tuple[Literal, ...]) -> Iterator[Comparison]:
    """Of every variable that is at a numeric argument."""
    places = {
        term
        for atom in atoms_of((language.head, *body))
        for term, type_name in zip(atom.args, language.schema.types_of(atom.predicate), strict=True)
        if type_name in language.schema.numeric and isinstance(term, int)
    }
    thresholds = {value for values in language.thresholds.values() for value in values}
    for variable, operator, value in product(sorted(places), (">=", "<"), sorted(thresholds)):
        yield Comparison(variable, operator, value)


def reached(language: Language, length: int) -> list[Clause]:
    """Every clause that so many additions make of the empty body."""
    level = [language.empty()]
    for _ in range(length):
        level = list(dict.fromkeys(finer for clause in level for finer in refinements(clause, language)))
    return level


def language_of(
    modes_text: str,
    negation: bool = False,
    thresholds: dict[tuple[str, int], tuple[float, ...]] | None = None,
) -> Language:
    """A language for the target t from modes; every # argument has the constants a and B."""
    found = tuple(map(parse_mode, modes_text.split()))
    schema = schema_of(found)
    places = [(mode.predicate, i, arg) for mode in found for i, arg in enumerate(mode.args)]
    constants = {(name, i): ("a", "B") for name, i, arg in places if arg.kind is Kind.CONSTANT}
    numeric = {schema.types_of(name)[position]: "number" for name, position in thresholds or {}}
    schema = Schema(schema.predicates, numeric)
    return Language(head_atom("t", schema.arity("t")), schema, found, constants, negation, thresholds or {})


SMALL_LANGUAGES = [
    language_of("t(+x) e(+x,-x)"),
    language_of("t(+x) e(+x,-x) e(-x,+x) v(+x)"),
    language_of("t(+x) e(+x,`x) v(+x)", negation=True),
    language_of("t(+x,+y) e(-x,+y) g(+x,#k)"),
    language_of("t(+x) e(`x,`x) e(+x,+x)"),
]


@pytest.mark.parametrize("language", SMALL_LANGUAGES, ids=lambda language: " ".join(map(str, language.modes)))
@pytest.mark.parametrize("length", [1, 2, 3])
def test_refinement_reaches_every_legal_clause_and_no_other(language: Language, length: int) -> None:
    assert {str(clause) for clause in reached(language, length)} == all_legal(language, length)


NUMERIC_LANGUAGES = [
    language_of("t(+x) a(+x,-n)", thresholds={("a", 1): (1.0, 2.0)}),
    language_of("t(+x) e(+x,-x) a(+x,`n)", thresholds={("a", 1): (3.0,)}),
    language_of("t(+x,+n) a(+x,-n)", True, thresholds={("a", 1): (1.0,), ("t", 1): (2.0,)}),
    language_of("t(+x) w(+x,-n,-m)", thresholds={("w", 1): (1.0,), ("w", 2): (2.0,)}),
]


@pytest.mark.parametrize(
    "language", NUMERIC_LANGUAGES, ids=lambda language: " ".join(map(str, language.modes))
)
@pytest.mark.parametrize("length", [1, 2])
def test_refinement_offers_comparisons_alone_and_with_the_atom_of_their_variable(
    language: Language, length: int
) -> None:
    assert {str(clause) for clause in reached(language, length)} == all_legal(language, length)


@st.composite
def languages(draw: st.DrawFn) -> Language:
    schema = draw(schemas())
    places = [(name, i) for name, types in schema.predicates.items() for i in range(len(types))]
    constants = {place: ("a", "B")[: draw(st.integers(0, 2))] for place in places}
    head = head_atom(TARGET, schema.arity(TARGET))
    numeric = [(name, i) for name, i in places if schema.numeric.get(schema.types_of(name)[i]) == "number"]
    thresholds = {place: (1.0, 2.5)[: draw(st.integers(1, 2))] for place in numeric}
    return Language(head, schema, draw(modes(schema)), constants, draw(st.booleans()), thresholds)


@given(languages(), st.data())
def test_refinements_are_legal_distinct_longer_and_without_the_target(
    language: Language, data: st.DataObject
) -> None:
    refine = memoised(language)
    clause = language.empty()
    for length in (1, 2, 3, 4):
        finer = refine(clause)
        if not finer:
            break
        assert refine(clause) == refinements(clause, language) == finer
        assert len(set(finer)) == len(finer)
        for found in (finer[0], data.draw(st.sampled_from(finer))):
            assert canonical(found) == found
            assert len(set(found.body)) == len(found.body)
            assert len(list(atoms_of(found.body))) <= length <= len(found.body) <= 2 * length
            assert TARGET not in {atom.predicate for atom in atoms_of(found.body)}
            assert is_legal(found, language, length)
            language.schema.variable_types(found)
        clause = data.draw(st.sampled_from(finer))


@given(languages())
def test_refinement_of_the_empty_body_is_every_allowed_literal(language: Language) -> None:
    found = {str(clause) for clause in refinements(language.empty(), language)}
    assert found == all_legal(language, 1)
