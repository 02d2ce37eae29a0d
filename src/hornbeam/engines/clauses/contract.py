"""The interface of what counts clauses: true counts for rows of keys, and exact sums for a search.

A counter belongs to an engine, whose memory and cache it uses (see ``counters``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Database
from hornbeam.data.sparse import Matrix
from hornbeam.engines.cache import Cache
from hornbeam.engines.contract import Skipped
from hornbeam.logic.clauses import Atom, Clause, atoms_of

BYTES_PER_ANSWER = 1_000
"""About the bytes that a cached answer takes, with its clause, its sums and its keys."""
LOG_UNIT = 1024
"""Logarithms of counts are rounded to multiples of 1/LOG_UNIT, so that their sums are exact."""

Column = npt.NDArray[Any]
"""True counts, one per example, in any integer type."""


def narrowest(largest: int) -> type[np.signedinteger[Any]]:
    """The narrowest signed integer type that holds counts from 0 to ``largest``."""
    if largest < 2**7:
        return np.int8
    if largest < 2**15:
        return np.int16
    return np.int32 if largest < 2**31 else np.int64


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The true counts of one clause, one per example, and its total; false = total - true.

    If false counts are guarded, ``within`` is the number of groundings of the clause for which the
    guard is true, one per example, and false = within - true.
    """

    true: Column
    total: int
    within: Column | None = None
    false_known: bool = True
    """False if the guard was too large to count; allowed only if no weight multiplies the false counts"""

    @property
    def totals(self) -> int | Column:
        """The sum of true and false counts: one number for all examples, or one for each."""
        return self.total if self.within is None else self.within

    def false_of(self, place: int) -> int | None:
        """The false count of one example; None if it is unknown."""
        if not self.false_known:
            return None
        total = self.total if self.within is None else int(self.within[place])
        return total - int(self.true[place])


SumsOfClauses = list[int] | npt.NDArray[Any]
"""One exact number for each clause: Python integers, or an array of 64-bit integers or Python integers."""


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Exact sums over the examples, with one entry per counted clause: all that a ridge fit needs."""

    clauses: Sequence[Clause]
    """the requested clauses in their order, without skipped ones"""
    total: SumsOfClauses
    true: SumsOfClauses
    """sum of t"""
    true_squared: SumsOfClauses
    """sum of t*t"""
    true_gradient: SumsOfClauses
    """sum of t*d, with the gradients d as integers"""
    skipped: tuple[Skipped, ...] = ()
    counted: int = 0
    """number of clauses that had to be counted for this answer; the others were cached"""


class ClauseCounter(ABC):
    """Counts clauses over one database."""

    counts_components = False
    """whether counts of components are cached, so that it is best to count a clause by its components"""

    def __init__(self, database: Database, memory: int, cache: Cache) -> None:
        self.database = database
        self.memory = memory
        self.cache = cache

    def in_memory(self) -> ClauseCounter:
        """The counter for a search: it counts facts in memory, and facts in place are loaded for it.

        Keys of examples stay as they are. It is an error if the facts exceed the memory budget.
        """
        return self

    @abstractmethod
    def count(self, clauses: Sequence[Clause], keys: Codes) -> list[Counts | Skipped]:
        """True counts of each clause, one per row of ``keys`` (codes; -1 is an unknown key).

        Keys may have one more column than the head has arguments: cut-offs (``Database.cutoffs_of``).
        Then a fact with a time exists for a key only if its time is not after that of the key; facts
        without a time always exist. Populations, and so totals, do not change.

        Clauses must be well typed under the database's schema and have the same head. A clause whose
        count may exceed int64, or whose cost exceeds the memory budget, is ``Skipped``. This depends
        only on clause, data, keys and budget.
        """

    def total(self, clause: Clause) -> int:
        """Product of the populations of the free variables; 1 if there are none."""
        bound = set(clause.head.args)
        predicates = self.database.schema.predicates
        result = 1
        for atom in atoms_of(clause.body):
            for term, type_name in zip(atom.args, predicates[atom.predicate], strict=True):
                if isinstance(term, int) and term not in bound:
                    bound.add(term)
                    result *= len(self.database.population(type_name))
        return result

    def signatures(self, clauses: Sequence[Clause], keys: Codes) -> Sequence[Hashable]:
        """A signature for each clause: clauses with equal signatures have equal true counts for these keys.

        ``None`` stands for a clause whose signature is unknown.
        """
        return [None] * len(clauses)

    def incidence(self, head: Atom, atoms: Sequence[Atom], keys: Codes) -> Matrix | None:
        """The counts of atoms that differ in one constant: a row for each key, a column for each atom.

        None if the engine has no quicker way to count them than one by one.
        """
        return None
