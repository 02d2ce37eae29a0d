"""Queries about the columns of a table in place: what loading finds out by reading the table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlglot import exp

from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.expressions import SqlTable, column, integer, own_column
from hornbeam.loading.tables.columns.column import LARGEST_WHOLE

WHOLE, REAL, TEXT, WORD, BOOLEAN, DAY, MOMENT = "whole", "real", "text", "word", "boolean", "day", "moment"
"""Kinds of values of a column; a word is text that is never empty, such as a UUID."""
_KINDS = (
    (BOOLEAN, r"bool(ean)?"),
    (WHOLE, r"(u?(tiny|small|big|huge)?int(eger)?|int[248]|oid|(decimal|numeric)\(\d+, ?0\))"),
    (REAL, r"(float[48]?|double( precision)?|real|decimal.*|numeric.*)"),
    (TEXT, r"(varchar|text|string|char|bpchar|citext|character).*"),
    (WORD, r"(uuid|name|enum.*)"),
    (DAY, r"date"),
    (MOMENT, r"timestamp.*"),
)
_SHOWN = 3


class ColumnCounts(NamedTuple):
    """The counts of one column, found by a query."""

    n_values: int
    """the number of distinct values"""
    n_missing: int
    """the number of rows without a value"""
    most_rows: int = 0
    """the number of rows with the most frequent value"""
    least: Any = None
    """the least and the greatest value, if the values are numbers"""
    greatest: Any = None
    fractions: int = 0
    """the number of distinct values that are not whole"""


class TableQueries:
    """Queries about one table. Empty text counts as no value."""

    def __init__(self, connection: Connection, name: tuple[str, ...]) -> None:
        self._connection = connection
        self._table = SqlTable(name, ())
        self.kinds: dict[str, str] = {}
        """the kind of each column's values; for other types, the name of the type in brackets"""
        query = exp.select("*").from_(self._table.item())
        for column_name, type_name in connection.columns(connection.dialect.text(query)):
            self.kinds[column_name] = _kind(type_name)

    @property
    def name(self) -> tuple[str, ...]:
        """The parts of the table's name in its database."""
        return self._table.name

    def size(self) -> int:
        """The number of rows."""
        ((number,),) = self._run(exp.select(exp.Count(this=exp.Star())).from_(self._item()))
        return int(number)

    def counts(self, name: str) -> ColumnCounts:
        """The counts of one column."""
        value = own_column("v", "c")
        missing = exp.Is(this=value, expression=exp.null())
        rows_without = exp.Case(ifs=[exp.If(this=missing, true=own_column("n", "c"))], default=integer(0))
        rows_with = exp.Case(ifs=[exp.If(this=missing.copy(), true=integer(0))], default=own_column("n", "c"))
        counts: list[exp.Expr] = [
            exp.Count(this=value.copy()),
            exp.Sum(this=rows_without),
            exp.Max(this=rows_with),
        ]
        if self.kinds[name] in (WHOLE, REAL):
            counts += [exp.Min(this=value.copy()), exp.Max(this=value.copy())]
        if self.kinds[name] == REAL:
            differs = exp.NEQ(this=value.copy(), expression=exp.Floor(this=value.copy()))
            # Larger numbers count as whole: on Spark, their floor does not fit into a 64-bit integer.
            size = exp.Abs(this=value.copy())
            is_large = exp.GTE(this=size, expression=integer(int(LARGEST_WHOLE)))
            whole = exp.If(this=is_large, true=exp.null())
            fraction = exp.Case(ifs=[whole, exp.If(this=differs, true=integer(1))])
            counts.append(exp.Count(this=fraction))
        ((n_values, n_missing, most_rows, *extremes),) = self._run(
            exp.select(*counts).from_(self._grouped(name, "c"))
        )
        return ColumnCounts(int(n_values), int(n_missing or 0), int(most_rows or 0), *extremes)

    def repeated(self, name: str) -> tuple[int, list[object]]:
        """The number of values that occur in more than one row, and the first of them."""
        several = exp.GT(this=own_column("n", "c"), expression=integer(1))
        repeated = exp.select(own_column("v", "c")).from_(self._grouped(name, "c"))
        repeated = repeated.where(several, self._known("c"))
        ((number,),) = self._run(exp.select(exp.Count(this=exp.Star())).from_(repeated.subquery("r")))
        return int(number), [value for (value,) in self._run(repeated.order_by("v").limit(_SHOWN))]

    def first(self, name: str) -> list[object]:
        """The first values of a column, sorted."""
        values = exp.select(own_column("v", "c")).from_(self._grouped(name, "c")).where(self._known("c"))
        return [value for (value,) in self._run(values.order_by("v").limit(_SHOWN))]

    def lost(self, name: str, other: TableQueries, key: str) -> tuple[int, int, list[object]]:
        """The values that are not keys of another table: their number, their rows, the first few."""
        keys = exp.select(exp.alias_(other._value(key), "k")).distinct().from_(other._item())
        lost = exp.select(own_column("v", "c"), own_column("n", "c")).from_(self._grouped(name, "c"))
        same = exp.EQ(this=own_column("v", "c"), expression=own_column("k", "o"))
        lost = lost.join(keys.subquery("o"), on=same, join_type="LEFT")
        lost = lost.where(self._known("c"), exp.Is(this=own_column("k", "o"), expression=exp.null()))
        numbers = exp.select(exp.Count(this=exp.Star()), exp.Sum(this=own_column("n", "l")))
        ((number, rows),) = self._run(numbers.from_(lost.subquery("l")))
        if not number:
            return 0, 0, []
        first = exp.select(own_column("v", "l")).from_(lost.subquery("l")).order_by("v").limit(_SHOWN)
        return int(number), int(rows), [value for (value,) in self._run(first)]

    def rows_differ(self, names: Sequence[str]) -> bool:
        """Whether no two rows have the same values; rows with a missing value are not compared."""
        complete = [exp.Not(this=exp.Is(this=self._value(name), expression=exp.null())) for name in names]
        rows = exp.select(*(exp.alias_(self._value(name), f"v{i}") for i, name in enumerate(names)))
        rows = rows.from_(self._item()).where(*complete)
        n_rows, n_distinct = (
            self._run(exp.select(exp.Count(this=exp.Star())).from_(query.subquery("r")))
            for query in (rows, rows.distinct())
        )
        return n_rows == n_distinct

    def fetch(self, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Some columns of all rows, in any order."""
        return self._run(exp.select(*map(self._value, names)).from_(self._item()))

    def _grouped(self, name: str, alias: str) -> exp.Subquery:
        """Each value ``v`` of a column with its number of rows ``n``."""
        values = exp.select(exp.alias_(self._value(name), "v")).from_(self._item())
        count = exp.alias_(exp.Count(this=exp.Star()), "n")
        query = exp.select(own_column("v", "g"), count).from_(values.subquery("g"))
        return query.group_by(own_column("v", "g")).subquery(alias)

    def _known(self, alias: str) -> exp.Expr:
        return exp.Not(this=exp.Is(this=own_column("v", alias), expression=exp.null()))

    def _value(self, name: str) -> exp.Expr:
        value = column(name, "f")
        if self.kinds[name] != TEXT:
            return value
        return exp.Nullif(this=value, expression=exp.Literal.string(""))

    def _item(self) -> exp.Expr:
        return self._table.expression("f")

    def _run(self, query: exp.Select) -> list[tuple[Any, ...]]:
        return self._connection.rows(self._connection.dialect.text(query))


def _kind(type_name: str) -> str:
    """The kind of the values of a type, by the name that a system gives the type.

    >>> [_kind(name) for name in ("BIGINT", "numeric(9, 2)", "character varying", "BLOB")]
    ['whole', 'real', 'text', '(BLOB)']
    """
    for kind, pattern in _KINDS:
        if re.fullmatch(pattern, type_name.lower()):
            return kind
    return f"({type_name})"
