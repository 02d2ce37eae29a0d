"""A session that counts inside the SQL system and fetches sums, the counts of chosen clauses, and few counts.

Examples with equal keys at the head variables that a clause uses have equal counts, so the tables
have counts for the distinct bindings of those variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from hornbeam.data.database import Codes
from hornbeam.engines.contract import BYTES_PER_ANSWER, INT64_MAX, Column, Counts, Session, Skipped, Sums
from hornbeam.engines.estimate import Estimates, Statistics
from hornbeam.engines.sql.connection import Connection, Values
from hornbeam.engines.sql.counts.families import ClauseFamily, FamilyQuery, families
from hornbeam.engines.sql.counts.packed import Lanes, PackedQuery, lanes_of
from hornbeam.engines.sql.counts.tables import CountedClause, CountTables, largest_counts
from hornbeam.engines.sql.examples import Head, SqlExamples
from hornbeam.engines.sql.expressions import CUTOFF
from hornbeam.engines.sql.messages import (
    CELL,
    MOST_COLUMNS,
    MessageQueries,
    MessageTables,
)
from hornbeam.engines.sql.plan import Formula, Guard, HeadBindings, SqlMessage
from hornbeam.engines.sql.queries import HeadBindingTable, counts_query, largest_logarithm, logarithms_query
from hornbeam.engines.sql.query_templates import CountsQuery, QueryTemplates
from hornbeam.engines.sql.sizes import WIDE_MAX, Sizes
from hornbeam.engines.sql.tallies.queries import TallySource
from hornbeam.logic.clauses import Clause

MOST_CLAUSES = 400
"""Maximum number of clauses that are planned and counted together."""


class MeasuredSource(TallySource, Statistics, Protocol):
    """Facts that an engine can count, and their statistics."""


class SqlSession(Session):
    """The SQL system computes the sums; counts, or their logarithms, stay in its temporary tables."""

    def __init__(
        self,
        connection: Connection,
        source: MeasuredSource,
        keys: Codes,
        total: Callable[[Clause], int],
        memory: int,
        logarithm: bool = False,
        templates: QueryTemplates | None = None,
    ) -> None:
        self._logarithm = logarithm
        self._templates = QueryTemplates() if templates is None else templates
        # With ``logarithm`` the tables have no counts, so another session counts the chosen clauses.
        plain = (connection, source, keys, total, memory, False, templates)
        self._plain = SqlSession(*plain) if logarithm else None
        self._connection = connection
        self._source = source
        self._total = total
        self._memory = memory
        self._keys = keys
        self._estimates: Estimates | None = None
        self._head_types: tuple[str, ...] = ()
        self._examples = SqlExamples(connection, keys, self._values, self._bound)
        self._sizes = Sizes(source.schema, source, lambda guard: self._bindings(guard.head))
        self._messages = MessageTables(source, connection, self._sizes, memory // 2)
        self._answers: dict[Clause, CountedClause | Skipped] = {}
        self._tables = CountTables(connection, self._examples, memory // 4)

    def set_gradients(self, gradients: npt.NDArray[np.int64]) -> None:
        self._examples.set_gradients(gradients)

    def sums(self, clauses: Sequence[Clause]) -> Sums:
        self._forget(len(clauses))
        new = [clause for clause in clauses if clause not in self._answers]
        known = [each for clause in clauses if isinstance(each := self._answers.get(clause), CountedClause)]
        self._tables.update(known)
        dropped = [each.clause for each in known if each.round != self._examples.round]
        for members in self._count(new + dropped):
            self._tables.update(members)
        answers = [self._answers[clause] for clause in clauses]
        counted = [answer for answer in answers if isinstance(answer, CountedClause)]
        return Sums(
            [each.clause for each in counted],
            [each.total for each in counted],
            [each.true or 0 for each in counted],
            [each.true_squared for each in counted],
            [each.true_gradient for each in counted],
            tuple(answer for answer in answers if isinstance(answer, Skipped)),
            len(new),
        )

    def columns(self, clauses: Sequence[Clause]) -> list[Column]:
        answers = (self._plain or self).counts(clauses)
        return [counts.true for counts in answers if isinstance(counts, Counts)]

    def counts(self, clauses: Sequence[Clause]) -> list[Counts | Skipped]:
        """True counts of clauses, one per example."""
        self._forget(len(clauses))
        missing = []
        known = []
        for clause in dict.fromkeys(clauses):
            answer = self._answers.get(clause)
            if isinstance(answer, CountedClause) and answer.table is not None:
                known.append(answer)
            elif not isinstance(answer, Skipped):
                missing.append(clause)
        counts = self._tables.fetch(known)
        for batch in self._batches(self._plans(missing)):
            counts |= self._count_once(batch)
        skipped = {clause: each for clause, each in self._answers.items() if isinstance(each, Skipped)}
        return [skipped.get(clause) or counts[clause] for clause in clauses]

    def close(self) -> None:
        if self._plain is not None:
            self._plain.close()
        self._tables.close()
        self._messages.close()
        self._examples.close()
        self._answers.clear()

    def _forget(self, new: int) -> None:
        """Forget all answers if they, with those of new clauses, exceed a quarter of the budget."""
        if self._answers and BYTES_PER_ANSWER * (len(self._answers) + new) > self._memory // 4:
            self._tables.close()
            self._answers.clear()

    # --- counting --------------------------------------------------------------------------------

    def _count(self, clauses: Sequence[Clause]) -> Iterator[list[CountedClause]]:
        """Count clauses, new or dropped, into tables; a later batch may drop the tables of an earlier one."""
        plans = self._plans(clauses)
        for family in families(plans):
            if any(self._sizes.formula(plans[clause]) > INT64_MAX for clause in family.constants):
                continue
            lanes = lanes_of(family, self._sizes)
            cells = self._memory // 4 // (CELL * max(1, self._bindings(family.plan.head)))
            for part in family.parts(len(family.constants) if lanes is None else min(cells, MOST_COLUMNS)):
                members = self._count_family(part, lanes, plans)
                if members:
                    for clause in part.constants:
                        del plans[clause]
                    yield members
        yield from map(self._count_batch, self._batches(plans))

    def _plans(self, clauses: Sequence[Clause]) -> dict[Clause, Formula]:
        """The plans of clauses; a refused clause is stored as skipped."""
        timed: frozenset[str] = frozenset()
        if clauses:
            self._head_types = self._source.schema.types_of(clauses[0].head.predicate)
            if self._estimates is None:
                arity = len(self._head_types)
                self._estimates = Estimates(
                    self._source, self._keys, arity, self._source.timed(), self._memory
                )
            if self._examples.columns > len(self._head_types):
                self._head_types, timed = (*self._head_types, CUTOFF), self._source.timed()
        plans = {}
        for clause in clauses:
            plan = self._templates.plan(clause, self._source.schema, timed)
            plan = self._sizes.restricted(plan, len(self._keys))
            refused = self._refused(clause, plan)
            if refused is None:
                plans[clause] = plan
            else:
                self._answers[clause] = refused
        return plans

    def _batches(self, plans: Mapping[Clause, Formula]) -> Iterator[dict[Clause, Formula]]:
        """Clauses with their plans, in batches that fit the budget."""
        planned: set[SqlMessage] = set()
        batch: dict[Clause, Formula] = {}
        room = self._memory // 4
        for clause, plan in plans.items():
            cost = self._messages.cost(plan, planned) + CELL * self._bindings(plan.head)
            if batch and (cost > room or len(batch) == MOST_CLAUSES):
                yield batch
                batch, planned, room = {}, set(), self._memory // 4
            batch[clause] = plan
            room -= cost
        if batch:
            yield batch

    def _refused(self, clause: Clause, plan: Formula) -> Skipped | None:
        assert self._estimates is not None
        refused = self._estimates.refused(clause, self._templates.terms(clause, self._source.schema))
        if refused is not None:
            return refused
        largest = self._sizes.formula(plan)
        if largest > WIDE_MAX:
            return Skipped(clause, "its true count may exceed int64", largest, INT64_MAX)
        return None

    def _count_once(self, batch: dict[Clause, Formula]) -> dict[Clause, Counts]:
        """Counts that are needed only once: in one query for each head if the dialect prefers that."""
        doubtful = {clause: plan for clause, plan in batch.items() if self._sizes.formula(plan) > INT64_MAX}
        if not self._connection.dialect.one_query:
            doubtful = batch
        results = self._tables.fetch(self._count_batch(doubtful)) if doubtful else {}
        by_head: dict[Head, list[Clause]] = {}
        for clause, plan in batch.items():
            if clause not in doubtful:
                by_head.setdefault(plan.head, []).append(clause)
        for head, clauses in by_head.items():
            for start in range(0, len(clauses), MOST_COLUMNS):
                chunk = {clause: batch[clause] for clause in clauses[start : start + MOST_COLUMNS]}
                keys = self._examples.bindings(head)
                for group, text, by_code in self._queries_for(head, chunk):
                    key, *columns = self._connection.integers(text, 1 + len(group))
                    for clause, counts in zip(group, columns, strict=True):
                        column = keys.gather(key, counts) if by_code else keys.spread(key, counts)
                        results[clause] = Counts(column, self._total(clause))
        return results

    def _queries_for(self, head: Head, plans: dict[Clause, Formula]) -> list[CountsQuery]:
        """Queries of the counts of clauses over the same head variables, from a template where possible."""
        vector = self._vector(head, plans)
        if not self._messages.is_empty:
            return list(self._written(head, plans, vector))
        key = (
            tuple(plans),
            tuple(plan.guards() for plan in plans.values()),
            self._examples.columns,
            vector is None,
        )
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
        """The message that is the count of a single clause, if it is small enough to fetch whole."""
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
            messages.make_for(plans.values())
            query = self._counts_query(head, list(plans.values()), messages)
            yield CountsQuery(tuple(plans), dialect.text(queries.around(query)))
            return
        messages.make_children(alone)
        for group, query in messages.queries(list(alone), by_example=vector is None):
            text = dialect.text(queries.around(query))
            yield CountsQuery(tuple(alone[message] for message in group), text, vector is not None)

    def _count_batch(self, batch: dict[Clause, Formula]) -> list[CountedClause]:
        self._messages.trim()
        self._tables.trim()
        self._messages.make_for(batch.values())
        by_head: dict[Head, dict[Clause, Formula]] = {}
        for clause, plan in batch.items():
            by_head.setdefault(plan.head, {})[clause] = plan
        counted: list[CountedClause] = []
        for head, plans in by_head.items():
            clauses = list(plans)
            for start in range(0, len(clauses), MOST_COLUMNS):
                chunk = clauses[start : start + MOST_COLUMNS]
                counted += self._add_table(head, {clause: plans[clause] for clause in chunk})
        return counted

    def _count_family(
        self, family: ClauseFamily, lanes: Lanes | None, plans: Mapping[Clause, Formula]
    ) -> list[CountedClause]:
        """Count a family into one table; returns its members, none if its constants cannot be in a table."""
        constants = list(dict.fromkeys(family.constants.values()))
        values = self._source.constant_values(family.varied_type(self._source.schema), constants)
        if values is None:
            return []
        self._messages.trim()
        self._tables.trim()
        head = family.plan.head
        self._bindings(head)
        for message in (family.plan.terms[0].factors[0].message, *family.others()):
            # This makes the tables of bindings that guard messages.
            self._sizes.widest_guard(message)
        self._messages.make_all(family.others())
        new = {clause: plans[clause] for clause in family.constants if clause not in self._answers}
        self._admit(head, new)
        number = {constant: place for place, constant in enumerate(constants)}
        numbers = {
            each: number[constant]
            for clause, constant in family.constants.items()
            if isinstance(each := self._answers[clause], CountedClause)
        }
        given = self._connection.new_name()
        units = (
            lanes.units(len(constants)) if lanes else {"member": np.arange(len(constants), dtype=np.int32)}
        )
        self._connection.load(given, {"value": values, **units})
        self._add_family(family, lanes, given, numbers)
        self._connection.drop(given)
        return list(numbers)

    def _add_family(
        self, family: ClauseFamily, lanes: Lanes | None, given: str, numbers: dict[CountedClause, int]
    ) -> None:
        """Make the table of a family's counts: a row for each of them, or packed a column for each clause."""
        dialect, head = self._connection.dialect, family.plan.head
        parts = (self._source, dialect, self._messages.tables, given)
        bindings = HeadBindingTable(self._messages.guards[HeadBindings(head)], head, ("example", "weight"))
        if lanes is None:
            query = FamilyQuery(*parts).write(family.plan, bindings)
            if self._logarithm:
                query = logarithms_query(dialect, query, 1, ("example", "weight", "member"))
            self._tables.add_rows(head, numbers, query)
        elif numbers:
            query = PackedQuery(*parts).write_columns(family, bindings, lanes, list(numbers.values()))
            if self._logarithm:
                query = logarithms_query(dialect, query, len(numbers))
            self._tables.add(head, list(numbers), query)

    def _add_table(self, head: Head, plans: dict[Clause, Formula]) -> list[CountedClause]:
        """Make a table of counts, or of their logarithms; returns its members, without skipped clauses."""
        new = {clause: plan for clause, plan in plans.items() if clause not in self._answers}
        self._admit(head, new)
        members = [each for clause in plans if isinstance(each := self._answers[clause], CountedClause)]
        if members:
            formulas = [plans[counted.clause] for counted in members]
            query = self._counts_query(head, formulas, self._messages, "weight")
            if self._logarithm:
                query = logarithms_query(self._connection.dialect, query, len(members))
            self._tables.add(head, members, query)
        return members

    def _counts_query(
        self, head: Head, plans: Sequence[Formula], messages: MessageTables, *others: str
    ) -> exp.Select:
        """The counts of clauses by binding; ``others`` are columns of the bindings to add."""
        bindings = HeadBindingTable(messages.guards[HeadBindings(head)], head, ("example", *others))
        dialect = self._connection.dialect
        return counts_query(self._source, dialect, plans, bindings, messages.tables, every_row=False)

    def _admit(self, head: Head, plans: dict[Clause, Formula]) -> None:
        """Store new clauses as counted, or as skipped if counts are too large.

        If the upper bound of a clause exceeds int64, its actual counts decide.
        """
        largest = {clause: self._sizes.formula(plan) for clause, plan in plans.items()}
        doubtful = {clause: plan for clause, plan in plans.items() if largest[clause] > INT64_MAX}
        if doubtful:
            counts = self._counts_query(head, list(doubtful.values()), self._messages).subquery("t")
            measured = largest_counts(self._connection, counts, range(len(doubtful)))
            largest.update(zip(doubtful, measured, strict=True))
        for clause, most in largest.items():
            if most > INT64_MAX:
                reason = "its true count may exceed int64"
                self._answers[clause] = Skipped(clause, reason, most, INT64_MAX)
            else:
                most = largest_logarithm(most) if self._logarithm else most
                self._answers[clause] = CountedClause(clause, self._total(clause), most)

    # --- examples --------------------------------------------------------------------------------

    def _values(self, variable: int, codes: Codes) -> Values:
        return self._source.key_values(self._head_types[variable], codes)

    def _bound(self, keys: str, head: Head) -> exp.Select | None:
        return self._source.bound(keys, [self._head_types[variable] for variable in head])

    def _bindings(self, head: Head) -> int:
        """The number of distinct bindings of head variables; their table is made and used as a guard."""
        keys = self._examples.bindings(head)
        self._messages.guards[HeadBindings(head)] = keys.table
        return len(keys)
