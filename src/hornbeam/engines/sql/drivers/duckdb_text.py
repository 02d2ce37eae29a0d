"""Delimited text that DuckDB reads in place, with a type for each column that fits all its values.

The types follow the rule of loading, which the caller gives as SQL: 01234 is a code, not a number. DuckDB
would guess the types from some rows; here one pass reads all rows, and later queries cast accordingly.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from sqlglot import exp

from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.expressions import DUCKDB, own_column
from hornbeam.quoting import quoted

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


class DelimitedFile(NamedTuple):
    """A file of delimited text in UTF-8, whose first row may be its header."""

    path: Path
    separator: str
    columns: tuple[str, ...]
    header: bool = True
    missing: tuple[str, ...] = ()
    """words that mean a missing value"""


def typed_query(connection: Connection, file: DelimitedFile, kinds: Sequence[TextKind]) -> str:
    """The query that reads a file; each column has the first of the kinds that all of its cells have."""
    raw = DUCKDB.text(_raw(file))
    # Most columns of text fail on the first rows, which saves testing all of them.
    first_rows = f"(SELECT * FROM {raw} LIMIT {_FIRST_ROWS}) AS r"
    fitting = _fitting(connection, first_rows, [kinds] * len(file.columns), empty=True)
    fitting = _fitting(connection, raw, fitting, empty=False)
    values = [
        f"{(fits[0].value if fits else '{0}').format(_text(place))} AS {quoted(name)}"
        for place, (name, fits) in enumerate(zip(file.columns, fitting, strict=True))
    ]
    return f"SELECT {', '.join(values)} FROM {raw}"


def _fitting(
    connection: Connection, rows: str, kinds: Sequence[Sequence[TextKind]], empty: bool
) -> list[list[TextKind]]:
    """Those of the kinds of each column that all its cells have; ``empty``: whether no cells have any kind."""
    tests = [
        f"coalesce(bool_and({kind.condition.format(_text(place))}), {empty})"
        for place, of_column in enumerate(kinds)
        for kind in of_column
    ]
    ((_, *answers),) = connection.rows(f"SELECT {', '.join(['count(*)', *tests])} FROM {rows}")
    answer = iter(answers)
    return [[kind for kind in of_column if next(answer)] for of_column in kinds]


def _text(place: int) -> str:
    """A column of the file, as text."""
    return f"r.c{place}"


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
        "max_line_size": exp.convert(MOST_IN_A_LINE),
        "nullstr": _list(["", *file.missing]),
        "quote": exp.Literal.string('"'),
        "escape": exp.Literal.string('"'),
    }
    options = [exp.EQ(this=own_column(word), expression=value) for word, value in words.items()]
    read = exp.Anonymous(this="read_csv", expressions=[exp.Literal.string(str(file.path)), *options])
    return exp.alias_(exp.Table(this=read), "r", table=True)


def _list(words: Sequence[str]) -> exp.Expr:
    return exp.Array(expressions=[exp.Literal.string(word) for word in words])
