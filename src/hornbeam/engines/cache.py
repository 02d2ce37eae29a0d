"""One cache for all that an engine keeps, with a budget in bytes.

Indexes, messages, counts and plans compete for the same budget: whatever was not used for the longest
time is dropped first, wherever it is. Nothing in the cache is needed for a right answer, so everything
can be dropped at any time and made again. Each user of the cache has its own part of it, with its own keys.

>>> cache = Cache(1_200)
>>> indexes, counts = cache.part(), cache.part()
>>> indexes.put("links", "large", 600)
>>> counts.put("links", "small", 100)
>>> indexes.get("links"), counts.get("links")
('large', 'small')
>>> counts.put("degrees", "new", 100)
>>> indexes.get("links") is None, cache.used <= cache.budget
(True, True)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar
from weakref import WeakSet

ENTRY = 200
"""Bytes that an entry uses besides its value: its key and its place in the order."""

Value = TypeVar("Value")


class Cache:
    """A budget in bytes that several parts share. The least recently used value is dropped first."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        # A part that nobody refers to any more is gone, with all its values.
        self._parts: WeakSet[CachePart] = WeakSet()
        self._ticks = count()

    @property
    def used(self) -> int:
        """Bytes of all values, as they were stated."""
        return sum(part.used for part in self._parts)

    def part(self, limit: int | None = None, dropped: Callable[[Any], None] | None = None) -> CachePart:
        """A new part with its own keys. ``limit`` bounds the bytes of this part alone.

        ``dropped`` is called with each value that is dropped to make room.
        """
        part = CachePart(self, self._ticks.__next__, limit, dropped)
        self._parts.add(part)
        return part

    def evict(self, newest: CachePart) -> None:
        """Drop the least recently used values until the others fit; the newest value stays in any case."""
        excess = self.used - self.budget
        while excess > 0:
            parts = [part for part in self._parts if len(part) > (part is newest)]
            if not parts:
                return
            excess -= min(parts, key=CachePart.oldest).drop_oldest()


class CachePart:
    """Values of one user of a cache, by key."""

    def __init__(
        self,
        cache: Cache,
        tick: Callable[[], int],
        limit: int | None,
        dropped: Callable[[Any], None] | None,
    ) -> None:
        self.used = 0
        self._cache = cache
        self._tick = tick
        self._limit = limit
        self._dropped = dropped
        # For each key the value, its bytes, and when it was last used.
        self._entries: OrderedDict[object, list[Any]] = OrderedDict()

    @property
    def budget(self) -> int:
        """The budget that this part shares with others."""
        return self._cache.budget

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def get(self, key: object) -> Any:
        """The value of a key, or None if there is none."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        entry[2] = self._tick()
        return entry[0]

    def put(self, key: object, value: Any, size: int) -> None:
        """Store a value of ``size`` bytes in place of an earlier one, and make room for it.

        A value that is larger than the budget stays until the next one is put.
        """
        self.remove(key)
        self._entries[key] = [value, size + ENTRY, self._tick()]
        self.used += size + ENTRY
        if self._limit is not None:
            while self.used > self._limit and len(self._entries) > 1:
                self.drop_oldest()
        self._cache.evict(self)

    def made(self, key: object, make: Callable[[], Value], size: Callable[[Value], int]) -> Value:
        """The value of a key; if there is none, it is made and stored."""
        known = self.get(key)
        if known is not None:
            value: Value = known
            return value
        value = make()
        self.put(key, value, size(value))
        return value

    def remove(self, key: object) -> None:
        """Remove the value of a key, if there is one."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.used -= entry[1]

    def clear(self) -> None:
        """Remove all values."""
        self._entries.clear()
        self.used = 0

    def oldest(self) -> int:
        """When the least recently used value was last used."""
        entry: list[Any] = next(iter(self._entries.values()))
        return int(entry[2])

    def drop_oldest(self) -> int:
        """Drop the least recently used value; returns its bytes."""
        _, (value, size, _) = self._entries.popitem(last=False)
        self.used -= size
        if self._dropped is not None:
            self._dropped(value)
        return int(size)
