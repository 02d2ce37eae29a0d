"""The choice of a reading: of the clauses that a search found best, and of those chosen before.

A clause is found by ln(1 + count). Of the best few, each reading that tells their counts apart is
tried (see ``readings``), and the one that gains most is added. A clause that is in the model may come
again in another reading: where its logarithm was added first, a bound may still have something to say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from hornbeam.engines.contract import INT64_MAX, LOG_UNIT
from hornbeam.engines.kept_counts import EXACT_FLOAT
from hornbeam.learning.boosting.columns import Columns, Feature, Read
from hornbeam.learning.search.beam import length_of
from hornbeam.learning.search.ridge import (
    GRADIENT_BITS,
    ClauseSums,
    Fitted,
    Integers,
    Slope,
    guarded_fit,
    response,
)
from hornbeam.logic.clauses import Clause
from hornbeam.logic.guards import guard_of, guarded_orders, share_orders
from hornbeam.model.clause_model import Floats
from hornbeam.model.features import COUNT, LOG, SHARE, at_least

LEAST_SAID = 1.0
"""What a reading must add to twice the log-likelihood, about: what one without meaning adds on average."""


class _Gradients:
    """Gradients whole, and in two halves of 16 bits: sums of which are exact in floats."""

    def __init__(self, slopes: Integers) -> None:
        self.high, self.low = slopes >> 16, slopes & 0xFFFF
        few = len(slopes) << GRADIENT_BITS < EXACT_FLOAT
        self._parts = ((1, slopes.astype(np.float64)),) if few else ((1 << 16, self.high), (1, self.low))

    def dot(self, values: Integers) -> int:
        """The exact sum of products with values below 2**17 in size."""
        return (int((values * self.high).sum()) << 16) + int((values * self.low).sum())

    def by_bin(self, bins: npt.NDArray[np.int8], number: int) -> list[int]:
        """The exact sum in each bin."""
        found = [0] * number
        for scale, part in self._parts:
            for place, total in enumerate(np.bincount(bins, part, number).tolist()):
                found[place] += scale * int(total)
        return found


def best_feature(
    clauses: Sequence[Clause],
    columns: Columns,
    taken: Collection[Feature],
    slopes: Integers,
    spread: Floats,
    l2: float,
    length_penalty: float,
) -> tuple[Feature, ClauseSums] | None:
    """The clause and reading that gain most among those that say more than chance would.

    ``slopes`` are the gradients as integers, ``spread`` is P(1-P) of each example. The penalty
    grows with the range of a reading: a logarithm has little merit in being large. A weight for each
    constant counts as one more literal: what a few words say is better said by them.
    """
    whole = response(slopes)
    ranked: list[tuple[float, int, str, int, Feature, ClauseSums]] = []
    for said, sums, extent in _measured(clauses, columns, _Gradients(slopes)):
        clause = said.clause
        length = length_of(clause) + (said.each is not None)
        gain = Slope(whole, l2 * extent, LOG_UNIT).gain(sums) * (1.0 - length_penalty) ** (length - 1)
        ranked.append((-gain, len(clause.body), str(clause), len(ranked), said, sums))
    ranked.sort()
    known = [columns.units(said) for said in taken]
    gradients = slopes / 2.0**GRADIENT_BITS
    for *_, said, sums in ranked:
        values = columns.units(said)
        # What another part of the model says already, about the same examples, is nothing new.
        if any(np.array_equal(values, other) for other in known):
            continue
        if _says(values, gradients, spread) >= LEAST_SAID:
            return said, sums
    return None


def best_guarded(
    clauses: Iterable[Clause],
    columns: Columns,
    total: Callable[[Clause], int],
    slopes: Integers,
    l2: float,
) -> tuple[Feature, Fitted] | None:
    """The clause, and which of its literals is last, whose counts inside its guard fit best.

    ``total`` is that of the variables which the last literal of a clause brings.
    """
    best: tuple[Feature, Fitted] | None = None
    # Of equal gains the shorter clause, then the smaller text.
    for clause in sorted(clauses, key=lambda clause: (len(clause.body), str(clause))):
        true = columns[clause].astype(object)
        for order in columns.with_guards(guarded_orders(clause) or (clause,)):
            new = total(order)
            within = columns[guard_of(order)].astype(object) * new if len(order.body) > 1 else new
            if len(order.body) > 1 and np.max(within) > INT64_MAX:
                continue  # the scores of a step are made in int64
            fitted = guarded_fit(true, within - true, slopes, l2)
            if best is None or fitted.gain > best[1].gain:
                best = Feature(order, COUNT), fitted
    return best


def _measured(
    clauses: Sequence[Clause], columns: Columns, gradients: _Gradients
) -> Iterator[tuple[Feature, ClauseSums, float]]:
    """Each reading of some clauses, and every clause with a weight for each constant: sums, and range."""
    columns.take(clauses)
    for order in columns.with_guards(order for clause in clauses for order in share_orders(clause)):
        values = columns.units(Feature(order, SHARE))
        if values.min() < values.max():
            yield Feature(order, SHARE), *_of_values(values, gradients)
    for clause in clauses:
        found = columns.readings(clause)
        if found.logarithms is not None:
            yield Feature(clause, LOG), *_of_values(found.logarithms, gradients)
        for bound, sums in zip(found.bounds, _of_bounds(found, gradients), strict=True):
            yield Feature(clause, at_least(bound)), sums, 1.0
    for (clause, variable), family in columns.families.items():
        values = family.units
        if values.min() < values.max():
            yield Feature(clause, LOG, variable), *_of_values(values, gradients)


def _of_values(values: Integers, gradients: _Gradients) -> tuple[ClauseSums, float]:
    extent = float(values.max() - values.min()) / LOG_UNIT
    return ClauseSums(1, int(values.sum()), int((values * values).sum()), gradients.dot(values)), extent


def _of_bounds(read: Read, gradients: _Gradients) -> list[ClauseSums]:
    """The sums of all bounds in one pass: each count falls between two of them."""
    number, examples = len(read.bounds), read.examples
    slopes = gradients.by_bin(read.bins, number + 1)
    found: list[ClauseSums] = []
    reached = slope = 0
    for place in range(number, 0, -1):
        reached += examples[place]
        slope += slopes[place]
        found.append(ClauseSums(1, reached * LOG_UNIT, reached * LOG_UNIT**2, slope * LOG_UNIT))
    return found[::-1]


def _says(values: Integers, gradients: Floats, spread: Floats) -> float:
    """The score statistic of one more feature: about what its weight adds to twice the log-likelihood."""
    centred = values - (spread * values).sum() / spread.sum()
    slope = float((centred * gradients).sum())
    below = float((spread * centred * centred).sum())
    return slope * slope / below if below > 0 else 0.0
