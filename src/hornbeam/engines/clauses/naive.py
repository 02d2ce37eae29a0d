"""The definition of the count of a clause: it tries every assignment of the free variables. For tests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import inf

import numpy as np

from hornbeam.data.database import UNKNOWN, Codes
from hornbeam.engines.clauses.contract import ClauseCounter, Counts
from hornbeam.engines.clauses.estimate import ArgumentSizes, Estimates
from hornbeam.engines.clauses.plan import Planner
from hornbeam.engines.contract import INT64_MAX, Skipped
from hornbeam.engines.naive import NaiveEngine
from hornbeam.logic.clauses import AT_LEAST, Atom, Clause, Comparison, Literal, Not
from hornbeam.logic.schema import number_of


class NaiveCounter(ClauseCounter):
    """Nested loops over populations, without a plan or an index."""

    def __init__(self, engine: NaiveEngine) -> None:
        super().__init__(engine.database, engine.memory, engine.cache)
        self._engine = engine

    def count(self, clauses: Sequence[Clause], keys: Codes) -> list[Counts | Skipped]:
        return [self._count(clause, keys) for clause in clauses]

    def _count(self, clause: Clause, keys: Codes) -> Counts | Skipped:
        arity = len(clause.head.args)
        estimates = Estimates(ArgumentSizes(self.database), keys, arity, self.database.times, self.memory)
        refused = estimates.refused(clause, Planner(self.database.schema).plan(clause))
        if refused is not None:
            return refused
        total = self.total(clause)
        if total > INT64_MAX:
            return Skipped(clause, "its true count may exceed int64", total, INT64_MAX)
        schema = self.database.schema
        types = schema.variable_types(clause)
        facts = {
            literal: self._engine.facts_of(literal.atom if isinstance(literal, Not) else literal)
            for literal in clause.body
            if not isinstance(literal, Comparison)
        }
        free = clause.free_variables()
        ranges = [range(len(self.database.population(types[variable]))) for variable in free]
        true = []
        cutoffs = self.database.cutoffs_of(clause.head.predicate, keys)
        last_times = [inf] * len(keys) if cutoffs is None else cutoffs.tolist()
        for key, last in zip(keys.tolist(), last_times, strict=True):
            binding = dict(zip(clause.head.args, key[: len(clause.head.args)], strict=True))
            count = 0
            for values in product(*ranges):
                binding.update(zip(free, values, strict=True))
                count += all(self._is_true(literal, binding, types, facts, last) for literal in clause.body)
            true.append(count)
        return Counts(np.array(true, dtype=np.int64), total)

    def _is_true(
        self,
        literal: Literal,
        binding: dict[int | str, int],
        types: dict[int, str],
        facts: dict[Atom | Not, dict[tuple[int, ...], float]],
        last: float,
    ) -> bool:
        if isinstance(literal, Comparison):
            code = binding[literal.variable]
            if code == UNKNOWN:  # it has no value, so it is on neither side of a threshold
                return False
            number = self.database.numbers[types[literal.variable]][code]
            threshold = number_of(literal.value)
            return bool(number >= threshold if literal.operator == AT_LEAST else number < threshold)
        time = facts[literal].get(self._ground(literal, binding))
        is_fact = time is not None and time <= last
        return is_fact != isinstance(literal, Not)

    def _ground(self, literal: Atom | Not, binding: dict[int | str, int]) -> tuple[int, ...]:
        atom = literal.atom if isinstance(literal, Not) else literal
        types = self.database.schema.types_of(atom.predicate)
        return tuple(
            binding[term] if isinstance(term, int) else self._engine.code(term, type_name)
            for term, type_name in zip(atom.args, types, strict=True)
        )
