"""Scores against scikit-learn's, on random data full of ties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, brier_score_loss, log_loss, roc_auc_score

from hornbeam.errors import DataError
from hornbeam.model.evaluate import evaluate
from strategies import CASES


@st.composite
def predictions(draw):
    size = draw(st.integers(2, 60))
    labels = draw(st.lists(st.sampled_from([0, 1]), min_size=size, max_size=size))
    labels[0], labels[1] = 0, 1
    levels = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.5000001, 0.9, 1.0]) | st.floats(0, 1)
    probabilities = draw(st.lists(levels, min_size=size, max_size=size))
    return np.array(labels), np.array(probabilities)


@given(predictions())
@settings(max_examples=max(CASES // 8, 1), deadline=None)
def test_scores_equal_scikit_learn(prediction):
    labels, probabilities = prediction
    scores = evaluate(labels, probabilities, draws=2)
    assert scores.auc_roc == pytest.approx(roc_auc_score(labels, probabilities), abs=1e-12)
    assert scores.auc_pr == pytest.approx(average_precision_score(labels, probabilities), abs=1e-12)
    assert scores.log_loss == pytest.approx(log_loss(labels, probabilities, labels=[0, 1]), rel=1e-9)
    assert scores.brier == pytest.approx(brier_score_loss(labels, probabilities), abs=1e-12)
    assert (scores.n_pos, scores.n_neg) == (labels.sum(), (1 - labels).sum())


def test_large_data_with_many_ties_equal_scikit_learn():
    generator = np.random.default_rng(1)
    labels = (generator.random(200_000) < 0.01).astype(int)
    probabilities = np.round(generator.random(200_000) * 0.5 + 0.3 * labels, 2)
    scores = evaluate(labels, probabilities, draws=3)
    assert scores.auc_roc == pytest.approx(roc_auc_score(labels, probabilities), abs=1e-12)
    assert scores.auc_pr == pytest.approx(average_precision_score(labels, probabilities), abs=1e-12)


def test_the_order_of_rows_changes_nothing():
    generator = np.random.default_rng(2)
    labels = (generator.random(500) < 0.1).astype(int)
    probabilities = np.round(generator.random(500), 1)
    order = generator.permutation(500)
    assert (
        evaluate(labels, probabilities).auc_pr_2to1
        == evaluate(labels[order], probabilities[order]).auc_pr_2to1
    )


def test_two_to_one_is_the_mean_over_samples_of_twice_as_many_negatives():
    generator = np.random.default_rng(3)
    labels = np.array([1] * 20 + [0] * 1000)
    probabilities = np.concatenate([generator.normal(0.6, 0.1, 20), generator.normal(0.4, 0.1, 1000)]).clip(
        0, 1
    )
    scores = evaluate(labels, probabilities, draws=400)
    expected = []
    for _ in range(400):
        rows = np.concatenate([np.arange(20), 20 + generator.permutation(1000)[:40]])
        expected.append(average_precision_score(labels[rows], probabilities[rows]))
    assert scores.auc_pr_2to1 == pytest.approx(np.mean(expected), abs=0.01)
    assert scores.auc_pr_2to1 > scores.auc_pr + 0.1


def test_two_to_one_keeps_all_negatives_where_there_are_fewer():
    scores = evaluate([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.1])
    assert scores.auc_pr_2to1 == scores.auc_pr


def test_the_seed_repeats_the_draws():
    labels = np.array([1] * 5 + [0] * 100)
    probabilities = np.random.default_rng(4).random(105)
    first = evaluate(labels, probabilities, draws=3, seed=7)
    assert first == evaluate(labels, probabilities, draws=3, seed=7)
    assert first.auc_pr_2to1 != evaluate(labels, probabilities, draws=3, seed=8).auc_pr_2to1


def test_wrong_and_certain_costs_much_but_not_infinity():
    assert 17 < evaluate([1, 0], [0.0, 0.0]).log_loss < 19


@pytest.mark.parametrize(
    ("labels", "probabilities", "sentence"),
    [
        ([1, 1], [0.5, 0.5], "there are no negative examples; scores need at least one of each label."),
        ([0], [0.5], "there are no positive examples; scores need at least one of each label."),
        ([], [], "there are no positive examples; scores need at least one of each label."),
        ([1, 2], [0.5, 0.5], "labels must be 0 or 1."),
        ([1, 0], [0.5, float("nan")], "probabilities must be numbers between 0 and 1."),
        (
            [1, 0],
            [0.5],
            "labels and probabilities must be two lists of the same length, "
            "not arrays of the shapes (2,) and (1,).",
        ),
    ],
)
def test_what_cannot_be_scored_is_one_sentence(labels, probabilities, sentence):
    with pytest.raises(DataError) as caught:
        evaluate(labels, probabilities)
    assert str(caught.value) == sentence
