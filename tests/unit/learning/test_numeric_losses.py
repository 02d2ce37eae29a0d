"""Losses of numeric targets: derivatives, the best constant, and the unit of the target."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.datasets.worlds import smokers
from hornbeam.learning.losses.named import LOSSES, loss_for, loss_named
from hornbeam.model.scales import NUMERIC_LOSSES

VALUES = np.array([0.0, 1.0, 1.0, 3.0, 7.0, 20.0])
ONE = np.ones(len(VALUES))
ALONE = [name for name in LOSSES if not (loss_named(name).together or loss_named(name).shape)]
"""The losses of single examples with one score each."""


@pytest.mark.parametrize("name", ALONE)
@given(
    target=st.integers(0, 1), score=st.floats(-3, 3).filter(lambda score: abs(score - round(score)) > 1e-3)
)
def test_the_gradient_is_minus_the_derivative_of_the_loss(name, target, score):
    loss, targets, step = loss_named(name), np.array([float(target)]), 1e-6
    above, below = (loss.each(targets, np.array([score + change]))[0] for change in (step, -step))
    first, second = loss.gradients(targets, np.array([score]))
    assert first[0] == pytest.approx((below - above) / (2 * step), abs=1e-6)
    assert second[0] > 0


@pytest.mark.parametrize("name", ["logistic", "squared"])
def test_the_curvature_is_the_second_derivative(name):
    loss, targets, scores, step = loss_named(name), np.array([0.0, 1.0]), np.array([0.3, -0.7]), 1e-4
    sides = [loss.each(targets, scores + change) for change in (-step, 0.0, step)]
    second = (sides[0] - 2 * sides[1] + sides[2]) / step**2
    assert np.allclose(loss.gradients(targets, scores)[1], second, atol=1e-5)


def test_the_curvature_of_poisson_bounds_the_second_derivative_where_a_step_could_be_too_long():
    loss, targets, scores = loss_named("poisson"), np.array([0.0, 100.0, 100.0]), np.array([1.0, -8.0, 6.0])
    first, second = loss.gradients(targets, scores)
    assert (second >= np.exp(scores)).all()
    assert (np.abs(first / second) <= 1.0).all()


@pytest.mark.parametrize("name", ALONE)
def test_no_constant_is_better_than_the_start(name):
    loss = loss_named(name)
    values = (VALUES > 1).astype(float) if name == "logistic" else VALUES
    targets, _ = loss.prepared(values, ONE)
    start = loss.start(targets, ONE)
    best = loss.each(targets, np.full(len(targets), start)).mean()
    for other in (start - 0.01, start + 0.01):
        assert loss.each(targets, np.full(len(targets), other)).mean() >= best


@pytest.mark.parametrize("name", LOSSES)
def test_no_examples_have_no_losses(name):
    """If later examples judge, a bag of all examples holds none out."""
    loss, none = loss_named(name), np.zeros(0)
    scores = np.zeros((0, *loss.shape))
    found = (*loss.gradients(none, scores), loss.each(none, scores), loss.excess(none, scores, scores))
    assert [each.shape for each in found] == [scores.shape, scores.shape, (0,), (0,)]


@pytest.mark.parametrize("name", NUMERIC_LOSSES)
def test_targets_do_not_depend_on_the_unit_and_are_whole_multiples(name):
    loss = loss_named(name)
    targets, unit = loss.prepared(VALUES, ONE)
    assert np.array_equal(targets * 2.0**30, np.rint(targets * 2.0**30))
    for factor in (2.0**-1000, 1e-3, 17.0, 2.0**1000):
        scaled, other = loss.prepared(VALUES * factor, ONE)
        assert np.allclose(scaled, targets, rtol=0, atol=2.0**-29)
        if name == "poisson":
            assert other.centre == pytest.approx(unit.centre + np.log(factor))
        else:
            assert other.scale / factor == pytest.approx(unit.scale)
            assert other.of_learner(other.of_model(0.7)) == pytest.approx(0.7)
            back = np.array([other.of_model(each) for each in scaled.tolist()]) / factor
            assert np.allclose(back, VALUES, atol=1e-6)


@pytest.mark.parametrize("name", NUMERIC_LOSSES)
def test_weights_count_as_repetitions(name):
    loss, weights = loss_named(name), np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0])
    repeated = np.repeat(VALUES, weights.astype(int))
    targets, unit = loss.prepared(VALUES, weights)
    again, other = loss.prepared(repeated, np.ones(len(repeated)))
    assert unit == pytest.approx(other)
    assert loss.start(targets, weights) == pytest.approx(loss.start(again, np.ones(len(again))))


def test_what_readers_see_is_in_the_unit_of_the_target():
    for name, expected in (("squared", VALUES.std()), ("absolute", np.abs(VALUES - 1).mean())):
        loss = loss_named(name)
        targets, unit = loss.prepared(VALUES, ONE)
        mean = float(loss.each(targets, np.full(len(targets), loss.start(targets, ONE))).mean())
        assert loss.measured(mean, unit) == pytest.approx(expected)


def test_huber_is_squared_error_but_for_outliers():
    loss, targets = loss_named("huber"), np.array([0.0, 0.0, 0.0])
    scores = np.array([0.5, 1.345, 101.345])
    assert loss.each(targets, scores).tolist() == pytest.approx([0.125, 1.345**2 / 2, 1.345**2 / 2 + 134.5])
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 1000.0, 6.0])
    _, unit = loss.prepared(values, np.ones(7))
    # The median is 4, and the median difference from it is 2.
    assert unit.centre == 4.0 and unit.scale == pytest.approx(2 * 1.4826)
    assert loss.kept(unit) == {"huber_threshold": pytest.approx(1.345 * 2 * 1.4826)}


def test_a_model_keeps_the_threshold_and_outliers_change_little():
    database = smokers(n_persons=200)
    keys, labels = database.examples("cancer")
    rng = np.random.default_rng(0)
    values = 10.0 * labels + rng.normal(size=len(labels))
    wrong = np.where(rng.random(len(labels)) < 0.03, 1e4, values)
    fitted = hb.RLRRegressor(database=database, loss="huber", n_bags=2, n_steps=10).fit(keys, wrong)
    assert 1.0 < fitted.model_.settings["huber_threshold"] < 20.0
    assert abs(fitted.predict(keys).mean() - values.mean()) < 3 < abs(wrong.mean() - values.mean())


def test_the_loss_suits_the_target():
    assert [loss_for("auto", numeric).name for numeric in (False, True)] == ["logistic", "squared"]
    assert loss_for("poisson", True).name == "poisson"
    assert loss_named("poisson").refusal(np.array([-1.0, 2.0])).endswith("found -1")


def test_one_value_among_zeros_gives_no_weights_of_constants():
    """The folds without the only value that is not 0 have a finite constant, which weights must beat."""
    database = smokers(n_persons=100)
    keys, _ = database.examples("cancer")
    values = np.r_[1.0, np.zeros(len(keys) - 1)]
    fitted = hb.RLRRegressor(database=database, loss="poisson", n_bags=2, n_steps=10).fit(keys, values)
    assert fitted.predict(keys).max() < 1.0
