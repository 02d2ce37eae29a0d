"""What is asked of the columns of tables that stay where they are, before anything is counted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlglot import exp

from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.expressions import SqlTable, column, integer, own_column

WHOLE, REAL, TEXT, WORD, BOOLEAN, DAY, MOMENT = "whole", "real", "text", "word", "boolean", "day", "moment"
"""What the values of a column are; a word is text that is never empty, such as a UUID."""
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
    """A column in numbers: how many different values it has, how many rows have none, and more."""

    n_values: int
    n_missing: int
    most_rows: int = 0
    """in how many rows the most frequent value stands"""
    least: Any = None
    """of whole numbers"""
    most: Any = None


class TableQuestions:
    """One table, and what it is asked; empty text is no value."""

    def __init__(self, connection: Connection, name: tuple[str, ...]) -> None:
        self._connection = connection
        self._table = SqlTable(name, ())
        self.kinds: dict[str, str] = {}
        """what the values of each column are; of other types, the name of the type in brackets"""
        query = exp.select("*").from_(self._table.item())
        for column_name, type_name in connection.columns(connection.dialect.text(query)):
            self.kinds[column_name] = _kind(type_name)

    @property
    def name(self) -> tuple[str, ...]:
        return self._table.name

    def size(self) -> int:
        ((number,),) = self._run(exp.select(exp.Count(this=exp.Star())).from_(self._item()))
        return int(number)

    def counts(self, name: str) -> ColumnCounts:
        """One column in numbers."""
        value = own_column("v", "c")
        missing = exp.Is(this=value, expression=exp.null())
        absent = exp.Case(ifs=[exp.If(this=missing, true=own_column("n", "c"))], default=integer(0))
        there = exp.Case(ifs=[exp.If(this=missing.copy(), true=integer(0))], default=own_column("n", "c"))
        wanted: list[exp.Expr] = [
            exp.Count(this=value.copy()),
            exp.Sum(this=absent),
            exp.Max(this=there),
        ]
        if self.kinds[name] == WHOLE:
            wanted += [exp.Min(this=value.copy()), exp.Max(this=value.copy())]
        ((n_values, n_missing, most_rows, *extremes),) = self._run(
            exp.select(*wanted).from_(self._grouped(name, "c"))
        )
        return ColumnCounts(int(n_values), int(n_missing or 0), int(most_rows or 0), *extremes)

    def repeated(self, name: str) -> tuple[int, list[object]]:
        """How many values stand in more than one row, and the first of them."""
        again = exp.GT(this=own_column("n", "c"), expression=integer(1))
        found = exp.select(own_column("v", "c")).from_(self._grouped(name, "c"))
        found = found.where(again, self._known("c"))
        (number,) = self._run(exp.select(exp.Count(this=exp.Star())).from_(found.subquery("r")))[0]
        return int(number), [value for (value,) in self._run(found.order_by("v").limit(_SHOWN))]

    def first(self, name: str) -> list[object]:
        """The first values of a column, in their order."""
        found = exp.select(own_column("v", "c")).from_(self._grouped(name, "c")).where(self._known("c"))
        return [value for (value,) in self._run(found.order_by("v").limit(_SHOWN))]

    def lost(self, name: str, other: TableQuestions, key: str) -> tuple[int, int, list[object]]:
        """Of values that are no keys of another table: how many, in how many rows, and the first."""
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
        """Whether no two rows have the same values; rows that lack one are not compared."""
        complete = [exp.Not(this=exp.Is(this=self._value(name), expression=exp.null())) for name in names]
        rows = exp.select(*(exp.alias_(self._value(name), f"v{i}") for i, name in enumerate(names)))
        rows = rows.from_(self._item()).where(*complete)
        found = [rows, rows.distinct()]
        counts = [exp.select(exp.Count(this=exp.Star())).from_(each.subquery("r")) for each in found]
        return self._run(counts[0]) == self._run(counts[1])

    def fetch(self, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """These columns of all rows, in no order."""
        return self._run(exp.select(*map(self._value, names)).from_(self._item()))

    def _grouped(self, name: str, alias: str) -> exp.Subquery:
        """Each value ``v`` of a column and in how many rows it stands, ``n``."""
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
    """What the values of a type of a system are.

    >>> [_kind(name) for name in ("BIGINT", "numeric(9, 2)", "character varying", "BLOB")]
    ['whole', 'real', 'text', '(BLOB)']
    """
    for kind, pattern in _KINDS:
        if re.fullmatch(pattern, type_name.lower()):
            return kind
    return f"({type_name})"
