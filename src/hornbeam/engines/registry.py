"""Engines by name; each is imported only when it is asked for."""

from __future__ import annotations

from importlib import import_module

from hornbeam.database import Database
from hornbeam.engines.contract import DEFAULT_MEMORY, Engine
from hornbeam.errors import OptionError, did_you_mean

ENGINES = {
    "duckdb": ("hornbeam.engines.duckdb", "DuckDBEngine"),
    "memory": ("hornbeam.engines.memory", "MemoryEngine"),
    "naive": ("hornbeam.engines.naive", "NaiveEngine"),
    "postgres": ("hornbeam.engines.postgres", "PostgresEngine"),
    "spark": ("hornbeam.engines.spark", "SparkEngine"),
}
"""Where each engine lives: module and class."""


def open_engine(name: str, database: Database, memory: int = DEFAULT_MEMORY) -> Engine:
    """The engine of that name for a database, within a budget of bytes for partial results.

    >>> from hornbeam.database import build
    >>> from hornbeam.schema import Schema
    >>> open_engine("naive", build(Schema({}), (), {})).name
    'naive'
    >>> open_engine("nave", build(Schema({}), (), {}))
    Traceback (most recent call last):
    hornbeam.errors.OptionError: no engine "nave". Engines are: duckdb, memory, naive, postgres, spark. \
Did you mean "naive"?
    """
    if name not in ENGINES:
        raise OptionError(f'no engine "{name}". {did_you_mean(name, ENGINES, "Engines")}')
    module, engine = ENGINES[name]
    try:
        made: Engine = getattr(import_module(module), engine)(database, memory)
    except ModuleNotFoundError as error:
        raise OptionError(
            f'engine "{name}" needs the package {error.name}, which is not installed: '
            f'pip install "hornbeam[{name}]".'
        ) from error
    return made
