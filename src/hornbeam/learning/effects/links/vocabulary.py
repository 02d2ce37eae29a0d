"""What the predicates of a database offer a learner: links, attributes and flags of things.

From a thing, an atom of two or more arguments leads to other things or values. It is *functional* at the
argument where the thing stands if no thing has more than one fact there; else it is a *link* to many. Types
whose constants a mode allows are *categories*: they are compared with constants, and no link leads back from
them. All else follows the modes: an argument may be entered where a mode has + or -.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from hornbeam.data.database import Database
from hornbeam.logic.modes import Kind


class Position(NamedTuple):
    """An argument of a predicate."""

    predicate: str
    position: int


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The predicates that may be used in bodies for a target, by the types of their arguments."""

    database: Database
    target: str

    @cached_property
    def _places(self) -> dict[str, list[Position]]:
        """The arguments of each type that may be entered."""
        places: dict[str, list[Position]] = {}
        for predicate in self.predicates:
            if predicate in self._identities:
                continue
            for position, type_name in enumerate(self.types_of(predicate)):
                if self._has(predicate, position, Kind.BOUND, Kind.OPEN):
                    places.setdefault(type_name, []).append(Position(predicate, position))
        return places

    @cached_property
    def _identities(self) -> frozenset[str]:
        """The predicates whose facts link things to themselves alone."""
        return frozenset(name for name in self.predicates if self.database.facts.is_identity(name))

    def identities(self, type_name: str) -> Iterator[str]:
        """The predicates that link some things of a type, and not all of them, to themselves alone."""
        for predicate in sorted(self._identities):
            if self.types_of(predicate)[0] == type_name and not self.is_total(Position(predicate, 0)):
                yield predicate

    @cached_property
    def predicates(self) -> tuple[str, ...]:
        """The predicates that have modes and facts, without the target, sorted."""
        named = {mode.predicate for mode in self.database.modes} - {self.target}
        return tuple(sorted(name for name in named if self.database.has_facts(name)))

    @cached_property
    def categories(self) -> frozenset[str]:
        """The types whose constants bodies may name, other than those of the target."""
        by_mode = {
            self.types_of(predicate)[position]
            for predicate in self.predicates
            for position in range(len(self.types_of(predicate)))
            if self._has(predicate, position, Kind.CONSTANT)
        }
        if "tables" in self.database.origin:
            by_mode |= {name for name, number in self._uses.items() if number == 1}
        return frozenset(by_mode - set(self.database.schema.types_of(self.target)) - self.numeric)

    @cached_property
    def numeric(self) -> frozenset[str]:
        return frozenset(self.database.schema.numeric)

    @cached_property
    def _uses(self) -> dict[str, int]:
        """The number of arguments of each type that is not numeric."""
        uses: dict[str, int] = {}
        for predicate in self.predicates:
            for type_name in self.types_of(predicate):
                if type_name not in self.numeric:
                    uses[type_name] = uses.get(type_name, 0) + 1
        return uses

    def types_of(self, predicate: str) -> tuple[str, ...]:
        return self.database.schema.types_of(predicate)

    def entries(self, type_name: str) -> Iterator[Position]:
        """The arguments at which a thing of a type may stand."""
        return iter(self._places.get(type_name, ()))

    def is_functional(self, predicate: str, positions: tuple[int, ...]) -> bool:
        """Whether no constants have more than one fact at these arguments together."""
        return self._shape(predicate, positions)[0] <= 1

    def is_total(self, place: Position) -> bool:
        """Whether every constant of the type has a fact at this argument."""
        type_name = self.types_of(place.predicate)[place.position]
        return self._shape(place.predicate, (place.position,))[1] >= len(self.database.population(type_name))

    def is_timed(self, predicate: str) -> bool:
        return predicate in self.database.facts.timed()

    @cached_property
    def _shapes(self) -> dict[tuple[str, tuple[int, ...]], tuple[int, int]]:
        return {}

    def _shape(self, predicate: str, positions: tuple[int, ...]) -> tuple[int, int]:
        """The largest number of facts with equal constants, and the number of combinations with facts."""
        key = (predicate, positions)
        if key not in self._shapes:
            self._shapes[key] = self.database.facts.shape_at(predicate, positions)
        return self._shapes[key]

    def _has(self, predicate: str, position: int, *kinds: Kind) -> bool:
        return any(
            mode.predicate == predicate and mode.args[position].kind in kinds for mode in self.database.modes
        )
