"""Facts of the examples' keys alone give the counts of the definition, for few examples and for many."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from every_engine import ENGINES
from hornbeam.data.build import build
from hornbeam.engines.contract import Counts, Engine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.engines.sql import sizes as sql_sizes
from hornbeam.engines.sql.drivers.duckdb import DuckDBConnection, DuckDBEngine
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema
from strategies import CASES, Case, cases, timed_cases

SQL = [ENGINES[name] for name in ("duckdb", "postgres", "spark") if name in ENGINES]


@pytest.mark.parametrize("engine", SQL, ids=[engine.name for engine in SQL])
@given(case=st.one_of(cases(), timed_cases()))
@settings(max_examples=max(CASES // 2, 1))
def test_counts_for_the_keys_of_examples_alone_are_right(engine: type[Engine], case: Case) -> None:
    right = NaiveEngine(case.database)
    with closing(engine(case.database)) as counter, pytest.MonkeyPatch.context() as patch:
        # One engine counts both ways, so that no text of a query is used for the other way.
        for few in (0, 10**9, 0):
            patch.setattr(sql_sizes, "FEW_EXAMPLES", few)
            for clause in case.clauses:
                (counts,) = counter.count([clause], case.keys)
                (expected,) = right.count([clause], case.keys)
                assert isinstance(counts, Counts) and isinstance(expected, Counts)
                assert counts.true.tolist() == expected.true.tolist()
                assert counts.total == expected.total


@pytest.mark.parametrize(("examples", "is_restricted"), [(3, True), (60, False)])
def test_messages_are_computed_for_the_keys_of_few_examples(examples: int, is_restricted: bool) -> None:
    schema = Schema({"t": ("p",), "f": ("p", "p")})
    pairs = [(a, b) for a in range(60) for b in range(60) if (a * 7 + b * 3) % 5 == 0]
    facts = {"f": [[f"p{pair[end]:02}" for pair in pairs] for end in (0, 1)]}
    database = build(schema, (), facts)
    clauses = [parse_clause("t(A) :- f(A,B), f(B,C)."), parse_clause("t(A) :- f(A,B).")]
    keys = np.arange(examples, dtype=np.int32)[:, None]
    texts: list[str] = []
    with closing(DuckDBEngine(database)) as engine, pytest.MonkeyPatch.context() as patch:
        run = DuckDBConnection._execute
        patch.setattr(DuckDBConnection, "_execute", lambda own, text: texts.append(text) or run(own, text))
        session = engine.session(keys)
        session.set_gradients(np.arange(examples))
        found = session.sums(clauses)
        session.close()
    assert any(" AS g INNER JOIN " in text for text in texts) is is_restricted
    right = NaiveEngine(database).session(keys)
    right.set_gradients(np.arange(examples))
    expected = right.sums(clauses)
    assert (found.true, found.true_gradient) == (expected.true, expected.true_gradient)
