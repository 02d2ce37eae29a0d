"""The choice of the feature to add, from the best clauses of a search and the clauses of the model.

A search ranks clauses by ln(1 + count). For the best few, all useful features are tried (see
``model.features``), and the feature that gains most is added. A clause of the model may be added again
with another feature: after its logarithm, a bound on its count may still gain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from hornbeam.engines.contract import INT64_MAX, LOG_UNIT
from hornbeam.engines.counting.exact_sums import EXACT_FLOAT
from hornbeam.learning.boosting.columns import Columns, Feature, Offered
from hornbeam.learning.numbers import GRADIENT_BITS, Integers
from hornbeam.learning.search.beam import length_of
from hornbeam.learning.search.ridge import ClauseSums, Fitted, LineFit, guarded_fit, response
from hornbeam.logic.clauses import Clause
from hornbeam.logic.guards import guard_of, guarded_orders, share_orders
from hornbeam.model.clause_model import Floats
from hornbeam.model.features import COUNT, LOG, SHARE, at_least

LEAST_STATISTIC = 1.0
"""Minimum score statistic of a feature to add; a feature of pure noise has 1 on average."""


class _Gradients:
    """Gradients, split into two halves of 16 bits where the sum of whole ones is not exact in floats."""

    def __init__(self, gradients: Integers) -> None:
        self.high, self.low = gradients >> 16, gradients & 0xFFFF
        few = len(gradients) << GRADIENT_BITS < EXACT_FLOAT
        self._parts = ((1, gradients.astype(np.float64)),) if few else ((1 << 16, self.high), (1, self.low))

    def dot(self, values: Integers) -> int:
        """The exact sum of products with values below 2**17 in size."""
        return (int((values * self.high).sum()) << 16) + int((values * self.low).sum())

    def by_bin(self, bins: npt.NDArray[np.int8], number: int) -> list[int]:
        """The exact sum in each bin."""
        sums = [0] * number
        for scale, part in self._parts:
            for place, total in enumerate(np.bincount(bins, part, number).tolist()):
                sums[place] += scale * int(total)
        return sums


def best_feature(
    clauses: Sequence[Clause],
    columns: Columns,
    taken: Collection[Feature],
    gradients: Integers,
    curvature: Floats,
    l2: float,
    length_penalty: float,
) -> tuple[Feature, ClauseSums] | None:
    """The feature that gains most among those that gain more than noise would.

    ``gradients`` are integers, ``curvature`` is P(1-P) of each example. The penalty grows with the range
    of a feature, so that features on a larger scale have no advantage. A weight for each constant counts
    as one more literal, so that of two clauses with the same gain the one without such weights wins.
    """
    whole = response(gradients)
    ranked: list[tuple[float, int, str, int, Feature, ClauseSums]] = []
    for feature, sums, extent in _measured(clauses, columns, _Gradients(gradients)):
        clause = feature.clause
        length = length_of(clause) + (feature.each is not None)
        gain = LineFit(whole, l2 * extent, LOG_UNIT).gain(sums) * (1.0 - length_penalty) ** (length - 1)
        ranked.append((-gain, len(clause.body), str(clause), len(ranked), feature, sums))
    ranked.sort()
    known = [columns.units(feature) for feature in taken]
    float_gradients = gradients / 2.0**GRADIENT_BITS
    for *_, feature, sums in ranked:
        values = columns.units(feature)
        # A feature with the same values as a feature of the model adds nothing.
        if any(np.array_equal(values, other) for other in known):
            continue
        if _score_statistic(values, float_gradients, curvature) >= LEAST_STATISTIC:
            return feature, sums
    return None


def best_guarded(
    clauses: Iterable[Clause],
    columns: Columns,
    total: Callable[[Clause], int],
    gradients: Integers,
    l2: float,
) -> tuple[Feature, Fitted] | None:
    """The clause, with the order of its literals, whose counts inside its guard fit best.

    ``total`` gives the number of values of the variables that only the last literal of a clause has.
    """
    best: tuple[Feature, Fitted] | None = None
    # Equal gains: the shorter clause wins, then the one whose text comes first.
    for clause in sorted(clauses, key=lambda clause: (len(clause.body), str(clause))):
        true = columns[clause].astype(object)
        for order in columns.with_guards(guarded_orders(clause) or (clause,)):
            new = total(order)
            within = columns[guard_of(order)].astype(object) * new if len(order.body) > 1 else new
            if len(order.body) > 1 and np.max(within) > INT64_MAX:
                continue  # the scores of a step are computed in int64
            fitted = guarded_fit(true, within - true, gradients, l2)
            if best is None or fitted.gain > best[1].gain:
                best = Feature(order, COUNT), fitted
    return best


def _measured(
    clauses: Sequence[Clause], columns: Columns, gradients: _Gradients
) -> Iterator[tuple[Feature, ClauseSums, float]]:
    """All features of some clauses and all clauses with weights for constants, with sums and ranges."""
    columns.take(clauses)
    for order in columns.with_guards(order for clause in clauses for order in share_orders(clause)):
        values = columns.units(Feature(order, SHARE))
        if values.min() < values.max():
            yield Feature(order, SHARE), *_of_values(values, gradients)
    for clause in clauses:
        offered = columns.offered(clause)
        if offered.logarithms is not None:
            yield Feature(clause, LOG), *_of_values(offered.logarithms, gradients)
        for bound, sums in zip(offered.bounds, _of_bounds(offered, gradients), strict=True):
            yield Feature(clause, at_least(bound)), sums, 1.0
    for (clause, variable), family in columns.families.items():
        values = family.units
        if values.min() < values.max():
            yield Feature(clause, LOG, variable), *_of_values(values, gradients)


def _of_values(values: Integers, gradients: _Gradients) -> tuple[ClauseSums, float]:
    extent = float(values.max() - values.min()) / LOG_UNIT
    return ClauseSums(1, int(values.sum()), int((values * values).sum()), gradients.dot(values)), extent


def _of_bounds(offered: Offered, gradients: _Gradients) -> list[ClauseSums]:
    """The sums of all bounds in one pass: each count falls between two of them."""
    number, examples = len(offered.bounds), offered.examples
    by_bin = gradients.by_bin(offered.bins, number + 1)
    sums: list[ClauseSums] = []
    reached = gradient = 0
    for place in range(number, 0, -1):
        reached += examples[place]
        gradient += by_bin[place]
        sums.append(ClauseSums(1, reached * LOG_UNIT, reached * LOG_UNIT**2, gradient * LOG_UNIT))
    return sums[::-1]


def _score_statistic(values: Integers, gradients: Floats, curvature: Floats) -> float:
    """Rao's score statistic of one more feature: about twice the gain in log-likelihood."""
    total = curvature.sum()
    if not total:
        # Every probability is 0 or 1, as under an extreme prior.
        return 0.0
    centred = values - (curvature * values).sum() / total
    score = float((centred * gradients).sum())
    information = float((curvature * centred * centred).sum())
    return score * score / information if information > 0 else 0.0
