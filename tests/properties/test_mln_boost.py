"""MLN-Boost against a slow learner: the definition in fractions, the naive engine, no shortcuts."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.data.database import Database
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.learning.options import MLNOptions
from hornbeam.learning.problem import language_for
from hornbeam.logic.refine import refinements
from hornbeam.rivals.mln_boost import fit
from small_worlds import same_by_every_engine, worlds

OPTIONS = st.builds(
    MLNOptions,
    n_steps=st.integers(1, 2),
    clauses_per_step=st.integers(1, 3),
    max_literals=st.integers(1, 2),
    beam_width=st.sampled_from([1, 3, 100]),
    stop=st.sampled_from(["best", "full"]),
    prior=st.sampled_from([0.0, -1.8, "base-rate"]),
    neg_pos_ratio=st.none(),
    negation=st.booleans(),
    n_thresholds=st.integers(0, 2),
)


def slow_fit(database: Database, target: str, options: MLNOptions) -> list[tuple[str, float]]:
    """Clauses and weights, straight from the definition."""
    engine, examples = NaiveEngine(database), database.examples_of(target)
    language = language_for(database, target, options.negation, options.n_thresholds)
    positives = int(examples.labels.sum())
    prior = (
        math.log(positives / (len(examples) - positives)) if options.prior == "base-rate" else options.prior
    )
    scores = [float(f"{prior:.12g}")] * len(examples)
    found = []
    for _ in range(options.n_steps):
        chances = [1 / (1 + math.exp(-score)) for score in scores]
        rest = [
            Fraction(round((y - p) * 2**30), 2**30)
            for y, p in zip(examples.labels.tolist(), chances, strict=True)
        ]
        clauses_before = len(found)
        for _ in range(options.clauses_per_step):
            best, beam, early = None, [language.empty()], set()
            for length in range(1, options.max_literals + 1):
                level = []
                longer = {each for start in beam for each in refinements(start, language)} - early
                # An atom with a comparison is one addition; its body is a candidate once only.
                early |= {clause for clause in longer if len(clause.body) > length}
                for clause in longer:
                    t = counter_of(engine).count([clause], examples.keys)[0].true.tolist()
                    squares = sum(c * c for c in t)
                    product = sum(c * d for c, d in zip(t, rest, strict=True))
                    gain = Fraction(product**2) / squares if squares else Fraction(0)
                    level.append((-gain, len(clause.body), str(clause), clause, t, product, squares))
                if not level:
                    break
                level.sort(key=lambda row: row[:3])
                if best is None or options.stop == "full" or level[0][0] < best[0]:
                    best = level[0]
                beam = [row[3] for row in level[: options.beam_width]]
            if best is None or float(sum(d * d for d in rest) + best[0]) >= float(sum(d * d for d in rest)):
                break
            _, _, text, _, t, product, squares = best
            weight = float(f"{float(product / squares):.12g}")
            found.append((text, weight))
            scores = [score + weight * c for score, c in zip(scores, t, strict=True)]
            rest = [d - Fraction(round(weight * c * 2**30), 2**30) for d, c in zip(rest, t, strict=True)]
        if len(found) == clauses_before:
            break
    return found


@given(worlds(), OPTIONS)
@settings(max_examples=25)
def test_clauses_and_weights_are_those_of_the_definition(world, options):
    database, target = world
    examples = database.examples_of(target)
    fitted = fit(MemoryEngine(database), examples, options)
    found = [(str(each.clause), each.weights[1]) for each in fitted.model.clauses]
    expected = slow_fit(database, target, options)
    assert [text for text, _ in found] == [text for text, _ in expected]
    assert np.allclose([w for _, w in found], [w for _, w in expected], rtol=1e-9)
    assert all(each.weights[0] == each.weights[2] == 0.0 for each in fitted.model.clauses)


@given(worlds(), OPTIONS)
@settings(max_examples=15)
def test_every_engine_gives_the_same_model_and_it_reads_back(world, options):
    assert same_by_every_engine(fit, world, options).learner == "mln-boost"
