"""Delimited text that DuckDB reads in place, with a type for each column that fits all its values.

The types follow the rule of loading, which the caller gives as SQL: 01234 is a code, not a number. DuckDB
would guess the types from some rows; here one pass reads all rows, and later queries cast accordingly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from sqlglot import exp

from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.expressions import DUCKDB, own_column
from hornbeam.files import one_file, quoted

MOST_IN_A_LINE = 16_777_216
"""Maximum number of bytes in a line, the same as for files that are loaded."""
_FIRST_ROWS = 1000


class TextKind(Protocol):
    """A kind of cells in SQL, with {0} for the text of the cell."""

    @property
    def condition(self) -> str:
        """Holds if the cell is of this kind; NULL for NULL."""

    @property
    def value(self) -> str:
        """The value of a cell of this kind."""

    @property
    def nothing(self) -> str:
        """Holds if a cell of this kind is a word for a missing value; empty if none is."""


class DelimitedFile(NamedTuple):
    """A file of delimited text in UTF-8, whose first row may be its header."""

    path: Path
    separator: str
    columns: tuple[str, ...]
    header: bool = True
    missing: tuple[str, ...] = ()
    """words that mean a missing value"""


class TypedColumn(NamedTuple):
    """A column to be typed: its name, the expression of its cells, and the kinds that they may be of."""

    name: str
    cell: str
    kinds: Sequence[TextKind]
    else_kinds: Sequence[TextKind] = ()
    """the kinds to try if none of ``kinds`` fits"""


def typed_file(
    connection: Connection, file: DelimitedFile, kinds: Sequence[TextKind], else_kinds: Sequence[TextKind]
) -> tuple[str, dict[str, int]]:
    """The query that reads a file; each column has the first of the kinds that all of its cells have.

    Also for some columns the number of rows with words for a missing value.
    """
    columns = [TypedColumn(name, f"r.c{place}", kinds, else_kinds) for place, name in enumerate(file.columns)]
    return typed_query(connection, DUCKDB.text(_raw(file)), columns)


def typed_query(
    connection: Connection, rows: str, columns: Sequence[TypedColumn]
) -> tuple[str, dict[str, int]]:
    """The query that reads rows, a table under the alias r, with columns of the first kind that fits.

    Also for some columns the number of rows with words for a missing value.
    """
    fitting = _first_fitting(connection, rows, columns)
    left = [column for column in fitting if not column.kinds and column.else_kinds]
    others = [column._replace(kinds=column.else_kinds, else_kinds=()) for column in left]
    chosen = {column.name: column for column in (*fitting, *_first_fitting(connection, rows, others))}
    values = [
        f"{(column.kinds[0].value if column.kinds else '{0}').format(column.cell)} AS {quoted(name)}"
        for name, column in chosen.items()
    ]
    return f"SELECT {', '.join(values)} FROM {rows}", _rows_of_words(connection, rows, chosen.values())


def _first_fitting(connection: Connection, rows: str, columns: Sequence[TypedColumn]) -> list[TypedColumn]:
    """The columns with the kinds that all of their cells have."""
    if not columns:
        return []
    # Most columns of text fail on the first rows, which saves testing all of them.
    some = _fitting(connection, f"(SELECT * FROM {rows} LIMIT {_FIRST_ROWS}) AS r", columns, empty=True)
    return _fitting(connection, rows, some, empty=False)


def _rows_of_words(connection: Connection, rows: str, columns: Iterable[TypedColumn]) -> dict[str, int]:
    """For each column with words for a missing value, in how many rows."""
    counted = {
        column.name: f"count(*) FILTER (WHERE {column.kinds[0].nothing.format(column.cell)})"
        for column in columns
        if column.kinds and column.kinds[0].nothing
    }
    if not counted:
        return {}
    (numbers,) = connection.rows(f"SELECT {', '.join(counted.values())} FROM {rows}")
    return {name: int(number) for name, number in zip(counted, numbers, strict=True) if number}


def _fitting(
    connection: Connection, rows: str, columns: Sequence[TypedColumn], empty: bool
) -> list[TypedColumn]:
    """The columns with the kinds that all their cells have; ``empty``: whether no cells have any kind."""
    tests = [
        f"coalesce(bool_and({kind.condition.format(column.cell)}), {empty})"
        for column in columns
        for kind in column.kinds
    ]
    ((_, *answers),) = connection.rows(f"SELECT {', '.join(['count(*)', *tests])} FROM {rows}")
    answer = iter(answers)
    return [column._replace(kinds=[kind for kind in column.kinds if next(answer)]) for column in columns]


def _raw(file: DelimitedFile) -> exp.Expr:
    """The file as a table of text columns c0, c1, ...; all options are set: DuckDB guesses nothing."""
    kinds = [
        exp.PropertyEQ(this=exp.to_identifier(f"c{place}"), expression=exp.Literal.string("VARCHAR"))
        for place in range(len(file.columns))
    ]
    words: dict[str, exp.Expr] = {
        "auto_detect": exp.false(),
        "columns": exp.Struct(expressions=kinds),
        "delim": exp.Literal.string(file.separator),
        "header": exp.convert(file.header),
        "hive_partitioning": exp.false(),
        "max_line_size": exp.convert(MOST_IN_A_LINE),
        "nullstr": _list(["", *file.missing]),
        "quote": exp.Literal.string('"'),
        "escape": exp.Literal.string('"'),
    }
    options = [exp.EQ(this=own_column(word), expression=value) for word, value in words.items()]
    read = exp.Anonymous(this="read_csv", expressions=[exp.Literal.string(one_file(file.path)), *options])
    return exp.alias_(exp.Table(this=read), "r", table=True)


def _list(words: Sequence[str]) -> exp.Expr:
    return exp.Array(expressions=[exp.Literal.string(word) for word in words])
