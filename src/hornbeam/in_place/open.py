"""Tables counted where they are: nothing is loaded but the examples.

DuckDB reads folders of Parquet and CSV files and its own files; PostgreSQL the tables of a server;
Spark folders of Parquet files and tables of its catalogue. What the tables are is stated, catalogued
or inferred as for tables that are loaded, and the same model is learned.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornbeam.data.database import Database
from hornbeam.engines.contract import DEFAULT_MEMORY
from hornbeam.engines.registry import engine_module
from hornbeam.errors import EngineError, OptionError
from hornbeam.loading import load
from hornbeam.loading.facts.layout import DEFAULT_SPLIT
from hornbeam.loading.kind_of_source import (
    CATALOGUE,
    SourceKind,
    kind_of_source,
    kind_of_table_file,
    table_name,
)
from hornbeam.logic.schema import NUMBER

if TYPE_CHECKING:
    from hornbeam.engines.sql.connection import Connection
    from hornbeam.in_place.predicates import PlacedPredicate, TablesInPlace
    from hornbeam.loading.tables.column import Catalogued, Table
    from hornbeam.loading.tables.schema_file import Statement

Names = Mapping[str, tuple[str, ...]]
_IN_PLACE: Mapping[str, tuple[SourceKind, ...]] = {
    "postgres": (SourceKind.POSTGRES,),
    "spark": (SourceKind.SPARK_CATALOGUE, SourceKind.TABLE_FOLDER),
    "duckdb": (
        SourceKind.TABLE_FOLDER,
        SourceKind.DUCKDB_FILE,
        SourceKind.PARQUET_FILE,
        SourceKind.TEXT_FILE,
    ),
}
"""The kinds of sources that each engine reads where they are."""


def load_for(
    engine: str,
    source: str | os.PathLike[str] | Mapping[str, Any],
    split: str | None = None,
    default_split: str = DEFAULT_SPLIT,
    *,
    memory: int = DEFAULT_MEMORY,
    scratch: str | None = None,
    master: str | None = None,
    **options: Any,
) -> Database:
    """Data for an engine: in place where the engine can count them there, else loaded.

    ``options`` are those of ``load``. Within ``memory`` bytes DuckDB works; ``scratch`` is the folder
    where it may put more, or the schema of PostgreSQL where tables of ours may be made for a while
    (without one they are temporary tables); ``master`` is that of Spark. Closing the database removes
    what was made and closes its connection; the end of the program does so, too.
    """
    engine_module(engine)  # refused before anything is loaded
    kind = kind_of_source(source, options.get("schema") is not None)
    if kind is SourceKind.SPARK_CATALOGUE and engine != "spark":
        raise OptionError(
            f'"{source}" is a schema of Spark, which Spark alone can read; name the engine spark '
            "(--engine spark)."
        )
    if not stays_in_place(engine, source, options.get("schema") is not None):
        return load(source, split, default_split, **options)
    if split is not None:
        raise OptionError(
            f'tables have one set of examples, so there is no split "{split}"; leave the split out.'
        )
    assert isinstance(source, str | os.PathLike)
    from hornbeam.in_place.predicates import read_placed
    from hornbeam.loading.tables.database import TableOptions

    connection = _connection(engine, source, memory, scratch, master)
    try:
        names: dict[str, tuple[str, ...]] = {}

        def reader(source: Any, stated: Mapping[str, Statement]) -> list[Table]:
            return _described(engine, connection, source, stated, names)

        placed = read_placed(source, TableOptions(**options), reader)
        database = _database(connection, placed, names)
    except BaseException:
        connection.close()
        raise
    weakref.finalize(database, connection.close)
    return database


def stays_in_place(engine: str, source: object, as_tables: bool = False) -> bool:
    """Whether an engine counts the tables of a source where they are."""
    return kind_of_source(source, as_tables) in _IN_PLACE.get(engine, ())


# --- where tables are ------------------------------------------------------------------------


def _connection(
    engine: str, source: str | os.PathLike[str], memory: int, scratch: str | None, master: str | None
) -> Connection:
    module = engine_module(engine)
    if engine == "postgres":
        made = module.PostgresConnection(str(source), memory, scratch)
    elif engine == "spark":
        made = module.SparkConnection(master=master, memory=memory)
    else:
        made = module.DuckDBConnection(memory, None if scratch is None else Path(scratch))
    found: Connection = made
    return found


def _described(
    engine: str,
    connection: Any,
    source: str | os.PathLike[str],
    stated: Mapping[str, Statement],
    names: dict[str, tuple[str, ...]],
) -> list[Table]:
    """The tables of a source by what their database says of them; ``names`` gets their names there."""
    from hornbeam.in_place.columns import TableQuestions
    from hornbeam.in_place.described import described_table
    from hornbeam.loading.tables.schema_file import Statement

    found = []
    for name, (path, key, foreign_keys) in _places(engine, connection, source, stated).items():
        statement = stated.get(name, Statement())
        if statement.use:
            asked = TableQuestions(connection, path)
            names[name] = path
            found.append(described_table(name, asked, statement.unused(), key, foreign_keys))
    return found


def _places(
    engine: str, connection: Any, source: str | os.PathLike[str], stated: Mapping[str, Statement]
) -> dict[str, Catalogued]:
    from hornbeam.loading.tables.column import Catalogued
    from hornbeam.loading.tables.sources.read import table_files

    if engine == "postgres":
        from hornbeam.loading.tables.sources.postgres import postgres_catalogue

        return postgres_catalogue(str(source))
    kind = kind_of_source(source, has_schema=True)
    if kind is SourceKind.SPARK_CATALOGUE:
        schema = str(source).removeprefix(CATALOGUE)
        parts = tuple(schema.split("."))
        return {name: Catalogued((*parts, name)) for name in connection.tables(schema)}
    path = Path(source)
    if kind is SourceKind.DUCKDB_FILE:
        from hornbeam.loading.tables.sources.duckdb import duckdb_catalogue

        catalogue = duckdb_catalogue(path)
        connection.attach(path, "data")
        return {name: table._replace(path=("data", *table.path)) for name, table in catalogue.items()}
    files = {table_name(path): path} if kind.is_file else table_files(path, stated)
    return {name: Catalogued(_file(engine, connection, name, file, stated)) for name, file in files.items()}


def _file(
    engine: str, connection: Any, name: str, path: Path, stated: Mapping[str, Statement]
) -> tuple[str, ...]:
    """What a file is called as a table."""
    parquet = kind_of_table_file(path) is SourceKind.PARQUET_FILE
    if engine == "spark":
        if not parquet:
            raise OptionError(f'Spark counts Parquet files in place, and "{path.name}" is none: convert it.')
        return ("parquet", str(path.absolute()))
    if parquet:
        return (str(connection.view_parquet(path.absolute())),)
    from hornbeam.engines.sql.drivers.duckdb_text import DelimitedFile
    from hornbeam.loading.tables.schema_file import Statement
    from hornbeam.loading.tables.sources.delimited import explained, shape_of

    form = stated.get(name, Statement()).form
    if form.encoding.lower().replace("-", "") not in ("utf8", "utf8sig"):
        raise OptionError(
            f'DuckDB counts UTF-8 text in place, and table "{name}" is {form.encoding}: convert the file, or '
            "load the tables, with another engine."
        )
    names, separator = shape_of(path, form)
    try:
        return (
            str(
                connection.view_text(
                    DelimitedFile(path.absolute(), separator, names, not form.columns, form.missing)
                )
            ),
        )
    except EngineError as error:
        raise explained(path, form, separator, len(names), error) from None


# --- the database ----------------------------------------------------------------------------


def _database(connection: Connection, placed: TablesInPlace, names: Names) -> Database:
    from hornbeam.engines.sql.expressions import SqlTable
    from hornbeam.in_place.database import PlacedExamples, placed_database
    from hornbeam.in_place.source import TableSource

    def table(predicate: PlacedPredicate) -> SqlTable:
        _, where, columns, true, time, texts, distinct = predicate
        return SqlTable(names[where], columns, true, time, texts, distinct)

    source = TableSource(
        connection,
        placed.logic.schema,
        {each.name: table(each) for each in placed.predicates},
        {type_name: list(map(table, tables)) for type_name, tables in placed.things.items()},
        str(placed.origin.get("times", NUMBER)),
    )
    given = placed.examples
    examples = None
    if given is not None and placed.logic.head is not None:
        examples = PlacedExamples(placed.logic.head, given.keys, given.labels, given.classes, given.cutoffs)
    modes = placed.logic.modes
    return placed_database(source, modes, examples, None, placed.notices, placed.origin, own=True)
