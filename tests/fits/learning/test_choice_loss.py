"""The loss of choices: its definition, its derivatives, and what it learns."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from choice_world import sessions, sessions_probabilities
from hornbeam.data.relations import Relation
from hornbeam.engines.registry import open_engine
from hornbeam.errors import DataError, HornbeamWarning, OptionError
from hornbeam.learning.effects.examples.choices import alternatives_of, joined
from hornbeam.learning.effects.learner import _problem
from hornbeam.learning.losses.choice import ChoiceLoss, targets_of
from hornbeam.learning.options import EffectOptions
from hornbeam.model.evaluate import evaluate_choices


def plain_loss(scores, labels, choices):
    """The mean log-loss of each right alternative, choice by choice, as it is defined."""
    total = 0.0
    for choice in sorted(set(choices)):
        members = [place for place, each in enumerate(choices) if each == choice]
        right = [place for place in members if labels[place]]
        whole = sum(np.exp(scores[place]) for place in members)
        total += sum(-np.log(np.exp(scores[place]) / whole) for place in right) / max(1, len(right))
    return total


@st.composite
def choice_sets(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    choices = [number for number, size in enumerate(sizes) for _ in range(size)]
    labels = draw(st.lists(st.booleans(), min_size=len(choices), max_size=len(choices)))
    scores = draw(st.lists(st.floats(-5, 5), min_size=len(choices), max_size=len(choices)))
    return np.array(choices), np.array(labels, dtype=float), np.array(scores)


@given(choice_sets())
def test_the_loss_is_its_definition_and_the_gradient_its_slope(world):
    choices, labels, scores = world
    loss, targets = ChoiceLoss(), targets_of(choices, labels)
    assert loss.each(targets, scores).sum() == pytest.approx(plain_loss(scores, labels, choices))
    both = loss.each(targets[:, None], np.column_stack([scores, 0 * scores]))
    np.testing.assert_allclose(both[:, 0], loss.each(targets, scores))
    first, second = loss.gradients(targets, scores)
    step = 1e-5
    for place in range(len(scores)):
        moved = [scores + sign * step * (np.arange(len(scores)) == place) for sign in (-1, 1)]
        below, above = (plain_loss(each, labels, choices) for each in moved)
        assert first[place] == pytest.approx(-(above - below) / (2 * step), abs=1e-6)
    assert (second >= 0).all()


@given(choice_sets(), st.integers(0, 3), st.booleans())
def test_the_excess_is_what_wrong_scores_cost_on_average_over_the_labels(world, seed, beside):
    choices, _, right = world
    other = right + np.random.default_rng(seed).normal(size=len(right))
    number = int(choices.max()) + 1
    elsewhere = np.tile([0.3, 0.0], (number, 1)) if beside else None
    whole, targets = 0.0, targets_of(choices, np.zeros(len(choices)))
    for choice in range(number):
        members = [*np.flatnonzero(choices == choice)]
        more = [0.3] if beside else []
        one, two = (np.array([*scores[members], *more]) for scores in (right, other))
        logs = [each - np.log(np.exp(each).sum()) for each in (one, two)]
        whole += (np.exp(logs[0]) * (logs[0] - logs[1])).sum()
    excess = ChoiceLoss(elsewhere=elsewhere).excess(targets, right, other)
    assert (excess >= 0).all()
    assert excess.sum() == pytest.approx(whole, abs=1e-9)


def test_a_start_far_from_what_is_right_is_found_and_no_step_is_too_long():
    targets = targets_of(np.arange(40), (np.arange(40) < 4).astype(float))
    beside = np.column_stack([np.full(40, -6.0), (np.arange(40) >= 4).astype(float)])
    loss = ChoiceLoss(elsewhere=beside)
    start = loss.start(targets, np.ones(40))
    assert np.exp(start) / (np.exp(start) + np.exp(-6.0)) == pytest.approx(0.1, abs=1e-3)
    first, second = loss.gradients(targets, np.full(40, 50.0))
    assert (np.abs(first) <= 4.0 * second).all()


def test_choices_and_equal_hashes_stay_together():
    hashes = np.array([7, 3, 3, 9, 5], dtype=np.uint64)
    assert joined(hashes, np.array([0, 0, 1, 1, 2])).tolist() == [3, 3, 3, 3, 5]


@pytest.fixture(scope="module")
def world():
    return sessions(n_sessions=400)


@pytest.fixture(scope="module")
def fitted(world):
    options = {"loss": "choice", "choice": "session", "n_bags": 3}
    return hb.RLRClassifier(database=world, **options).fit(*world.examples())


def test_two_planted_effects_are_found_and_nearly_reach_the_truth(fitted):
    test = sessions(n_sessions=1000, seed=1)
    examples = test.examples_of("taken")
    truth = evaluate_choices(examples.labels, sessions_probabilities(test), examples.keys[:, 0] // 5)
    learned = hb.evaluate(fitted, test)
    assert learned.log_loss < 1.05 * truth.log_loss < 0.9 * learned.equal_chances
    texts = [str(each.effect) for each in fitted.model_.effects]
    assert any("price(A,B)" in text for text in texts[:2])
    assert any("C = good" in text or "about" in text for text in texts)


def test_bags_have_a_choice_whole_or_not_at_all(world):
    options = EffectOptions(loss="choice", choice="session")
    problem, rows = _problem(open_engine("memory", world), world.examples_of("taken"), options)
    assert len(rows) == 2000 and (np.diff(problem.choices) >= 0).all()
    for column in problem.design.weights.T:
        share = np.bincount(problem.choices, weights=column) / 5
        assert set(share.tolist()) == {0.0, 1.0}


def test_the_order_and_the_names_of_choices_change_nothing(world, fitted):
    X, y = world.examples()
    column = world.relation("session").columns[1]
    given = [f"c{999 - column[int(key[0].removeprefix('offer'))]}" for key in X]
    turned = np.arange(len(X))[::-1]
    again = hb.RLRClassifier(database=world, loss="choice", n_bags=3)
    again.fit(X[turned], y[turned], choice=[given[place] for place in turned])
    assert str(again.model_) == str(fitted.model_)
    np.testing.assert_array_equal(again.predict_proba(X, choice=given), fitted.predict_proba(X))


def test_probabilities_of_a_choice_sum_to_one_and_its_best_is_predicted(world, fitted):
    X, _ = world.examples()
    session = world.relation("session").columns[1][[int(key[0].removeprefix("offer")) for key in X]]
    chance = fitted.predict_proba(X)[:, 1]
    np.testing.assert_allclose(np.bincount(session, weights=chance), 1.0)
    np.testing.assert_array_equal(np.bincount(session, weights=fitted.predict(X)), 1.0)


def test_explanations_compare_with_the_runner_up(world, fitted):
    five = np.array([[f"offer{place}"] for place in range(5)], dtype=object)
    chance = fitted.predict_proba(five)[:, 1]
    best, second = np.argsort(-chance)[:2]
    explained = fitted.explain(five)[best]
    assert explained.probability == pytest.approx(chance[best])
    assert explained.runner_up.key == (f"offer{second}",)
    gap = np.log(chance[best] / chance[second])
    assert sum(each.adds for each in explained.runner_up.differences) == pytest.approx(gap, abs=0.05)
    assert ", not " in str(explained)


def test_choices_without_a_right_alternative_are_left_out_with_a_note(world):
    X, y = world.examples()
    session = world.relation("session").columns[1][[int(key[0].removeprefix("offer")) for key in X]]
    fewer = np.where(session < 3, 0, y)
    model = hb.RLRClassifier(database=world, loss="choice", choice="session", n_bags=1, n_steps=20)
    with pytest.warns(HornbeamWarning, match="left out 3 choices without a right alternative"):
        model.fit(X, fewer)


def test_several_right_alternatives_are_equal():
    right = evaluate_choices([1, 1, 0], [0.6, 0.2, 0.2], ["a", "a", "a"])
    assert right.log_loss == pytest.approx(-(np.log(0.6) + np.log(0.2)) / 2)
    loss = ChoiceLoss()
    first, _ = loss.gradients(targets_of(np.zeros(3), np.array([1.0, 1.0, 0.0])), np.zeros(3))
    np.testing.assert_allclose(first, [1 / 6, 1 / 6, -1 / 3])


def test_a_weight_counts_for_a_whole_choice(world):
    X, y = world.examples()
    model = hb.RLRClassifier(database=world, loss="choice", choice="session")
    weights = np.ones(len(X))
    weights[0] = 2.0
    with pytest.raises(DataError, match="alternatives of one choice have different weights"):
        model.fit(X, y, sample_weight=weights)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "choice"}, "needs to know which examples are alternatives"),
        ({"loss": "choice", "choice": "sesion"}, 'no column "sesion".*Did you mean "session"'),
        ({"choice": "session"}, "only the loss choice has choices"),
        ({"loss": "squared"}, "it predicts numbers; use RLRRegressor"),
        ({"loss": "choice", "choice": "session", "preset": "paper"}, "choice"),
    ],
)
def test_wrong_options_get_a_sentence(world, options, message):
    with pytest.raises(OptionError, match=message):
        hb.RLRClassifier(database=world, **options).fit(*world.examples())


def test_a_model_of_a_list_of_choices_asks_for_them_again(world):
    X, y = world.examples()
    session = world.relation("session").columns[1][[int(key[0].removeprefix("offer")) for key in X]]
    model = hb.RLRClassifier(database=world, loss="choice", n_bags=1, n_steps=20).fit(X, y, choice=session)
    with pytest.raises(OptionError, match="learned with a list of choices"):
        model.predict_proba(X)
    with pytest.raises(DataError, match="choice has the shape"):
        model.predict_proba(X, choice=session[:3])
    with pytest.raises(DataError, match="needs the labels 0 and 1"):
        model.fit(X, np.where(y, "yes", "no"), choice=session)


def test_an_example_of_several_choices_is_refused():
    database = sessions(n_sessions=20)
    offers, shown = database.relation("session").columns
    columns = [np.concatenate([offers, offers]), np.concatenate([shown, (shown + 1) % 20])]
    twice = {"session": Relation.of(columns, [len(offers), 20])}
    both = replace(database, relations={**database.relations, **twice})
    options = EffectOptions(loss="choice", choice="session")
    with pytest.raises(DataError, match="have several values"):
        alternatives_of(open_engine("memory", both), both.examples_of("taken"), options)


@given(choice_sets(), st.floats(-3, 3), st.booleans())
def test_alternatives_elsewhere_count_as_if_they_were_here(world, other, is_right):
    choices, labels, scores = world
    number = int(choices.max()) + 1
    whole = np.append(choices, np.arange(number))
    order = np.argsort(whole, kind="stable")
    all_labels = np.append(labels, np.full(number, float(is_right)))
    all_scores = np.append(scores, np.full(number, other))
    both = targets_of(whole[order], all_labels[order])
    elsewhere = np.tile([other, float(is_right)], (number, 1))
    apart, together = ChoiceLoss(elsewhere=elsewhere), ChoiceLoss()
    targets = targets_of(choices, labels)
    own, _ = apart.gradients(targets, scores)
    expected, _ = together.gradients(both, all_scores[order])
    np.testing.assert_allclose(own, expected[order < len(choices)], atol=1e-12)
    loss = together.each(both, all_scores[order]).sum()
    assert apart.each(targets, scores).sum() == pytest.approx(loss)
