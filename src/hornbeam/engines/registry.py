"""Engines by name; an engine is imported only when it is opened."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from hornbeam.data.database import Database
from hornbeam.data.facts import FactsInPlace
from hornbeam.engines.contract import DEFAULT_MEMORY, Engine
from hornbeam.errors import OptionError, did_you_mean

ENGINES = {
    "duckdb": ("hornbeam.engines.sql.drivers.duckdb", "DuckDBEngine"),
    "memory": ("hornbeam.engines.memory.engine", "MemoryEngine"),
    "naive": ("hornbeam.engines.naive", "NaiveEngine"),
    "postgres": ("hornbeam.engines.sql.drivers.postgres", "PostgresEngine"),
    "spark": ("hornbeam.engines.sql.drivers.spark", "SparkEngine"),
}
"""The module and class of each engine."""
DEFAULT_ENGINE = "memory"
TAKES = {"duckdb": ("scratch",), "postgres": ("scratch",), "spark": ("master",)}
"""The options of each engine besides its memory."""


def open_engine(
    name: str,
    database: Database,
    memory: int = DEFAULT_MEMORY,
    *,
    scratch: str | None = None,
    master: str | None = None,
) -> Engine:
    """Open an engine by name for a database; ``memory`` is its budget for partial results, in bytes.

    ``scratch`` is a place for temporary tables: a folder for DuckDB, a schema for PostgreSQL. ``master`` is
    the URL of a Spark master. Facts that stay in the tables of a SQL system are always counted there, even
    if ``name`` is the default engine "memory"; ``memory`` is then at most the budget they were opened with.

    >>> from hornbeam.data.build import build
    >>> from hornbeam.logic.schema import Schema
    >>> open_engine("naive", build(Schema({}), (), {})).name
    'naive'
    >>> open_engine("nave", build(Schema({}), (), {}))
    Traceback (most recent call last):
    hornbeam.errors.OptionError: no engine "nave". Engines are: duckdb, memory, naive, postgres, spark. \
Did you mean "naive"?
    """
    if database.tables is not None:
        name, memory = _engine_in_place(name, database.tables), min(memory, database.tables.memory)
    module = engine_module(name)
    given = {"scratch": scratch, "master": master}
    options = {word: value for word, value in given.items() if value is not None}
    refused = [word for word in options if word not in TAKES.get(name, ())]
    if refused:
        raise OptionError(f'engine "{name}" has no option {refused[0]}; leave it out.')
    made: Engine = getattr(module, ENGINES[name][1])(database, memory, **options)
    return made


def _engine_in_place(name: str, tables: FactsInPlace) -> str:
    """The engine that has the tables; it is an error to name an engine other than this or the default."""
    if name not in (DEFAULT_ENGINE, tables.engine):
        raise OptionError(
            f'engine "{name}" cannot count these facts, because they stay in tables of {tables.engine}; use '
            f'engine "{tables.engine}", or load the data without an engine.'
        )
    return tables.engine


def engine_module(name: str) -> ModuleType:
    """The module of an engine; if its library is missing, the error says what to install."""
    if name not in ENGINES:
        raise OptionError(f'no engine "{name}". {did_you_mean(name, ENGINES, "Engines")}')
    try:
        return import_module(ENGINES[name][0])
    except ModuleNotFoundError as error:
        raise OptionError(
            f'engine "{name}" needs the package {error.name}, which is not installed: '
            f'pip install "hornbeam[{name}]".'
        ) from error
