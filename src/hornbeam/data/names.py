"""Names that are made when somebody reads them: a million of them take no memory as text.

Keys and other constants of tables are mostly numbers. As text, each would take sixty bytes and a step of
Python; so their names are kept as numbers, and compared as numbers where both sides are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from hornbeam.data.keys import key_text

Codes = npt.NDArray[np.int32]
Numbers = npt.NDArray[Any]
UNKNOWN = -1
"""The code of a constant that the database does not have."""
_AT_ONCE = 1 << 16
"""Names that are made together."""


class MadeNames(Sequence[str]):
    """Distinct names that are made on request."""

    @abstractmethod
    def texts(self, places: npt.NDArray[Any]) -> list[str]:
        """The names at some places."""

    @abstractmethod
    def places(self, names: Iterable[str]) -> Codes:
        """The place of each name, ``UNKNOWN`` for others."""

    @abstractmethod
    def numbers(self) -> Numbers | None:
        """The numbers whose texts the names are; None if they are no plain numbers."""

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return self.texts(np.arange(len(self))[index])
        (place,) = range(len(self))[index : index + 1 or None] or [len(self)]
        if place == len(self):
            raise IndexError(index)
        return self.texts(np.array([place]))[0]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _AT_ONCE):
            yield from self.texts(np.arange(start, min(start + _AT_ONCE, len(self))))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self.places([name])[0] != UNKNOWN)

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        if value in self:
            place = int(self.places([value])[0])
            if place in range(len(self))[start:stop]:
                return place
        raise ValueError(f"{value!r} is not one of these {len(self)} names")


@dataclass(frozen=True, eq=False)
class Numbered(MadeNames):
    """The names p0, p1, ...

    >>> names = Numbered("p", 1_000_000)
    >>> len(names), names[3], names[-1], names.index("p17"), "p1000000" in names
    (1000000, 'p3', 'p999999', 17, False)
    >>> list(Numbered("", 3, first=1))
    ['1', '2', '3']
    """

    prefix: str
    size: int
    first: int = 0

    def __len__(self) -> int:
        return self.size

    def texts(self, places: npt.NDArray[Any]) -> list[str]:
        return [f"{self.prefix}{place + self.first}" for place in places.tolist()]

    def places(self, names: Iterable[str]) -> Codes:
        given = names.numbers() if isinstance(names, MadeNames) and not self.prefix else None
        if given is None:
            return np.array([self._place(name) for name in names], dtype=np.int32)
        inside = (given >= self.first) & (given <= self.first + self.size - 1)
        if given.dtype.kind == "f":
            inside &= given == np.floor(given)
        return np.where(inside, np.where(inside, given, self.first) - self.first, UNKNOWN).astype(np.int32)

    def numbers(self) -> Numbers | None:
        return None if self.prefix else np.arange(self.size) + self.first

    def _place(self, name: str) -> int:
        digits = name[len(self.prefix) :]
        # Longer digits are no number of these, and Python refuses to read thousands of them.
        if not digits.isascii() or not digits.removeprefix("-").isdecimal() or len(digits) > 20:
            return UNKNOWN
        place = int(digits) - self.first
        known = 0 <= place < self.size and f"{self.prefix}{place + self.first}" == name
        return place if known else UNKNOWN


@dataclass(frozen=True, eq=False)
class NumberNames(MadeNames):
    """The texts of distinct numbers, as ``key_text`` writes them.

    >>> names = NumberNames(np.array([7, -1, 30]))
    >>> list(names), names.places(["30", "07", "7", "x"]).tolist()
    (['7', '-1', '30'], [2, -1, 0, -1])
    >>> NumberNames(np.array([0.5, 2.0])).texts(np.array([1, 0]))
    ['2', '0.5']
    """

    values: Numbers
    """whole numbers of 64 bits, or floats that are finite"""

    def __len__(self) -> int:
        return len(self.values)

    def texts(self, places: npt.NDArray[Any]) -> list[str]:
        chosen = self.values[places].tolist()
        return list(map(str if self.values.dtype.kind == "i" else key_text, chosen))

    def places(self, names: Iterable[str]) -> Codes:
        given = names.numbers() if isinstance(names, MadeNames) else None
        if given is not None and given.dtype.kind == self.values.dtype.kind:
            return self._places_of(given)
        listed = list(names)
        found = self._places_of(np.array([self._number(name) for name in listed], dtype=self.values.dtype))
        same = [name == own for name, own in zip(listed, self.texts(found), strict=True)] if len(self) else ()
        return np.where(np.array(same, dtype=bool), found, UNKNOWN).astype(np.int32) if len(self) else found

    def numbers(self) -> Numbers:
        return self.values

    def _number(self, name: str) -> int | float:
        """The number that a name spells, or any other if it spells none."""
        try:
            number: int | float = int(name[:20]) if self.values.dtype.kind == "i" else float(name[:400])
        except ValueError:
            return 0
        return number if -(2**63) <= number < 2**63 or isinstance(number, float) else 0

    def _places_of(self, given: Numbers) -> Codes:
        if not len(self.values):
            return np.full(len(given), UNKNOWN, dtype=np.int32)
        places = np.minimum(np.searchsorted(self._sorted, given), len(self.values) - 1)
        known = self._sorted[places] == given
        if self._order is not None:
            places = self._order[places]
        return np.where(known, places, UNKNOWN).astype(np.int32)

    @cached_property
    def _order(self) -> npt.NDArray[np.intp] | None:
        """The order that sorts the numbers; None if they are sorted."""
        return None if (self.values[1:] > self.values[:-1]).all() else np.argsort(self.values)

    @cached_property
    def _sorted(self) -> Numbers:
        return self.values if self._order is None else self.values[self._order]


def number_names(values: Numbers) -> MadeNames:
    """The names of distinct numbers: whole numbers in a row need not be kept.

    >>> number_names(np.array([3, 4, 5])), list(number_names(np.array([3, 5])))
    (Numbered(prefix='', size=3, first=3), ['3', '5'])
    """
    are_whole = values.dtype.kind == "i" and len(values) > 0
    if are_whole and int(values[-1]) - int(values[0]) == len(values) - 1 and (values[1:] > values[:-1]).all():
        return Numbered("", len(values), int(values[0]))
    return NumberNames(values)


def joined(known: MadeNames, more: MadeNames) -> tuple[MadeNames, Codes] | None:
    """Names and then those of others that are new, with the places of the others; None if they do not mix."""
    places = known.places(more)
    new = places == UNKNOWN
    if not new.any():
        return known, places
    one, other = known.numbers(), more.numbers()
    if one is None or other is None or one.dtype != other.dtype:
        return None
    places[new] = np.arange(len(known), len(known) + np.count_nonzero(new))
    return NumberNames(np.concatenate([one, other[new]])), places


def names_not_in(names: set[str], known: Sequence[str]) -> set[str]:
    """The names that are not among others; others that are made on request are looked up, not listed."""
    if not isinstance(known, MadeNames):
        return names.difference(known)
    listed = list(names)
    return {
        name for name, place in zip(listed, known.places(listed).tolist(), strict=True) if place == UNKNOWN
    }
