"""The weights of terms: what counts as a gain, and examples that stand for others."""

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb
from hornbeam.joint.fitting.rounds import Trained, fit_plain, fit_terms
from hornbeam.joint.neighbours import Term
from hornbeam.joint.things import JointTarget
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema

SCHEMA = Schema({"smokes": ("person",), "friends": ("person", "person")})
TERM = Term("smokes", "share", (parse_clause("smokes(A) :- friends(A,B), smokes(B).", SCHEMA),))


def trained(score, labels, counts=None):
    """Examples with log-odds from a separate model, as training has them."""
    size = len(labels)
    odds = np.where(labels == 1, score, -score)
    return Trained(
        JointTarget("smokes"),
        np.column_stack([np.zeros(size), score]),
        labels,
        np.arange(size) % 5,
        np.logaddexp(0.0, -odds),
        np.ones(size) if counts is None else counts,
    )


def drawn(size, seed=0):
    """The true log-odds, the share of neighbours that smoke, and labels that depend on both."""
    rng = np.random.default_rng(seed)
    score, share = rng.normal(size=size), rng.random(size)
    odds = 2.0 * score - 1.0
    return score, share, odds, rng


@pytest.mark.parametrize("matters", [False, True])
def test_what_a_weight_and_a_bias_of_the_own_score_gain_is_no_gain_of_neighbours(matters):
    gains = []
    for seed in range(20):
        score, share, odds, rng = drawn(600, seed)
        odds = odds + 4.0 * (share - 0.5) * matters
        labels = (rng.random(600) < 1.0 / (1.0 + np.exp(-odds))).astype(np.int64)
        examples = trained(score, labels)
        fitted = fit_terms(examples, fit_plain(examples), [TERM], [share[:, None]], 1.0)
        # The score is half of the true one and has another mean: a weight and a bias always help.
        assert fitted.loss < 0.95 * fitted.alone
        gains.append(fitted.gains)
    # Mere noise gains by a standard error in one case of six.
    assert np.mean(gains) == 1.0 if matters else np.mean(gains) < 1 / 3


def test_an_example_counts_like_the_examples_for_which_it_stands():
    score, share, odds, rng = drawn(200)
    labels = (rng.random(200) < 1.0 / (1.0 + np.exp(-odds))).astype(np.int64)
    counts = np.where(labels == 0, 3.0, 1.0)
    once = trained(score, labels, counts)
    rows = np.repeat(np.arange(200), counts.astype(int))
    often = trained(score[rows], labels[rows])._replace(folds=once.folds[rows])
    one = fit_terms(once, fit_plain(once), [TERM], [share[:, None]], 1.0)
    other = fit_terms(often, fit_plain(often), [TERM], [share[rows][:, None]], 1.0)
    # The scale of a term is that of its values, which repetition changes a little.
    assert one.weights.own == pytest.approx(other.weights.own, rel=1e-2)
    assert one.weights.bias[0] == pytest.approx(other.weights.bias[0], rel=1e-2)
    assert (one.loss, one.alone) == pytest.approx((other.loss, other.alone), rel=1e-3)


def test_probabilities_fit_the_data_if_separate_models_were_learned_from_few_negatives():
    rng = np.random.default_rng(1)
    size = 1500
    names = np.array([f"a{n}" for n in range(size)])
    rare = rng.random(size) < 0.06
    left, right = rng.integers(size, size=(2, 60_000))
    kept = (left != right) & ((rare[left] & rare[right]) | (rng.random(60_000) < 0.05))
    people = pd.DataFrame({"person_id": names, "age": rng.integers(20, 60, size), "ill": rare.astype(int)})
    friends = pd.DataFrame({"person_id": names[left[kept]], "friend_id": names[right[kept]]})
    database = hb.load({"people": people, "friends": friends.drop_duplicates()}, target="people.ill")
    X, y = people[["person_id"]].to_numpy(), people.ill.to_numpy()
    options = {"n_bags": 4, "n_steps": 20, "neg_pos_ratio": 4.0}
    joint = hb.JointClassifier(database=database, target="people.ill", options=options)
    joint.fit(X[:1000], y[:1000])
    assert joint.model_.member("ill").neighbours_for(0.6, True).terms
    found = joint.predict_proba(X[1000:])[:, 1]
    assert found.mean() == pytest.approx(y[1000:].mean(), rel=0.25)


def test_terms_about_own_things_stand_beside_the_ordinary_model():
    rng = np.random.default_rng(1)
    size = 120
    names = np.array([f"a{n}" for n in range(size)])
    group = rng.random(size) < 0.5
    people = pd.DataFrame({"person_id": names, "age": rng.integers(20, 40, size) + 10 * group})
    people["smokes"], people["ill"] = group.astype(int), (group ^ (rng.random(size) < 0.1)).astype(int)
    left, right = rng.integers(size, size=(2, 300))
    friends = pd.DataFrame({"person_id": names[left], "friend_id": names[right]})
    database = hb.load({"people": people, "friends": friends.drop_duplicates()}, target="people.smokes")
    X = people[["person_id"]].to_numpy()
    names = ("people.smokes", "people.ill")
    joint = hb.JointClassifier(database=database, targets=names, options={"n_bags": 1, "n_steps": 20})
    joint.fit({"people.smokes": (X, people.smokes.to_numpy()), "people.ill": (X, people.ill.to_numpy())})
    for member in joint.model_.members:
        elsewhere = member.neighbours_for(0.0, False)
        assert elsewhere.losses is not None  # terms were tried
        assert not elsewhere.inner
