"""Answers to questions about facts that stay in their tables, found by queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from sqlglot import exp

from hornbeam.data.database import Codes, Population
from hornbeam.data.keys import key_text
from hornbeam.data.numbers import Floats, numbers_of, weighted_quantiles
from hornbeam.engines.contract import DEFAULT_MEMORY
from hornbeam.engines.sql.expressions import (
    EVERYTHING,
    NOTHING,
    SqlRelation,
    aliased,
    cutoff_value,
    integer,
    numeric,
    own_column,
)
from hornbeam.errors import EngineError
from hornbeam.in_place.groundings import named_groundings
from hornbeam.in_place.histogram import Histogram, plain_value
from hornbeam.in_place.population import PopulationInPlace
from hornbeam.in_place.source import ColumnNumbers, TableSource, as_text
from hornbeam.logic.clauses import Clause, Value
from hornbeam.logic.schema import DATE, number_of

MOST_FETCHED = 100_000
"""The most distinct values of a column that are fetched to find quantiles; for more, queries find them."""


class TableFacts:
    """The facts of a database that stay in their tables (``data.facts.FactsInPlace``)."""

    def __init__(
        self, source: TableSource, memory: int = DEFAULT_MEMORY, closes_connection: bool = False
    ) -> None:
        """``memory`` is the memory of the connection. With ``closes_connection``, ``close`` closes it too."""
        self.memory = memory
        self._source = source
        self._closes_connection = closes_connection
        self._is_closed = False
        self._shapes: dict[tuple[str | tuple[str, ...], tuple[str, ...]], tuple[int, int]] = {}

    @property
    def source(self) -> TableSource:
        if self._is_closed:
            raise EngineError("the database is closed; load it again to use it.")
        return self._source

    @property
    def engine(self) -> str:
        return self._source.connection.dialect.name

    def close(self) -> None:
        if not self._is_closed:
            self._source.close()
            if self._closes_connection:
                self._source.connection.close()
        self._is_closed = True

    # --- predicates, constants, numbers ----------------------------------------------------------

    def predicates(self) -> Collection[str]:
        return self._source.tables.keys()

    def n_facts(self, predicate: str) -> int:
        return self.source.rows(predicate)

    def constants_at(self, predicate: str, position: int) -> tuple[str, ...]:
        source = self.source
        relation = source.relation(predicate)
        kind = source.schema.numeric.get(source.schema.types_of(predicate)[position])
        column = relation.column(position, "f")
        value = as_text(column) if kind is None else numeric(column, kind == DATE)
        rows = source.run(exp.select(value).distinct().from_(aliased(relation.item, "f")))
        return tuple(sorted(key_text(name) for (name,) in rows))

    def frequent_at(
        self, predicate: str, position: int, least: int, until: float = np.inf
    ) -> tuple[str, ...]:
        relation = self.source.relation(predicate)
        value = exp.alias_(as_text(relation.column(position, "f")), "v")
        values = self._until(exp.select(value), relation, until).subquery("f")
        often = exp.GTE(this=exp.Count(this=exp.Star()), expression=integer(least))
        query = exp.select(own_column("v")).from_(values).group_by(own_column("v")).having(often)
        return tuple(sorted(key_text(name) for (name,) in self.source.run(query)))

    def shape_at(self, predicate: str, positions: Sequence[int]) -> tuple[int, int]:
        source = self.source
        if predicate not in source.tables:
            return 0, 0
        table = source.tables[predicate]
        columns = tuple(table.columns[place] for place in positions)
        if len(columns) == 1 and columns[0] in table.unique:
            rows = source.rows(predicate)
            return min(rows, 1), rows
        # Predicates whose facts are all rows of a table have the same shape at the same columns.
        key = (predicate if table.rows is None or not table.distinct else table.name, columns)
        if key not in self._shapes:
            relation = source.relation(predicate)
            number = exp.alias_(exp.Count(this=exp.Star()), "n")
            counts = exp.select(number).from_(aliased(relation.item, "f"))
            if positions:
                counts = counts.group_by(*(relation.column(place, "f") for place in positions))
            largest = exp.Max(this=own_column("n"))
            present = exp.GT(this=own_column("n"), expression=integer(0))
            query = exp.select(largest, exp.Count(this=exp.Star())).from_(counts.subquery("h"))
            ((most, distinct),) = source.run(query.where(present))
            self._shapes[key] = int(most or 0), int(distinct)
        return self._shapes[key]

    def is_identity(self, predicate: str) -> bool:
        source = self.source
        types = source.schema.types_of(predicate)
        if len(types) != 2 or types[0] != types[1]:
            return False
        if predicate not in source.tables:
            return True
        relation = source.relation(predicate)
        differs = exp.NEQ(this=relation.column(0, "f"), expression=relation.column(1, "f"))
        query = exp.select(exp.Count(this=exp.Star())).from_(aliased(relation.item, "f")).where(differs)
        ((number,),) = source.run(query)
        return int(number) == 0

    def thresholds_at(
        self, predicate: str, position: int, number: int, until: float = np.inf
    ) -> tuple[Value, ...]:
        source = self.source
        if predicate not in source.tables:
            return ()
        relation = source.relation(predicate)
        kind = source.schema.numeric[source.schema.types_of(predicate)[position]]
        value = exp.alias_(numeric(relation.column(position, "f"), kind == DATE), "v")
        facts = self._until(exp.select(value), relation, until)
        count = exp.alias_(exp.Count(this=exp.Star()), "n")
        counts = exp.select(own_column("v"), count).from_(facts.subquery("f")).group_by(own_column("v"))
        if source.sizes(predicate, position).distinct <= MOST_FETCHED:
            rows = source.run(exp.select("v", "n").from_(counts.subquery("h")).order_by("v"))
            distinct = np.array([number_of(plain_value(value)) for value, _ in rows], dtype=np.float64)
            return weighted_quantiles(distinct, np.array([int(n) for _, n in rows]), number, kind)
        histogram = Histogram(source.connection, counts)
        try:
            return histogram.thresholds(number)
        finally:
            histogram.close()

    def _until(self, selected: exp.Select, relation: SqlRelation, until: float) -> exp.Select:
        """The query of some columns of the facts up to a time."""
        source = self.source
        facts = selected.from_(aliased(relation.item, "f"))
        if until < np.inf and relation.time is not None:
            cutoff = cutoff_value(source.cutoff_text(until), source.time_kind)
            facts = facts.where(source.exists(relation.since("f"), cutoff))
        return facts

    def values_of(self, type_name: str, codes: Codes) -> Floats:
        names = self.source.names[type_name]
        kind = self.source.schema.numeric[type_name]
        return numbers_of([names[code] for code in codes.tolist()], kind, type_name)

    def fingerprint(self) -> list[tuple[str, int, tuple[ColumnNumbers, ...]]]:
        """The number of rows of each predicate, and the sizes of its columns."""
        source, arity = self.source, self.source.schema.arity
        return [
            (name, source.rows(name), tuple(source.sizes(name, place) for place in range(arity(name))))
            for name in sorted(source.tables)
        ]

    # --- times -----------------------------------------------------------------------------------

    def timed(self) -> Collection[str]:
        return self._source.timed()

    def span_of(self, predicate: str) -> tuple[float, float]:
        source = self.source
        relation = source.relation(predicate)
        since = source.tallied_time(relation.since("f"))
        query = exp.select(exp.Min(this=since), exp.Max(this=since.copy()))
        query = query.from_(aliased(relation.item, "f"))
        if source.time_kind != DATE:
            edges = [cutoff_value(edge[source.time_kind], source.time_kind) for edge in (NOTHING, EVERYTHING)]
            query = query.where(
                exp.GT(this=since.copy(), expression=edges[0]), exp.LT(this=since.copy(), expression=edges[1])
            )
        ((first, last),) = source.run(query)
        if first is None:
            return np.inf, -np.inf
        earliest, latest = source.decoded_times(np.array([first, last], dtype=object)).tolist()
        return earliest, latest

    def cutoff_codes(self, last: Floats) -> Codes:
        return self._source.cutoff_codes(last.tolist())[:, None]

    def cutoffs_of(self, codes: Codes) -> Floats:
        return np.array(self._source.cutoffs(), dtype=np.float64)[codes[:, 0]]

    def last_times_of(self, codes: Codes) -> Floats:
        return self.cutoffs_of(codes)

    def until(
        self, end: float, populations: Mapping[str, Population], named: Mapping[str, Iterable[str]]
    ) -> tuple[TableFacts, dict[str, Population]] | None:
        source = self.source.until(end)
        if source is None:
            return None
        for type_name, names in named.items():
            source.add_names(type_name, names)
        return TableFacts(source, self.memory), {
            name: replace(each, count=partial(source.population, name))
            if isinstance(each, PopulationInPlace)
            else each
            for name, each in populations.items()
        }

    # --- groundings ------------------------------------------------------------------------------

    def groundings(self, clause: Clause, key: Sequence[int], limit: int) -> tuple[tuple[str, ...], ...]:
        return named_groundings(self.source, clause, key, limit)
