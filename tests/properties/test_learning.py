"""The fast learner against a slow one: plain Python, the naive engine, fractions, no shortcuts."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.learning.boosting.boost import fit
from hornbeam.learning.losses.logistic import log_loss
from hornbeam.learning.options import PaperOptions
from hornbeam.logic.clauses import Clause, head_atom
from hornbeam.logic.parse import parse_mode
from hornbeam.logic.refine import Language, refinements
from hornbeam.logic.schema import schema_of
from plain_options import plain

MODES = tuple(
    parse_mode(text)
    for text in (
        "friends(+person,-person).",
        "friends(-person,+person).",
        "smokes(+person).",
        "likes(+person,#thing).",
        "likes(+person,-thing).",
    )
)
PERSONS = ["ann", "bob", "cat", "Dan"]
THINGS = ["tea", "rum"]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Database, str]:
    """A few people, their facts, and examples of a target with one argument or two."""
    pairs = [(a, b) for a in PERSONS for b in PERSONS]
    facts = {
        "friends": draw(st.lists(st.sampled_from(pairs), max_size=7)),
        "smokes": draw(st.lists(st.sampled_from([(a,) for a in PERSONS]), max_size=3)),
        "likes": draw(st.lists(st.sampled_from([(a, b) for a in PERSONS for b in THINGS]), max_size=4)),
    }
    target, rows = draw(st.sampled_from([("risk", [(a,) for a in PERSONS]), ("near", pairs)]))
    chosen = draw(st.lists(st.sampled_from(rows), min_size=2, max_size=6, unique=True))
    labels = [1, 0, *draw(st.lists(st.integers(0, 1), min_size=len(chosen) - 2, max_size=len(chosen) - 2))]
    modes = (parse_mode(f"{target}({','.join('+person' for _ in rows[0])})."), *MODES)
    columns = {name: [list(c) for c in zip(*rows, strict=True)] for name, rows in facts.items() if rows}
    return build(schema_of(modes), modes, columns, {target: (chosen, labels)}), target


OPTIONS = st.builds(
    plain,
    n_steps=st.integers(1, 3),
    l2=st.sampled_from([0.5, 1.0, 10.0, 1000.0]),
    max_literals=st.integers(1, 3),
    beam_width=st.sampled_from([1, 1, 2, 5]),
    stop=st.sampled_from(["best", "full"]),
    prior=st.sampled_from([0.0, -1.25, "base-rate"]),
    neg_pos_ratio=st.none(),
    negation=st.booleans(),
)


def solve(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Gaussian elimination; the matrix is positive definite."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(3):
        for j in range(3):
            if i != j:
                ratio = rows[j][i] / rows[i][i]
                rows[j] = [a - ratio * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [rows[i][3] / rows[i][i] for i in range(3)]


def slow_fit(database: Database, target: str, options: PaperOptions) -> list[tuple[str, list[float]]]:
    """Clauses and weights, straight from the definitions."""
    examples = database.examples_of(target)
    labels = examples.labels.tolist()
    engine = NaiveEngine(database)
    head = head_atom(target, database.schema.arity(target))
    language = Language(head, database.schema, database.modes, database.constants, options.negation)
    known: dict[Clause, tuple[list[int], int]] = {}

    def count(clause: Clause) -> tuple[list[int], int]:
        if clause not in known:
            (counts,) = counter_of(engine).count([clause], examples.keys)
            assert isinstance(counts, Counts)
            known[clause] = counts.true.tolist(), counts.total
        return known[clause]

    def ridge(clause: Clause, gradients: list[Fraction]) -> tuple[Fraction, list[Fraction]]:
        true, total = count(clause)
        rows = [[Fraction(1), Fraction(t), Fraction(total - t)] for t in true]
        normal = [
            [sum(row[i] * row[j] for row in rows) + (Fraction(options.l2) if i == j else 0) for j in range(3)]
            for i in range(3)
        ]
        right = [
            sum((row[i] * d for row, d in zip(rows, gradients, strict=True)), Fraction(0)) for i in range(3)
        ]
        w = solve(normal, right)
        errors = (
            sum(a * b for a, b in zip(w, row, strict=True)) - d
            for row, d in zip(rows, gradients, strict=True)
        )
        return sum((error * error for error in errors), Fraction(0)), w

    positives = sum(labels)
    prior = options.prior
    if prior == "base-rate":
        prior = float(f"{math.log(positives / (len(labels) - positives)):.11e}")
    scores = [float(prior)] * len(labels)
    learned: list[tuple[str, list[float]]] = []
    for _ in range(options.n_steps):
        chances = [1 / (1 + math.exp(-s)) if s >= 0 else math.exp(s) / (1 + math.exp(s)) for s in scores]
        gradients = [Fraction(round((y - p) * 2**30), 2**30) for y, p in zip(labels, chances, strict=True)]
        beam, found, early = [language.empty()], [], set()
        for length in range(1, options.max_literals + 1):
            candidates = {c for clause in beam for c in refinements(clause, language)} - early
            # An atom with a comparison is one addition; its body is a candidate once only.
            early |= {c for c in candidates if len(c.body) > length}
            level = sorted((ridge(c, gradients)[0], len(c.body), str(c), c) for c in candidates)
            if not level:
                break
            found = level if options.stop == "full" else [*found, *level]
            beam = [entry[3] for entry in level[: options.beam_width]]
        best = min(found) if found else None
        if best is None or float(best[0]) >= float(sum(d * d for d in gradients)):
            break
        clause = best[3]
        w = [float(f"{float_digits(each)}") for each in ridge(clause, gradients)[1]]
        true, total = count(clause)
        scores = [
            s + ((w[0] + w[1] * t) + w[2] * float(total - t)) for s, t in zip(scores, true, strict=True)
        ]
        learned.append((str(clause), w))
    return learned


def float_digits(value: Fraction) -> str:
    """Twelve significant digits, by long division, halves to even."""
    if value == 0:
        return "0"
    size, exponent = abs(value), 0
    while size >= 10**12:
        size, exponent = size / 10, exponent + 1
    while size < 10**11:
        size, exponent = size * 10, exponent - 1
    return f"{'-' if value < 0 else ''}{round(size)}e{exponent}"


@given(worlds(), OPTIONS)
@settings(max_examples=25, deadline=None)
def test_the_fast_learner_equals_the_slow_one(world: tuple[Database, str], options: PaperOptions) -> None:
    database, target = world
    examples = database.examples_of(target)
    expected = slow_fit(database, target, options)
    for engine in (NaiveEngine(database), MemoryEngine(database)):
        model = fit(engine, examples, options).model
        assert [(str(each.clause), list(each.weights)) for each in model.clauses] == expected


@given(worlds(), OPTIONS)
@settings(max_examples=25, deadline=None)
def test_the_likelihood_of_the_training_examples_rises_with_every_step(
    world: tuple[Database, str], options: PaperOptions
) -> None:
    # With h the fit, d.h >= |h|^2, and the log-likelihood's curvature is at most 1/4: a step gains
    # at least 7/8 |h|^2.
    database, target = world
    examples = database.examples_of(target)
    engine = NaiveEngine(database)
    fitted = fit(engine, examples, options)
    before = fitted.model.prior + np.zeros(len(examples))
    for number, step in enumerate(fitted.history.steps, start=1):
        so_far = replace(fitted.model, clauses=fitted.model.clauses[:number])
        after = so_far.scores(engine, examples.keys)
        rise = len(examples) * (log_loss(examples.labels, before) - log_loss(examples.labels, after))
        assert rise >= 0.875 * float(np.sum((after - before) ** 2)) - 1e-9
        assert step.error_after < step.error_before
        before = after


@given(worlds(), OPTIONS, st.integers(0, 2**32))
@settings(max_examples=15, deadline=None)
def test_the_order_of_facts_examples_and_modes_is_no_part_of_the_model(
    world: tuple[Database, str], options: PaperOptions, seed: int
) -> None:
    database, target = world
    options = replace(options, neg_pos_ratio=1.0)
    names, labels = database.examples(target)
    random = Random(seed)
    facts = {}
    for predicate, relation in database.relations.items():
        types = database.schema.types_of(predicate)
        rows = list(
            zip(
                *(database.population(t).decode(c) for t, c in zip(types, relation.columns, strict=True)),
                strict=True,
            )
        )
        random.shuffle(rows)
        facts[predicate] = [list(column) for column in zip(*rows, strict=True)]
    order = list(range(len(labels)))
    random.shuffle(order)
    modes = list(database.modes)
    random.shuffle(modes)
    shuffled = build(
        database.schema,
        modes,
        dict(random.sample(list(facts.items()), len(facts))),
        {target: ([names[i].tolist() for i in order], [int(labels[i]) for i in order])},
    )
    models = []
    for each in (database, shuffled):
        examples = each.examples_of(target)
        models.append(fit(NaiveEngine(each), examples, options).model)
    assert models[0].clauses == models[1].clauses
    assert models[0].prior == models[1].prior
