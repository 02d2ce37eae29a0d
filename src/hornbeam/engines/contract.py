"""The interface of every engine: features of bodies, and counts of clauses, for examples.

An engine belongs to one database. It answers the questions about bodies of ``docs/inside.md``: ``features``,
``thresholds``, ``constants``, ``counts_by_constant`` and ``groundings``. ``count`` returns the true counts of
clauses for rows of keys.
``session`` fixes the examples and computes what a learner needs: sums of counts, and sums of counts
times gradients. The default session caches counts in memory; SQL sessions leave them in the database,
unless they are few.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Database
from hornbeam.data.numbers import Floats
from hornbeam.data.sparse import Matrix
from hornbeam.engines.cache import Cache
from hornbeam.engines.questions import (
    CountsByConstant,
    FeatureRequest,
    FrequentConstant,
    GroundingRows,
    ValueRequest,
)
from hornbeam.engines.tally import TallyRequest
from hornbeam.logic.clauses import Atom, Clause, atoms_of

DEFAULT_MEMORY = 2_000_000_000
"""Bytes that an engine may keep, and that the partial results of a clause may take, by default."""
INT64_MAX = 2**63 - 1
BYTES_PER_ANSWER = 1_000
"""About the bytes that a session's answer takes, with its clause, its sums and its keys."""
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


@dataclass(frozen=True, slots=True)
class Skipped:
    """A clause that was not counted, and the reason."""

    clause: Clause | FeatureRequest | TallyRequest
    reason: str
    estimate: int
    budget: int

    def __str__(self) -> str:
        return f"{self.clause} skipped: {self.reason} (estimate {self.estimate:,}, limit {self.budget:,})"


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


class Engine(ABC):
    """Counts clauses over one database."""

    name: str
    counts_components = False
    """whether counts of components are cached, so that it is best to count a clause by its components"""
    has_copies = False
    """whether other processes may have copies of the engine; the others have threads of their own"""

    def __init__(self, database: Database, memory: int = DEFAULT_MEMORY) -> None:
        self.database = database
        self.memory = memory
        self.cache = Cache(memory)

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

    @abstractmethod
    def features(self, requests: Sequence[FeatureRequest], keys: Codes) -> Iterator[Floats | Skipped]:
        """The value of each feature for each row of ``keys``, in the order of requests; NaN if it is missing.

        Keys are as in ``count``. ``docs/effects.md`` defines bodies and features.
        """

    @abstractmethod
    def thresholds(
        self, requests: Sequence[ValueRequest], number: int, keys: Codes, sizes: Floats | None = None
    ) -> list[tuple[float, ...] | Skipped]:
        """At most ``number`` thresholds that divide the values in the groundings of all keys equally.

        ``sizes`` says how many examples each row of keys stands for; None for one.
        """

    @abstractmethod
    def constants(
        self, requests: Sequence[ValueRequest], number: int, keys: Codes, sizes: Floats | None = None
    ) -> list[tuple[FrequentConstant, ...] | Skipped]:
        """The ``number`` constants that most examples have in their groundings, the most frequent first.

        Names decide between equally frequent constants. ``sizes`` is as for ``thresholds``.
        """

    @abstractmethod
    def counts_by_constant(self, request: ValueRequest, keys: Codes) -> Iterable[CountsByConstant] | Skipped:
        """The numbers of groundings by example and constant that are not 0, in batches of examples."""

    @abstractmethod
    def groundings(self, request: FeatureRequest, variables: tuple[int, ...], key: Codes) -> GroundingRows:
        """The groundings that made the value of a feature for the one row of ``key``.

        Those are the groundings with the smallest value for ``min``, those with the latest time for ``last``,
        and so on; for other features all that have a value.
        """

    def expect(self, requests: Sequence[FeatureRequest], keys: Codes) -> None:  # noqa: B027
        """Tell what will probably be asked for next, so that what it shares is computed once.

        Answers do not depend on it.
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

    @abstractmethod
    def session(self, keys: Codes, logarithm: bool = False) -> Session:
        """Start a session that counts for fixed examples; learners use it.

        With ``logarithm`` it sums ln(1 + count), rounded to multiples of 1/LOG_UNIT, instead of counts.
        """


class Session(ABC):
    """Sums of counts, and of counts times gradients, for fixed examples."""

    @abstractmethod
    def set_gradients(self, gradients: npt.NDArray[np.int64]) -> None:
        """Set the gradients, one per example, as integers (multiples of 2**-30)."""

    @abstractmethod
    def sums(self, clauses: Sequence[Clause]) -> Sums:
        """Exact sums of distinct clauses with the current gradients."""

    @abstractmethod
    def columns(self, clauses: Sequence[Clause]) -> list[Column]:
        """The true counts of clauses that were summed before, one column each."""

    def column(self, clause: Clause) -> Column:
        """The true counts of one clause that was summed before."""
        return self.columns([clause])[0]

    @abstractmethod
    def close(self) -> None:
        """Release the resources of the session."""
