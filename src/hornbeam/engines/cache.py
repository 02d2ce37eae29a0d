"""A cache with a size limit in bytes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any


class Cache:
    """A cache with a size limit in bytes. The least recently used value is dropped first."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.used = 0
        self._entries: OrderedDict[object, tuple[Any, int]] = OrderedDict()

    def get(self, key: object) -> Any:
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: object, value: Any, size: int) -> None:
        self._entries[key] = value, size
        self.used += size
        while self.used > self.budget and len(self._entries) > 1:
            _, (_, freed) = self._entries.popitem(last=False)
            self.used -= freed
