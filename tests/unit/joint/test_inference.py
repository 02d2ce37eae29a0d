"""Mean field on tiny worlds."""

import numpy as np

from hornbeam.data.build import build
from hornbeam.joint.inference import mean_field
from hornbeam.joint.neighbours import (
    LinkedThings,
    Neighbours,
    Reaches,
    Term,
    TermWeights,
    own_scores,
    term_values,
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
