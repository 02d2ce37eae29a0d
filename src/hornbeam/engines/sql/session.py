"""Counting where the data are: only sums come back, and the counts of the one clause that is chosen.

Examples with equal keys at the head variables that a clause uses have equal counts, so counts are
kept for the distinct bindings of those variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from hornbeam.data.database import Codes
from hornbeam.engines.contract import INT64_MAX, Column, Counts, Session, Skipped, Sums
from hornbeam.engines.sql.connection import Connection, Values
from hornbeam.engines.sql.count_tables import CountedClause, CountTables, largest_counts
from hornbeam.engines.sql.examples import Head, SqlExamples
from hornbeam.engines.sql.expressions import CUTOFF, SqlSource
from hornbeam.engines.sql.messages import (
    CELL,
    MOST_COLUMNS,
    MessageQueries,
    MessageTables,
    needed,
)
from hornbeam.engines.sql.plan import Formula, Guard, HeadBindings, SqlMessage
from hornbeam.engines.sql.queries import counts_query, largest_logarithm, logarithms_query
from hornbeam.engines.sql.query_templates import CountsQuery, QueryTemplates
from hornbeam.engines.sql.sizes import WIDE_MAX, Sizes, Statistics
from hornbeam.logic.clauses import Clause

MOST_CLAUSES = 400
"""Clauses planned and counted together."""


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
        templates: QueryTemplates | None = None,
    ) -> None:
        self._logarithm = logarithm
        self._templates = QueryTemplates() if templates is None else templates
        # The tables have logarithms then, so the counts of a chosen clause are counted again.
        plain = (connection, source, statistics, keys, total, memory, False, templates)
        self._plain = SqlSession(*plain) if logarithm else None
        self._connection = connection
        self._source = source
        self._total = total
        self._memory = memory
        self._head_types: tuple[str, ...] = ()
        self._examples = SqlExamples(connection, keys, self._values, self._bound)
        self._sizes = Sizes(source.schema, statistics, lambda guard: self._bindings(guard.head))
        self._messages = MessageTables(source, connection, self._sizes, memory // 2)
        self._kept: dict[Clause, CountedClause | Skipped] = {}
        self._tables = CountTables(connection, self._examples, memory // 4)

    def set_gradients(self, gradients: npt.NDArray[np.int64]) -> None:
        self._examples.set_gradients(gradients)

    def sums(self, clauses: Sequence[Clause]) -> Sums:
        new = [clause for clause in clauses if clause not in self._kept]
        self._tables.update(
            [kept for clause in clauses if isinstance(kept := self._kept.get(clause), CountedClause)]
        )
        dropped = [
            clause
            for clause in clauses
            if isinstance(kept := self._kept.get(clause), CountedClause)
            and kept.round != self._examples.round
        ]
        for counted in self._count(new + dropped):
            self._tables.update(counted)
        found = [kept for clause in clauses if isinstance(kept := self._kept[clause], CountedClause)]
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
            if isinstance(kept, CountedClause) and kept.table is not None:
                known.append(kept)
            elif not isinstance(kept, Skipped):
                missing.append(clause)
        found = self._tables.fetch(known)
        for batch in self._batches(missing):
            found |= self._at_once(batch)
        skipped = {clause: kept for clause, kept in self._kept.items() if isinstance(kept, Skipped)}
        return [skipped.get(clause) or found[clause] for clause in clauses]

    def close(self) -> None:
        if self._plain is not None:
            self._plain.close()
        self._tables.close()
        self._messages.close()
        self._examples.close()
        self._kept.clear()

    # --- counting --------------------------------------------------------------------------------

    def _count(self, clauses: Sequence[Clause]) -> Iterator[list[CountedClause]]:
        """Count clauses, new or dropped, and keep the counts; a batch of these may go after its turn."""
        return map(self._count_batch, self._batches(clauses))

    def _batches(self, clauses: Sequence[Clause]) -> Iterator[dict[Clause, Formula]]:
        """Clauses with their plans, in batches that fit the budget; those refused are noted."""
        timed: frozenset[str] = frozenset()
        if clauses:
            self._head_types = self._source.schema.types_of(clauses[0].head.predicate)
            if self._examples.columns > len(self._head_types):
                self._head_types, timed = (*self._head_types, CUTOFF), self._source.timed()
        planned: set[SqlMessage] = set()
        batch: dict[Clause, Formula] = {}
        room = self._memory // 4
        for clause in clauses:
            plan = self._templates.plan(clause, self._source.schema, timed)
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
        found = self._tables.fetch(self._count_batch(doubtful)) if doubtful else {}
        by_head: dict[Head, list[Clause]] = {}
        for clause, plan in batch.items():
            if clause not in doubtful:
                by_head.setdefault(plan.head, []).append(clause)
        for head, clauses in by_head.items():
            for start in range(0, len(clauses), MOST_COLUMNS):
                chunk = {clause: batch[clause] for clause in clauses[start : start + MOST_COLUMNS]}
                keys = self._examples.bindings(head)
                for group, text, by_code in self._queries_for(head, chunk):
                    key, *counts = self._connection.integers(text, 1 + len(group))
                    for clause, some in zip(group, counts, strict=True):
                        column = keys.gather(key, some) if by_code else keys.spread(key, some)
                        found[clause] = Counts(column, self._total(clause))
        return found

    def _queries_for(self, head: Head, plans: dict[Clause, Formula]) -> list[CountsQuery]:
        """Queries of the counts of clauses over the same head variables, from a template where possible."""
        vector = self._vector(head, plans)
        if not self._messages.is_empty:
            return list(self._written(head, plans, vector))
        key = (tuple(plans), self._examples.columns, vector is None)
        queries = self._templates.find(key, self._table)
        if queries is None:
            heads = [guard.head for guard in self._messages.guards if isinstance(guard, HeadBindings)]
            stand_ins: dict[Guard, str] = {
                HeadBindings(each): self._templates.stand_in(each) for each in heads
            }
            self._templates.keep(key, self._written(head, plans, vector, stand_ins), heads)
            queries = self._templates.find(key, self._table)
            assert queries is not None
        return queries

    def _table(self, head: Head) -> str:
        return self._examples.bindings(head).table

    def _vector(self, head: Head, plans: dict[Clause, Formula]) -> SqlMessage | None:
        """The message that is the count of the one clause, where all of it may come over as it is."""
        if len(plans) != 1 or not self._source.coded:
            return None
        (plan,) = plans.values()
        message = plan.vector()
        if message is None or self._sizes.rows(message.shape) > 2 * self._bindings(head):
            return None
        return message

    def _written(
        self,
        head: Head,
        plans: dict[Clause, Formula],
        vector: SqlMessage | None,
        stand_ins: Mapping[Guard, str] | None = None,
    ) -> Iterator[CountsQuery]:
        """Write the queries; ``stand_ins`` are names to use instead of those of guards' tables."""
        dialect = self._connection.dialect
        queries = MessageQueries(self._connection)
        messages = self._messages.beside(queries)
        messages.guards.update(stand_ins or {})
        alone = {message: c for c, plan in plans.items() if (message := plan.guarded()) is not None}
        if vector is not None:
            alone = {vector: next(iter(plans))}
        if len(alone) < len(plans):
            messages.place(plans.values())
            query = self._counts_query(head, list(plans.values()), messages)
            yield CountsQuery(tuple(plans), dialect.text(queries.around(query)))
            return
        messages.place_children(alone)
        for group, query in messages.queries(list(alone), by_example=vector is None):
            text = dialect.text(queries.around(query))
            yield CountsQuery(tuple(alone[message] for message in group), text, vector is not None)

    def _count_batch(self, batch: dict[Clause, Formula]) -> list[CountedClause]:
        self._messages.trim()
        self._tables.trim()
        self._messages.place(batch.values())
        by_head: dict[Head, dict[Clause, Formula]] = {}
        for clause, plan in batch.items():
            by_head.setdefault(plan.head, {})[clause] = plan
        kept: list[CountedClause] = []
        for head, plans in by_head.items():
            clauses = list(plans)
            for start in range(0, len(clauses), MOST_COLUMNS):
                chunk = clauses[start : start + MOST_COLUMNS]
                kept += self._keep(head, {clause: plans[clause] for clause in chunk})
        return kept

    def _keep(self, head: Head, plans: dict[Clause, Formula]) -> list[CountedClause]:
        """Make a table of counts, or of their logarithms, and its members; without those too large."""
        new = {clause: plan for clause, plan in plans.items() if clause not in self._kept}
        self._admit(head, new)
        members = [kept for clause in plans if isinstance(kept := self._kept[clause], CountedClause)]
        if members:
            formulas = [plans[kept.clause] for kept in members]
            query = self._counts_query(head, formulas, self._messages, "weight")
            if self._logarithm:
                query = logarithms_query(self._connection.dialect, query, len(members))
            self._tables.add(head, members, query)
        return members

    def _counts_query(
        self, head: Head, plans: Sequence[Formula], messages: MessageTables, *carried: str
    ) -> exp.Select:
        dialect, bindings = self._connection.dialect, messages.guards[HeadBindings(head)]
        carried = ("example", *carried)
        return counts_query(self._source, dialect, plans, head, bindings, messages.tables, carried, False)

    def _admit(self, head: Head, plans: dict[Clause, Formula]) -> None:
        """Note new clauses, or that their counts are too large; where only bounds are, counts decide."""
        largest = {clause: self._sizes.formula(plan) for clause, plan in plans.items()}
        doubtful = {clause: plan for clause, plan in plans.items() if largest[clause] > INT64_MAX}
        if doubtful:
            counts = self._counts_query(head, list(doubtful.values()), self._messages).subquery("t")
            found = largest_counts(self._connection, counts, range(len(doubtful)))
            largest.update(zip(doubtful, found, strict=True))
        for clause, most in largest.items():
            if most > INT64_MAX:
                reason = "its true count may exceed int64"
                self._kept[clause] = Skipped(clause, reason, most, INT64_MAX)
            else:
                most = largest_logarithm(most) if self._logarithm else most
                self._kept[clause] = CountedClause(clause, self._total(clause), most)

    # --- examples --------------------------------------------------------------------------------

    def _values(self, variable: int, codes: Codes) -> Values:
        return self._source.key_values(self._head_types[variable], codes)

    def _bound(self, keys: str, head: Head) -> exp.Select | None:
        return self._source.bound(keys, [self._head_types[variable] for variable in head])

    def _bindings(self, head: Head) -> int:
        """How many distinct bindings head variables have; their table is there from now on."""
        keys = self._examples.bindings(head)
        self._messages.guards[HeadBindings(head)] = keys.table
        return len(keys)
