"""Relational regression trees against slow ones: every test tried on the naive engine, exact variances."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hornbeam.data.database import Database
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.counting.holding import Holding
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.errors import Place
from hornbeam.learning.options import RDNOptions
from hornbeam.learning.problem import language_for
from hornbeam.logic.clauses import Clause
from hornbeam.logic.refine import Language, additions
from hornbeam.model.explain import explain
from hornbeam.model.fields import Fields
from hornbeam.rivals.trees.growth import Growth
from hornbeam.rivals.trees.model import TreeModel, node_fields, read_tree
from hornbeam.rivals.trees.rdn_boost import fit
from hornbeam.rivals.trees.tests import NodeTests
from hornbeam.rivals.trees.trees import Leaf, Node, Tree, body_text, leaf_values, leaves
from small_worlds import same_by_every_engine, worlds

OPTIONS = st.builds(
    RDNOptions,
    n_steps=st.integers(1, 3),
    max_depth=st.integers(1, 3),
    max_leaves=st.integers(2, 5),
    min_examples=st.integers(1, 2),
    max_literals=st.integers(1, 2),
    beam_width=st.just(10**6),
    prior=st.sampled_from([-1.8, 0.0, "base-rate"]),
    neg_pos_ratio=st.sampled_from([None, 1.0]),
    redraw=st.booleans(),
    negation=st.booleans(),
    n_thresholds=st.integers(0, 2),
)


class SlowTrees:
    """Trees straight from the definition."""

    def __init__(self, database: Database, target: str, options: RDNOptions) -> None:
        self.engine = NaiveEngine(database)
        self.keys = database.examples_of(target).keys
        self.language: Language = language_for(database, target, options.negation, options.n_thresholds)
        self.options = options

    def holds(self, body: tuple, rows: list[int]) -> list[int]:
        (counts,) = counter_of(self.engine).count([Clause(self.language.head, body)], self.keys[rows])
        return [row for row, count in zip(rows, counts.true.tolist(), strict=True) if count > 0]

    def error(self, gradients: list[int], rows: list[int]) -> Fraction:
        mean = Fraction(sum(gradients[row] for row in rows), len(rows))
        return sum(((gradients[row] - mean) ** 2 for row in rows), Fraction(0))

    def split(self, body: tuple, gradients: list[int], rows: list[int]) -> tuple | None:
        best = None
        beam: list[tuple] = [()]
        for _ in range(self.options.max_literals):
            level, beam_now = [], beam
            beam = []
            for test in beam_now:
                for addition in additions(Clause(self.language.head, body + test), self.language):
                    if addition[0] in body + test:
                        continue
                    longer = test + addition
                    yes = self.holds(body + longer, rows)
                    no = [row for row in rows if row not in yes]
                    beam.append(longer)
                    if min(len(yes), len(no)) >= self.options.min_examples:
                        fall = (
                            self.error(gradients, rows)
                            - self.error(gradients, yes)
                            - self.error(gradients, no)
                        )
                        level.append((-fall, body_text(longer), longer, yes, no))
            if level:
                first = min(level, key=lambda row: row[:2])
                if first[0] < (0 if best is None else best[0]):
                    best = first
        return best

    def tree(self, gradients: list[int], rows: list[int]) -> Tree:
        """Splits the open place that gains most until there are leaves enough."""
        open_places = [((), rows, 0, ())]
        chosen: dict[tuple, tuple] = {}
        known: dict[tuple, tuple | None] = {}
        while len(open_places) < self.options.max_leaves:
            for place in open_places:
                body, here, depth, path = place
                if path not in known:
                    deep = depth >= self.options.max_depth
                    known[path] = None if deep else self.split(body, gradients, here)
            able = [place for place in open_places if known[place[3]] is not None]
            if not able:
                break
            place = min(able, key=lambda each: known[each[3]][0])
            body, here, depth, path = place
            _, _, test, yes, no = chosen[path] = known[path]
            at = open_places.index(place)
            open_places[at : at + 1] = []
            open_places.append((body + test, yes, depth + 1, (*path, True)))
            open_places.append((body, no, depth + 1, (*path, False)))
        ends = {place[3]: place[1] for place in open_places}

        def made(path: tuple) -> Tree:
            if path in ends:
                mean = Fraction(sum(gradients[row] for row in ends[path]), len(ends[path])) / 2**30
                return Leaf(float(f"{float(mean):.12g}"), len(ends[path]))
            return Node(chosen[path][2], made((*path, True)), made((*path, False)))

        return made(())


@given(worlds(), OPTIONS, st.data())
@settings(max_examples=25)
def test_a_tree_is_that_of_the_definition(world, options, data):
    database, target = world
    slow = SlowTrees(database, target, options)
    size = len(slow.keys)
    gradients = data.draw(st.lists(st.integers(-5, 5), min_size=size, max_size=size))
    holding = Holding(counter_of(MemoryEngine(database)), slow.keys)
    growth = Growth(NodeTests(slow.language, holding), options, lambda: None)
    found = growth.tree(np.array(gradients) * 2**26, np.arange(size))
    expected = slow.tree([slope * 2**26 for slope in gradients], list(range(size)))
    # Places of one gain may be split in another order where there are not leaves enough for all.
    if options.max_leaves > 2**options.max_depth or len(list(leaves(expected))) < options.max_leaves:
        assert found == expected
    assert len(list(leaves(found))) == len(list(leaves(expected)))


@given(worlds(), OPTIONS)
@settings(max_examples=20)
def test_models_of_every_engine_read_back_and_predict_what_their_leaves_say(world, options):
    database, target = world
    examples = database.examples_of(target)
    model = same_by_every_engine(fit, world, options)
    naive = NaiveEngine(database)
    scores = model.scores(naive, examples.keys)
    assert np.array_equal(scores, model.scores(MemoryEngine(database), examples.keys))
    assert np.allclose(scores, [first_that_holds(model, naive, key) for key in examples.keys], atol=1e-12)
    for key, name, score in zip(examples.keys, database.examples(target)[0], scores, strict=True):
        explained = explain(model, naive, key, name)
        assert explained.log_odds == score
        added = model.prior + sum(reason.contribution for reason in explained.reasons)
        assert abs(added - score) < 1e-12


def first_that_holds(model: TreeModel, engine: NaiveEngine, key: np.ndarray) -> float:
    """The log-odds by the lists of clauses: of each tree, the value of the first clause that holds."""
    total = model.prior
    for tree in model.trees:
        for place in leaves(tree):
            (counts,) = counter_of(engine).count([Clause(model.head, place.body)], key.reshape(1, -1))
            if counts.true[0] > 0:
                total += place.tree.value
                break
    return total


@given(worlds(), OPTIONS)
@settings(max_examples=20)
def test_leaf_values_are_the_means_of_the_gradients_of_their_examples(world, options):
    database, target = world
    examples = database.examples_of(target)
    engine = MemoryEngine(database)
    assume(options.neg_pos_ratio is None)
    fitted = fit(engine, examples, options)
    scores = np.full(len(examples), fitted.model.prior)
    holding = Holding(counter_of(engine), examples.keys)
    for step in fitted.history.steps:
        gradients = examples.labels - 1 / (1 + np.exp(-scores))
        values = leaf_values(step.tree, fitted.model.head, len(examples), holding.holds)
        for value in set(values.tolist()):
            rows = values == value
            assert abs(gradients[rows].mean() - value) < 1e-8
        assert abs(np.sum((gradients - values) ** 2) - step.error_after) < 1e-6
        scores = scores + values


@given(worlds(), OPTIONS)
@settings(max_examples=20)
def test_nodes_in_a_file_make_the_tree_again(world, options):
    database, target = world
    examples = database.examples_of(target)
    fitted = fit(MemoryEngine(database), examples, options)
    for tree in fitted.model.trees:
        fields = Fields({"nodes": node_fields(tree, fitted.model.head)}, Place("test"))
        assert read_tree(fields, database.schema, target) == tree
