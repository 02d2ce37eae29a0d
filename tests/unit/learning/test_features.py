"""Features of counts: their names, their values, and how model files keep them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.datasets.worlds import university
from hornbeam.engines.clauses.contract import LOG_UNIT
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.errors import ModelError
from hornbeam.logic.parse import parse_clause
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.features import (
    COUNT,
    LOG,
    SHARE,
    at_least,
    bound_of,
    feature_values,
    in_units,
    is_feature,
)
from hornbeam.model.files import model_text, parse_model


def test_only_features_are_features() -> None:
    assert all(map(is_feature, (COUNT, LOG, SHARE, "at least 1", "at least 924")))
    assert not any(map(is_feature, ("", "shares", "at least 0", "at least -1", "at least 05", "at least  5")))
    assert bound_of(LOG) is None
    assert bound_of(at_least(7)) == 7


@given(st.lists(st.integers(0, 40), min_size=2, max_size=30))
def test_whole_units_are_the_logarithm(counts: list[int]) -> None:
    column = np.array(counts)
    exact = feature_values(column.astype(np.float64), LOG) * LOG_UNIT
    assert np.abs(in_units(column) - exact).max() <= 0.5


def test_a_model_with_bounds_is_kept_and_read_again() -> None:
    database = university(2, seed=3)
    examples = database.examples_of("advisedby")
    body = "advisedby(A,B) :- publication(C,A), publication(C,B)."
    clause = parse_clause(body, database.schema)
    weighted = [WeightedClause(clause, (0.0, 0.5, 0.0), 9, name) for name in (at_least(1), at_least(3), LOG)]
    model = Model("advisedby", database.schema, -2.0, tuple(weighted))
    text = model_text(model)
    again = parse_model(text)
    assert model_text(again) == text
    engine = MemoryEngine(database)
    assert again.scores(engine, examples.keys).tolist() == model.scores(engine, examples.keys).tolist()
    with pytest.raises(ModelError, match='"feature" of clause 1 must be count or log or at least N'):
        parse_model(text.replace(f'"feature": "{model.clauses[0].feature}"', '"feature": "at least 0"', 1))
