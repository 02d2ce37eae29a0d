"""Queries about the columns of a table in place: what loading finds out by reading the table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlglot import exp

from hornbeam.data.numbers import TimeColumn
from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.expressions import (
    DUCKDB,
    SqlTable,
    column,
    cutoff_value,
    integer,
    joined_text,
    latest,
    moment_text,
    numeric,
    own_column,
)
from hornbeam.loading.tables.columns.column import LARGEST_WHOLE
from hornbeam.logic.schema import DATE, NUMBER, value_of

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
_MARKED = "U?(TINYINT|SMALLINT|INTEGER)|BIGINT"
"""types of DuckDB whose values can be marked in bits"""
_BITS_PER_ROW, _FEW_BITS, _MOST_BITS = 16, 1 << 20, 10**9
"""Values are marked in bits if there are at most so many numbers from the least to the greatest."""


class ColumnCounts(NamedTuple):
    """The counts of one column; one pass over a table finds those of all its columns."""

    n_missing: int
    """the number of rows without a value"""
    least: Any = None
    """the least and the greatest value, if the values are numbers"""
    greatest: Any = None
    fractions: int = 0
    """the number of rows whose value is not whole"""


class TableQueries:
    """Queries about one table. Empty text counts as no value."""

    def __init__(self, connection: Connection, name: tuple[str, ...]) -> None:
        self._connection = connection
        self._table = SqlTable(name, ())
        self.kinds: dict[str, str] = {}
        """the kind of each column's values; for other types, the name of the type in brackets"""
        self._types: dict[str, str] = {}
        self._n_values: dict[str, int] = {}
        self._counts: dict[str, ColumnCounts] = {}
        self._size = 0
        query = exp.select("*").from_(self._table.item())
        for column_name, type_name in connection.columns(connection.dialect.text(query)):
            self.kinds[column_name] = _kind(type_name)
            self._types[column_name] = type_name

    @property
    def name(self) -> tuple[str, ...]:
        """The parts of the table's name in its database."""
        return self._table.name

    def with_links_only_to(self, keys: Mapping[str, tuple[TableQueries, str] | None]) -> TableQueries:
        """Queries about a view of the table without values of some columns that are no keys of other tables.

        A column without a key has no values in the view.
        """
        query = exp.Select().from_(self._item())
        for number, name in enumerate(self.kinds):
            value: exp.Expr = column(name, "f")
            if name in keys:
                # Keys are unique, so a join repeats no row.
                known: exp.Expr = exp.false()
                key = keys[name]
                if key is not None:
                    key_value = column(key[1], f"o{number}")
                    same = exp.EQ(this=key_value, expression=value.copy())
                    query = query.join(key[0]._table.expression(f"o{number}"), on=same, join_type="LEFT")
                    known = exp.Not(this=exp.Is(this=key_value.copy(), expression=exp.null()))
                value = exp.alias_(exp.Case(ifs=[exp.If(this=known, true=value)]), name, quoted=True)
            query = query.select(value)
        return TableQueries(self._connection, (self._connection.view(query),))

    def with_joined(self, joined: Mapping[str, Sequence[str]]) -> TableQueries:
        """Queries about a view of the table with more columns, each made of several."""
        query = exp.Select().from_(self._item())
        for name in self.kinds:
            if name not in joined:
                query = query.select(exp.alias_(column(name, "f"), name, quoted=True))
        for name, parts in joined.items():
            made = joined_text(map(self._text_to_join, parts))
            query = query.select(exp.alias_(made, name, quoted=True))
        return TableQueries(self._connection, (self._connection.view(query),))

    def _text_to_join(self, name: str) -> exp.Expr:
        """The text of a value, the same for a value in whatever column."""
        value = self._value(name)
        if self.kinds[name] in (DAY, MOMENT):
            return moment_text(exp.cast(value, "TIMESTAMP"))
        # Only whole numbers come here, whatever their type.
        return exp.cast(exp.cast(value, "BIGINT") if self.kinds[name] == REAL else value, "TEXT")

    def counts(self, names: Sequence[str]) -> tuple[int, dict[str, ColumnCounts]]:
        """The number of rows, and the counts of some columns, from one pass over the table."""
        wanted: list[exp.Expr] = [exp.Count(this=exp.Star())]
        for name in names:
            wanted += self._wanted(name)
        ((size, *numbers),) = self._run(exp.select(*wanted).from_(self._item()))
        self._size = int(size)
        for name in names:
            own = len(self._wanted(name))
            known, *others = numbers[:own]
            self._counts[name] = ColumnCounts(self._size - int(known), *others)
            del numbers[:own]
        return self._size, dict(self._counts)

    def _wanted(self, name: str) -> list[exp.Expr]:
        """What ``counts`` asks about a column."""
        value = self._value(name)
        wanted: list[exp.Expr] = [exp.Count(this=value)]
        if self.kinds[name] in (WHOLE, REAL):
            wanted += [exp.Min(this=value.copy()), exp.Max(this=value.copy())]
        if self.kinds[name] == REAL:
            differs = exp.NEQ(this=value.copy(), expression=exp.Floor(this=value.copy()))
            # Larger numbers count as whole: on Spark, their floor does not fit into a 64-bit integer.
            size = exp.Abs(this=value.copy())
            is_large = exp.GTE(this=size, expression=integer(int(LARGEST_WHOLE)))
            whole = exp.If(this=is_large, true=exp.null())
            wanted.append(exp.Count(this=exp.Case(ifs=[whole, exp.If(this=differs, true=integer(1))])))
        return wanted

    def n_values(self, name: str) -> int:
        """The number of distinct values of a column."""
        dense = [each for each in self._counts if self._is_dense(each)]
        if name in dense and name not in self._n_values:
            numbers = [exp.Anonymous(this="bit_count", expressions=[self._bits(each)]) for each in dense]
            (counted,) = self._run(exp.select(*numbers).from_(self._item()))
            self._n_values |= dict(zip(dense, map(int, counted), strict=True))
        if name not in self._n_values:
            query = exp.select(exp.Count(this=own_column("v", "c"))).from_(self._grouped(name, "c"))
            ((number,),) = self._run(query)
            self._n_values[name] = int(number)
        return self._n_values[name]

    def _is_dense(self, name: str, other: ColumnCounts | None = None, rows: int = 0) -> bool:
        """Whether the values of a column, and of another, are marked in bits, which takes no hash table."""
        counts = self._counts.get(name)
        if self._connection.dialect is not DUCKDB or counts is None or counts.least is None:
            return False
        least, greatest = self._span(counts, other or counts)
        limit = min(_BITS_PER_ROW * (self._size + rows) + _FEW_BITS, _MOST_BITS)
        return re.fullmatch(_MARKED, self._types[name]) is not None and greatest - least < limit

    def _span(self, one: ColumnCounts, other: ColumnCounts) -> tuple[int, int]:
        return int(min(one.least, other.least)), int(max(one.greatest, other.greatest))

    def _bits(self, name: str, span: tuple[int, int] | None = None) -> exp.Expr:
        """The values of a column as bits, one for each number from the least on."""
        counts = self._counts[name]
        ends = [exp.cast(exp.convert(end), "BIGINT") for end in span or self._span(counts, counts)]
        value = exp.cast(self._value(name), "BIGINT")
        return exp.Anonymous(this="bitstring_agg", expressions=[value, *ends])

    def _none_lost(self, name: str, other: TableQueries, key: str) -> bool:
        """Whether it is known from bits that all values are keys of another table."""
        one, two = self._counts.get(name), other._counts.get(key)
        if two is None or not self._is_dense(name, two, other._size):
            return False
        if not other._is_dense(key, one, self._size):
            return False
        span = self._span(self._counts[name], two)
        here = exp.select(exp.alias_(self._bits(name, span), "b")).from_(self._item()).subquery("l")
        there = exp.select(exp.alias_(other._bits(key, span), "b")).from_(other._item()).subquery("k")
        no_key = exp.Paren(this=exp.BitwiseNot(this=own_column("b", "k")))
        lost = exp.BitwiseAnd(this=own_column("b", "l"), expression=no_key)
        number = exp.Anonymous(this="bit_count", expressions=[lost])
        query = exp.select(number).from_(here).join(there, join_type="CROSS")
        return self._run(query) == [(0,)]

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

    def n_from(self, name: str, time: float) -> int:
        """The number of rows with a number, or a date in microseconds since 1970, that is not below this."""
        kind = DATE if self.kinds[name] in (DAY, MOMENT) else NUMBER
        text = str(value_of(time, kind))
        later = exp.GTE(this=numeric(self._value(name), kind == DATE), expression=cutoff_value(text, kind))
        query = exp.select(exp.Count(this=exp.Star())).from_(self._item()).where(later)
        ((number,),) = self._run(query)
        return int(number)

    def n_values_before(self, name: str, times: tuple[TimeColumn, ...], end: float, kind: str) -> int:
        """The number of distinct values in rows whose times are before a time."""
        table = self._table._replace(since=times)
        number = exp.Count(this=exp.Distinct(expressions=[self._value(name)]))
        query, of_rows = table.with_times(exp.select(number).from_(self._item()), "f")
        since = latest([numeric(time, kind == DATE) for time in of_rows])
        before = exp.LT(this=since, expression=cutoff_value(str(value_of(end, kind)), kind))
        ((n_values,),) = self._run(query.where(before))
        return int(n_values)

    def lost(self, name: str, other: TableQueries, key: str) -> tuple[int, int, list[object]]:
        """The values that are not keys of another table: their number, their rows, the first few."""
        if self._none_lost(name, other, key):
            return 0, 0, []
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
