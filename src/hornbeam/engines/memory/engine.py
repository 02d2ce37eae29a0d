"""The default engine: it groups groundings in this process, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence

from hornbeam.data.database import Codes, Database
from hornbeam.engines.contract import DEFAULT_MEMORY, Skipped
from hornbeam.engines.features.answers import TallyEngine
from hornbeam.engines.memory.indexes import FactIndexes
from hornbeam.engines.memory.tally import Tallies
from hornbeam.engines.tally import Tally, TallyRequest


class MemoryEngine(TallyEngine):
    """Answers from facts in memory, with partial results under the memory budget."""

    name = "memory"
    has_copies = True

    def __init__(self, database: Database, memory: int = DEFAULT_MEMORY) -> None:
        super().__init__(database, memory)
        self._tallies = Tallies(database, FactIndexes(database, self.cache.part()), memory, self.cache)

    def tally(self, requests: Sequence[TallyRequest], keys: Codes) -> list[Tally | Skipped]:
        return self._tallies.tally(requests, keys)
