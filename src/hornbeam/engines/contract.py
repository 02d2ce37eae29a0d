"""What every engine does: count clauses for examples.

An engine is made for one database. ``count`` gives the true counts of clauses for rows of keys.
``session`` fixes the examples and answers the learner's question, the sums of counts and
gradients; the default session keeps counts in memory, others leave them where the data are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Database
from hornbeam.logic.clauses import Clause, atoms_of

DEFAULT_MEMORY = 2_000_000_000
"""Bytes an engine may use for partial results unless told otherwise."""
INT64_MAX = 2**63 - 1
LOG_UNIT = 1024
"""Logarithms of counts are rounded to whole parts of this unit, so that their sums are exact."""

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

    Where false counts are guarded, ``within`` is how many groundings each example's guard leaves the
    clause, and false = within - true.
    """

    true: Column
    total: int
    within: Column | None = None
    false_known: bool = True
    """whether false counts are known: a guard may be too much to count where no false count is weighed"""

    @property
    def totals(self) -> int | Column:
        """What true and false counts add up to: one number for all examples, or one for each."""
        return self.total if self.within is None else self.within

    def false_of(self, place: int) -> int | None:
        """The false count of one example, where it is known."""
        if not self.false_known:
            return None
        total = self.total if self.within is None else int(self.within[place])
        return total - int(self.true[place])


@dataclass(frozen=True, slots=True)
class Skipped:
    """A clause that was not counted, and why; never a silent gap."""

    clause: Clause
    reason: str
    estimate: int
    budget: int

    def __str__(self) -> str:
        return f"{self.clause} skipped: {self.reason} (estimate {self.estimate:,}, limit {self.budget:,})"


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Exact sums over the examples, all that ridge fits need: one entry per clause that was counted."""

    clauses: Sequence[Clause]
    """the clauses asked for, in their order, without those skipped"""
    total: list[int]
    true: list[int]
    """sum of t"""
    true_squared: list[int]
    """sum of t*t"""
    true_gradient: list[int]
    """sum of t*d, with the gradients d as integers"""
    skipped: tuple[Skipped, ...] = ()
    counted: int = 0
    """how many had to be counted for this answer; the others were known"""


class Engine(ABC):
    """Counts clauses over one database."""

    name: str

    def __init__(self, database: Database, memory: int = DEFAULT_MEMORY) -> None:
        self.database = database
        self.memory = memory

    @abstractmethod
    def count(self, clauses: Sequence[Clause], keys: Codes) -> list[Counts | Skipped]:
        """True counts of each clause, rows in the order of ``keys`` (codes; -1 is an unknown key).

        Keys may have one column more than the head has arguments: cut-offs (``Database.cutoffs_of``).
        Then a fact that has a time exists for a key only if its time is the key's cut-off or before
        it; facts without a time always exist. Populations, and so totals, do not change.

        Clauses are well typed under the database's schema and all have the same head. A count
        that may exceed int64, or a clause whose cost exceeds the memory budget, is ``Skipped``;
        which ones depends on clause, data, keys and budget only.
        """

    def total(self, clause: Clause) -> int:
        """Product of the populations of the free variables; 1 when there is none."""
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

    @abstractmethod
    def session(self, keys: Codes, logarithm: bool = False) -> Session:
        """Counting for fixed examples, with gradients, as a learner needs it.

        With ``logarithm`` its sums are of ln(1 + count) in whole units of 1/LOG_UNIT, not of counts.
        """


class Session(ABC):
    """Sums of counts and gradients for fixed examples."""

    @abstractmethod
    def set_gradients(self, gradients: npt.NDArray[np.int64]) -> None:
        """Gradients as integers (multiples of 2**-30), one per example."""

    @abstractmethod
    def sums(self, clauses: Sequence[Clause]) -> Sums:
        """Exact sums of distinct clauses with the present gradients."""

    @abstractmethod
    def columns(self, clauses: Sequence[Clause]) -> list[Column]:
        """The true counts of clauses that were summed before, one column each."""

    def column(self, clause: Clause) -> Column:
        """The true counts of one clause that was summed before."""
        return self.columns([clause])[0]

    @abstractmethod
    def close(self) -> None:
        """Give back whatever the session holds."""
