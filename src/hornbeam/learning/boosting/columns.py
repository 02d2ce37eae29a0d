"""Counts of clauses that a fit needs repeatedly, and the features computed from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.engines.cache import Cache
from hornbeam.engines.contract import DEFAULT_MEMORY, Column, Skipped, Sums, narrowest
from hornbeam.learning.constants.per_constant import Families, Family, no_families
from hornbeam.learning.numbers import Floats, Integers
from hornbeam.logic.canonical import canonical
from hornbeam.logic.clauses import Clause
from hornbeam.logic.guards import guard_of
from hornbeam.model.clause_model import WeightedClause
from hornbeam.model.features import (
    LOG,
    SHARE,
    bound_of,
    feature_values,
    in_units,
    offered,
    shares,
    shares_in_units,
)


class Feature(NamedTuple):
    """A clause and the function of its counts that a model weighs."""

    clause: Clause
    feature: str
    """``count``, ``log``, ``at least N`` or ``share``"""
    each: int | None = None
    """the variable for which each constant has a weight; None if the clause has one weight"""


class Offered(NamedTuple):
    """The features offered for a clause, computed once for all steps."""

    logarithms: Integers | None
    """ln(1 + count) in whole units; None if not offered"""
    bounds: tuple[int, ...]
    bins: npt.NDArray[np.int8]
    """for each count, how many of the bounds it reaches"""
    examples: list[int]
    """number of examples in each bin"""


class Columns:
    """True counts of clauses, in the engine's cache."""

    def __init__(
        self,
        count: Callable[[Sequence[Clause]], list[Column]],
        families: Callable[[], Families] = no_families,
        cache: Cache | None = None,
        guards: Callable[[Sequence[Clause]], Sums] | None = None,
    ) -> None:
        """``guards`` counts guards; give it if false groundings are counted inside guards only.

        ``families`` fits the clauses with a weight for each constant, and is called on first use.
        """
        self._count = count
        self._guards = guards
        self.skipped: dict[Skipped, None] = {}
        """clauses that cannot be counted, in the order of their first use"""
        cache = Cache(DEFAULT_MEMORY) if cache is None else cache
        self._counts = cache.part(cache.budget // 16)
        self._offered = cache.part(cache.budget // 16)
        self._fit_families = families

    @cached_property
    def families(self) -> dict[tuple[Clause, int], Family]:
        """Clauses with a weight for each constant of a variable; fitted on first use."""
        families, skipped = self._fit_families()
        self.skipped.update(dict.fromkeys(skipped))
        return {(family.clause, family.variable): family for family in families}

    def take(self, clauses: Iterable[Clause]) -> None:
        """Count the clauses that are not in the cache, all together."""
        missing = [clause for clause in clauses if self._counts.get(clause) is None]
        if missing:
            for clause, counts in zip(missing, self._count(missing), strict=True):
                column = counts.astype(narrowest(int(counts.max(initial=0))))
                self._counts.put(clause, column, column.nbytes)

    def __getitem__(self, clause: Clause) -> Column:
        column: Column | None = self._counts.get(clause)
        if column is None:
            self.take([clause])
            column = self._counts.get(clause)
            assert column is not None
        return column

    @property
    def guarded(self) -> bool:
        """Whether false groundings are counted inside guards only."""
        return self._guards is not None

    def with_guards(self, orders: Iterable[Clause]) -> list[Clause]:
        """The clauses whose guards can be counted; the guards are counted and cached."""
        if self._guards is None:
            return []
        orders = list(orders)
        sums = self._guards(list(dict.fromkeys(map(guard_of, orders))))
        self.skipped.update(dict.fromkeys(sums.skipped))
        known = set(sums.clauses)
        self.take(sums.clauses)
        return [order for order in orders if guard_of(order) in known]

    def offered(self, clause: Clause) -> Offered:
        """The features offered for a clause."""
        result: Offered | None = self._offered.get(clause)
        if result is None:
            counts = self[clause]
            names = offered(counts)
            bounds = tuple(bound for bound in map(bound_of, names) if bound is not None)
            bins = np.searchsorted(np.array(bounds, dtype=np.int64), counts, side="right").astype(np.int8)
            logarithms = in_units(counts, LOG) if LOG in names else None
            examples = np.bincount(bins, minlength=len(bounds) + 1).tolist()
            result = Offered(logarithms, bounds, bins, examples)
            size = bins.nbytes + (0 if logarithms is None else logarithms.nbytes)
            self._offered.put(clause, result, size)
        return result

    def feature(self, weighted: WeightedClause) -> Floats:
        """The value of a weighted clause's feature for each example."""
        if weighted.each is not None:
            return self.families[weighted.clause, weighted.each].crossed
        clause = canonical(weighted.clause)
        if weighted.feature == SHARE:
            return shares(self[clause], self[guard_of(weighted.clause)])
        return feature_values(self[clause].astype(np.float64), weighted.feature)

    def units(self, feature: Feature) -> Integers:
        """The value of a feature for each example, in whole units."""
        clause, name, each = feature
        if each is not None:
            return self.families[clause, each].units
        counts = self[canonical(clause)]
        return shares_in_units(counts, self[guard_of(clause)]) if name == SHARE else in_units(counts, name)
