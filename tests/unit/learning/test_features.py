"""Readings of counts: what they are, which are offered, and how one is chosen."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hornbeam.datasets.worlds import university
from hornbeam.engines.contract import LOG_UNIT
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.errors import ModelError
from hornbeam.learning.boosting.boost import fit
from hornbeam.learning.boosting.choice import best_feature
from hornbeam.learning.boosting.columns import Columns, Feature
from hornbeam.learning.constants.per_constant import Families, Family
from hornbeam.learning.options import fit_options
from hornbeam.logic.clauses import Atom, Clause
from hornbeam.model.features import (
    COUNT,
    LOG,
    SHARE,
    at_least,
    bound_of,
    feature_values,
    in_units,
    is_feature,
    offered,
)
from hornbeam.model.files import model_text, parse_model

COUNTS = st.lists(st.integers(0, 40), min_size=2, max_size=30)


def test_only_features_are_features() -> None:
    assert all(map(is_feature, (COUNT, LOG, SHARE, "at least 1", "at least 924")))
    assert not any(map(is_feature, ("", "shares", "at least 0", "at least -1", "at least 05", "at least  5")))
    assert bound_of(LOG) is None
    assert bound_of(at_least(7)) == 7


@given(COUNTS, st.integers(1, 5))
def test_offered_features_tell_counts_apart(counts: list[int], most: int) -> None:
    column = np.array(counts)
    names = offered(column, most)
    assert (LOG in names) == (len(set(counts)) > 2)
    assert len(names) <= most + 1
    assert len(set(names)) == len(names)
    assert bool(names) == (len(set(counts)) > 1)
    for name in names[LOG in names :]:
        assert len(set(feature_values(column.astype(float), name).tolist())) == 2


@given(COUNTS)
def test_whole_units_are_the_feature(counts: list[int]) -> None:
    column = np.array(counts)
    for name in offered(column):
        exact = feature_values(column.astype(np.float64), name) * LOG_UNIT
        assert np.abs(in_units(column, name) - exact).max() <= 0.5


@given(
    st.lists(st.lists(st.integers(0, 6), min_size=8, max_size=8), min_size=1, max_size=4),
    st.lists(st.integers(-(2**30), 2**30), min_size=8, max_size=8),
    st.sampled_from([0.0, 0.3]),
)
@settings(max_examples=60)
def test_the_chosen_feature_gains_most(table: list[list[int]], gradients: list[int], penalty: float) -> None:
    head = Atom("h", (0,))
    columns = {
        Clause(head, tuple(Atom("p", (0, place)) for place in range(number + 1))): np.array(values)
        for number, values in enumerate(table)
    }
    curvature = np.full(8, 0.25)
    counted = Columns(lambda clauses: [columns[clause] for clause in clauses])
    found = best_feature(list(columns), counted, (), np.array(gradients), curvature, 2.0, penalty)
    exact: dict[tuple[Clause, str], Fraction] = {}
    n, whole = 8, sum(gradients)
    for clause, column in columns.items():
        for name in offered(column):
            values = in_units(column, name).tolist()
            top = n * sum(a * b for a, b in zip(values, gradients, strict=True)) - sum(values) * whole
            squares = n * sum(a * a for a in values) - sum(values) ** 2
            statistic = 4 * top * top / (n * squares) / 4**30 if squares else 0.0
            assume(abs(statistic - 1) > 1e-6)
            if statistic < 1:
                continue
            below = n * (squares + n * 2 * (max(values) - min(values)) * LOG_UNIT)
            gain = Fraction(whole * whole, n) + Fraction(top * top) / below
            exact[clause, name] = gain * (1 - Fraction(penalty)) ** (len(clause.body) - 1)
    if found is None:
        assert not exact
        return
    feature, _ = found
    gain = exact[feature.clause, feature.feature]
    assert float(gain) == pytest.approx(float(max(exact.values())), rel=1e-9)


HEAD = Atom("h", (0,))
BETTER, WORSE = np.array([1, 1, 1, 1, 0, 0, 0, 0]), np.array([1, 1, 1, 0, 0, 0, 0, 1])
"""Of the gradients below these explain 3.28 and 2.72, squared as 1 to 0.69."""
GRADIENTS = np.array([1.0, 1.0, 1.0, 0.28, -1.0, -1.0, -1.0, -0.28]) * 2**30


def chosen(
    counts: dict[str, np.ndarray], weighed: np.ndarray | None, taken: tuple[Feature, ...], penalty: float
) -> Feature | None:
    """The best of some predicates of an example, and of one with a weight for each constant."""
    columns = {Clause(HEAD, (Atom(name, (0,)),)): column for name, column in counts.items()}
    families = Families()
    if weighed is not None:
        families = Families((Family(Clause(HEAD, (Atom("of", (0, 1)),)), 1, (), weighed),))
    counted = Columns(lambda clauses: [columns[clause] for clause in clauses], lambda: families)
    gradients = GRADIENTS.astype(np.int64)
    found = best_feature(list(columns), counted, taken, gradients, np.full(8, 0.25), 2.0, penalty)
    return None if found is None else found[0]


def test_a_weight_for_each_constant_counts_as_one_more_literal() -> None:
    weighed = BETTER.astype(float)
    assert chosen({"p": WORSE}, weighed, (), 0.0) == Feature(Clause(HEAD, (Atom("of", (0, 1)),)), LOG, 1)
    assert chosen({"p": WORSE}, weighed, (), 0.4) == Feature(Clause(HEAD, (Atom("p", (0,)),)), "at least 1")


def test_what_is_large_is_penalised_more() -> None:
    # Twice the range: 0.69 * 4 / (4 * 2 + 2 * 2) < 1 / (2 + 2), but 0.69 * 4 / (4 * 2 + 2) is more.
    assert chosen({"p": BETTER}, 2.0 * WORSE, (), 0.0) == Feature(
        Clause(HEAD, (Atom("p", (0,)),)), "at least 1"
    )


def test_what_a_part_of_the_model_says_is_not_said_again() -> None:
    taken = Feature(Clause(HEAD, (Atom("p", (0,)),)), "at least 1")
    again = chosen({"p": BETTER, "q": BETTER, "r": WORSE}, BETTER.astype(float), (taken,), 0.0)
    assert again == Feature(Clause(HEAD, (Atom("r", (0,)),)), "at least 1")


def test_a_model_with_bounds_is_kept_and_read_again() -> None:
    database = university(2, seed=3)
    examples = database.examples_of("advisedby")
    options = fit_options(n_steps=6)
    model = fit(MemoryEngine(database), examples, options).model
    text = model_text(model)
    again = parse_model(text)
    assert model_text(again) == text
    engine = MemoryEngine(database)
    assert again.scores(engine, examples.keys).tolist() == model.scores(engine, examples.keys).tolist()
    with pytest.raises(ModelError, match='"feature" of clause 1 must be count or log or at least N'):
        parse_model(text.replace(f'"feature": "{model.clauses[0].feature}"', '"feature": "at least 0"', 1))
