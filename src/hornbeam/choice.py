"""The choice of a reading: of the clauses that a search found best, and of those chosen before.

A clause is found by ln(1 + count). Of the best few, each reading that tells their counts apart is
tried (see ``readings``), and the one that gains most is added. A clause that is in the model may come
again in another reading: where its logarithm was added first, a bound may still have something to say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.clauses import Clause
from hornbeam.engines.contract import LOG_UNIT, Column, Sums
from hornbeam.model import WeightedClause
from hornbeam.per_constant import Family
from hornbeam.readings import LOG, in_units, offered, read
from hornbeam.ridge import ClauseSums, Integers, Slope, clause_sums, response
from hornbeam.search import length_of

Floats = npt.NDArray[np.float64]
AT_LEAST_SAYING = 1.0
"""What a reading must add to twice the log-likelihood, about: what one without meaning adds on average."""


class Choice(NamedTuple):
    """A clause, the reading of its counts that is weighted, and the sums of that.

    ``each`` is the variable whose constants have weights of their own, where it is such a clause.
    """

    clause: Clause
    feature: str
    sums: ClauseSums
    each: int | None = None


Said = tuple[Clause, str, int | None]
"""What tells the parts of a model apart."""


class Columns:
    """True counts of clauses that come up again and again, and their readings."""

    def __init__(self, count: Callable[[Clause], Column], families: Iterable[Family] = ()) -> None:
        self._count = count
        self.families = {(family.clause, family.variable): family for family in families}
        self._sums = {place: family.in_units() for place, family in self.families.items()}
        self._columns: dict[Clause, Column] = {}
        self._readings: dict[Clause, dict[str, Integers]] = {}

    def __getitem__(self, clause: Clause) -> Column:
        if clause not in self._columns:
            self._columns[clause] = self._count(clause)
        return self._columns[clause]

    def feature(self, weighted: WeightedClause) -> Floats:
        """What a weighted clause weighs, for each example."""
        if weighted.each is not None:
            return self.families[weighted.clause, weighted.each].crossed
        return read(self[weighted.clause].astype(np.float64), weighted.feature)

    def units(self, said: Said) -> Integers:
        """What a part of a model weighs, in whole units."""
        clause, name, each = said
        return in_units(self[clause], name) if each is None else self._sums[clause, each]

    def offered(self, clauses: Iterable[Clause]) -> Iterator[tuple[Said, Integers]]:
        """Each reading of some clauses, and every clause with a weight for each constant."""
        for clause in dict.fromkeys(clauses):
            for name, values in self.readings(clause).items():
                yield (clause, name, None), values
        for (clause, variable), values in self._sums.items():
            if values.min() < values.max():
                yield (clause, LOG, variable), values

    def readings(self, clause: Clause) -> dict[str, Integers]:
        """Each reading offered of a clause's counts, in whole units."""
        if clause not in self._readings:
            column = self[clause]
            self._readings[clause] = {name: in_units(column, name) for name in offered(column)}
        return self._readings[clause]


def best_reading(
    clauses: Iterable[Clause],
    columns: Columns,
    taken: Collection[Said],
    slopes: Integers,
    spread: Floats,
    l2: float,
    length_penalty: float,
) -> Choice | None:
    """The clause and reading that gain most among those that say more than chance would.

    ``slopes`` are the gradients as integers, ``spread`` is P(1-P) of each example. The penalty
    grows with the range of a reading: a logarithm has no merit in being large. A
    weight for each constant counts as one more literal: what a few words say is better said by them.
    """
    # What another clause of the model says already, about the same examples, is nothing new.
    known = {columns.units(said).tobytes() for said in taken}
    choices = [(said, values) for said, values in columns.offered(clauses) if values.tobytes() not in known]
    if not choices:
        return None
    sums = Sums(
        [clause for (clause, _, _), _ in choices],
        [1] * len(choices),
        [int(values.sum()) for _, values in choices],
        [int((values * values).sum()) for _, values in choices],
        [_dot(values, slopes) for _, values in choices],
    )
    whole = response(slopes)
    gains = [
        Slope(whole, l2 * _range(values), LOG_UNIT).gain(clause_sums(sums, at))
        * (1.0 - length_penalty) ** (length_of(said[0]) - 1 + (said[2] is not None))
        for at, (said, values) in enumerate(choices)
    ]

    def rank(at: int) -> tuple[float, int, str, int]:
        clause = sums.clauses[at]
        return -gains[at], len(clause.body), str(clause), at

    gradients = slopes / 2.0**30
    for position in sorted(range(len(choices)), key=rank):
        (clause, name, each), values = choices[position]
        if _says(values, gradients, spread) >= AT_LEAST_SAYING:
            return Choice(clause, name, clause_sums(sums, position), each)
    return None


def _range(values: Integers) -> float:
    return float(values.max() - values.min()) / LOG_UNIT


def _says(values: Integers, gradients: Floats, spread: Floats) -> float:
    """The score statistic of one more feature: about what its weight adds to twice the log-likelihood."""
    centred = values - (spread * values).sum() / spread.sum()
    slope = float((centred * gradients).sum())
    below = float((spread * centred * centred).sum())
    return slope * slope / below if below > 0 else 0.0


def _dot(values: Integers, slopes: Integers) -> int:
    """The exact sum of products; readings are below 2**17 and gradients within 2**31."""
    return (int((values * (slopes >> 16)).sum()) << 16) + int((values * (slopes & 0xFFFF)).sum())
