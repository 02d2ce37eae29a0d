"""The joint weights of given clauses: penalised maximum likelihood on their true and false counts.

The log-odds of an example are ``b + sum_j (w1_j*t_j + w2_j*f_j)``. The weights minimise the sum over the
examples of ``-log P(label)`` plus

    l2/2 * sum_j (a_j*w1_j^2 + c_j*w2_j^2),  a_j the mean of t_j^2, c_j the mean of f_j^2.

The penalty thus applies to counts brought to one scale, whatever their totals, and not to ``b``. Because
``f = N - t``, two examples differ only by ``u = w1 - w2`` times the difference of their true counts. Among
all weights with the same ``u``, the penalty is least for ``w1 = u*c/(a+c)`` and ``w2 = -u*a/(a+c)``, where it
is ``u^2 * a*c/(a+c)``. So we solve for ``u`` on counts divided by ``sqrt(a*c/(a+c))``. That is accurate for
any N, because w2 shrinks as N grows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.engines.clauses.contract import Counts
from hornbeam.learning.losses.dense import fit_weights
from hornbeam.learning.numbers import Labels, round_weight

Weights = tuple[float, float, float]


def joint_weights(counts: Sequence[Counts], labels: Labels, l2: float) -> tuple[float, list[Weights]]:
    """The bias, and ``[0, w1, w2]`` for each clause, rounded to 12 significant digits."""
    true = np.array([each.true.astype(np.float64) for each in counts]).reshape(len(counts), len(labels))
    # Sorted: the last digits of sums would otherwise depend on the order of the examples.
    order = np.lexsort((labels, *true))
    true, labels = true[:, order], labels[order]
    means = true.mean(axis=1)
    variances = np.mean((true - means[:, None]) ** 2, axis=1)
    false_means = np.array([float(each.total) for each in counts]) - means
    true_squared, false_squared = variances + means**2, variances + false_means**2
    both = true_squared + false_squared
    share = np.divide(false_squared, both, out=np.ones_like(both), where=both > 0)
    scale = np.sqrt(true_squared * share)
    scale[variances == 0] = 1.0
    bias, slopes = fit_weights(true / scale[:, None], labels, l2)
    weights: list[Weights] = []
    for slope, part, each in zip((np.array(slopes) / scale).tolist(), share.tolist(), counts, strict=True):
        w1, w2 = round_weight(slope * part), round_weight(-slope * (1.0 - part))
        weights.append((0.0, w1, w2))
        bias -= w2 * each.total  # u*t is w1*t + w2*f less w2*N
    return round_weight(bias), weights
