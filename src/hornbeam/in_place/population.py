"""The constants of a type in tables that stay in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import repeat

import numpy as np

from hornbeam.data.names import UNKNOWN, Codes
from hornbeam.data.relations import Population


@dataclass(frozen=True, eq=False)
class PopulationInPlace(Population):
    """The constants of a type in a database. Only those that were asked for by name have codes."""

    count: Callable[[], int] = field(default=lambda: 0)
    """returns the number of constants, which a query counts when it is first asked for"""
    present: Callable[[Sequence[str]], set[str]] = field(default=lambda names: set())
    """returns those of the given names that are constants of the type"""

    def __len__(self) -> int:
        return self.count()

    def code(self, name: str) -> int:
        return int(self.encode([name])[0])

    def encode(self, names: Iterable[str]) -> Codes:
        wanted = list(names)
        new = [name for name in dict.fromkeys(wanted) if name not in self._codes]
        if new:
            present = self.present(new)
            self._add([name for name in new if name in present])
        return self._codes_of(wanted)

    def encode_known(self, names: Sequence[str]) -> Codes:
        self._add([name for name in dict.fromkeys(names) if name not in self._codes])
        return self._codes_of(names)

    def _add(self, names: Sequence[str]) -> None:
        """Give codes to constants that have none."""
        assert isinstance(self.names, list)
        self._codes.update(zip(names, range(len(self.names), len(self.names) + len(names)), strict=True))
        self.names.extend(names)

    def _codes_of(self, names: Sequence[str]) -> Codes:
        return np.fromiter(map(self._codes.get, names, repeat(UNKNOWN)), np.int32, len(names))
