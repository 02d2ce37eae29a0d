"""Relational aggregates: one number for each example, computed from the facts along a path of literals.

A path is a body of connected literals: the first has a variable of the head, each further one a free variable
of the literals before it. A path gives these aggregates: the count of its groundings; if it has several free
variables, the number of distinct values of each; and for a free variable of a numeric type the mean, least
and greatest value over the groundings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hornbeam.logic.canonical import canonical
from hornbeam.logic.clauses import Clause, literal_variables, variable_name
from hornbeam.logic.refine import Language, additions
from hornbeam.model.clause_model import Floats
from hornbeam.model.explain import about
from hornbeam.rivals.trees.trees import body_text

COUNT, DISTINCT, MEAN, LEAST, GREATEST = "count", "distinct", "mean", "min", "max"
OF_NUMBERS = (MEAN, LEAST, GREATEST)
KINDS = (COUNT, DISTINCT, *OF_NUMBERS)


class Aggregate(NamedTuple):
    """A kind of aggregate, the path whose groundings it is computed from, and, except for counts, a variable.

    >>> from hornbeam.logic.clauses import Atom
    >>> path = Clause(Atom("happy", (0,)), (Atom("rated", (0, 1, 2)),))
    >>> print(Aggregate(COUNT, path), "/", Aggregate(MEAN, path, 2))
    count rated(A,B,C) / mean C of rated(A,B,C)
    """

    kind: str
    path: Clause
    variable: int | None = None

    def __str__(self) -> str:
        of = "" if self.variable is None else f" {variable_name(self.variable)} of"
        return f"{self.kind}{of} {body_text(self.path.body)}"

    def about(self, key: tuple[str, ...]) -> str:
        """The text with an example's names in place of the head's variables."""
        of = "" if self.variable is None else f" {variable_name(self.variable)} of"
        return f"{self.kind}{of} {about(self.path.body, key)}"


@dataclass(frozen=True, slots=True)
class WeightedAggregate:
    """An aggregate, its weight, and the mean of its weighted values over the training examples.

    It adds ``weight * (value - mean)`` to the log-odds of an example, and nothing if it has no value.
    """

    aggregate: Aggregate
    weight: float
    mean: float

    def contribution(self, values: Floats) -> Floats:
        return np.where(np.isnan(values), 0.0, self.weight * (values - self.mean))

    def __str__(self) -> str:
        return f"[{self.weight:.6g}] {self.aggregate} (mean {self.mean:.6g})"


def paths(language: Language, longest: int) -> list[Clause]:
    """Every path of at most ``longest`` literals that the modes allow, shorter ones first."""
    arity = len(language.head.args)
    every: dict[Clause, None] = {}
    grown = [language.empty()]
    for _ in range(longest):
        longer: dict[Clause, None] = {}
        for path in grown:
            start = set(path.free_variables()) if path.body else set(range(arity))
            present = set(path.body)
            for addition in additions(path, language):
                (literal, *more) = addition
                if not more and literal not in present and not start.isdisjoint(literal_variables(literal)):
                    longer[canonical(Clause(path.head, (*path.body, literal)))] = None
        every |= longer
        grown = list(longer)
    return list(every)


def aggregates(path: Clause, language: Language) -> Iterator[Aggregate]:
    """Every aggregate of a path."""
    yield Aggregate(COUNT, path)
    free = path.free_variables()
    types = language.schema.variable_types(path)
    for variable in free:
        if len(free) > 1:
            yield Aggregate(DISTINCT, path, variable)
        if types[variable] in language.schema.numeric:
            for kind in OF_NUMBERS:
                yield Aggregate(kind, path, variable)
