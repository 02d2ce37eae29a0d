"""Counting where the data are: only sums come back, and the counts of the one clause that is chosen.

Examples with equal keys at the head variables that a clause uses have equal counts, so counts are
kept for the distinct bindings of those variables.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from hornbeam.clauses import Clause
from hornbeam.database import Codes
from hornbeam.engines.contract import INT64_MAX, Column, Counts, Session, Skipped, Sums
from hornbeam.engines.sql import CUTOFF, SqlSource, integer, own_column, own_table, product
from hornbeam.engines.sql_examples import Head, SqlExamples
from hornbeam.engines.sql_messages import (
    CELL,
    MOST_COLUMNS,
    Connection,
    MessageQueries,
    MessageTables,
    Values,
    needed,
)
from hornbeam.engines.sql_plan import Bindings, Formula, Message, formula
from hornbeam.engines.sql_queries import counts_query, largest_logarithm, logarithms_query
from hornbeam.engines.sql_sizes import WIDE_MAX, Sizes, Statistics

LEAST_GRADIENT = 2**30
"""Queries are written for gradients of at least this size, so that their text can be kept."""
MOST_CLAUSES = 400
"""Clauses planned and counted together."""


@dataclass(slots=True, eq=False)
class _Table:
    """Kept counts of several clauses over the same head variables."""

    name: str
    head: Head
    size: int
    members: list[_Kept] = field(default_factory=list)
    query: str = ""
    """text of the sums of products with the gradients, once made"""
    gradient_limit: int = 0
    """the largest gradient that the query's integer types hold"""


@dataclass(slots=True, eq=False)
class _Kept:
    """A counted clause: its sums, and where its counts are while they are kept."""

    clause: Clause
    total: int
    largest: int
    """an upper bound of its counts, or the largest of them"""
    measured: bool = False
    true: int | None = None
    true_squared: int = 0
    true_gradient: int = 0
    round: int = -1
    """the gradients that ``true_gradient`` belongs to"""
    table: _Table | None = None
    column: int = 0


class SqlSession(Session):
    """Sums computed by the database; counts, or their logarithms, stay in its temporary tables."""

    def __init__(
        self,
        connection: Connection,
        source: SqlSource,
        statistics: Statistics,
        keys: Codes,
        total: Callable[[Clause], int],
        memory: int,
        logarithm: bool = False,
    ) -> None:
        self._logarithm = logarithm
        # Where logarithms are kept, the counts of a clause that is chosen are counted again.
        plain = (connection, source, statistics, keys, total, memory)
        self._plain = SqlSession(*plain) if logarithm else None
        self._connection = connection
        self._source = source
        self._total = total
        self._memory = memory
        self._head_types: tuple[str, ...] = ()
        self._examples = SqlExamples(connection, keys, self._values, self._bound)
        self._sizes = Sizes(source.schema, statistics, lambda guard: self._bindings(guard.head))
        self._messages = MessageTables(source, connection, self._sizes, memory // 2)
        self._kept: dict[Clause, _Kept | Skipped] = {}
        self._tables: OrderedDict[str, _Table] = OrderedDict()
        self._bytes = 0

    def set_gradients(self, gradients: npt.NDArray[np.int64]) -> None:
        self._examples.set_gradients(gradients)

    def sums(self, clauses: Sequence[Clause]) -> Sums:
        new = [clause for clause in clauses if clause not in self._kept]
        self._update([kept for clause in clauses if isinstance(kept := self._kept.get(clause), _Kept)])
        dropped = [
            clause
            for clause in clauses
            if isinstance(kept := self._kept.get(clause), _Kept) and kept.round != self._examples.round
        ]
        for counted in self._count(new + dropped):
            self._update(counted)
        found = [kept for clause in clauses if isinstance(kept := self._kept[clause], _Kept)]
        skipped = [kept for clause in clauses if isinstance(kept := self._kept[clause], Skipped)]
        return Sums(
            [kept.clause for kept in found],
            [kept.total for kept in found],
            [kept.true or 0 for kept in found],
            [kept.true_squared for kept in found],
            [kept.true_gradient for kept in found],
            tuple(skipped),
            len(new),
        )

    def columns(self, clauses: Sequence[Clause]) -> list[Column]:
        found = (self._plain or self).counts(clauses)
        return [counts.true for counts in found if isinstance(counts, Counts)]

    def counts(self, clauses: Sequence[Clause]) -> list[Counts | Skipped]:
        """True counts of clauses, one per example."""
        missing = []
        known = []
        for clause in dict.fromkeys(clauses):
            kept = self._kept.get(clause)
            if isinstance(kept, _Kept) and kept.table is not None:
                known.append(kept)
            elif not isinstance(kept, Skipped):
                missing.append(clause)
        found = self._fetch(known)
        for batch in self._batches(missing):
            found |= self._at_once(batch)
        skipped = {clause: kept for clause, kept in self._kept.items() if isinstance(kept, Skipped)}
        return [skipped.get(clause) or found[clause] for clause in clauses]

    def close(self) -> None:
        if self._plain is not None:
            self._plain.close()
        self._connection.give_back(self._tables)
        self._messages.close()
        self._examples.close()
        self._tables.clear()
        self._kept.clear()
        self._bytes = 0

    # --- counting --------------------------------------------------------------------------------

    def _count(self, clauses: Sequence[Clause]) -> Iterator[list[_Kept]]:
        """Count clauses, new or dropped, and keep the counts; a batch of these may go after its turn."""
        return map(self._count_batch, self._batches(clauses))

    def _batches(self, clauses: Sequence[Clause]) -> Iterator[dict[Clause, Formula]]:
        """Clauses with their plans, in batches that fit the budget; those refused are noted."""
        timed: frozenset[str] = frozenset()
        if clauses:
            self._head_types = self._source.schema.types_of(clauses[0].head.predicate)
            if self._examples.columns > len(self._head_types):
                self._head_types, timed = (*self._head_types, CUTOFF), self._source.timed()
        planned: set[Message] = set()
        batch: dict[Clause, Formula] = {}
        room = self._memory // 4
        for clause in clauses:
            plan = formula(clause, self._source.schema, timed)
            refused = self._refused(clause, plan)
            if refused is not None:
                self._kept[clause] = refused
                continue
            cost = self._messages.cost(plan, planned) + CELL * self._bindings(plan.head)
            if batch and (cost > room or len(batch) == MOST_CLAUSES):
                yield batch
                batch, planned, room = {}, set(), self._memory // 4
            batch[clause] = plan
            room -= cost
        if batch:
            yield batch

    def _refused(self, clause: Clause, plan: Formula) -> Skipped | None:
        largest = self._sizes.formula(plan)
        if largest > WIDE_MAX:
            return Skipped(clause, "its true count may exceed int64", largest, INT64_MAX)
        rows = self._bindings(plan.head)
        for message in needed([plan]):
            if not message.is_relation:
                rows = max(rows, self._sizes.rows(message.shape), self._sizes.widest_guard(message))
        size = rows * CELL * 2
        if size > self._memory:
            return Skipped(clause, "its partial results may exceed the memory budget", size, self._memory)
        return None

    def _at_once(self, batch: dict[Clause, Formula]) -> dict[Clause, Counts]:
        """Counts that are not kept, by one query for the clauses of each head where the system likes that."""
        doubtful = {clause: plan for clause, plan in batch.items() if self._sizes.formula(plan) > INT64_MAX}
        if not self._connection.dialect.one_query:
            doubtful = batch
        found = self._fetch(self._count_batch(doubtful)) if doubtful else {}
        by_head: dict[Head, list[Clause]] = {}
        for clause, plan in batch.items():
            if clause not in doubtful:
                by_head.setdefault(plan.head, []).append(clause)
        for head, clauses in by_head.items():
            for start in range(0, len(clauses), MOST_COLUMNS):
                chunk = {clause: batch[clause] for clause in clauses[start : start + MOST_COLUMNS]}
                alone = {message: c for c, plan in chunk.items() if (message := plan.alone()) is not None}
                if len(alone) == len(chunk):
                    found |= self._rows_that_count(head, chunk, alone)
                else:
                    found |= self._every_row(head, chunk)
        return found

    def _every_row(self, head: Head, plans: dict[Clause, Formula]) -> dict[Clause, Counts]:
        queries = MessageQueries(self._connection)
        messages = self._messages.beside(queries)
        messages.place(plans.values())
        query = queries.around(self._counts_query(head, list(plans.values()), messages))
        example, *counts = self._connection.integers(self._text(query), 1 + len(plans))
        of_example = np.argsort(example)[self._examples.bindings(head).of_example]
        found = zip(plans, counts, strict=True)
        return {clause: Counts(column[of_example], self._total(clause)) for clause, column in found}

    def _rows_that_count(
        self, head: Head, plans: dict[Clause, Formula], alone: dict[Message, Clause]
    ) -> dict[Clause, Counts]:
        """Of counts that are mostly 0, as those of pairs are, only the others."""
        keys = self._examples.bindings(head)
        queries = MessageQueries(self._connection)
        messages = self._messages.beside(queries)
        messages.place(plans.values(), but=alone)
        found = {}
        for group, query in messages.per_example(list(alone)):
            numbers = [
                exp.Coalesce(this=number.this, expressions=[integer(0)]) for number in query.selects[1:]
            ]
            query.set("expressions", [query.selects[0], *numbers])
            example, *counts = self._connection.integers(self._text(queries.around(query)), 1 + len(group))
            for message, some in zip(group, counts, strict=True):
                column = np.zeros(len(keys), dtype=np.int64)
                column[example] = some
                clause = alone[message]
                found[clause] = Counts(column[keys.of_example], self._total(clause))
        return found

    def _count_batch(self, batch: dict[Clause, Formula]) -> list[_Kept]:
        self._messages.trim()
        self._trim()
        self._messages.place(batch.values())
        by_head: dict[Head, dict[Clause, Formula]] = {}
        for clause, plan in batch.items():
            by_head.setdefault(plan.head, {})[clause] = plan
        kept: list[_Kept] = []
        for head, plans in by_head.items():
            clauses = list(plans)
            for start in range(0, len(clauses), MOST_COLUMNS):
                chunk = clauses[start : start + MOST_COLUMNS]
                kept += self._keep(head, {clause: plans[clause] for clause in chunk})
        return kept

    def _keep(self, head: Head, plans: dict[Clause, Formula]) -> list[_Kept]:
        """Make a table of counts, or of their logarithms, and its members; without those too large."""
        new = {clause: plan for clause, plan in plans.items() if clause not in self._kept}
        self._admit(head, new)
        plans = {clause: plan for clause, plan in plans.items() if isinstance(self._kept[clause], _Kept)}
        if not plans:
            return []
        query = self._counts_query(head, list(plans.values()), self._messages, "weight")
        if self._logarithm:
            query = logarithms_query(self._connection.dialect, query, len(plans))
        name = self._connection.new_name()
        self._connection.create(name, query)
        table = _Table(name, head, CELL * self._bindings(head) * (2 + len(plans)))
        self._tables[name] = table
        self._bytes += table.size
        for number, clause in enumerate(plans):
            kept = self._kept[clause]
            assert isinstance(kept, _Kept)
            kept.table, kept.column = table, number
            table.members.append(kept)
        return table.members

    def _counts_query(
        self, head: Head, plans: Sequence[Formula], messages: MessageTables, *carried: str
    ) -> exp.Select:
        dialect, bindings = self._connection.dialect, self._examples.bindings(head).table
        return counts_query(
            self._source, dialect, plans, head, bindings, messages.tables, ("example", *carried)
        )

    def _admit(self, head: Head, plans: dict[Clause, Formula]) -> None:
        """Note new clauses, or that their counts are too large; where only bounds are, counts decide."""
        largest = {clause: self._sizes.formula(plan) for clause, plan in plans.items()}
        doubtful = {clause: plan for clause, plan in plans.items() if largest[clause] > INT64_MAX}
        if doubtful:
            counts = self._counts_query(head, list(doubtful.values()), self._messages).subquery("t")
            greatest = [exp.Max(this=own_column(f"t{number}", "t")) for number in range(len(doubtful))]
            query = exp.Select().from_(counts, copy=False).select(*greatest, copy=False)
            largest.update(zip(doubtful, self._run(self._text(query)), strict=True))
        for clause, most in largest.items():
            if most > INT64_MAX:
                reason = "its true count may exceed int64"
                self._kept[clause] = Skipped(clause, reason, most, INT64_MAX)
            else:
                most = largest_logarithm(most) if self._logarithm else most
                self._kept[clause] = _Kept(clause, self._total(clause), most)

    def _trim(self) -> None:
        while self._bytes > self._memory // 4 and self._tables:
            name, table = self._tables.popitem(last=False)
            self._connection.drop(name)
            self._bytes -= table.size
            for kept in table.members:
                if kept.table is table:
                    kept.table = None

    # --- sums ------------------------------------------------------------------------------------

    def _update(self, members: Sequence[_Kept]) -> None:
        """Bring the sums of counts that are kept up to the present gradients."""
        for kept in members:
            table = kept.table
            if table is None or kept.round == self._examples.round:
                continue
            self._tables.move_to_end(table.name)
            new = [member for member in table.members if member.true is None]
            if new:
                self._sum(table, new)
            else:
                self._multiply(table, self._run(self._gradient_query(table)))

    def _sum(self, table: _Table, new: list[_Kept]) -> None:
        """All sums of a new table, in one query."""
        number, keys = len(self._examples), self._examples.with_gradients(table.head)
        # Bounds from degrees may be far too high; to sum in wide integers costs more than to look.
        self._measure(table, [kept for kept in new if kept.largest**2 * number > INT64_MAX])
        sums: list[exp.Expr] = []
        for kept in new:
            count, weight, most = _counts(kept), own_column("weight", "t"), kept.largest
            sums.append(self._summed([count, weight], most * keys.heaviest, len(keys)))
            squares: list[exp.Expr] = [count.copy(), count.copy(), weight.copy()]
            if most**2 * number > WIDE_MAX:
                squares = [exp.Literal.number(0)]
            sums.append(self._summed(squares, most**2 * keys.heaviest, len(keys)))
        sums += self._products(table, keys.largest_gradient)
        found = self._run(self._sums_text(table, sums))
        self._multiply(table, found[2 * len(new) :])
        for kept, true, squared in zip(new, found[::2], found[1::2], strict=False):
            kept.true, kept.true_squared = true, squared
            if kept.largest**2 * number > WIDE_MAX:
                column = self._fetch([kept])[kept.clause].true
                kept.true_squared = sum(count * count for count in column.tolist())

    def _multiply(self, table: _Table, products: Sequence[int]) -> None:
        for kept, product_sum in zip(table.members, products, strict=True):
            kept.true_gradient, kept.round = product_sum, self._examples.round

    def _measure(self, table: _Table, members: Sequence[_Kept]) -> None:
        """Replace the bounds of counts by the largest count of each."""
        unknown = [kept for kept in members if not kept.measured]
        if unknown:
            query = exp.Select().from_(own_table(table.name, "t"), copy=False)
            query = query.select(*(exp.Max(this=_counts(kept)) for kept in unknown), copy=False)
            for kept, largest in zip(unknown, self._run(self._text(query)), strict=True):
                kept.largest, kept.measured = largest, True

    def _gradient_query(self, table: _Table) -> str:
        """The text of the sums of products with the gradients, kept while their size allows it."""
        keys = self._examples.with_gradients(table.head)
        if not table.query or keys.largest_gradient > table.gradient_limit:
            table.gradient_limit = max(keys.largest_gradient, LEAST_GRADIENT * keys.heaviest)
            table.query = self._sums_text(table, self._products(table, table.gradient_limit))
        return table.query

    def _products(self, table: _Table, gradient: int) -> list[exp.Expr]:
        """The sum of products with gradients up to some size, for each member."""
        rows = len(self._examples.bindings(table.head))
        return [
            self._summed([_counts(kept), own_column("gradient", "d")], kept.largest * gradient, rows)
            for kept in table.members
        ]

    def _summed(self, factors: list[exp.Expr], largest: int, rows: int) -> exp.Expr:
        """The sum over so many rows of a product of at most some size, in integers that hold it."""
        dialect = self._connection.dialect
        if largest > INT64_MAX or (largest * rows > INT64_MAX and not dialect.sum_widens):
            factors = [dialect.cast(factors[0], wide=True), *factors[1:]]
        return exp.Sum(this=product(factors))

    def _sums_text(self, table: _Table, sums: Sequence[exp.Expr]) -> str:
        same = exp.EQ(this=own_column("example", "t"), expression=own_column("example", "d"))
        gradients = own_table(self._examples.bindings(table.head).gradient_table, "d")
        query = exp.Select().from_(own_table(table.name, "t"), copy=False)
        query = query.join(gradients, on=same, join_type="INNER", copy=False)
        return self._text(query.select(*sums, copy=False))

    def _run(self, query: str) -> list[int]:
        """The numbers of a query that gives one row."""
        (row,) = self._connection.rows(query)
        return [int(value or 0) for value in row]

    def _text(self, query: exp.Select) -> str:
        return self._connection.dialect.text(query)

    # --- examples --------------------------------------------------------------------------------

    def _values(self, variable: int, codes: Codes) -> Values:
        return self._source.key_values(self._head_types[variable], codes)

    def _bound(self, keys: str, head: Head) -> exp.Select | None:
        return self._source.bound(keys, [self._head_types[variable] for variable in head])

    def _bindings(self, head: Head) -> int:
        """How many distinct bindings head variables have; their table is there from now on."""
        keys = self._examples.bindings(head)
        self._messages.guards[Bindings(head)] = keys.table
        return len(keys)

    def _fetch(self, members: Sequence[_Kept]) -> dict[Clause, Counts]:
        """The counts of kept clauses, one query for each table that they are in."""
        by_table: dict[str, list[_Kept]] = {}
        for kept in members:
            if kept.table is not None:
                by_table.setdefault(kept.table.name, []).append(kept)
        found: dict[Clause, Counts] = {}
        for name, some in by_table.items():
            columns = [self._connection.dialect.cast(_counts(kept)) for kept in some]
            query = exp.Select().from_(own_table(name, "t"), copy=False)
            query = query.select(own_column("example", "t"), *columns, copy=False)
            example, *counts = self._connection.integers(self._text(query), 1 + len(some))
            # Rows come in any order: sorting them here is cheaper than in the database.
            of_example = np.argsort(example)[self._examples.bindings(self._tables[name].head).of_example]
            for kept, column in zip(some, counts, strict=True):
                found[kept.clause] = Counts(column[of_example], kept.total)
        return found


def _counts(kept: _Kept) -> exp.Column:
    return own_column(f"t{kept.column}", "t")
