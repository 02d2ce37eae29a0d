"""Open the tables of a source in place: a connection, the tables it has, and a database of them."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hornbeam.data.database import Database
from hornbeam.engines.registry import engine_module
from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.drivers.duckdb_text import DelimitedFile
from hornbeam.errors import EngineError, OptionError
from hornbeam.in_place.columns import table_in_place
from hornbeam.in_place.database import database_in_place
from hornbeam.in_place.facts import TableFacts
from hornbeam.in_place.number_types import as_when_loaded
from hornbeam.in_place.predicates import read_in_place
from hornbeam.in_place.source import TableSource
from hornbeam.in_place.table_queries import TableQueries
from hornbeam.loading.kind_of_source import (
    CATALOGUE,
    Source,
    SourceKind,
    connection_string,
    kind_of_source,
    kind_of_table_file,
    table_name,
)
from hornbeam.loading.options import TableOptions
from hornbeam.loading.tables.columns.cells import KINDS, KINDS_BESIDE_WORDS
from hornbeam.loading.tables.columns.column import Catalogued, Table, Views, omitted_view
from hornbeam.loading.tables.schema_file import Statement
from hornbeam.loading.tables.sources.delimited import explained, shape_of
from hornbeam.loading.tables.sources.read import SourceAccess, table_files
from hornbeam.logic.schema import NUMBER


def open_in_place(
    engine: str,
    source: Source,
    options: TableOptions,
    memory: int,
    scratch: str | None,
    master: str | None,
) -> Database:
    """The tables of a source as a database that an engine counts in place."""
    assert isinstance(source, str | os.PathLike)
    connection = _connect(engine, source, memory, scratch, master)

    def reader(source: Any, stated: Mapping[str, Statement], access: SourceAccess) -> list[Table]:
        return _tables(engine, connection, source, stated, access)

    try:
        tables = read_in_place(source, options, reader)
        times = str(tables.origin.get("times", NUMBER))
        facts = TableFacts(
            TableSource(connection, tables.logic.schema, tables.tables, tables.key_tables, times),
            memory,
            closes_connection=True,
        )
        logic = tables.logic
        database = database_in_place(
            facts, logic.modes, logic.head, tables.examples, tables.notices, tables.origin
        )
    except BaseException:
        connection.close()
        raise
    weakref.finalize(facts, connection.close)
    return replace(database, display_names=tables.display_names)


def _connect(
    engine: str, source: str | os.PathLike[str], memory: int, scratch: str | None, master: str | None
) -> Connection:
    module = engine_module(engine)
    connection: Connection
    if engine == "postgres":
        connection = module.PostgresConnection(connection_string(str(source)), memory, scratch)
    elif engine == "spark":
        connection = module.SparkConnection(master=master, memory=memory)
    else:
        connection = module.DuckDBConnection(memory, None if scratch is None else Path(scratch))
    return connection


def _tables(
    engine: str,
    connection: Any,
    source: str | os.PathLike[str],
    stated: Mapping[str, Statement],
    access: SourceAccess,
) -> list[Table]:
    """The tables of a source that are used."""
    tables = []
    catalogue = _catalogue(engine, connection, source, stated, access)
    for name, (path, key, foreign_keys, in_schema, _, words) in catalogue.items():
        statement = stated.get(name, Statement())
        if not path:
            tables.append(omitted_view(name))
        elif statement.use:
            if words is None and statement.form.missing:
                raise OptionError(
                    f'table "{name}": words for missing values are stated, but in place only text files can '
                    'have them: write NULL in the data, or load the tables into memory (engine "memory").'
                )
            if statement.fold:
                raise OptionError(
                    f'table "{name}": columns are folded, which is not done in place: write their values '
                    'in one spelling in the data, or load the tables into memory (engine "memory").'
                )
            if engine == "duckdb":
                path = connection.in_microseconds(path)
            queries = TableQueries(connection, path)
            table = table_in_place(
                name, queries, statement.unused() - statement.parts(), key, foreign_keys, words
            )
            tables.append(replace(table, in_schema=in_schema))
    return tables


def _catalogue(
    engine: str,
    connection: Any,
    source: str | os.PathLike[str],
    stated: Mapping[str, Statement],
    access: SourceAccess,
) -> dict[str, Catalogued]:
    """The tables of a source by name, with their names in the database and their keys."""
    if engine == "postgres":
        from hornbeam.loading.tables.sources.postgres import postgres_catalogue

        return _used(postgres_catalogue(str(source)), connection.as_when_loaded, stated, access)
    kind = kind_of_source(source, has_schema=True)
    if kind is SourceKind.SPARK_CATALOGUE:
        schema = str(source).removeprefix(CATALOGUE)
        parts = tuple(schema.split("."))
        return {name: Catalogued((*parts, name)) for name in connection.tables(schema)}
    path = Path(source)
    if kind is SourceKind.DUCKDB_FILE:
        from hornbeam.loading.tables.sources.duckdb import duckdb_catalogue

        catalogue = duckdb_catalogue(path)
        connection.attach(path, "data", access.allow_outside)
        return _used(catalogue, lambda parts: as_when_loaded(connection, ("data", *parts)), stated, access)
    files = {table_name(path): path} if kind.is_file else table_files(path, stated)
    return {
        name: _file_as_table(engine, connection, name, file, stated.get(name, Statement()))
        for name, file in files.items()
    }


def _used(
    catalogue: Mapping[str, Catalogued],
    as_read: Callable[[tuple[str, ...]], tuple[str, ...]],
    stated: Mapping[str, Statement],
    access: SourceAccess,
) -> dict[str, Catalogued]:
    """The tables that are used, under the names by which they are read; a view nobody asked for has none."""
    views = Views(access.views, frozenset(stated))
    omitted = views.omitted({name: table.is_view for name, table in catalogue.items()})
    return {
        name: table._replace(path=() if name in omitted else as_read(table.path))
        for name, table in catalogue.items()
        if stated.get(name, Statement()).use
    }


def _file_as_table(engine: str, connection: Any, name: str, path: Path, statement: Statement) -> Catalogued:
    """The name under which queries read a file, and the words in it that stand for missing values."""
    parquet = kind_of_table_file(path) is SourceKind.PARQUET_FILE
    if engine == "spark":
        if not parquet:
            raise OptionError(
                f'Spark reads Parquet files in place, but "{path.name}" is not one: convert it to Parquet.'
            )
        return Catalogued(("parquet", _one_file_for_spark(path.absolute())))
    if parquet:
        return Catalogued(as_when_loaded(connection, (str(connection.view_parquet(path.absolute())),)))
    form = statement.form
    if form.encoding.lower().replace("-", "") not in ("utf8", "utf8sig"):
        raise OptionError(
            f'DuckDB reads UTF-8 text in place, but table "{name}" is in {form.encoding}: convert the file, '
            'or load the tables into memory (engine "memory").'
        )
    names, separator = shape_of(path, form)
    file = DelimitedFile(path.absolute(), separator, names, not form.columns, form.empty_words)
    try:
        view, words = connection.view_text(file, KINDS, KINDS_BESIDE_WORDS if form.reads_words else ())
    except EngineError as error:
        raise explained(path, form, separator, len(names), error) from None
    return Catalogued((view,), words=words)


def _one_file_for_spark(path: Path) -> str:
    """The path of a file, if Spark does not take it for a pattern of many files.

    >>> _one_file_for_spark(Path("/data/users.parquet"))
    '/data/users.parquet'
    """
    if any(character in "*?[]{}\\" for character in str(path)):
        raise OptionError(
            f'Spark takes "{path}" for a pattern of many files: rename the file or its folder without any of '
            '* ? [ ] { } \\, or use the engine "duckdb".'
        )
    return str(path)
