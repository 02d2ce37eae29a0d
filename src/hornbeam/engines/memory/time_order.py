"""Facts in order of time: those that a cut-off admits stand together, and are found by two searches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.data.numbers import Floats
from hornbeam.data.rows import Folds, Integers, fold, probe
from hornbeam.engines.memory.indexes import FactIndexes
from hornbeam.logic.clauses import Atom


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Where a message is asked for: values of its variables, each with a cut-off.

    ``path`` tells how they came about: the same path gives the same pairs. None: they are asked once.
    """

    columns: tuple[Integers, ...]
    cuts: Integers
    path: object

    def __len__(self) -> int:
        return len(self.cuts)


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """The rows of an atom's view that some cut-off admits, sorted by key variables, then time."""

    keys: Integers
    folds: Folds
    rows: Integers

    def find(self, pairs: Pairs) -> tuple[Integers, Integers]:
        """For each pair the place of its first row, and the place after its last."""
        start = probe([*pairs.columns, np.zeros_like(pairs.cuts)], self.folds)
        end = probe([*pairs.columns, pairs.cuts], self.folds)
        return np.searchsorted(self.keys, start, "left"), np.searchsorted(self.keys, end, "right")


class TimeOrder:
    """The facts of one database by value and time, for the distinct cut-offs of some examples."""

    def __init__(self, facts: FactIndexes, distinct: Floats) -> None:
        self.facts = facts
        self.distinct = distinct
        self._indexes: dict[object, Index] = {}

    def index(self, atom: Atom, bound: tuple[int, ...]) -> Index:
        """The facts of an atom by some of its variables."""
        key = self.facts.pattern(atom, *bound)
        index = self._indexes.get(key)
        if index is None:
            view, order = self.facts.view(atom)
            places = [order.index(variable) for variable in bound]
            rows: Integers = np.arange(view.rows)
            ranks: Integers = np.zeros(view.rows, dtype=np.int64)
            if view.since is not None:
                # The first cut-off that admits the row; those that none admits are left out.
                ranks = np.searchsorted(self.distinct, view.since, "left")
                rows = np.flatnonzero(ranks < len(self.distinct))
                ranks = ranks[rows]
            columns = [*(view.columns[place][rows] for place in places), ranks]
            keys, folds = fold(columns, [*(view.sizes[place] + 1 for place in places), len(self.distinct)])
            by_key = np.argsort(keys, kind="stable")
            index = self._indexes[key] = Index(keys[by_key], folds, rows[by_key])
        return index
