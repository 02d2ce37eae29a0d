"""Whole queries: the tally of a request, and the groundings that several requests have in common.

These groundings stay in a table of the system, or are fetched with numbers in place of values.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from hornbeam.engines.sql.expressions import Dialect, own_alias, own_column
from hornbeam.engines.sql.tallies.numbers import Numbers
from hornbeam.engines.sql.tallies.queries import (
    Bindings,
    Expressions,
    Groundings,
    StepSource,
    StepsQuery,
    TallySource,
)
from hornbeam.engines.tally import TallyRequest
from hornbeam.logic.clauses import Atom
from hornbeam.logic.effects import NUMBER_OF_FACTS, Recent, atom_in


class TallyQuery(StepsQuery):
    """Writes the query of one request."""

    def __init__(
        self, source: TallySource, request: TallyRequest, types: Mapping[int, str], bindings: Bindings
    ) -> None:
        super().__init__(source, request, types, bindings, Expressions())
        self._tallied = source.tallied

    def write(self, dialect: Dialect, start: Groundings | None = None) -> exp.Select:
        """The query: ``example``, the fetched variables, the time if there is one, and the number."""
        self.write_steps(dialect, start)
        groups: list[exp.Expr] = [dialect.cast(own_column("example", "s"))]
        for variable in self.fetched():
            column, type_name = own_column(f"v{variable}", "s"), self._types[variable]
            groups.append(column if type_name == NUMBER_OF_FACTS else self._tallied(column, type_name))
        if self.has_moment:
            groups.append(self._source.tallied_time(own_column("moment", "s")))
        return self._expressions.around(self.grouped(groups, [f"g{n}" for n in range(len(groups))], dialect))


class GroundingsQuery(StepsQuery):
    """Writes the query of a table of groundings, with the variables of the request."""

    def __init__(
        self, source: StepSource, request: TallyRequest, types: Mapping[int, str], bindings: Bindings
    ) -> None:
        super().__init__(source, request, types, bindings, Expressions())

    def write(self, dialect: Dialect, start: Groundings | None = None) -> exp.Select:
        """The query: the columns of the groundings, those that are the same as one."""
        self._write_groundings(dialect, start)
        _, query = self._expressions.named.pop()
        return self._expressions.around(query)

    def _write_groundings(self, dialect: Dialect, start: Groundings | None) -> None:
        self.write_steps(dialect, start)
        wanted = {*self._wanted(), *self._bindings.variables}
        if not wanted.issuperset(self._known):
            self._merge(self._wanted(), self._request.times, dialect)

    def table(self, name: str) -> Groundings:
        """The table that the query, which must be written, makes under a name."""
        return Groundings(name, self._request.body, tuple(self._known), self._has_moment, self._has_number)

    def _wanted(self) -> tuple[int, ...]:
        return self._request.variables


class PathQuery(GroundingsQuery):
    """Writes the query that fetches groundings, with numbers in place of values and times."""

    def write_numbers(
        self, dialect: Dialect, numbers: Numbers, start: Groundings | None = None
    ) -> exp.Select:
        """The query: ``example``, the variables, the time if there is one, the number if it is not 1."""
        self._write_groundings(dialect, start)
        select = self._from_last()
        values: list[exp.Expr] = [dialect.cast(own_column("example", "s"))]
        for variable in self._request.variables:
            value, type_name = own_column(f"v{variable}", "s"), self._types[variable]
            if type_name == NUMBER_OF_FACTS:
                values.append(dialect.cast(value))
            else:
                values.append(numbers.of_constant(select, value, type_name, f"n{variable}"))
        if self.timed is not None:
            values.append(numbers.of_time(select, own_column("moment", "s"), self.timed, "m"))
        if self._has_number:
            values.append(dialect.cast(own_column("n", "s")))
        named = [own_alias(value, f"g{place}") for place, value in enumerate(values)]
        return self._expressions.around(select.select(*named, copy=False))

    @property
    def timed(self) -> str | None:
        """The predicate whose facts have the times that the query, which must be written, returns."""
        atoms = [atom_in(step) for step in self._request.body if isinstance(step, Atom | Recent)]
        timed = [atom.predicate for atom in atoms if atom and self._source.relation(atom.predicate).time]
        return timed[-1] if self.has_moment else None

    @property
    def has_number(self) -> bool:
        """Whether rows of the query, which must be written, stand for several groundings."""
        return self._has_number
