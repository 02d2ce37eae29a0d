"""The ridge fit against plain normal equations in 50-digit arithmetic."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.engines.clauses.contract import Sums
from hornbeam.learning.numbers import GRADIENT_BITS, round_weight
from hornbeam.learning.search.ridge import (
    ClauseSums,
    LineFit,
    Response,
    clause_sums,
    exact_gain,
    gains,
    response,
    weights,
)
from strategies import CASES

UNIT = 2**GRADIENT_BITS


def batch(*rows: ClauseSums) -> Sums:
    columns = [list(column) for column in zip(*rows, strict=True)]
    return Sums([], *columns)


def sums_of(total: int, true: list[int], gradients: list[int]) -> tuple[ClauseSums, Response]:
    sums = ClauseSums(
        total, sum(true), sum(t * t for t in true), sum(t * d for t, d in zip(true, gradients, strict=True))
    )
    return sums, Response(len(true), sum(gradients), sum(d * d for d in gradients))


def reference(sums: ClauseSums, whole: Response, l2: float) -> tuple[list[mpmath.mpf], mpmath.mpf]:
    """Weights and error from the 3x3 normal equations; enough digits that N of 1e15 loses none that count."""
    with mpmath.workdps(200):
        n, d, dd = whole
        N, t, tt, td = sums
        f, ff, tf, fd = n * N - t, n * N * N - 2 * N * t + tt, N * t - tt, N * d - td
        products = mpmath.matrix([[n, t, f], [t, tt, tf], [f, tf, ff]])
        right = mpmath.matrix([d, td, fd])
        w = mpmath.lu_solve(products + mpmath.mpf(l2) * mpmath.eye(3), right)
        error = mpmath.mpf(dd) - 2 * (w.T * right)[0] + (w.T * products * w)[0]
        return [mpmath.mpf(each) / UNIT for each in w], error


def relative(found: float | Fraction, expected: mpmath.mpf) -> float:
    if isinstance(found, Fraction):
        found = mpmath.mpf(found.numerator) / found.denominator
    return float(abs(found - expected) / abs(expected)) if expected else float(abs(found))


@st.composite
def fits(draw: st.DrawFn) -> tuple[ClauseSums, Response, float]:
    total = draw(st.one_of(st.integers(1, 30), st.integers(0, 15).map(lambda e: 10**e)))
    n = draw(st.integers(1, 12))
    top = draw(st.sampled_from(sorted({1, min(total, 5), total})))
    true = draw(st.lists(st.integers(0, top), min_size=n, max_size=n))
    gradients = draw(st.lists(st.integers(-UNIT, UNIT), min_size=n, max_size=n))
    l2 = draw(st.one_of(st.floats(1e-12, 1e12), st.sampled_from([1e-12, 0.1, 1.0, 10.0, 1000.0, 1e12])))
    return *sums_of(total, true, gradients), l2


@given(fits())
@settings(max_examples=max(CASES // 8, 1), deadline=None)
def test_weights_and_error_equal_the_normal_equations_in_fifty_digits(
    case: tuple[ClauseSums, Response, float],
) -> None:
    sums, whole, l2 = case
    expected, error = reference(sums, whole, l2)
    for found, each in zip(weights(sums, whole, l2), expected, strict=True):
        assert relative(found, each) < 1e-9
    gain = exact_gain(sums, whole, l2)
    assert gain >= 0
    with mpmath.workdps(200):
        assert relative(gain, whole.gradient_squared - error) < 1e-50


@given(fits())
@settings(max_examples=max(CASES // 8, 1), deadline=None)
def test_gains_in_bulk_equal_the_exact_ones(case: tuple[ClauseSums, Response, float]) -> None:
    sums, whole, l2 = case
    (found,) = gains(batch(sums), whole, l2)
    exact = exact_gain(sums, whole, l2)
    assert abs(Fraction(float(found)) - exact) <= Fraction(1, 10**12) * exact


@pytest.mark.parametrize("exponent", range(16))
@pytest.mark.parametrize("l2", [1e-12, 1e-3, 10.0, 1e3, 1e12])
def test_a_large_total_loses_nothing(exponent: int, l2: float) -> None:
    total = 10**exponent
    true = [0, total // 3, total // 2, total - total // 7, total]
    gradients = [UNIT // 2, -UNIT // 3, 12345, UNIT // 5, -UNIT // 2]
    sums, whole = sums_of(total, true, gradients)
    expected, error = reference(sums, whole, l2)
    found = weights(sums, whole, l2)
    for each, right in zip(found, expected, strict=True):
        assert relative(each, right) < 1e-9
    assert relative(whole.error(exact_gain(sums, whole, l2)) * 4**GRADIENT_BITS, error) < 1e-9
    # At the optimum the gradient of the penalty along the direction that changes nothing is zero.
    assert abs(total * found[0] - (found[1] + found[2])) <= 1e-11 * (
        abs(total * found[0]) + abs(found[1]) + abs(found[2])
    )


def test_totals_beyond_floats_and_extreme_penalties_stay_finite() -> None:
    sums, whole = sums_of(10**400, [0, 3, 2**62], [UNIT, -UNIT, 7])
    for l2 in (1e-300, 1.0, 1e300):
        (found,) = gains(batch(sums), whole, l2)
        exact = exact_gain(sums, whole, l2)
        assert abs(Fraction(float(found)) - exact) <= Fraction(1, 10**12) * exact
        assert all(np.isfinite(weights(sums, whole, l2)))


def test_an_empty_population_leaves_only_the_bias() -> None:
    sums, whole = sums_of(0, [0, 0], [UNIT, UNIT])
    assert weights(sums, whole, 2.0) == (0.5, 0.0, 0.0)
    assert exact_gain(sums, whole, 2.0) == Fraction(3, 2) * UNIT**2


def test_the_gain_is_zero_only_without_a_gradient_to_follow() -> None:
    balanced, whole = sums_of(5, [1, 1, 2, 2], [UNIT, -UNIT, UNIT, -UNIT])
    assert exact_gain(balanced, whole, 1.0) == 0
    assert gains(batch(balanced), whole, 1.0).tolist() == [0.0]
    slanted, whole = sums_of(5, [1, 1, 2, 2], [UNIT, -UNIT, UNIT, 1 - UNIT])
    assert exact_gain(slanted, whole, 1e12) > 0
    assert gains(batch(slanted), whole, 1e12)[0] > 0


def test_no_candidates_have_no_gains() -> None:
    assert gains(Sums([], [], [], [], []), Response(3, 1, 1), 1.0).shape == (0,)


def test_sums_of_gradients_are_exact_past_int64() -> None:
    gradients = np.full(1000, -UNIT, dtype=np.int64)
    gradients[0] = 3
    assert response(gradients) == (1000, 3 - 999 * UNIT, 9 + 999 * UNIT**2)


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        (Fraction(1, 3), 0.333333333333),
        (Fraction(-2, 3 * 10**20), -6.66666666667e-21),
        (Fraction(1000000000005, 10), 100000000000.0),
        (Fraction(1000000000015, 10), 100000000002.0),
        (Fraction(0), 0.0),
        (123456.7890123456, 123456.789012),
    ],
)
def test_weights_are_rounded_to_twelve_digits_with_halves_to_even(value: Fraction, rounded: float) -> None:
    assert round_weight(value) == rounded


# --- a slope with a free intercept -------------------------------------------------------------------


def sloped(
    true: list[int], gradients: list[int], l2: float, unit: int
) -> tuple[Fraction, Fraction, Fraction]:
    """Intercept, slope and fall of the penalised error by plain normal equations, in rationals."""
    x = [Fraction(t, unit) for t in true]
    d = [Fraction(each) for each in gradients]
    n = len(x)
    mean_x, mean_d = sum(x) / n, sum(d) / n
    below = sum((each - mean_x) ** 2 for each in x) + Fraction(l2)
    slope = sum((each - mean_x) * (other - mean_d) for each, other in zip(x, d, strict=True)) / below
    intercept = mean_d - slope * mean_x
    error = sum((intercept + slope * a - b) ** 2 for a, b in zip(x, d, strict=True)) + Fraction(l2) * slope**2
    return intercept, slope, sum(each * each for each in d) - error


@pytest.mark.parametrize("unit", [1, 4, 1024])
@pytest.mark.parametrize("l2", [0.25, 3.0])
@pytest.mark.parametrize(
    ("true", "gradients"),
    [([0, 1, 5], [UNIT, -UNIT // 2, 7]), ([3, 3, 3, 8], [UNIT // 3, UNIT, -UNIT, 5]), ([2], [UNIT])],
)
def test_a_slope_is_that_of_the_normal_equations(
    true: list[int], gradients: list[int], l2: float, unit: int
) -> None:
    sums, whole = sums_of(50, true, gradients)
    intercept, slope, gain = sloped(true, gradients, l2, unit)
    fit = LineFit(whole, l2, unit)
    assert fit.exact_gain(sums) == gain
    assert fit.gains(batch(sums)).tolist() == pytest.approx([float(gain)], rel=1e-12)
    expected = (round_weight(intercept / UNIT), round_weight(slope / UNIT), 0.0)
    assert fit.weights(sums) == expected


def test_the_sums_of_one_clause_among_many() -> None:
    one, two = ClauseSums(1, 2, 3, 4), ClauseSums(5, 6, 7, 8)
    assert [clause_sums(batch(one, two), position) for position in (0, 1)] == [one, two]


def test_gradients_are_whole_multiples_of_two_to_the_minus_thirty() -> None:
    assert UNIT == 2**30
    assert Response(1, 0, UNIT**2).error() == 1.0
    assert Response(1, 0, UNIT**2).error(Fraction(UNIT**2, 4)) == 0.75
