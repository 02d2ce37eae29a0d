"""Reads the tables of a source of any kind, and the schema that the user states for them."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hornbeam.errors import DataError, OptionError, Place, SchemaError
from hornbeam.loading.files import check_inside, is_folder
from hornbeam.loading.kind_of_source import (
    SCHEMA_FILE,
    Source,
    SourceKind,
    is_connection,
    kind_of_source,
    kind_of_table_file,
    table_files_in,
    table_name,
)
from hornbeam.loading.tables.columns.column import Table, Views
from hornbeam.loading.tables.schema_file import Statement, Statements, read_schema_file, statements

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def stated_schema(source: Source, schema: object) -> tuple[dict[str, Statement], Place]:
    """What is stated about the tables: by a file, a dict, or the ``schema.toml`` in the folder."""
    if isinstance(schema, Mapping):
        return statements(schema, Place("schema")), Place("schema")
    if isinstance(schema, str | os.PathLike):
        return read_schema_file(Path(schema)), Place(str(schema))
    if schema is not None:
        raise OptionError(f"schema={schema!r} is refused: it must be a file or a dict.")
    if not isinstance(source, Mapping) and not is_connection(source):
        inside = Path(source) / SCHEMA_FILE
        if inside.is_file():
            return read_schema_file(inside), Place(str(inside))
    return {}, Place("schema")


def names_of_files(source: Source, stated: Statements) -> list[str]:
    """The names of the tables that may be text files; none for other sources."""
    kind = kind_of_source(source, has_schema=True)
    if kind is SourceKind.TEXT_FILE:
        return [table_name(Path(cast("str | os.PathLike[str]", source)))]
    if kind is SourceKind.TABLE_FOLDER:
        return list(table_files(Path(cast("str | os.PathLike[str]", source)), stated))
    return []


def check_files(source: Source, stated: Statements, place: Place) -> None:
    """Refuse files of tables that are neither in the folder of the data nor in the folder above."""
    if isinstance(source, Mapping) or not is_folder(Path(source)):
        return
    for statement in stated.values():
        if statement.file is not None and statement.use:
            check_inside(Path(source), Path(source) / statement.file, place)


class SourceAccess(NamedTuple):
    """What may be read of a source besides its tables and files."""

    allow_outside: bool = False
    """whether views may read files that are not part of the data"""
    views: bool = False
    """whether all views of a database are read, not only those that are stated"""


DEFAULT_ACCESS = SourceAccess()


def read_tables(source: Source, stated: Statements, access: SourceAccess = DEFAULT_ACCESS) -> list[Table]:
    """All tables of a source, sorted by name, without those that are stated to be left out.

    Columns that are stated to be unused are not read. Every source gives the same order, because it
    decides which names predicates get where names clash.
    """
    left_out = [name for name, statement in stated.items() if not statement.use]
    tables = [table for table in _tables(source, stated, left_out, access) if table.name not in left_out]
    if all(table.omitted for table in tables):
        raise DataError(
            f"there is no table in {_shown(source)}; name a source with at least one table to use."
        )
    return sorted(tables, key=lambda table: table.name)


def _tables(
    source: Source, stated: Statements, left_out: Collection[str], access: SourceAccess
) -> list[Table]:
    views = Views(access.views, frozenset(stated))
    unused = {name: statement.unread(name) for name, statement in stated.items()}
    # Each reader is imported when it is needed: none needs the libraries of the others.
    kind = kind_of_source(source, has_schema=True)
    if kind is SourceKind.FRAMES:
        from hornbeam.loading.tables.sources.frames import read_frames

        frames = cast(Mapping[str, Any], source)
        used = {name: frame for name, frame in frames.items() if name not in left_out}
        return read_frames(used, unused)
    if kind is SourceKind.POSTGRES:
        from hornbeam.loading.tables.sources.postgres import read_postgres

        return read_postgres(str(source), unused, left_out, views)
    path = Path(cast("str | os.PathLike[str]", source))
    if kind is SourceKind.SQLITE_FILE:
        from hornbeam.loading.tables.sources.sqlite import read_sqlite_file

        return read_sqlite_file(path, unused, left_out, views)
    if kind is SourceKind.DUCKDB_FILE:
        from hornbeam.loading.tables.sources.duckdb import read_duckdb_file

        return read_duckdb_file(path, unused, left_out, access.allow_outside, views)
    if kind is SourceKind.OTHER_FILE:
        raise DataError(
            f'"{path}" is neither a DuckDB nor a SQLite file, nor named .csv, .tsv or .parquet; '
            "name a folder of tables or of facts, or a database file."
        )
    files = {table_name(path): path} if kind.is_file else table_files(path, stated)
    from hornbeam.loading.tables.sources.duckdb import connection

    with connection() as duck:
        return [
            _read_table_file(name, file, stated.get(name, Statement()), duck) for name, file in files.items()
        ]


def _shown(source: Source) -> object:
    if isinstance(source, Mapping):
        return "the dict"
    return "the database" if is_connection(source) else source


def table_files(folder: Path, stated: Statements) -> dict[str, Path]:
    """The file of each table of a folder, without the tables that are stated to be left out."""
    paths: dict[str, Path] = {}
    named = {folder / statement.file for statement in stated.values() if statement.file is not None}
    for path in table_files_in(folder):
        if path in named:
            continue
        name = table_name(path)
        if name in paths:
            raise SchemaError(
                f'"{paths[name].name}" and "{path.name}" are both the table "{name}"; keep one of them, or '
                "name the right one by file = ... in schema.toml."
            )
        paths[name] = path
    paths |= {name: folder / each.file for name, each in stated.items() if each.file is not None and each.use}
    return {name: path for name, path in sorted(paths.items()) if stated.get(name, Statement()).use}


def _read_table_file(name: str, path: Path, statement: Statement, duck: DuckDBPyConnection) -> Table:
    if not path.is_file():
        raise DataError(f'table "{name}": there is no file "{path}"; correct file = ... in schema.toml.')
    if kind_of_table_file(path) is SourceKind.PARQUET_FILE:
        from hornbeam.loading.tables.sources.duckdb import read_parquet

        return read_parquet(name, path, statement.unread(name), duck)
    from hornbeam.loading.tables.sources.delimited import read_delimited

    return read_delimited(name, path, statement.form, statement.unread(name), duck)
