"""The count of a clause as a sum of products of counts of bodies.

The count of a body is the product of the counts of its components. A negated literal that has a variable of
its own is taken out by ``t(body, not l) = N * t(body) - t(body, l)``, where N is the number of values that
its own variables have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from hornbeam.logic.clauses import (
    Atom,
    Clause,
    Comparison,
    Literal,
    Not,
    Value,
    cut,
    literal_variables,
)
from hornbeam.logic.effects import Body
from hornbeam.logic.schema import Schema


class SignedProduct(NamedTuple):
    """A sign times the numbers of values of some variables times the counts of some bodies."""

    sign: int
    variables: tuple[tuple[str, tuple[tuple[str, Value], ...]], ...]
    """for each variable that has no atom its type, and the comparisons that its values meet"""
    bodies: tuple[Body, ...]


def signed_products(clause: Clause, schema: Schema) -> list[SignedProduct]:
    """The count of a clause as a sum.

    >>> from hornbeam.logic.parse import parse_clause
    >>> schema = Schema({"risk": ("p",), "friends": ("p", "p"), "smokes": ("p",)})
    >>> for each in signed_products(parse_clause("risk(A) :- friends(A,B), not smokes(C)."), schema):
    ...     print(each.sign, [name for name, _ in each.variables], *(str(len(body)) for body in each.bodies))
    1 ['p'] 1
    -1 [] 1 1
    """
    heads = range(len(clause.head.args))
    types = schema.variable_types(clause)
    literals = list(dict.fromkeys(clause.body))
    atoms = [each for each in literals if isinstance(each, Atom)]
    bound = {*heads, *_variables(atoms)}
    compared = [each for each in literals if isinstance(each, Comparison)]
    tests: list[Not] = []
    taken_out: list[Not] = []
    for each in literals:
        if isinstance(each, Not):
            (tests if bound.issuperset(literal_variables(each)) else taken_out).append(each)
    products = []
    for number in range(len(taken_out) + 1):
        for chosen in combinations(taken_out, number):
            own = list(dict.fromkeys([*atoms, *(each.atom for each in chosen)]))
            listed = {*heads, *_variables(own)}
            alone = [variable for variable in clause.free_variables() if variable not in listed]
            variables = tuple(
                (types[each], tuple((c.operator, c.value) for c in compared if c.variable == each))
                for each in alone
            )
            steps: list[Literal] = [*own, *(each for each in compared if each.variable in listed), *tests]
            bodies = tuple(_ordered(part.literals, heads) for part in cut(steps, set(heads)))
            products.append(SignedProduct((-1) ** number, variables, bodies))
    return products


def _variables(literals: Sequence[Literal]) -> set[int]:
    return {variable for literal in literals for variable in literal_variables(literal)}


def _ordered(literals: Sequence[Literal], heads: Iterable[int]) -> Body:
    """The literals of a component as steps: an atom after one that leads to it, a test as early as it can."""
    bound, left, steps = set(heads), list(literals), []
    while left:
        tests = [
            each for each in left if not isinstance(each, Atom) and bound.issuperset(literal_variables(each))
        ]
        atoms = [each for each in left if isinstance(each, Atom)]
        linked = [each for each in atoms if bound & set(literal_variables(each))]
        step = (tests or linked or atoms)[0]
        left.remove(step)
        steps.append(step)
        bound.update(literal_variables(step))
    return tuple(steps)
