"""Numbers at the edge of what floats hold: fits stay finite, heed the penalty, and treat labels alike.

Totals to 1e18, penalties from 1e-12 to 1e12, counts that are all equal, examples that a clause separates.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isfinite

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.engines.clauses.contract import LOG_UNIT, Sums
from hornbeam.engines.registry import open_engine
from hornbeam.learning.learners import learn
from hornbeam.learning.losses.dense import fit_weights
from hornbeam.learning.numbers import GRADIENT_BITS
from hornbeam.learning.options import Options, fit_options
from hornbeam.learning.search.ridge import ClauseSums, LineFit, Response, Ridge, response
from hornbeam.logic.parse import parse_mode
from hornbeam.logic.schema import schema_of
from hornbeam.model.clause_model import Model
from hornbeam.model.scales import sigmoid
from plain_options import FEW
from small_worlds import worlds

LARGEST_TOTAL = 10**18
PENALTIES = st.sampled_from([1e-12, 1e-6, 1.0, 1e3, 1e12]) | st.floats(1e-12, 1e12)
ONE = 2**GRADIENT_BITS


@st.composite
def columns(draw: st.DrawFn) -> tuple[int, list[int], list[int]]:
    """A total, true counts of examples up to it, and gradients."""
    total = draw(st.sampled_from([1, 2, 1000, 10**9, 10**15, LARGEST_TOTAL]) | st.integers(1, LARGEST_TOTAL))
    size = draw(st.integers(1, 8))
    count = st.sampled_from([0, total]) | st.integers(0, total) | st.integers(0, min(total, 3))
    constant = draw(st.booleans())
    true = [draw(count)] * size if constant else draw(st.lists(count, min_size=size, max_size=size))
    gradient = st.integers(-ONE, ONE) | st.sampled_from([-ONE, -1, 0, 1, ONE])
    return total, true, draw(st.lists(gradient, min_size=size, max_size=size))


def of(total: int, true: list[int], gradients: list[int]) -> tuple[ClauseSums, Sums, Response]:
    single = ClauseSums(
        total, sum(true), sum(t * t for t in true), sum(t * d for t, d in zip(true, gradients, strict=True))
    )
    return single, Sums([], *([each] for each in single)), response(np.array(gradients, dtype=np.int64))


def error(weights: tuple[float, float, float], total: int, true: list[int], gradients: list[int]) -> Fraction:
    """The squared error of weights, exactly."""
    w0, w1, w2 = map(Fraction, weights)
    return sum(
        (
            (w0 + w1 * t + w2 * (total - t) - Fraction(d, ONE)) ** 2
            for t, d in zip(true, gradients, strict=True)
        ),
        Fraction(0),
    )


@given(columns(), PENALTIES, st.booleans())
def test_every_fit_is_finite_and_gains_nothing_below_zero(
    drawn: tuple[int, list[int], list[int]], l2: float, slope: bool
) -> None:
    single, many, whole = of(*drawn)
    way = LineFit(whole, l2, LOG_UNIT) if slope else Ridge(whole, l2)
    assert all(map(isfinite, way.weights(single)))
    (gain,) = way.gains(many).tolist()
    assert isfinite(gain)
    exact = way.exact_gain(single)
    assert 0 <= exact <= whole.gradient_squared
    # The quick gain is the exact one to the precision that the search relies on.
    assert gain == pytest.approx(float(exact), rel=1e-9, abs=1e-3)


@given(columns(), PENALTIES, PENALTIES)
def test_a_larger_penalty_gives_smaller_weights_and_a_larger_error(
    drawn: tuple[int, list[int], list[int]], one: float, two: float
) -> None:
    single, _, whole = of(*drawn)
    less, more = sorted((one, two))
    light, heavy = Ridge(whole, less), Ridge(whole, more)
    slack = Fraction(1, 10**9)  # weights are rounded to 12 digits
    norms = [sum(Fraction(w) ** 2 for w in way.weights(single)) for way in (light, heavy)]
    assert norms[1] <= norms[0] * (1 + slack)
    assert heavy.exact_gain(single) <= light.exact_gain(single)
    slopes = [abs(LineFit(whole, l2, LOG_UNIT).weights(single)[1]) for l2 in (less, more)]
    assert slopes[1] <= slopes[0]


@given(columns(), PENALTIES, st.booleans())
def test_the_other_sign_of_every_gradient_is_the_other_sign_of_every_weight(
    drawn: tuple[int, list[int], list[int]], l2: float, slope: bool
) -> None:
    total, true, gradients = drawn
    ways = []
    for sign in (1, -1):
        single, many, whole = of(total, true, [sign * each for each in gradients])
        way = LineFit(whole, l2, LOG_UNIT) if slope else Ridge(whole, l2)
        ways.append((way.weights(single), way.exact_gain(single), way.gains(many).tolist()))
    (weights, exact, quick), (others, other_exact, other_quick) = ways
    assert others == tuple(-each for each in weights)
    assert (other_exact, other_quick) == (exact, quick)


@given(columns(), PENALTIES)
def test_the_error_of_the_rounded_weights_is_what_the_gain_says(
    drawn: tuple[int, list[int], list[int]], l2: float
) -> None:
    total, true, gradients = drawn
    single, _, whole = of(*drawn)
    if total > 10**9:
        # Rounded to 12 digits, weights times counts of 1e18 are off by more than any gradient.
        return
    way = Ridge(whole, l2)
    left = (whole.gradient_squared - way.exact_gain(single)) / ONE**2
    found = error(way.weights(single), total, true, gradients)
    assert float(found) == pytest.approx(float(left), rel=1e-4, abs=1e-4)


# --- joint refits ------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 1)), min_size=2, max_size=12),
    st.sampled_from([1e-12, 1e-6, 1.0, 1e6, 1e12]),
)
def test_a_joint_refit_is_finite_and_the_same_for_both_labels(rows: list[tuple[int, int]], l2: float) -> None:
    labels = np.array([1, 0, *(label for _, label in rows)], dtype=np.int8)
    counts = np.log1p(np.array([60, 0, *(count for count, _ in rows)], dtype=np.float64))
    features = np.vstack([counts, np.ones_like(counts)])
    found = fit_weights(features, labels, l2)
    assert all(map(isfinite, (found.intercept, *found.weights)))
    scores = found.scores(features)
    assert np.isfinite(scores).all()
    other = fit_weights(features, (1 - labels).astype(np.int8), l2)
    # Of scores that far out only the probability is determined.
    assert np.allclose(sigmoid(other.scores(features)), sigmoid(-scores), atol=1e-7)


def test_a_clause_that_separates_the_examples_keeps_finite_weights() -> None:
    features = np.array([[0.0, 0.0, 5.0, 5.0]])
    labels = np.array([0, 0, 1, 1], dtype=np.int8)
    weights = [
        abs(fit_weights(features, labels, l2).weights[0]) for l2 in (1e-12, 1e-6, 1e-3, 1.0, 1e3, 1e12)
    ]
    assert all(map(isfinite, weights))
    assert weights == sorted(weights, reverse=True)


# --- whole fits --------------------------------------------------------------------------------------


def learned(database: Database, target: str, options: Options, flip: bool = False) -> Model:
    examples = database.examples_of(target)
    if flip:
        examples = replace(examples, labels=(1 - examples.labels).astype(np.int8))
    fitted = learn("rlr", open_engine("memory", database), examples, options)
    assert isinstance(fitted.model, Model)
    return fitted.model


def numbers_of(model: Model) -> list[float]:
    levels = [level for each in model.effects for level in each.effect.curve.levels]
    return [model.prior, *levels, *(weight for weighted in model.clauses for weight in weighted.weights)]


@given(worlds(), st.sampled_from([1e-12, 1e-3, 1.0, 1e12]), st.sampled_from(["paper", "default"]))
def test_whole_fits_are_finite_and_the_same_for_both_labels(
    world: tuple[Database, str], l2: float, preset: str
) -> None:
    database, target = world
    more = {"n_bags": 2} if preset == "default" else {}
    options = fit_options(preset, n_steps=3, max_literals=2, neg_pos_ratio=None, l2=l2, **more)
    model, other = learned(database, target, options), learned(database, target, options, flip=True)
    assert all(map(isfinite, numbers_of(model)))
    engine, keys = open_engine("memory", database), database.examples_of(target).keys
    chances = model.probabilities(engine, keys)
    assert np.isfinite(chances).all()
    if preset == "paper":
        # Gradients change their sign and nothing else: so does every weight, to the last bit.
        assert [each.clause for each in other.clauses] == [each.clause for each in model.clauses]
        assert numbers_of(other) == [-number for number in numbers_of(model)]
        assert np.allclose(other.probabilities(engine, keys), 1.0 - chances, atol=1e-12)


def test_totals_of_a_quintillion() -> None:
    modes = tuple(map(parse_mode, ["risk(+a).", "q(+a,-b,-c,-d,-e)."]))
    names = [f"n{number}" for number in range(6)]
    ranges = {kind: [f"{kind}{number}" for number in range(31_623)] for kind in "bcde"}
    facts = {"q": [names[:3], *(["x", "y", "y"] for _ in "bcde")]}
    examples = ([[name] for name in names], [1, 1, 1, 0, 0, 0])
    database = build(schema_of(modes), modes, facts, {"risk": examples}, ranges)
    engine, keys = open_engine("memory", database), database.examples_of("risk").keys
    for l2 in (1e-12, 1.0, 1e12):
        for preset in ("paper", "default"):
            more = FEW if preset == "default" else {}
            options = fit_options(preset, n_steps=2, max_literals=1, l2=l2, neg_pos_ratio=None, **more)
            model = learned(database, "risk", options)
            assert all(map(isfinite, numbers_of(model)))
            chances = model.probabilities(engine, keys)
            assert np.isfinite(chances).all()
            assert chances[:3].min() >= chances[3:].max()
            assert all(weighted.total >= 10**18 for weighted in model.clauses)
            # So large a penalty leaves curves flat.
            assert model.clauses or model.effects or l2 == 1e12
