"""Predicting on data other than those a model was learned on."""

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.errors import DataError, ModelError, OptionError
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.predict import codes_for, data_for, predict
from hornbeam.model.scales import sigmoid

SCHEMA = Schema({"friends": ("person", "person"), "smokes": ("person",), "cancer": ("person",)})
CLAUSE = parse_clause("cancer(A) :- friends(A,B), smokes(B).", SCHEMA)
MODEL = Model(
    "cancer", SCHEMA, 0.0, (WeightedClause(CLAUSE, (0.0, 1.0, -0.5), 3),), {"populations": "training"}
)


def rows(*names):
    return np.array([[name] for name in names], dtype=object)


def predicted(model, database, *names, **options):
    return predict(model, database, rows(*names), engine="naive", **options)


def test_other_data_are_seen_under_the_schema_of_the_model():
    other = Schema({"friends": ("a", "b"), "smokes": ("c",), "drinks": ("d",)})
    facts = {"friends": [["x", "x"], ["y", "z"]], "smokes": [["y"]], "drinks": [["w"]]}
    found = predicted(MODEL, build(other, (), facts), "x", "y")
    assert found.probabilities.tolist() == sigmoid(np.array([1 - 0.5 * 2, -0.5 * 3])).tolist()
    assert found.notices == ()


def test_totals_of_the_data_at_hand_where_the_model_says_so():
    model = Model("cancer", SCHEMA, 0.0, MODEL.clauses, {"populations": "database"})
    facts = {"friends": [["x", "x"], ["y", "z"]], "smokes": [["y", "u", "v"]]}
    found = predicted(model, build(SCHEMA, (), facts), "x")
    assert found.probabilities.tolist() == sigmoid(np.array([1 - 0.5 * 4])).tolist()


def test_a_predicate_without_facts_is_empty_and_said_once():
    database = build(Schema({"friends": ("person", "person")}), (), {"friends": [["x"], ["y"]]})
    found = predicted(MODEL, database, "x", "y")
    assert [str(notice) for notice in found.notices] == [
        "the data have no facts of smokes, which the model uses; they count as empty."
    ]
    assert found.probabilities.tolist() == sigmoid(np.array([-1.5, -1.5])).tolist()


def test_data_without_any_predicate_of_the_model_are_refused():
    database = build(Schema({"likes": ("person", "film")}), (), {"likes": [["x"], ["y"]]})
    with pytest.raises(ModelError) as caught:
        data_for(MODEL, database)
    assert str(caught.value) == (
        "the model does not fit these data: they have none of its predicates (friends, smokes), only likes."
    )


def test_a_model_without_clauses_fits_any_data():
    database = build(Schema({"likes": ("person", "film")}), (), {"likes": [["x"], ["y"]]})
    model = Model("cancer", SCHEMA, 0.0, ())
    assert predicted(model, database, "x").probabilities.tolist() == [0.5]


def test_another_arity_is_refused():
    database = build(Schema({"friends": ("person",), "smokes": ("person",)}), (), {"smokes": [["x"]]})
    with pytest.raises(ModelError) as caught:
        data_for(MODEL, database)
    assert str(caught.value) == (
        'the model does not fit these data: "friends" has 1 arguments in the data, '
        "but 2 were expected: friends(person,person)."
    )


def test_unknown_keys_count_as_having_no_facts_and_are_said_once():
    database = build(SCHEMA, (), {"friends": [["x"], ["y"]], "smokes": [["y"]]})
    found = predicted(MODEL, database, "zoe", "x", "tim")
    assert [str(notice) for notice in found.notices] == [
        "2 of 3 keys are not in the data (first: zoe); they are treated as having no facts."
    ]
    assert found.probabilities.tolist() == sigmoid(np.array([-1.5, 1 - 0.5 * 2, -1.5])).tolist()


def test_unknown_keys_may_be_refused():
    database = build(SCHEMA, (), {"friends": [["x"], ["y"]], "smokes": [["y"]]})
    with pytest.raises(DataError, match=r"1 of 1 keys are not in the data \(first: zoe\); remove them"):
        predicted(MODEL, database, "zoe", unknown="error")
    with pytest.raises(OptionError, match="unknown='ignore' is refused: it must be 'warn' or 'error'"):
        codes_for(MODEL, database, rows("zoe"), "ignore")


def test_the_wrong_number_of_columns_is_one_sentence():
    database = build(SCHEMA, (), {"friends": [["x"], ["y"]], "smokes": [["y"]]})
    with pytest.raises(DataError) as caught:
        predict(MODEL, database, np.array([["x", "y"]], dtype=object), engine="naive")
    assert str(caught.value) == 'X has 2 columns, but "cancer" takes 1: one column per argument (person).'
