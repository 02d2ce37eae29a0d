"""The interface of every engine: the questions about bodies of ``docs/inside.md``, for examples.

An engine belongs to one database. It answers ``features``, ``thresholds``, ``constants``,
``counts_by_constant`` and ``groundings``. Clauses are counted by ``engines.clauses``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hornbeam.data.database import Codes, Database
from hornbeam.data.numbers import Floats
from hornbeam.engines.cache import Cache
from hornbeam.engines.questions import (
    CountsByConstant,
    FeatureRequest,
    FrequentConstant,
    GroundingRows,
    ValueRequest,
)
from hornbeam.engines.tally import TallyRequest
from hornbeam.logic.clauses import Clause

DEFAULT_MEMORY = 2_000_000_000
"""Bytes that an engine may keep, and that the partial results of a question may take, by default."""
INT64_MAX = 2**63 - 1
LEAST_KEYS = 64
"""Batches of at most this size are not halved; what is too large for one is an error."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A clause that was not counted, and the reason."""

    clause: Clause | FeatureRequest | TallyRequest
    reason: str
    estimate: int
    budget: int

    def __str__(self) -> str:
        return f"{self.clause} skipped: {self.reason} (estimate {self.estimate:,}, limit {self.budget:,})"


class Engine(ABC):
    """Answers questions about one database."""

    name: str
    has_copies = False
    """whether other processes may have copies of the engine; the others have threads of their own"""

    def __init__(self, database: Database, memory: int = DEFAULT_MEMORY) -> None:
        self.database = database
        self.memory = memory
        self.cache = Cache(memory)

    @abstractmethod
    def features(self, requests: Sequence[FeatureRequest], keys: Codes) -> Iterator[Floats | Skipped]:
        """The value of each feature for each row of ``keys``, in the order of requests; NaN if it is missing.

        Keys are codes; -1 is an unknown key. They may have one more column than the head has arguments:
        cut-offs (``Database.cutoffs_of``). Then a fact with a time exists for a key only if its time is not
        after that of the key; facts without a time always exist. ``docs/effects.md`` defines features.
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
