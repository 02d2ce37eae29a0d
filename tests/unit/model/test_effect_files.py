"""Model files with effects: version 2, exact numbers, and damage is one sentence with its place."""

import json
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.errors import ModelError
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.logic.schema import DATE, NUMBER, Schema
from hornbeam.model.class_model import ClassModel
from hornbeam.model.clause_model import Model
from hornbeam.model.effects import FittedEffect
from hornbeam.model.files import load_model, model_text, parse_model
from hornbeam.model.training import Training, is_training_data, key_names, training_of

SCHEMA = Schema(
    {
        "bad": ("person",),
        "orders": ("person", "order"),
        "amount": ("order", "amount_value"),
        "born": ("person", "day"),
    },
    {"amount_value": NUMBER, "day": DATE},
)
EFFECTS = (
    FittedEffect(
        parse_effect(
            "mean C [missing: -0.2; < 3: -0.1; else: 0.4] : bad(A) :- last 5 orders(A,B), amount(B,C).",
            SCHEMA,
        ),
        0.25,
        (0.1, 0.2, 1 / 3),
        (3, 0, 12),
    ),
    FittedEffect(parse_effect("min B [< 2001-01-01: 1; else: 0] : bad(A) :- born(A,B).", SCHEMA)),
)
TRAINING = training_of([["ann"], ["bob"]])
MODEL = Model("bad", SCHEMA, -0.1, (), {"seed": 0}, effects=EFFECTS, training=TRAINING)


def test_the_layout_is_fixed():
    assert model_text(MODEL) == (
        "{\n"
        '  "clauses": [],\n'
        '  "effects": [\n'
        '    {"clause": "bad(A) :- last 5 orders(A,B), amount(B,C).", "cuts": [3.0], "errors": [0.1, 0.2, '
        '0.3333333333333333], "examples": [3, 0, 12], "feature": "mean C", "importance": 0.25, "levels": '
        '[-0.1, 0.4], "missing": -0.2},\n'
        '    {"clause": "bad(A) :- born(A,B).", "cuts": ["2001-01-01"], "errors": [], "examples": [], '
        '"feature": "min B", "importance": 0.0, "levels": [1.0, 0.0], "missing": 0.0}\n'
        "  ],\n"
        '  "format_version": 1,\n'
        '  "learner": "rlr",\n'
        '  "numeric": {\n    "amount_value": "number",\n    "day": "date"\n  },\n'
        '  "prior": -0.1,\n'
        '  "schema": {\n    "amount": ["order", "amount_value"],\n    "bad": ["person"],\n'
        '    "born": ["person", "day"],\n    "orders": ["person", "order"]\n  },\n'
        '  "settings": {\n    "seed": 0\n  },\n'
        '  "target": "bad",\n'
        '  "training": {\n    "examples": 2,\n    "keys": "' + TRAINING.keys + '"\n  }\n'
        "}\n"
    )
    assert parse_model(model_text(MODEL)) == MODEL


@pytest.mark.parametrize("changes", [{"effects": (), "training": None}, {"effects": ()}, {"training": None}])
def test_effects_and_training_keys_may_be_absent(changes):
    model = replace(MODEL, **changes)
    assert parse_model(model_text(model)) == model


def test_models_of_classes_hold_effects():
    plain = replace(MODEL, effects=(), training=None)
    classes = ClassModel("bad", SCHEMA, ("a", "b", "c"), (plain, MODEL, plain), {"seed": 0})
    text = model_text(classes)
    back = parse_model(text)
    assert model_text(back) == text
    assert back.models[1].effects == EFFECTS
    assert back.predicates() == ("amount", "born", "orders")
    with pytest.raises(ModelError, match=r'"levels" of effect 1 of model 2 must be 2 numbers'):
        parse_model(text.replace("[-0.1, 0.4]", "[-0.1]"))


def damaged(**changes):
    document = json.loads(model_text(MODEL))
    for name, value in changes.items():
        if value is ...:
            del document[name]
        else:
            document[name] = value
    return json.dumps(document)


def effect(**changes):
    first = json.loads(model_text(MODEL))["effects"][0]
    return damaged(effects=[{name: value for name, value in (first | changes).items() if value is not ...}])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (damaged(effects={}), '"effects" must be a list, found {}.'),
        (damaged(effects=[3]), '"effects" must be a list of JSON objects, found 3.'),
        (damaged(training=[]), '"training" must be a JSON object, found [].'),
        (damaged(training={"examples": 3}), 'field "keys" of "training" is missing; the file is damaged.'),
        (
            damaged(training={"examples": -3, "keys": "0" * 32}),
            '"examples" of "training" must be a whole number',
        ),
        (
            damaged(training={"examples": 3, "keys": "x"}),
            '"keys" of "training" must be 32 hexadecimal digits',
        ),
        (
            damaged(training={"examples": 3, "keys": "0" * 32, "more": 1}),
            'unknown field "more" of "training"',
        ),
        (effect(clause=...), 'm.json: field "clause" of effect 1 is missing; the file is damaged.'),
        (effect(feature=...), 'field "feature" of effect 1 is missing; the file is damaged.'),
        (effect(missing=...), 'field "missing" of effect 1 is missing; the file is damaged.'),
        (
            effect(feature="maen C"),
            '"feature" of effect 1 must be a feature of the model\'s schema (feature:1:1: no feature "maen".',
        ),
        (
            effect(feature="mean D"),
            '"feature" of effect 1 must be a feature of the model\'s schema '
            "(feature:1:6: variable D has no value in the body.",
        ),
        (effect(feature="mean B"), '(feature:1:6: "mean" needs a number, but variable B is of type order'),
        (
            effect(clause="bad(A) :- lost 5 orders(A,B)."),
            '"clause" of effect 1 must be a clause of the model\'s '
            'schema (clause:1:16: expected "(" after the predicate name, found "5".)',
        ),
        (effect(clause="bad(A) :- foes(A,C)."), 'schema (clause:1:11: no predicate "foes".'),
        (effect(clause="born(A,C) :- true.", feature="count"), 'must be a clause with head "bad"'),
        (effect(cuts=[3, 2]), '"cuts" of effect 1 must be in ascending order, each once, found'),
        (effect(cuts=[3, 3]), '"cuts" of effect 1 must be in ascending order, each once, found'),
        (effect(cuts=["x"]), "\"cuts\" of effect 1 must be numbers, or dates such as 2001-12-31, found 'x'."),
        (effect(cuts=["3"]), "\"cuts\" of effect 1 must be numbers, or dates such as 2001-12-31, found '3'."),
        (effect(cuts=[None]), '"cuts" of effect 1 must be a finite number, found None.'),
        (effect(cuts=["2001-01-01"]), '"cuts" of effect 1 must be numbers (the feature "mean C" is a number'),
        (
            effect(cuts=[1, "2001-01-01"], levels=[1, 2, 3]),
            '"cuts" of effect 1 must be all numbers or all dates',
        ),
        (effect(levels=[1]), '"levels" of effect 1 must be 2 numbers, one more than cuts, found [1.0].'),
        (effect(levels=[1, 10**400]), '"levels" of effect 1 must be a finite number'),
        (effect(missing=True), '"missing" of effect 1 must be a finite number, found True.'),
        (effect(importance=-1), '"importance" of effect 1 must be a number of at least 0, found -1.0.'),
        (effect(errors=[1, 2]), '"errors" of effect 1 must be empty, or 3 numbers of at least 0'),
        (effect(errors=[1, 2, -1]), '"errors" of effect 1 must be empty, or 3 numbers of at least 0'),
        (effect(examples=[1, 2]), '"examples" of effect 1 must be empty, or 3 numbers of at least 0'),
        (
            effect(examples=[1, 2, 0.5]),
            '"examples" of effect 1 must be a whole number of at least 0, found 0.5.',
        ),
        (effect(comment="mine"), 'unknown field "comment" of effect 1; remove it.'),
    ],
)
def test_damage_is_one_sentence(tmp_path, text, sentence):
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(ModelError) as caught:
        load_model(tmp_path / "m.json")
    message = str(caught.value).replace(str(tmp_path) + "/", "")
    assert message.startswith("m.json: ")
    assert sentence in message
    assert "\n" not in message


def test_the_fingerprint_depends_on_the_keys_and_not_on_their_order():
    assert training_of([["a", "b"], ["c", "d"]]) == training_of([["c", "d"], ["a", "b"], ["a", "b"]])
    assert training_of([["a", "b"]]) != training_of([["a,b"]])
    assert training_of([["a", "b"]]) != training_of([["b", "a"]])
    assert training_of([]).examples == 0
    assert len({training_of([[name]]).keys for name in ("", "a", "A", "\n", '"', "\ud800")}) == 6


def test_training_data_are_recognised():
    assert is_training_data(MODEL, [["bob"], ["ann"]]) is True
    assert is_training_data(MODEL, [["bob"]]) is False
    assert is_training_data(replace(MODEL, training=None), [["bob"]]) is None
    classes = ClassModel("bad", SCHEMA, ("a", "b"), (MODEL,))
    assert is_training_data(classes, np.array([["ann"], ["bob"]], dtype=object)) is True


def test_examples_with_cut_offs_are_told_apart_by_them():
    days = [float(datetime(2020, 1, day).timestamp()) * 1e6 for day in (1, 2)]
    facts = {"orders": [["ann", "ann"], ["o1", "o2"]]}
    database = build(SCHEMA, (), facts, ranges={"person": ["ann"]}, times={"orders": days})
    from hornbeam.data.database import Examples

    examples = Examples(
        "bad", np.zeros((2, 1), dtype=np.int32), np.array([0, 1], dtype=np.int8), cutoffs=np.array(days)
    )
    names = key_names(database, examples)
    assert [len(row) for row in names] == [2, 2]
    assert training_of(names) == Training(2, training_of(reversed(names)).keys)
    assert training_of(names) != training_of(key_names(database, replace(examples, cutoffs=None)))
