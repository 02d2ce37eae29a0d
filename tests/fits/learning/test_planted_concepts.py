"""Each learner finds a concept of its own kind that was planted in a generated world."""

from __future__ import annotations

import numpy as np

from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.datasets.worlds import university, university_probabilities
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.learning.effects import learner as effects
from hornbeam.learning.options import EffectOptions
from hornbeam.logic.parse import parse_mode
from hornbeam.logic.schema import schema_of
from hornbeam.model.evaluate import evaluate
from hornbeam.model.scales import sigmoid
from hornbeam.rivals import mln_boost
from hornbeam.rivals.agg_lr import learner as agg_lr
from hornbeam.rivals.ilp_rlr import learner as ilp_rlr
from hornbeam.rivals.trees import rdn_boost
from hornbeam.rivals.trees.trees import Node, body_text


def world(
    modes: list[str], facts: dict[str, list[tuple[str, ...]]], labels: dict[str, int], target: str
) -> Database:
    """A database of people whose labels are given by name."""
    parsed = tuple(map(parse_mode, modes))
    columns = {name: [list(column) for column in zip(*rows, strict=True)] for name, rows in facts.items()}
    examples = ([(name,) for name in labels], list(labels.values()))
    return build(schema_of(parsed), parsed, columns, {target: examples})


def learned(learner, database, target, options):
    examples = database.examples_of(target)
    return learner.fit(MemoryEngine(database), examples, options)


def test_mln_boost_finds_the_clause_and_about_the_weight_of_its_count():
    database = university(n_departments=10, seed=3)
    options = mln_boost.MLNOptions(
        n_steps=40, clauses_per_step=1, max_literals=2, prior=-4.0, neg_pos_ratio=None
    )
    fitted = learned(mln_boost, database, "advisedby", options)
    planted = "advisedby(A,B) :- publication(C,A), publication(C,B)."
    assert str(fitted.model.clauses[0].clause) == planted
    weights = {str(each.clause): each.weights[1] for each in fitted.model.compact().clauses}
    assert 1.6 < weights.pop(planted) < 2.2
    assert all(abs(weight) < 0.1 for weight in weights.values())
    examples = database.examples_of("advisedby")
    found = fitted.model.probabilities(MemoryEngine(database), examples.keys)
    assert np.abs(found - university_probabilities(database)).mean() < 0.03


def tree_world(seed: int) -> Database:
    """Who has a friend who smokes is at risk, mostly if that very friend has a friend who drinks."""
    rng = np.random.default_rng(seed)
    size = 600
    names = [f"p{i}" for i in range(size)]
    friends = [(a, int(b)) for a in range(size) for b in rng.integers(size, size=2)]
    smokes, drinks = rng.random(size) < 0.3, rng.random(size) < 0.4
    of: dict[int, list[int]] = {}
    for a, b in friends:
        of.setdefault(a, []).append(b)
    labels = {}
    for a in range(size):
        smoking = [b for b in of[a] if smokes[b]]
        through = any(drinks[c] for b in smoking for c in of[b])
        labels[names[a]] = int(rng.random() < (0.05 if not smoking else 0.95 if through else 0.4))
    facts = {
        "friends": [(names[a], names[b]) for a, b in friends],
        "smokes": [(names[a],) for a in range(size) if smokes[a]],
        "drinks": [(names[a],) for a in range(size) if drinks[a]],
    }
    modes = ["risk(+person).", "friends(+person,-person).", "smokes(+person).", "drinks(+person)."]
    return world(modes, facts, labels, "risk")


def two_conditions_world(seed: int) -> Database:
    """Who has a friend that both smokes and drinks is at risk; apart, both say little."""
    rng = np.random.default_rng(seed)
    size = 800
    names = [f"p{number}" for number in range(size)]
    friends = [(a, int(b)) for a in range(size) for b in rng.integers(size, size=3)]
    smokes, drinks = rng.random(size) < 0.5, rng.random(size) < 0.5
    both = {a for a, b in friends if smokes[b] and drinks[b]}
    labels = {name: int(rng.random() < (0.9 if a in both else 0.1)) for a, name in enumerate(names)}
    facts = {
        "friends": [(names[a], names[b]) for a, b in friends],
        "smokes": [(name,) for name, does in zip(names, smokes, strict=True) if does],
        "drinks": [(name,) for name, does in zip(names, drinks, strict=True) if does],
    }
    modes = ["risk(+person).", "friends(+person,-person).", "smokes(+person).", "drinks(+person)."]
    return world(modes, facts, labels, "risk")


def test_the_default_finds_two_conditions_on_one_thing():
    database = two_conditions_world(seed=1)
    found = learned(effects, database, "risk", EffectOptions()).model
    assert {str(step) for step in found.effects[0].effect.body} == {
        "friends(A,B)",
        "smokes(B)",
        "drinks(B)",
    }
    alone = learned(effects, database, "risk", EffectOptions(max_conditions=1)).model
    assert found.settings["held_out_loss"] < alone.settings["held_out_loss"] - 0.05


def test_rdn_boost_finds_the_tests_and_shares_the_friend_between_them():
    options = rdn_boost.RDNOptions(
        n_steps=1, max_depth=2, max_leaves=3, prior=0.0, neg_pos_ratio=None, beam_width=20
    )
    fitted = learned(rdn_boost, tree_world(1), "risk", options)
    (tree,) = fitted.model.trees
    assert isinstance(tree, Node)
    assert body_text(tree.test) == "friends(A,B), smokes(B)"
    assert isinstance(tree.holds, Node)
    assert body_text(tree.holds.test) == "friends(B,C), drinks(C)"
    values = [tree.holds.holds.value, tree.holds.fails.value, tree.fails.value]
    assert np.allclose(values, [0.45, -0.1, -0.45], atol=0.08)
    other = tree_world(2)
    examples = other.examples_of("risk")
    scores = evaluate(examples.labels, fitted.model.probabilities(MemoryEngine(other), examples.keys))
    assert scores.auc_roc > 0.9


def rule_world(seed: int) -> Database:
    """Liked are those who made something red, and those who are old and live in some city c0."""
    rng = np.random.default_rng(seed)
    size = 300
    names = [f"p{i}" for i in range(size)]
    made = [(a, int(x)) for a in range(size) for x in rng.integers(400, size=2)]
    red = rng.random(400) < 0.1
    old = rng.random(size) < 0.4
    city = rng.integers(5, size=size)
    labels = {}
    for a in range(size):
        rule = any(red[x] for b, x in made if b == a) or bool(old[a] and city[a] == 0)
        labels[names[a]] = int(rule != (rng.random() < 0.02))
    facts = {
        "made": [(names[a], f"x{x}") for a, x in made],
        "colour": [(f"x{x}", "red" if red[x] else "blue") for x in range(400)],
        "old": [(names[a],) for a in range(size) if old[a]],
        "lives": [(names[a], f"c{city[a]}") for a in range(size)],
    }
    modes = [
        "liked(+person).", "made(+person,-thing).", "colour(+thing,#colour).", "old(+person).",
        "lives(+person,#city).", "lives(+person,-city).",
    ]  # fmt: skip
    return world(modes, facts, labels, "liked")


def test_ilp_rlr_finds_the_rules_and_weighs_them():
    fitted = learned(ilp_rlr, rule_world(4), "liked", ilp_rlr.ILPOptions(neg_pos_ratio=None))
    found = {str(each.clause): each.weights for each in fitted.model.clauses}
    assert set(found) == {
        "liked(A) :- colour(B,red), made(A,B).",
        "liked(A) :- lives(A,c0), old(A).",
    }
    assert all(weights[1] > 1.0 for weights in found.values())
    assert [step.compression > 0 for step in fitted.history.steps] == [True, True]
    other = rule_world(5)
    examples = other.examples_of("liked")
    scores = evaluate(examples.labels, fitted.model.probabilities(MemoryEngine(other), examples.keys))
    assert scores.auc_roc > 0.9


def variety_world(seed: int) -> Database:
    """The more *different* genres a person has seen, the likelier; how many films does not matter."""
    rng = np.random.default_rng(seed)
    size, films, genres = 800, 60, 8
    genre = rng.integers(genres, size=films)
    seen, labels = [], {}
    for a in range(size):
        # Some see many films of few genres, others few films of many.
        some = rng.choice(genres, size=int(rng.integers(1, 7)), replace=False)
        pool = np.flatnonzero(np.isin(genre, some))
        chosen = rng.choice(pool, size=min(len(pool), int(rng.integers(1, 15))), replace=False)
        seen += [(f"p{a}", f"f{film}") for film in chosen]
        variety = len(set(genre[chosen].tolist()))
        labels[f"p{a}"] = int(rng.random() < sigmoid(np.array([-4.0 + 1.5 * variety]))[0])
    facts = {"seen": seen, "genre": [(f"f{film}", f"g{genre[film]}") for film in range(films)]}
    return world(
        ["curious(+person).", "seen(+person,-film).", "genre(+film,-genre)."], facts, labels, "curious"
    )


def test_agg_lr_finds_the_aggregate():
    fitted = learned(agg_lr, variety_world(6), "curious", agg_lr.AggOptions(feature="count"))
    first = fitted.model.features[0]
    assert str(first.aggregate) == "distinct C of genre(B,C), seen(A,B)"
    assert 1.0 < first.weight < 2.0
    other = variety_world(7)
    examples = other.examples_of("curious")
    scores = evaluate(examples.labels, fitted.model.probabilities(MemoryEngine(other), examples.keys))
    assert scores.auc_roc > 0.85
