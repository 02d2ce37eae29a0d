"""Facts that stay where they are: tables of a database, counted in place.

Nothing is exported or coded anew. Constants are the columns' own values, joined as they are; in
clauses and keys they go by their text, those of numeric types by their value. The user's tables are
only read; what is made (constants of each type, distinct rows of tables that repeat some) is
temporary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sqlglot import exp

from hornbeam.data.database import Codes
from hornbeam.data.keys import key_text
from hornbeam.data.numbers import weighted_quantiles
from hornbeam.engines.sql.connection import Connection, Values
from hornbeam.engines.sql.expressions import (
    CUTOFF,
    EVERYTHING,
    NOTHING,
    SqlRelation,
    SqlTable,
    aliased,
    column,
    compared,
    conjunction,
    cutoff_value,
    equal_number,
    exists_at,
    integer,
    numeric,
    own_column,
    own_table,
)
from hornbeam.engines.sql.sizes import ColumnSizes
from hornbeam.errors import SchemaError
from hornbeam.logic.clauses import Value
from hornbeam.logic.schema import DATE, NUMBER, Schema, number_of, read_value, value_of

MOST_FETCHED = 100_000
"""Distinct values of a column that may come over to be cut into parts; of more the parts are asked for."""


class TableSource:
    """The user's tables as a source of facts, through one connection."""

    coded = False

    def __init__(
        self,
        connection: Connection,
        schema: Schema,
        tables: Mapping[str, SqlTable],
        things: Mapping[str, Sequence[SqlTable]] | None = None,
        times: str = NUMBER,
    ) -> None:
        """``things`` are tables of one column whose values are constants of a type, with facts or without.

        ``times`` says what the times of facts are: numbers, or dates.
        """
        for predicate, table in tables.items():
            if len(table.columns) != schema.arity(predicate):
                raise SchemaError(
                    f'table {".".join(table.name)} has {len(table.columns)} columns for "{predicate}", '
                    f"which takes {schema.arity(predicate)}; name one column per argument."
                )
        self.connection = connection
        self.times = times
        self._schema = schema
        self._tables = tables
        self._things = things or {}
        self._relations: dict[str, SqlRelation] = {}
        self._rows: dict[str, int] = {}
        self._sizes: dict[tuple[str, int], ColumnSizes] = {}
        self._constants: dict[str, str] = {}
        self._made: list[str] = []
        self._cutoffs: dict[float, int] = {}
        self.names: dict[str, Sequence[str]] = {}
        """the constants of each type that somebody named, in the order of their codes"""
        self.populations: dict[str, int] = {}
        """how many constants each type has"""

    @property
    def schema(self) -> Schema:
        return self._schema

    # --- what queries are made of ----------------------------------------------------------------

    def relation(self, predicate: str) -> SqlRelation:
        """The table itself where its rows are distinct and complete, else a temporary one of such rows."""
        known = self._relations.get(predicate)
        if known is None:
            known = self._relations[predicate] = self._distinct(predicate)
        return known

    def equals(self, value: exp.Expr, type_name: str, name: str) -> exp.Expr:
        if type_name in self._schema.numeric:
            constant = read_value(name)
            return exp.false() if constant is None else equal_number(value, constant)
        return exp.EQ(this=_text(value), expression=exp.Literal.string(name))

    def compares(self, value: exp.Expr, type_name: str, operator: str, threshold: Value) -> exp.Expr:
        return compared(value, operator, threshold)

    def timed(self) -> frozenset[str]:
        return frozenset(name for name, table in self._tables.items() if table.time is not None)

    def exists(self, since: exp.Expr, cutoff: exp.Expr) -> exp.Expr:
        return exists_at(since, cutoff, self.times)

    def cutoff_codes(self, cutoffs: Iterable[float]) -> Codes:
        """Numbers for cut-offs, in the order in which they were first seen."""
        give = self._cutoffs.setdefault
        return np.array([give(cutoff, len(self._cutoffs)) for cutoff in cutoffs], dtype=np.int32)

    def cutoffs(self) -> list[float]:
        """The cut-offs that have numbers, in their order."""
        return list(self._cutoffs)

    def key_values(self, type_name: str, codes: Codes) -> Values:
        texts: Sequence[str]
        if type_name == CUTOFF:
            texts = [self._cutoff_text(cutoff) for cutoff in self._cutoffs]
        else:
            texts = self.names[type_name]
        # The code of what is unknown, -1, finds the last place.
        return np.array([*texts, None], dtype=object)[codes]

    def _cutoff_text(self, cutoff: float) -> str:
        if np.isfinite(cutoff):
            return str(value_of(cutoff, self.times))
        return EVERYTHING[self.times] if cutoff > 0 else NOTHING[self.times]

    def bound(self, keys: str, types: Sequence[str]) -> exp.Select | None:
        """Keys by the columns' own values, from a table of keys by their text; unknown ones are NULL."""
        query = exp.select("u.example", "u.weight").from_(own_table(keys, "u"))
        for number, type_name in enumerate(types):
            alias, key = f"c{number}", own_column(f"k{number}", "u")
            if type_name == CUTOFF:
                query = query.select(exp.alias_(cutoff_value(key, self.times), f"k{number}"))
                continue
            same = exp.EQ(this=own_column("name", alias), expression=key)
            query = query.join(own_table(self._constants_of(type_name), alias), on=same, join_type="LEFT")
            query = query.select(exp.alias_(own_column("constant", alias), f"k{number}"))
        return query

    # --- what is asked of the data ---------------------------------------------------------------

    def population(self, type_name: str, comparisons: Sequence[tuple[str, Value]] = ()) -> int:
        if not comparisons:
            return self.populations[type_name]
        query = exp.select(exp.Count(this=exp.Star())).from_(own_table(self._constants_of(type_name), "c"))
        return self._number(query.where(*(compared(own_column("constant", "c"), *c) for c in comparisons)))

    def rows(self, predicate: str) -> int:
        if predicate not in self._rows:
            relation = self.relation(predicate)
            query = exp.select(exp.Count(this=exp.Star())).from_(aliased(relation.item, "f"))
            self._rows[predicate] = self._number(query)
        return self._rows[predicate]

    def sizes(self, predicate: str, position: int) -> ColumnSizes:
        place = (predicate, position)
        if place not in self._sizes:
            relation = self.relation(predicate)
            value = relation.column(position, "f")
            counts = exp.select(exp.alias_(exp.Count(this=exp.Star()), "n"))
            counts = counts.from_(aliased(relation.item, "f")).group_by(value)
            query = exp.select(exp.Count(this=exp.Star()), exp.Max(this=own_column("n")))
            ((distinct, largest),) = self._run(query.from_(counts.subquery("counts")))
            self._sizes[place] = ColumnSizes(int(distinct), int(largest or 0))
        return self._sizes[place]

    def constants_at(self, predicate: str, position: int) -> tuple[str, ...]:
        """The constants at an argument, sorted."""
        relation = self.relation(predicate)
        kind = self._schema.numeric.get(self._schema.types_of(predicate)[position])
        here = relation.column(position, "f")
        value = _text(here) if kind is None else numeric(here, kind == DATE)
        rows = self._run(exp.select(value).distinct().from_(aliased(relation.item, "f")))
        return tuple(sorted(key_text(name) for (name,) in rows))

    def frequent_at(self, predicate: str, position: int, least: int) -> tuple[str, ...]:
        """The constants at an argument that are in at least so many facts, sorted."""
        relation = self.relation(predicate)
        value = exp.alias_(_text(relation.column(position, "f")), "v")
        values = exp.select(value).from_(aliased(relation.item, "f")).subquery("f")
        often = exp.GTE(this=exp.Count(this=exp.Star()), expression=integer(least))
        query = exp.select(own_column("v")).from_(values).group_by(own_column("v")).having(often)
        return tuple(sorted(key_text(name) for (name,) in self._run(query)))

    def thresholds(
        self, predicate: str, position: int, number: int, until: float = np.inf
    ) -> tuple[Value, ...]:
        """What ``numeric.quantiles`` gives of the values at a numeric argument in facts up to some time."""
        relation = self.relation(predicate)
        kind = self._schema.numeric[self._schema.types_of(predicate)[position]]
        value = exp.alias_(numeric(relation.column(position, "f"), kind == DATE), "v")
        facts = exp.select(value).from_(aliased(relation.item, "f"))
        if until < np.inf and relation.time is not None:
            facts = facts.where(
                self.exists(relation.since("f"), cutoff_value(self._cutoff_text(until), self.times))
            )
        values = facts.subquery("f")
        count = exp.alias_(exp.Count(this=exp.Star()), "n")
        counts = exp.select(own_column("v"), count).from_(values).group_by(own_column("v"))
        if self.sizes(predicate, position).distinct <= MOST_FETCHED:
            rows = self._run(exp.select("v", "n").from_(counts.subquery("h")).order_by("v"))
            distinct = np.array([number_of(_value(value)) for value, _ in rows], dtype=np.float64)
            return weighted_quantiles(distinct, np.array([int(n) for _, n in rows]), number, kind)
        histogram = Histogram(self.connection, counts)
        try:
            return histogram.thresholds(number)
        finally:
            histogram.close()

    def marks(self) -> list[tuple[str, int, tuple[ColumnSizes, ...]]]:
        """A few numbers that hardly stay the same where facts change."""
        arity = self._schema.arity
        return [
            (name, self.rows(name), tuple(self.sizes(name, place) for place in range(arity(name))))
            for name in sorted(self._tables)
        ]

    def count_constants(self, named: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
        """Fix the population of each type: what its columns have, and what is named besides.

        Gives back, for each type, what was named and no column has.
        """
        found = {}
        for type_name in self._schema.types():
            table = self._constants_of(type_name)
            of_tables = self._number(exp.select(exp.Count(this=exp.Star())).from_(table))
            names = set(named.get(type_name, ()))
            found[type_name] = names - self.present(type_name, sorted(names))
            self.populations[type_name] = of_tables + len(found[type_name])
        return found

    def present(self, type_name: str, names: Sequence[str]) -> set[str]:
        """Which of some names are constants in the tables."""
        if not names:
            return set()
        table = self.connection.new_name()
        self.connection.load(table, {"name": np.array(names, dtype=object)})
        same = exp.EQ(this=own_column("name", "c"), expression=own_column("name", "u"))
        query = exp.select("u.name").distinct().from_(own_table(table, "u"))
        rows = self._run(query.join(own_table(self._constants_of(type_name), "c"), on=same))
        self.connection.drop(table)
        return {str(name) for (name,) in rows}

    def close(self) -> None:
        """Remove what was made."""
        self.connection.drop_all(self._made)
        self._made.clear()

    # --- what is made ----------------------------------------------------------------------------

    def _constants_of(self, type_name: str) -> str:
        """The table of a type's constants, as they are and as text."""
        if type_name not in self._constants:
            parts = []
            for predicate in sorted(self._tables):
                for position, own in enumerate(self._schema.types_of(predicate)):
                    if own == type_name:
                        relation = self.relation(predicate)
                        parts.append((relation.column(position, "f"), aliased(relation.item, "f")))
            things = self._things.get(type_name, ())
            parts += [(table.expressions("f")[0], table.expression("f")) for table in things]
            union: exp.Query | None = None
            for value, item in parts:
                part = exp.select(exp.alias_(value, "constant")).distinct().from_(item)
                union = part if union is None else union.union(part)
            if union is None:
                union = exp.select(exp.alias_(exp.cast(exp.null(), "TEXT"), "constant")).where(exp.false())
            constant = own_column("constant", "c")
            query = exp.select(constant, exp.alias_(_text(constant.copy()), "name"))
            if len(parts) < 2:
                query = query.distinct()
            present = exp.Not(this=exp.Is(this=constant.copy(), expression=exp.null()))
            self._constants[type_name] = self._make(query.from_(union.subquery("c")).where(present))
        return self._constants[type_name]

    def _distinct(self, predicate: str) -> SqlRelation:
        if predicate not in self._tables:
            return self._nothing(predicate)
        given = self._tables[predicate]
        columns = given.expressions("f")
        own = tuple(f"c{number}" for number in range(len(columns)))
        named: list[exp.Expr] = [
            exp.alias_(value.copy(), name) for value, name in zip(columns, own, strict=True)
        ]
        item, facts = given.expression("f"), exp.select(*named).from_(given.expression("f"))
        facts = facts.where(*given.conditions("f"))
        fact = exp.Case(ifs=[exp.If(this=conjunction(given.conditions("f")), true=integer(1))])
        counts = exp.select(exp.Count(this=exp.Star()), exp.Count(this=fact)).from_(item)
        ((all_rows, complete),) = self._run(counts)
        different = complete
        if not given.distinct:
            count = exp.select(exp.Count(this=exp.Star())).from_(facts.distinct().subquery("facts"))
            different = self._number(count)
        self._rows[predicate] = different
        if different < complete:
            if given.time is not None:
                since = exp.alias_(
                    exp.Min(this=numeric(column(given.time, "f"), self.times == DATE)), "since"
                )
                facts = facts.select(since).group_by(*(value.copy() for value in columns))
                return SqlRelation(exp.to_table(self._make(facts)), own, True, "since")
            return SqlRelation(exp.to_table(self._make(facts.distinct())), own, own=True)
        if complete == all_rows:
            return SqlRelation(given.item(), given.columns, time=given.time)
        if given.time is not None:
            facts = facts.select(exp.alias_(column(given.time, "f"), "since"))
        return SqlRelation(facts.subquery(), own, True, None if given.time is None else "since")

    def _nothing(self, predicate: str) -> SqlRelation:
        """A relation without facts, its columns of the types that other columns of the same types have."""
        query = exp.Select().where(exp.false())
        for number, type_name in enumerate(self._schema.types_of(predicate)):
            constants = own_table(self._constants_of(type_name), f"t{number}")
            query = query.join(constants, join_type="CROSS") if number else query.from_(constants)
            query = query.select(exp.alias_(own_column("constant", f"t{number}"), f"c{number}"))
        own = tuple(f"c{number}" for number in range(self._schema.arity(predicate)))
        return SqlRelation(exp.to_table(self._make(query)), own, own=True)

    def _make(self, query: exp.Select) -> str:
        name = self.connection.new_name()
        self._made.append(name)
        self.connection.create(name, query)
        return name

    def _run(self, query: exp.Select) -> list[tuple[Any, ...]]:
        return self.connection.rows(self.connection.dialect.text(query))

    def _number(self, query: exp.Select) -> int:
        ((number,),) = self._run(query)
        return int(number)


class Histogram:
    """Distinct values, sorted, and how many rows have one up to each, in a table."""

    def __init__(self, connection: Connection, counts: exp.Select) -> None:
        """From a query of distinct values ``v`` and how often each stands there, ``n``."""
        by_value = exp.Order(expressions=[exp.Ordered(this=own_column("v"))])
        upto = exp.Window(this=exp.Sum(this=own_column("n")), order=by_value)
        place = exp.Window(this=exp.RowNumber(), order=by_value.copy())
        query = exp.select("v", exp.alias_(exp.cast(upto, "BIGINT"), "upto"), exp.alias_(place, "place"))
        self._connection = connection
        self._table = connection.new_name()
        connection.create(self._table, query.from_(counts.subquery("h")))

    def thresholds(self, number: int) -> tuple[Value, ...]:
        """What ``numeric.quantiles`` gives of these values."""
        largest = exp.select(exp.Count(this=exp.Star()), exp.Max(this=own_column("upto")))
        ((distinct, total),) = self._run(largest)
        if not distinct:
            return ()
        if distinct <= number + 1:
            rows = self._run(exp.select("v").where(own_column("place") > 1).order_by("place"))
            return tuple(_value(value) for (value,) in rows)
        done = 0
        found: list[Value] = []
        for parts in range(number + 1, 1, -1):
            wanted = done - (done - int(total)) // parts
            enough = exp.GTE(this=own_column("upto"), expression=exp.Literal.number(wanted))
            ((first,),) = self._run(exp.select(exp.Min(this=own_column("place"))).where(enough))
            place = min(int(first), distinct - 1)
            wished = exp.In(
                this=own_column("place"), expressions=[exp.convert(place), exp.convert(place + 1)]
            )
            (_, upto), (value, _) = self._run(exp.select("v", "upto").where(wished).order_by("place"))
            if int(upto) <= done:
                break
            done = int(upto)
            found.append(_value(value))
        return tuple(found)

    def close(self) -> None:
        self._connection.drop(self._table)

    def _run(self, query: exp.Select) -> list[tuple[Any, ...]]:
        return self._connection.rows(self._connection.dialect.text(query.from_(self._table)))


def _value(value: Any) -> Value:
    """A value of a numeric column as clauses have it: a float, or a date without a time zone."""
    return float(value) + 0.0 if isinstance(value, int | float) else value


def _text(value: exp.Expr) -> exp.Expr:
    return exp.cast(value, "TEXT")
