"""Classes that were learned together: one file, one list of effects, edits of one class or of all."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.engines.registry import open_engine
from hornbeam.errors import ModelError, OptionError
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.logic.schema import Schema
from hornbeam.model.class_model import ClassModel, learned_together
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.effects import FittedEffect
from hornbeam.model.explain import explain
from hornbeam.model.files import model_text, parse_model
from hornbeam.model.scales import SOFTMAX, softmax

SCHEMA = Schema(
    {"kind": ("person",), "orders": ("person", "order"), "amount": ("order", "money")}, {"money": "number"}
)
CLASSES = ("a", "b", "c")
COUNT = "count [< 1: {}; < 3: {}; else: {}] : kind(A) :- orders(A,B)."
MEAN = "mean C [missing: {}; < 2: {}; else: {}] : kind(A) :- orders(A,B), amount(B,C)."
LEVELS = {
    "a": ((-1.0, 0.5, 1.0), (0.1, -0.25, 0.25)),
    "b": ((0.5, -0.5, -1.0), (0.0, 0.5, -0.5)),
    "c": ((0.25, 0.0, -0.125), (-0.1, 0.1, 0.2)),
}
PRIORS = {"a": -1.0, "b": -0.5, "c": -2.0}


def member(name):
    count, mean = LEVELS[name]
    effects = (
        FittedEffect(parse_effect(COUNT.format(*count), SCHEMA), 0.5, (0.0, 0.1, 0.1, 0.2), (0, 3, 2, 1)),
        FittedEffect(parse_effect(MEAN.format(*mean), SCHEMA), 0.1, (0.1, 0.1, 0.1), (3, 2, 1)),
    )
    return Model("kind", SCHEMA, PRIORS[name], (), {"seed": 1}, effects=effects, loss=SOFTMAX)


AVERAGES = tuple(round(math.log(share), 6) for share in (0.5, 0.3, 0.2))
MODEL = learned_together(CLASSES, [member(name) for name in CLASSES], AVERAGES)


def weighed():
    """The model with weights of two orders."""
    clause = parse_clause("kind(A) :- orders(A,B).", SCHEMA)
    members = [
        replace(each, clauses=(WeightedClause(clause, (0.0, 0.0, 0.0), 0, "log", 1,
                                              (("o1", 0.5 * place), ("o2", -0.25))),))
        for place, each in enumerate(MODEL.together())
    ]  # fmt: skip
    return learned_together(CLASSES, members, AVERAGES)


@pytest.fixture(scope="module")
def engine():
    amounts = {"o1": "1", "o2": "3", "o3": "5", "o4": "1"}
    who = ["ann", "bob", "bob", "bob"]
    facts = {"orders": [who, [*amounts]], "amount": [[*amounts], [*amounts.values()]]}
    return open_engine("memory", build(SCHEMA, (), facts, ranges={"person": ["ann", "bob", "cyd"]}))


@pytest.fixture(scope="module")
def keys(engine):
    return engine.database.encode_keys("kind", np.array([["ann"], ["bob"], ["cyd"]], dtype=object))


@pytest.mark.parametrize("model", [MODEL, weighed(), learned_together(CLASSES, MODEL.together())])
def test_a_file_reads_back(model, engine, keys):
    text = model_text(model)
    back = parse_model(text)
    assert back == model
    assert model_text(back) == text
    assert back.probabilities(engine, keys).tobytes() == model.probabilities(engine, keys).tobytes()


def test_a_file_has_each_effect_once():
    document = json.loads(model_text(weighed()))
    assert document["learner"] == "softmax"
    assert [each["clause"] for each in document["effects"]] == [
        "kind(A) :- orders(A,B).",
        "kind(A) :- orders(A,B), amount(B,C).",
    ]
    assert document["effects"][0]["levels"] == [list(LEVELS[name][0]) for name in CLASSES]
    assert document["clauses"][0]["constants"] == {"o1": [0.0, 0.5, 1.0], "o2": [-0.25, -0.25, -0.25]}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"priors": [0.0, 0.0]}, '"priors" must be 3 numbers, one for each class'),
        ({"averages": [0.0]}, '"averages" must be 3 numbers, one for each class'),
        ({"classes": ["a", "a", "b"]}, '"classes" must be at least two different texts'),
        (
            {"levels": [[0.0, 0.0, 0.0]]},
            '"levels" of effect 1 must be a list of 3 values, one for each class',
        ),
        ({"levels": [[0.0], [0.0], [0.0]]}, '"levels" of effect 1 must be 3 numbers'),
        ({"missing": [0.0, 0.0]}, '"missing" of effect 1 must be a list of 3 values'),
        ({"strange": 1}, 'unknown field "strange" of effect 1'),
        ({"more": 1}, 'unknown field "more"'),
    ],
)
def test_a_damaged_file_is_refused(change, sentence):
    document = json.loads(model_text(MODEL))
    for name, value in change.items():
        (document["effects"][0] if name in ("levels", "missing", "strange") else document)[name] = value
    with pytest.raises(ModelError) as error:
        parse_model(json.dumps(document))
    assert sentence in str(error.value)


def test_probabilities_are_the_softmax_of_the_sums(engine, keys):
    # Ann has one order of 1, bob three with a mean of 3, and cyd none.
    expected = []
    for count, mean in ((1, 1), (2, 2), (0, 0)):
        levels = [LEVELS[name] for name in CLASSES]
        priors = [PRIORS[name] for name in CLASSES]
        expected.append([p + own[0][count] + own[1][mean] for p, own in zip(priors, levels, strict=True)])
    scores = np.array(expected)
    assert MODEL.scores(engine, keys) == pytest.approx(scores)
    assert MODEL.probabilities(engine, keys) == pytest.approx(softmax(scores))
    for place, (_, each) in enumerate(MODEL.members()):
        assert each.probabilities(engine, keys) == pytest.approx(softmax(scores)[:, place])
        assert each.scores(engine, keys) == pytest.approx(scores[:, place])


def test_an_explanation_adds_up_to_the_score_and_says_the_probability(engine, keys):
    explained = explain(MODEL.member("b"), engine, keys[1], ("bob",)).of_class("b")
    assert explained.prior + sum(reason.contribution for reason in explained.reasons) == pytest.approx(
        explained.log_odds
    )
    assert explained.probability == pytest.approx(MODEL.probabilities(engine, keys)[1, 1])
    assert str(explained).startswith("Person bob: kind b with probability ")
    assert ", score " in str(explained).splitlines()[0]
    assert set(explained.as_dict()) >= {"score", "probability"}


def test_all_classes_are_shown_side_by_side():
    text = MODEL.words()
    assert text.startswith("Which kind do persons have?\n2 effects on 3 classes")
    assert "Probabilities of an average person: a 50 %, b 30 %, c 20 %" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["value", "a", "b", "c", "examples"] in lines
    assert ["0", "18", "%", "49", "%", "26", "%", "3"] in lines
    assert "     count : kind(A) :- orders(A,B)." in text


def test_one_class_is_shown_with_its_levels():
    text = MODEL.member("b").shown_for("b").words()
    assert "2 effects, prior -0.5; probability of an average person: 30 %" in text
    assert "× 1.65         49 %         3" in text
    assert COUNT.format(0.5, -0.5, -1) in text


def test_more_classes_than_fit_are_the_ones_that_move_most():
    names = [f"class{number}" for number in range(9)]
    own = member("a").effects
    members = [
        replace(member("a"), effects=tuple(replace(each, importance=number / 10) for each in own))
        for number in range(9)
    ]
    text = learned_together(names, members).words()
    assert "The 6 classes of 9 that it moves most:" in text
    assert "class3  class4  class5  class6  class7  class8" in text


def test_an_edit_of_one_class_leaves_the_others():
    edited = MODEL.edited("rise 1", by="Ann", of_class="b")
    assert isinstance(edited, ClassModel)
    before, after = (model.together() for model in (MODEL, edited))
    assert [each.effects[0].effect.curve.levels for each in after][::2] == [
        each.effects[0].effect.curve.levels for each in before
    ][::2]
    levels = after[1].effects[0].effect.curve.levels
    assert sorted(levels) == list(levels)
    assert after[1].effects[0].effect.curve.cuts == before[1].effects[0].effect.curve.cuts
    assert "class b: made to rise: the number of the person's orders (by Ann)" in edited.words()
    assert parse_model(model_text(edited)) == edited
    # Probabilities of an average example are not known any more.
    assert edited.averages == ()


def test_all_classes_are_edited_if_none_is_named(engine, keys):
    edited = MODEL.edited("off 1")
    assert [len(each.effects) for each in edited.together()] == [1, 1, 1]
    means = [np.average(LEVELS[name][0], weights=[3, 2, 1]) for name in CLASSES]
    assert [each.prior for each in edited.together()] == pytest.approx(
        [PRIORS[name] + mean for name, mean in zip(CLASSES, means, strict=True)]
    )
    assert "Edited:\n     switched off: the number of the person's orders" in edited.words()
    flat = MODEL.edited("flatten 2").together()[0].effects[1].effect.curve
    assert len(set(flat.levels)) == 1
    assert parse_model(model_text(edited)) == edited
    with pytest.raises(OptionError, match='"rise 1" needs a class'):
        MODEL.edited("rise 1")
    with pytest.raises(OptionError, match="there is no effect 3"):
        MODEL.edited("off 3")
    with pytest.raises(OptionError, match=r'no model of class "d"'):
        MODEL.edited("off 1", of_class="d")


def test_an_effect_that_is_off_in_one_class_stays_in_the_others():
    edited = MODEL.edited("off 1", of_class="a")
    assert [len(each.effects) for each in edited.together()] == [2, 2, 2]
    assert set(edited.together()[0].effects[0].effect.curve.levels) == {0.0}
    twice = edited.edited("off 1", of_class="b").edited("off 1", of_class="c")
    # Number 1 of a class is its most important effect.
    assert [len(each.effects) for each in twice.together()] == [1, 1, 1]


def test_weights_may_be_switched_off():
    clause = "off kind(A) :- orders(A,B)."
    assert weighed().edited(clause).together()[0].clauses == ()
    one = weighed().edited(clause, of_class="c")
    assert [[weight for _, weight in each.clauses[0].constants] for each in one.together()] == [
        [0.0, -0.25],
        [0.5, -0.25],
        [0.0, 0.0],
    ]
