"""Models as data: scores, totals, merging of repeated bodies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.data.build import build
from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.clauses.naive import NaiveCounter
from hornbeam.engines.contract import Skipped
from hornbeam.engines.naive import NaiveEngine
from hornbeam.errors import LimitError
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.features import false_counts
from strategies import CASES

SCHEMA = Schema({"friends": ("person", "person"), "smokes": ("person",), "cancer": ("person",)})
DATABASE = build(
    SCHEMA,
    (),
    {"friends": [["ann", "ann", "bob"], ["bob", "cat", "ann"]], "smokes": [["bob", "cat"]]},
)
KEYS = DATABASE.encode_keys("cancer", np.array([["ann"], ["bob"], ["cat"]], dtype=object))
SMOKING_FRIENDS = parse_clause("cancer(A) :- friends(A,B), smokes(B).", SCHEMA)


def model(*clauses, prior=0.0, **settings):
    return Model("cancer", SCHEMA, prior, clauses, settings)


def test_a_score_is_the_prior_and_the_weighted_counts():
    learned = model(WeightedClause(SMOKING_FRIENDS, (0.5, 1.0, -0.25), 3), prior=-1.0)
    assert learned.scores(NaiveEngine(DATABASE), KEYS).tolist() == [
        -1.0 + 0.5 + 2 * 1.0 - 0.25 * 1,
        -1.0 + 0.5 + 0 * 1.0 - 0.25 * 3,
        -1.0 + 0.5 + 0 * 1.0 - 0.25 * 3,
    ]


def test_the_worked_example_of_the_paper_turns_at_four_students():
    schema = Schema({"active": ("person",), "advisedby": ("person", "person"), "phd": ("person",)})
    for students in range(8):
        names = [f"s{i}" for i in range(students)]
        facts = {"advisedby": [names, ["p"] * students], "phd": [names]}
        database = build(schema, (), facts, {"active": ([["p"]], [1])})
        clause = parse_clause("active(P) :- advisedby(S,P), phd(S).", schema)
        learned = Model("active", schema, -3.5, (WeightedClause(clause, (0.0, 1.0, 0.0), 1),))
        keys = database.examples_of("active").keys
        assert (learned.probabilities(NaiveEngine(database), keys)[0] > 0.5) == (students >= 4)


def test_totals_are_those_of_training_unless_the_settings_say_database():
    weighted = WeightedClause(SMOKING_FRIENDS, (0.0, 0.0, 1.0), 100)
    engine = NaiveEngine(DATABASE)
    assert model(weighted).scores(engine, KEYS).tolist() == [98.0, 100.0, 100.0]
    assert model(weighted, populations="training").scores(engine, KEYS).tolist() == [98.0, 100.0, 100.0]
    assert model(weighted, populations="database").scores(engine, KEYS).tolist() == [1.0, 3.0, 3.0]


def test_a_clause_the_counter_refuses_is_an_error_and_not_a_gap(monkeypatch):
    def refused(self, clauses, keys) -> list[Counts | Skipped]:
        return [Skipped(clause, "too large", 10, 1) for clause in clauses]

    monkeypatch.setattr(NaiveCounter, "count", refused)
    with pytest.raises(
        LimitError, match=r"smokes\(B\)\. cannot be counted: too large \(estimate 10, limit 1\)"
    ):
        model(WeightedClause(SMOKING_FRIENDS, (0.0, 1.0, 0.0), 3)).scores(NaiveEngine(DATABASE), KEYS)


def test_false_counts_of_totals_past_int64_are_the_nearest_floats():
    total = 10**25
    assert false_counts(np.array([0, 7, 7]), total).tolist() == [
        float(total),
        float(total - 7),
        float(total - 7),
    ]


BODIES = [
    "cancer(A) :- friends(A,B), smokes(B).",
    "cancer(A) :- smokes(C), friends(A,C).",
    "cancer(A) :- smokes(A).",
    "cancer(A) :- friends(B,A).",
]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(BODIES), st.tuples(*[st.floats(-3, 3, allow_subnormal=False) for _ in range(3)])
        ),
        max_size=12,
    )
)
@settings(max_examples=max(CASES // 16, 1), deadline=None)
def test_a_compact_model_has_each_body_once_and_predicts_the_same(steps):
    totals = {body: 1 if "B" not in body and "C" not in body else 3 for body in BODIES}
    learned = model(
        *(WeightedClause(parse_clause(body, SCHEMA), weights, totals[body]) for body, weights in steps)
    )
    compact = learned.compact()
    assert len(compact.clauses) == len({BODIES[0] if body == BODIES[1] else body for body, _ in steps})
    engine = NaiveEngine(DATABASE)
    before, after = learned.probabilities(engine, KEYS), compact.probabilities(engine, KEYS)
    assert np.abs(before - after).max(initial=0) <= 1e-12
    assert compact.compact() == compact


def test_predicates_are_those_of_the_bodies():
    assert model(WeightedClause(SMOKING_FRIENDS, (0.0, 1.0, 0.0), 3)).predicates() == ("friends", "smokes")
