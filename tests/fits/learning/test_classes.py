"""Targets with several classes: probabilities that sum to one, files that read back, classes by name."""

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.data.database import Examples
from hornbeam.errors import DataError, ModelError, OptionError
from hornbeam.estimators.learners import AggLRClassifier, RLRClassifier
from hornbeam.logic.parse import parse_mode
from hornbeam.logic.schema import Schema
from hornbeam.model.class_model import ClassModel
from hornbeam.model.files import load_model, model_text, parse_model, save_model
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
    """Against the models fitted one by one: their probabilities, divided by their sum.

    Nothing is held out here, so there are no weights of classes.
    """
    model, X, y = fitted()
    each = [fit_one(X, y == colour) for colour in COLOURS]
    expected = np.column_stack(each) / np.sum(each, axis=0)[:, None]
    assert np.allclose(model.predict_proba(X), expected, rtol=0, atol=1e-15)


def fit_one(X, y):
    database, _, _ = world()
    one = RLRClassifier(database, "colour", n_steps=3, **FEW).fit(X, y.astype(int))
    return one.predict_proba(X)[:, 1]


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
    assert ": colour(A) :- looks_red(A)." in text


def test_an_explanation_is_that_of_the_most_probable_class():
    model, X, y = fitted()
    explained = model.explain(X[1:2])[0]
    first = explained.reasons[0]
    assert str(first.effect).endswith(f": colour(A) :- looks_{y[1]}(A).")


def test_the_history_is_kept_by_class():
    model, _, _ = fitted()
    assert list(model.history_) == list(COLOURS)


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
    model, _, _ = fitted()
    text = model_text(model.model_)
    assert old in text
    with pytest.raises(ModelError) as error:
        parse_model(text.replace(old, new))
    assert sentence in str(error.value)


def test_a_class_without_examples_is_refused():
    from hornbeam.engines.registry import open_engine
    from hornbeam.learning.classes import fit_classes
    from hornbeam.learning.options import EffectOptions

    database, X, _ = world()
    engine = open_engine("memory", database)
    keys = database.encode_keys("colour", X.astype(object))
    labels = (np.arange(30) % 2).astype(np.int8)
    with pytest.raises(DataError, match='no example of "colour" has class "red"'):
        fit_classes("rlr", engine, Examples("colour", keys, labels, COLOURS), EffectOptions())
