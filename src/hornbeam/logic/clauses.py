"""Clauses as immutable, hashable trees; ``str`` of each gives its text.

A *term* is a variable or a constant. A variable is its number (an ``int``): the head's variables
are 0, 1, ..., and the free variables follow. A constant is its name (a ``str``). Names of variables
exist in text only: ``text`` writes them, ``parse`` reads them.

A literal is an atom, a negated atom, or a comparison of a variable with a number or a date.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from hornbeam.logic.text import format_constant, format_name, format_threshold, variable_name

Term = int | str
Value = float | datetime
"""The value of a constant of a numeric type: a finite number, or a point in time without a time zone."""


class Atom(NamedTuple):
    """A predicate applied to terms: ``friends(A,B)`` is ``Atom("friends", (0, 1))``."""

    predicate: str
    args: tuple[Term, ...]

    def __str__(self) -> str:
        args = [variable_name(term) if isinstance(term, int) else format_constant(term) for term in self.args]
        return f"{format_name(self.predicate)}({','.join(args)})"


class Not(NamedTuple):
    """A negated atom: true where the atom is not a fact."""

    atom: Atom

    def __str__(self) -> str:
        return f"not {self.atom}"


AT_LEAST = ">="
BELOW = "<"


class Comparison(NamedTuple):
    """A variable's value against a threshold: ``B >= 35`` is ``Comparison(1, ">=", 35.0)``.

    The operator is ``>=`` or ``<``; each is the negation of the other. The variable has a numeric type.
    """

    variable: int
    operator: str
    value: Value

    def negated(self) -> Comparison:
        return self._replace(operator=BELOW if self.operator == AT_LEAST else AT_LEAST)

    def __str__(self) -> str:
        return f"{variable_name(self.variable)} {self.operator} {format_threshold(self.value)}"


Literal = Atom | Not | Comparison


class _HeadAndBody(NamedTuple):
    head: Atom
    body: tuple[Literal, ...]


class Clause(_HeadAndBody):
    """A head whose arguments are distinct variables, and a body: a conjunction of literals.

    Other modules may cache derived values in ``vars(clause)``; these are not part of its value.
    """

    def __getstate__(self) -> None:
        """Copies and pickles hold the value alone."""

    def free_variables(self) -> tuple[int, ...]:
        """Variables of the body that are not in the head, in order of first use."""
        arity = len(self.head.args)
        return tuple(dict.fromkeys(v for v in variables(self.body) if v >= arity))

    def touches_head(self) -> bool:
        """Whether the body uses a variable of the head; if not, all examples have the same counts."""
        return any(variable in self.head.args for variable in variables(self.body))

    def __str__(self) -> str:
        """Clause text: ``cancer(A) :- friends(A,B), smokes(B).``; an empty body is ``true``."""
        return f"{self.head} :- {', '.join(map(str, self.body)) or 'true'}."


def head_atom(predicate: str, arity: int) -> Atom:
    """The head of every clause for a target: ``head_atom("advisedby", 2)`` is ``advisedby(A,B)``."""
    return Atom(predicate, tuple(range(arity)))


def atom_of(literal: Atom | Not) -> Atom:
    """The atom of a literal, negated or not."""
    return literal if isinstance(literal, Atom) else literal.atom


def atoms_of(body: Iterable[Literal]) -> Iterator[Atom]:
    """The atoms of a body, negated or not, in order; comparisons have none."""
    for literal in body:
        if not isinstance(literal, Comparison):
            yield atom_of(literal)


@lru_cache(maxsize=65536)
def literal_variables(literal: Literal) -> tuple[int, ...]:
    """The distinct variables of a literal in order of first use."""
    if isinstance(literal, Comparison):
        return (literal.variable,)
    return tuple(dict.fromkeys(term for term in atom_of(literal).args if isinstance(term, int)))


def variables(body: Iterable[Literal]) -> Iterator[int]:
    """Every use of a variable in a body, in order, with repetitions."""
    for literal in body:
        terms = (literal.variable,) if isinstance(literal, Comparison) else atom_of(literal).args
        for term in terms:
            if isinstance(term, int):
                yield term


def rename(literal: Literal, names: dict[int, int]) -> Literal:
    """The literal with each variable replaced; variables not in ``names`` stay."""
    if isinstance(literal, Comparison):
        return literal._replace(variable=names.get(literal.variable, literal.variable))
    if isinstance(literal, Not):
        return Not(rename_atom(literal.atom, names))
    return rename_atom(literal, names)


def rename_atom(atom: Atom, names: dict[int, int]) -> Atom:
    return Atom(
        atom.predicate,
        tuple(names.get(term, term) if isinstance(term, int) else term for term in atom.args),
    )


# --- components: groups of literals that share no free variable. Once the head's variables are bound, the
# count of a body is the product of the counts of its components, and it holds where each of them holds.

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
