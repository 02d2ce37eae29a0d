"""ILP-RLR against the definitions: bottom clauses, the best of all bodies, and the most likely weights."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.counting.holding import CanonicalParts, Holding
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.learning.options import ILPOptions
from hornbeam.learning.problem import language_for
from hornbeam.logic.clauses import Clause, literal_variables
from hornbeam.rivals.ilp_rlr.bottom import Saturation, reduced
from hornbeam.rivals.ilp_rlr.learner import CoverProblem, best_body, fit
from hornbeam.rivals.ilp_rlr.likelihood import joint_weights
from small_worlds import same_by_every_engine, worlds

EVERYTHING = ILPOptions(max_literals=2, max_bodies=10**8, max_recall=100, n_thresholds=1)


def parts_of_search(world, rounds=1):
    database, target = world
    language = language_for(database, target, False, EVERYTHING.n_thresholds)
    return database, language, Saturation(database, language, rounds, EVERYTHING.max_recall)


@given(worlds(), st.integers(1, 2))
@settings(max_examples=25)
def test_a_bottom_clause_holds_for_its_example_with_and_without_twins(world, rounds):
    database, language, saturation = parts_of_search(world, rounds)
    engine, arity = NaiveEngine(database), len(language.head.args)
    for key in database.examples_of(world[1]).keys[:2]:
        bottom = saturation.bottom(key.tolist())
        without = reduced(bottom, arity)
        assert set(without) <= set(bottom)
        for each in bottom:
            if all(variable < arity for variable in each.needs):
                (counts,) = counter_of(engine).count(
                    [Clause(language.head, (each.literal,))], key.reshape(1, -1)
                )
                assert counts.true[0] > 0
        whole = Clause(language.head, tuple(each.literal for each in without))
        if len(whole.free_variables()) <= 4:
            (counts,) = counter_of(engine).count([whole], key.reshape(1, -1))
            assert counts.true[0] > 0


@given(worlds())
@settings(max_examples=25)
def test_every_literal_of_a_mode_that_is_true_of_the_example_is_in_its_bottom_clause(world):
    database, _, saturation = parts_of_search(world)
    examples = database.examples_of(world[1])
    names = database.names_of(world[1], examples.keys)
    likes = {tuple(row) for row in zip(*_columns(database, "likes"), strict=True)}
    smokes = {row for (row,) in zip(*_columns(database, "smokes"), strict=True)}
    for key, name in zip(examples.keys[:2], names[:2], strict=True):
        found = {each.literal for each in saturation.bottom(key.tolist())}
        for at, person in enumerate(name):
            assert (("smokes", (at,)) in found) == (person in smokes)
            for thing in ("tea", "rum"):
                assert (("likes", (at, thing)) in found) == ((person, thing) in likes)


def _columns(database, predicate):
    types = database.schema.types_of(predicate)
    return [
        database.population(type_name).decode(column)
        for type_name, column in zip(types, database.relation(predicate).columns, strict=True)
    ]


@given(worlds())
@settings(max_examples=25)
def test_the_best_body_has_the_greatest_compression_of_all(world):
    database, language, saturation = parts_of_search(world)
    examples = database.examples_of(world[1])
    problem = CoverProblem(
        Holding(counter_of(MemoryEngine(database)), examples.keys),
        CanonicalParts(language.head),
        saturation,
        examples.labels == 1,
        [0],
        EVERYTHING,
    )
    arity = problem.parts.arity
    bottom = saturation.bottom(examples.keys[0].tolist())
    found = best_body(problem, reduced(bottom, arity), problem.positive, lambda: None)
    engine, best = NaiveEngine(database), 0
    for length in (1, 2):
        for some in combinations(bottom, length):
            if any(_in_order(order, arity) for order in permutations(some)):
                body = tuple(each.literal for each in some)
                (counts,) = counter_of(engine).count([Clause(language.head, body)], examples.keys)
                covered = counts.true > 0
                positives = int((covered & (examples.labels == 1)).sum())
                best = max(best, positives - int((covered & (examples.labels == 0)).sum()) - length)
    assert (0 if found is None else found.compression) == best


def _in_order(literals, arity):
    named = set(range(arity))
    for each in literals:
        if not each.needs <= named:
            return False
        named |= set(literal_variables(each.literal))
    return True


COUNTS = st.integers(1, 3).flatmap(
    lambda clauses: st.tuples(
        st.lists(st.lists(st.integers(0, 6), min_size=8, max_size=8), min_size=clauses, max_size=clauses),
        st.lists(st.integers(6, 20), min_size=clauses, max_size=clauses),
    )
)


@given(COUNTS, st.sampled_from([0.1, 1.0, 30.0]))
@settings(max_examples=20)
def test_weights_are_the_most_likely_under_the_stated_penalty(drawn, l2):
    true, totals = np.array(drawn[0], dtype=float), np.array(drawn[1], dtype=float)
    labels = np.array([1, 0, 1, 0, 0, 1, 0, 0], dtype=np.int8)
    false = totals[:, None] - true
    strength = np.concatenate([(true**2).mean(axis=1), (false**2).mean(axis=1)])
    rows = np.concatenate([true, false])

    def loss(w):
        scores = w[0] + w[1:] @ rows
        return np.sum(np.logaddexp(0, np.where(labels == 1, -scores, scores))) + l2 / 2 * np.sum(
            strength * w[1:] ** 2
        )

    counts = [Counts(t, int(n)) for t, n in zip(true.astype(int), totals, strict=True)]
    bias, weights = joint_weights(counts, labels, l2)
    w1, w2 = ([each[at] for each in weights] for at in (1, 2))
    found = loss(np.array([bias, *w1, *w2]))
    start = np.zeros(1 + len(rows))
    best = minimize(loss, start, method="BFGS", options={"gtol": 1e-9}).fun
    assert found <= best + 1e-6 * max(1.0, best)
    assert all(each[0] == 0.0 for each in weights)


def test_weights_are_sound_for_totals_of_any_size():
    true = np.array([0, 1, 5, 2, 0, 3])
    labels = np.array([0, 1, 1, 0, 0, 1], dtype=np.int8)
    scores = []
    for total in (10**6, 10**12, 10**18):
        bias, ((_, w1, w2),) = joint_weights([Counts(true, total)], labels, 1.0)
        scores.append(bias + w1 * true + w2 * (float(total) - true))
    assert np.allclose(scores[0], scores[1], rtol=1e-5)
    assert np.allclose(scores[1], scores[2], rtol=1e-5)


def test_the_order_of_examples_does_not_move_a_digit():
    rng = np.random.default_rng(0)
    true, labels = rng.integers(0, 50, size=(4, 200)), rng.integers(0, 2, size=200).astype(np.int8)
    order = rng.permutation(200)
    one = joint_weights([Counts(t, 1000) for t in true], labels, 0.5)
    other = joint_weights([Counts(t[order], 1000) for t in true], labels[order], 0.5)
    assert one == other


def test_without_clauses_there_is_the_base_rate():
    assert joint_weights([], np.array([1, 0, 0, 0], dtype=np.int8), 1.0) == (
        float(f"{np.log(1 / 3):.12g}"),
        [],
    )


@given(worlds(), st.sampled_from([None, 1.0]))
@settings(max_examples=20)
def test_every_engine_gives_the_same_model_and_it_reads_back(world, ratio):
    options = ILPOptions(max_literals=3, neg_pos_ratio=ratio)
    assert same_by_every_engine(fit, world, options).learner == "ilp-rlr"
