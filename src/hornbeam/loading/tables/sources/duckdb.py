"""Tables that DuckDB reads: Parquet files, DuckDB files, and what ``delimited`` leaves in it.

Text is coded inside DuckDB, so that a column of ten million words comes out as ten million numbers
and its distinct words. Names and values never become part of a query but as quoted identifiers and
parameters.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Notice
from hornbeam.errors import DataError, plural
from hornbeam.loading.tables.column import (
    Catalogued,
    Column,
    ForeignKey,
    Table,
    boolean_column,
    coded_text,
    moment_column,
    number_column,
    text_column,
)
from hornbeam.loading.tables.types import inferred
from hornbeam.quoting import quoted, quoted_path

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_BYTES_PER_VALUE = 8
_NUMBERS = frozenset(
    (
        *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
        *("FLOAT", "DOUBLE"),
    )
)
_LONG_NUMBERS = ("DECIMAL", "HUGEINT", "UHUGEINT")
"""numbers that int64 and float64 may not hold: read as text, then as the numbers they are"""
_TEXTS = ("VARCHAR", "ENUM", "UUID")
_MOMENTS = ("DATE", "TIMESTAMP")
_ROWS_PER_WORD = 5
"""with fewer rows for each different word, text is coded here and not by DuckDB"""


@contextmanager
def connection() -> Iterator[DuckDBPyConnection]:
    """A private DuckDB in memory."""
    import duckdb

    with duckdb.connect() as made:
        # Downloading an extension behind the user's back is no way to read a file.
        made.execute("SET autoinstall_known_extensions = false")
        yield made


def read_parquet(name: str, path: Path, unused: Collection[str]) -> Table:
    """A Parquet file as a table."""
    import duckdb

    with connection() as made:
        try:
            made.execute(f"CREATE VIEW parquet AS SELECT * FROM read_parquet({_literal(path)})")
            return read_relation(made, ("parquet",), name, unused)
        except duckdb.Error as error:
            raise DataError(f'cannot read "{path}" as Parquet: {_short(error)}.') from None


def read_duckdb_file(path: Path, unused: Mapping[str, Collection[str]]) -> list[Table]:
    """The tables and views of a DuckDB file, in the order of their names, with their keys."""
    with _attached(path) as made:
        tables = []
        for name, (parts, key, foreign_keys) in _catalogue(made).items():
            read = read_relation(made, (_ATTACHED, *parts), name, unused.get(name, ()))
            tables.append(Table(name, read.columns, read.size, key, foreign_keys, read.notices))
    return tables


def duckdb_catalogue(path: Path) -> dict[str, Catalogued]:
    """The tables and views of a DuckDB file, by name, with their keys."""
    with _attached(path) as made:
        return _catalogue(made)


_ATTACHED = "data"


@contextmanager
def _attached(path: Path) -> Iterator[DuckDBPyConnection]:
    import duckdb

    with connection() as made:
        try:
            made.execute(f"ATTACH ? AS {_ATTACHED} (READ_ONLY)", [str(path)])
            yield made
        except duckdb.Error as error:
            raise DataError(f'cannot read the DuckDB file "{path}": {_short(error)}.') from None


def _catalogue(made: DuckDBPyConnection) -> dict[str, Catalogued]:
    names = made.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'data' UNION ALL "
        "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'data' "
        "AND NOT internal ORDER BY 1, 2"
    ).fetchall()
    constraints = _constraints(made)
    return {
        table if schema == "main" else f"{schema}.{table}": Catalogued(
            (schema, table), *constraints.get((schema, table), ((), ()))
        )
        for schema, table in names
    }


def _constraints(
    made: DuckDBPyConnection,
) -> dict[tuple[str, str], tuple[tuple[str, ...], tuple[ForeignKey, ...]]]:
    found: dict[tuple[str, str], tuple[tuple[str, ...], tuple[ForeignKey, ...]]] = {}
    rows = made.execute(
        "SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table, "
        "referenced_column_names FROM duckdb_constraints() WHERE database_name = 'data' "
        "AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY') ORDER BY ALL"
    ).fetchall()
    for schema, table, kind, columns, referenced, references in rows:
        key, foreign = found.get((schema, table), ((), ()))
        if kind == "PRIMARY KEY":
            key = tuple(columns)
        else:
            # DuckDB allows references within one schema only.
            name = referenced if schema == "main" else f"{schema}.{referenced}"
            foreign = (*foreign, ForeignKey(tuple(columns), name, tuple(references)))
        found[schema, table] = key, foreign
    return found


def check_size(name: str, rows: int, columns: int) -> None:
    """Refuse a table that this machine cannot hold: a small file may say one value any number of times.

    >>> check_size("visits", 1000, 3)
    """
    needed = rows * columns * _BYTES_PER_VALUE
    if needed > most_memory():
        raise DataError(
            f'table "{name}" has {rows:,} rows and {plural(columns, "column")}, which would take '
            f"{needed / 1e9:,.0f} GB, more than this machine has; leave columns out, or count where the data "
            "are (--engine duckdb)."
        )


def most_memory() -> int:
    """Bytes of memory that this machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 62


def read_relation(
    made: DuckDBPyConnection, path: Sequence[str], name: str, unused: Collection[str] = ()
) -> Table:
    """A table or view of a connection, its columns in their order."""
    source = quoted_path(path)
    described = made.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
    types = {str(row[0]): str(row[1]) for row in described if row[0] not in unused}
    plain = {column: _expression(column, type_name) for column, type_name in types.items()}
    chosen = {column: expression for column, expression in plain.items() if expression is not None}
    size: int = made.execute(f"SELECT count(*) FROM {source}").fetchall()[0][0]
    check_size(name, size, len(types))
    arrays: dict[str, Any] = {}
    if chosen:
        wanted = ", ".join(f"{sql} AS c{number}" for number, sql in enumerate(chosen.values()))
        fetched = made.execute(f"SELECT {wanted} FROM {source}").fetchnumpy()
        arrays = dict(zip(chosen, fetched.values(), strict=True))
    columns: dict[str, Column] = {}
    notices = []
    for column, type_name in types.items():
        if column in arrays:
            columns[column] = _typed(column, type_name, arrays.pop(column))
        elif type_name.startswith(_TEXTS):
            columns[column] = text_of(made, source, column)
        elif type_name.startswith(_LONG_NUMBERS):
            columns[column] = inferred(text_of(made, source, column))
        else:
            notices.append(
                Notice(
                    f'table "{name}": column "{column}" is not used: its values are of the type {type_name}.'
                )
            )
    return Table(name, columns, size, notices=tuple(notices))


def _expression(column: str, type_name: str) -> str | None:
    """What to fetch of a column that NumPy can hold; None for others."""
    if type_name in _NUMBERS or type_name == "BOOLEAN":
        return quoted(column)
    return f"epoch_us({quoted(column)})" if type_name.startswith(_MOMENTS) else None


def _typed(column: str, type_name: str, array: Any) -> Column:
    missing: npt.NDArray[np.bool_] | None = None
    if isinstance(array, np.ma.MaskedArray):
        missing = np.ma.getmaskarray(array)
        array = array.data
    if type_name == "BOOLEAN":
        return boolean_column(column, array, missing)
    if type_name.startswith(_MOMENTS):
        moments = array.astype(np.int64).view("datetime64[us]")
        if missing is not None:
            moments = np.where(missing, np.datetime64("NaT", "us"), moments)
        return moment_column(column, moments)
    return number_column(column, array, missing)


def text_of(made: DuckDBPyConnection, source: str, column: str) -> Column:
    """A column as text, coded by DuckDB; empty text is missing."""
    text = f"nullif(CAST({quoted(column)} AS VARCHAR), '')"
    count = f"SELECT count({text}), approx_count_distinct({text}) FROM {source}"
    rows, distinct = made.execute(count).fetchall()[0]
    if distinct * _ROWS_PER_WORD > rows:
        # Most rows have a word of their own: coding them there would cost more than fetching them all.
        words = made.execute(f"SELECT {text} AS word FROM {source}").fetchnumpy()["word"]
        # Not ``filled(None)``, which puts NumPy's own stand-in where a value is missing.
        plain = np.ma.getdata(words).astype(object)
        plain[np.ma.getmaskarray(words)] = None
        return text_column(column, plain.tolist())
    try:
        made.execute(
            f"CREATE TYPE words AS ENUM (SELECT DISTINCT {text} FROM {source} WHERE {text} IS NOT NULL)"
        )
        names = made.execute("SELECT unnest(enum_range(NULL::words)) AS word").fetchnumpy()["word"].tolist()
        codes = made.execute(f"SELECT enum_code(CAST({text} AS words)) AS code FROM {source}").fetchnumpy()[
            "code"
        ]
    finally:
        made.execute("DROP TYPE IF EXISTS words")
    codes = np.ma.filled(codes.astype(np.int64), len(names))
    return coded_text(column, names, codes)


def _literal(path: Path) -> str:
    """A path as a text of SQL: a view cannot have parameters."""
    return "'" + str(path).replace("'", "''") + "'"


def _short(error: Exception) -> str:
    """The first line of DuckDB's message, without its kind and full stop."""
    line = str(error).partition("\n")[0].rstrip(".")
    return line.partition(": ")[2] or line
