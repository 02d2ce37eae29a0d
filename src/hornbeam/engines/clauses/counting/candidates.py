"""The clauses of one length in a search, as components, each made into a clause only if it is asked for.

A search compares thousands of clauses and keeps ten. A clause is known by the numbers of its components, so
equal clauses are found, and their sums computed, without making them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, overload

import numpy as np
import numpy.typing as npt

from hornbeam.logic.bodies import CanonicalComponent
from hornbeam.logic.clauses import Atom, Clause, Literal
from hornbeam.logic.refine import Extensions

Numbers = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]


class Group(NamedTuple):
    """Candidates that have all but one component in common, and their places among all candidates."""

    stay: tuple[CanonicalComponent, ...]
    added: Numbers
    """the number of the other component of each"""
    places: slice
    is_beside: bool
    """whether the other component is beside those that stay, and took the place of none"""


Part = tuple[tuple[CanonicalComponent, ...], Numbers, bool]
"""Components that stay, the numbers of those of which each makes a candidate with them, and whether these are
beside those that stay."""


class ComponentNumbers:
    """A number for each component under one head, the same for equal components.

    ``made`` makes the clause of some components, of which a clause has at most ``most``.
    """

    def __init__(
        self, head: Atom, made: Callable[[tuple[CanonicalComponent, ...]], Clause], most: int
    ) -> None:
        self.head = head
        self.made = made
        self.bits = 64 // most
        """the numbers of all components of a clause fit an integer, if none has more bits than this"""
        self.components: list[CanonicalComponent] = []
        self.beside: tuple[CanonicalComponent, ...] = ()
        """components that may be added to any clause; they have the numbers 0, 1, ..."""
        self._numbers: dict[tuple[Literal, ...], int] = {}

    def number(self, component: CanonicalComponent) -> int:
        number = self._numbers.setdefault(component.literals, len(self.components))
        if number == len(self.components):
            self.components.append(component)
        return number

    @property
    def is_full(self) -> bool:
        """Whether there are more components than such numbers."""
        return len(self.components) >= (1 << self.bits) - 1

    def set_beside(self, beside: tuple[CanonicalComponent, ...]) -> None:
        """Number the components that may be added to any clause."""
        if self.beside is not beside:
            assert not self.components
            self.beside = beside
            for component in beside:
                self.number(component)


def candidates(numbers: ComponentNumbers, extensions: Sequence[Extensions]) -> Candidates | None:
    """The distinct clauses among extensions; None if there are too many components."""
    parts = [part for each in extensions for part in _parts(numbers, each)]
    return None if numbers.is_full else Candidates(numbers, parts)


class Candidates(Sequence[Clause]):
    """Distinct clauses in the order of what they extend."""

    def __init__(self, numbers: ComponentNumbers, parts: Sequence[Part]) -> None:
        self.numbers = numbers
        self._added = np.concatenate([added for _, added, _ in parts])
        self._made: dict[int, Clause] = {}
        keys = _keys(numbers.bits, numbers, parts)
        first = np.sort(np.unique(keys, return_index=True)[1])
        ends = np.cumsum([len(added) for _, added, _ in parts])
        edges = np.append(0, np.searchsorted(first, ends))
        self.keys, self._added = keys[first], self._added[first]
        """a number for each candidate: equal for equal clauses, in all searches with the same ``numbers``"""
        self.groups = [
            Group(stay, self._added[start:end], slice(int(start), int(end)), is_beside)
            for (stay, _, is_beside), start, end in zip(parts, edges[:-1], edges[1:], strict=True)
        ]
        self._ends = edges[1:]

    def __len__(self) -> int:
        return len(self._added)

    @overload
    def __getitem__(self, place: int) -> Clause: ...
    @overload
    def __getitem__(self, place: slice) -> list[Clause]: ...
    def __getitem__(self, place: int | slice) -> Clause | list[Clause]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        clause = self._made.get(place)
        if clause is None:
            if not 0 <= place < len(self):
                raise IndexError(place)
            group = self.groups[int(np.searchsorted(self._ends, place, side="right"))]
            component = self.numbers.components[self._added[place]]
            clause = self._made[place] = self.numbers.made((*group.stay, component))
        return clause


def _parts(numbers: ComponentNumbers, extensions: Extensions) -> list[Part]:
    numbers.set_beside(extensions.beside)
    own = [numbers.number(each) for each in extensions.components if not each.free]
    beside = np.delete(np.arange(len(extensions.beside)), own)
    by_stay: dict[tuple[CanonicalComponent, ...], list[int]] = {}
    for stay, component in extensions.linked:
        by_stay.setdefault(stay, []).append(numbers.number(component))
    linked = [(stay, np.array(added, dtype=np.int64), False) for stay, added in by_stay.items()]
    return [(extensions.components, beside, True), *linked]


def _keys(bits: int, numbers: ComponentNumbers, parts: Sequence[Part]) -> Keys:
    """One number for each candidate: the numbers of its components in rising order, side by side."""
    keys = []
    for stay, added, _ in parts:
        rows = np.empty((len(added), len(stay) + 1), dtype=np.uint64)
        rows[:, :-1] = [numbers.number(component) for component in stay]
        rows[:, -1] = added
        rows.sort(axis=1)
        key = np.zeros(len(added), dtype=np.uint64)
        for column in rows.T:
            key = (key << np.uint64(bits)) + (column + np.uint64(1))
        keys.append(key)
    return np.concatenate(keys)
