"""Mean field and Gibbs sampling on tiny worlds, where all states can be listed."""

from itertools import product

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.joint.guessing.gibbs import Gibbs, Mixing, blocks_of, gibbs
from hornbeam.joint.guessing.mean_field import mean_field
from hornbeam.joint.neighbours import (
    LinkedThings,
    Neighbours,
    Reaches,
    Term,
    TermWeights,
    own_scores,
    term_values,
    with_evidence,
)
from hornbeam.joint.things import JointTarget, KnownKeys, things_of
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema

SCHEMA = Schema({"smokes": ("person",), "friends": ("person", "person")})
CLAUSES = ("smokes(A) :- friends(A,B), smokes(B).", "smokes(A) :- friends(B,A), smokes(B).")


def world_of(seed, size=4, known=0, classes=(), density=0.5):
    """A few persons with random friends, scores and weights; some labels may be known."""
    rng = np.random.default_rng(seed)
    names = [f"p{n}" for n in range(size)]
    left, right = np.nonzero(rng.random((size, size)) < density)
    kept = left != right
    facts = {"friends": [[names[n] for n in left[kept]], [names[n] for n in right[kept]]]}
    database = build(SCHEMA, (), facts, ranges={"person": names})
    target = JointTarget("smokes", classes)
    keys = database.encode_keys("smokes", np.array(names[:known], dtype=object).reshape(-1, 1))
    labels = rng.integers(target.size, size=known)
    things = {"smokes": things_of(database, target, KnownKeys(keys, labels))}
    reading = ("share", "count")[seed % 2]
    terms = tuple(Term("smokes", reading, (parse_clause(text, SCHEMA),)) for text in CLAUSES)
    values = tuple(term_values(Reaches(database, things), term) for term in terms)
    pairs = rng.normal(size=(target.columns, target.columns)) * 1.5
    weights = tuple(TermWeights(0.0, tuple(map(tuple, pairs * sign))) for sign in (1.0, 0.5))
    bias = tuple(rng.normal(size=target.columns) * 0.3)
    chances = rng.dirichlet(np.ones(target.size) * 3, size=size)
    neighbours = Neighbours(0.5, terms, 0.1, bias, weights)
    return {"smokes": LinkedThings(things["smokes"], own_scores(target, chances), neighbours, values)}


def stationary(world):
    """The mean of the labels under the stationary distribution of a sweep, by its transition matrix."""
    each = world["smokes"]
    blocks, size, labels = blocks_of(each), len(each.things), each.things.target.size
    states = list(product(range(labels), repeat=size))
    onehot = np.eye(labels)
    sweep = np.eye(len(states))
    for block in range(int(blocks.max()) + 1):
        step = np.zeros((len(states), len(states)))
        drawn = [n for n in range(size) if blocks[n] == block and not each.things.known[n]]
        for row, state in enumerate(states):
            fixed = np.where(each.things.known, each.things.labels, state)
            chances = each.conditional({"smokes": with_evidence(each.things, onehot[list(state)])})
            for values in product(range(labels), repeat=len(drawn)):
                moved = fixed.copy()
                moved[drawn] = values
                column = states.index(tuple(moved.tolist()))
                step[row, column] += np.prod([chances[n, v] for n, v in zip(drawn, values, strict=True)])
        assert np.allclose(step.sum(axis=1), 1.0)
        sweep = sweep @ step
    distribution = np.full(len(states), 1.0 / len(states))
    for _ in range(300):
        distribution = distribution @ sweep
    indicator = onehot[np.array(states)]
    return np.einsum("s,snk->nk", distribution, indicator)


@pytest.mark.parametrize(
    ("seed", "known", "classes"),
    [(0, 0, ()), (1, 1, ()), (2, 0, ("a", "b", "c"))],
)
def test_gibbs_sampling_has_the_stationary_distribution_of_the_sweep(seed, known, classes):
    world = world_of(seed, known=known, classes=classes)
    found = gibbs(world, Gibbs(chains=4, burn_in=50, samples=1_500, seed=seed))
    assert isinstance(found.convergence, Mixing)
    assert np.abs(found.beliefs["smokes"] - stationary(world)).max() < 0.04


@pytest.mark.parametrize(("weight", "bias"), [(-4.0, 2.0), (3.0, -3.2)])
def test_things_that_reach_each_other_through_others_are_not_drawn_at_once(weight, bias):
    schema = Schema({"smokes": ("person",), "member": ("person", "club")})
    names = ["p0", "p1", "p2"]
    database = build(schema, (), {"member": [names, ["chess"] * 3]}, ranges={"person": names})
    target = JointTarget("smokes")
    things = {"smokes": things_of(database, target, None)}
    clause = parse_clause("smokes(A) :- member(A,G), member(B,G), smokes(B).", schema)
    term = Term("smokes", "count", (clause,))
    chances = np.array([[0.5, 0.5], [0.3, 0.7], [0.5, 0.5]])
    neighbours = Neighbours(0.5, (term,), 0.0, (bias,), (TermWeights(0.0, ((weight,),)),))
    values = (term_values(Reaches(database, things), term),)
    each = LinkedThings(things["smokes"], own_scores(target, chances), neighbours, values)
    assert sorted(blocks_of(each).tolist()) == [0, 1, 2]
    # The conditional probabilities are those of one distribution over all states.
    states = np.array(list(product((0, 1), repeat=3)))
    pairs = (states.sum(axis=1) ** 2 - states.sum(axis=1)) / 2
    sizes = np.exp(states @ (np.log(chances[:, 1] / chances[:, 0]) + bias) + weight * pairs)
    found = gibbs({"smokes": each}, Gibbs(chains=4, burn_in=50, samples=1_000)).beliefs["smokes"][:, 1]
    assert np.abs(found - sizes @ states / sizes.sum()).max() < 0.03


def test_sampling_is_repeatable_by_its_seed():
    world = world_of(7)
    one, same, other = (gibbs(world, Gibbs(2, 5, 20, seed)).beliefs["smokes"] for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_chains_that_disagree_are_reported():
    # Friends who must agree, strongly: chains stay in the state that they begin in.
    world = world_of(0, size=6)
    each = world["smokes"]
    strong = tuple(TermWeights(0.0, ((40.0,),)) for _ in each.neighbours.terms)
    neighbours = Neighbours(0.5, each.neighbours.terms, -1.0, (-20.0,), strong)
    stuck = {"smokes": LinkedThings(each.things, each.own, neighbours, each.values)}
    mixing = gibbs(stuck, Gibbs(chains=8, burn_in=0, samples=20, seed=0)).convergence
    assert not mixing.converged
    assert "has not mixed" in str(mixing)


def test_mean_field_is_a_fixed_point():
    for seed in range(6):
        world = world_of(seed, known=seed % 2)
        found = mean_field(world)
        assert found.convergence.converged
        again = world["smokes"].conditional(found.beliefs)
        assert np.abs(again - found.chances["smokes"]).max() < 1e-4


def test_an_oscillation_is_damped_and_reported():
    # All are friends who must differ, strongly, and begin alike: large steps would swing for ever.
    world = world_of(0, density=1.0)
    each = world["smokes"]
    repel = tuple(TermWeights(0.0, ((-30.0,),)) for _ in each.neighbours.terms)
    neighbours = Neighbours(0.5, each.neighbours.terms, -1.0, (30.0,), repel)
    alike = own_scores(each.things.target, np.tile([0.6, 0.4], (4, 1)))
    found = mean_field({"smokes": LinkedThings(each.things, alike, neighbours, each.values)})
    assert found.convergence.converged or "still move" in str(found.convergence)
    assert "damped" in str(found.convergence)


def test_things_without_links_keep_the_probabilities_of_their_separate_model():
    world = world_of(3)
    each = world["smokes"]
    chances = mean_field(world).beliefs["smokes"]
    lonely = ~each.linked
    assert np.array_equal(chances[lonely], each.own.chances[lonely])
    nobody = LinkedThings(each.things, each.own, Neighbours(0.5), ())
    assert np.array_equal(mean_field({"smokes": nobody}).beliefs["smokes"], each.own.chances)
