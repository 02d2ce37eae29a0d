"""Clauses in tables are counted by the feature ``count``; for a search, facts are loaded: the same counts."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from every_engine import ENGINES
from hornbeam.data.relations import Examples
from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.loaded import loaded
from hornbeam.engines.contract import Engine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.logic.schema import Argument, Kind, Mode
from strategies import CASES, TARGET, Case, cases, timed_cases
from tables_of_worlds import (
    connected,
    dated,
    facts_in_place,
    has_one_name_for_each_value,
    keys_in_place,
)

IN_PLACE = [ENGINES[name] for name in ("duckdb", "postgres") if name in ENGINES]
in_place = pytest.mark.parametrize("engine", IN_PLACE, ids=[engine.name for engine in IN_PLACE])


@in_place
@given(case=st.one_of(cases(), timed_cases()))
@settings(max_examples=max(CASES // 2, 1))
def test_clauses_in_tables_are_counted_as_the_definition_says(engine: type[Engine], case: Case) -> None:
    assume(has_one_name_for_each_value(case.database))
    facts, plain = dated(case.database, case.keys)
    expected = counter_of(NaiveEngine(facts)).count(case.clauses, plain)
    with closing(connected(engine)) as connection:
        database = facts_in_place(facts, connection)
        keys = keys_in_place(facts, plain, database)
        counter = counter_of(engine(database))
        answers = counter.count(case.clauses, keys)
        modes = tuple(
            Mode(name, tuple(Argument(Kind.BOUND, each) for each in types))
            for name, types in database.schema.predicates.items()
        )
        examples = Examples(TARGET, keys, np.zeros(len(keys), dtype=np.int8))
        in_memory, same = loaded(engine(replace(database, modes=modes)), examples)
        again = counter_of(in_memory).count(case.clauses, same.keys)
    for clause, right, *found in zip(case.clauses, expected, answers, again, strict=True):
        assert isinstance(right, Counts)
        for counts in found:
            assert isinstance(counts, Counts), counts
            assert counts.true.tolist() == right.true.tolist(), clause
            assert counts.total == right.total, clause
