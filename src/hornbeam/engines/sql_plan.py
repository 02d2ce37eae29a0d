"""How a clause is counted in SQL: as products of messages, each a ``GROUP BY`` over one relation.

Bind the head's variables, and the body falls into components that share no free variable; the
count is the product of theirs. A component becomes a *message*: a table from values of the
variables where it is attached (its anchors) to a number; no row means 0. A message joins one
relation, its root, with the messages of what hangs on the root's variables, and sums out the
rest. A component whose anchors meet in no literal is counted only for values that occur: its
*guard* lists them. Negation is gone before: ``t(body, not l) = N_new*t(body) - t(body, l)``.

Equal components give equal messages, whatever the clause. Messages of one *shape* differ only in
constants and children, so that one pass over the root computes many of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from hornbeam.clauses import Atom, Clause, Not, atom_of, canonical_body, literal_variables, rename_atom
from hornbeam.schema import Schema


class Bindings(NamedTuple):
    """The distinct keys of the examples at these head variables."""

    head: tuple[int, ...]


class Projection(NamedTuple):
    """The distinct values that a shape's own join has at these of its variables."""

    of: Shape
    at: tuple[int, ...]


Guard = Bindings | Projection


class Shape(NamedTuple):
    """What messages share: number of anchors, guard, and the root with its constants left open.

    Variables are numbered: anchors first, then the root's other variables by first use. An
    argument that is a constant is None.
    """

    anchors: int
    guard: Guard | None
    predicate: str
    args: tuple[int | None, ...]


class Message(NamedTuple):
    """From values of the anchors to a number: the sum, over the root's facts, of the children's products."""

    shape: Shape
    constants: tuple[str, ...]
    children: tuple[Attached, ...]

    @property
    def is_relation(self) -> bool:
        """Whether the message is just the root's facts, each with the number 1."""
        shape = self.shape
        return (
            not self.constants
            and not self.children
            and shape.guard is None
            and set(shape.args) == set(range(shape.anchors))
        )


class Attached(NamedTuple):
    """A message at the variables that give its keys, in the order of its anchors."""

    message: Message
    at: tuple[int, ...]


class Term(NamedTuple):
    """An integer times the sizes of populations, by type, times a product of messages."""

    coefficient: int
    populations: tuple[str, ...]
    factors: tuple[Attached, ...]


class Formula(NamedTuple):
    """The true count of a clause as a sum of terms, over the head variables that it uses."""

    terms: tuple[Term, ...]
    head: tuple[int, ...]


def formula(clause: Clause, schema: Schema) -> Formula:
    """The plan of a clause.

    >>> from hornbeam.syntax import parse_clause
    >>> schema = Schema({"risk": ("p",), "friends": ("p", "p"), "smokes": ("p",)})
    >>> clause = parse_clause("risk(A) :- friends(A,B), not smokes(C).")
    >>> [(term.coefficient, term.populations, len(term.factors)) for term in formula(clause, schema).terms]
    [(1, ('p',), 1), (-1, (), 2)]
    """
    types = schema.variable_types(clause)
    free = clause.free_variables()
    arity = len(clause.head.args)
    positive = [literal for literal in clause.body if isinstance(literal, Atom)]
    negated = [atom_of(literal) for literal in clause.body if isinstance(literal, Not)]
    found: dict[tuple[tuple[str, ...], tuple[Attached, ...]], int] = {}
    for number in range(len(negated) + 1):
        for chosen in combinations(negated, number):
            body = tuple(dict.fromkeys((*positive, *chosen)))
            used = {variable for atom in body for variable in literal_variables(atom)}
            populations = tuple(sorted(types[variable] for variable in free if variable not in used))
            product = (populations, tuple(_factors(body, range(arity))))
            found[product] = found.get(product, 0) + (-1) ** number
    terms = tuple(Term(coefficient, *product) for product, coefficient in found.items() if coefficient)
    head = sorted({variable for term in terms for factor in term.factors for variable in factor.at})
    return Formula(terms, tuple(head))


def body_of(message: Message) -> tuple[Atom, ...]:
    """The atoms that a message counts, its anchors numbered first, for a reader.

    >>> from hornbeam.syntax import parse_clause
    >>> schema = Schema({"risk": ("p",), "friends": ("p", "p"), "smokes": ("p",)})
    >>> plan = formula(parse_clause("risk(A) :- friends(B,A), smokes(B)."), schema)
    >>> body_of(plan.terms[0].factors[0].message)
    (Atom(predicate='friends', args=(1, 0)), Atom(predicate='smokes', args=(1,)))
    """
    atoms: list[Atom] = []
    _add_atoms(message, dict(enumerate(range(message.shape.anchors))), atoms)
    return tuple(dict.fromkeys(atoms))


def _add_atoms(message: Message, names: dict[int, int], atoms: list[Atom]) -> None:
    used = {term for atom in atoms for term in atom.args if isinstance(term, int)} | set(names.values())
    fresh = iter(range(max(used, default=-1) + 1, 1000))
    constants = iter(message.constants)
    args = tuple(
        next(constants) if arg is None else names[arg] if arg in names else names.setdefault(arg, next(fresh))
        for arg in message.shape.args
    )
    atoms.append(Atom(message.shape.predicate, args))
    for child in message.children:
        _add_atoms(
            child.message, {number: names[variable] for number, variable in enumerate(child.at)}, atoms
        )


def _factors(body: Sequence[Atom], head: Iterable[int]) -> Iterator[Attached]:
    """The messages of a body whose head variables are bound."""
    found = []
    for component, at in _components(body, set(head)):
        guard = None if _meet(component, at) else Bindings(at)
        found.append(Attached(_message(component, at, guard), at))
    return iter(sorted(found, key=repr))


def _components(atoms: Sequence[Atom], bound: set[int]) -> list[tuple[tuple[Atom, ...], tuple[int, ...]]]:
    """Atoms linked by variables that are not bound, and the bound variables that each group touches."""
    groups: list[tuple[set[int], list[Atom]]] = []
    for atom in atoms:
        links = set(literal_variables(atom)) - bound
        joined = [group for group in groups if group[0] & links]
        groups = [group for group in groups if not group[0] & links]
        members = [member for _, group in joined for member in group]
        groups.append((links.union(*(variables for variables, _ in joined)), [*members, atom]))
    return [
        (tuple(members), tuple(sorted({v for a in members for v in literal_variables(a)} & bound)))
        for _, members in groups
    ]


def _meet(atoms: Sequence[Atom], at: Sequence[int]) -> bool:
    """Whether one atom has all these variables."""
    return any(set(at) <= set(atom.args) for atom in atoms)


def _message(atoms: Sequence[Atom], at: tuple[int, ...], guard: Guard | None) -> Message:
    """The message of a component at its bound variables; a guard is given where no atom has them all."""
    anchors = len(at)
    names = {variable: number for number, variable in enumerate(at)}
    # Other variables keep out of the way of the anchors' new numbers.
    for atom in atoms:
        for variable in literal_variables(atom):
            names.setdefault(variable, len(names))
    body = canonical_body([rename_atom(atom, names) for atom in atoms], anchors)
    return _planned(tuple(atom for atom in body if isinstance(atom, Atom)), anchors, guard)


@lru_cache(maxsize=65536)
def _planned(component: tuple[Atom, ...], anchors: int, guard: Guard | None) -> Message:
    wanted = set(range(anchors))
    if guard is None:
        roots = [atom for atom in component if wanted <= set(atom.args)]
    else:
        roots = [atom for atom in component if wanted & set(atom.args)]
    return min((_rooted(component, root, anchors, guard) for root in roots), key=_difficulty)


def _rooted(component: Sequence[Atom], root: Atom, anchors: int, guard: Guard | None) -> Message:
    names = {number: number for number in range(anchors)}
    for variable in literal_variables(root):
        names.setdefault(variable, len(names))
    bound = set(range(len(names)))
    for atom in component:
        for variable in literal_variables(atom):
            names.setdefault(variable, len(names))
    args = tuple(names[term] if isinstance(term, int) else None for term in root.args)
    constants = tuple(term for term in root.args if isinstance(term, str))
    shape = Shape(anchors, guard, root.predicate, args)
    rest = [rename_atom(atom, names) for atom in component if atom != root]
    children = [
        Attached(_message(part, at, None if _meet(part, at) else Projection(shape, at)), at)
        for part, at in _components(rest, bound)
    ]
    return Message(shape, constants, tuple(sorted(children, key=repr)))


def _difficulty(message: Message) -> tuple[int, int]:
    """How many guards, then how many messages above one another."""
    guards = int(message.shape.guard is not None)
    depth = 0
    for child in message.children:
        more, deeper = _difficulty(child.message)
        guards, depth = guards + more, max(depth, deeper)
    return guards, depth + 1
