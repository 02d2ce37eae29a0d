"""Counts of clauses in tables that stay in place: sums of products of the feature ``count`` of bodies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes
from hornbeam.data.numbers import Floats
from hornbeam.engines.clauses.contract import ClauseCounter, Counts
from hornbeam.engines.contract import INT64_MAX, Engine, Skipped
from hornbeam.engines.plan.clauses import SignedProduct, signed_products
from hornbeam.engines.questions import FeatureRequest
from hornbeam.logic.clauses import Clause, Value
from hornbeam.logic.effects import Feature
from hornbeam.logic.features import COUNT

AT_ONCE = 16
"""Number of clauses whose counts are asked for together."""
WHOLE = 2**53
"""Whole numbers below this are exact as floats."""


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
