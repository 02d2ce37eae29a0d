"""The columns of a model for its examples: counts of clauses, sums of weights, values of effects.

Bodies are compiled by ``engines.plan``, as for all engines, and ``links`` writes what their links tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from sqlglot import exp

from hornbeam.engines.export.levels import MeasuredRows
from hornbeam.engines.export.links import LinkQueries
from hornbeam.engines.export.measures import Need
from hornbeam.engines.export.relations import ExportedTables
from hornbeam.engines.export.rows import PlanRows, with_joins
from hornbeam.engines.export.user_tables import FreeNames, NamedQuery, UserFacts
from hornbeam.engines.plan.parts import RowPart
from hornbeam.engines.sql.expressions import Dialect, own_column, own_table

MOST_JOINS = 30
"""Number of tables joined to examples at once; SQLite joins at most 64 tables."""


class PlanColumns(Protocol):
    """Columns of examples that are made of parts of plans."""

    def wants(self) -> Iterator[tuple[RowPart, Need]]:
        """What is asked of the parts."""

    def before(self, queries: PlanQueries) -> Iterator[NamedQuery]:
        """Expressions that the columns read, besides those of links."""

    def columns(self, level: MeasuredRows) -> list[exp.Expr]:
        """The columns under their names."""


class PlanQueries:
    """Writes columns for the examples in a table of keys."""

    def __init__(
        self,
        wanted: Sequence[PlanColumns],
        facts: UserFacts,
        tables: ExportedTables,
        arity: int,
        names: FreeNames,
        dialect: Dialect,
        keys: str,
    ) -> None:
        """``keys`` is the table of keys ``k0 k1 ...``, with the cut-off last if examples have one."""
        self.facts = facts
        self.names = names
        self.dialect = dialect
        self.keys = keys
        self.width = arity + facts.times.cutoffs
        self._wanted = wanted
        self._arity = arity
        self._tables = tables
        self._links = LinkQueries(facts, tables, names, dialect)
        wants = {want: None for each in wanted for want in each.wants()}
        start = exp.Select().from_(own_table(keys, "e"), copy=False)
        self._measured = self._links.measured(wants, self._rows(), start, keys)

    def queries(self) -> Iterator[NamedQuery]:
        """What links tell, and what else columns read."""
        yield from (each for each in self._links.named if each is not None)
        for each in self._wanted:
            yield from each.before(self)

    def with_columns(self) -> Iterator[NamedQuery]:
        """Expressions that add the columns to the examples; the last one has all of them."""
        start, named, level = self.keys, [], self.level()
        for number, wanted in enumerate(self._wanted, start=1):
            named += wanted.columns(level)
            joins = len(level.joined) + len(level.rows.lookups)
            if joins >= MOST_JOINS or number == len(self._wanted):
                query = exp.select("e.*", *named).from_(own_table(start, "e"))
                query = with_joins(query, [*level.rows.lookups, *level.joined])
                start = self.names.take("example_values")
                yield NamedQuery(start, query)
                named, level = [], self.level()

    def level(self) -> MeasuredRows:
        """Examples, under the alias ``e``, and what is known of their links."""
        return self._links.level(self._rows(), self._measured)

    def _rows(self) -> PlanRows:
        arity = self._arity
        cutoff = own_column(f"k{arity}", "e") if self.facts.times.cutoffs else None
        inputs = {place: own_column(f"k{place}", "e") for place in range(arity)}
        return PlanRows(self.facts, self._tables, self.dialect, inputs, cutoff)
