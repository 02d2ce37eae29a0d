"""The engines that the shared suites run on; an engine is added by adding its name here."""

from hornbeam.engines.contract import Engine
from hornbeam.engines.duckdb import DuckDBEngine
from hornbeam.engines.memory import MemoryEngine
from hornbeam.engines.naive import NaiveEngine

ENGINES: dict[str, type[Engine]] = {"naive": NaiveEngine, "memory": MemoryEngine, "duckdb": DuckDBEngine}

SLOWER = {"duckdb": 10}
"""Engines that start or answer slowly draw so many times fewer random cases."""
