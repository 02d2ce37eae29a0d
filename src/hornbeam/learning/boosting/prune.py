"""A smaller model: the given number of clauses that fit best together.

The first clauses of a fit are not the best subset, because each was chosen without the later ones. So clauses
are removed one at a time, always the one with the smallest Wald statistic (its squared weight divided by
the variance of the weight), and the other weights are fitted again.
"""

from __future__ import annotations

from hornbeam.learning.losses.dense import fit_weights, weight_variances
from hornbeam.learning.numbers import Floats, Labels, round_weight


def strongest(features: Floats, labels: Labels, l2: float, number: int) -> list[int]:
    """Positions, ascending, of the ``number`` features to keep; features are rows, examples columns."""
    kept = list(range(len(features)))
    fitted = None
    while len(kept) > number:
        rows = features[kept]
        fitted = fit_weights(rows, labels, l2, fitted)
        pairs = zip(fitted.weights, weight_variances(rows, fitted, l2), strict=True)
        # Rounded, because the last digits of an inverse are noise. On a tie the later one is removed.
        statistics = [round_weight(weight * weight / float(variance)) for weight, variance in pairs]
        least = min(range(len(kept)), key=lambda place: (statistics[place], -place))
        del kept[least]
        fitted = fitted.without(least)
    return kept
