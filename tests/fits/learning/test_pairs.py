"""Pairs: conditions on the example itself that narrow other candidates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.questions import FeatureRequest
from hornbeam.engines.sql.drivers.duckdb import DuckDBEngine
from hornbeam.in_place.load import load_quietly
from hornbeam.learning.effects import learner, long_model
from hornbeam.learning.effects.bins import bins_of
from hornbeam.learning.effects.bodies import BodyLimits
from hornbeam.learning.effects.candidates import FeatureCandidate
from hornbeam.learning.effects.conditions import candidate_of, narrowed_paths, rules_of
from hornbeam.learning.effects.learner import fit
from hornbeam.learning.effects.links import Path
from hornbeam.learning.effects.steps.bag_steps import BagSteps, StepData, Steps
from hornbeam.learning.effects.steps.pairs import (
    AT_LEAST,
    EITHER,
    NEVER,
    Pair,
    PairRules,
    best_pairs,
    bin_totals,
    cell_gains,
    pair_row,
    row_of,
    useful,
)
from hornbeam.learning.loop import NO_CONTROL, Control
from hornbeam.learning.losses.loss import Logistic
from hornbeam.learning.options import EffectOptions
from hornbeam.logic.clauses import Atom
from hornbeam.logic.effects import Feature
from hornbeam.logic.features import COUNT, DISTINCT, FIRST, LAST, MEAN, MONTH, SHARE, SINCE_LAST
from hornbeam.model.effects import values_of
from hornbeam.model.files import model_text

L2 = 2.0


def reference_gain(one, cut, other, other_cut, gradients):
    """The gain of a level for each of four parts beyond two levels for each cut, by the definition."""
    contrast, noise = 0.0, 0.0
    for is_above, is_other_above in ((False, False), (False, True), (True, False), (True, True)):
        inside = (one > 0) & (other > 0) & ((one > cut) == is_above) & ((other > other_cut) == is_other_above)
        g, h = gradients[inside].sum(axis=0)
        contrast += (1 if is_above == is_other_above else -1) * g / (h + L2)
        noise += 1 / (h + L2)
    return contrast**2 / noise


@pytest.mark.parametrize("seed", range(5))
def test_the_gain_of_two_cuts_is_that_of_the_definition(seed):
    random = np.random.default_rng(seed)
    row = random.integers(0, 4, 60).astype(np.uint8)
    others = random.integers(0, 5, (3, 60)).astype(np.uint8)
    gradients = np.column_stack([random.normal(size=60), random.random(60)])
    cuts, gains = cell_gains(row, others, gradients, bin_totals(others, gradients), L2)
    assert cuts.tolist() == [1, 2]
    wanted = [
        [[reference_gain(row, cut, other, at, gradients) for at in (1, 2, 3)] for cut in cuts]
        for other in others
    ]
    assert np.allclose(gains, wanted)


def test_a_pair_has_the_bins_of_the_other_candidate_where_its_condition_is_true():
    bins = np.array([[0, 1, 2, 3], [1, 2, 0, 2]], dtype=np.uint8)
    rules = PairRules(*np.zeros((3, 2), dtype=np.int64), np.zeros((2, 4), dtype=np.int64), (2, 9))
    assert pair_row(Pair(0, 1, False, 1), bins, rules).tolist() == [0, 0, 0, 2]
    assert pair_row(Pair(0, 2, True, 1), bins, rules).tolist() == [0, 2, 0, 0]
    counted = rules._replace(outside=np.array([0, 1]))
    assert pair_row(Pair(0, 1, False, 1), bins, counted).tolist() == [1, 1, 0, 2]


def test_pairs_need_room_for_their_conditions_and_two_attributes():
    sizes = np.array([[1, 2, 0, 1], [1, 2, 0, 1], [1, 2, 1, 2], [1, 2, 0, 3]])
    rules = PairRules(np.full(4, 2), np.zeros(4, int), np.array([0, 0, 2, 3]), sizes, (1, 4))
    assert rules.allow(0, np.arange(4)).tolist() == [False, False, False, False]
    assert rules._replace(limits=(2, 4)).allow(0, np.arange(4)).tolist() == [False, False, True, False]
    assert rules._replace(limits=(2, 9)).allow(0, np.arange(4)).tolist() == [False, False, True, True]


@pytest.mark.parametrize("category", [0, 1])
def test_a_pair_that_is_allowed_one_way_only_is_found_in_any_order(category):
    """A number would need a literal more to be the condition than a category does."""
    number = 1 - category
    random = np.random.default_rng(0)
    bins = random.integers(1, 3, (2, 200)).astype(np.uint8)
    gradients = np.column_stack([np.where(bins[0] == bins[1], 1.0, -1.0), np.ones(200)])
    sizes = np.empty((2, 4), dtype=np.int64)
    sizes[category], sizes[number] = (1, 2, 1, 2), (1, 2, 0, 1)
    sides = np.empty(2, dtype=np.int64)
    sides[category], sides[number] = AT_LEAST, EITHER
    rules = PairRules(sides, np.zeros(2, int), np.arange(2), sizes, (2, 3))
    both = np.arange(2)
    [pair] = best_pairs(bins, (both, both), gradients, rules, L2, 1.0)
    assert (pair.condition, pair.narrowed) == (category, number)


def test_candidates_without_gain_are_in_no_pair():
    rules = PairRules(
        np.array([1, 0, 2]), np.array([0, -1, 1]), np.arange(3), np.zeros((3, 4), dtype=np.int64), (2, 9)
    )
    conditions, narrowed = useful(np.array([1.0, 3.0, 0.0]), rules)
    assert (conditions.tolist(), narrowed.tolist()) == ([0], [0])


def shop(scores, n=900, seed=0):
    """Customers with two columns and orders; ``scores`` gives the log-odds of a customer."""
    random = np.random.default_rng(seed)
    customers = pd.DataFrame(
        {
            "customer_id": [f"c{i}" for i in range(n)],
            "age": random.integers(18, 80, n),
            "city": random.choice(["oslo", "paris", "rome"], n),
            "size": random.normal(size=n).round(3),
        }
    )
    rows = 5 * n
    orders = pd.DataFrame(
        {
            "order_id": [f"o{i}" for i in range(rows)],
            "customer_id": [f"c{i}" for i in random.integers(0, n, rows)],
            "kind": random.choice(["books", "hats", "shoes"], rows),
        }
    )
    shoes = orders[orders["kind"] == "shoes"].groupby("customer_id").size()
    number = shoes.reindex(customers["customer_id"]).fillna(0).to_numpy()
    chances = 1 / (1 + np.exp(-scores(customers, number)))
    customers["churned"] = (random.random(n) < chances).astype(int)
    schema = {
        "customers": {"key": "customer_id"},
        "orders": {"key": "order_id", "links": {"customer_id": "customers"}},
    }
    return load_quietly({"customers": customers, "orders": orders}, schema=schema, target="customers.churned")


def fitted(database, **options):
    engine = MemoryEngine(database)
    examples = database.examples_of(database.target_named(None))
    return engine, examples, fit(engine, examples, EffectOptions(per_constant=False, **options)).model


PLANTED = {
    "two numbers": (lambda c, k: 1.5 * np.where((c["age"] < 45) == (c["size"] > 0), 1, -1), ("age", "size")),
    "a category and a number": (
        lambda c, k: np.where(c["city"] == "rome", 2 * c["size"], 0),
        ("city", "size"),
    ),
    "a number and a count": (lambda c, k: -0.5 + 1.6 * (c["age"] < 45) * (k - 1.5), ("age", "kind")),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_the_default_finds_a_planted_pair(planted):
    scores, columns = PLANTED[planted]
    _, _, model = fitted(shop(scores))
    pairs = [each for each in model.effects if all(f"{column}(" in str(each.effect) for column in columns)]
    # Two numbers that say nothing alone are the first effect; others have effects of their own too.
    assert pairs and (planted != "two numbers" or pairs[0] == model.effects[0])
    _, _, without = fitted(shop(scores), max_conditions=1)
    assert model.settings["held_out_loss"] < without.settings["held_out_loss"]
    assert not [each for each in without.effects if all(c + "(" in str(each.effect) for c in columns)]


def test_an_effect_of_a_pair_has_the_values_that_were_learned_from():
    engine, examples, model = fitted(shop(PLANTED["a number and a count"][0]))
    pairs = [
        each for each in model.effects if str(each.effect.body[0]).startswith(("age(", "city(", "size("))
    ]
    narrowed = [each for each in pairs if len(each.effect.body) > 2]
    assert narrowed
    for each in narrowed:
        effect = each.effect
        [values] = values_of(engine, [effect], examples.keys)
        cuts = tuple(float(cut) for cut in effect.curve.cuts)
        counts = np.bincount(bins_of(values, cuts), minlength=len(cuts) + 2)
        assert counts.tolist() == list(each.examples)


def test_pairs_of_noise_are_not_worth_their_price():
    _, _, model = fitted(shop(lambda c, k: np.zeros(len(c)), n=400))
    assert not model.effects or model.settings["held_out_loss"] > 0.68


OPTIONS = EffectOptions(per_constant=False, n_bags=3)


def text_with(database, control=NO_CONTROL, engine=MemoryEngine, rows=slice(None)):
    examples = database.examples_of(database.target_named(None)).at(rows)
    return model_text(fit(engine(database), examples, OPTIONS, control).model)


def test_models_with_pairs_are_the_same_for_all_orders_jobs_and_engines():
    database = shop(PLANTED["a number and a count"][0])
    text = text_with(database)
    assert "age(A,B), B < " in text
    assert text_with(database, Control(jobs=2)) == text
    assert text_with(database, engine=DuckDBEngine) == text
    assert text_with(database, rows=np.random.default_rng(1).permutation(900)) == text


def test_a_stopped_fit_with_pairs_goes_on_to_the_same_model(tmp_path):
    database = shop(PLANTED["two numbers"][0])
    text = text_with(database)
    steps = []

    def stop():
        return len(steps) > 60

    control = Control(checkpoint=tmp_path, should_stop=stop, on_step=steps.append)
    assert text_with(database, control) != text
    assert text_with(database, Control(checkpoint=tmp_path)) == text


def test_a_bag_chooses_second_conditions_without_the_examples_outside_of_it(monkeypatch):
    database = shop(lambda c, k: -0.5 + 0.8 * (k - 1.5))
    chosen = []

    def compared(data, weights, *others):
        inside = weights[:, 0] > 0
        changed = data._replace(targets=np.where(inside, data.targets, 1 - data.targets))
        both = [narrowed_paths(each, weights, *others) for each in (data, changed)]
        chosen.extend([{path for path, bags in found if 0 in bags} for found in both])
        return both[0]

    monkeypatch.setattr(learner, "narrowed_paths", compared)
    fitted(database, n_bags=2)
    assert chosen[0] and chosen[0] == chosen[1]


def readers(n=600, n_books=60):
    """People whose score is the sum of what the books that they have read are worth."""
    random = np.random.default_rng(2)
    read = np.unique(random.integers(0, [n, n_books], (8 * n, 2)), axis=0)
    reads = pd.DataFrame({"person": [f"p{i}" for i in read[:, 0]], "book": [f"b{i}" for i in read[:, 1]]})
    books = pd.DataFrame(
        {
            "book": [f"b{i}" for i in range(n_books)],
            "kind": random.choice(["crime", "love", "travel"], n_books),
            "price": random.integers(1, 50, n_books),
        }
    )
    score = np.bincount(read[:, 0], random.normal(size=n_books)[read[:, 1]], n)
    people = pd.DataFrame({"person": [f"p{i}" for i in range(n)], "happy": (score > 0).astype(int)})
    links = {"person": "people", "book": "books"}
    schema = {"people": {"key": "person"}, "books": {"key": "book"}, "reads": {"links": links}}
    return load_quietly(
        {"people": people, "books": books, "reads": reads}, schema=schema, target="people.happy"
    )


def test_trials_of_weights_per_constant_have_the_second_conditions_of_each_bag_too(monkeypatch):
    worths = []

    class Watched(long_model.Boosting):
        def __init__(self, data, *others):
            worths.append(data.worth)
            super().__init__(data, *others)

    monkeypatch.setattr(long_model, "Boosting", Watched)
    database = readers()
    examples = database.examples_of(database.target_named(None))
    fit(MemoryEngine(database), examples, EffectOptions(n_bags=3, n_steps=8))
    assert len(worths) == 4 and (worths[-1] == 0).any()
    assert all(np.array_equal(each, worths[-1]) for each in worths)


def test_a_bag_chooses_pairs_without_the_examples_outside_of_it():
    random = np.random.default_rng(0)
    bins = random.integers(1, 5, (6, 400)).astype(np.uint8)
    targets = (random.random(400) < np.where((bins[0] > 2) == (bins[1] > 2), 0.9, 0.1)).astype(float)
    weights = np.column_stack([random.random(400) < 0.8, np.ones(400)]).astype(float)
    sizes = np.tile([1, 2, 0, 1], (6, 1))
    rules = PairRules(np.full(6, 2), np.zeros(6, int), np.arange(6), sizes, (2, 9))
    chosen = []
    for labels in (targets, np.where(weights[:, 0] > 0, targets, 1 - targets)):
        steps = Steps(60, 0.1, 5.0, 5.0)
        data = StepData(bins, np.zeros((6, 5)), labels, np.ones(400), Logistic(), steps, pairs=rules)
        bags = BagSteps(data, weights)
        bags.renew()
        taken = [step for _ in range(15) for step in bags.go_on(4)]
        chosen.append([step.additions[0].candidate for step in taken])
    assert chosen[0] == chosen[1]
    assert {each for each in chosen[0] if each >= 6}


NUMBERS = {
    "squared": lambda random, score: (50 + 10 * score + 3 * random.normal(size=len(score))).round(2),
    "absolute": lambda random, score: (50 + 10 * score + 3 * random.standard_t(3, len(score))).round(2),
    "poisson": lambda random, score: random.poisson(np.exp(1 + 0.6 * score)),
}


@pytest.mark.parametrize("loss", NUMBERS)
def test_numbers_have_pairs_under_every_loss(loss):
    random = np.random.default_rng(0)
    customers = pd.DataFrame({"customer_id": [f"c{i}" for i in range(900)]})
    customers["age"], customers["size"] = random.integers(18, 80, 900), random.normal(size=900).round(3)
    score = np.where((customers["age"] < 45) == (customers["size"] > 0), 1, -1)
    customers["spent"] = NUMBERS[loss](random, score)
    schema = {"customers": {"key": "customer_id", "roles": {"spent": "number"}}}
    database = load_quietly({"customers": customers}, schema=schema, target="customers.spent")
    _, examples, model = fitted(database, loss=loss)
    first = str(model.effects[0].effect)
    assert "age(" in first and "size(" in first
    other = fit(DuckDBEngine(database), examples, EffectOptions(per_constant=False, loss=loss)).model
    assert model_text(other) == model_text(model)
    _, _, without = fitted(database, loss=loss, max_conditions=1)
    assert model.settings["held_out_loss"] < 0.7 * without.settings["held_out_loss"]


def test_an_example_of_weight_three_is_three_examples_for_pairs():
    random = np.random.default_rng(3)
    bins = random.integers(1, 5, (6, 300)).astype(np.uint8)
    targets = (random.random(300) < np.where((bins[0] > 2) == (bins[1] > 2), 0.9, 0.1)).astype(float)
    weights = np.where((bins[2] > 2) == (bins[3] > 2), 3.0, 1.0)
    sizes = np.tile([1, 2, 0, 1], (6, 1))
    rules = PairRules(np.full(6, 2), np.zeros(6, int), np.arange(6), sizes, (2, 9))

    def chosen(times, counts):
        own = [np.repeat(each, times, axis=-1) for each in (bins, targets, counts)]
        steps = Steps(60, 0.1, 5.0, 5.0)
        data = StepData(own[0], np.zeros((6, 5)), own[1], own[2], Logistic(), steps, pairs=rules)
        bags = BagSteps(data, own[2][:, None])
        bags.renew()
        return [step.additions[0].candidate for _ in range(15) for step in bags.go_on(4)]

    weighted = chosen(np.ones(300, dtype=int), weights)
    assert weighted == chosen(weights.astype(int), np.ones(300))
    assert weighted != chosen(np.ones(300, dtype=int), np.ones(300))
    assert max(weighted) >= 6


def test_weights_enter_the_choice_of_conditions():
    """Half of the customers follow one rule and half another: the pairs are those of the half that counts."""
    half = np.arange(900) % 2 == 0
    database = shop(
        lambda c, k: np.where(
            half,
            3 * np.where((c["age"] < 45) == (c["size"] > 0), 1, -1),
            np.where(c["city"] == "rome", 2, -1) * (k - 1.5),
        )
    )
    engine, examples = MemoryEngine(database), database.examples_of(database.target_named(None))
    names = [int(name[1:]) for name in database.names_of(examples.target, examples.keys)[:, 0]]
    for counted, columns in ((half, ("age", "size")), (~half, ("city", "kind"))):
        weighted = replace(examples, weights=np.where(counted[names], 1.0, 1e-6))
        model = fit(engine, weighted, EffectOptions(per_constant=False)).model
        first = str(model.effects[0].effect)
        assert all(f"{column}(" in first for column in columns)


def friends(n=12):
    """Persons with attributes and links, and an example for each pair of them."""
    random = np.random.default_rng(5)
    names = [f"p{i}" for i in range(n)]
    persons = pd.DataFrame(
        {
            "person_id": names,
            "city": random.choice(["oslo", "rome"], n),
            "team_id": random.choice(["red", "blue", "green"], n),
            "age": random.integers(20, 26, n),
        }
    )
    links = {
        table: pd.DataFrame({"one": random.choice(names, 30), "other": random.choice(names, 30)})
        for table in ("likes", "knows")
    }
    teams = pd.DataFrame({"team_id": ["red", "blue", "green"], "size": [3, 5, 8], "kind": ["x", "y", "x"]})
    keys = {"persons": {"key": "person_id", "links": {"team_id": "teams"}}, "teams": {"key": "team_id"}}
    schema = keys | {table: {"links": {"one": "persons", "other": "persons"}} for table in links}
    tables = {"persons": persons, "teams": teams} | {
        table: rows.drop_duplicates() for table, rows in links.items()
    }
    return load_quietly(tables, schema=schema, target="likes")


def test_every_pair_that_is_allowed_has_the_bins_of_its_body():
    database = friends()
    engine, examples = MemoryEngine(database), database.examples_of(database.target_named(None))
    problem, _ = learner._problem(engine, examples, EffectOptions(n_cuts=2, neg_pos_ratio=None))
    _, offers, search = learner._candidates(problem, lambda: None, NO_CONTROL)
    own, rules, keys = offers.pool.candidates, search.pairs, problem.examples.keys
    bins, number = np.array(offers.pool.rows), len(offers.pool.candidates)
    random = np.random.default_rng(0)
    pairs = []
    for condition in np.flatnonzero(rules.sides != NEVER):
        others = np.flatnonzero((rules.outside >= 0) & (np.arange(number) != condition))
        others = others[rules.allow(condition, others)]
        pairs += [Pair(int(condition), 1, False, int(each)) for each in random.choice(others, 25)]
    assert len(pairs) > 100
    made = [candidate_of(pair, own) for pair in pairs]
    found = engine.features([each.request for each in made], keys)
    for pair, candidate, values in zip(pairs, made, found, strict=True):
        expected = row_of(pair.number(number), bins, rules)
        assert (bins_of(values, candidate.cuts) == expected).all(), candidate.request


@pytest.mark.parametrize(
    ("kind", "bin_of_others"),
    [
        (COUNT, 1),
        (DISTINCT, 1),
        (MEAN, 0),
        (SHARE, 0),
        (MONTH, -1),
        (FIRST, -1),
        (LAST, -1),
        (SINCE_LAST, -1),
    ],
)
def test_examples_that_do_not_meet_a_condition_count_0_or_are_missing(kind: str, bin_of_others: int) -> None:
    """Features that depend on the order of steps are not narrowed: the condition would come first."""
    body = (Atom("had", (0, 1)), Atom("paid", (1, 2)))
    feature = Feature(kind, 2 if kind in (DISTINCT, MEAN, FIRST, LAST) else None)
    candidate = FeatureCandidate(FeatureRequest(Atom("bad", (0,)), body, feature), (0.5, 2.0), (0.0,) * 4)
    path = Path(body, (), 1, 3)
    assert rules_of([candidate], [path], BodyLimits(None, 2)).outside.tolist() == [bin_of_others]
