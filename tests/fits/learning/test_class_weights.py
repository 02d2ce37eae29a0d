"""Weights of classes: fitted to held-out scores, blind to the order of examples, and kept in files."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import hornbeam as hb
from citations import tables
from hornbeam.data.relations import Examples
from hornbeam.errors import ModelError
from hornbeam.learning.losses.class_weights import class_weights
from hornbeam.model.class_model import PLAIN_WEIGHTS, ClassModel, ClassWeights
from hornbeam.model.files import model_text, parse_model

N_CLASSES = 4


def drawn(weights, size=3000, seed=0, wide=1.5):
    """Log-odds of classes, and labels drawn from the probabilities that weights make of them."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(-1.0, wide, size=(size, N_CLASSES))
    chances = weights.probabilities(scores)
    labels = (rng.random(size)[:, None] > np.cumsum(chances, axis=1)).sum(axis=1)
    return scores, np.minimum(labels, N_CLASSES - 1)


def examples(labels, weights=None):
    keys = np.arange(len(labels), dtype=np.int32).reshape(-1, 1)
    return Examples("kind", keys, labels.astype(np.int8), tuple("abcd"), weights=weights)


def fitted(scores, labels, weights=None):
    return class_weights(list(scores.T), examples(labels, weights))


@pytest.mark.parametrize("truth", [ClassWeights(0.0, 0.8), ClassWeights(1.2, 0.3), PLAIN_WEIGHTS])
def test_the_probabilities_from_which_labels_were_drawn_are_found(truth):
    found = fitted(*drawn(truth))
    others, _ = drawn(truth, seed=1)
    assert np.abs(found.probabilities(others) - truth.probabilities(others)).mean() < 0.02


def test_the_order_of_the_examples_does_not_matter():
    scores, labels = drawn(ClassWeights(0.2, 0.7), size=200)
    order = np.random.default_rng(3).permutation(len(labels))
    assert fitted(scores, labels) == fitted(scores[order], labels[order])


def test_an_example_that_counts_twice_is_two_examples():
    scores, labels = drawn(ClassWeights(0.2, 0.7), size=200)
    counts = np.where(np.arange(200) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(200), counts.astype(int))
    assert fitted(scores, labels, counts) == pytest.approx(fitted(scores[twice], labels[twice]), abs=2e-4)
    assert fitted(scores, labels, counts) != fitted(scores, labels)


def test_scores_without_any_error_do_not_make_probabilities_certain():
    scores, _ = drawn(PLAIN_WEIGHTS, size=60)
    found = fitted(scores, scores.argmax(axis=1))
    assert 0.0 < found.odds < 3.0
    assert 0.0 < found.chance < 3.0


def test_the_likeliest_class_stays_the_likeliest():
    scores, _ = drawn(PLAIN_WEIGHTS, size=500)
    scores *= 30.0  # probabilities that floats cannot tell from 0 and 1 are still in order
    for weights in (ClassWeights(0.3, 0.7), ClassWeights(-0.2, 0.5), ClassWeights(1.4, 0.01)):
        assert weights.rise
        found = weights.probabilities(scores)
        assert np.isfinite(found).all()
        assert (found.argmax(axis=1) == scores.argmax(axis=1)).all()


def test_without_held_out_scores_of_three_classes_weights_are_plain():
    scores, labels = drawn(ClassWeights(0.2, 0.7), size=100)
    of_all = list(scores.T)
    assert class_weights([*of_all[:3], None], examples(labels)) == PLAIN_WEIGHTS
    assert class_weights(of_all[:1], examples(labels)) == PLAIN_WEIGHTS
    nowhere = np.full(100, np.nan)
    assert class_weights([*of_all[:3], nowhere], examples(labels)) == PLAIN_WEIGHTS


def test_scores_that_mislead_give_no_weights_that_turn_them_round():
    scores, labels = drawn(ClassWeights(0.0, 1.0), size=400)
    assert fitted(-scores, labels) == PLAIN_WEIGHTS


def test_plain_weights_divide_probabilities_by_their_sum():
    scores, _ = drawn(PLAIN_WEIGHTS, size=50)
    each = 1.0 / (1.0 + np.exp(-scores))
    assert np.allclose(PLAIN_WEIGHTS.probabilities(scores), each / each.sum(axis=1, keepdims=True))


# --- models and their files ------------------------------------------------------------------


@cache
def model():
    found = tables(n_links=50, hint=0.6)
    database = hb.load(found, target="papers.topic")
    X, y = found["papers"][["paper_id"]].to_numpy(), found["papers"]["topic"].to_numpy()
    return hb.RLRClassifier(database=database, n_steps=20, n_bags=2).fit(X, y).model_


def test_a_fit_that_holds_out_examples_has_weights_and_its_file_keeps_them():
    found = model()
    assert isinstance(found, ClassModel)
    assert found.weights != PLAIN_WEIGHTS
    text = model_text(found)
    read = parse_model(text)
    assert read.weights == found.weights
    assert model_text(read) == text
    plain = replace(found, weights=PLAIN_WEIGHTS)
    assert parse_model(model_text(plain)).weights == PLAIN_WEIGHTS
    assert f"(p / (1 - p))^{found.weights.odds:g}" in str(found)


@pytest.mark.parametrize("wrong", ["[1.0]", "[1.0, 0.0]", "[0.5, -0.1]", "[-1.0, 0.5]", "[0.1, 0.2, 0.3]"])
def test_weights_that_make_no_sense_are_refused(wrong):
    found = model()
    text = model_text(replace(found, weights=ClassWeights(0.25, 0.75)))
    assert "0.25" in text
    damaged = text.replace('"weights": [0.25, 0.75]', f'"weights": {wrong}')
    damaged = damaged.replace('"weights": [\n    0.25,\n    0.75\n  ]', f'"weights": {wrong}')
    assert damaged != text
    with pytest.raises(ModelError, match="weights"):
        parse_model(damaged)


def test_a_rare_class_is_as_rare_as_in_all_examples():
    """Samples of negatives have all examples of a rare class, and few of the others."""
    rng = np.random.default_rng(5)
    size = 60_000
    scores = rng.normal([0.3, -0.3, -8.0, -8.0], [1.0, 1.0, 0.5, 0.5], size=(size, N_CLASSES))
    labels = np.minimum(
        (rng.random(size)[:, None] > np.cumsum(PLAIN_WEIGHTS.probabilities(scores), axis=1)).sum(axis=1), 3
    )
    left_out = (labels < 2) & (rng.random(size) < 0.95)
    sampled = scores.copy()
    sampled[left_out, 2] = np.nan
    found = fitted(sampled, labels)
    rare = found.probabilities(scores)[:, 2:].sum(axis=1).mean()
    assert rare == pytest.approx((labels >= 2).mean(), rel=0.3)
