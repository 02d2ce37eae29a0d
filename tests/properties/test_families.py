"""Clauses that differ in one constant only are counted by one query, as the definition counts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from every_engine import ENGINES
from hornbeam.data.build import build
from hornbeam.data.database import Codes, Database
from hornbeam.engines.contract import Engine
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.engines.sql import sizes as sql_sizes
from hornbeam.engines.sql.counts import families as sql_families
from hornbeam.engines.sql.counts import packed as sql_packed
from hornbeam.engines.sql.counts import tables as sql_tables
from hornbeam.engines.sql.counts.families import families
from hornbeam.engines.sql.drivers.duckdb import DuckDBConnection, DuckDBEngine
from hornbeam.engines.sql.plan import formula
from hornbeam.logic.clauses import Atom, Clause, Comparison, Literal, Not
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema
from strategies import CASES, STRANGER, TARGET, Case, cases, timed_cases
from tables_of_worlds import connected, facts_in_place

SQL = [ENGINES[name] for name in ("duckdb", "postgres", "spark") if name in ENGINES]
sql_engines = pytest.mark.parametrize("engine", SQL, ids=[engine.name for engine in SQL])
BUDGETS = (400, 5_000, 2_000_000_000)


def with_constants(database: Database, clause: Clause) -> Iterator[Clause]:
    """The clause, and the same with each constant in place of each variable that is not compared."""
    compared = {literal.variable for literal in clause.body if isinstance(literal, Comparison)}
    types = database.schema.variable_types(clause)
    yield clause
    for variable in clause.free_variables():
        if variable not in compared:
            for name in (*database.population(types[variable]).names, STRANGER):
                body = tuple(_with_constant(literal, variable, name) for literal in clause.body)
                yield Clause(clause.head, body)


def _with_constant(literal: Literal, variable: int, name: str) -> Literal:
    if isinstance(literal, Not):
        return Not(_in_atom(literal.atom, variable, name))
    return _in_atom(literal, variable, name) if isinstance(literal, Atom) else literal


def _in_atom(atom: Atom, variable: int, name: str) -> Atom:
    return Atom(atom.predicate, tuple(name if term == variable else term for term in atom.args))


PACKED = (0, 10**9)
"""Columns that may replace a row: no family is packed, or every family that can be."""


FEW = (0, sql_sizes.FEW_EXAMPLES)
"""With 0, messages are always computed for the keys of the examples only."""
FETCHED = (0, sql_tables.MOST_FETCHED)
"""With 0, all counts stay in tables of the database."""


class Choices(NamedTuple):
    """How a session counts."""

    logarithm: bool = False
    packed: int = 0
    few: int = 0
    fetched: int = 0


def check(engine: Engine, case: Case, keys: Codes, choices: Choices, clauses: Sequence[Clause]) -> None:
    """Sums and columns of a session, for three rounds of gradients, are those of the definition."""
    logarithm, packed, few, fetched = choices
    random = np.random.default_rng(len(clauses))
    session = engine.session(keys, logarithm)
    right = NaiveEngine(case.database).session(case.keys, logarithm)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sql_families, "LEAST_MEMBERS", 1)
        patch.setattr(sql_packed, "COLUMNS_PER_ROW", packed)
        patch.setattr(sql_sizes, "FEW_EXAMPLES", few)
        patch.setattr(sql_tables, "MOST_FETCHED", fetched)
        for some in (clauses, clauses[::2], clauses[::-1]):
            gradients = random.integers(-(2**30), 2**30, len(keys))
            session.set_gradients(gradients)
            right.set_gradients(gradients)
            found = session.sums(some)
            expected = right.sums(found.clauses)
            assert {*found.clauses} | {skipped.clause for skipped in found.skipped} == set(some)
            assert found.total == expected.total
            assert found.true == expected.true
            assert found.true_squared == expected.true_squared
            assert found.true_gradient == expected.true_gradient
            columns = session.columns(found.clauses)
            for clause, column in zip(found.clauses, columns, strict=True):
                assert column.tolist() == right.column(clause).tolist(), clause
    session.close()


@sql_engines
@given(
    case=st.one_of(cases(), timed_cases()),
    memory=st.sampled_from(BUDGETS),
    choices=st.builds(Choices, st.booleans(), *map(st.sampled_from, (PACKED, FEW, FETCHED))),
)
@settings(max_examples=max(CASES // 2, 1))
def test_a_family_has_the_sums_of_its_clauses(
    engine: type[Engine], case: Case, memory: int, choices: Choices
) -> None:
    clauses = [each for clause in case.clauses for each in with_constants(case.database, clause)]
    with closing(engine(case.database, memory)) as counter:
        check(counter, case, case.keys, choices, list(dict.fromkeys(clauses)))


@sql_engines
@given(
    case=cases(),
    choices=st.builds(Choices, st.just(False), *map(st.sampled_from, (PACKED, FEW, FETCHED))),
)
@settings(max_examples=max(CASES // 2, 1))
def test_a_family_in_place_has_the_sums_of_its_clauses(
    engine: type[Engine], case: Case, choices: Choices
) -> None:
    database = case.database
    # In place a number is its value, whatever its text.
    assume(all(len(np.unique(each)) == len(each) for each in database.numbers.values()))
    types = database.schema.types_of(TARGET)
    assume(not any(name in database.schema.numeric for name in types))
    clauses = [each for clause in case.clauses for each in with_constants(database, clause)]
    with closing(connected(engine)) as connection:
        in_place = facts_in_place(database, connection)
        columns = [
            in_place.population(name).encode(
                [*database.population(name).names, STRANGER][code] for code in codes.tolist()
            )
            for codes, name in zip(case.keys.T, types, strict=True)
        ]
        check(
            engine(in_place),
            case,
            np.column_stack(columns),
            choices,
            list(dict.fromkeys(clauses)),
        )


def test_a_clause_belongs_to_the_largest_family() -> None:
    schema = Schema({"t": ("p",), "f": ("p", "p"), "lives": ("p", "city"), "has": ("p", "thing")})
    texts = [f"t(A) :- f(A,B), lives(B,c{n}), has(B,x{m})." for n in range(10) for m in range(9)]
    texts += ["t(A) :- f(A,B), lives(B,c0).", "t(A) :- not lives(A,c0)."]
    plans = {clause: formula(clause, schema) for clause in map(parse_clause, texts)}
    found = list(families(plans))
    assert [len(family.constants) for family in found] == [10] * 9
    assert {family.varied_type(schema) for family in found} == {"city"}
    members = [clause for family in found for clause in family.constants]
    assert len(members) == len(set(members)) == 90


def dense_world(things: int) -> tuple[Database, Codes]:
    """Each of 200 examples knows about 50 others, and has about ``things`` of a hundred things."""
    random = np.random.default_rng(3)
    schema = Schema({"t": ("p",), "f": ("p", "p"), "has": ("p", "thing")})
    knows = np.argwhere(random.random((200, 200)) < 0.25)
    owned = np.argwhere(random.random((200, 100)) < things / 100)
    facts = {
        "f": [[f"p{person:03}" for person in column] for column in knows.T],
        "has": [[f"p{person:03}" for person in owned[:, 0]], [f"x{thing}" for thing in owned[:, 1]]],
    }
    return build(schema, (), facts), np.arange(200, dtype=np.int32)[:, None]


@pytest.mark.parametrize(("things", "is_packed"), [(60, True), (1, False)])
def test_a_family_is_packed_if_things_have_many_of_its_constants(things: int, is_packed: bool) -> None:
    database, keys = dense_world(things)
    clauses = [parse_clause(f"t(A) :- f(A,B), has(B,{name}).") for name in database.population("thing").names]
    with closing(DuckDBEngine(database)) as engine, pytest.MonkeyPatch.context() as patch:
        texts: list[str] = []
        run = DuckDBConnection._execute
        patch.setattr(DuckDBConnection, "_execute", lambda own, text: texts.append(text) or run(own, text))
        session = engine.session(keys)
        session.set_gradients(np.arange(200))
        found = session.sums(clauses)
        session.close()
    assert any(">>" in text for text in texts) is is_packed
    right = MemoryEngine(database).session(keys)
    right.set_gradients(np.arange(200))
    expected = right.sums(clauses)
    assert (found.true, found.true_squared) == (expected.true, expected.true_squared)
    assert found.true_gradient == expected.true_gradient
