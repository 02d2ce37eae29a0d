"""Why a prediction is what it is."""

import json

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.engines.naive import NaiveEngine
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.explain import explain

SCHEMA = Schema(
    {"publication": ("title", "person"), "student": ("person",), "advisedby": ("person", "person")}
)
TITLES = ["t1", "t2", "t3", "t4", "t1", "t2", "t3", "t9"]
AUTHORS = ["ann", "ann", "ann", "ann", "bob", "bob", "bob", "cat"]
DATABASE = build(SCHEMA, (), {"publication": [TITLES, AUTHORS], "student": [["ann"]]})


def weighted(text, *weights, total=5):
    return WeightedClause(parse_clause(text, SCHEMA), weights, total)


MODEL = Model(
    "advisedby",
    SCHEMA,
    -1.0,
    (
        weighted("advisedby(A,B) :- publication(C,A), publication(C,B).", 0.0, 0.5, 0.0),
        weighted("advisedby(A,B) :- student(A).", 0.0, 0.25, -0.25, total=1),
        weighted("advisedby(A,B) :- publication(D,B), publication(D,A).", 0.5, 0.25, -0.125),
        weighted("advisedby(A,B) :- publication(C,A), not publication(C,B).", 0.0, 0.125, 0.0),
    ),
)


def explained(*names, shown=5, model=MODEL):
    (key,) = DATABASE.encode_keys("advisedby", np.array([names], dtype=object))
    return explain(model, NaiveEngine(DATABASE), key, names, shown)


def test_a_reason_holds_counts_contribution_and_what_was_counted():
    strongest, *_ = explained("ann", "bob").reasons
    assert str(strongest.clause) == "advisedby(A,B) :- publication(C,A), publication(C,B)."
    # twice in the model, one reason: the weights are added
    assert strongest.weights == (0.5, 0.75, -0.125)
    assert (strongest.true, strongest.false) == (3, 2)
    assert strongest.contribution == 0.5 + 0.75 * 3 - 0.125 * 2
    assert strongest.variables == ("C",)
    assert strongest.groundings == (("t1",), ("t2",), ("t3",))


def test_prior_and_contributions_add_up_to_the_prediction():
    for names in [("ann", "bob"), ("bob", "ann"), ("cat", "cat"), ("nobody", "ann")]:
        explanation = explained(*names)
        added = explanation.prior + sum(reason.contribution for reason in explanation.reasons)
        assert added == pytest.approx(explanation.log_odds, abs=1e-12)
        assert explanation.probability == pytest.approx(1 / (1 + np.exp(-explanation.log_odds)), abs=1e-12)


def test_the_text_says_it_in_words():
    assert str(explained("ann", "bob")) == (
        "ann, bob: advisedby with probability 86.7 %, log-odds +1.875\n"
        "  +2.5 because publication(C,ann), publication(C,bob) is true for 3 values of C: t1, t2, t3\n"
        "  +0.25 because student(ann) is true\n"
        "  +0.125 because not publication(C,bob), publication(C,ann) is true for 1 value of C: t4\n"
        "  -1 from the prior"
    )


def test_what_did_not_count_is_a_reason_too():
    text = str(explained("cat", "bob"))
    assert "-0.125 because publication(C,cat), publication(C,bob) is true for no value of C\n" in text
    assert "-0.25 because student(cat) is false\n" in text


def test_no_more_groundings_than_asked_for_and_the_text_says_there_are_more():
    explanation = explained("ann", "bob", shown=2)
    assert explanation.reasons[0].groundings == (("t1",), ("t2",))
    assert explanation.reasons[0].true == 3
    assert "3 values of C: t1, t2, ...\n" in str(explanation)


def test_several_free_variables_are_shown_together():
    model = Model(
        "advisedby",
        SCHEMA,
        0.0,
        (weighted("advisedby(A,B) :- publication(C,A), publication(D,B).", 0.0, 1.0, 0.0, total=25),),
    )
    text = str(explained("cat", "bob", shown=2, model=model))
    assert "is true for 3 values of C, D: (t9, t1), (t9, t2), ..." in text


def test_an_unknown_key_has_no_facts_and_needs_quotes():
    text = str(explained("Zoe", "bob"))
    assert text.startswith("Zoe, bob: advisedby with probability ")
    assert "-0.25 because student('Zoe') is false" in text


def test_it_is_data_for_machines():
    document = json.loads(json.dumps(explained("ann", "bob").as_dict()))
    assert document["key"] == ["ann", "bob"]
    assert document["reasons"][0]["groundings"] == [{"C": "t1"}, {"C": "t2"}, {"C": "t3"}]
    assert document["reasons"][0]["true"] == 3
