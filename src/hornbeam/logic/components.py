"""Bodies as sets of components: parts that share no free variable.

Bind the head's variables, and a body falls into components; its count is the product of theirs. A
search meets some ten times as many bodies as components, because most of what it adds to a body
leaves all components but one as they are. So the canonical form of a body is put together from those
of its components, and what else is known of a component is found out once for all bodies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from hornbeam.logic.clauses import (
    Atom,
    Clause,
    Comparison,
    Literal,
    Not,
    canonical_body,
    format_literal,
    literal_variables,
    rename,
)

MOST_VARIABLES = 26
"""Variables A to Z, whose names are in the order of their numbers; of more the names are not."""

_numbers = count()


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """Literals linked by free variables, in canonical form: those variables follow the head's.

    Two components may be equal in all but their numbers; the same number is the same component.
    """

    literals: tuple[Literal, ...]
    heads: tuple[int, ...]
    """the head variables that it touches, in rising order"""
    free: int
    """how many free variables it has"""
    fresh: tuple[int, ...]
    """how many free variables have come up after each of its literals"""
    plain: bool
    """whether all its literals are atoms"""
    number: int


def component(literals: Sequence[Literal], arity: int) -> Component:
    """The component that some linked literals make under a head of so many variables."""
    body = canonical_body(literals, arity)
    used: set[int] = set()
    fresh: list[int] = []
    for literal in body:
        used.update(literal_variables(literal))
        fresh.append(sum(variable >= arity for variable in used))
    heads = tuple(sorted(variable for variable in used if variable < arity))
    plain = all(isinstance(literal, Atom) for literal in body)
    return Component(body, heads, fresh[-1], tuple(fresh), plain, next(_numbers))


def components_of(clause: Clause) -> tuple[Component, ...]:
    """The components of a clause's body, kept with the clause.

    >>> clause = Clause(Atom("t", (0,)), (Atom("p", (0, 3)), Atom("r", (0,)), Atom("q", (3,))))
    >>> [each.literals for each in components_of(clause)]
    [(Atom(predicate='r', args=(0,)),), (Atom(predicate='p', args=(0, 1)), Atom(predicate='q', args=(1,)))]
    """
    found: tuple[Component, ...] | None = vars(clause).get("components")
    if found is None:
        arity = len(clause.head.args)
        body = dict.fromkeys(clause.body)
        found = tuple(component(literals, arity) for literals, _ in cut(body, set(clause.head.args)))
        vars(clause)["components"] = found
    return found


def cut(body: Iterable[Literal], bound: set[int | str]) -> list[tuple[list[Literal], tuple[int, ...]]]:
    """The body cut into parts that share no unbound variable, each with the bound ones it touches."""
    parts: list[tuple[set[int], list[Literal]]] = []
    for literal in body:
        free = {variable for variable in literal_variables(literal) if variable not in bound}
        literals = [literal]
        apart = []
        for part in parts:
            if part[0].isdisjoint(free):
                apart.append(part)
            else:
                free |= part[0]
                literals = part[1] + literals
        apart.append((free, literals))
        parts = apart
    return [(literals, _touched(literals, bound)) for _, literals in parts]


def _touched(literals: Iterable[Literal], bound: set[int | str]) -> tuple[int, ...]:
    """The bound variables of some literals, in rising order."""
    return tuple(sorted({v for literal in literals for v in literal_variables(literal) if v in bound}))


# --- bodies put together -----------------------------------------------------------------------


_Named = tuple[str, Literal, tuple[int, ...], int]
"""A component's next literal: its text, itself, the component's variables by then, how many are new."""


_Woven = tuple[tuple[str, ...], tuple[Literal, ...], list[tuple[int, ...]]]
"""Texts and literals of a body in order, and the names of the free variables of each component."""


class Bodies:
    """Canonical clauses under one head, put together from components that are made once."""

    def __init__(self, head: Atom) -> None:
        self.head = head
        self.arity = len(head.args)
        self._known: dict[tuple[Literal, ...], Component] = {}
        self._grown: dict[object, Component] = {}
        self._clauses: dict[tuple[int, ...], Clause] = {}
        self._named: dict[tuple[int, int, tuple[int, ...], int], _Named] = {}

    def owners(self, clause: Clause) -> dict[int, tuple[int, int]] | None:
        """For each free variable, the place of its component and the variable's number there.

        None where that is not known: for bodies that are not canonical or have comparisons.
        """
        if any(isinstance(literal, Comparison) for literal in clause.body):
            return None
        parts = tuple(self._interned(each) for each in components_of(clause))
        if self.arity + sum(part.free for part in parts) > MOST_VARIABLES:
            return None
        _, literals, names = self._woven(parts, [0] * len(parts), [()] * len(parts), self.arity)
        if literals != clause.body:
            return None
        vars(clause)["components"] = parts
        return {
            name: (place, self.arity + number)
            for place, known in enumerate(names)
            for number, name in enumerate(known)
        }

    def extended(
        self, clause: Clause, owners: dict[int, tuple[int, int]], literal: Atom | Not, first_new: int
    ) -> Clause:
        """The canonical clause with one literal more, whose new variables count from ``first_new``."""
        arity = self.arity
        atom = literal if isinstance(literal, Atom) else literal.atom
        touched: list[int] = []
        for term in atom.args:
            if isinstance(term, int) and arity <= term < first_new:
                place = owners[term][0]
                if place not in touched:
                    touched.append(place)
        parts: tuple[Component, ...] = vars(clause)["components"]
        starts = {}
        next_free = 0
        for place in touched:
            starts[place] = next_free
            next_free += parts[place].free
        args: list[int | str] = []
        for term in atom.args:
            if isinstance(term, str) or term < arity:
                args.append(term)
            elif term < first_new:
                place, number = owners[term]
                args.append(starts[place] + number)
            else:
                args.append(term - first_new + arity + next_free)
        numbers = tuple([parts[place].number for place in touched])
        key = (literal is atom, atom.predicate, tuple(args), numbers)
        grown = self._grown.get(key)
        if grown is None:
            added = Atom(atom.predicate, tuple(args))
            linked = self._side_by_side([parts[place] for place in touched])
            linked.append(added if literal is atom else Not(added))
            grown = self._grown[key] = self._interned(component(linked, arity))
        rest = [part for place, part in enumerate(parts) if place not in touched] if touched else parts
        return self._clause((*rest, grown))

    def _side_by_side(self, parts: Iterable[Component]) -> list[Literal]:
        """The literals of some components, the free variables of each after those before it."""
        literals: list[Literal] = []
        before = 0
        for part in parts:
            shift = {self.arity + number: self.arity + before + number for number in range(part.free)}
            literals += [rename(literal, shift) for literal in part.literals]
            before += part.free
        return literals

    def _interned(self, part: Component) -> Component:
        return self._known.setdefault(part.literals, part)

    def _clause(self, parts: tuple[Component, ...]) -> Clause:
        key = tuple(sorted([part.number for part in parts]))
        found = self._clauses.get(key)
        if found is None:
            found = self._clauses[key] = self._put_together(parts)
        return found

    def _put_together(self, parts: tuple[Component, ...]) -> Clause:
        arity = self.arity
        if arity + sum(part.free for part in parts) > MOST_VARIABLES:
            return Clause(self.head, canonical_body(self._side_by_side(parts), arity))
        _, literals, _ = self._woven(parts, [0] * len(parts), [()] * len(parts), arity)
        clause = Clause(self.head, literals)
        vars(clause)["components"] = parts
        return clause

    def _woven(
        self, parts: tuple[Component, ...], done: list[int], names: list[tuple[int, ...]], first_new: int
    ) -> _Woven:
        """What is not done yet of each component, in the smallest order.

        Each component keeps its own order. It is the smallest for some names of the free variables
        and so for all: whatever they are called, one that comes up later has the larger name.
        """
        texts: list[str] = []
        literals: list[Literal] = []
        nexts = {
            place: self._next(part, done[place], names[place], first_new)
            for place, part in enumerate(parts)
            if done[place] < len(part.literals)
        }
        while nexts:
            text = ""
            ties: list[int] = []
            for at, found in nexts.items():
                if not ties or found[0] < text:
                    text, ties = found[0], [at]
                elif found[0] == text:
                    ties.append(at)
            if len(ties) > 1:
                # Of one component twice, both not begun, either may come first.
                kinds = {(parts[at].number, done[at], names[at]): at for at in ties}
                if len(kinds) > 1:
                    tails = []
                    for at in kinds.values():
                        _, literal, known, added = nexts[at]
                        begun, called = done.copy(), names.copy()
                        begun[at] += 1
                        called[at] = known
                        rest, last, called = self._woven(parts, begun, called, first_new + added)
                        tails.append((rest, (literal, *last), called))
                    rest, last, names = min(tails, key=lambda tail: tail[0])
                    return (*texts, text, *rest), (*literals, *last), names
            place = ties[0]
            _, literal, known, added = nexts[place]
            texts.append(text)
            literals.append(literal)
            names[place] = known
            done[place] += 1
            first_new += added
            if done[place] == len(parts[place].literals):
                del nexts[place]
            else:
                nexts[place] = self._next(parts[place], done[place], known, first_new)
            if added:
                for other, found in nexts.items():
                    if found[3]:
                        nexts[other] = self._next(parts[other], done[other], names[other], first_new)
        return tuple(texts), tuple(literals), names

    def _next(self, part: Component, done: int, names: tuple[int, ...], first_new: int) -> _Named:
        """The next literal of a component whose free variables so far have these names."""
        key = (part.number, done, names, first_new)
        found = self._named.get(key)
        if found is None:
            added = part.fresh[done] - len(names)
            known = (*names, *range(first_new, first_new + added))
            called = {self.arity + number: name for number, name in enumerate(known)}
            literal = rename(part.literals[done], called)
            found = self._named[key] = format_literal(literal), literal, known, added
        return found
