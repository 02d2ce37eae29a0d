"""Paths: the links that lead from an example to other things, and the attributes of the things on them.

A path is a body of atoms. Functional links are free: they are followed as part of the attributes. A path has
at most ``max_links`` links to many. If links have times and examples have cut-offs, a link is also offered in
variants: the last k facts, and the facts within some time of the cut-off. Then there are also general paths:
the facts of all things within some time, which say how things were before the cut-off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import Database
from hornbeam.data.relations import Examples
from hornbeam.learning.effects.bins import shortest_between
from hornbeam.logic.clauses import Atom
from hornbeam.logic.effects import Body, NumberOf, Recent, Step, atom_in, rename_step
from hornbeam.logic.schema import Kind

LAST = (1, 3, 5, 10, 20)
"""How many of the last facts of a link are taken, in variants of the link."""
LAST_OF_SECOND = (5, 20)
"""The same for a second link."""
MOST_PATHS = 400
"""Maximum number of paths; further ones are left out, shorter paths first."""
FUNCTIONAL_DEPTH = 3
"""Maximum number of functional links that lead to an attribute."""
MOST_ATTRIBUTES = 3000
"""Maximum number of attributes of all paths together; paths with fewer links come first."""
LEAST_ATTRIBUTES = 8
"""Each path may have this many attributes, whatever the maximum."""
CATEGORY, NUMBER, DATE, THING, FLAG, FACTS = "category", "number", "date", "thing", "flag", "facts"
"""Kinds of attributes; ``FACTS`` is a number of facts."""


class Thing(NamedTuple):
    """A variable of a path, and how it was reached."""

    variable: int
    type: str
    origin: Position | None = None


class Attribute(NamedTuple):
    """Steps that lead from a variable of a path to a value, and the variable that has the value."""

    kind: str
    steps: Body
    node: Thing


@dataclass(frozen=True)
class Path:
    """A body of links, the variables it reaches last, and the number of links to many."""

    body: Body
    nodes: tuple[Thing, ...]
    links: int
    next_variable: int
    single: bool = False
    """whether every example has at most one grounding"""
    meets: bool = False
    """whether its last step is about a thing to which another variable of the head leads"""
    general: bool = False
    """whether it is about all things: no variable of the head is in it"""
    attributes: tuple[Attribute, ...] = field(default=(), compare=False)


class _Found(NamedTuple):
    """A thing that a path leads to functionally."""

    node: Thing
    steps: Body
    depth: int


class _Closing:
    """Collects the attributes of the variables of one path."""

    def __init__(self, finder: PathFinder, path: Path, most: int) -> None:
        self.finder = finder
        self.most = most
        self.links = finder.links
        self.path = path
        self.free = path.next_variable
        self.attributes: list[Attribute] = []
        self.seen: set[tuple[object, ...]] = {
            (atom.predicate, *atom.args) for step in path.body if (atom := atom_in(step)) is not None
        }
        self.scope: list[_Found] = []

    def closed(self, nodes: Sequence[Thing]) -> Path:
        todo = [_Found(node, (), 0) for node in nodes]
        self.scope = [_Found(node, (), 0) for node in self._earlier(nodes)]
        while todo and len(self.attributes) < self.most:
            reached = todo.pop(0)
            kind = self.finder.kind(reached.node.type)
            if kind != THING or reached.node.origin is not None:
                self.attributes.append(Attribute(kind, reached.steps, reached.node))
            if kind in (THING, CATEGORY):
                if kind == THING:
                    self.scope.append(reached)
                    self.attributes += self._of_itself(reached)
                for place in self.links.entries(reached.node.type):
                    if place != reached.node.origin or len(self.links.types_of(place.predicate)) > 2:
                        todo += self._entered(reached, place, kind)
        path = self.path
        attributes = tuple(self.attributes[: self.most])
        return replace(path, next_variable=self.free, attributes=attributes)

    def _of_itself(self, reached: _Found) -> Iterator[Attribute]:
        """Links of a thing to itself say no more than that it has them."""
        for predicate in self.links.identities(reached.node.type):
            size = len(self.links.types_of(predicate))
            atom = Atom(predicate, (reached.node.variable,) * size)
            yield Attribute(FLAG, (*reached.steps, atom), reached.node)

    def _earlier(self, nodes: Sequence[Thing]) -> list[Thing]:
        """The variables of the body, or the head's, that are things and not among these."""
        types = dict(enumerate(self.links.types_of(self.finder.head.predicate)))
        used: set[int] = set()
        for step in self.path.body:
            atom = atom_in(step)
            assert atom is not None
            for term, type_name in zip(atom.args, self.links.types_of(atom.predicate), strict=True):
                if isinstance(term, int):
                    types[term] = type_name
                    used.add(term)
        known = {node.variable for node in nodes}
        return [Thing(v, types[v]) for v in sorted(used - known) if self.finder.kind(types[v]) == THING]

    def _entered(self, reached: _Found, place: Position, kind: str) -> list[_Found]:
        """The things and values that an atom with this thing at an argument leads to functionally."""
        found: list[_Found] = []
        ways = self._joined(reached, place) if kind == THING else iter(({},))
        for joined in ways:
            types = self.links.types_of(place.predicate)
            bound = {place.position: reached, **joined}
            key = (
                place.predicate,
                *(bound[p].node.variable if p in bound else None for p in range(len(types))),
            )
            if key in self.seen:
                continue
            self.seen.add(key)
            others = [position for position in range(len(types)) if position not in bound]
            new = {position: self.free + number for number, position in enumerate(others)}
            args = {position: each.node.variable for position, each in bound.items()} | new
            atom = Atom(place.predicate, tuple(args[position] for position in range(len(types))))
            steps = tuple(dict.fromkeys(step for each in bound.values() for step in each.steps))
            depth = max(each.depth for each in bound.values()) + 1
            if not others:
                self.attributes.append(Attribute(FLAG, (*steps, atom), reached.node))
            elif not self.links.is_functional(place.predicate, tuple(sorted(bound))):
                if depth == 1 and kind == THING:
                    number = NumberOf(self.free + len(others), atom)
                    counted = Thing(number.variable, FACTS)
                    self.attributes.append(Attribute(FACTS, (*steps, number), counted))
                    self.free += len(others) + 1
            elif depth <= FUNCTIONAL_DEPTH:
                self.free += len(others)
                if len(bound) > 1 or not self.links.is_total(place):
                    self.attributes.append(Attribute(FLAG, (*steps, atom), reached.node))
                found += [
                    _Found(Thing(new[p], types[p], Position(place.predicate, p)), (*steps, atom), depth)
                    for p in others
                ]
        return found

    def _joined(self, reached: _Found, place: Position) -> Iterator[dict[int, _Found]]:
        """Ways to fill other arguments with things in scope: none of them, or as many as possible."""
        yield {}
        filled: dict[int, _Found] = {}
        for position, type_name in enumerate(self.links.types_of(place.predicate)):
            if position == place.position:
                continue
            taken = {reached.node.variable, *(each.node.variable for each in filled.values())}
            fitting = [
                each for each in self.scope if each.node.type == type_name and each.node.variable not in taken
            ]
            if fitting:
                filled[position] = fitting[0]
        if filled:
            yield filled


@dataclass(frozen=True, eq=False)
class PathFinder:
    """Finds the paths for a target.

    ``windows`` has the lengths of time offered for each link with times, which may be none; it is empty
    without cut-offs.
    """

    links: Vocabulary
    head: Atom
    windows: dict[str, tuple[float, ...]]
    max_links: int = 2
    most_attributes: int = MOST_ATTRIBUTES
    most_paths: int = MOST_PATHS

    def paths(self) -> list[Path]:
        """All paths with their attributes, those with fewer links first."""
        levels = [[self._start()]]
        general = self._general(levels[0][0]) if self.max_links else []
        for _ in range(self.max_links):
            reached = [path for each in levels[-1] for path in self._followed(each)]
            levels.append(self._shared_out([*levels, general], list(dict.fromkeys(reached))))
        found = [path for level in levels for path in level]
        if len(self.head.args) > 1:
            found += self._shared_out([found, general], self._meetings(found))
        return found + general

    def _shared_out(self, done: Sequence[Sequence[Path]], paths: list[Path]) -> list[Path]:
        """The first paths with their attributes, among which the attributes still allowed are shared out."""
        paths = paths[: max(0, self.most_paths - sum(map(len, done)))]
        used = sum(len(path.attributes) for level in done for path in level)
        most = max(LEAST_ATTRIBUTES, (self.most_attributes - used) // max(1, len(paths)))
        return [self.closed(path, path.nodes, most) for path in paths]

    # --- attributes ------------------------------------------------------------------------------

    def closed(self, path: Path, nodes: Sequence[Thing], most: int = MOST_ATTRIBUTES) -> Path:
        """The path with the attributes of these variables, and of what they lead to functionally."""
        return _Closing(self, path, most).closed(nodes)

    def kind(self, type_name: str) -> str:
        numeric = self.links.database.schema.numeric.get(type_name)
        if numeric is not None:
            return DATE if numeric == "date" else NUMBER
        return CATEGORY if type_name in self.links.categories else THING

    # --- links -----------------------------------------------------------------------------------

    def _start(self) -> Path:
        types = self.links.types_of(self.head.predicate)
        nodes = tuple(Thing(variable, type_name) for variable, type_name in enumerate(types))
        return self.closed(Path((), nodes, 0, len(types), single=True), nodes)

    def _followed(self, path: Path) -> Iterator[Path]:
        """The paths with one more link to many.

        With cut-offs, every example sees other facts, so that each link more multiplies the work: then a
        second link follows only the last fact of the first, or a link without times.
        """
        if self.windows and path.links and not path.single and self._is_timed(path.body):
            return
        sources: list[tuple[Thing, Body]] = [(node, ()) for node in path.nodes]
        sources += [(a.node, a.steps) for a in path.attributes if a.kind == THING and a.steps]
        for node, steps in sources:
            if self.kind(node.type) != THING:
                continue
            for place in self.links.entries(node.type):
                types = self.links.types_of(place.predicate)
                if len(types) < 2 or self.links.is_functional(place.predicate, (place.position,)):
                    continue
                yield from self._linked(path, (node, steps), place)

    def _is_timed(self, body: Body) -> bool:
        return any(
            (atom := atom_in(step)) is not None and self.links.is_timed(atom.predicate) for step in body
        )

    def _linked(self, path: Path, source: tuple[Thing, Body], place: Position) -> Iterator[Path]:
        node, steps = source
        types = self.links.types_of(place.predicate)
        others = [position for position in range(len(types)) if position != place.position]
        new = {position: path.next_variable + number for number, position in enumerate(others)}
        atom = _atom(place, node.variable, new)
        nodes = tuple(Thing(new[p], types[p], Position(place.predicate, p)) for p in others)
        free = path.next_variable + len(others)
        for step in self._variants(atom, path):
            single = path.single and isinstance(step, Recent) and step.last == 1
            body = (*path.body, *steps, step)
            yield Path(body, nodes, path.links + 1, free, single)

    def _variants(self, atom: Atom, path: Path) -> Iterator[Step]:
        """The link itself, and with limits in time where that is of use."""
        yield atom
        windows = self.windows.get(atom.predicate)
        if windows is None or (path.links and not _is_last_one(path.body)):
            return
        yield from (Recent(atom, last=number) for number in (LAST if not path.links else LAST_OF_SECOND))
        yield from (Recent(atom, within=length) for length in (windows if not path.links else windows[-1:]))

    def _general(self, start: Path) -> list[Path]:
        """The first links, not of the example's things but of all: their facts within some time.

        Their features depend on the cut-off alone, so only what the facts themselves say is offered.
        """
        found = []
        for node in start.nodes:
            for place in self.links.entries(node.type):
                windows = self.windows.get(place.predicate, ())
                if self.links.is_functional(place.predicate, (place.position,)):
                    continue
                types = self.links.types_of(place.predicate)
                new = {position: start.next_variable + position for position in range(len(types))}
                atom = Atom(place.predicate, tuple(new.values()))
                nodes = tuple(
                    Thing(new[p], types[p], Position(place.predicate, p)) for p in new if p != place.position
                )
                free = start.next_variable + len(types)
                steps = [Recent(atom, within=length) for length in windows]
                found += [Path((step,), nodes, 1, free, general=True) for step in steps]
        closed = [self.closed(path, path.nodes) for path in dict.fromkeys(found)]
        return [
            replace(path, attributes=tuple(each for each in path.attributes if len(each.steps) <= 1))
            for path in closed
        ]

    # --- pairs -----------------------------------------------------------------------------------

    def _meetings(self, paths: Sequence[Path]) -> list[Path]:
        """Paths from one variable of the head to a thing or value to which another one leads too."""
        found: dict[Body, Path] = {path.body: path for path in self._equalities(paths[0])}
        for path in paths:
            # A shared thing is one link away from each; the second link leads to nothing new.
            if path.links > max(self.max_links - 1, min(self.max_links, 1)):
                continue
            reached: list[tuple[Thing, Body]] = [(node, ()) for node in path.nodes if node.origin is not None]
            reached += [(a.node, a.steps) for a in path.attributes if a.kind in (THING, CATEGORY) and a.steps]
            for node, steps in reached:
                body = (*path.body, *steps)
                for other in self._other_heads(body):
                    for meeting in self._meeting(path, (node, body), other):
                        found.setdefault(meeting.body, meeting)
        return list(found.values())

    def _equalities(self, start: Path) -> Iterator[Path]:
        """Bodies in which the same attribute of two variables of the head has the same value."""
        reached = [a for a in start.attributes if a.kind in (THING, CATEGORY, NUMBER, DATE) and a.steps]
        for place, one in enumerate(reached):
            for other in reached[:place]:
                free = set(self._other_heads(one.steps)) != set(self._other_heads(other.steps))
                if one.node.type == other.node.type and free:
                    names = {other.node.variable: one.node.variable}
                    steps = tuple(rename_step(step, names) for step in other.steps)
                    yield Path((*one.steps, *steps), (one.node,), 0, start.next_variable, True, meets=True)

    def _other_heads(self, body: Body) -> list[int]:
        """The variables of the head that a body does not use."""
        used = {term for step in body if isinstance(step, Atom | Recent) for term in _terms(step)}
        return [term for term in self.head.args if isinstance(term, int) and term not in used]

    def _meeting(self, path: Path, reached: tuple[Thing, Body], other: int) -> Iterator[Path]:
        node, body = reached
        head_type = self.links.types_of(self.head.predicate)[other]
        for predicate in self.links.predicates:
            types = self.links.types_of(predicate)
            for at, at_type in enumerate(types):
                for to, to_type in enumerate(types):
                    if at == to or at_type != head_type or to_type != node.type:
                        continue
                    for args in self._filled(path, types, {at: other, to: node.variable}, body):
                        atom = Atom(predicate, args)
                        if atom in body:
                            continue
                        free = max([path.next_variable, *(t + 1 for t in args if isinstance(t, int))])
                        single = path.single and free == path.next_variable
                        yield Path((*body, atom), (node,), path.links + 1, free, single, meets=True)

    def _filled(
        self, path: Path, types: Sequence[str], fixed: dict[int, int], body: Body
    ) -> Iterator[tuple[int, ...]]:
        """The arguments of a meeting atom: others are new, or variables of the path of the same type."""
        others = [position for position in range(len(types)) if position not in fixed]
        new = {position: path.next_variable + number for number, position in enumerate(others)}
        yield tuple((fixed | new)[position] for position in range(len(types)))
        used = {term for step in body if isinstance(step, Atom) for term in _terms(step)}
        same = {
            position: node.variable
            for position in others
            for node in path.nodes
            if node.type == types[position] and node.variable in used and node.variable not in fixed.values()
        }
        if same:
            yield tuple((fixed | new | same)[position] for position in range(len(types)))


def _atom(place: Position, variable: int, new: dict[int, int]) -> Atom:
    arguments = new | {place.position: variable}
    return Atom(place.predicate, tuple(arguments[position] for position in range(len(arguments))))


def _is_last_one(body: Body) -> bool:
    """Whether each link to many in a body takes only the last fact."""
    recent = [step for step in body if isinstance(step, Recent)]
    return bool(recent) and all(step.last == 1 for step in recent)


def _terms(step: Step) -> tuple[object, ...]:
    return (
        step.atom.args if isinstance(step, Recent | NumberOf) else step.args if isinstance(step, Atom) else ()
    )


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


DAYS = (30.0, 90.0, 365.0)
"""Windows if times are dates."""
PARTS = (64.0, 16.0, 4.0)
"""Windows if times are numbers: the span of times divided by these."""
DAY = 86_400_000_000.0


def windows_of(database: Database, examples: Examples) -> dict[str, tuple[float, ...]]:
    """For each predicate with times, the windows that are shorter than the span of its times.

    They may be none. A predicate whose facts all have the same time is not among them. Times end at the last
    cut-off, if all examples have one: what comes later has no part in the choice.
    """
    windows: dict[str, tuple[float, ...]] = {}
    dated = database.origin.get("times") == "date"
    cutoffs = database.real_cutoffs_of(examples.target, examples.keys)
    end = np.inf if cutoffs is None else float(cutoffs.max(initial=-np.inf))
    for predicate in database.facts.timed():
        first, last = database.facts.span_of(predicate)
        span = (end if np.isfinite(end) else last) - first
        if not np.isfinite(span) or span <= 0:
            continue
        if dated:
            windows[predicate] = tuple(days for days in DAYS if days * DAY < span)
        else:
            windows[predicate] = tuple(shortest_between(span / part / 2, span / part) for part in PARTS)
    return windows
