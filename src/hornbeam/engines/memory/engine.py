"""The default engine: in process, on NumPy arrays and SciPy sparse matrices.

A clause is planned into factors (``plan``); factors that are messages are vectors over a
population, computed once and shared (``messages``); cores are joined on the distinct bindings that
the examples have (``join``). An example's count is the product of its factors.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from math import prod
from typing import Any, NamedTuple

import numpy as np

from hornbeam.data.database import Codes, Database
from hornbeam.data.rows import Integers, distinct_rows
from hornbeam.engines.cache import Cache
from hornbeam.engines.contract import (
    DEFAULT_MEMORY,
    INT64_MAX,
    Column,
    Counts,
    Engine,
    Session,
    Skipped,
    narrowest,
)
from hornbeam.engines.kept_counts import KeptCounts
from hornbeam.engines.memory.cutoffs import Timed
from hornbeam.engines.memory.indexes import FactIndexes
from hornbeam.engines.memory.join import BYTES_PER_BINDING, BindingTable, Join, row_sums
from hornbeam.engines.memory.messages import Messages
from hornbeam.engines.memory.plan import CountTerm, Factor, Joined, Planner, Summed, messages_of
from hornbeam.engines.memory.vectors import RefusedError, Vector, float_bound, too_large
from hornbeam.logic.bodies import CanonicalComponent, components_of
from hornbeam.logic.clauses import Clause, Comparison

TABLE_ROWS = 1 << 18
"""A core's join is kept as a table for other weights to come while it has at most so many rows."""
FACTOR_SHARE = 64
"""Factors of the examples are kept in one part in this many of the memory budget."""
_UNKNOWN: Any = object()


@dataclass(frozen=True, slots=True, eq=False)
class DistinctBindings:
    """The distinct values that examples give to some head variables, and which example has which."""

    columns: tuple[Integers, ...]
    inverse: Integers | None


class Mark(NamedTuple):
    """What tells the counts that a factor gives to the examples: a number for all, and a column."""

    times: int
    column: bytes = b""
    """its digest: the same for equal columns, also where the examples were forgotten in between"""
    binary: bool = False
    """whether it has only 0 and 1, so that its square is itself"""


@dataclass(slots=True, eq=False)
class ExampleRows:
    """The keys of one set of examples, and what was computed for them."""

    keys: Codes
    columns: tuple[Integers, ...]
    vectors: Cache
    """the factors of each example, under a budget"""
    bindings: dict[tuple[int, ...], DistinctBindings] = field(default_factory=dict)
    timed: Timed | None = None
    marks: dict[int, Mark | None] = field(default_factory=dict)
    """of each factor, by its id; None for one that is refused"""
    factors: dict[int, Factor] = field(default_factory=dict)
    """the factors whose ids stand for them: held, so that no other can come to have the same id"""


class MemoryEngine(Engine):
    """Counts in memory; exact integers; partial results under the memory budget."""

    name = "memory"

    def __init__(self, database: Database, memory: int = DEFAULT_MEMORY) -> None:
        super().__init__(database, memory)
        self._facts = FactIndexes(database)
        self._planner = Planner(database.schema)
        self._messages = Messages(self._facts, memory)
        self._joins = Cache(memory // 4)
        self._examples: ExampleRows | None = None
        self._totals: dict[CanonicalComponent, int] = {}

    def session(self, keys: Codes, logarithm: bool = False) -> Session:
        return KeptCounts(self, keys, logarithm=logarithm)

    def count(self, clauses: Sequence[Clause], keys: Codes) -> list[Counts | Skipped]:
        if not clauses:
            return []
        examples = self._example_rows(keys, clauses[0].head.predicate)
        plans = self._plans(clauses, examples)
        return [self._count(clause, terms, examples) for clause, terms in zip(clauses, plans, strict=True)]

    def alike(self, clauses: Sequence[Clause], keys: Codes) -> Sequence[Hashable]:
        if not clauses:
            return []
        examples = self._example_rows(keys, clauses[0].head.predicate)
        return [self._mark(terms, examples) for terms in self._plans(clauses, examples)]

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

    def _plans(self, clauses: Sequence[Clause], examples: ExampleRows) -> list[tuple[CountTerm, ...]]:
        """The plans of clauses, with the messages of factors that are new computed together."""
        self._facts.tidy(self.memory // 8)
        plans = [self._planner.plan(clause) for clause in clauses]
        fresh = {
            id(factor): factor
            for terms in plans
            for term in terms
            for factor in term.factors
            if id(factor) not in examples.marks
        }
        examples.factors |= fresh
        messages = messages_of(fresh.values())
        self._messages.prepare(messages if examples.timed is None else examples.timed.plain(messages))
        return plans

    def _mark(self, terms: Sequence[CountTerm], examples: ExampleRows) -> Hashable:
        """The number and the columns whose product the counts are; 0/1 columns once."""
        if len(terms) != 1:
            return None
        times = 1
        columns = []
        for factor in terms[0].factors:
            mark = examples.marks.get(id(factor), _UNKNOWN)
            if mark is _UNKNOWN:
                mark = examples.marks[id(factor)] = self._factor_mark(factor, examples)
            if mark is None:
                return None
            times *= mark.times
            if mark.column and not (mark.binary and mark.column in columns):
                columns.append(mark.column)
        columns.sort()
        return (times, *columns) if times else (0,)

    def _factor_mark(self, factor: Factor, examples: ExampleRows) -> Mark | None:
        try:
            found = self._factor(factor, examples)
        except RefusedError:
            return None
        if isinstance(found, int):
            return Mark(found)
        values = found.values
        if len(values) and values.min() == found.largest:
            return Mark(found.largest)
        digest = blake2b(values.data, digest_size=16).digest() + values.dtype.char.encode()
        return Mark(1, digest, found.largest <= 1)

    def _example_rows(self, keys: Codes, target: str) -> ExampleRows:
        known = self._examples
        if known is None or known.keys is not keys:
            types = self.database.schema.types_of(target)
            columns = []
            for place, type_name in enumerate(types):
                size = len(self.database.population(type_name))
                # An unknown constant takes the place after the last: a constant without facts.
                columns.append(np.where(keys[:, place] < 0, np.intp(size), keys[:, place]))
            known = self._examples = ExampleRows(keys, tuple(columns), Cache(self.memory // FACTOR_SHARE))
            cutoffs = self.database.cutoffs_of(target, keys)
            if cutoffs is not None and len(keys):
                known.timed = Timed(self._facts, self._messages, cutoffs, self.memory)
            self._joins = Cache(self.memory // 4)
        return known

    def _count(self, clause: Clause, terms: Sequence[CountTerm], examples: ExampleRows) -> Counts | Skipped:
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
        """The product of factors for each example, times a number, and the largest of them."""
        columns: list[Vector] = []
        for factor in factors:
            found = self._factor(factor, examples)
            if isinstance(found, int):
                times *= found
            else:
                columns.append(found)
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
        """The value of a factor for each example, or the one number that it is for all."""
        found: Vector | int | None = examples.vectors.get(id(factor))
        if found is None:
            found = self._new_factor(factor, examples)
            if isinstance(found, Vector):
                found = Vector.of(found.values)
                examples.vectors.put(id(factor), found, found.values.nbytes + 200)
        return found

    def _new_factor(self, factor: Factor, examples: ExampleRows) -> Vector | int:
        if examples.timed is not None and examples.timed.touches(factor):
            return examples.timed.column(factor, examples.columns)
        if isinstance(factor, Summed):
            vector = self._messages.at(factor.messages)
            if factor.head is None:
                return _population_sum(vector)
            return Vector(vector.values.take(examples.columns[factor.head]), vector.largest)
        return self._joined(factor, examples) if factor.heads else self._joined_sum(factor)

    def _wide_product(self, columns: Sequence[Vector], times: int) -> tuple[Column, int]:
        """A product whose factors alone would allow more than int64, but whose examples do not."""
        if times > INT64_MAX or not columns:
            raise too_large(times)
        bound = np.full(len(columns[0].values), float(times))
        result = np.full(len(columns[0].values), times, dtype=np.int64)
        for column in columns:
            bound = bound * column.values
            result = result * column.values
        return result, float_bound(bound)

    def _joined(self, factor: Joined, examples: ExampleRows) -> Vector:
        """A core joined on the distinct bindings of the examples' head variables."""
        bindings = self._bindings(factor.heads, examples)
        column = self._joins.get(factor)
        if column is None:
            try:
                column = Vector.of(self._join(factor, bindings.columns, factor.heads))
                size = column.values.nbytes
            except RefusedError as refused:
                column, size = refused, 0
            self._joins.put(factor, column, size + 300)
        if isinstance(column, RefusedError):
            raise column
        assert isinstance(column, Vector)
        if bindings.inverse is None:
            return column
        return Vector(column.values[bindings.inverse], column.largest)

    def _joined_sum(self, factor: Joined) -> int:
        """A core that touches no head variable: joined on all values of its variable 0, summed."""
        atom = next(atom for atom in factor.core.atoms if 0 in atom.args)
        size = self._facts.size(atom, 0)
        values = self._join(factor, (np.arange(size),), ())
        return int(values.sum(dtype=object)) if len(values) else 0

    def _join(self, factor: Joined, columns: tuple[Integers, ...], heads: tuple[int, ...]) -> Integers:
        weights = tuple(self._messages.weights(factor.weights))
        rows = len(columns[0])
        keep = frozenset(variable for weight in weights for variable in weight.variables)
        key = (factor.core, keep, heads)
        table = self._joins.get(key)
        if table is None:
            join = Join(self._facts, factor.core, (), keep, min(self.memory, TABLE_ROWS * BYTES_PER_BINDING))
            try:
                table = join.run(columns)
                size = 8 * (len(table.columns) + 2) * len(table)
            except RefusedError:
                table, size = "too wide to keep", 0
            self._joins.put(key, table, size + 300)
        if isinstance(table, BindingTable):
            return row_sums(table, rows, weights)
        join = Join(self._facts, factor.core, weights, frozenset(), self.memory)
        return row_sums(join.run(columns), rows, ())

    def _bindings(self, heads: tuple[int, ...], examples: ExampleRows) -> DistinctBindings:
        found = examples.bindings.get(heads)
        if found is None:
            columns = [examples.columns[head] for head in heads]
            first, inverse = distinct_rows(columns, len(columns[0]))
            if len(first) == len(inverse):
                found = DistinctBindings(tuple(columns), None)
            else:
                found = DistinctBindings(tuple(column[first] for column in columns), inverse)
            examples.bindings[heads] = found
        return found


def _population_sum(vector: Vector) -> int:
    """The sum over the constants of a population: the last place is no constant of it."""
    values = vector.values[:-1]
    if vector.largest * len(values) <= INT64_MAX:
        return int(values.sum(dtype=np.int64))
    return sum(values.tolist())
