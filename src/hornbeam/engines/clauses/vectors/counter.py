"""Counts clauses in this process, on NumPy arrays and SciPy sparse matrices.

A clause is planned as factors (``plan``). Factors made of messages are vectors over a population,
computed once and shared by clauses (``messages``). Cores are joined on the distinct bindings of the
examples (``join``). The count of an example is the product of its factors.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import prod
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import Codes, Database
from hornbeam.data.rows import Integers, distinct_rows
from hornbeam.data.sparse import Matrix
from hornbeam.engines.cache import Cache, CachePart
from hornbeam.engines.clauses.contract import ClauseCounter, Column, Counts, narrowest
from hornbeam.engines.clauses.estimate import BYTES_PER_BINDING, ArgumentSizes, Estimates
from hornbeam.engines.clauses.plan import (
    BYTES_PER_PLAN,
    CoreFactor,
    CountTerm,
    Factor,
    MessageFactor,
    Planner,
    messages_of,
)
from hornbeam.engines.clauses.vectors.cutoffs import CutoffFactors
from hornbeam.engines.clauses.vectors.incidence import incidence
from hornbeam.engines.clauses.vectors.join import BindingTable, Join, row_sums
from hornbeam.engines.clauses.vectors.messages import Messages
from hornbeam.engines.clauses.vectors.vectors import RefusedError, Vector, float_bound, too_large
from hornbeam.engines.contract import INT64_MAX, Skipped
from hornbeam.engines.memory.indexes import FactIndexes
from hornbeam.logic.bodies import CanonicalComponent, components_of
from hornbeam.logic.clauses import Atom, Clause, Comparison

TABLE_ROWS = 1 << 18
"""A joined core is cached, to be used again with other weights, if it has at most this many rows."""
FACTOR_SHARE = 64
"""The values of factors for each example get at most the memory budget divided by this number."""
LEAST_BATCH = 8
"""At least this many clauses are planned together, because messages are computed several at a time."""
PLAN_SHARE = 8
"""All plans are forgotten when they take more than the memory budget divided by this number."""
_TOO_LARGE = "too large to cache"


@dataclass(frozen=True, slots=True, eq=False)
class DistinctBindings:
    """The distinct bindings of head variables that the examples have, and the binding of each example."""

    columns: tuple[Integers, ...]
    inverse: Integers | None
    """None if every example has its own binding, in the order of the examples"""


class FactorSignature(NamedTuple):
    """Identifies the values that a factor has for the examples: a number times a column."""

    times: int
    column: bytes = b""
    """a digest of the values, empty if all are equal; comparable even after the examples were replaced"""
    binary: bool = False
    """whether all values are 0 or 1, so that the column equals its square"""


@dataclass(slots=True, eq=False)
class ExampleRows:
    """The keys of one set of examples, and parts of the engine's cache with results for them.

    Signatures and values are stored by the factor's id, together with the factor: while the entry exists,
    no other factor can get the same id.
    """

    keys: Codes
    columns: tuple[Integers, ...]
    vectors: CachePart
    """for a factor's id, the factor and its value for each example"""
    signatures: CachePart
    """for a factor's id, the factor and its signature, which is None if the factor was refused"""
    joins: CachePart
    """joined cores, and the distinct bindings that they are joined on"""
    estimates: Estimates
    cutoffs: CutoffFactors | None = None


class VectorCounter(ClauseCounter):
    """Counts in memory, in exact integers, with partial results under the memory budget."""

    counts_components = True

    def __init__(self, database: Database, memory: int, cache: Cache) -> None:
        super().__init__(database, memory, cache)
        self._facts = FactIndexes(database, self.cache.part())
        self._plans_made = self.cache.part()
        self._planner = Planner(database.schema)
        self._messages = Messages(self._facts, memory, self.cache.part())
        self._sizes = ArgumentSizes(database)
        self._examples: ExampleRows | None = None
        self._totals: dict[CanonicalComponent, int] = {}
        self._largest_population = max(map(len, database.populations.values()), default=1) or 1

    def count(self, clauses: Sequence[Clause], keys: Codes) -> list[Counts | Skipped]:
        if not clauses:
            return []
        examples = self._example_rows(keys, clauses[0].head.predicate)
        return [
            self._count(clause, terms, examples)
            for batch in self._batches(clauses)
            for clause, terms in zip(batch, self._plans(batch, examples), strict=True)
        ]

    def incidence(self, head: Atom, atoms: Sequence[Atom], keys: Codes) -> Matrix | None:
        examples = self._example_rows(keys, head.predicate)
        if examples.cutoffs is not None:
            return None
        return incidence(self.database, atoms, examples.columns, self.memory)

    def signatures(self, clauses: Sequence[Clause], keys: Codes) -> Sequence[Hashable]:
        if not clauses:
            return []
        examples = self._example_rows(keys, clauses[0].head.predicate)
        return [
            self._signature(terms, examples)
            for batch in self._batches(clauses)
            for terms in self._plans(batch, examples)
        ]

    def total(self, clause: Clause) -> int:
        if any(isinstance(literal, Comparison) for literal in clause.body):
            return super().total(clause)
        total = 1
        for part in components_of(clause):
            known = self._totals.get(part)
            if known is None:
                known = self._totals[part] = super().total(Clause(clause.head, part.literals))
            total *= known
        return total

    def _batches(self, clauses: Sequence[Clause]) -> Iterator[Sequence[Clause]]:
        """Clauses in batches whose messages fit the cache together, at about two bytes per constant."""
        size = max(LEAST_BATCH, self.memory // 4 // (2 * self._largest_population))
        for start in range(0, len(clauses), size):
            yield clauses[start : start + size]

    def _plans(self, clauses: Sequence[Clause], examples: ExampleRows) -> list[tuple[CountTerm, ...]]:
        """The plans of clauses; computes the messages of new factors together."""
        if self._planner.nbytes > self.memory // PLAN_SHARE:
            self._planner = Planner(self.database.schema)
            self._totals.clear()
        plans = [self._planner.plan(clause) for clause in clauses]
        self._plans_made.put("planner", None, self._planner.nbytes)
        fresh = {
            id(factor): factor
            for terms in plans
            for term in terms
            for factor in term.factors
            if id(factor) not in examples.signatures
        }
        messages = messages_of(fresh.values())
        self._messages.prepare(messages if examples.cutoffs is None else examples.cutoffs.timeless(messages))
        return plans

    def _signature(self, terms: Sequence[CountTerm], examples: ExampleRows) -> Hashable:
        """The number and the columns whose product is the counts; a column of zeros and ones appears once."""
        if len(terms) != 1:
            return None
        times = 1
        columns = []
        for factor in terms[0].factors:
            known = examples.signatures.get(id(factor))
            if known is None:
                known = factor, self._factor_signature(factor, examples)
                examples.signatures.put(id(factor), known, BYTES_PER_PLAN)
            signature: FactorSignature | None = known[1]
            if signature is None:
                return None
            times *= signature.times
            if signature.column and not (signature.binary and signature.column in columns):
                columns.append(signature.column)
        columns.sort()
        return (times, *columns) if times else (0,)

    def _factor_signature(self, factor: Factor, examples: ExampleRows) -> FactorSignature | None:
        if not examples.estimates.allows(factor):
            return None
        try:
            value = self._factor(factor, examples)
        except RefusedError:
            return None
        if isinstance(value, int):
            return FactorSignature(value)
        values = value.values
        if len(values) and values.min() == value.largest:
            return FactorSignature(value.largest)
        digest = blake2b(values.data, digest_size=16).digest() + values.dtype.char.encode()
        return FactorSignature(1, digest, value.largest <= 1)

    def _example_rows(self, keys: Codes, target: str) -> ExampleRows:
        known = self._examples
        if known is None or known.keys is not keys:
            types = self.database.schema.types_of(target)
            columns = []
            for place, type_name in enumerate(types):
                size = len(self.database.population(type_name))
                # An unknown constant gets the code after the last: a constant without facts.
                columns.append(np.where(keys[:, place] < 0, np.intp(size), keys[:, place]))
            part = self.cache.part
            vectors = part(limit=self.memory // FACTOR_SHARE)
            estimates = Estimates(self._sizes, keys, len(types), self.database.times, self.memory)
            known = self._examples = ExampleRows(keys, tuple(columns), vectors, part(), part(), estimates)
            cutoffs = self.database.cutoffs_of(target, keys)
            if cutoffs is not None and len(keys):
                known.cutoffs = CutoffFactors(self._facts, self._messages, cutoffs, self.memory, part())
        return known

    def _count(self, clause: Clause, terms: Sequence[CountTerm], examples: ExampleRows) -> Counts | Skipped:
        too_costly = examples.estimates.refused(clause, terms)
        if too_costly is not None:
            return too_costly
        try:
            true = self._signed_sum(clause, terms, examples)
        except RefusedError as refused:
            return Skipped(clause, refused.reason, refused.estimate, refused.budget)
        return Counts(true, self.total(clause))

    def _signed_sum(self, clause: Clause, terms: Sequence[CountTerm], examples: ExampleRows) -> Column:
        if len(terms) == 1:
            return self._product(terms[0].factors, 1, examples)[0]
        types = self.database.schema.variable_types(clause)
        true = np.zeros(len(examples.keys), dtype=np.int64)
        bound = 0
        for term in terms:
            times = prod(len(self.database.population(types[variable])) for variable in term.vanished)
            column, largest = self._product(term.factors, times, examples)
            bound += largest
            if bound > INT64_MAX:
                raise too_large(bound)
            true += term.sign * column.astype(np.int64)
        return true

    def _product(self, factors: Sequence[Factor], times: int, examples: ExampleRows) -> tuple[Column, int]:
        """The product of factors and a number for each example, and an upper bound of the products."""
        columns: list[Vector] = []
        for factor in factors:
            value = self._factor(factor, examples)
            if isinstance(value, int):
                times *= value
            else:
                columns.append(value)
        bound = times
        for column in columns:
            bound *= column.largest
        if bound > INT64_MAX:
            return self._wide_product(columns, times)
        if not columns or bound == 0:
            return np.full(len(examples.keys), bound, dtype=narrowest(bound)), bound
        dtype = narrowest(bound)
        result = columns[0].values
        for column in columns[1:]:
            result = np.multiply(result, column.values, dtype=dtype)
        if times != 1:
            result = np.multiply(result, dtype(times), dtype=dtype)
        return result, bound

    def _factor(self, factor: Factor, examples: ExampleRows) -> Vector | int:
        """The value of a factor for each example, or one number for all examples."""
        known = examples.vectors.get(id(factor))
        if known is not None:
            column: Vector = known[1]
            return column
        value = self._new_factor(factor, examples)
        if isinstance(value, Vector):
            value = Vector.of(value.values)
            examples.vectors.put(id(factor), (factor, value), value.values.nbytes)
        return value

    def _new_factor(self, factor: Factor, examples: ExampleRows) -> Vector | int:
        if examples.cutoffs is not None and examples.cutoffs.depends_on_time(factor):
            return examples.cutoffs.column(factor, examples.columns)
        if isinstance(factor, MessageFactor):
            vector = self._messages.at(factor.messages)
            if factor.head is None:
                return _population_sum(vector)
            return Vector(vector.values.take(examples.columns[factor.head]), vector.largest)
        return self._joined(factor, examples) if factor.heads else self._joined_sum(factor, examples)

    def _wide_product(self, columns: Sequence[Vector], times: int) -> tuple[Column, int]:
        """A product whose upper bound exceeds int64, although the counts of the examples may fit."""
        if times > INT64_MAX or not columns:
            raise too_large(times)
        bound = np.full(len(columns[0].values), float(times))
        result = np.full(len(columns[0].values), times, dtype=np.int64)
        for column in columns:
            bound = bound * column.values
            result = result * column.values
        return result, float_bound(bound)

    def _joined(self, factor: CoreFactor, examples: ExampleRows) -> Vector:
        """A core joined on the distinct bindings of the examples' head variables."""
        bindings = self._bindings(factor.heads, examples)
        column = examples.joins.get(factor)
        if column is None:
            try:
                column = Vector.of(self._join(factor, bindings.columns, factor.heads, examples))
                size = column.values.nbytes
            except RefusedError as refused:
                column, size = refused, 0
            examples.joins.put(factor, column, size)
        if isinstance(column, RefusedError):
            raise column
        assert isinstance(column, Vector)
        if bindings.inverse is None:
            return column
        return Vector(column.values[bindings.inverse], column.largest)

    def _joined_sum(self, factor: CoreFactor, examples: ExampleRows) -> int:
        """The sum of a core without head variables, joined on all values of its variable 0."""
        atom = next(atom for atom in factor.core.atoms if 0 in atom.args)
        size = self._facts.size(atom, 0)
        values = self._join(factor, (np.arange(size),), (), examples)
        return int(values.sum(dtype=object)) if len(values) else 0

    def _join(
        self,
        factor: CoreFactor,
        columns: tuple[Integers, ...],
        heads: tuple[int, ...],
        examples: ExampleRows,
    ) -> Integers:
        weights = tuple(self._messages.weights(factor.weights))
        rows = len(columns[0])
        keep = frozenset(variable for weight in weights for variable in weight.variables)
        key = (factor.core, keep, heads)
        table = examples.joins.get(key)
        if table is None:
            most = min(self.memory // BYTES_PER_BINDING, TABLE_ROWS)
            join = Join(self._facts, factor.core, (), keep, most * BYTES_PER_BINDING, most)
            try:
                table = join.run(columns)
                size = 8 * (len(table.columns) + 2) * len(table)
            except RefusedError:
                table, size = _TOO_LARGE, 0
            examples.joins.put(key, table, size)
        if isinstance(table, BindingTable):
            return row_sums(table, rows, weights)
        join = Join(self._facts, factor.core, weights, frozenset(), self.memory)
        return row_sums(join.run(columns), rows, ())

    def _bindings(self, heads: tuple[int, ...], examples: ExampleRows) -> DistinctBindings:

        def make() -> DistinctBindings:
            columns = [examples.columns[head] for head in heads]
            first, inverse = distinct_rows(columns, len(columns[0]))
            if len(first) == len(inverse):
                return DistinctBindings(tuple(columns), None)
            return DistinctBindings(tuple(column[first] for column in columns), inverse)

        def size(bindings: DistinctBindings) -> int:
            if bindings.inverse is None:
                return 0
            return bindings.inverse.nbytes + sum(column.nbytes for column in bindings.columns)

        return examples.joins.made(heads, make, size)


def _population_sum(vector: Vector) -> int:
    """The sum over the constants of a population; the last element stands for no constant."""
    values = vector.values[:-1]
    if vector.largest * len(values) <= INT64_MAX:
        return int(values.sum(dtype=np.int64))
    return sum(values.tolist())
