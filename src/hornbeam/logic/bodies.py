"""Canonical bodies composed from the canonical forms of their components.

A search visits about ten times as many bodies as components, because adding a literal usually changes one
component and leaves the others as they are. Each component is therefore made once, and the canonical form of
a body is composed from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from hornbeam.logic.canonical import canonical_body
from hornbeam.logic.clauses import (
    Atom,
    Clause,
    Comparison,
    Literal,
    Not,
    atom_of,
    cut,
    literal_variables,
    rename,
)

MOST_VARIABLES = 26
"""The variables A to Z. Up to this number, the names of variables sort in the order of their numbers."""

MOST_CLAUSES = 65_536
"""With more clauses than this, all that was made is forgotten and made again when it is needed."""

_numbers = count()


@dataclass(frozen=True, slots=True, eq=False)
class CanonicalComponent:
    """A component in canonical form: its free variables are numbered after the head's.

    ``number`` identifies a component. Components with different numbers may have equal literals.
    """

    literals: tuple[Literal, ...]
    heads: tuple[int, ...]
    """the head variables that it touches, in rising order"""
    free: int
    """the number of its free variables"""
    fresh: tuple[int, ...]
    """for each literal, the number of free variables in it and the literals before it"""
    plain: bool
    """whether all its literals are atoms"""
    number: int


def _canonical_component(literals: Sequence[Literal], arity: int) -> CanonicalComponent:
    """The canonical component of linked literals, under a head with ``arity`` variables."""
    body = canonical_body(literals, arity)
    used: set[int] = set()
    fresh: list[int] = []
    for literal in body:
        used.update(literal_variables(literal))
        fresh.append(sum(variable >= arity for variable in used))
    heads = tuple(sorted(variable for variable in used if variable < arity))
    plain = all(isinstance(literal, Atom) for literal in body)
    return CanonicalComponent(body, heads, fresh[-1], tuple(fresh), plain, next(_numbers))


def components_of(clause: Clause) -> tuple[CanonicalComponent, ...]:
    """The components of a clause's body, cached in the clause.

    >>> clause = Clause(Atom("t", (0,)), (Atom("p", (0, 3)), Atom("r", (0,)), Atom("q", (3,))))
    >>> [each.literals for each in components_of(clause)]
    [(Atom(predicate='r', args=(0,)),), (Atom(predicate='p', args=(0, 1)), Atom(predicate='q', args=(1,)))]
    """
    components: tuple[CanonicalComponent, ...] | None = vars(clause).get("components")
    if components is None:
        arity = len(clause.head.args)
        body = dict.fromkeys(clause.body)
        components = tuple(
            [_canonical_component(each.literals, arity) for each in cut(body, clause.head.args)]
        )
        vars(clause)["components"] = components
    return components


_NextLiteral = tuple[str, Literal, tuple[int, ...], int]
"""A component's next literal: its text, the literal, the names of the component's variables up to and
including it, and the number of variables that are new in it."""

_Composed = tuple[tuple[str, ...], tuple[Literal, ...], list[tuple[int, ...]]]
"""Texts and literals of a body in order, and the names of the free variables of each component."""


class Bodies:
    """Canonical clauses under one head, composed from components that are made once."""

    def __init__(self, head: Atom) -> None:
        self.head = head
        self.arity = len(head.args)
        self._components: dict[tuple[Literal, ...], CanonicalComponent] = {}
        self._extended: dict[object, CanonicalComponent] = {}
        self._clauses: dict[tuple[int, ...], Clause] = {}
        self._next_literals: dict[tuple[int, int, tuple[int, ...], int], _NextLiteral] = {}

    def owners(self, clause: Clause) -> dict[int, tuple[int, int]] | None:
        """For each free variable, the position of its component and the variable's number there.

        None if the body is not canonical, has comparisons, or has more than ``MOST_VARIABLES`` variables.
        """
        if any(isinstance(literal, Comparison) for literal in clause.body):
            return None
        if len(self._clauses) > MOST_CLAUSES:
            for known in (self._components, self._extended, self._clauses, self._next_literals):
                known.clear()
        components = tuple(self._interned(each) for each in components_of(clause))
        if self.arity + sum(component.free for component in components) > MOST_VARIABLES:
            return None
        literals, names = self._composed(components)
        if literals != clause.body:
            return None
        vars(clause)["components"] = components
        return {
            name: (position, self.arity + number)
            for position, known in enumerate(names)
            for number, name in enumerate(known)
        }

    def extended(
        self, clause: Clause, owners: dict[int, tuple[int, int]], literal: Atom | Not, first_new: int
    ) -> Clause:
        """The canonical clause with one more literal, whose new variables are numbered from ``first_new``."""
        alone = self._extended.get(literal)
        if alone is not None:
            return self._with_alone(clause, alone)
        stay, joined = self.joined(clause, owners, literal, first_new)
        if not joined.free:
            self._extended[literal] = joined
        return self.clause((*stay, joined))

    def joined(
        self, clause: Clause, owners: dict[int, tuple[int, int]], literal: Atom | Not, first_new: int
    ) -> tuple[tuple[CanonicalComponent, ...], CanonicalComponent]:
        """The components that one more literal leaves as they are, and the one that it is in."""
        arity = self.arity
        atom = atom_of(literal)
        linked: list[int] = []
        for term in atom.args:
            if isinstance(term, int) and arity <= term < first_new:
                position = owners[term][0]
                if position not in linked:
                    linked.append(position)
        components: tuple[CanonicalComponent, ...] = vars(clause)["components"]
        starts = {}
        next_free = 0
        for position in linked:
            starts[position] = next_free
            next_free += components[position].free
        args: list[int | str] = []
        for term in atom.args:
            if isinstance(term, str) or term < arity:
                args.append(term)
            elif term < first_new:
                position, number = owners[term]
                args.append(starts[position] + number)
            else:
                args.append(term - first_new + arity + next_free)
        numbers = tuple([components[position].number for position in linked])
        key = (literal is atom, atom.predicate, tuple(args), numbers)
        joined = self._extended.get(key)
        if joined is None:
            added = Atom(atom.predicate, tuple(args))
            literals = self._side_by_side([components[position] for position in linked])
            literals.append(added if literal is atom else Not(added))
            joined = self._extended[key] = self._interned(_canonical_component(literals, arity))
        if linked:
            components = tuple([each for place, each in enumerate(components) if place not in linked])
        return components, joined

    def _with_alone(self, clause: Clause, added: CanonicalComponent) -> Clause:
        """The canonical clause with a component more, a literal without free variables that it does not have.

        Such a literal changes no name and no order of the others: it comes before the first larger text.
        """
        components: tuple[CanonicalComponent, ...] = (*vars(clause)["components"], added)
        key = tuple(sorted([component.number for component in components]))
        longer = self._clauses.get(key)
        if longer is None:
            text, literal, _, _ = self._next(added, 0, (), self.arity)
            texts: list[str] | None = vars(clause).get("texts")
            if texts is None:
                texts = vars(clause)["texts"] = list(map(str, clause.body))
            place = 0
            while place < len(texts) and texts[place] <= text:
                place += 1
            longer = Clause(self.head, (*clause.body[:place], literal, *clause.body[place:]))
            vars(longer)["components"] = components
            self._clauses[key] = longer
        return longer

    def _side_by_side(self, components: Iterable[CanonicalComponent]) -> list[Literal]:
        """The literals of some components, the free variables of each numbered after those before it."""
        literals: list[Literal] = []
        before = 0
        for component in components:
            shift = {self.arity + number: self.arity + before + number for number in range(component.free)}
            literals += [rename(literal, shift) for literal in component.literals]
            before += component.free
        return literals

    def _interned(self, component: CanonicalComponent) -> CanonicalComponent:
        return self._components.setdefault(component.literals, component)

    def clause(self, components: tuple[CanonicalComponent, ...]) -> Clause:
        """The canonical clause with these components, which this object has made."""
        key = tuple(sorted([component.number for component in components]))
        clause = self._clauses.get(key)
        if clause is None:
            clause = self._clauses[key] = self._new_clause(components)
        return clause

    def _new_clause(self, components: tuple[CanonicalComponent, ...]) -> Clause:
        if self.arity + sum(component.free for component in components) > MOST_VARIABLES:
            return Clause(self.head, canonical_body(self._side_by_side(components), self.arity))
        clause = Clause(self.head, self._composed(components)[0])
        vars(clause)["components"] = components
        return clause

    def _composed(
        self, components: tuple[CanonicalComponent, ...]
    ) -> tuple[tuple[Literal, ...], list[tuple[int, ...]]]:
        """The canonical body of some components, and the names of the free variables of each."""
        number = len(components)
        _, literals, names = self._smallest(components, [0] * number, [()] * number, self.arity)
        return literals, names

    def _smallest(
        self,
        components: tuple[CanonicalComponent, ...],
        done: list[int],
        names: list[tuple[int, ...]],
        first_new: int,
    ) -> _Composed:
        """The remaining literals of each component in the order with the smallest text.

        ``done`` has the number of literals of each component that are already placed, ``names`` the names of
        the free variables in them. Each component keeps its own order. That order is the smallest for every
        naming of the free variables, because a variable that comes later always has the larger name.
        """
        texts: list[str] = []
        literals: list[Literal] = []
        nexts = {
            position: self._next(component, done[position], names[position], first_new)
            for position, component in enumerate(components)
            if done[position] < len(component.literals)
        }
        while nexts:
            text, ties = _first_in_order(nexts)
            if len(ties) > 1:
                # Copies of one component in the same state are interchangeable: only one of them is tried.
                kinds = {(components[at].number, done[at], names[at]): at for at in ties}
                if len(kinds) > 1:
                    tails = []
                    for at in kinds.values():
                        _, literal, known, added = nexts[at]
                        tail_done, tail_names = done.copy(), names.copy()
                        tail_done[at] += 1
                        tail_names[at] = known
                        tail = self._smallest(components, tail_done, tail_names, first_new + added)
                        tails.append((tail[0], (literal, *tail[1]), tail[2]))
                    tail_texts, tail_literals, names = min(tails, key=lambda tail: tail[0])
                    return (*texts, text, *tail_texts), (*literals, *tail_literals), names
            position = ties[0]
            _, literal, known, added = nexts[position]
            texts.append(text)
            literals.append(literal)
            names[position] = known
            done[position] += 1
            first_new += added
            if done[position] == len(components[position].literals):
                del nexts[position]
            else:
                nexts[position] = self._next(components[position], done[position], known, first_new)
            if added:
                for other, (_, _, _, new) in nexts.items():
                    if new:
                        nexts[other] = self._next(components[other], done[other], names[other], first_new)
        return tuple(texts), tuple(literals), names

    def _next(
        self, component: CanonicalComponent, done: int, names: tuple[int, ...], first_new: int
    ) -> _NextLiteral:
        """The next literal of a component whose free variables have these names so far."""
        key = (component.number, done, names, first_new)
        entry = self._next_literals.get(key)
        if entry is None:
            added = component.fresh[done] - len(names)
            known = (*names, *range(first_new, first_new + added))
            renamed = {self.arity + number: name for number, name in enumerate(known)}
            literal = rename(component.literals[done], renamed)
            entry = self._next_literals[key] = str(literal), literal, known, added
        return entry


def _first_in_order(nexts: dict[int, _NextLiteral]) -> tuple[str, list[int]]:
    """The smallest text among the next literals, and the positions of the components that have it."""
    smallest = ""
    ties: list[int] = []
    for position, (text, _, _, _) in nexts.items():
        if not ties or text < smallest:
            smallest, ties = text, [position]
        elif text == smallest:
            ties.append(position)
    return smallest, ties
