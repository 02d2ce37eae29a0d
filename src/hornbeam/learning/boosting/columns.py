"""Counts of clauses that a fit needs repeatedly, and the features computed from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from hornbeam.engines.cache import Cache
from hornbeam.engines.clauses.contract import Column, Sums, narrowest
from hornbeam.engines.contract import DEFAULT_MEMORY, Skipped
from hornbeam.learning.numbers import Floats
from hornbeam.logic.canonical import canonical
from hornbeam.logic.clauses import Clause
from hornbeam.logic.guards import guard_of
from hornbeam.model.clause_model import WeightedClause
from hornbeam.model.features import feature_values


class Columns:
    """True counts of clauses, in the engine's cache."""

    def __init__(
        self,
        count: Callable[[Sequence[Clause]], list[Column]],
        cache: Cache | None = None,
        guards: Callable[[Sequence[Clause]], Sums] | None = None,
    ) -> None:
        """``guards`` counts guards; give it if false groundings are counted inside guards only."""
        self._count = count
        self._guards = guards
        self.skipped: dict[Skipped, None] = {}
        """clauses that cannot be counted, in the order of their first use"""
        cache = Cache(DEFAULT_MEMORY) if cache is None else cache
        self._counts = cache.part(cache.budget // 16)

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

    def feature(self, weighted: WeightedClause) -> Floats:
        """The value of a weighted clause's feature for each example."""
        return feature_values(self[canonical(weighted.clause)].astype(np.float64), weighted.feature)
