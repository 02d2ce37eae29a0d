"""Where the facts of a database are, and the questions that only the facts can answer.

Facts are in memory, in columns of codes, or they stay in the tables of another system. A database
asks both through the same interface, ``FactStore``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from hornbeam.data.names import Codes
from hornbeam.data.numbers import CutoffRule, Floats, moments_of, quantiles
from hornbeam.data.relations import Examples, Population, Relation
from hornbeam.data.rows import grouped, row_numbers
from hornbeam.logic.clauses import Clause, Value
from hornbeam.logic.schema import Schema


class FactStore(Protocol):
    """What a learner asks about facts. An argument is a predicate and a position, counted from 0."""

    def predicates(self) -> Collection[str]:
        """The predicates that may have facts; other predicates of the schema have none."""
        ...

    def n_facts(self, predicate: str) -> int: ...

    def constants_at(self, predicate: str, position: int) -> tuple[str, ...]:
        """The constants that occur at an argument, sorted."""
        ...

    def frequent_at(
        self, predicate: str, position: int, least: int, until: float = np.inf
    ) -> tuple[str, ...]:
        """The constants that occur at an argument in ``least`` facts up to a time or more, sorted."""
        ...

    def shape_at(self, predicate: str, positions: Sequence[int]) -> tuple[int, int]:
        """The largest number of facts with equal constants at some arguments, and how many such there are."""
        ...

    def is_identity(self, predicate: str) -> bool:
        """Whether a predicate of two arguments of one type links each constant only to itself."""
        ...

    def thresholds_at(
        self, predicate: str, position: int, number: int, until: float = np.inf
    ) -> tuple[Value, ...]:
        """At most ``number`` quantiles of the values at a numeric argument, in facts up to a time."""
        ...

    def values_of(self, type_name: str, codes: Codes) -> Floats:
        """The values of constants of a numeric type."""
        ...

    def timed(self) -> Collection[str]:
        """The predicates whose facts have times."""
        ...

    def span_of(self, predicate: str) -> tuple[float, float]:
        """The first and the last time of the facts of a predicate with times, without minus infinity."""
        ...

    def cutoff_codes(self, last: Floats) -> Codes:
        """The codes, in the keys of examples, of the last times that facts may have to exist.

        A row has one or more codes; the first alone says which facts exist.
        """
        ...

    def cutoffs_of(self, codes: Codes) -> Floats:
        """The last times that rows of codes stand for, or earlier times at which the same facts exist."""
        ...

    def last_times_of(self, codes: Codes) -> Floats:
        """The last times that rows of codes stand for."""
        ...


class FactsInPlace(FactStore, Protocol):
    """Facts that stay in the tables of a database system. Only the engine of that system counts them."""

    @property
    def engine(self) -> str:
        """The name of the engine that counts these facts."""
        ...

    @property
    def memory(self) -> int:
        """The memory in bytes that the connection was opened with."""
        ...

    @property
    def source(self) -> Any:
        """The object through which the engine reads the facts; only engines know its type."""
        ...

    def fingerprint(self) -> object:
        """Numbers that change when facts change. This scans the tables."""
        ...

    def until(
        self, end: float, populations: Mapping[str, Population], named: Mapping[str, Iterable[str]]
    ) -> tuple[FactsInPlace, Mapping[str, Population]] | None:
        """The facts up to a time, and the populations without constants that only later facts have.

        ``named`` has for each type the constants of examples. None if no fact is later.
        """
        ...

    def groundings(self, clause: Clause, key: Sequence[int], limit: int) -> tuple[tuple[str, ...], ...]:
        """Names of the free variables' values for at most ``limit`` true groundings of one example."""
        ...

    def close(self) -> None:
        """Remove temporary tables, and close the connection if it was opened for these facts."""
        ...


@dataclass(frozen=True, eq=False)
class FactsInMemory:
    """Facts in columns of codes."""

    schema: Schema
    populations: Mapping[str, Population]
    relations: Mapping[str, Relation]
    numbers: Mapping[str, Floats]
    times: Mapping[str, Floats]

    def relation(self, predicate: str) -> Relation:
        """The facts of a predicate; a predicate without facts has an empty relation."""
        relation = self.relations.get(predicate)
        if relation is None:
            arity = self.schema.arity(predicate)
            relation = Relation(tuple(np.empty(0, dtype=np.int32) for _ in range(arity)))
        return relation

    def predicates(self) -> Collection[str]:
        return self.relations.keys()

    def n_facts(self, predicate: str) -> int:
        return len(self.relation(predicate))

    def constants_at(self, predicate: str, position: int) -> tuple[str, ...]:
        facts = np.bincount(self.relation(predicate).columns[position])
        codes = np.flatnonzero(facts).astype(np.int32)
        return tuple(sorted(self._population(predicate, position).decode(codes)))

    def frequent_at(
        self, predicate: str, position: int, least: int, until: float = np.inf
    ) -> tuple[str, ...]:
        population = self._population(predicate, position)
        facts = np.bincount(self._until(predicate, position, until), minlength=len(population))
        return tuple(sorted(population.decode(np.flatnonzero(facts >= least).astype(np.int32))))

    def shape_at(self, predicate: str, positions: Sequence[int]) -> tuple[int, int]:
        relation = self.relation(predicate)
        order, starts = grouped(row_numbers([relation.columns[place] for place in positions], len(relation)))
        return int(np.diff(starts, append=len(order)).max(initial=0)), len(starts)

    def is_identity(self, predicate: str) -> bool:
        types, columns = self.schema.types_of(predicate), self.relation(predicate).columns
        return len(types) == 2 and types[0] == types[1] and bool((columns[0] == columns[1]).all())

    def thresholds_at(
        self, predicate: str, position: int, number: int, until: float = np.inf
    ) -> tuple[Value, ...]:
        type_name = self.schema.types_of(predicate)[position]
        codes = self._until(predicate, position, until)
        return quantiles(self.values_of(type_name, codes), number, self.schema.numeric[type_name])

    def _until(self, predicate: str, position: int, until: float) -> Codes:
        """The constants at an argument, in facts up to a time."""
        codes = self.relation(predicate).columns[position]
        if until < np.inf and predicate in self.times:
            codes = codes[self.times[predicate] <= until]
        return codes

    def values_of(self, type_name: str, codes: Codes) -> Floats:
        values: Floats = self.numbers[type_name][codes]
        return values

    def timed(self) -> Collection[str]:
        return self.times.keys()

    def span_of(self, predicate: str) -> tuple[float, float]:
        times = self.times[predicate]
        known = times[np.isfinite(times)]
        return float(known.min(initial=np.inf)), float(known.max(initial=-np.inf))

    @cached_property
    def moments(self) -> Floats:
        """The distinct times that facts have, sorted."""
        return moments_of(self.times)

    def cutoff_codes(self, last: Floats) -> Codes:
        """For each last time, the number of distinct times of facts that are not after it, and its bits."""
        ranks = np.searchsorted(self.moments, last, "right").astype(np.int32)
        halves = np.ascontiguousarray(last, dtype=np.float64).view(np.int32).reshape(-1, 2)
        return np.column_stack([ranks, halves])

    def cutoffs_of(self, codes: Codes) -> Floats:
        """For each code, the latest time of a fact that exists; minus infinity if there is none."""
        return np.concatenate(([-np.inf], self.moments))[codes[:, 0]]

    def last_times_of(self, codes: Codes) -> Floats:
        halves = np.ascontiguousarray(codes[:, 1:3], dtype=np.int32)
        times: Floats = halves.view(np.float64).ravel()
        return times

    def _population(self, predicate: str, position: int) -> Population:
        return self.populations.get(self.schema.types_of(predicate)[position]) or Population(())


def with_cutoff_codes(examples: Examples, facts: FactStore, rule: CutoffRule) -> Examples:
    """The examples with cut-offs as a last column of keys, if they have cut-offs and facts have times.

    Under the frozen protocol every example has a cut-off.
    """
    if not facts.timed() or (examples.cutoffs is None and not rule.is_frozen):
        return examples
    cutoffs = np.full(len(examples), np.inf) if examples.cutoffs is None else examples.cutoffs
    codes = facts.cutoff_codes(rule.last_times(cutoffs))
    return replace(examples, keys=np.column_stack([examples.keys, codes]))
