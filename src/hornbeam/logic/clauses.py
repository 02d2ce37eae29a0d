"""Clauses as immutable, hashable trees; ``str`` of each gives its text, which reads back as the same clause.

A *term* is a variable or a constant. A variable is its number (an ``int``): the head's variables
are 0, 1, ..., and the free variables follow. A constant is its name (a ``str``). Names of variables
exist in text only: the first functions write them.

A literal is an atom, a negated atom, or a comparison of a variable with a number or a date.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

# A full stop at the end of a word would end the clause, so a bare word may have one only inside it.
_BARE_CONSTANT = re.compile(r"[a-z0-9](?:[A-Za-z0-9_+-]|\.(?=[A-Za-z0-9_+-]))*")
_BARE_NAME = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED = frozenset(["not", "true"])
"""The words for negation and for the empty body."""

POPULATION, GUARDED = "population", "guarded"
FALSE_COUNTS = (POPULATION, GUARDED)
"""How false groundings are counted: over all combinations of constants, or only where the guard holds."""


@lru_cache(maxsize=4096)
def variable_name(number: int) -> str:
    """A, B, ..., Z, A1, B1, ...

    >>> variable_name(0), variable_name(25), variable_name(26)
    ('A', 'Z', 'A1')
    """
    letter = chr(ord("A") + number % 26)
    return letter if number < 26 else f"{letter}{number // 26}"


@lru_cache(maxsize=65536)
def format_constant(name: str) -> str:
    """A constant in clause text: bare if that reads back as the same constant, quoted otherwise.

    >>> format_constant("bob"), format_constant("Bob"), format_constant("it's")
    ('bob', "'Bob'", "'it\\\\'s'")
    """
    return name if _BARE_CONSTANT.fullmatch(name) else _quoted(name)


@lru_cache(maxsize=4096)
def format_name(name: str) -> str:
    """The name of a predicate or type in clause text: quoted unless it is a plain word.

    >>> format_name("friends"), format_name("has space"), format_name("not")
    ('friends', "'has space'", "'not'")
    """
    return name if name not in _RESERVED and _BARE_NAME.fullmatch(name) else _quoted(name)


def format_value(value: float | datetime) -> str:
    """The shortest text that reads back as exactly the same value; midnight is written as a date.

    >>> [format_value(value) for value in (35.0, -0.1, 1e300, 2.0**53)]
    ['35', '-0.1', '1e+300', '9007199254740992']
    >>> format_value(datetime(1998, 3, 1)), format_value(datetime(1998, 3, 1, 12, 30))
    ('1998-03-01', '1998-03-01T12:30:00')
    """
    if isinstance(value, datetime):
        at_midnight = (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0)
        return value.date().isoformat() if at_midnight else value.isoformat()
    return str(int(value)) if value == int(value) and abs(value) < 1e16 else repr(float(value))


def format_threshold(value: float | datetime) -> str:
    """A value in a comparison; a time of day is quoted because a colon cannot be part of a word.

    >>> format_threshold(35.0), format_threshold(datetime(1998, 3, 1, 12, 30))
    ('35', "'1998-03-01T12:30:00'")
    """
    text = format_value(value)
    return _quoted(text) if ":" in text else text


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    escaped = escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f"'{escaped}'"


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
