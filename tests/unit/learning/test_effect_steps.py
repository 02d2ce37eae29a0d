"""Steps of boosting over bins: sums in blocks of candidates against sums one by one; what is looked at."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.learning.effects.examples.groups import BinHashes
from hornbeam.learning.effects.steps import bag_steps, looking
from hornbeam.learning.effects.steps import bin_sums as module
from hornbeam.learning.effects.steps.bag_steps import BagSteps, StepData, Steps
from hornbeam.learning.effects.steps.bin_sums import bin_sums
from hornbeam.learning.effects.steps.looking import looked_at
from hornbeam.learning.losses.loss import Logistic


def naive_sums(bins: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    return np.array([[values[row == level].sum(axis=0) for level in range(size)] for row in bins])


@st.composite
def tables(draw):
    size, candidates, examples = draw(st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(1, 12)))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    bins = random.integers(0, size, (candidates, examples)).astype(np.uint8)
    # Whole numbers, whose sums are exact in any order.
    return bins, random.integers(-(2**20), 2**20, (examples, 3)).astype(np.float64), size


@pytest.mark.parametrize("at_once", [1, 7, 250_000])
@given(table=tables(), data=st.data())
def test_sums_of_bins(at_once, table, data):
    bins, values, size = table
    before = module.AT_ONCE
    module.AT_ONCE = at_once
    try:
        sums = bin_sums(bins, size)
        found = np.zeros((len(bins), size, 3))
        for block, each in sums.of(values):
            found[block] = each
        assert (found == naive_sums(bins, values, size)).all()
        which = np.array(data.draw(st.lists(st.integers(0, len(bins) - 1), min_size=1, unique=True)))
        used = int(bins[which].max()) + 1
        taken = sums.take(which, used)
        found = np.zeros((len(which), used, 3))
        for block, each in taken.of(values):
            found[block] = each
    finally:
        module.AT_ONCE = before
    assert (found == naive_sums(bins[which], values, used)).all()


def test_few_examples_are_all_looked_at():
    weights = np.ones((2, 10))
    assert looked_at(np.ones(10), weights, 10**9) == (None, weights)


def test_of_many_examples_some_are_looked_at_by_their_size(monkeypatch):
    monkeypatch.setattr(looking, "ENOUGH_EXAMPLES", 500)
    random = np.random.default_rng(0)
    sizes = random.choice([1.0, 2.0, 900.0], 6000, p=[0.9, 0.09, 0.01])
    weights = np.array([sizes, random.binomial(sizes.astype(int), 0.85)], dtype=np.float64)
    looked = looked_at(sizes, weights, 10**9)
    assert looked.places is not None and 60 < looked.number <= 500
    assert set(np.flatnonzero(sizes == 900.0)) <= set(looked.places.tolist())
    assert (looked.weights == np.rint(looked.weights)).all()
    assert looked.weights.sum(axis=1) == pytest.approx(weights.sum(axis=1), rel=0.05)
    scaled = looked_at(0.01 * sizes, 0.01 * weights, 10**9)
    assert scaled.is_same(looked) and not scaled.is_same(looked_at(sizes[::-1], weights[:, ::-1], 10**9))
    assert scaled.weights.sum(axis=1) == pytest.approx(0.01 * weights.sum(axis=1), rel=0.05)
    assert (looked.of(sizes) == sizes[looked.places]).all()


def noisy(examples: int = 4000) -> tuple[StepData, np.ndarray]:
    """One candidate of fifty that the targets depend on, and weights of three bags."""
    random = np.random.default_rng(1)
    bins = random.integers(0, 4, (50, examples)).astype(np.uint8)
    targets = (random.random(examples) < np.where(bins[17] >= 2, 0.8, 0.3)).astype(np.float64)
    scores = np.tile([0.0, -1.0, 0.0, 1.0], (50, 1))
    data = StepData(bins, scores, targets, np.ones(examples), Logistic(), Steps(8, 0.1, 5.0, 5.0))
    return data, (random.random((examples, 3)) < 0.85).astype(np.float64)


def steps_of(data: StepData, weights: np.ndarray) -> list[tuple[list[int], list[list[float]], list[float]]]:
    bags = BagSteps(data, weights)
    bags.renew()
    return [
        (
            [each.candidate for each in taken.additions],
            [each.change.tolist() for each in taken.additions],
            taken.losses,
        )
        for taken in bags.go_on(4)
    ]


def test_steps_in_pieces_are_the_same(monkeypatch):
    whole = steps_of(*noisy())
    monkeypatch.setattr(bag_steps, "PIECE", 300)
    assert steps_of(*noisy()) == whole


def test_a_sample_is_enough_to_find_the_candidate(monkeypatch):
    whole = steps_of(*noisy())
    monkeypatch.setattr(looking, "ENOUGH_EXAMPLES", 800)
    monkeypatch.setattr(looking, "ENOUGH_CELLS", 1)
    sampled = steps_of(*noisy())
    assert whole[0][0] == sampled[0][0] == [17, 17, 17]
    # Levels are fitted to all examples of the bag.
    assert sampled[0] == whole[0]


def test_a_bag_takes_the_same_steps_whatever_the_other_bags_are(monkeypatch):
    """Choices of other bags would tell a bag about the examples outside it, which judge its steps."""
    monkeypatch.setattr(bag_steps, "ACTIVE", 3)
    random = np.random.default_rng(2)
    bins = random.integers(0, 4, (60, 300)).astype(np.uint8)
    scores = np.tile([0.0, -1.0, 0.0, 1.0], (60, 1))
    targets = random.integers(0, 2, 300).astype(np.float64)
    data = StepData(bins, scores, targets, np.ones(300), Logistic(), Steps(40, 0.3, 1.0, 1.0))
    weights = (random.random((300, 6)) < 0.5).astype(np.float64)

    def chosen(part: slice) -> list[list[int]]:
        bags = BagSteps(data.of_bags(part), weights[:, part])
        steps = []
        for _ in range(4):
            bags.renew()
            steps += [*bags.go_on(4), *bags.go_on(4)]
        return [[taken.additions[bag].candidate for taken in steps] for bag in range(len(bags.score))]

    together = chosen(slice(0, 6))
    assert together == [chosen(slice(bag, bag + 1))[0] for bag in range(6)]
    assert len(set(map(tuple, together))) == 6


def test_candidates_that_say_the_same_take_turns_and_one_that_says_more_does_not_wait() -> None:
    random = np.random.default_rng(3)
    strong, weak = random.integers(1, 3, (2, 400)).astype(np.uint8)
    chances = 1 / (1 + np.exp(-(2.5 * (strong - 1.5) + 1.0 * (weak - 1.5))))
    targets = (random.random(400) < chances).astype(np.float64)

    def taken(rows: list[np.ndarray]) -> list[int]:
        scores = np.tile([0.0, -1.0, 1.0], (len(rows), 1))
        steps = Steps(40, 0.1, 1.0, 1.0)
        data = StepData(np.array(rows), scores, targets, np.ones(400), Logistic(), steps)
        bags = BagSteps(data, np.ones((400, 1)))
        bags.renew()
        return [step.additions[0].candidate for _ in range(10) for step in bags.go_on(4)]

    assert len(set(taken([weak] * 10))) >= 8
    assert taken([*[weak] * 10, strong])[::4][:5] == [10] * 5


def test_a_bag_has_the_candidates_that_gain_most_and_those_of_its_last_steps(monkeypatch):
    monkeypatch.setattr(bag_steps, "ACTIVE", 3)
    data, weights = noisy(500)
    bags = BagSteps(data, weights)
    bags.renew()
    assert bags.own.sum(axis=0).tolist() == [3, 3, 3]
    assert bags.own[bags.active.tolist().index(17)].all()
    bags.recent[1].extend([40, 41])
    bags.renew()
    assert {40, 41} <= set(bags.active[bags.own[:, 1]].tolist())
    assert bags.own.sum(axis=0).tolist()[1] >= 3
    few = BagSteps(data._replace(bins=data.bins[:6], scores=data.scores[:6]), weights)
    few.renew()
    assert few.own.all() and few.active.tolist() == [0, 1, 2, 3, 4, 5]


def test_losses_are_those_of_the_examples_outside_each_bag():
    data, weights = noisy(300)
    bags = BagSteps(data, weights)
    bags.renew()
    taken = bags.go_on(4)
    scores = np.array(bags.score)
    each = np.logaddexp(0.0, np.where(data.targets == 1, -scores, scores))
    expected = (each * (weights.T == 0)).sum(axis=1)
    assert taken[-1].losses == pytest.approx(expected.tolist())
    assert bags.start()[1] == pytest.approx(expected.tolist())


def test_a_step_adds_a_part_of_what_lowers_the_loss_most():
    """The candidate that targets depend on has two levels; a line over its bins explains less."""
    random = np.random.default_rng(3)
    bins = random.integers(1, 4, (1, 2000)).astype(np.uint8)
    targets = (random.random(2000) < np.where(bins[0] >= 3, 0.9, 0.2)).astype(np.float64)
    scores = np.array([[0.0, -1.0, 0.0, 1.0]])
    data = StepData(bins, scores, targets, np.ones(2000), Logistic(), Steps(8, 0.1, 5.0, 5.0))
    bags = BagSteps(data, np.ones((2000, 1)))
    bags.renew()
    start = bags.intercepts[0]
    change = bags.go_on(1)[0].additions[0].change
    chance = 1 / (1 + np.exp(-start))
    gradients, curvature = targets - chance, chance * (1 - chance)
    for level, inside in ((1, bins[0] <= 2), (2, bins[0] <= 2), (3, bins[0] == 3)):
        newton = gradients[inside].sum() / (inside.sum() * curvature + 5.0)
        assert change[level] == pytest.approx(0.1 * newton, abs=1e-6)


def test_a_step_is_a_line_if_that_lowers_the_loss_more():
    random = np.random.default_rng(4)
    bins = random.integers(1, 10, (1, 3000)).astype(np.uint8)
    scores = np.array([[0.0, *np.linspace(-2.0, 2.0, 9)]])
    targets = (random.random(3000) < 1 / (1 + np.exp(-scores[0][bins[0]]))).astype(np.float64)
    data = StepData(bins, scores, targets, np.ones(3000), Logistic(), Steps(8, 0.1, 5.0, 5.0))
    bags = BagSteps(data, np.ones((3000, 1)))
    bags.renew()
    chance = 1 / (1 + np.exp(-bags.intercepts[0]))
    change = bags.go_on(1)[0].additions[0].change
    x = scores[0][bins[0]]
    slope = (x * (targets - chance)).sum() / ((x * x).sum() * chance * (1 - chance) + 5.0)
    assert change == pytest.approx(0.1 * slope * scores[0], abs=1e-6)


def test_groups_of_equal_examples_grow_with_the_candidates():
    random = np.random.default_rng(0)
    bins = [random.integers(0, 2, 60).astype(np.uint8) for _ in range(4)]
    targets = random.integers(0, 2, 60).astype(np.float64)
    hashes = BinHashes()
    for number in (1, 3, 3, 4):
        groups = hashes.groups(bins[:number], [targets])
        rows = list(zip(*bins[:number], targets, strict=True))
        assert len(groups.first) == len(set(rows))
        assert all(rows[groups.first[group]] == row for group, row in zip(groups.which, rows, strict=True))
