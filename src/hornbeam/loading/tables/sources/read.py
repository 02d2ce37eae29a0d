"""Where tables come from: frames, folders of files, single files, database files, servers."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from hornbeam.errors import DataError, OptionError, Place, SchemaError
from hornbeam.loading.facts.files import reason
from hornbeam.loading.facts.layout import holds_facts
from hornbeam.loading.tables.column import Table
from hornbeam.loading.tables.schema_file import FILE_NAME, Statement, Statements, read_schema_file, statements

_TEXT_ENDINGS = (".csv", ".tsv")
_PARQUET_ENDINGS = (".parquet", ".pq")
_CONNECTION = re.compile(
    r"(postgres|postgresql)://.*|(\w+\s*=\s*\S+\s+)*(host|dbname|service|hostaddr)\s*=.*", re.DOTALL
)
Source = str | os.PathLike[str] | Mapping[str, Any]


def is_connection(source: object) -> bool:
    """Whether this is a connection string of PostgreSQL.

    >>> [is_connection(each) for each in ("postgresql://localhost/shop", "dbname=shop user=ann", "data")]
    [True, True, False]
    """
    return isinstance(source, str) and _CONNECTION.fullmatch(source) is not None


def holds_tables(source: Source, as_tables: bool = False) -> bool:
    """Whether a source is one of tables, and not a folder of facts (or nothing at all).

    With ``as_tables`` a schema from elsewhere says so of any folder.
    """
    if isinstance(source, Mapping) or is_connection(source):
        return True
    path = Path(source)
    if path.is_file() or (as_tables and path.is_dir()):
        return True
    return (path / FILE_NAME).is_file() or bool(_files(path))


def holds_tables_only(source: Source, as_tables: bool = False) -> bool:
    """Whether ``load`` would read this as tables: it holds some, and no facts unless it is to be taken so."""
    if not isinstance(source, Mapping) and not is_connection(source) and holds_facts(Path(source), as_tables):
        return False
    return holds_tables(source, as_tables)


def _files(folder: Path) -> list[Path]:
    try:
        entries = sorted(folder.iterdir())
    except (OSError, ValueError):
        return []
    return [path for path in entries if path.name.lower().endswith((*_TEXT_ENDINGS, *_PARQUET_ENDINGS))]


def stated_schema(source: Source, schema: object) -> tuple[dict[str, Statement], Place]:
    """What is stated of the tables: by a file, a dict, or the ``schema.toml`` in the folder."""
    if isinstance(schema, Mapping):
        return statements(schema, Place("schema")), Place("schema")
    if isinstance(schema, str | os.PathLike):
        return read_schema_file(Path(schema)), Place(str(schema))
    if schema is not None:
        raise OptionError(f"schema={schema!r} is refused: it must be a file or a dict.")
    if not isinstance(source, Mapping) and not is_connection(source):
        beside = Path(source) / FILE_NAME
        if beside.is_file():
            return read_schema_file(beside), Place(str(beside))
    return {}, Place("schema")


def read_tables(source: Source, stated: Statements) -> list[Table]:
    """All tables of a source but those that are stated to be left out, in the order of their names.

    Columns that are not used are not read. The order is the same from every source: names of predicates
    that would clash are told apart by it.
    """
    unused = {name: statement.unused() for name, statement in stated.items()}
    left_out = [name for name, statement in stated.items() if not statement.use]
    if isinstance(source, Mapping):
        from hornbeam.loading.tables.sources.frames import read_frames

        found = read_frames({name: frame for name, frame in source.items() if name not in left_out}, unused)
    elif is_connection(source):
        from hornbeam.loading.tables.sources.postgres import read_postgres

        found = read_postgres(str(source), unused)
    else:
        path = Path(source)
        found = _read_file(path, stated, unused) if path.is_file() else _read_folder(path, stated, unused)
    tables = sorted((table for table in found if table.name not in left_out), key=lambda table: table.name)
    if not tables:
        shown = (
            "the dict" if isinstance(source, Mapping) else "the database" if is_connection(source) else source
        )
        raise DataError(f"there is no table in {shown}; tables are what facts are made of.")
    return tables


def table_files(folder: Path, stated: Statements) -> dict[str, Path]:
    """The files of the tables of a folder, by table, but those that are stated to be left out."""
    paths: dict[str, Path] = {}
    named = {folder / statement.file for statement in stated.values() if statement.file is not None}
    for path in _files(folder):
        if path in named:
            continue
        name = _table_name(path)
        if name in paths:
            raise SchemaError(
                f'"{paths[name].name}" and "{path.name}" are both the table "{name}"; keep one of them, or '
                "name the right one by file = ... in schema.toml."
            )
        paths[name] = path
    paths |= {name: folder / s.file for name, s in stated.items() if s.file is not None and s.use}
    return {name: path for name, path in sorted(paths.items()) if stated.get(name, Statement()).use}


def _read_folder(folder: Path, stated: Statements, unused: Mapping[str, Collection[str]]) -> list[Table]:
    return [_read_one(name, path, stated, unused) for name, path in table_files(folder, stated).items()]


def _table_name(path: Path) -> str:
    name = path.name
    for ending in (*_TEXT_ENDINGS, *_PARQUET_ENDINGS):
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return name


def _read_one(name: str, path: Path, stated: Statements, unused: Mapping[str, Collection[str]]) -> Table:
    statement = stated.get(name, Statement())
    if not path.is_file():
        raise DataError(f'table "{name}": there is no file "{path}"; correct file = ... in schema.toml.')
    if path.name.lower().endswith(_PARQUET_ENDINGS):
        from hornbeam.loading.tables.sources.duckdb import read_parquet

        return read_parquet(name, path, unused.get(name, ()))
    from hornbeam.loading.tables.sources.delimited import read_delimited

    return read_delimited(name, path, statement.form, unused.get(name, ()))


def _read_file(path: Path, stated: Statements, unused: Mapping[str, Collection[str]]) -> list[Table]:
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        raise DataError(f'cannot read "{path}": {reason(error)}; name a file that can be read.') from None
    if start == b"SQLite format 3\0":
        from hornbeam.loading.tables.sources.sqlite import read_sqlite_file

        return read_sqlite_file(path, unused)
    if start[8:12] == b"DUCK":
        from hornbeam.loading.tables.sources.duckdb import read_duckdb_file

        return read_duckdb_file(path, unused)
    if path.name.lower().endswith((*_TEXT_ENDINGS, *_PARQUET_ENDINGS)):
        return [_read_one(_table_name(path), path, stated, unused)]
    raise DataError(
        f'"{path}" is neither a DuckDB nor a SQLite file, nor named .csv, .tsv or .parquet; '
        "name a folder of tables or of facts, or a database file."
    )
