"""Joint weights, the slope of one feature, log counts: against scikit-learn and plain computations."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from hornbeam.datasets import worlds as generate
from hornbeam.engines.clauses.contract import LOG_UNIT, Sums
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.counting.count_cache import CountCache
from hornbeam.engines.clauses.counting.exact_sums import whole_logarithms
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.learning.boosting import boost
from hornbeam.learning.loop import Control
from hornbeam.learning.losses.dense import fit_weights
from hornbeam.learning.search.ridge import ClauseSums, LineFit, response
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.files import model_text, parse_model
from plain_options import joint


@pytest.mark.parametrize("l2", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_joint_weights_are_those_of_logistic_regression(l2: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = rng.gamma(1.0, 2.0, size=(4, 300))
    labels = (rng.random(300) < 1 / (1 + np.exp(1.5 - features[0] + 0.5 * features[1]))).astype(np.int8)
    found = fit_weights(features, labels, l2)
    right = LogisticRegression(C=1 / l2, tol=1e-12, max_iter=10_000).fit(features.T, labels)
    assert found.weights == pytest.approx(right.coef_[0], abs=1e-5)
    assert found.intercept == pytest.approx(right.intercept_[0], abs=1e-4)


def test_weights_stay_finite_on_separable_examples_and_constant_features() -> None:
    labels = np.array([0, 0, 1, 1], dtype=np.int8)
    found = fit_weights(np.array([[0.0, 0.0, 1.0, 1.0], [3.0, 3.0, 3.0, 3.0]]), labels, 1e-6)
    assert 5 < found.weights[0] < 100
    assert found.weights[1] == pytest.approx(0.0, abs=1e-9)
    assert np.isfinite(found.intercept)


def test_the_order_of_threads_is_no_part_of_it() -> None:
    rng = np.random.default_rng(3)
    features = rng.random((3, 50))
    labels = (rng.random(50) < 0.4).astype(np.int8)
    assert fit_weights(features, labels, 1.0) == fit_weights(np.asfortranarray(features), labels, 1.0)


@given(
    counts=st.lists(st.integers(0, 50), min_size=3, max_size=12),
    gradients=st.lists(st.integers(-(2**30), 2**30), min_size=12, max_size=12),
    l2=st.sampled_from([0.1, 1.0, 1000.0]),
)
@settings(max_examples=25)
def test_the_slope_and_its_gain_are_those_of_least_squares(
    counts: list[int], gradients: list[int], l2: float
) -> None:
    t, d = [Fraction(c) for c in counts], [Fraction(s, 2**30) for s in gradients[: len(counts)]]
    n = len(t)
    mean_t, mean_d = sum(t) / n, sum(d) / n
    spread = sum((x - mean_t) ** 2 for x in t)
    together = sum((x - mean_t) * y for x, y in zip(t, d, strict=True))
    slope = together / (spread + Fraction(l2))
    error = sum((y - mean_d - slope * (x - mean_t)) ** 2 for x, y in zip(t, d, strict=True))
    gain = sum(y * y for y in d) - (error + Fraction(l2) * slope**2)
    integers = np.array(gradients[:n], dtype=np.int64)
    fitting = LineFit(response(integers), l2, 1)
    products = sum(c * s for c, s in zip(counts, gradients, strict=False))
    sums = ClauseSums(
        total=99, true=sum(counts), true_squared=sum(c * c for c in counts), true_gradient=products
    )
    assert fitting.exact_gain(sums) == gain * 2**60
    many = Sums([], [99], [sums.true], [sums.true_squared], [sums.true_gradient])
    assert fitting.gains(many)[0] == pytest.approx(float(gain * 2**60), rel=1e-9, abs=1e-3)
    w0, w1, w2 = fitting.weights(sums)
    assert w1 == pytest.approx(float(slope), rel=1e-9, abs=1e-12)
    assert w0 == pytest.approx(float(mean_d - slope * mean_t), rel=1e-9, abs=1e-12)
    assert w2 == 0.0


def test_a_session_of_logarithms_sums_them_exactly() -> None:
    world = generate.university(n_departments=1, seed=1)
    keys = world.examples_of("advisedby").keys[:40]
    clause = parse_clause("advisedby(A,B) :- publication(C,A), publication(C,B).", world.schema)
    session = CountCache(counter_of(MemoryEngine(world)), keys, logarithm=True)
    gradients = np.arange(-20, 20, dtype=np.int64)
    session.set_gradients(gradients)
    sums = session.sums([clause])
    (counts,) = counter_of(NaiveEngine(world)).count([clause], keys)
    logs = [round(float(np.log1p(t)) * LOG_UNIT) for t in counts.true.tolist()]
    assert whole_logarithms(counts.true).tolist() == logs
    assert sums.true == [sum(logs)]
    assert sums.true_squared == [sum(x * x for x in logs)]
    assert sums.true_gradient == [sum(x * y for x, y in zip(logs, gradients.tolist(), strict=True))]
    assert session.column(clause).tolist() == counts.true.tolist()


def fitted(**options: object) -> tuple[Model, MemoryEngine]:
    world = generate.university(n_departments=4, seed=5)
    examples = world.examples_of("advisedby")
    engine = MemoryEngine(world)
    chosen = joint(n_steps=4, **options)
    return boost.fit(engine, examples, chosen).model, engine


def test_joint_weights_find_the_planted_clause_and_say_nothing_twice() -> None:
    model, _ = fitted()
    bodies = [weighted.clause for weighted in model.clauses]
    assert bodies[0] == parse_clause("advisedby(A,B) :- publication(C,A), publication(C,B).")
    said = {(weighted.clause, weighted.feature) for weighted in model.clauses}
    assert len(said) == len(bodies)
    assert parse_model(model_text(model), "model") == model


def test_sampled_negatives_leave_the_mean_probability_near_the_base_rate() -> None:
    model, engine = fitted(neg_pos_ratio=2.0)
    examples = engine.database.examples_of("advisedby")
    mean = float(model.probabilities(engine, examples.keys).mean())
    assert mean == pytest.approx(float(examples.labels.mean()), rel=0.15)


def test_a_refit_resumes_to_the_same_model(tmp_path) -> None:
    world = generate.university(n_departments=2, seed=5)
    examples = world.examples_of("advisedby")
    options = joint(n_steps=4)

    def learn(checkpoint, should_stop=None):
        engine = MemoryEngine(world)
        return boost.fit(
            engine, examples, options, Control(checkpoint=checkpoint, should_stop=should_stop)
        ).model

    whole = learn(None)
    asked = iter([None] * 7)
    learn(tmp_path, lambda: next(asked, "enough"))
    assert model_text(learn(tmp_path)) == model_text(whole)


def test_longer_clauses_must_earn_their_length() -> None:
    lengths = {}
    for penalty in (0.0, 0.5):
        model, _ = fitted(length_penalty=penalty, max_literals=4)
        lengths[penalty] = sum(len(weighted.clause.body) for weighted in model.clauses)
    assert lengths[0.5] < lengths[0.0]


def test_a_log_weight_reads_as_one() -> None:
    clause = parse_clause("cancer(A) :- friends(A,B).")
    weighted = WeightedClause(clause, (0.0, 2.0, 0.0), 5, "log")
    assert str(weighted) == "[0, 2, 0] log : cancer(A) :- friends(A,B)."
    assert weighted.contribution(np.array([0, 1, 3]), 5) == pytest.approx(2 * np.log([1, 2, 4]))
    model = Model("cancer", Schema({"cancer": ("p",), "friends": ("p", "p")}), 0.0, (weighted,))
    assert "LN(" in model.sql("duckdb")


def test_fewer_false_groundings_than_none_are_read_as_none() -> None:
    clause = parse_clause("cancer(A) :- friends(A,B).")
    weighted = WeightedClause(clause, (0.0, 1.0, 1.0), 2, "log")
    assert weighted.contribution(np.array([5]), 2).tolist() == [np.log1p(5.0)]


def test_the_order_of_examples_is_no_part_of_it() -> None:
    database = generate.university(2, seed=4)
    examples = database.examples_of("advisedby")
    options = joint(n_steps=5)
    texts = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(examples))
        found = boost.fit(MemoryEngine(database), examples.at(order), options)
        texts.append(model_text(found.model))
    assert texts[0] == texts[1] == texts[2]
