"""What effects add to a prediction, on the same data and on others."""

from dataclasses import replace

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.errors import LimitError
from hornbeam.logic.effects import Curve, Feature
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.logic.schema import NUMBER, Schema
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.effects import FittedEffect, by_importance, levels_of
from hornbeam.model.predict import data_for, predict

SCHEMA = Schema(
    {"bad": ("person",), "orders": ("person", "order"), "amount": ("order", "amount_value")},
    {"amount_value": NUMBER},
)
DATABASE = build(
    SCHEMA,
    (),
    {
        "orders": [["ann", "ann", "bob"], ["o1", "o2", "o3"]],
        "amount": [["o1", "o2", "o3"], ["4", "8", "2"]],
    },
    ranges={"person": ["ann", "bob", "cat"]},
)
BODY = "bad(A) :- orders(A,B), amount(B,C)."


def fitted(text, importance=0.0):
    return FittedEffect(parse_effect(text, SCHEMA), importance)


MEAN = fitted(f"mean C [missing: 0.5; < 3: -1; < 6: 0; else: 2] : {BODY}", 0.1)
COUNT = fitted("count [< 1: 0.25; < 2: 0; else: -0.5] : bad(A) :- orders(A,B).", 0.3)
MODEL = Model("bad", SCHEMA, 1.0, (), effects=(MEAN, COUNT))
PEOPLE = np.array([["ann"], ["bob"], ["cat"], ["nobody"]], dtype=object)


def scores(model, database=DATABASE, memory=10**9):
    seen, _ = data_for(model, database)
    return model.scores(MemoryEngine(seen, memory), seen.encode_keys("bad", PEOPLE))


def test_values_at_a_cut_have_the_level_above_it():
    curve = Curve((0.0, 1.5), (10.0, 20.0, 30.0), 40.0)
    values = np.array([-np.inf, -0.1, 0.0, 1.4, 1.5, np.inf, np.nan])
    assert levels_of(curve, values).tolist() == [10.0, 10.0, 20.0, 20.0, 30.0, 30.0, 40.0]
    assert levels_of(Curve((), (7.0,)), values[[0, -1]]).tolist() == [7.0, 0.0]


def test_the_score_is_the_prior_plus_levels():
    # ann has two orders of 6 on average, bob one of 2; cat and a stranger have none
    assert scores(MODEL).tolist() == [1 + 2 - 0.5, 1 - 1 + 0, 1 + 0.5 + 0.25, 1 + 0.5 + 0.25]


def test_clauses_and_effects_add_up():
    clause = WeightedClause(parse_clause("bad(A) :- orders(A,B).", SCHEMA), (0.0, 0.125, 0.0), 3)
    both = replace(MODEL, clauses=(clause,))
    assert (scores(both) - scores(MODEL)).tolist() == [0.25, 0.125, 0.0, 0.0]
    assert both.size_text == "1 clause and 2 effects"
    weights = replace(clause, each=1, constants=(("o1", 0.5),))
    assert replace(MODEL, clauses=(weights,)).size_text == "2 effects and 1 list of weights"
    assert MODEL.size_text == "2 effects"
    assert MODEL.predicates() == ("amount", "orders")


def test_repeated_effects_are_merged():
    again = fitted(f"mean C [missing: 1; < 4: 1; else: 0.5] : {BODY}", 0.2)
    model = replace(MODEL, effects=(MEAN, COUNT, again))
    compact = model.compact()
    mean, count = compact.effects
    assert str(mean) == f"mean C [missing: 1.5; < 3: 0; < 4: 1; < 6: 0.5; else: 2.5] : {BODY}"
    assert mean.importance == pytest.approx(0.3)
    assert count is COUNT
    assert scores(compact).tolist() == scores(model).tolist()


def test_effects_of_predicates_without_facts_are_missing_or_zero():
    poor = build(Schema({"orders": ("person", "order")}), (), {"orders": [["ann"], ["o1"]]})
    assert scores(MODEL, poor).tolist() == [1 + 0.5 + 0, 1 + 0.5 + 0.25, 1 + 0.5 + 0.25, 1 + 0.5 + 0.25]
    _, notices = data_for(MODEL, poor)
    assert [str(notice) for notice in notices] == [
        "the data have no facts of amount, which the model uses; they count as empty."
    ]
    predictions = predict(MODEL, poor, PEOPLE)
    assert predictions.probabilities[0] == pytest.approx(1 / (1 + np.exp(-1.5)))


def many(persons, each):
    """A database in which every person has that many orders."""
    names = [f"p{person}" for person in range(persons)]
    orders = [[name for name in names for _ in range(each)], [f"o{order}" for order in range(each)] * persons]
    return build(SCHEMA, (), {"orders": orders})


def test_effects_that_exceed_the_budget_are_computed_in_halves_or_refused():
    database = many(500, 20)
    keys = np.arange(500, dtype=np.int32).reshape(-1, 1)
    model = replace(MODEL, effects=(COUNT,))
    small = MemoryEngine(database, 64_000)
    assert model.scores(small, keys).tolist() == [0.5] * 500
    with pytest.raises(LimitError, match=r"^count of bad\(A\) :- orders\(A,B\)\. cannot be computed: its "):
        model.scores(MemoryEngine(many(500, 4000), 64_000), keys)


def test_the_most_important_effects_come_first():
    equal = [replace(MEAN, importance=0.3), COUNT, MEAN]
    assert by_importance(equal) == equal
    assert by_importance(MODEL.effects) == [COUNT, MEAN]


def test_a_curve_is_a_data_frame():
    pytest.importorskip("pandas")
    frame = replace(MEAN, errors=(0.1, 0.2, 0.3, 0.4), examples=(9, 1, 2, 3)).to_frame()
    assert frame["values"].tolist() == ["below 3", "3 to below 6", "6 or more", "missing"]
    assert frame["log_odds"].tolist() == [-1.0, 0.0, 2.0, 0.5]
    assert frame["odds"].tolist() == pytest.approx(np.exp([-1.0, 0.0, 2.0, 0.5]))
    assert frame["error"].tolist() == [0.2, 0.3, 0.4, 0.1]
    assert frame["examples"].tolist() == [1, 2, 3, 9]
    count = replace(COUNT, examples=(0, 1, 2, 3)).to_frame()
    assert list(count) == ["values", "log_odds", "odds", "examples"]
    assert count["values"].tolist() == ["0", "1", "2 or more"]
    assert count["examples"].tolist() == [1, 2, 3]
    assert COUNT.effect.feature == Feature("count")


def many_effects(number):
    effects = [
        fitted(f"count [< {bound}: -1; else: 1] : bad(A) :- orders(A,B).", 1.0 / bound)
        for bound in range(number, 0, -1)
    ]
    return replace(MODEL, effects=tuple(effects))


def test_the_text_shows_the_most_important_effects_and_counts_the_others():
    assert str(MODEL).splitlines() == ["prior 1", str(COUNT), str(MEAN)]
    lines = str(many_effects(25)).splitlines()
    assert lines[1] == "count [< 1: -1; else: 1] : bad(A) :- orders(A,B)."
    assert lines[20:] == ["count [< 20: -1; else: 1] : bad(A) :- orders(A,B).", "and 5 more effects"]
    assert str(many_effects(21)).endswith("\nand 1 more effect")
    assert len(str(many_effects(20)).splitlines()) == 21


def test_a_notebook_shows_effects_with_sentences():
    html = MODEL._repr_html_()
    assert "2 effects of bad, prior +1" in html
    assert html.index("0.3") < html.index("0.1")
    assert "[&lt; 1: 0.25; &lt; 2: 0; else: -0.5]" in html
    assert "Bad is less likely the larger the number of the person&#39;s orders." in html
    assert "bias" not in html
    assert "and 5 more effects" in many_effects(25)._repr_html_()


def test_columns_that_are_always_zero_are_not_shown():
    clause = parse_clause("bad(A) :- orders(A,B).", SCHEMA)
    model = Model("bad", SCHEMA, 1.0, (WeightedClause(clause, (0.0, 0.125, 0.0), 3),))
    assert model.weight_columns() == (1,)
    html = model._repr_html_()
    assert ">true<" in html
    assert ">bias<" not in html
    assert ">false<" not in html
    full = replace(model, clauses=(*model.clauses, WeightedClause(clause, (0.5, 0.0, -1.0), 3)))
    assert all(f">{name}<" in full._repr_html_() for name in ("bias", "true", "false"))


def test_the_effects_of_a_model_are_a_data_frame():
    pytest.importorskip("pandas")
    frame = MODEL.to_frame()
    assert frame["importance"].tolist() == [0.3, 0.1]
    assert frame["feature"].tolist() == ["count", "mean C"]
    assert frame["effect"].tolist() == [str(COUNT), str(MEAN)]
    assert frame["sentence"].tolist()[0] == "Bad is less likely the larger the number of the person's orders."
    assert Model("bad", SCHEMA, 1.0, ()).to_frame().empty
