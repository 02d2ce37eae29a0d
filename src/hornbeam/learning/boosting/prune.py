"""Fewer clauses: of those that all steps found, the ones that say most together.

The first clauses of a fit are not the best few: they were chosen before the others were there. So of all of
them one leaves at a time, the one whose weight is smallest for how well it is known (Wald's statistic),
and the weights of the rest are fitted anew.
"""

from __future__ import annotations

from hornbeam.learning.boosting.refit import Floats, refitted, spreads
from hornbeam.learning.problem import Labels
from hornbeam.learning.search.ridge import round_weight


def strongest(features: Floats, labels: Labels, l2: float, number: int) -> list[int]:
    """Which features to keep, rising, so many of them at most; features are rows, examples columns."""
    kept = list(range(len(features)))
    fitted = None
    while len(kept) > number:
        rows = features[kept]
        fitted = refitted(rows, labels, l2, fitted)
        known = zip(fitted.weights, spreads(rows, fitted, l2), strict=True)
        # Of equals the later one leaves; the last digits of an inverse do not tell them apart.
        said = [round_weight(weight * weight / float(spread)) for weight, spread in known]
        least = min(range(len(kept)), key=lambda place: (said[place], -place))
        del kept[least]
        fitted = fitted.without(least)
    return kept
