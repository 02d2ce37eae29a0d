"""The SQL plan of a clause: products of messages, each a ``GROUP BY`` over one relation.

With the head variables bound, a body separates into components that share no free variable; its
count is the product of their counts. A component becomes a *message*: a table that maps values of
the variables where it is attached (its *anchors*) to a number; a missing row means 0. A message
joins one relation, its *root*, with the messages attached to the root's variables, its *children*,
and sums out all variables but the anchors. Comparisons of the root's variables are conditions on
its rows. If no atom has all anchors of a component, the component is counted only for values that
occur: its *guard* lists them. A cycle may have several roots. Negated literals are eliminated first
by ``t(body, not l) = N_new*t(body) - t(body, l)``.

If the examples have cut-offs, the cut-off is one more head variable, the last, and one more argument
of each atom whose facts have times. Facts do not list cut-offs as they list the values of their
other arguments, so a component with such an atom always has a guard.

Equal components of different clauses give equal messages. Messages of one *shape* differ only in
constants, comparisons and children, so that one pass over the root computes many of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from hornbeam.logic.canonical import canonical_body
from hornbeam.logic.clauses import (
    Atom,
    Clause,
    Comparison,
    Literal,
    Not,
    Value,
    cut,
    literal_variables,
    rename,
    rename_atom,
    touched,
)
from hornbeam.logic.schema import Schema


class HeadBindings(NamedTuple):
    """A guard: the distinct keys of the examples at these head variables."""

    head: tuple[int, ...]


class Projection(NamedTuple):
    """A guard: the distinct values of these variables in the join of a shape."""

    of: Shape
    at: tuple[int, ...]


Guard = HeadBindings | Projection


class Root(NamedTuple):
    """An atom over the variables of a shape; None stands for an argument that is a constant."""

    predicate: str
    args: tuple[int | None, ...]
    cutoff: int | None = None
    """the variable that the facts' times are compared with"""


class Shape(NamedTuple):
    """The common structure of messages: number of anchors, guard, and the roots without their constants.

    Variables are numbered: anchors first, then the roots' other variables by first use. Only a cycle
    has more than one root: there, nothing can be summed out before the next atom is joined.
    """

    anchors: int
    guard: Guard | None
    roots: tuple[Root, ...]

    @property
    def sums_out(self) -> bool:
        """Whether a root has a variable that is not an anchor."""
        return any(arg is not None and arg >= self.anchors for root in self.roots for arg in root.args)


class SqlMessage(NamedTuple):
    """A number for values of the anchors: the sum over the roots' join of the product of the children."""

    shape: Shape
    constants: tuple[str, ...]
    children: tuple[Attached, ...]
    comparisons: tuple[Comparison, ...] = ()
    """comparisons of the roots' variables that are not anchors"""

    @property
    def is_relation(self) -> bool:
        """Whether the message is the relation of its root, with the number 1 for each fact."""
        shape = self.shape
        return (
            not self.constants
            and not self.children
            and not self.comparisons
            and shape.guard is None
            and len(shape.roots) == 1
            and set(shape.roots[0].args) == set(range(shape.anchors))
        )


class Attached(NamedTuple):
    """A message and the variables whose values are its keys, in the order of its anchors."""

    message: SqlMessage
    at: tuple[int, ...]


class ComparisonRange(NamedTuple):
    """The constants of a type that satisfy all comparisons, each an operator and a value."""

    type: str
    comparisons: tuple[tuple[str, Value], ...] = ()


class Condition(NamedTuple):
    """1 if a head variable of this type satisfies a comparison, else 0."""

    type: str
    comparison: Comparison


class SqlTerm(NamedTuple):
    """The product of an integer, sizes of ranges of constants, conditions, and messages."""

    coefficient: int
    populations: tuple[ComparisonRange, ...]
    conditions: tuple[Condition, ...]
    factors: tuple[Attached, ...]


class Formula(NamedTuple):
    """The true count of a clause as a sum of terms, and the head variables that it depends on."""

    terms: tuple[SqlTerm, ...]
    head: tuple[int, ...]


_TIMED = "\0"
"""Suffix of predicates whose last argument is a cut-off; no predicate of the user has it."""


def formula(clause: Clause, schema: Schema, timed: Collection[str] = ()) -> Formula:
    """Plan a clause. ``timed`` has the predicates whose facts have times, if the examples have cut-offs.

    >>> from hornbeam.logic.parse import parse_clause
    >>> schema = Schema({"risk": ("p",), "friends": ("p", "p"), "smokes": ("p",)})
    >>> clause = parse_clause("risk(A) :- friends(A,B), not smokes(C).")
    >>> [(t.coefficient, len(t.populations), len(t.factors)) for t in formula(clause, schema).terms]
    [(1, 1, 1), (-1, 0, 2)]
    """
    types = schema.variable_types(clause)
    free = clause.free_variables()
    arity = len(clause.head.args)
    body_of_clause: Sequence[Literal] = clause.body
    if timed:
        names = {variable: variable + (variable >= arity) for variable in types}
        types = {names[v]: name for v, name in types.items()}
        free = tuple(names[v] for v in free)
        body_of_clause = [_with_cutoff(rename(literal, names), timed, arity) for literal in clause.body]
    positive = [literal for literal in body_of_clause if isinstance(literal, Atom)]
    negated = [literal.atom for literal in body_of_clause if isinstance(literal, Not)]
    comparisons = tuple(
        dict.fromkeys(literal for literal in body_of_clause if isinstance(literal, Comparison))
    )
    of_head = [comparison for comparison in comparisons if comparison.variable < arity]
    conditions = tuple(sorted((Condition(types[c.variable], c) for c in of_head), key=repr))
    coefficients: dict[tuple[tuple[ComparisonRange, ...], tuple[Attached, ...]], int] = {}
    for number in range(len(negated) + 1):
        for chosen in combinations(negated, number):
            body = tuple(dict.fromkeys((*positive, *chosen)))
            used = {variable for atom in body for variable in literal_variables(atom)}
            unused = [variable for variable in free if variable not in used]
            populations = tuple(sorted((_range(v, types[v], comparisons) for v in unused), key=repr))
            product = (populations, tuple(_factors(body, comparisons, range(arity + bool(timed)))))
            coefficients[product] = coefficients.get(product, 0) + (-1) ** number
    terms = tuple(
        SqlTerm(coefficient, populations, conditions, factors)
        for (populations, factors), coefficient in coefficients.items()
        if coefficient
    )
    head = {variable for term in terms for factor in term.factors for variable in factor.at}
    head |= {comparison.variable for comparison in of_head}
    return Formula(terms, tuple(sorted(head)))


def _with_cutoff(literal: Literal, timed: Collection[str], cutoff: int) -> Literal:
    if isinstance(literal, Not):
        atom = _with_cutoff(literal.atom, timed, cutoff)
        assert isinstance(atom, Atom)
        return Not(atom)
    if isinstance(literal, Atom) and literal.predicate in timed:
        return Atom(literal.predicate + _TIMED, (*literal.args, cutoff))
    return literal


def _bound_by(atom: Atom) -> set[int]:
    """The variables of an atom that its facts have values for: all but a cut-off."""
    args = atom.args[:-1] if atom.predicate.endswith(_TIMED) else atom.args
    return {arg for arg in args if isinstance(arg, int)}


def _linked(atoms: Sequence[Atom], variables: set[int]) -> list[Atom]:
    """The atoms with one of these variables; atoms that share only a cut-off count if there are no others."""
    listed = [atom for atom in atoms if variables & _bound_by(atom)]
    return listed or [atom for atom in atoms if variables & set(atom.args)]


def _root(atom: Atom, names: Mapping[int, int]) -> Root:
    args = tuple(names[term] if isinstance(term, int) else None for term in atom.args)
    if atom.predicate.endswith(_TIMED):
        return Root(atom.predicate.removesuffix(_TIMED), args[:-1], args[-1])
    return Root(atom.predicate, args)


def _range(variable: int, type_name: str, comparisons: Sequence[Comparison]) -> ComparisonRange:
    own = sorted(((c.operator, c.value) for c in comparisons if c.variable == variable), key=repr)
    return ComparisonRange(type_name, tuple(own))


def body_of(message: SqlMessage) -> tuple[Literal, ...]:
    """The literals that a message counts, for display; its anchors have the first numbers.

    >>> from hornbeam.logic.parse import parse_clause
    >>> schema = Schema({"risk": ("p",), "friends": ("p", "p"), "smokes": ("p",)})
    >>> plan = formula(parse_clause("risk(A) :- friends(B,A), smokes(B)."), schema)
    >>> body_of(plan.terms[0].factors[0].message)
    (Atom(predicate='friends', args=(1, 0)), Atom(predicate='smokes', args=(1,)))
    """
    body: list[Literal] = []
    _add_literals(message, dict(enumerate(range(message.shape.anchors))), body)
    return tuple(dict.fromkeys(body))


def _add_literals(message: SqlMessage, names: dict[int, int], body: list[Literal]) -> None:
    used = {variable for literal in body for variable in literal_variables(literal)} | set(names.values())
    fresh = iter(range(max(used, default=-1) + 1, 1000))
    constants = iter(message.constants)
    for predicate, args, _ in message.shape.roots:
        for arg in args:
            if arg is not None and arg not in names:
                names[arg] = next(fresh)
        body.append(Atom(predicate, tuple(next(constants) if arg is None else names[arg] for arg in args)))
    body += [rename(comparison, names) for comparison in message.comparisons]
    for child in message.children:
        _add_literals(
            child.message, {number: names[variable] for number, variable in enumerate(child.at)}, body
        )


def _factors(
    body: Sequence[Atom], comparisons: Sequence[Comparison], head: Iterable[int]
) -> Iterator[Attached]:
    """The messages of a body with bound head variables, without comparisons of head variables."""
    factors = []
    bound = set(head)
    for component in cut(body, bound):
        atoms, at = component.literals, touched(component.literals, bound)
        guard = None if _meet(atoms, at) else HeadBindings(at)
        factors.append(Attached(_message(atoms, comparisons, at, guard), at))
    return iter(sorted(factors, key=repr))


def _meet(atoms: Sequence[Atom], at: Sequence[int]) -> bool:
    """Whether one atom has all these variables as arguments of its facts."""
    return any(set(at) <= _bound_by(atom) for atom in atoms)


def _message(
    atoms: Sequence[Atom], comparisons: Sequence[Comparison], at: tuple[int, ...], guard: Guard | None
) -> SqlMessage:
    """The message of a component at its bound variables; it needs a guard if no atom has all of them.

    Comparisons of the component's other variables become part of the message.
    """
    anchors = len(at)
    names = {variable: number for number, variable in enumerate(at)}
    # The other variables get numbers that differ from the new numbers of the anchors.
    for atom in atoms:
        for variable in literal_variables(atom):
            names.setdefault(variable, len(names))
    own = [comparison for comparison in comparisons if names.get(comparison.variable, -1) >= anchors]
    literals: list[Literal] = [*atoms, *own]
    body = canonical_body([rename(literal, names) for literal in literals], anchors)
    return _planned(body, anchors, guard)


@lru_cache(maxsize=65536)
def _planned(body: tuple[Literal, ...], anchors: int, guard: Guard | None) -> SqlMessage:
    component = [literal for literal in body if isinstance(literal, Atom)]
    comparisons = [literal for literal in body if isinstance(literal, Comparison)]
    wanted = set(range(anchors))
    if guard is None:
        roots = [atom for atom in component if wanted <= _bound_by(atom)]
    else:
        roots = _linked(component, wanted)
    return min((_rooted(component, comparisons, (root,), anchors, guard) for root in roots), key=_difficulty)


def _rooted(
    component: Sequence[Atom],
    comparisons: Sequence[Comparison],
    roots: tuple[Atom, ...],
    anchors: int,
    guard: Guard | None,
) -> SqlMessage:
    names = {number: number for number in range(anchors)}
    for root in roots:
        for variable in literal_variables(root):
            names.setdefault(variable, len(names))
    bound = set(range(len(names)))
    for atom in component:
        for variable in literal_variables(atom):
            names.setdefault(variable, len(names))
    rest = {rename_atom(atom, names): atom for atom in component if atom not in roots}
    parts = [(part.literals, touched(part.literals, bound)) for part in cut(rest, bound)]
    for part, at in parts:
        if len(at) == len(bound) and not _meet(part, at):
            # A guard would list every row of this join, so one more atom is joined as a root instead.
            links = [rest[atom] for atom in _linked(part, bound)]
            more = (_rooted(component, comparisons, (*roots, link), anchors, guard) for link in links)
            return min(more, key=_difficulty)
    shape = Shape(anchors, guard, tuple(_root(root, names) for root in roots))
    constants = tuple(term for root in roots for term in root.args if isinstance(term, str))
    compared = [c._replace(variable=names[c.variable]) for c in comparisons]
    children = [
        Attached(_message(part, compared, at, None if _meet(part, at) else Projection(shape, at)), at)
        for part, at in parts
    ]
    here = sorted((comparison for comparison in compared if comparison.variable in bound), key=repr)
    return SqlMessage(shape, constants, tuple(sorted(children, key=repr)), tuple(here))


def _difficulty(message: SqlMessage) -> tuple[int, int]:
    """The cost of a plan for comparison: the number of guards, then the depth of nested messages."""
    guards = int(message.shape.guard is not None)
    depth = 0
    for child in message.children:
        more, deeper = _difficulty(child.message)
        guards, depth = guards + more, max(depth, deeper)
    return guards, depth + 1


def needed(formulas: Iterable[Formula]) -> Iterator[SqlMessage]:
    """Every message that formulas use, once each, children before parents."""
    seen: set[SqlMessage] = set()
    for formula in formulas:
        for term in formula.terms:
            for factor in term.factors:
                yield from _walk(factor.message, seen)


def _walk(message: SqlMessage, seen: set[SqlMessage]) -> Iterator[SqlMessage]:
    if message not in seen:
        seen.add(message)
        for child in message.children:
            yield from _walk(child.message, seen)
        yield message
