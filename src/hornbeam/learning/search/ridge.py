"""The ridge fit of one clause to the gradients, from exact sums: gains of many clauses, exact weights.

With rows ``c = [1, t, f]`` the fit is ``w = (C'C + l2*I)^-1 C'd`` and its error ``||Cw - d||^2``.
All examples share the total N and ``f = N - t``, so C has rank 2, and ``C'C`` in floats loses all
precision once N is large. Instead of solving for three weights we solve for two numbers.

A prediction is ``alpha + beta*t`` with ``alpha = w0 + N*w2`` and ``beta = w1 - w2``. Among all weights
with the same prediction, those with the least ``w0^2 + w1^2 + w2^2`` are

    w2 = (N*alpha - beta) / D,  w0 = (2*alpha + N*beta) / D,  w1 = beta + w2,  where D = N^2 + 2,

and that least value is ``(2*alpha^2 + 2*N*alpha*beta + (N^2+1)*beta^2) / D``. Centred at the mean count
``m = St/n``, so that a prediction is ``gamma + beta*(t - m)``, the penalty is
``q11*gamma^2 + 2*q12*gamma*beta + q22*beta^2`` with

    q11 = 2/D,  q12 = (N - 2m)/D,  q22 = (1 + (N-m)^2 + m^2)/D,

and gamma and beta solve

    [n + l2*q11        l2*q12 ] [gamma]   [Sd ]     Sxx = Stt - St^2/n
    [    l2*q12  Sxx + l2*q22 ] [beta ] = [Sxd]     Sxd = Std - St*Sd/n.

This system is well-conditioned in floats: scaled to a diagonal of ones, the square of the off-diagonal
entry is at most ``(N-2m)^2 / ((N-2m)^2 + N^2 + 2) <= 1/2``, as 0 <= m <= N. Differences that could cancel
(``n*Stt - St^2`` and the like) are computed in whole numbers first.

The error falls from ``Sdd`` by the *gain* ``gamma*Sd + beta*Sxd + l2*penalty``, a sum of terms that are
never negative. The least error is the greatest gain. The gain keeps its relative precision where the
error does not, so clauses are ranked by gain. The gain is zero only if Sd and Std are.

Gradients are integers in units of 2**-30, hence gains are in units of 2**-60.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.engines.clauses.contract import Column, Sums
from hornbeam.learning.numbers import GRADIENT_BITS, Floats, Integers, round_weight


class Response(NamedTuple):
    """The sums of the gradients that every fit needs."""

    examples: int
    """n"""
    gradient: int
    """Sd, the sum of d"""
    gradient_squared: int
    """Sdd, the sum of d*d: the error without a clause"""

    def error(self, gain: Fraction | int = 0) -> float:
        """The squared error that a gain leaves, in units of 1."""
        return float((self.gradient_squared - Fraction(gain)) / 4**GRADIENT_BITS)


class ClauseSums(NamedTuple):
    """The sums of one clause; clauses with equal sums have equal fits."""

    total: int
    true: int
    true_squared: int
    true_gradient: int


def response(gradients: Integers) -> Response:
    """The sums of the gradients, exactly.

    >>> response(np.array([3, -2]))
    Response(examples=2, gradient=1, gradient_squared=13)
    """
    if len(gradients) and int(np.abs(gradients).max()) > 2**31:
        # The residuals of an earlier clause of the step can be larger than any gradient.
        exact = gradients.astype(object)
        return Response(len(gradients), int(exact.sum()), int(np.dot(exact, exact)))
    squares = gradients * gradients
    # A square has up to 62 bits: the sum of a few would overflow int64, the sums of halves do not.
    squared = (int((squares >> 32).sum()) << 32) + int((squares & 0xFFFFFFFF).sum())
    return Response(len(gradients), int(gradients.sum()), squared)


def clause_sums(sums: Sums, position: int) -> ClauseSums:
    """The sums of one of the clauses."""
    columns = sums.total, sums.true, sums.true_squared, sums.true_gradient
    return ClauseSums(*(int(column[position]) for column in columns))


def gains(sums: Sums, response: Response, l2: float) -> Floats:
    """The decrease of the squared error by each clause's fit, to a relative accuracy of about 1e-14."""
    n, sum_d = response.examples, response.gradient
    if not len(sums.total):
        return np.empty(0, dtype=np.float64)
    q11, q12, q22, spread, covariance = _parts(sums, n, sum_d)

    first = n + l2 * q11
    second = spread + l2 * q22
    correlation = l2 * q12 / np.sqrt(first) / np.sqrt(second)
    u = sum_d / np.sqrt(first)
    v = covariance / np.sqrt(second)
    determinant = 1.0 - correlation * correlation
    gamma = (u - correlation * v) / determinant
    beta = (v - correlation * u) / determinant
    fitted = gamma * u + beta * v
    penalty = (
        l2 * q11 / first * gamma * gamma + 2.0 * correlation * gamma * beta + l2 * q22 / second * beta * beta
    )
    return fitted + penalty


def _parts(sums: Sums, n: int, sum_d: int) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """q11, q12, q22, Sxx and Sxd of each clause."""
    columns = sums.total, sums.true, sums.true_squared, sums.true_gradient
    if all(isinstance(each, np.ndarray) and each.dtype == np.int64 for each in columns):
        N, St, Stt, Std = map(np.asarray, columns)
        largest = [int(np.abs(each).max()) for each in (N, St, Stt, Std)]
        bounds = n * largest[0], largest[1] ** 2, n * largest[2], n * largest[3], largest[1] * abs(sum_d)
        if max(bounds) < 2**62:
            # Differences are exact. Numbers below are rounded once or twice more than those of Python.
            false, D = n * N - St, N.astype(np.float64) ** 2 + 2.0
            return (
                2.0 / D,
                (false - St) / (n * D),
                (float(n) * n + false.astype(np.float64) ** 2 + St.astype(np.float64) ** 2)
                / (float(n) * n * D),
                (n * Stt - St * St) / n,
                (n * Std - St * sum_d) / n,
            )
    N, St, Stt, Std = (np.array(column, dtype=object) for column in columns)
    # Python's integers are exact and their quotients correctly rounded, whatever their size.
    false, D = n * N - St, N * N + 2
    return (
        _floats(2 / D),
        _floats((false - St) / (n * D)),
        _floats((n * n + false * false + St * St) / (n * n * D)),
        _floats((n * Stt - St * St) / n),
        _floats((n * Std - St * sum_d) / n),
    )


def _floats(numbers: npt.NDArray[np.object_]) -> Floats:
    return numbers.astype(np.float64)


class _Solution(NamedTuple):
    """For l2 = p/q: alpha = q*D*alpha_part/determinant, and beta likewise; all are whole numbers."""

    alpha_part: int
    beta_part: int
    determinant: int


def _solve(sums: ClauseSums, response: Response, l2: Fraction) -> _Solution:
    """Solve the normal equations of alpha and beta, multiplied by q*D to be whole, by Cramer's rule."""
    N, St, Stt, Std = sums
    n, sum_d, _ = response
    p, q = l2.numerator, l2.denominator
    scale = q * (N * N + 2)
    a = scale * n + 2 * p
    b = scale * St + N * p
    c = scale * Stt + (N * N + 1) * p
    return _Solution(c * sum_d - b * Std, a * Std - b * sum_d, a * c - b * b)


def exact_gain(sums: ClauseSums, response: Response, l2: float) -> Fraction:
    """The gain as a rational number."""
    ratio = Fraction(l2)
    alpha, beta, determinant = _solve(sums, response, ratio)
    N = sums.total
    fitted = response.gradient * alpha + sums.true_gradient * beta
    penalty = 2 * alpha * alpha + 2 * N * alpha * beta + (N * N + 1) * beta * beta
    return Fraction(
        ratio.denominator * (N * N + 2) * (fitted * determinant + ratio.numerator * penalty),
        determinant * determinant,
    )


def weights(sums: ClauseSums, response: Response, l2: float) -> tuple[float, float, float]:
    """``[w0, w1, w2]``, solved exactly and rounded to 12 significant digits.

    >>> one = ClauseSums(total=1, true=1, true_squared=1, true_gradient=2**30)
    >>> weights(one, Response(2, 0, 2**61), 1.0)
    (0.0, 0.5, -0.5)
    """
    ratio = Fraction(l2)
    alpha, beta, determinant = _solve(sums, response, ratio)
    N = sums.total
    below = determinant << GRADIENT_BITS
    parts = (2 * alpha + N * beta, N * alpha + (N * N + 1) * beta, N * alpha - beta)
    w0, w1, w2 = (round_weight(Fraction(ratio.denominator * part, below)) for part in parts)
    return w0, w1, w2


class Ridge(NamedTuple):
    """The ridge fit of clauses to given gradients: gains for the search, and weights."""

    response: Response
    l2: float

    def gains(self, sums: Sums) -> Floats:
        return gains(sums, self.response, self.l2)

    def exact_gain(self, sums: ClauseSums) -> Fraction:
        return exact_gain(sums, self.response, self.l2)

    def weights(self, sums: ClauseSums) -> tuple[float, float, float]:
        return weights(sums, self.response, self.l2)


class Fitted(NamedTuple):
    """The fit of one clause."""

    gain: Fraction
    weights: tuple[float, float, float]


def guarded_fit(true: Column, false: Column, gradients: Integers, l2: float) -> Fitted:
    """The ridge fit of ``[1, t, f]`` where t and f have no common total, so that C has rank 3.

    >>> fitted = guarded_fit(np.array([0, 2]), np.array([1, 0]), np.array([-(2**30), 2**30]), 1.0)
    >>> [round(weight, 3) for weight in fitted.weights]
    [-0.176, 0.471, -0.412]
    """
    columns = [np.ones(len(true), dtype=object), true.astype(object), false.astype(object)]
    exact_gradients = gradients.astype(object)
    right = [Fraction(int(np.dot(column, exact_gradients))) for column in columns]
    rows = [[Fraction(int(np.dot(one, other))) for other in columns] for one in columns]
    for place in range(3):
        rows[place][place] += Fraction(l2)
    solution = _solved(rows, right)
    # As in the other fits, the gain is the decrease of the error without the penalty.
    gain = sum((a * (b + Fraction(l2) * a) for a, b in zip(solution, right, strict=True)), Fraction(0))
    w0, w1, w2 = (round_weight(weight / 2**GRADIENT_BITS) for weight in solution)
    return Fitted(gain, (w0, w1, w2))


def _solved(rows: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """The solution of a positive definite system, by elimination."""
    size = len(right)
    system = [[*row, value] for row, value in zip(rows, right, strict=True)]
    for place in range(size):
        for other in range(size):
            if other != place:
                factor = system[other][place] / system[place][place]
                system[other] = [a - factor * b for a, b in zip(system[other], system[place], strict=True)]
    return [system[place][size] / system[place][place] for place in range(size)]


class LineFit(NamedTuple):
    """The fit of a line to one feature: the ridge penalty is on the slope, the intercept is free.

    Features are integers in units of 1/``unit``; l2 applies to the feature without that scaling. With
    ``A = n*Std - St*Sd`` and ``B = n*Stt - St^2`` the slope is ``A / (B + n*l2*unit^2)``, and the
    penalised error falls from ``Sdd`` by the gain ``Sd^2/n + A^2 / (n*(B + n*l2*unit^2))``.
    """

    response: Response
    l2: float
    unit: int

    def gains(self, sums: Sums) -> Floats:
        n, total = self.response.examples, self.response.gradient
        tops = [n * td - t * total for t, td in zip(sums.true, sums.true_gradient, strict=True)]
        spreads = [n * tt - t * t for t, tt in zip(sums.true, sums.true_squared, strict=True)]
        top, spread = np.array(tops, dtype=np.float64), np.array(spreads, dtype=np.float64)
        free = float(Fraction(total * total, n))
        all_gains: Floats = free + top * top / (n * (spread + n * self.l2 * self.unit**2))
        return all_gains

    def gain(self, sums: ClauseSums) -> float:
        """The gain of one clause as a float."""
        n, total = self.response.examples, self.response.gradient
        top = n * sums.true_gradient - sums.true * total
        spread = n * sums.true_squared - sums.true * sums.true
        return total * total / n + float(top) ** 2 / (n * (spread + n * self.l2 * self.unit**2))

    def exact_gain(self, sums: ClauseSums) -> Fraction:
        n, total = self.response.examples, self.response.gradient
        top, below = self._parts(sums)
        return Fraction(total * total, n) + Fraction(top * top) / (n * below)

    def weights(self, sums: ClauseSums) -> tuple[float, float, float]:
        top, below = self._parts(sums)
        slope = top / below
        n, total = self.response.examples, self.response.gradient
        intercept = (Fraction(total) - slope * sums.true) / n
        scale = Fraction(1, 2**GRADIENT_BITS)
        return round_weight(intercept * scale), round_weight(slope * self.unit * scale), 0.0

    def _parts(self, sums: ClauseSums) -> tuple[int, Fraction]:
        n, total = self.response.examples, self.response.gradient
        top = n * sums.true_gradient - sums.true * total
        spread = n * sums.true_squared - sums.true * sums.true
        return top, spread + n * Fraction(self.l2) * self.unit**2
