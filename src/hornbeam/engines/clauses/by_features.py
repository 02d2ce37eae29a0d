"""Counts of clauses in tables that stay in place: sums of products of the feature ``count`` of bodies.

The count of a body is the product of the counts of its components. A negated literal that has a variable of
its own is taken out by ``t(body, not l) = N * t(body) - t(body, l)``, where N is the number of values that
its own variables have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes
from hornbeam.data.numbers import Floats
from hornbeam.engines.clauses.contract import ClauseCounter, Counts
from hornbeam.engines.contract import INT64_MAX, Engine, Skipped
from hornbeam.engines.questions import FeatureRequest
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
from hornbeam.logic.effects import Body, Feature
from hornbeam.logic.features import COUNT
from hornbeam.logic.schema import Schema

AT_ONCE = 16
"""Number of clauses whose counts are asked for together."""
WHOLE = 2**53
"""Whole numbers below this are exact as floats."""


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


class FeatureCounter(ClauseCounter):
    """Counts clauses where the facts are, by the features that an engine answers."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.database, engine.memory, engine.cache)
        self._engine = engine

    def count(self, clauses: Sequence[Clause], keys: Codes) -> list[Counts | Skipped]:
        return [
            counts
            for start in range(0, len(clauses), AT_ONCE)
            for counts in self._counts(clauses[start : start + AT_ONCE], keys)
        ]

    def _counts(self, clauses: Sequence[Clause], keys: Codes) -> Iterator[Counts | Skipped]:
        products = [signed_products(clause, self.database.schema) for clause in clauses]
        requests = dict.fromkeys(
            FeatureRequest(clause.head, body, Feature(COUNT))
            for clause, terms in zip(clauses, products, strict=True)
            for term in terms
            for body in term.bodies
        )
        answers = dict(zip(requests, self._engine.features(list(requests), keys), strict=True))
        for clause, terms in zip(clauses, products, strict=True):
            yield self._count(clause, terms, answers, len(keys))

    def _count(
        self,
        clause: Clause,
        terms: Sequence[SignedProduct],
        answers: dict[FeatureRequest, Floats | Skipped],
        size: int,
    ) -> Counts | Skipped:
        result: npt.NDArray[np.object_] = np.zeros(size, dtype=object)
        most = 0
        for sign, variables, bodies in terms:
            number = sign
            for type_name, comparisons in variables:
                number *= self._values(type_name, comparisons)
            factors = []
            for body in bodies:
                answer = answers[FeatureRequest(clause.head, body, Feature(COUNT))]
                if isinstance(answer, Skipped):
                    return Skipped(clause, answer.reason, answer.estimate, answer.budget)
                if answer.max(initial=0.0) >= WHOLE:
                    return Skipped(clause, "a count of its body exceeds 2**53", int(answer.max()), WHOLE)
                factors.append(answer.astype(np.int64))
            bound = abs(number)
            for factor in factors:
                bound *= int(factor.max(initial=0))
            most += bound
            product: npt.NDArray[Any] = np.full(size, number, dtype=object)
            if bound <= INT64_MAX:
                product = np.full(size, number if bound else 0, dtype=np.int64)
            for factor in factors if bound else []:
                product = product * factor
            result = result + product
        if most > INT64_MAX and int(result.max(initial=0)) > INT64_MAX:
            return Skipped(clause, "its true count exceeds int64", int(result.max()), INT64_MAX)
        return Counts(result.astype(np.int64), self.total(clause))

    def _values(self, type_name: str, comparisons: tuple[tuple[str, Value], ...]) -> int:
        """The number of constants of a type that meet all comparisons."""
        if not comparisons:
            return len(self.database.population(type_name))
        assert self.database.tables is not None
        number: int = self.database.tables.source.population(type_name, comparisons)
        return number
