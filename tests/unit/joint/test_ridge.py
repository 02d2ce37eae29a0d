"""Weights of constants: few examples in place of many constants, and the choice of shape and penalty."""

import numpy as np
import pytest
from scipy import sparse

from hornbeam.joint.fitting import constant_weights
from hornbeam.joint.fitting.constant_weights import RidgeTask, fit_ridge
from hornbeam.joint.things import JointTarget

CONSTANTS = 40


def task(classes, n_examples=30, seed=0, smooth=0.0):
    """Examples whose labels are told by the last distance, the more the larger ``smooth``."""
    rng = np.random.default_rng(seed)
    size = max(len(classes), 2)
    labels = np.arange(n_examples) % size
    blocks = [sparse.csr_matrix(rng.random((n_examples, CONSTANTS)) < 0.2).astype(float) for _ in range(4)]
    told = blocks[3].toarray()
    told[np.arange(n_examples), labels] += smooth
    blocks[3] = sparse.csr_matrix(told)
    folds = np.arange(n_examples) // size % 5
    return RidgeTask(JointTarget("topic", classes), tuple(blocks), labels, folds)


@pytest.mark.parametrize("classes", [("a", "b", "c"), ()])
def test_examples_in_place_of_constants_have_the_same_weights(classes, monkeypatch):
    monkeypatch.setattr(constant_weights, "SHAPES", constant_weights.SHAPES[:1])
    monkeypatch.setattr(constant_weights, "PENALTIES", (3.0,))
    replaced = fit_ridge(task(classes))
    monkeypatch.setattr(constant_weights, "MOST_EXAMPLES", 0)
    plain = fit_ridge(task(classes))
    for one, other in zip((replaced.every, *replaced.by_fold), (plain.every, *plain.by_fold), strict=True):
        assert one.bias == pytest.approx(other.bias, abs=1e-3)
        assert np.array(one.weights) == pytest.approx(np.array(other.weights), abs=1e-3)


def test_equal_examples_and_examples_without_constants_are_no_trouble():
    given = task(("a", "b", "c"))
    twice = np.zeros(30, dtype=int)
    twice[:10] = np.arange(10)
    blocks = tuple(sparse.vstack([each[twice[:20]], each[:10] * 0.0]).tocsr() for each in given.blocks)
    fitted = fit_ridge(given._replace(blocks=blocks))
    assert all(np.isfinite(each).all() for each in fitted.every.weights)


def test_distances_that_tell_nothing_are_left_out():
    fitted = fit_ridge(task(("a", "b", "c"), n_examples=60, smooth=0.6))
    assert not any(each.any() for each in fitted.every.weights[:3])
    assert fitted.every.weights[3].any()


def test_a_model_of_a_fold_does_not_depend_on_labels_of_the_fold(monkeypatch):
    monkeypatch.setattr(constant_weights, "SHAPES", constant_weights.SHAPES[:1])
    monkeypatch.setattr(constant_weights, "PENALTIES", (3.0,))
    given = task(("a", "b", "c"), smooth=0.6)
    labels = given.labels.copy()
    inside = np.flatnonzero(given.folds == 2)
    labels[inside] = np.roll(labels[inside], 1)  # as many of each label as before
    ridge_of = [fit_ridge(given._replace(labels=each)).by_fold[2] for each in (given.labels, labels)]
    assert np.array(ridge_of[0].weights) == pytest.approx(np.array(ridge_of[1].weights), abs=1e-6)
