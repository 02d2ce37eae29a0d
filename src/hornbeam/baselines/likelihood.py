"""Weights of given clauses together: penalised maximum likelihood on their true and false counts.

With log-odds ``b + sum_j (w1_j*t_j + w2_j*f_j)``, the sum over the examples of ``-log P(label)`` plus

    l2/2 * sum_j (a_j*w1_j^2 + c_j*w2_j^2),  a_j the mean of t_j^2, c_j that of f_j^2,

is least: the penalty is on counts brought to one scale, whatever their totals, and not on ``b``. As
``f = N - t``, only ``u = w1 - w2`` moves an example against another. Of all weights with one ``u`` the
least penalty has ``w1 = u*c/(a+c)`` and ``w2 = -u*a/(a+c)``, and is ``u^2*a*c/(a+c)``. So we solve for
``u`` on centred counts, by Newton's method, and nothing is lost however large N is: w2 shrinks with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.engines.contract import Counts
from hornbeam.model import Floats, sigmoid
from hornbeam.ridge import round_weight

MOST_ITERATIONS = 200
CLOSE = 1e-12
"""Newton's method ends when the step it would take promises less than this, relative to the loss."""


def joint_weights(
    counts: Sequence[Counts], labels: Floats, l2: float
) -> tuple[float, list[tuple[float, float, float]]]:
    """The common bias, and ``[0, w1, w2]`` for each clause, rounded to 12 significant digits."""
    true = np.array([each.true.astype(np.float64) for each in counts]).reshape(len(counts), len(labels))
    rows, positives, sizes = _distinct(true.T, labels)
    examples = sizes.sum()
    means = np.einsum("i,ij->j", sizes, rows) / examples
    centred = rows - means
    variances = np.einsum("i,ij->j", sizes, centred * centred) / examples
    moving = variances > 0
    spreads = np.sqrt(np.where(moving, variances, 1.0))
    false_means = np.array([each.total for each in counts], dtype=object).astype(np.float64) - means
    squares = variances + means * means, variances + false_means * false_means
    shares = squares[1] / np.where(moving, squares[0] + squares[1], 1.0)
    penalty = l2 * squares[0] * shares / (spreads * spreads)
    slopes = np.zeros(len(counts))
    bias, slopes[moving] = _newton((centred / spreads)[:, moving], positives, sizes, penalty[moving])
    slopes /= spreads
    weights = []
    for slope, share, mean, false_mean in zip(slopes, shares, means, false_means, strict=True):
        w1, w2 = round_weight(slope * share), round_weight(-slope * (1.0 - share))
        bias -= w1 * mean + w2 * false_mean
        weights.append((0.0, w1, w2))
    return round_weight(bias), weights


def _distinct(rows: Floats, labels: Floats) -> tuple[Floats, Floats, Floats]:
    """Distinct rows in order, with the positives and the examples of each.

    Sums over them are the same whatever the order of the examples.
    """
    if not rows.shape[1]:
        return np.zeros((1, 0)), np.array([float(labels.sum())]), np.array([float(len(labels))])
    distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    positives = np.bincount(inverse, weights=labels, minlength=len(distinct)).astype(np.float64)
    return distinct, positives, np.bincount(inverse, minlength=len(distinct)).astype(np.float64)


def _newton(columns: Floats, positives: Floats, sizes: Floats, penalty: Floats) -> tuple[float, Floats]:
    """Bias and slopes of the least penalised loss."""
    # einsum, not BLAS: its sums do not depend on the number of threads.
    design = np.column_stack([np.ones(len(sizes)), columns])
    ridge = np.concatenate([[0.0], penalty])
    rate = positives.sum() / sizes.sum()
    weights = np.zeros(design.shape[1])
    weights[0] = np.log(rate / (1.0 - rate))

    def loss(at: Floats) -> float:
        scores = np.einsum("ij,j->i", design, at)
        fit = np.sum(sizes * np.logaddexp(0.0, scores) - positives * scores)
        return float(fit + 0.5 * np.sum(ridge * at * at))

    least = loss(weights)
    for _ in range(MOST_ITERATIONS):
        chance = sigmoid(np.einsum("ij,j->i", design, weights))
        gradient = np.einsum("ij,i->j", design, sizes * chance - positives) + ridge * weights
        curvature = np.einsum("ij,ik->jk", design * (sizes * chance * (1.0 - chance))[:, None], design)
        # The bias has no penalty: on data that are nearly separable its curvature may vanish.
        step = np.linalg.solve(curvature + np.diag(ridge + 1e-12 * sizes.sum()), gradient)
        if float(gradient @ step) <= CLOSE * least:
            weights = weights - step
            break
        length = 1.0
        while (now := loss(weights - length * step)) > least - 1e-4 * length * float(gradient @ step):
            length /= 2.0
            if length < 1e-10:
                return float(weights[0]), weights[1:]
        weights, least = weights - length * step, now
    return float(weights[0]), weights[1:]
