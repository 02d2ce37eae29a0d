"""Edits of models: what each does to a curve, how they are listed, and model files with edits."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from hornbeam.data.build import build
from hornbeam.engines.registry import open_engine
from hornbeam.errors import ModelError, OptionError
from hornbeam.logic.effects import Curve
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.logic.schema import NUMBER, Schema
from hornbeam.model.class_model import ClassModel
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.editing.curves import CHANGES, FALL, RISE, STRAIGHTEN
from hornbeam.model.editing.edits import Edit
from hornbeam.model.effects import FittedEffect, levels_of
from hornbeam.model.files import model_text, parse_model

SCHEMA = Schema(
    {"bad": ("person",), "orders": ("person", "order"), "amount": ("order", "amount_value")},
    {"amount_value": NUMBER},
)
MEAN, COUNT = "mean C : bad(A) :- orders(A,B), amount(B,C).", "count : bad(A) :- orders(A,B)."


def fitted(text, examples=(), importance=0.0):
    return FittedEffect(parse_effect(text, SCHEMA), importance, (), examples)


MODEL = Model(
    "bad",
    SCHEMA,
    -0.5,
    (WeightedClause(parse_clause("bad(A) :- orders(A,B), amount(B,C), C >= 5."), (0.0, 0.3, 0.0), 1),),
    {"average_log_odds": -0.2, "held_out_loss": 0.4},
    effects=(
        fitted("count [< 1: 0.4; < 2: -0.1; else: 0.2] : bad(A) :- orders(A,B).", (0, 10, 20, 10), 0.1),
        fitted(
            "mean C [missing: 0.3; < 2: -1; < 4: 1; < 6: 0; else: 2] : bad(A) :- orders(A,B), amount(B,C).",
            (10, 10, 10, 5, 5),
            0.9,
        ),
    ),
)


def curve_of(model, name):
    (curve,) = [each.effect.curve for each in model.effects if str(each.effect).startswith(name)]
    return curve


@pytest.mark.parametrize(
    ("edit", "curve"),
    [
        ("rise 1", Curve((2.0, 6.0), (-1.0, 2 / 3, 2.0), 0.3)),
        ("fall 2", Curve((1.0,), (0.4, 0.0), 0.0)),
        ("flatten 1", Curve((), (1 / 3,), 0.3)),
        ("round 2 to 0.25", Curve((1.0, 2.0), (0.5, 0.0, 0.25), 0.0)),
        ("round 2", Curve((1.0, 2.0), (0.4, -0.1, 0.2), 0.0)),
        ("round 1 to 4", Curve((), (0.0,), 0.0)),
    ],
)
def test_each_edit_makes_the_nearest_curve_of_its_shape(edit, curve):
    edited = MODEL.edited(edit)
    name = "mean" if " 1" in edit else "count"
    assert curve_of(edited, name)[:3] == (
        pytest.approx(curve.cuts), pytest.approx(curve.levels), pytest.approx(curve.missing)
    )  # fmt: skip
    other = "count" if name == "mean" else "mean"
    assert curve_of(edited, other) == curve_of(MODEL, other)


LEVELS = st.lists(
    st.tuples(st.floats(-5, 5), st.integers(1, 50), st.floats(0.01, 10)), min_size=1, max_size=12
)


@given(LEVELS)
def test_rising_and_falling_curves_are_the_isotonic_regressions(rows):
    levels, weights, gaps = (list(column) for column in zip(*rows, strict=True))
    curve = Curve(tuple(np.cumsum(gaps)[1:].tolist()), tuple(levels), 0.5)
    for change, rising in ((RISE, True), (FALL, False)):
        changed = CHANGES[change](curve, weights, curve)
        places = range(len(levels))
        wanted = IsotonicRegression(increasing=rising).fit(places, levels, weights).predict(places)
        assert changed.levels == pytest.approx(wanted.tolist(), abs=1e-9)
        assert (changed.cuts, changed.missing) == (curve.cuts, 0.5)


@given(LEVELS.filter(lambda rows: len(rows) > 2))
def test_a_straight_curve_is_the_line_of_least_squares_through_the_middles_of_its_ranges(rows):
    levels, weights, gaps = (list(column) for column in zip(*rows, strict=True))
    cuts = np.cumsum(gaps)[1:]
    middles = (cuts[1:] + cuts[:-1]) / 2
    places = np.array([2 * cuts[0] - middles[0], *middles, 2 * cuts[-1] - middles[-1]])
    curve = Curve(tuple(cuts.tolist()), tuple(levels))
    changed = CHANGES[STRAIGHTEN](curve, weights, curve)
    line = np.polyfit(places, levels, 1, w=np.sqrt(weights))
    assert changed.levels == pytest.approx(np.polyval(line, places).tolist(), abs=1e-6)


def test_an_effect_that_is_off_adds_its_mean_to_every_example():
    edited = MODEL.edited("off 1")
    assert [str(each.effect.feature) for each in edited.effects] == ["count"]
    assert edited.prior == pytest.approx(-0.5 + (10 * 0.3 - 10 + 10 + 0 + 10) / 40)
    assert edited.settings["average_log_odds"] == -0.2


def test_the_average_follows_the_edits_and_the_held_out_loss_is_dropped():
    edited = MODEL.edited("round 1 to 4")
    mean = (10 * 0.3 - 10 + 10 + 0 + 10) / 40
    assert edited.settings == {"average_log_odds": pytest.approx(-0.2 - mean)}
    assert "average_log_odds" not in MODEL.edited("off bad(P) :- orders(P,O), amount(O,V), V >= 5").settings


def test_numbers_are_those_of_the_model_before_its_first_edit():
    edited = MODEL.edited("off 1", "flatten 2", by=" Ann  Bee ")
    assert edited.edits == (Edit("off", MEAN, None, "Ann Bee"), Edit("flatten", COUNT, None, "Ann Bee"))
    assert edited == MODEL.edited("off 1", by="Ann Bee").edited(f"flatten {COUNT}", by="Ann Bee")


@pytest.mark.parametrize(
    "text",
    [
        "rise mean V : bad(P) :- orders(P,O), amount(O,V)",
        f"rise {MODEL.effects[1]}",
        "rise   1 ",
    ],
)
def test_an_effect_is_named_by_its_number_or_by_any_text_of_it(text):
    assert MODEL.edited(text) == MODEL.edited("rise 1")


def test_all_effects_are_edited_together():
    edited = MODEL.edited("round all to 0.5")
    assert [each.effect.curve for each in edited.effects] == [
        each.effect.curve for each in MODEL.edited("round 1 to 0.5", "round 2 to 0.5").effects
    ]
    assert edited.edits == (Edit("round", "all", 0.5),)


def test_edits_are_repeated_in_another_model_that_has_the_effects():
    other = replace(MODEL, prior=1.0, effects=MODEL.effects[::-1])
    edits = MODEL.edited("rise 1", "round all to 0.2", by="Ann").edits
    assert other.edited(*edits, by="Bob").edits == edits
    with pytest.raises(ModelError, match=r'the model has no effect "mean C : bad'):
        MODEL.edited("off 1").edited(*edits)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("remove 1", "must be one of off, flatten, straighten, rise, fall, round and an effect"),
        ("off 3", "there is no effect 3: the model has 2 effects"),
        ("off 0", "there is no effect 0"),
        ("rise 1 to 2", "round alone takes"),
        ("round 1 to -2", "round alone takes"),
        ("off max C : bad(A) :- orders(A,B), amount(B,C).", "name one by its number in hornbeam show"),
        ("off no such text", "names no effect"),
        ("rise bad(A) :- orders(A,B), amount(B,C), C >= 5.", "it can be switched off"),
    ],
)
def test_edits_that_cannot_be_made_are_refused(text, message):
    with pytest.raises((OptionError, ModelError), match=message):
        MODEL.edited(text)


def test_files_keep_edits_in_version_5():
    edited = MODEL.edited(
        "rise 1", "round 2 to 0.25", "off bad(A) :- orders(A,B), amount(B,C), C >= 5.", by="A"
    )
    document = json.loads(model_text(edited))
    assert document["edits"][:2] == [
        {"action": "rise", "by": "A", "effect": MEAN},
        {"action": "round", "by": "A", "effect": COUNT, "step": 0.25},
    ]
    assert parse_model(model_text(edited)) == edited
    classes = ClassModel("bad", SCHEMA, ("no", "yes"), (MODEL,), MODEL.settings)
    of_class = classes.edited("rise 1")
    assert parse_model(model_text(of_class)).models[0].edits == of_class.models[0].edits


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("action", "delete"),
        ("effect", "count : good(A) :- orders(A,B)."),
        ("effect", "mean X : bad(A) :- orders(A,B), amount(B,X)"),
        ("step", 0.5),
        ("by", ""),
        ("when", "today"),
    ],
)
def test_damaged_edits_are_refused(field, value):
    document = json.loads(model_text(MODEL.edited("rise 1")))
    document["edits"][0][field] = value
    with pytest.raises(ModelError, match=rf'"{field}" of edit 1'):
        parse_model(json.dumps(document))


def test_people_are_told_that_a_model_was_edited():
    edited = MODEL.edited("rise 1", by="<i>Ann</i>")
    assert "Edited:\n     made to rise: the mean amount of" in edited.words()
    assert f"edited: rise {MEAN}" in str(edited)
    assert "(by &lt;i&gt;Ann&lt;/i&gt;)" in edited._repr_html_()
    assert "Edited" not in MODEL.words()
    off = MODEL.edited("off bad(A) :- orders(A,B), amount(B,C), C >= 5.", "round all")
    assert off.edit_lines() == [
        "switched off: bad(A) :- amount(B, C), C ≥ 5, orders(A, B).",
        "rounded to multiples of 0.1: all effects",
    ]


def test_an_edited_model_of_several_classes_keeps_the_others():
    classes = ClassModel("bad", SCHEMA, ("a", "b", "c"), (MODEL, MODEL.edited("fall 1"), MODEL))
    edited = classes.edited("rise 1", of_class="b")
    assert edited.models == (classes.models[0], classes.models[1].edited("rise 1"), classes.models[2])
    with pytest.raises(OptionError, match="name the class to edit"):
        classes.edited("rise 1")


def test_predictions_of_an_edited_model_follow_its_curves():
    numbers = {"ann": 0, "bob": 1, "cyd": 3}
    who, what = zip(
        *[(name, f"{name}{n}") for name, most in numbers.items() for n in range(most)], strict=True
    )
    database = build(SCHEMA, (), {"orders": [who, what]}, ranges={"person": list(numbers)})
    engine = open_engine("memory", database)
    keys = database.encode_keys("bad", np.array([["ann"], ["bob"], ["cyd"]], dtype=object))
    edited = replace(MODEL, clauses=(), effects=MODEL.effects[:1]).edited("fall 1")
    curve = edited.effects[0].effect.curve
    expected = -0.5 + levels_of(curve, np.array([0.0, 1.0, 3.0]))
    assert edited.scores(engine, keys).tolist() == expected.tolist()
