"""Relational aggregates against enumerating every grounding, and their weights against the definition."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from hornbeam.data.database import UNKNOWN
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.learning.options import AggOptions
from hornbeam.learning.problem import language_for
from hornbeam.model.explain import explain
from hornbeam.model.groundings.search import groundings
from hornbeam.rivals.agg_lr.aggregates import COUNT, DISTINCT, GREATEST, LEAST, MEAN, aggregates, paths
from hornbeam.rivals.agg_lr.joiner import Joiner
from hornbeam.rivals.agg_lr.learner import fit
from hornbeam.rivals.agg_lr.model import by_path, weighted_values
from small_worlds import same_by_every_engine, worlds


def slow_value(database, aggregate, key):
    """An aggregate of one example by enumerating the groundings of its path."""
    found = groundings(database, aggregate.path, key)
    if aggregate.kind == COUNT:
        return float(len(found))
    at = aggregate.path.free_variables().index(aggregate.variable)
    values = [each[at] for each in found]
    if aggregate.kind == DISTINCT:
        return float(len(set(values)))
    types = database.schema.variable_types(aggregate.path)
    numbers = [float(database.numbers[types[aggregate.variable]][value]) for value in values]
    if not numbers:
        return math.nan
    return {MEAN: sum(numbers) / len(numbers), LEAST: min(numbers), GREATEST: max(numbers)}[aggregate.kind]


@given(worlds(), st.integers(1, 3), st.sampled_from([10**9, 64 * 20]))
@settings(max_examples=25)
def test_aggregates_are_what_enumerating_gives(world, longest, memory):
    database, target = world
    keys = database.examples_of(target).keys.copy()
    keys[0, 0] = UNKNOWN
    language = language_for(database, target, False, 0)
    found = paths(language, longest)
    assert len(found) == len(set(found))
    assert all(1 <= len(path.body) <= longest for path in found)
    joiner = Joiner(database, keys, memory)
    everything = (each for some in found[:40] for each in aggregates(some, language))
    for path, wanted in by_path(everything).items():
        others = [each for each in wanted if each.kind != COUNT]
        if others:
            columns = joiner.columns(path, others)
            for aggregate, column in zip(others, columns, strict=True):
                expected = [slow_value(database, aggregate, key.tolist()) for key in keys]
                assert np.allclose(column, expected, rtol=1e-12, equal_nan=True), str(aggregate)


@given(worlds(), st.sampled_from(["log", "count"]), st.sampled_from([0.3, 1.0, 10.0]))
@settings(max_examples=20)
def test_weights_are_the_most_likely_of_standardised_columns(world, feature, l2):
    database, target = world
    examples = database.examples_of(target)
    options = AggOptions(feature=feature, l2=l2)
    model = same_by_every_engine(fit, world, options)
    engine = NaiveEngine(database)
    scores = model.scores(engine, examples.keys)
    columns = [
        weighted_values(
            each.aggregate,
            np.array([slow_value(database, each.aggregate, key.tolist()) for key in examples.keys]),
            feature,
        )
        for each in model.features
    ]
    rows = []
    for each, column in zip(model.features, columns, strict=True):
        filled = np.where(np.isnan(column), each.mean, column)
        assert abs(filled.mean() - each.mean) < 1e-9
        rows.append((filled - filled.mean()) / filled.std())
    if not rows:
        return
    design = np.array(rows)

    def loss(w):
        each = w[0] + w[1:] @ design
        return np.sum(np.logaddexp(0, np.where(examples.labels == 1, -each, each))) + l2 / 2 * np.sum(
            w[1:] ** 2
        )

    best = minimize(loss, np.zeros(1 + len(rows)), method="BFGS", options={"gtol": 1e-9})
    expected = best.x[0] + best.x[1:] @ design
    assert np.allclose(scores, expected, atol=1e-3)
    for key, name, score in zip(examples.keys, database.examples(target)[0], scores, strict=True):
        explained = explain(model, engine, key, name)
        assert abs(explained.log_odds - score) < 1e-12
        added = model.prior + sum(reason.contribution for reason in explained.reasons)
        assert abs(added - score) < 1e-9


@given(worlds())
@settings(max_examples=20)
def test_no_feature_is_constant_or_says_what_another_says(world):
    database, target = world
    examples = database.examples_of(target)
    engine = MemoryEngine(database)
    fitted = fit(engine, examples)
    columns = fitted.model.values(engine, examples.keys)
    (info,) = fitted.history.steps
    assert info.features == len(columns) == info.computed - info.constant - info.repeated
    marks = {np.where(np.isnan(column), -1.0, column).tobytes() for column in columns}
    assert len(marks) == len(columns)
    assert all(len(set(column.tolist())) > 1 for column in columns)
