"""The logistic loss against its definition, and Newton's method where a whole step would overshoot."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hornbeam.learning.losses.logistic import curvatures, gradients, grouped_losses, log_loss, losses
from hornbeam.learning.losses.newton import Stopping, minimise
from hornbeam.learning.numbers import GRADIENT_BITS, Floats

SCORES = np.array([-2.0, 0.0, 1.5, 800.0, -800.0])
LABELS = np.array([0, 1, 1, 0, 1], dtype=np.int8)


def test_losses_are_minus_the_logarithm_of_the_probability_and_do_not_overflow() -> None:
    expected = [math.log1p(math.exp(-2.0)), math.log(2.0), math.log1p(math.exp(-1.5)), 800.0, 800.0]
    assert losses(LABELS, SCORES).tolist() == pytest.approx(expected)
    assert log_loss(LABELS, SCORES) == pytest.approx(sum(expected) / 5)


def test_a_group_has_the_losses_of_its_examples() -> None:
    positives, negatives = np.array([2.0, 0.0]), np.array([1.0, 3.0])
    each = [2 * math.log1p(math.exp(-0.5)) + math.log1p(math.exp(0.5)), 3 * math.log1p(math.exp(-1.0))]
    assert grouped_losses(positives, negatives, np.array([0.5, -1.0])).tolist() == pytest.approx(each)


def test_gradients_and_curvatures_are_the_derivatives_of_the_loss() -> None:
    scores, step = SCORES[:3], 1e-5
    before, here, after = (losses(LABELS[:3], scores + shift) for shift in (-step, 0.0, step))
    whole = gradients(LABELS[:3], scores)
    assert whole.dtype == np.int64
    assert (whole / 2**GRADIENT_BITS).tolist() == pytest.approx(
        (-(after - before) / (2 * step)).tolist(), abs=1e-6
    )
    chances = 1 / (1 + np.exp(-scores))
    second = (after - 2 * here + before) / step**2
    assert curvatures(chances).tolist() == pytest.approx(second.tolist(), abs=1e-4)
    assert curvatures(np.array([0.0, 0.5, 1.0]), least=0.1).tolist() == [0.1, 0.25, 0.1]


class SmoothedDistance:
    """``sqrt(1 + w*w)``: from 2 a whole Newton step goes to -8, then to 512, and never comes back."""

    def __init__(self, close: float = 0.0) -> None:
        self.close = close
        self.visited: list[float] = []

    def scores(self, weights: Floats) -> Floats:
        return weights

    def loss(self, weights: Floats, scores: Floats) -> float:
        self.visited.append(float(weights[0]))
        return float(np.sqrt(1.0 + scores * scores).sum())

    def direction(self, weights: Floats, scores: Floats) -> Floats | None:
        root = np.sqrt(1.0 + scores * scores)
        gradient = scores / root
        if abs(float(gradient[0])) <= self.close:
            return None
        step: Floats = -gradient * root**3
        return step


def test_steps_are_halved_until_the_loss_does_not_rise() -> None:
    objective = SmoothedDistance()
    start = np.array([2.0])
    found = minimise(objective, start, Stopping(rounds=50, shortest=1e-9, close=1e-12))
    assert abs(float(found[0])) < 1e-9
    assert objective.visited[:4] == pytest.approx([2.0, -8.0, -3.0, -0.5])
    assert start.tolist() == [2.0]


def test_the_iteration_ends_where_the_objective_says_so_or_after_its_rounds() -> None:
    there = minimise(SmoothedDistance(close=1.0), np.array([2.0]), Stopping(rounds=50, shortest=1e-9))
    assert there.tolist() == [2.0]
    once = minimise(SmoothedDistance(), np.array([2.0]), Stopping(rounds=1, shortest=1e-9))
    assert once.tolist() == pytest.approx([-0.5])
    # No share of the step that is long enough lowers the loss: the weights stay.
    stuck = minimise(SmoothedDistance(), np.array([2.0]), Stopping(rounds=50, shortest=0.5))
    assert stuck.tolist() == [2.0]
