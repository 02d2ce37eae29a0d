"""Facts sorted by time: two binary searches find all facts that a cut-off admits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.data.numbers import Floats
from hornbeam.data.rows import Folds, Integers, fold, probe
from hornbeam.engines.cache import CachePart
from hornbeam.engines.memory.indexes import FactIndexes
from hornbeam.logic.clauses import Atom


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs at which a message is needed: values of its variables, each with a cut-off.

    ``path`` identifies the pairs: equal paths mean equal pairs. None: the pairs are used once.
    """

    columns: tuple[Integers, ...]
    cuts: Integers
    path: object

    def __len__(self) -> int:
        return len(self.cuts)


@dataclass(frozen=True, slots=True, eq=False)
class TimeIndex:
    """The facts of an atom that some cut-off admits, sorted by key variables, then by time."""

    keys: Integers
    folds: Folds
    rows: Integers

    def find(self, pairs: Pairs) -> tuple[Integers, Integers]:
        """For each pair the position of its first row, and the position after its last row."""
        start = probe([*pairs.columns, np.zeros_like(pairs.cuts)], self.folds)
        end = probe([*pairs.columns, pairs.cuts], self.folds)
        return np.searchsorted(self.keys, start, "left"), np.searchsorted(self.keys, end, "right")


class TimeOrder:
    """The facts of one database by value and time, for the distinct cut-offs of the examples."""

    def __init__(self, facts: FactIndexes, distinct: Floats, cache: CachePart) -> None:
        self.facts = facts
        self.distinct = distinct
        self._cache = cache

    def index(self, atom: Atom, bound: tuple[int, ...]) -> TimeIndex:
        """The facts of an atom by some of its variables, then by time."""

        def make() -> TimeIndex:
            matching, order = self.facts.of_atom(atom)
            places = [order.index(variable) for variable in bound]
            rows: Integers = np.arange(matching.rows)
            ranks: Integers = np.zeros(matching.rows, dtype=np.int64)
            if matching.since is not None:
                # The rank of the first cut-off that admits the row; rows that no cut-off admits are left out.
                ranks = np.searchsorted(self.distinct, matching.since, "left")
                rows = np.flatnonzero(ranks < len(self.distinct))
                ranks = ranks[rows]
            columns = [*(matching.columns[place][rows] for place in places), ranks]
            keys, folds = fold(
                columns, [*(matching.sizes[place] + 1 for place in places), len(self.distinct)]
            )
            by_key = np.argsort(keys, kind="stable")
            return TimeIndex(keys[by_key], folds, rows[by_key])

        key = ("in order of time", self.facts.pattern(atom, *bound))
        return self._cache.made(key, make, lambda index: index.keys.nbytes + index.rows.nbytes)
