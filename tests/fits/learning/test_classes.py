"""Targets with several classes: probabilities that sum to one, files that read back, classes by name."""

import math

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.data.database import Examples
from hornbeam.engines.registry import open_engine
from hornbeam.errors import DataError, ModelError, OptionError
from hornbeam.estimators.learners import AggLRClassifier, RLRClassifier
from hornbeam.learning.classes import fit_classes
from hornbeam.learning.history import History
from hornbeam.learning.loop import Control
from hornbeam.learning.options import EffectOptions
from hornbeam.logic.parse import parse_mode
from hornbeam.logic.schema import Schema
from hornbeam.model.class_model import ClassModel
from hornbeam.model.editing.edits import effect_name
from hornbeam.model.files import load_model, model_text, parse_model, save_model
from hornbeam.model.scales import softmax
from plain_options import FEW

COLOURS = ("blue", "green", "red")


def world(classes=COLOURS):
    """Thirty things, each marked by a predicate of its own class; every tenth mark is missing."""
    names = [f"t{number}" for number in range(30)]
    labels = [classes[number % len(classes)] for number in range(30)]
    facts = {
        f"looks_{colour}": [[n for i, n in enumerate(names) if labels[i] == colour and i % 10]]
        for colour in classes
    }
    schema = Schema(dict.fromkeys([*facts, "colour"], ("thing",)))
    modes = [parse_mode(f"{name}(+thing).") for name in facts]
    return (
        build(schema, modes, facts, ranges={"thing": names}),
        np.array(names).reshape(-1, 1),
        np.array(labels),
    )


def fitted(**options):
    database, X, y = world()
    return RLRClassifier(database, "colour", **(FEW | {"n_steps": 3} | options)).fit(X, y), X, y


def test_probabilities_sum_to_one_and_find_the_class():
    model, X, y = fitted()
    assert model.classes_.tolist() == list(COLOURS)
    found = model.predict_proba(X)
    assert found.shape == (30, 3)
    assert np.abs(found.sum(axis=1) - 1.0).max() < 1e-12
    marked = np.arange(30) % 10 != 0
    assert (model.predict(X)[marked] == y[marked]).all()


def test_a_class_s_probability_is_its_model_s_share():
    """Of a learner of labels: the probabilities of models fitted one by one, divided by their sum."""
    database, X, y = world()
    each = [apart(database).fit(X, (y == colour).astype(int)).predict_proba(X)[:, 1] for colour in COLOURS]
    expected = np.column_stack(each) / np.sum(each, axis=0)[:, None]
    assert np.allclose(apart(database).fit(X, y).predict_proba(X), expected, rtol=0, atol=1e-15)


def apart(database):
    return RLRClassifier(database, "colour", preset="paper", n_steps=3)


def test_classes_that_are_learned_together_have_the_same_effects():
    model, X, _ = fitted()
    members = model.model_.together()
    bodies = [[effect_name(each.effect) for each in member.effects] for member in members]
    assert bodies[0] == bodies[1] == bodies[2]
    cuts = [[each.effect.curve.cuts for each in member.effects] for member in members]
    assert cuts[0] == cuts[1] == cuts[2]
    scores = model.predict_contributions(X)
    size = len(bodies[0])
    sums = [scores[:, k * size : (k + 1) * size].sum(axis=1) + members[k].prior for k in range(3)]
    assert softmax(np.column_stack(sums)) == pytest.approx(model.predict_proba(X))
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_a_prior_says_the_probabilities_of_an_average_example():
    model, _, _ = fitted()
    averages = model.model_.averages
    assert np.exp(averages).sum() == pytest.approx(1.0, abs=1e-5)
    # In each bin of an effect, the probabilities of an otherwise average example are whole.
    for row in zip(*(member.effects for member in model.model_.together()), strict=True):
        for level in range(len(row[0].effect.curve.levels)):
            chances = [math.exp(average + each.effect.curve.levels[level])
                       for average, each in zip(averages, row, strict=True)]  # fmt: skip
            assert sum(chances) == pytest.approx(1.0, abs=1e-4)


def test_the_order_of_rows_and_the_number_of_jobs_change_nothing():
    database, X, y = world()
    options = {"n_bags": 3, "n_steps": 20, "validate": True}
    first = RLRClassifier(database, "colour", **options).fit(X, y)
    order = np.random.default_rng(1).permutation(len(X))
    again = RLRClassifier(database, "colour", n_jobs=2, **options).fit(X[order], y[order])
    assert model_text(again.model_) == model_text(first.model_)
    assert again.held_out_scores_ == pytest.approx(first.held_out_scores_[order], nan_ok=True)


def test_two_classes_need_one_model():
    database, X, y = world(("no", "yes"))
    model = RLRClassifier(database, "colour", n_steps=3, **FEW).fit(X, y)
    assert isinstance(model.model_, ClassModel)
    assert len(model.model_.models) == 1
    expected = RLRClassifier(database, "colour", n_steps=3, **FEW).fit(X, (y == "yes").astype(int))
    assert np.array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert str(model.model_).endswith("class no\nevery other example")


def test_labels_0_and_1_are_no_classes_but_numbers_are():
    database, X, y = world()
    numbers = np.array([COLOURS.index(colour) for colour in y])
    two = RLRClassifier(database, "colour", n_steps=1, **FEW).fit(X, (numbers == 0).astype(int))
    assert not isinstance(two.model_, ClassModel)
    three = RLRClassifier(database, "colour", n_steps=1, **FEW).fit(X, numbers + 5)
    assert three.classes_.tolist() == [5, 6, 7]
    assert three.model_.classes == ("5", "6", "7")


@pytest.mark.parametrize("classifier", [RLRClassifier, AggLRClassifier])
def test_a_file_reads_back_and_predicts_the_same(tmp_path, classifier):
    database, X, y = world()
    options = FEW if classifier is RLRClassifier else {}
    model = classifier(database, "colour", **options).fit(X, y)
    save_model(model.model_, tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert model_text(again) == (tmp_path / "m.json").read_text()
    assert again.classes == COLOURS
    copy = classifier(database, "colour", **options).fit(X, y)
    copy.model_ = again
    assert np.array_equal(copy.predict_proba(X), model.predict_proba(X))


def test_the_text_of_a_model_names_each_class():
    model, _, _ = fitted(n_steps=1)
    text = str(model.model_)
    assert [line for line in text.splitlines() if line.startswith("class")] == [
        "class blue",
        "class green",
        "class red",
    ]
    assert text.count(": colour(A) :- looks_") == 3


def test_an_explanation_is_that_of_the_most_probable_class():
    model, X, y = fitted()
    explained = model.explain(X[1:2])[0]
    first = explained.reasons[0]
    assert str(first.effect).endswith(f": colour(A) :- looks_{y[1]}(A).")


def test_classes_apart_have_a_history_each():
    database, X, y = world()
    assert list(apart(database).fit(X, y).history_) == list(COLOURS)
    assert isinstance(fitted()[0].history_, History)


def test_a_fit_of_classes_goes_on_from_a_checkpoint(tmp_path):
    database, X, y = world()
    engine = open_engine("memory", database)
    keys = database.encode_keys("colour", X.astype(object))
    labels = np.array([COLOURS.index(each) for each in y], dtype=np.int8)
    examples, options = Examples("colour", keys, labels, COLOURS), EffectOptions(n_bags=2, n_steps=30)
    whole = fit_classes("rlr", engine, examples, options)
    stop = iter([None] * 12)
    cut = Control(checkpoint=tmp_path, should_stop=lambda: next(stop, "time limit"))
    assert fit_classes("rlr", engine, examples, options, cut).history.cut
    again = fit_classes("rlr", engine, examples, options, Control(checkpoint=tmp_path))
    assert model_text(again.model) == model_text(whole.model)


@pytest.mark.parametrize("option", [{"prior": -1.0}, {"rising": ("looks",)}])
def test_options_of_one_score_are_refused(option):
    with pytest.raises(OptionError, match="classes"):
        fitted(**option)


def test_a_class_without_a_model_is_named():
    model, _, _ = fitted()
    with pytest.raises(OptionError, match=r'no model of class "pink"\. Classes with a model are: blue'):
        model.model_.member("pink")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"blue",', '"red",', '"classes" must be at least two different texts'),
        ('"class": "blue"', '"class": "pink"', "the models are of the classes pink, green, red"),
        (
            '"learner": "rlr"',
            '"learner": "one-vs-rest"',
            '"learner" of model 1 must be a learner of one class',
        ),
        ('"learner": "rlr"', '"learner": "x"', 'unknown learner "x"'),
    ],
)
def test_a_damaged_file_is_refused(old, new, sentence):
    database, X, y = world()
    text = model_text(apart(database).fit(X, y).model_)
    assert old in text
    with pytest.raises(ModelError) as error:
        parse_model(text.replace(old, new))
    assert sentence in str(error.value)


def test_a_class_without_examples_is_refused():
    database, X, _ = world()
    engine = open_engine("memory", database)
    keys = database.encode_keys("colour", X.astype(object))
    labels = (np.arange(30) % 2).astype(np.int8)
    with pytest.raises(DataError, match='no example of "colour" has class "red"'):
        fit_classes("rlr", engine, Examples("colour", keys, labels, COLOURS), EffectOptions())
