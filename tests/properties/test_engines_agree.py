"""One suite for all engines: each counts as the naive engine does, and obeys the laws of counting."""

from itertools import product
from math import prod

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from every_engine import BUDGETS, both_counters, check_counts, check_sums, counter_in_memory, true_counts
from hornbeam.data.build import build
from hornbeam.data.database import UNKNOWN, Codes, Database
from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.contract import INT64_MAX, Engine, Skipped
from hornbeam.engines.naive import NaiveEngine
from hornbeam.logic.clauses import Atom, Clause, Literal, Not, atom_of, literal_variables, rename
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import DATE, NUMBER, Schema
from strategies import CASES, STRANGER, TARGET, Case, assignments, bodies, cases, comparisons_of

# --- against the definition ------------------------------------------------------------------


@counter_in_memory
@given(case=cases())
@settings(max_examples=CASES)
def test_an_engine_counts_what_the_definition_counts(engine: type[Engine], case: Case) -> None:
    check_counts(engine, case)


@counter_in_memory
@given(case=cases())
def test_clauses_with_equal_signatures_have_equal_counts(engine: type[Engine], case: Case) -> None:
    counted = counter_of(engine(case.database)).count(case.clauses, case.keys)
    of_signature: dict[object, list[int]] = {}
    for signature, counts in zip(
        counter_of(engine(case.database)).signatures(case.clauses, case.keys), counted, strict=True
    ):
        if signature is not None:
            assert isinstance(counts, Counts)
            found = counts.true.tolist()
            assert of_signature.setdefault(signature, found) == found


@counter_in_memory
@given(case=cases())
def test_signatures_stay_when_other_examples_come_between(engine: type[Engine], case: Case) -> None:
    """Several sessions that cache counts by signature may share one engine."""
    shared = engine(case.database)
    signatures = list(counter_of(shared).signatures(case.clauses, case.keys))
    others = case.keys[::-1].copy()
    counter_of(shared).signatures(case.clauses[::-1], others)
    assert list(counter_of(shared).signatures(case.clauses, case.keys)) == signatures


@counter_in_memory
@given(case=cases(), budget=st.sampled_from(BUDGETS))
@settings(max_examples=max(CASES // 2, 1))
def test_a_small_budget_skips_the_same_on_every_engine_and_never_miscounts(
    engine: type[Engine], case: Case, budget: int
) -> None:
    expected = counter_of(NaiveEngine(case.database)).count(case.clauses, case.keys)
    found = counter_of(engine(case.database, budget)).count(case.clauses, case.keys)
    for clause, right, counts in zip(case.clauses, expected, found, strict=True):
        (same,) = counter_of(NaiveEngine(case.database, budget)).count([clause], case.keys)
        if isinstance(counts, Skipped):
            assert counts == same
            assert counts.clause == clause
            assert counts.estimate > counts.budget
        else:
            assert isinstance(same, Counts)
            assert counts.true.tolist() == right.true.tolist(), clause


@counter_in_memory
@given(case=cases(), budget=st.sampled_from(BUDGETS))
def test_what_is_skipped_does_not_depend_on_what_was_counted_before(
    engine: type[Engine], case: Case, budget: int
) -> None:
    together = counter_of(engine(case.database, budget)).count(case.clauses, case.keys)
    used = engine(case.database, budget)
    backwards = [counter_of(used).count([clause], case.keys)[0] for clause in reversed(case.clauses)][::-1]
    alone = [
        counter_of(engine(case.database, budget)).count([clause], case.keys)[0] for clause in case.clauses
    ]
    for first, second, third in zip(together, backwards, alone, strict=True):
        if isinstance(first, Skipped):
            assert first == second == third
        else:
            assert isinstance(second, Counts) and isinstance(third, Counts)
            assert first.true.tolist() == second.true.tolist() == third.true.tolist()


@both_counters
@given(case=cases(), gradients=st.lists(st.integers(-(2**30), 2**30), min_size=12, max_size=12))
def test_a_session_sums_what_the_definition_counts(
    engine: type[Engine], case: Case, gradients: list[int]
) -> None:
    check_sums(engine, case, gradients)


# --- laws ------------------------------------------------------------------------------------


@both_counters
@given(case=cases())
def test_true_and_false_counts_make_the_total(engine: type[Engine], case: Case) -> None:
    for clause, counts in zip(
        case.clauses, counter_of(engine(case.database)).count(case.clauses, case.keys), strict=True
    ):
        assert isinstance(counts, Counts)
        assert counts.total == assignments(case.database, clause)
        assert all(0 <= t <= counts.total for t in counts.true.tolist())


@both_counters
@given(case=cases(), data=st.data())
def test_names_of_variables_and_order_of_literals_change_nothing(
    engine: type[Engine], case: Case, data: st.DataObject
) -> None:
    clause = case.clauses[0]
    free = clause.free_variables()
    arity = len(clause.head.args)
    numbers = data.draw(st.permutations(range(arity, arity + len(free) + 2)))
    names = dict(zip(free, numbers, strict=False))
    body = data.draw(st.permutations([rename(literal, names) for literal in clause.body]))
    other = Clause(clause.head, tuple(body))
    counter = engine(case.database)
    assert true_counts(counter, other, case.keys) == true_counts(counter, clause, case.keys)
    assert counter_of(counter).total(other) == counter_of(counter).total(clause)


@both_counters
@given(case=cases(), data=st.data())
def test_order_of_facts_and_constants_changes_nothing(
    engine: type[Engine], case: Case, data: st.DataObject
) -> None:
    old = case.database
    new, keys = _reordered(old, case.keys, data)
    for clause in case.clauses:
        assert true_counts(engine(new), clause, keys) == true_counts(engine(old), clause, case.keys)


@both_counters
@given(case=cases())
def test_each_key_is_counted_by_itself(engine: type[Engine], case: Case) -> None:
    for clause in case.clauses:
        together = true_counts(engine(case.database), clause, case.keys)
        alone = [
            true_counts(engine(case.database), clause, case.keys[i : i + 1]) for i in range(len(together))
        ]
        assert [[count] for count in together] == alone


@both_counters
@given(case=cases(), data=st.data())
def test_a_literal_without_a_new_variable_never_raises_the_count(
    engine: type[Engine], case: Case, data: st.DataObject
) -> None:
    clause, literal = _extension(case, data)
    assume(_new_variables(clause, literal) == set())
    counter = engine(case.database)
    before = true_counts(counter, clause, case.keys)
    after = true_counts(counter, _with(clause, literal), case.keys)
    assert all(t <= u for t, u in zip(after, before, strict=True))
    assert true_counts(counter, _with(clause, clause.body[0]), case.keys) == before


@both_counters
@given(case=cases(), data=st.data())
def test_a_literal_and_its_negation_share_the_assignments(
    engine: type[Engine], case: Case, data: st.DataObject
) -> None:
    clause, literal = _extension(case, data, comparisons=False)
    types = case.database.schema.variable_types(_with(clause, literal))
    new = _new_variables(clause, literal)
    ways = prod(len(case.database.population(types[variable])) for variable in new)
    atom = atom_of(literal)
    counter = engine(case.database)
    body = true_counts(counter, clause, case.keys)
    positive = true_counts(counter, _with(clause, atom), case.keys)
    negative = true_counts(counter, _with(clause, Not(atom)), case.keys)
    assert negative == [ways * t - u for t, u in zip(body, positive, strict=True)]


@both_counters
@given(case=cases(), data=st.data())
def test_an_unknown_constant_matches_nothing(engine: type[Engine], case: Case, data: st.DataObject) -> None:
    clause, literal = _extension(case, data, comparisons=False)
    predicate, args = atom_of(literal)
    place = data.draw(st.integers(0, len(args) - 1))
    atom = Atom(predicate, (*args[:place], STRANGER, *args[place + 1 :]))
    found = true_counts(engine(case.database), _with(clause, atom), case.keys)
    assert found == [0] * len(case.keys)


@counter_in_memory
@given(case=cases(), copies=st.integers(2, 200))
@settings(max_examples=max(CASES // 5, 1))
def test_copies_of_every_constant_multiply_the_counts(engine: type[Engine], case: Case, copies: int) -> None:
    """Each free variable has several times as many values: counts exceed 16, 32 and 63 bits."""
    while copies > 2 and _largest_relation(case.database, copies) > 20_000:
        copies -= 1
    keys = np.where(case.keys < 0, case.keys, case.keys * copies)
    expected = counter_of(NaiveEngine(case.database)).count(case.clauses, case.keys)
    found = counter_of(engine(_copied(case.database, copies))).count(case.clauses, keys)
    for clause, few, many in zip(case.clauses, expected, found, strict=True):
        factor = copies ** len(clause.free_variables())
        if isinstance(many, Skipped):
            assert few.total * factor > INT64_MAX, many
        else:
            assert many.total == few.total * factor
            assert many.true.tolist() == [t * factor for t in few.true.tolist()], clause


# --- helpers ---------------------------------------------------------------------------------


def _extension(case: Case, data: st.DataObject, comparisons: bool = True) -> tuple[Clause, Literal]:
    """A clause of the case and one more literal, which may have new variables."""
    clause = case.clauses[0]
    most = len(clause.body) + 1
    body = data.draw(bodies(case.database, clause.body, most, comparisons))
    return clause, body[-1]


def _with(clause: Clause, literal: Literal) -> Clause:
    return Clause(clause.head, (*clause.body, literal))


def _new_variables(clause: Clause, literal: Literal) -> set[int]:
    return set(literal_variables(literal)) - {*clause.head.args, *clause.free_variables()}


def _named_facts(database: Database) -> dict[str, list[tuple[str, ...]]]:
    facts = {}
    for predicate, relation in database.relations.items():
        populations = [database.population(name) for name in database.schema.types_of(predicate)]
        names = [p.decode(column) for p, column in zip(populations, relation.columns, strict=True)]
        facts[predicate] = list(zip(*names, strict=True))
    return facts


def _reordered(database: Database, keys: Codes, data: st.DataObject) -> tuple[Database, Codes]:
    """The same facts and constants, each in another order; and the same keys in the new codes."""
    order = data.draw(st.randoms(use_true_random=False))
    ranges = {name: list(population.names) for name, population in database.populations.items()}
    rows = _named_facts(database)
    for sequence in (*ranges.values(), *rows.values()):
        order.shuffle(sequence)
    schema = database.schema
    columns = {name: [[row[i] for row in rows[name]] for i in range(schema.arity(name))] for name in rows}
    new = build(schema, (), columns, ranges=ranges)
    translated = keys.copy()
    for place, type_name in enumerate(schema.types_of(TARGET)):
        old_names, codes = database.population(type_name).names, new.population(type_name)
        translated[:, place] = [-1 if code < 0 else codes.code(old_names[code]) for code in keys[:, place]]
    return new, translated


def _largest_relation(database: Database, copies: int) -> int:
    return max(
        prod(len(database.population(name)) * copies for name in database.schema.types_of(predicate))
        for predicate in database.relations or [TARGET]
    )


def _copied(database: Database, copies: int) -> Database:
    """Several copies of each constant; a fact about constants is a fact about all their copies.

    The first copy keeps the name, so that constants in clauses name one copy.
    """

    def copied(name: str, type_name: str) -> list[str]:
        kind = database.schema.numeric.get(type_name)
        return [name, *(_copy(name, kind, number) for number in range(1, copies))]

    ranges = {
        type_name: [copy for name in population.names for copy in copied(name, type_name)]
        for type_name, population in database.populations.items()
    }
    columns = {}
    for predicate, rows in _named_facts(database).items():
        types = database.schema.types_of(predicate)
        many = [row for fact in rows for row in product(*map(copied, fact, types))]
        columns[predicate] = [[row[i] for row in many] for i in range(database.schema.arity(predicate))]
    return build(database.schema, (), columns, ranges=ranges)


def _copy(name: str, kind: str | None, number: int) -> str:
    """Another name; of a numeric type, one that spells the same value."""
    if kind == NUMBER:
        sign = "-" if name.startswith("-") else ""
        return sign + "0" * number + name.removeprefix(sign)
    if kind == DATE:  # parts of a microsecond are cut off
        return name + ("" if "T" in name else "T00:00:00") + f".000000{number:03}"
    return f"{name} copy {number}"


# --- comparisons -----------------------------------------------------------------------------


@both_counters
@given(case=cases(), data=st.data())
def test_the_two_sides_of_a_comparison_share_the_assignments(
    engine: type[Engine], case: Case, data: st.DataObject
) -> None:
    clause = case.clauses[0]
    schema = case.database.schema
    types = schema.variable_types(clause)
    numeric = [variable for variable in types if types[variable] in schema.numeric]
    assume(numeric)
    comparison = data.draw(comparisons_of(numeric, types, schema))
    counter = engine(case.database)
    body = true_counts(counter, clause, case.keys)
    one = true_counts(counter, _with(clause, comparison), case.keys)
    other = true_counts(counter, _with(clause, comparison.negated()), case.keys)
    for key, all_of_it, first, second in zip(case.keys.tolist(), body, one, other, strict=True):
        unknown = comparison.variable < len(key) and key[comparison.variable] == UNKNOWN
        # An unknown key has no value and is on neither side of a threshold.
        assert first + second == (0 if unknown else all_of_it)


@both_counters
def test_a_comparison_whose_atom_is_negated_keeps_its_type(engine: type[Engine]) -> None:
    """The two clauses differ, apart from an atom that is negated, in the type of a compared variable only."""
    schema = Schema({TARGET: ("x",), "p": ("x", "n"), "q": ("x", "m")}, {"n": NUMBER, "m": NUMBER})
    facts = {"p": [["a", "a"], ["1", "5"]], "q": [["a", "a"], ["7", "8"]]}
    database = build(schema, (), facts, ranges={"n": ["6"], "m": ["0", "9"]})
    texts = ("target(A) :- not p(A,B), B >= 4.", "target(A) :- not q(A,B), B >= 4.")
    counter, key = engine(database), np.array([[0]], dtype=np.int32)
    assert [true_counts(counter, parse_clause(text, schema), key) for text in texts] == [[1], [1]]
    counted = counter_of(counter).count([parse_clause("target(A) :- not q(A,B), B < 4.", schema)], key)
    assert [counts.true.tolist() for counts in counted] == [[1]]
