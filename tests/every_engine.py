"""The engines that the shared suites run on; an engine is added by adding its name here."""

from importlib.util import find_spec
from shutil import which

import servers
from hornbeam.engines.contract import Engine
from hornbeam.engines.duckdb import DuckDBEngine
from hornbeam.engines.memory import MemoryEngine
from hornbeam.engines.naive import NaiveEngine

ENGINES: dict[str, type[Engine]] = {"naive": NaiveEngine, "memory": MemoryEngine, "duckdb": DuckDBEngine}

if find_spec("psycopg") and servers.can_run_postgres():
    from hornbeam.engines.postgres import PostgresEngine

    ENGINES["postgres"] = PostgresEngine

if find_spec("pyspark") and find_spec("pyarrow") and which("java"):
    from hornbeam.engines.spark import SparkEngine

    ENGINES["spark"] = SparkEngine

SLOWER = {"duckdb": 20, "postgres": 20, "spark": 400}
"""Engines that start or answer slowly draw so many times fewer random cases."""
