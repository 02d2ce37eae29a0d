"""Delimited text that DuckDB reads in place, with a type for each column that fits all its values.

The types follow the rules of loading: 01234 is a code, not a number. DuckDB would guess the types from
some rows; here one pass reads all rows, and later queries cast accordingly.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sqlglot import exp

from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.expressions import DUCKDB, own_column
from hornbeam.quoting import one_file

MOST_IN_A_LINE = 16_777_216
"""Maximum number of bytes in a line, the same as for files that are loaded."""
_WHOLE = "-?(0|[1-9][0-9]{0,17})"
_REAL = "-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][-+]?[0-9]+)?"
_BOOLEAN = "(true|false|True|False|TRUE|FALSE)"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT = _DAY + "([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?"
_KINDS = (
    ("BIGINT", _WHOLE),
    ("DOUBLE", _REAL),
    ("BOOLEAN", _BOOLEAN),
    ("DATE", _DAY),
    ("TIMESTAMP", _MOMENT),
)


class DelimitedFile(NamedTuple):
    """A file of delimited text in UTF-8, whose first row may be its header."""

    path: Path
    separator: str
    columns: tuple[str, ...]
    header: bool = True
    missing: tuple[str, ...] = ()
    """words that mean a missing value"""


def typed_query(connection: Connection, file: DelimitedFile) -> exp.Select:
    """The query that reads a file with a type for each column."""
    raw, places = _raw(file), range(len(file.columns))
    misfits = [_misfits(_text(place), pattern) for place in places for _, pattern in _KINDS]
    known = [exp.Count(this=_text(place)) for place in places]
    ((*numbers,),) = connection.rows(DUCKDB.text(exp.select(*misfits, *known).from_(raw.copy())))
    query = exp.select().from_(raw)
    for place, name in enumerate(file.columns):
        of_kinds = numbers[place * len(_KINDS) : (place + 1) * len(_KINDS)]
        kind = next((kind for (kind, _), wrong in zip(_KINDS, of_kinds, strict=True) if not wrong), "VARCHAR")
        if not numbers[len(misfits) + place]:
            kind = "VARCHAR"
        query = query.select(exp.alias_(exp.cast(_text(place), kind), name, quoted=True))
    return query


def _text(place: int) -> exp.Expr:
    """A column of the file, as text."""
    return own_column(f"c{place}", "r")


def _misfits(value: exp.Expr, pattern: str) -> exp.Expr:
    """The number of values of a column that a pattern does not match."""
    fits = exp.Anonymous(this="regexp_full_match", expressions=[value, exp.Literal.string(pattern)])
    return exp.CountIf(this=exp.Not(this=fits))


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
