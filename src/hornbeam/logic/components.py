"""A body cut into components: groups of literals that share no free variable.

Once the head's variables are bound, the components of a body are independent: the body's count is the
product of theirs, and the body holds where each of them holds.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from hornbeam.logic.clauses import Literal, literal_variables

L = TypeVar("L", bound=Literal)


class Component(NamedTuple, Generic[L]):
    """Literals that free variables link to each other, and to no other literal of the body."""

    literals: tuple[L, ...]
    free: frozenset[int]
    new: bool = True
    """False if the caller has marked the component as known, and nothing was added to it since"""


def cut(body: Iterable[L], bound: Container[object]) -> tuple[Component[L], ...]:
    """The components of a body; ``bound`` variables do not link literals.

    >>> from hornbeam.logic.parse import parse_clause
    >>> clause = parse_clause("risk(A) :- friends(A,B), age(A,C), smokes(B).")
    >>> [", ".join(map(str, component.literals)) for component in cut(clause.body, range(1))]
    ['age(A,C)', 'friends(A,B), smokes(B)']
    """
    components: tuple[Component[L], ...] = ()
    for literal in body:
        components = extended(components, (literal,), bound)
    return components


def extended(
    components: tuple[Component[L], ...], addition: tuple[L, ...], bound: Container[object]
) -> tuple[Component[L], ...]:
    """The components of a body after literals that belong to one component are added to it.

    Components that the addition links are merged, and the merged component comes last.
    """
    free = frozenset([v for literal in addition for v in literal_variables(literal) if v not in bound])
    linked = [component for component in components if not free.isdisjoint(component.free)]
    if not linked:
        return (*components, Component(addition, free))
    apart = [component for component in components if free.isdisjoint(component.free)]
    # Literals are joined in this order, and the order decides which joins fit into memory.
    literals = addition
    for component in linked:
        literals = component.literals + literals
        free |= component.free
    return (*apart, Component(literals, free))


def known(components: Iterable[Component[L]]) -> tuple[Component[L], ...]:
    """The components marked as known. Adding literals to a component makes it new again."""
    return tuple([component._replace(new=False) for component in components])


def touched(literals: Sequence[Literal], bound: Container[object]) -> tuple[int, ...]:
    """The bound variables of some literals, in rising order."""
    return tuple(sorted({v for literal in literals for v in literal_variables(literal) if v in bound}))
