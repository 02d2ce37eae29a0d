"""Steps of classes that are learned together, beside a slow reference of plain loops."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hornbeam.learning.effects.steps.bag_steps import AT_ONCE, NEARLY, BagSteps, StepData, Steps
from hornbeam.learning.losses.classes import LEAST_CURVATURE, ClassLoss
from hornbeam.learning.losses.loss import Logistic

RATE, L2 = 0.3, 1.0
STEPS = Steps(8, RATE, L2, L2)


class Reference:
    """Softmax boosting of one bag by loops over classes, bins and examples."""

    def __init__(self, bins, lines, labels, weights, n_classes):
        self.bins, self.lines, self.labels, self.weights = bins, lines, labels, weights
        self.classes = range(n_classes)
        self.pace = (n_classes - 1) / n_classes
        counts = [max(sum(weights[labels == each]), 0.5) for each in self.classes]
        logs = np.log(np.array(counts) / sum(counts))
        self.intercept = logs - logs.mean()
        self.scores = np.tile(self.intercept, (len(labels), 1))
        self.centre()

    def gradients(self, example):
        powers = [np.exp(score) for score in self.scores[example]]
        chances = [power / sum(powers) for power in powers]
        own = self.labels[example]
        first = [(1.0 if each == own else 0.0) - chance for each, chance in enumerate(chances)]
        return first, [max(chance * (1.0 - chance), LEAST_CURVATURE) for chance in chances]

    def centre(self):
        move = np.zeros(len(self.classes))
        both = [self.gradients(example) for example in range(len(self.labels))]
        for each in self.classes:
            g = sum(w * first[each] for w, (first, _) in zip(self.weights, both, strict=True))
            h = sum(w * second[each] for w, (_, second) in zip(self.weights, both, strict=True))
            move[each] = self.pace * g / h
        move -= move.mean()
        self.scores = self.scores + move
        self.intercept = self.intercept + move

    def best(self, candidate):
        """The gain of the best cut or line of a candidate, and what it adds to each bin and class."""
        row, size = self.bins[candidate], int(self.bins[candidate].max()) + 1
        g, h = np.zeros((2, size, len(self.classes)))
        for example, place in enumerate(row):
            first, second = self.gradients(example)
            for each in self.classes:
                g[place, each] += self.weights[example] * first[each]
                h[place, each] += self.weights[example] * second[each]
        ways = []
        for cut in range(size):
            gain, change = 0.0, np.zeros((size, len(self.classes)))
            for part in ([0], range(1, cut + 1), range(cut + 1, size)):
                part = list(part)
                for each in self.classes:
                    level = g[part, each].sum() / (h[part, each].sum() + L2)
                    gain += level * g[part, each].sum()
                    change[part, each] = level
            ways.append((gain, change))
        line = self.lines[candidate][:size]
        slopes = [(line * g[:, each]).sum() / ((line**2 * h[:, each]).sum() + L2) for each in self.classes]
        of_line = sum(slope * (line * g[:, each]).sum() for each, slope in enumerate(slopes))
        ways.append((of_line, np.outer(line, slopes)))
        return max(ways, key=lambda way: way[0])

    def step(self, candidate):
        change = self.best(candidate)[1]
        change = RATE * self.pace * (change - change.mean(axis=1, keepdims=True))
        self.scores = self.scores + change[self.bins[candidate]]
        self.centre()
        return change


@st.composite
def problems(draw):
    n, n_classes = draw(st.integers(12, 30)), draw(st.integers(3, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    bins = rng.integers(0, draw(st.integers(2, 5)), (draw(st.integers(1, 6)), n)).astype(np.uint8)
    lines = rng.normal(size=(len(bins), int(bins.max()) + 1)).round(3)
    lines[:, 0] = 0.0
    labels = rng.integers(0, n_classes, n)
    bags = (rng.random((n, 2)) < 0.8).astype(np.float64) * rng.integers(1, 3, n)[:, None]
    sizes = np.maximum(bags.max(axis=1), 1.0)
    return bins, lines, labels, bags, sizes, n_classes


@settings(deadline=None, max_examples=25)
@given(problems())
def test_steps_are_those_of_the_reference(problem):
    bins, lines, labels, bags, sizes, n_classes = problem
    data = StepData(bins, lines, labels.astype(float), sizes, ClassLoss(n_classes), STEPS)
    fast = BagSteps(data, bags)
    slow = [Reference(bins, lines, labels, bags[:, bag], n_classes) for bag in range(2)]
    for bag, own in enumerate(slow):
        assert fast.intercepts[bag] == pytest.approx(own.intercept, abs=1e-6)
    for _ in range(2):
        fast.renew()
        best = [max(own.best(each)[0] for each in range(len(bins))) for own in slow]
        for step, taken in enumerate(fast.go_on(AT_ONCE)):
            for own, addition, most in zip(slow, taken.additions, best, strict=True):
                if addition.candidate < 0:
                    continue
                if step == 0:
                    assert own.best(addition.candidate)[0] >= NEARLY * most - 1e-6
                # A cut and a line that gain the same may change places by rounding.
                gain = own.best(addition.candidate)[0]
                expected = own.step(addition.candidate)
                if gain > 1e-6:
                    assert addition.change == pytest.approx(expected, abs=1e-5)
                assert addition.intercept == pytest.approx(own.intercept, abs=1e-5)
        for bag, own in enumerate(slow):
            assert fast.score[bag] == pytest.approx(own.scores, abs=1e-5)


@settings(deadline=None, max_examples=25)
@given(problems())
def test_of_two_classes_the_scores_differ_by_the_log_odds(problem):
    bins, lines, labels, bags, sizes, _ = problem
    targets = (labels > 0).astype(float)
    assume(all(0 < (bag * targets).sum() < bag.sum() for bag in bags.T))
    both = BagSteps(StepData(bins, lines, targets, sizes, ClassLoss(2), STEPS), bags)
    one = BagSteps(StepData(bins, lines, targets, sizes, Logistic(), STEPS), bags)
    for steps in (both, one):
        steps.renew()
    for _ in range(2):
        taken = one.go_on(AT_ONCE)
        both.replay([[each.candidate for each in step.additions] for step in taken])
    for of_classes, of_label in zip(both.score, one.score, strict=True):
        assert of_classes[:, 1] - of_classes[:, 0] == pytest.approx(of_label, abs=1e-5)


def test_gradients_are_derivatives_of_the_loss():
    rng = np.random.default_rng(1)
    loss, scores, targets = ClassLoss(4), rng.normal(size=(6, 4)), rng.integers(0, 4, 6).astype(float)
    first, _ = loss.gradients(targets, scores)
    for each in range(4):
        moved = np.zeros(4)
        moved[each] = 1e-6
        slope = (loss.each(targets, scores + moved) - loss.each(targets, scores - moved)) / 2e-6
        assert -first[:, each] == pytest.approx(slope, abs=1e-6)


def test_the_constant_score_is_the_best():
    loss, targets = ClassLoss(3), np.array([0.0, 0.0, 1.0, 2.0])
    weights = np.array([1.0, 1.0, 3.0, 1.0])
    start = loss.start(targets, weights)
    assert np.exp(start) / np.exp(start).sum() == pytest.approx([2 / 6, 3 / 6, 1 / 6])
    assert start.sum() == pytest.approx(0.0)


def test_excess_is_the_divergence():
    loss, right, other = ClassLoss(3), np.array([[0.2, -0.4, 1.0]]), np.array([[0.0, 0.5, 0.5]])
    chances = np.exp(right) / np.exp(right).sum()
    each = [loss.each(np.array([float(place)]), other) for place in range(3)]
    least = [loss.each(np.array([float(place)]), right) for place in range(3)]
    expected = sum(chances[0, place] * (each[place] - least[place]) for place in range(3))
    assert loss.excess(np.zeros(1), right, other) == pytest.approx(expected)
    assert loss.excess(np.zeros(1), right, right + 3.0) == pytest.approx([0.0], abs=1e-12)
