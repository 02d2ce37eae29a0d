"""Every engine answers the questions about bodies as the reference engine does (``docs/inside.md``)."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effect_bodies import TallyCase, tally_cases
from every_engine import every_other_engine
from hornbeam.data.database import Codes, Database
from hornbeam.data.numbers import Floats
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.engines.memory import tally as memory_tally
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.engines.questions import FeatureRequest, ValueRequest
from hornbeam.logic import features as kinds
from hornbeam.logic.clauses import AT_LEAST, BELOW, Atom, Comparison
from hornbeam.logic.effects import (
    NUMBER_OF_FACTS,
    Body,
    Equals,
    Feature,
    kind_of_type,
    new_variables_of,
    variable_types,
)
from hornbeam.logic.schema import DATE
from strategies import CASES, STRANGER

NUMBERS_OF_PATH = 4


@dataclass(frozen=True)
class Asked:
    """What is asked about the bodies of a case, in the order in which a learner asks."""

    features: tuple[FeatureRequest, ...]
    values: tuple[ValueRequest, ...]
    constants: tuple[ValueRequest, ...]


def is_number(database: Database, type_name: str) -> bool:
    return type_name == NUMBER_OF_FACTS or type_name in database.schema.numeric


def asked_of(case: TallyCase) -> Asked:
    """All that may be asked about the bodies of a case."""
    features: list[FeatureRequest] = []
    values: list[ValueRequest] = []
    constants: list[ValueRequest] = []
    for head, body, _, _ in case.requests:
        types = bound_types(case.database, head, body)
        features += [FeatureRequest(head, body, Feature(kind)) for kind in groundings_kinds(body)]
        for variable, name in types.items():
            features += of_variable(case.database, head, body, variable, name)
            request = ValueRequest(head, body, variable)
            (values if is_number(case.database, name) else constants).append(request)
    return Asked(tuple(features), tuple(values), tuple(constants))


def bound_types(database: Database, head: Atom, body: Body) -> dict[int, str]:
    """The types of the variables that the head or a step binds; a negation binds none."""
    known = {term for term in head.args if isinstance(term, int)}
    for step in body:
        known.update(new_variables_of(step, known))
    types = variable_types(database.schema, head, body)
    return {variable: types[variable] for variable in sorted(known)}


def groundings_kinds(body: Body) -> list[str]:
    return [kinds.COUNT, *([kinds.SHARE] if body else []), *kinds.OF_TIMES]


def of_variable(database: Database, head: Atom, body: Body, variable: int, name: str) -> list[FeatureRequest]:
    """The features of the values of a variable, and those of bodies that end with a condition on it."""
    offered = [kinds.DISTINCT]
    last: list[Comparison | Equals]
    if is_number(database, name):
        offered += kinds.OF_NUMBERS
        if name != NUMBER_OF_FACTS and kind_of_type(database.schema, name) == DATE:
            offered.append(kinds.SINCE)
        last = [Comparison(variable, side, value) for value in (1.0, 2.0) for side in (AT_LEAST, BELOW)]
    else:
        names = (*database.population(name).names[:2], STRANGER)
        last = [Equals(variable, constant) for constant in names]
    own = [FeatureRequest(head, body, Feature(kind, variable)) for kind in offered]
    return own + [
        FeatureRequest(head, (*body, step), Feature(kind))
        for step in last
        for kind in (kinds.COUNT, kinds.SHARE)
    ]


def texts(values: Floats | Skipped) -> Any:
    """The values of a feature as a list that can be compared: -0 is 0, and missing is missing."""
    assert isinstance(values, np.ndarray), values
    return ["missing" if value != value else value for value in (values + 0.0).tolist()]


def answers_of(engine: Engine, asked: Asked, keys: Codes, sizes: Floats, number: int) -> dict[object, object]:
    """The answers to all questions."""
    found: dict[object, object] = {}
    thresholds = engine.thresholds(asked.values, number, keys, sizes)
    found |= {("thresholds", each): answer for each, answer in zip(asked.values, thresholds, strict=True)}
    constants = engine.constants(asked.constants, number, keys, sizes)
    found |= {("constants", each): answer for each, answer in zip(asked.constants, constants, strict=True)}
    for request, values in zip(asked.features, engine.features(asked.features, keys), strict=True):
        found["feature", request] = texts(values)
    for each in asked.constants:
        counts = engine.counts_by_constant(each, keys)
        assert not isinstance(counts, Skipped)
        rows = [np.stack([batch.row, batch.code, batch.number]) for batch in counts]
        found["counts", each] = sorted(map(tuple, np.concatenate(rows, axis=1).T.tolist()))
        assert (np.diff(np.concatenate([batch.row for batch in counts])) >= 0).all()
    return found


def check(engine: Engine, case: TallyCase, asked: Asked, data: st.DataObject) -> None:
    sizes = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(case.keys), max_size=len(case.keys))))
    number = data.draw(st.integers(1, NUMBERS_OF_PATH))
    expected = answers_of(NaiveEngine(case.database), asked, case.keys, sizes.astype(np.float64), number)
    found = answers_of(engine, asked, case.keys, sizes.astype(np.float64), number)
    for each, right in expected.items():
        assert found[each] == right, each


@every_other_engine
@given(case=tally_cases(), data=st.data())
@settings(max_examples=max(CASES // 4, 1))
def test_an_engine_answers_what_the_definition_says(
    engine: type[Engine], case: TallyCase, data: st.DataObject
) -> None:
    asked = asked_of(case)
    with ExitStack() as stack:
        opened = engine(case.database)
        if hasattr(opened, "close"):
            stack.enter_context(closing(opened))
        if data.draw(st.booleans()):
            opened.expect(data.draw(st.lists(st.sampled_from(asked.features), max_size=6)), case.keys)
        check(opened, case, asked, data)


@given(case=tally_cases(), data=st.data())
@settings(max_examples=max(CASES // 4, 1))
def test_parts_of_a_body_that_are_computed_alone_give_the_same(case: TallyCase, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_tally, "SPLIT_ROWS", 0)
        patch.setattr(memory_tally, "SPLIT_GROWTH", 0)
        patch.setattr(memory_tally, "WORTHWHILE", 0)
        check(MemoryEngine(case.database), case, asked_of(case), data)


@every_other_engine
@given(case=tally_cases())
@settings(max_examples=max(CASES // 8, 1))
def test_the_groundings_of_an_example_are_those_that_made_its_value(
    engine: type[Engine], case: TallyCase
) -> None:
    naive = NaiveEngine(case.database)
    with ExitStack() as stack:
        opened = engine(case.database)
        if hasattr(opened, "close"):
            stack.enter_context(closing(opened))
        for request in asked_of(case).features[:12]:
            variables = tuple(bound_types(case.database, request.head, request.body))
            for place in range(min(len(case.keys), 2)):
                key = case.keys[place : place + 1]
                right = naive.groundings(request, variables, key)
                found = opened.groundings(request, variables, key)
                assert found.number == right.number, request
                assert found.columns is not None and right.columns is not None
                assert rows_of(found.columns) == rows_of(right.columns), request


def rows_of(columns: Sequence[Any]) -> list[tuple[object, ...]]:
    return sorted(zip(*(texts(column.astype(np.float64)) for column in columns), strict=True), key=repr)
