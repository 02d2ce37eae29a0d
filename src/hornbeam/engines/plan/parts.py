"""The parts of a plan.

A *part* says what is counted for one row: at the root an example, below it a fact that a link has reached.
Its *tests* are about the row alone: a link to one thing is a lookup, hence a test. Its *links* lead to many
facts each, and do not depend on each other once the row is known. So the numbers of their groundings
multiply, and no executor has to list groundings: the answers for the rows of a link are added up by the keys
of the link.

There are no names of variables: a value is where it comes from. A ``Compiler`` makes each part once, so equal
parts of several requests are the same object, and parts, links and facts are compared as objects.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Input:
    """A value that is given with the row: an argument of the head, or a value that a link carries down."""

    place: int
    type_name: str


@dataclass(frozen=True, slots=True)
class Cell:
    """An argument of the fact that the link has reached."""

    place: int
    type_name: str


@dataclass(frozen=True, slots=True)
class Found:
    """An argument of the only fact that a lookup finds."""

    facts: Facts
    place: int
    type_name: str


@dataclass(frozen=True, slots=True)
class FactNumber:
    """The number of facts that match."""

    facts: Facts


@dataclass(frozen=True, slots=True)
class New:
    """An argument that nothing before determines; ``place`` is the first argument of its variable.

    At a later argument, the value must be equal to that at ``place``.
    """

    place: int


Value = Input | Cell | Found | FactNumber
Arg = Value | New | str


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """The facts of a predicate that match what is known: values, and constants (``str``)."""

    predicate: str
    args: tuple[Arg, ...]
    last: int | None = None
    """only facts with fewer than this many later ones that match"""
    within: float | None = None
    """only facts at most this long before the cut-off, in days or in the unit of times"""

    @property
    def known(self) -> tuple[Value, ...]:
        """The values that a fact must have, in order of arguments."""
        return tuple(arg for arg in self.args if not isinstance(arg, New | str))


@dataclass(frozen=True, slots=True)
class Exists:
    """A lookup finds its fact; there is at most one."""

    facts: Facts


@dataclass(frozen=True, slots=True)
class Absent:
    """No fact matches."""

    facts: Facts


@dataclass(frozen=True, slots=True)
class Compare:
    """The number of a value is on one side of a threshold; a value that is missing is on neither."""

    value: Value
    operator: str
    threshold: float


@dataclass(frozen=True, slots=True)
class IsConstant:
    """A value is a certain constant."""

    value: Value
    name: str


Test = Exists | Absent | Compare | IsConstant


@dataclass(frozen=True, slots=True)
class Here:
    """The time of a grounding is that of the fact that the link has reached."""


HERE = Here()


@dataclass(frozen=True, slots=True, eq=False)
class RowPart:
    """What is counted for one row."""

    tests: tuple[Test, ...]
    links: tuple[ManyLink, ...]
    value: Value | None
    """the value that is asked for, if it is at this row"""
    time: Here | Facts | None
    """whose time is the time of a grounding, if it is at this row: the row's, or that of a lookup"""
    has_value: bool
    """whether the value that is asked for is at this row or below it"""
    has_time: bool
    """whether the time of a grounding is at this row or below it"""
    predicates: frozenset[str]
    """the predicates whose facts the part asks for"""


@dataclass(frozen=True, slots=True, eq=False)
class ManyLink:
    """Facts that a row leads to, and what is counted for each; the answers are added up by ``keys``."""

    facts: Facts
    carried: tuple[Value, ...]
    """other values that the part below is given, as ``Input``"""
    below: RowPart

    @property
    def keys(self) -> tuple[Value, ...]:
        """The values on which the answers depend, besides the cut-off."""
        return (*self.facts.known, *self.carried)

    @property
    def predicates(self) -> frozenset[str]:
        """The predicates whose facts the link asks for."""
        return self.below.predicates | {self.facts.predicate}
