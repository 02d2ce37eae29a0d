"""Tables that DuckDB reads: Parquet files, DuckDB files, and tables of text that ``text_rows`` makes.

Columns are fetched one by one, so that only one of them is there as values at a time: DuckDB gives the rows
of a file or a table in the same order each time. Two queries of a view may give them in different orders, so
one query copies a view into a table of our own first. Text is coded inside DuckDB: a column of ten million
words comes out as its distinct words and ten million integers. Names and values enter a query only as quoted
identifiers and parameters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hornbeam.errors import DataError, plural
from hornbeam.files import (
    NO_OTHER_FILES,
    TemporaryFolder,
    database_file,
    one_file,
    quoted,
    quoted_path,
    quoted_text,
)
from hornbeam.loading.files import ALLOW_OUTSIDE
from hornbeam.loading.machine import most_memory
from hornbeam.loading.tables.columns.column import (
    EVERY_VIEW,
    Catalogued,
    Column,
    ForeignKey,
    Table,
    Views,
    omitted_view,
    unread_column,
)
from hornbeam.loading.tables.columns.new_columns import (
    boolean_column,
    coded_text,
    moment_column,
    number_column,
    text_column,
)
from hornbeam.loading.tables.columns.types import inferred

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
"""numbers that may not fit int64 or float64: read as text, and then as numbers where they fit"""
_TEXTS = ("VARCHAR", "ENUM", "UUID")
_MOMENTS = ("DATE", "TIMESTAMP")
_NANOSECONDS = "_NS"
"""how the names of types end whose moments are in nanoseconds; they are cut to whole microseconds"""
_ROWS_PER_WORD = 5
"""with fewer rows per distinct word, text is coded in Python and not by DuckDB"""


@contextmanager
def connection() -> Iterator[DuckDBPyConnection]:
    """A private DuckDB in memory; what does not fit there is in a temporary folder until the end."""
    import duckdb

    with TemporaryFolder() as folder:
        # Reading a file must not download an extension without the user's knowledge.
        config: dict[str, Any] = {
            "autoinstall_known_extensions": "false",
            "temp_directory": str(folder / "spill"),
        }
        with duckdb.connect(config=config) as duck:
            yield duck


def read_parquet(name: str, path: Path, unused: Collection[str], duck: DuckDBPyConnection) -> Table:
    """A Parquet file as a table."""
    import duckdb

    try:
        # A view takes no parameters.
        # Without the option a folder named "year=2024" would become a column.
        file = f"read_parquet({quoted_text(one_file(path))}, hive_partitioning=false)"
        duck.execute(f"CREATE OR REPLACE VIEW parquet AS SELECT * FROM {file}")
        return _read_relation(duck, ("parquet",), name, unused)
    except duckdb.Error as error:
        raise DataError(f'cannot read "{path}" as Parquet: {_short(error)}.') from None


def read_duckdb_file(
    path: Path,
    unused: Mapping[str, Collection[str]],
    left_out: Collection[str] = (),
    allow_outside: bool = False,
    wanted: Views = EVERY_VIEW,
) -> list[Table]:
    """The tables and views of a DuckDB file, sorted by name, with their keys; some are left out.

    Views that read other files are refused, unless ``allow_outside``.
    """
    with _attached(path, allow_outside) as duck:
        tables = []
        catalogue = _catalogue(duck)
        omitted = wanted.omitted({name: table.is_view for name, table in catalogue.items()})
        for name, (parts, key, foreign_keys, in_schema, is_view, _) in catalogue.items():
            if name in omitted:
                tables.append(omitted_view(name))
            elif name not in left_out:
                path_of = (_ATTACHED, *parts)
                read = _read_relation(duck, path_of, name, unused.get(name, ()), ordered=not is_view)
                tables.append(replace(read, key=key, foreign_keys=foreign_keys, in_schema=in_schema))
    return tables


def duckdb_catalogue(path: Path) -> dict[str, Catalogued]:
    """The tables and views of a DuckDB file, by name, with their keys."""
    with _attached(path) as duck:
        return _catalogue(duck)


_ATTACHED = "data"
_VIEWS = "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'data' AND NOT internal"


@contextmanager
def _attached(path: Path, allow_outside: bool = False) -> Iterator[DuckDBPyConnection]:
    import duckdb

    with connection() as duck:
        try:
            duck.execute(f"ATTACH ? AS {_ATTACHED} (READ_ONLY)", [database_file(path)])
            if not allow_outside:
                duck.execute(NO_OTHER_FILES)
            yield duck
        except duckdb.PermissionException as error:
            raise DataError(
                f'a view of the DuckDB file "{path}" reads another file ({_short(error)}); leave the view '
                f"out by use = false in schema.toml, or allow such views by {ALLOW_OUTSIDE}."
            ) from None
        except duckdb.Error as error:
            raise DataError(f'cannot read the DuckDB file "{path}": {_short(error)}.') from None


def _catalogue(duck: DuckDBPyConnection) -> dict[str, Catalogued]:
    names = duck.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'data' UNION ALL "
        f"{_VIEWS} ORDER BY 1, 2"
    ).fetchall()
    views = set(duck.execute(_VIEWS).fetchall())
    constraints = _constraints(duck)
    return {
        table if schema == "main" else f"{schema}.{table}": Catalogued(
            (schema, table),
            *constraints.get((schema, table), ((), ())),
            in_schema=schema != "main",
            is_view=(schema, table) in views,
        )
        for schema, table in names
    }


def _constraints(
    duck: DuckDBPyConnection,
) -> dict[tuple[str, str], tuple[tuple[str, ...], tuple[ForeignKey, ...]]]:
    keys: dict[tuple[str, str], tuple[tuple[str, ...], tuple[ForeignKey, ...]]] = {}
    rows = duck.execute(
        "SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table, "
        "referenced_column_names FROM duckdb_constraints() WHERE database_name = 'data' "
        "AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY') ORDER BY ALL"
    ).fetchall()
    for schema, table, kind, columns, referenced, references in rows:
        key, foreign = keys.get((schema, table), ((), ()))
        if kind == "PRIMARY KEY":
            key = tuple(columns)
        else:
            # DuckDB allows references within one schema only.
            name = referenced if schema == "main" else f"{schema}.{referenced}"
            foreign = (*foreign, ForeignKey(tuple(columns), name, tuple(references)))
        keys[schema, table] = key, foreign
    return keys


def check_size(name: str, rows: int, columns: int) -> None:
    """Refuse a table that does not fit into the memory of this machine, however small its Parquet file is.

    >>> check_size("visits", 1000, 3)
    """
    needed = rows * columns * _BYTES_PER_VALUE
    if needed > most_memory():
        raise DataError(
            f'table "{name}" has {rows:,} rows and {plural(columns, "column")}, which would take '
            f"{needed / 1e9:,.0f} GB, more than this machine has; leave columns out, or count in place "
            "(--engine duckdb)."
        )


def _read_relation(
    duck: DuckDBPyConnection,
    path: Sequence[str],
    name: str,
    unused: Collection[str] = (),
    ordered: bool = True,
) -> Table:
    """A table or view of a connection, its columns in the order of the source.

    Rows that are not ``ordered`` are sorted by their values, so that their numbers are the same each time.
    """
    description = duck.execute(f"DESCRIBE SELECT * FROM {quoted_path(path)}").fetchall()
    types = {str(row[0]): str(row[1]) for row in description if row[0] not in unused}
    expressions = {column: _expression(column, type_name) for column, type_name in types.items()}
    fetched = {column: expression for column, expression in expressions.items() if expression is not None}
    by_duckdb = (*_TEXTS, *_LONG_NUMBERS)
    readable = [column for column in types if column in fetched or types[column].startswith(by_duckdb)]
    source, size = _size_of(duck, path, name, len(readable))
    if readable and not ordered:
        source = _copied(duck, path, readable)
    columns: dict[str, Column] = {}
    unread = []
    for column, type_name in types.items():
        if column in fetched:
            (array,) = duck.execute(f"SELECT {fetched[column]} FROM {source}").fetchnumpy().values()
            columns[column] = _typed(column, type_name, array)
            del array
        elif type_name.startswith(_TEXTS):
            columns[column] = text_of(duck, source, column)
        elif type_name.startswith(_LONG_NUMBERS):
            columns[column] = inferred(text_of(duck, source, column))
        else:
            unread.append(unread_column(column, type_name))
    if any(len(column) != size for column in columns.values()):
        raise DataError(f'table "{name}" changed while it was read; load it again.')
    return Table(name, columns, size, unread=tuple(unread))


def _size_of(duck: DuckDBPyConnection, path: Sequence[str], name: str, columns: int) -> tuple[str, int]:
    """A relation as queries name it, and its number of rows; one too large for this machine is refused."""
    source = quoted_path(path)
    size = int(duck.execute(f"SELECT count(*) FROM {source}").fetchall()[0][0])
    check_size(name, size, columns)
    return source, size


def _copied(duck: DuckDBPyConnection, path: Sequence[str], columns: Sequence[str]) -> str:
    """A table of our own with some columns of a view, sorted: each query gives its rows in the same order."""
    wanted = ", ".join(map(quoted, columns))
    query = f"SELECT {wanted} FROM {quoted_path(path)} ORDER BY ALL"
    duck.execute(f"CREATE OR REPLACE TEMP TABLE one_reading AS {query}")
    return "temp.one_reading"


def _expression(column: str, type_name: str) -> str | None:
    """The expression that fetches a column into a NumPy array; None where no array can hold it."""
    if type_name in _NUMBERS or type_name == "BOOLEAN":
        return quoted(column)
    if not type_name.startswith(_MOMENTS):
        return None
    return f"{'epoch_ns' if type_name.endswith(_NANOSECONDS) else 'epoch_us'}({quoted(column)})"


def _typed(column: str, type_name: str, array: Any) -> Column:
    missing: npt.NDArray[np.bool_] | None = None
    if isinstance(array, np.ma.MaskedArray):
        missing = np.ma.getmaskarray(array)
        array = array.data
    if type_name == "BOOLEAN":
        return boolean_column(column, array, missing)
    if type_name.startswith(_MOMENTS):
        whole = array.astype(np.int64)
        if type_name.endswith(_NANOSECONDS):
            whole = whole // 1000
        moments = whole.view("datetime64[us]")
        if missing is not None:
            moments = np.where(missing, np.datetime64("NaT", "us"), moments)
        return moment_column(column, moments)
    return number_column(column, array, missing)


def text_of(duck: DuckDBPyConnection, source: str, column: str) -> Column:
    """A column as text, coded by DuckDB; empty text is missing."""
    text = f"nullif(CAST({quoted(column)} AS VARCHAR), '')"
    count = f"SELECT count({text}), approx_count_distinct({text}) FROM {source}"
    rows, distinct = duck.execute(count).fetchall()[0]
    if distinct * _ROWS_PER_WORD > rows:
        # Most rows have a word of their own: coding them in DuckDB would cost more than fetching all words.
        words = duck.execute(f"SELECT {text} AS word FROM {source}").fetchnumpy()["word"]
        # ``filled(None)`` would put NumPy's own fill value where a value is missing.
        plain = np.ma.getdata(words).astype(object)
        plain[np.ma.getmaskarray(words)] = None
        return text_column(column, plain.tolist())
    try:
        duck.execute(
            f"CREATE TYPE words AS ENUM (SELECT DISTINCT {text} FROM {source} WHERE {text} IS NOT NULL)"
        )
        names = duck.execute("SELECT unnest(enum_range(NULL::words)) AS word").fetchnumpy()["word"].tolist()
        codes = duck.execute(f"SELECT enum_code(CAST({text} AS words)) AS code FROM {source}").fetchnumpy()[
            "code"
        ]
    finally:
        duck.execute("DROP TYPE IF EXISTS words")
    codes = codes if not np.ma.is_masked(codes) else np.ma.filled(codes.astype(np.int32), len(names))
    return coded_text(column, names, np.ma.getdata(codes))


def _short(error: Exception) -> str:
    """The first line of DuckDB's message, without the kind of error and the full stop."""
    line = str(error).partition("\n")[0].rstrip(".")
    return line.partition(": ")[2] or line
