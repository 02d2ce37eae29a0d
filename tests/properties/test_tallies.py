"""Every engine tallies the groundings of a body as the definition does (``docs/effects.md``)."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from effect_bodies import TallyCase, check_tallies, groups, tally_cases
from every_engine import BUDGETS, ENGINES, every_other_engine
from hornbeam.data.database import UNKNOWN, Database
from hornbeam.engines import fact_slices
from hornbeam.engines import tally as tallies
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.engines.memory import tally as memory_tally
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.engines.sql.tallies import fetched_facts
from hornbeam.engines.tally import Tally, TallyRequest
from hornbeam.logic.effects import NUMBER_OF_FACTS, new_variables_of, variable_types
from path_worlds import path_cases
from strategies import CASES
from tables_of_worlds import (
    connected,
    dated,
    facts_in_place,
    has_one_name_for_each_value,
    keys_in_place,
)

IN_PLACE = [ENGINES[name] for name in ("duckdb", "postgres", "spark") if name in ENGINES]


@every_other_engine
@given(case=tally_cases())
@settings(max_examples=max(CASES // 2, 1))
def test_an_engine_tallies_what_the_definition_tallies(engine: type[Engine], case: TallyCase) -> None:
    check_tallies(engine(case.database), case, NaiveEngine(case.database).tally(case.requests, case.keys))


@pytest.mark.parametrize("engine", [ENGINES["duckdb"]], ids=["duckdb"])
@given(case=tally_cases(), data=st.data())
@settings(max_examples=max(CASES // 2, 1))
def test_requests_that_begin_alike_are_tallied_from_one_table(
    engine: type[Engine], case: TallyCase, data: st.DataObject
) -> None:
    case = replace(case, requests=_beginnings(case))
    expected = NaiveEngine(case.database).tally(case.requests, case.keys)
    with closing(engine(case.database)) as asked:
        for _ in range(4):
            # A table has only what the expected requests need; others must not start from it.
            start = data.draw(st.sampled_from(case.requests)).body
            alike = [each for each in case.requests if each.body[: len(start)] == start]
            told = data.draw(st.lists(st.sampled_from(alike), min_size=2, max_size=3))
            asked.expect_tallies(told, case.keys)
            for place in data.draw(st.permutations(range(len(case.requests)))):
                alone = replace(case, requests=(case.requests[place],))
                check_tallies(asked, alone, [expected[place]])


def _beginnings(case: TallyCase) -> tuple[TallyRequest, ...]:
    """The requests, and the same for all bodies that their bodies begin with."""
    found = []
    for request in case.requests:
        known = set(range(len(request.head.args)))
        for place, step in enumerate(request.body, 1):
            known.update(new_variables_of(step, known))
            variables = tuple(variable for variable in request.variables if variable in known)
            found.append(request._replace(body=request.body[:place], variables=variables))
            found.append(TallyRequest(request.head, request.body[:place], tuple(sorted(known))))
    return tuple(dict.fromkeys((*case.requests, *found)))


@given(case=tally_cases())
@settings(max_examples=max(CASES // 2, 1))
def test_a_body_that_is_split_is_tallied_the_same(case: TallyCase) -> None:
    expected = NaiveEngine(case.database).tally(case.requests, case.keys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_tally, "SPLIT_ROWS", 0)
        patch.setattr(memory_tally, "SPLIT_GROWTH", 0)
        patch.setattr(memory_tally, "WORTHWHILE", 0)
        patch.setattr(fact_slices, "DENSE_KEYS", 0)
        engine = MemoryEngine(case.database)
        check_tallies(engine, case, expected)
        check_tallies(engine, case, expected)


@pytest.mark.parametrize("engine", [ENGINES["duckdb"]], ids=["duckdb"])
@given(case=tally_cases(), budget=st.sampled_from(BUDGETS))
@settings(max_examples=CASES)
def test_every_engine_skips_by_the_same_estimate(engine: type[Engine], case: TallyCase, budget: int) -> None:
    expected = NaiveEngine(case.database).tally(case.requests, case.keys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tallies, "LEAST_CELLS", 0)
        in_memory = MemoryEngine(case.database, budget).tally(case.requests, case.keys)
        by_sql = engine(case.database, budget).tally(case.requests, case.keys)
    for request, right, one, other in zip(case.requests, expected, in_memory, by_sql, strict=True):
        assert isinstance(right, Tally)
        for answer in (one, other):
            if isinstance(answer, Skipped):
                assert answer.clause == request and answer.estimate > answer.budget
            else:
                assert groups(answer) == groups(right)
        # Memory also stops where the tables become larger than the estimate.
        if isinstance(other, Skipped):
            assert one == other


@pytest.mark.parametrize("engine", IN_PLACE, ids=[engine.name for engine in IN_PLACE])
@given(case=tally_cases())
@settings(max_examples=max(CASES // 2, 1))
def test_facts_in_place_are_tallied_as_if_they_were_loaded(engine: type[Engine], case: TallyCase) -> None:
    assume(has_one_name_for_each_value(case.database))
    case = _as_dated(case)
    expected = NaiveEngine(case.database).tally(case.requests, case.keys)
    with closing(connected(engine)) as connection:
        database = facts_in_place(case.database, connection)
        keys = keys_in_place(case.database, case.keys, database)
        for predicate in case.database.times:
            assert database.facts.span_of(predicate) == case.database.facts.span_of(predicate)
        answers = engine(database).tally(case.requests, keys)
        _check_in_place(database, case, answers, expected)


def _check_in_place(
    database: Database,
    case: TallyCase,
    answers: Sequence[Tally | Skipped],
    expected: Sequence[Tally | Skipped],
) -> None:
    """Answers from facts in place have the groups that are expected, by name."""
    for request, right, tally in zip(case.requests, expected, answers, strict=True):
        types = variable_types(database.schema, request.head, request.body)
        names = [types[variable] for variable in request.variables]
        assert isinstance(tally, Tally) and isinstance(right, Tally)
        assert named(tally, names, database) == named(right, names, case.database), request


@pytest.mark.parametrize("engine", IN_PLACE, ids=[engine.name for engine in IN_PLACE])
@given(case=tally_cases(), data=st.data())
@settings(max_examples=max(CASES // 2, 1))
def test_the_requests_of_a_path_in_place_are_tallied_together(
    engine: type[Engine], case: TallyCase, data: st.DataObject
) -> None:
    assume(has_one_name_for_each_value(case.database))
    case = _as_dated(replace(case, requests=_beginnings(case)))
    expected = NaiveEngine(case.database).tally(case.requests, case.keys)
    with closing(connected(engine)) as connection:
        database = facts_in_place(case.database, connection)
        keys, asked = keys_in_place(case.database, case.keys, database), engine(database)
        start = data.draw(st.sampled_from(case.requests)).body
        alike = [each for each in case.requests if each.body[: len(start)] == start]
        asked.expect_tallies(data.draw(st.lists(st.sampled_from(alike), min_size=2, max_size=6)), keys)
        answers = [asked.tally([request], keys)[0] for request in case.requests]
        _check_in_place(database, case, answers, expected)


@pytest.mark.parametrize("engine", IN_PLACE, ids=[engine.name for engine in IN_PLACE])
@given(case=path_cases(), few=st.sampled_from((0, fetched_facts.FEW)))
@settings(max_examples=max(CASES // 2, 1))
def test_what_a_path_asks_about_its_things_is_tallied_together(
    engine: type[Engine], case: TallyCase, few: int
) -> None:
    expected = NaiveEngine(case.database).tally(case.requests, case.keys)
    with pytest.MonkeyPatch.context() as patch, closing(connected(engine)) as connection:
        # Large relations are left to the system, in the same answers.
        patch.setattr(fetched_facts, "FEW", few)
        loaded = engine(case.database)
        loaded.expect_tallies(case.requests, case.keys)
        check_tallies(loaded, case, expected)
        database = facts_in_place(case.database, connection)
        keys, asked = keys_in_place(case.database, case.keys, database), engine(database)
        asked.expect_tallies(case.requests, keys)
        _check_in_place(database, case, asked.tally(case.requests, keys), expected)


def _as_dated(case: TallyCase) -> TallyCase:
    database, keys = dated(case.database, case.keys)
    return replace(case, database=database, keys=keys)


def named(tally: Tally, types: list[str], database: Database) -> dict[tuple[object, ...], int]:
    """The groups of a tally with names in place of codes; an unknown key has no name."""
    result: dict[tuple[object, ...], int] = {}
    for (row, *values), number in groups(tally).items():
        names = [
            value
            if name is None or name == NUMBER_OF_FACTS or name in database.schema.numeric
            else None
            if value == UNKNOWN
            else database.population(name).names[int(str(value))]
            for value, name in zip(values, [*types, None], strict=False)
        ]
        result[row, *names] = number
    return result
