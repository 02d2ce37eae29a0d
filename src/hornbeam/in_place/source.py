"""Tables that stay in their database, as a source of facts for a SQL engine.

Nothing is exported, and constants get no codes: queries join the values of the columns as they are.
Clauses and keys name constants by their text, and constants of numeric types by their value. The
user's tables are only read. The tables that are made here (the constants of each type, and the distinct
rows of tables that repeat rows) are temporary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from sqlglot import exp

from hornbeam.data.database import Codes
from hornbeam.data.numbers import Floats
from hornbeam.engines.sql.connection import Connection, Values
from hornbeam.engines.sql.expressions import (
    CUTOFF,
    EVERYTHING,
    NOTHING,
    SqlRelation,
    SqlTable,
    aliased,
    compared,
    conjunction,
    cutoff_value,
    equal_number,
    exists_at,
    integer,
    latest,
    numeric,
    own_column,
    own_table,
)
from hornbeam.errors import SchemaError
from hornbeam.logic.clauses import Value
from hornbeam.logic.schema import DATE, NUMBER, Schema, number_of, read_value, value_of


class ColumnNumbers(NamedTuple):
    """Numbers about one argument of a predicate."""

    distinct: int
    """number of distinct values"""
    largest: int
    """largest number of facts that share one value"""
    squares: int
    """sum over all values of the squared number of facts that share the value"""


class TableSource:
    """The user's tables as a source of facts, read through one connection."""

    coded = False

    def __init__(
        self,
        connection: Connection,
        schema: Schema,
        tables: Mapping[str, SqlTable],
        key_tables: Mapping[str, Sequence[SqlTable]] | None = None,
        time_kind: str = NUMBER,
        end: float = np.inf,
    ) -> None:
        """``tables`` hold the facts of each predicate.

        ``key_tables`` are, for each type, tables of one column whose values are constants of the type,
        with facts or without. ``time_kind`` tells whether the times of facts are numbers or dates. Facts
        after the time ``end`` are left out.
        """
        for predicate, table in tables.items():
            if len(table.columns) != schema.arity(predicate):
                raise SchemaError(
                    f'table {".".join(table.name)} has {len(table.columns)} columns for "{predicate}", '
                    f"which takes {schema.arity(predicate)}; name one column per argument."
                )
        self.connection = connection
        self.schema = schema
        self.tables = tables
        self.time_kind = time_kind
        self._end = end
        self._key_tables = key_tables or {}
        self._relations: dict[str, SqlRelation] = {}
        self._rows: dict[str, int] = {}
        self._sizes: dict[tuple[str, int], ColumnNumbers] = {}
        self._constants: dict[str, str] = {}
        self._temporary: list[str] = []
        self._cutoffs: dict[float, int] = {}
        self.names: dict[str, list[str]] = {}
        """for each type the constants that have a code, in the order of their codes"""
        self._named: dict[str, int] = {}
        """for each type the number of constants that are in no table"""
        self._populations: dict[str, int] = {}

    # --- the parts of queries --------------------------------------------------------------------

    def relation(self, predicate: str) -> SqlRelation:
        """The table itself if its rows are distinct and complete, otherwise the distinct complete rows."""
        relation = self._relations.get(predicate)
        if relation is None:
            relation = self._relations[predicate] = self._distinct(predicate)
        return relation

    def equals(self, value: exp.Expr, type_name: str, name: str) -> exp.Expr:
        if type_name in self.schema.numeric:
            constant = read_value(name)
            return exp.false() if constant is None else equal_number(value, constant)
        return exp.EQ(this=as_text(value), expression=exp.Literal.string(name))

    def compares(self, value: exp.Expr, type_name: str, operator: str, threshold: Value) -> exp.Expr:
        return compared(value, operator, threshold)

    def timed(self) -> frozenset[str]:
        return frozenset(name for name, table in self.tables.items() if table.times)

    def until(self, end: float) -> TableSource | None:
        """The same tables without the facts after a time; None if there are no such facts."""
        ended = TableSource(self.connection, self.schema, self.tables, self._key_tables, self.time_kind, end)
        # Keys have the same codes, and temporary tables go with those of this source.
        ended.names, ended._cutoffs, ended._temporary = self.names, self._cutoffs, self._temporary
        return None if all(ended.rows(name) == self.rows(name) for name in self.timed()) else ended

    def exists(self, since: exp.Expr, cutoff: exp.Expr) -> exp.Expr:
        return exists_at(since, cutoff, self.time_kind)

    # --- tallies ---------------------------------------------------------------------------------

    def moments(self, times: Floats) -> Values:
        """Times as the texts that queries cast; facts are in whole microseconds if times are dates."""
        # Many examples share a cut-off.
        distinct, places = np.unique(times, return_inverse=True)
        texts = np.array([*map(self._moment_text, distinct.tolist()), None], dtype=object)
        return texts[places.ravel()]

    def _moment_text(self, time: float) -> str:
        if self.time_kind == DATE and np.isfinite(time):
            time = float(np.ceil(time))
            first, last = (number_of(moment) for moment in (datetime.min, datetime.max))
            time = np.inf if time > last else max(time, first)
        return self.cutoff_text(time)

    def is_before(self, since: exp.Expr, moment: exp.Expr) -> exp.Expr:
        known = exp.LT(this=self.tallied_time(since), expression=moment)
        return exp.Paren(this=exp.Or(this=known, expression=self._is(moment, EVERYTHING)))

    def is_from(self, since: exp.Expr, moment: exp.Expr) -> exp.Expr:
        known = exp.GTE(this=self.tallied_time(since), expression=moment)
        return exp.Paren(this=exp.Or(this=known, expression=self._is(moment, NOTHING)))

    def _is(self, moment: exp.Expr, edge: Mapping[str, str]) -> exp.Expr:
        return exp.EQ(this=moment.copy(), expression=cutoff_value(edge[self.time_kind], self.time_kind))

    def tallied(self, value: exp.Expr, type_name: str) -> exp.Expr:
        kind = self.schema.numeric.get(type_name)
        return as_text(value) if kind is None else numeric(value, kind == DATE)

    def tallied_time(self, since: exp.Expr) -> exp.Expr:
        return numeric(since, self.time_kind == DATE)

    def decoded(self, type_name: str, values: Values) -> Values:
        if type_name not in self.schema.numeric:
            return values
        return self._numbers(values)

    def _numbers(self, values: Values) -> Floats:
        """The floats that stand for numbers or moments."""
        if values.dtype.kind == "f":
            return values.astype(np.float64) + 0.0
        if values.dtype.kind == "M":
            return values.astype("M8[us]").astype(np.int64).astype(np.float64)
        listed = values.tolist()
        numbers = {value: number_of(value) + 0.0 for value in set(listed)}
        return np.array([numbers[value] for value in listed], dtype=np.float64)

    def decoded_times(self, values: Values) -> Floats:
        if values.dtype != object:
            return self._numbers(values)
        # A fact without a time comes after all others.
        missing = np.array([value is None for value in values.tolist()], dtype=np.bool_)
        if not missing.any():
            return self._numbers(values)
        times = np.full(len(values), np.inf)
        times[~missing] = self._numbers(values[~missing])
        return times

    # --- the keys of examples --------------------------------------------------------------------

    def cutoff_codes(self, cutoffs: Iterable[float]) -> Codes:
        """The codes of cut-offs, numbered in the order in which they are first asked for."""
        code = self._cutoffs.setdefault
        return np.array([code(cutoff, len(self._cutoffs)) for cutoff in cutoffs], dtype=np.int32)

    def cutoffs(self) -> list[float]:
        """The cut-offs that have codes, in the order of their codes."""
        return list(self._cutoffs)

    def cutoff_text(self, cutoff: float) -> str:
        """The last time that a fact may have to exist, as the text that queries cast to a time."""
        if np.isfinite(cutoff):
            # Moments are whole microseconds: the last one before a date is one microsecond before it.
            return str(value_of(np.floor(cutoff) if self.time_kind == DATE else cutoff, self.time_kind))
        return EVERYTHING[self.time_kind] if cutoff > 0 else NOTHING[self.time_kind]

    def key_values(self, type_name: str, codes: Codes) -> Values:
        if type_name == CUTOFF:
            texts = [self.cutoff_text(cutoff) for cutoff in self._cutoffs]
        else:
            texts = self.names[type_name]
        # The code of an unknown constant is -1, so it selects the last entry.
        return np.array([*texts, None], dtype=object)[codes]

    def bound(self, keys: str, types: Sequence[str]) -> exp.Select | None:
        return self.bindings(own_table(keys, "u"), types).select("u.example", "u.weight")

    def bindings(self, keys: exp.Expr, types: Sequence[str]) -> exp.Select:
        """The values ``k0 k1 ...`` of the columns for keys given by their text, NULL for unknown keys.

        ``keys`` is a table under the alias ``u``, with the texts in columns ``k0 k1 ...``.
        """
        query = exp.Select().from_(keys)
        for number, type_name in enumerate(types):
            alias, key = f"c{number}", own_column(f"k{number}", "u")
            if type_name == CUTOFF:
                query = query.select(exp.alias_(cutoff_value(key, self.time_kind), f"k{number}"))
                continue
            same = exp.EQ(this=own_column("name", alias), expression=key)
            query = query.join(own_table(self.constants(type_name), alias), on=same, join_type="LEFT")
            query = query.select(exp.alias_(own_column("constant", alias), f"k{number}"))
        return query

    # --- sizes -----------------------------------------------------------------------------------

    def population(self, type_name: str, comparisons: Sequence[tuple[str, Value]] = ()) -> int:
        if not comparisons:
            if type_name not in self._populations:
                self._populations[type_name] = self._in_tables(type_name) + self._named.get(type_name, 0)
            return self._populations[type_name]
        query = exp.select(exp.Count(this=exp.Star())).from_(own_table(self.constants(type_name), "c"))
        return self._number(query.where(*(compared(own_column("constant", "c"), *c) for c in comparisons)))

    def rows(self, predicate: str) -> int:
        if predicate not in self.tables:
            return 0
        if predicate not in self._rows:
            relation = self.relation(predicate)
            if predicate not in self._rows:
                query = exp.select(exp.Count(this=exp.Star())).from_(aliased(relation.item, "f"))
                self._rows[predicate] = self._number(query)
        return self._rows[predicate]

    def sizes(self, predicate: str, position: int) -> ColumnNumbers:
        place = (predicate, position)
        if place not in self._sizes:
            relation = self.relation(predicate)
            value = relation.column(position, "f")
            counts = exp.select(exp.alias_(exp.Count(this=exp.Star()), "n"))
            counts = counts.from_(aliased(relation.item, "f")).group_by(value)
            squares = exp.Sum(this=exp.Mul(this=own_column("n"), expression=own_column("n")))
            query = exp.select(exp.Count(this=exp.Star()), exp.Max(this=own_column("n")), squares)
            ((distinct, largest, sum_of_squares),) = self.run(query.from_(counts.subquery("counts")))
            self._sizes[place] = ColumnNumbers(int(distinct), int(largest or 0), int(sum_of_squares or 0))
        return self._sizes[place]

    def _in_tables(self, type_name: str) -> int:
        """The number of constants of a type in the tables."""
        others, keys = self._columns_of(type_name), self._key_tables.get(type_name, ())
        if len(others) == len(keys) == 1 and keys[0].rows is not None and not self._ends(keys[0]):
            return keys[0].rows
        return self._number(exp.select(exp.Count(this=exp.Star())).from_(self.constants(type_name)))

    def add_names(self, type_name: str, names: Iterable[str]) -> set[str]:
        """Count names as constants of a type; returns those that no table has."""
        given = set(names)
        not_in_tables = given - self.present(type_name, sorted(given))
        self._named[type_name] = len(not_in_tables)
        return not_in_tables

    def present(self, type_name: str, names: Sequence[str]) -> set[str]:
        """Those of the given names that are constants of a type in the tables."""
        if not names:
            return set()
        table = self.connection.new_name()
        self.connection.load(table, {"name": np.array(names, dtype=object)})
        same = exp.EQ(this=own_column("name", "c"), expression=own_column("name", "u"))
        query = exp.select("u.name").distinct().from_(own_table(table, "u"))
        rows = self.run(query.join(own_table(self.constants(type_name), "c"), on=same))
        self.connection.drop(table)
        return {str(name) for (name,) in rows}

    def run(self, query: exp.Select) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return self.connection.rows(self.connection.dialect.text(query))

    def close(self) -> None:
        """Remove the temporary tables."""
        self.connection.drop_all(self._temporary)
        self._temporary.clear()

    # --- temporary tables ------------------------------------------------------------------------

    def constants(self, type_name: str) -> str:
        """The table of a type's constants: the values of columns (``constant``) and their text (``name``)."""
        if type_name not in self._constants:
            columns = self._columns_of(type_name)
            union: exp.Query | None = None
            for value, item, is_unique in columns:
                part = exp.select(exp.alias_(value, "constant")).from_(item)
                part = part if is_unique else part.distinct()
                union = part if union is None else union.union(part)
            if union is None:
                union = exp.select(exp.alias_(exp.cast(exp.null(), "TEXT"), "constant")).where(exp.false())
            constant = own_column("constant", "c")
            query = exp.select(constant, exp.alias_(as_text(constant.copy()), "name"))
            known = exp.Not(this=exp.Is(this=constant.copy(), expression=exp.null()))
            self._constants[type_name] = self._make(query.from_(union.subquery("c")).where(known))
        return self._constants[type_name]

    def _columns_of(self, type_name: str) -> list[tuple[exp.Expr, exp.Expr, bool]]:
        """The columns that hold constants of a type, each with its table, and whether it holds each once.

        Columns whose values are keys of a table of keys are left out: they add none.
        """
        key_tables = self._key_tables.get(type_name, ())
        # A row may link to a key whose own row comes after the end.
        covers = bool(key_tables) and not any(map(self._ends, key_tables))
        columns: list[tuple[exp.Expr, exp.Expr, bool]] = []
        for predicate, table in sorted(self.tables.items()):
            for position, type_of_column in enumerate(self.schema.types_of(predicate)):
                is_covered = covers and table.columns[position] in table.covered
                if type_of_column == type_name and not is_covered:
                    relation = self.relation(predicate)
                    columns.append((relation.column(position, "f"), aliased(relation.item, "f"), False))
        return columns + [(*self._keys_of(table), True) for table in key_tables]

    def _keys_of(self, table: SqlTable) -> tuple[exp.Expr, exp.Expr]:
        """The column of a table of keys, and the table, up to the end."""
        key = table.expressions("f")[0]
        if not self._ends(table):
            return key, table.expression("f")
        keys, times = table.with_times(exp.select(exp.alias_(key, "k")).from_(table.expression("f")), "f")
        of_rows = [numeric(time, self.time_kind == DATE) for time in times]
        return own_column("k", "f"), keys.where(self._is_in_time(of_rows)).subquery("f")

    def _distinct(self, predicate: str) -> SqlRelation:
        if predicate not in self.tables:
            return self._empty(predicate)
        table = self.tables[predicate]
        columns = table.expressions("f")
        names = tuple(f"c{number}" for number in range(len(columns)))
        values = [exp.alias_(value.copy(), name) for value, name in zip(columns, names, strict=True)]
        facts = exp.select(*values).from_(table.expression("f")).where(*table.conditions("f"))
        facts, times = table.with_times(facts, "f")
        of_rows = [numeric(time, self.time_kind == DATE) for time in times]
        if self._ends(table):
            facts = facts.where(self._is_in_time(of_rows))
        n_rows, n_complete, n_distinct = self._row_counts(table, facts)
        self._rows[predicate] = n_distinct
        if n_distinct < n_complete:
            if not times:
                return SqlRelation(exp.to_table(self._make(facts.distinct())), names, own=True)
            first = exp.Min(this=latest(of_rows))
            facts = facts.select(exp.alias_(first, "since")).group_by(*(value.copy() for value in columns))
            return SqlRelation(exp.to_table(self._make(facts)), names, True, "since")
        is_own = len(times) < 2 and not any(each.links for each in table.times)
        if n_complete == n_rows and is_own:
            return SqlRelation(table.item(), table.columns, time=table.times[0].column if times else None)
        if times:
            facts = facts.select(exp.alias_(times[0] if len(times) == 1 else latest(of_rows), "since"))
        return SqlRelation(facts.subquery(), names, True, "since" if times else None)

    def _ends(self, table: SqlTable) -> bool:
        """Whether some rows of a table may be left out because they come after the end."""
        return bool(table.times) and self._end < np.inf

    def _is_in_time(self, of_rows: Sequence[exp.Expr]) -> exp.Expr:
        """The condition that a row is not after the end."""
        return self.exists(latest(of_rows), cutoff_value(self.cutoff_text(self._end), self.time_kind))

    def _row_counts(self, table: SqlTable, facts: exp.Select) -> tuple[int, int, int]:
        """How many rows a table has, how many of them are facts, and how many distinct facts."""
        if table.rows is not None and table.distinct and not self._ends(table):
            return table.rows, table.rows, table.rows
        is_fact = exp.Case(ifs=[exp.If(this=conjunction(table.conditions("f")), true=integer(1))])
        counts = exp.select(exp.Count(this=exp.Star()), exp.Count(this=is_fact))
        ((n_rows, n_complete),) = self.run(counts.from_(table.expression("f")))
        if self._ends(table):
            n_complete = self._number(exp.select(exp.Count(this=exp.Star())).from_(facts.subquery("facts")))
        if table.distinct:
            return int(n_rows), int(n_complete), int(n_complete)
        count = exp.select(exp.Count(this=exp.Star())).from_(facts.distinct().subquery("facts"))
        return int(n_rows), int(n_complete), self._number(count)

    def _empty(self, predicate: str) -> SqlRelation:
        """A relation without facts, with columns of the same types as other columns of its constants."""
        query = exp.Select().where(exp.false())
        for number, type_name in enumerate(self.schema.types_of(predicate)):
            constants = own_table(self.constants(type_name), f"t{number}")
            query = query.join(constants, join_type="CROSS") if number else query.from_(constants)
            query = query.select(exp.alias_(own_column("constant", f"t{number}"), f"c{number}"))
        names = tuple(f"c{number}" for number in range(self.schema.arity(predicate)))
        return SqlRelation(exp.to_table(self._make(query)), names, own=True)

    def _make(self, query: exp.Select) -> str:
        name = self.connection.new_name()
        self._temporary.append(name)
        self.connection.create(name, query)
        return name

    def _number(self, query: exp.Select) -> int:
        ((number,),) = self.run(query)
        return int(number)


def as_text(value: exp.Expr) -> exp.Expr:
    """A value as text."""
    return exp.cast(value, "TEXT")
