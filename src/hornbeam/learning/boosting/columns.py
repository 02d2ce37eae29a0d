"""What a fit looks at again and again: the counts of clauses, and what is read of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.engines.cache import Cache
from hornbeam.engines.contract import Column, Skipped, Sums, narrowest
from hornbeam.learning.constants.per_constant import Family
from hornbeam.logic.canonical import canonical
from hornbeam.logic.clauses import Clause
from hornbeam.logic.guards import guard_of
from hornbeam.model.clause_model import Floats, WeightedClause
from hornbeam.model.features import LOG, SHARE, bound_of, in_units, offered, read, shares, shares_in_units

Integers = npt.NDArray[np.int64]


class Feature(NamedTuple):
    """A part of a model: a clause, the reading of its counts that is weighted, and
    the variable whose constants have weights of their own, where one has."""

    clause: Clause
    feature: str
    each: int | None = None


class Read(NamedTuple):
    """What the readings of a clause's counts have in common at every step."""

    logarithms: Integers | None
    """ln(1 + count) in whole units, where that is offered"""
    bounds: tuple[int, ...]
    bins: npt.NDArray[np.int8]
    """how many of the bounds each count reaches"""
    examples: list[int]
    """how many counts reach just so many"""


class Columns:
    """True counts of clauses that come up again and again, under a budget of bytes."""

    def __init__(
        self,
        count: Callable[[Sequence[Clause]], list[Column]],
        families: Iterable[Family | Skipped] = (),
        budget: int = 2**28,
        guards: Callable[[Sequence[Clause]], Sums] | None = None,
    ) -> None:
        """``guards`` tells which guards can be counted, where false counts are those inside guards."""
        self._count = count
        self._guards = guards
        self.skipped: dict[Skipped, None] = {}
        """clauses that cannot be counted, in the order they were met"""
        self._kept = Cache(budget)
        self._read = Cache(budget)
        self._families = families

    @cached_property
    def families(self) -> dict[tuple[Clause, int], Family]:
        """Clauses with a weight for each constant of a variable, fitted when they are first asked for."""
        found = {}
        for family in self._families:
            if isinstance(family, Skipped):
                self.skipped[family] = None
            else:
                found[family.clause, family.variable] = family
        return found

    def take(self, clauses: Iterable[Clause]) -> None:
        """Count together what is not at hand."""
        missing = [clause for clause in clauses if self._kept.get(clause) is None]
        if missing:
            for clause, counts in zip(missing, self._count(missing), strict=True):
                column = counts.astype(narrowest(int(counts.max(initial=0))))
                self._kept.put(clause, column, column.nbytes)

    def __getitem__(self, clause: Clause) -> Column:
        column = self._kept.get(clause)
        if column is None:
            self.take([clause])
            column = self._kept.get(clause)
        found: Column = column
        return found

    @property
    def guarded(self) -> bool:
        """Whether false counts are those inside guards."""
        return self._guards is not None

    def with_guards(self, orders: Iterable[Clause]) -> list[Clause]:
        """Those clauses whose guards can be counted, which are at hand then."""
        if self._guards is None:
            return []
        orders = list(orders)
        found = self._guards(list(dict.fromkeys(map(guard_of, orders))))
        self.skipped.update(dict.fromkeys(found.skipped))
        known = set(found.clauses)
        self.take(found.clauses)
        return [order for order in orders if guard_of(order) in known]

    def readings(self, clause: Clause) -> Read:
        """The readings offered of a clause's counts."""
        found: Read | None = self._read.get(clause)
        if found is None:
            counts = self[clause]
            names = offered(counts)
            bounds = tuple(bound for bound in map(bound_of, names) if bound is not None)
            bins = np.searchsorted(np.array(bounds, dtype=np.int64), counts, side="right").astype(np.int8)
            logarithms = in_units(counts, LOG) if LOG in names else None
            examples = np.bincount(bins, minlength=len(bounds) + 1).tolist()
            found = Read(logarithms, bounds, bins, examples)
            self._read.put(clause, found, bins.nbytes + (0 if logarithms is None else logarithms.nbytes))
        return found

    def feature(self, weighted: WeightedClause) -> Floats:
        """What a weighted clause weighs, for each example."""
        if weighted.each is not None:
            return self.families[weighted.clause, weighted.each].crossed
        clause = canonical(weighted.clause)
        if weighted.feature == SHARE:
            return shares(self[clause], self[guard_of(weighted.clause)])
        return read(self[clause].astype(np.float64), weighted.feature)

    def units(self, said: Feature) -> Integers:
        """What a part of a model weighs, in whole units."""
        clause, name, each = said
        if each is not None:
            return self.families[clause, each].units
        counts = self[canonical(clause)]
        return shares_in_units(counts, self[guard_of(clause)]) if name == SHARE else in_units(counts, name)
