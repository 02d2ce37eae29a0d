"""The Spark engine: on a local session, a cluster, or a session of the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
from py4j.protocol import Py4JError  # type: ignore[import-untyped,import-not-found,unused-ignore]
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from hornbeam.data.database import Database
from hornbeam.engines.contract import DEFAULT_MEMORY
from hornbeam.engines.sql.connection import Connection, Values
from hornbeam.engines.sql.engine import SqlEngine
from hornbeam.engines.sql.expressions import SPARK
from hornbeam.errors import EngineError

LOCAL = "local[*]"


class SparkConnection(Connection):
    """A separate Spark session; its tables are cached views, in memory and on disk."""

    dialect = SPARK

    def __init__(
        self,
        session: SparkSession | None = None,
        master: str | None = None,
        memory: int = DEFAULT_MEMORY,
    ) -> None:
        super().__init__()
        # A new session has its own settings and views; executors and cached data are shared.
        self._spark = (session or _session(master, memory)).newSession()
        # Overflow must be an error, never a wrong number.
        self._spark.conf.set("spark.sql.ansi.enabled", "true")
        # Moments are in UTC, whatever the zone of the machine.
        self._spark.conf.set("spark.sql.session.timeZone", "UTC")
        if session is None and self._spark.sparkContext.master.startswith("local"):
            # The default of 200 is for clusters; a small query would spend most of its time on empty tasks.
            parallel = self._spark.sparkContext.defaultParallelism
            self._spark.conf.set("spark.sql.shuffle.partitions", str(parallel))
        self._views: dict[str, DataFrame] = {}

    def create(self, name: str, query: exp.Select) -> None:
        with self._failures():
            self._cache(name, self._spark.sql(self.dialect.text(query)))

    def view(self, query: exp.Select) -> str:
        name = self.new_name()
        with self._failures():
            self._views[name] = self._spark.sql(self.dialect.text(query))
            self._views[name].createOrReplaceTempView(name)
        return name

    def load(self, name: str, columns: Mapping[str, Values]) -> None:
        table = pyarrow.table({key: pyarrow.array(values) for key, values in columns.items()})
        with self._failures():
            self._cache(name, self._spark.createDataFrame(table))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self._failures():
            # Through Arrow: ``collect`` would give moments in the zone of this machine.
            table = self._spark.sql(query).toArrow()
        columns = [map(_in_utc, column.to_pylist()) for column in table.columns]
        return list(zip(*columns, strict=True))

    def integers(self, query: str, columns: int) -> list[npt.NDArray[np.int64]]:
        with self._failures():
            table = self._spark.sql(query).toArrow()
        return [column.to_numpy().astype(np.int64) for column in table.columns]

    def columns(self, query: str) -> list[tuple[str, str]]:
        with self._failures():
            return list(self._spark.sql(query).dtypes)

    def tables(self, schema: str) -> list[str]:
        """The names of the tables in a schema of the catalog."""
        with self._failures():
            return sorted(table.name for table in self._spark.catalog.listTables(schema))

    def drop(self, name: str) -> None:
        frame = self._views.pop(name, None)
        if frame is not None:
            with self._failures():
                self._spark.catalog.dropTempView(name)
                frame.unpersist()

    def close(self) -> None:
        self.drop_all(tuple(self._views))

    def _cache(self, name: str, frame: DataFrame) -> None:
        frame.persist(StorageLevel.MEMORY_AND_DISK)
        frame.createOrReplaceTempView(name)
        self._views[name] = frame

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except PySparkException as error:
            reason = " ".join(str(error.getMessage() or error).split("\n")[0].split())
            raise EngineError(f"Spark failed: {reason}") from error
        except (Py4JError, OSError) as error:
            reason = " ".join(str(error).split("\n")[0].split())
            raise EngineError(
                f"Spark stopped or cannot be reached ({reason}); check that it runs, and run again."
            ) from error


def _in_utc(value: Any) -> Any:
    """A moment as it is in UTC, without a zone; other values as they are."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def _session(master: str | None, memory: int) -> SparkSession:
    """The active session if there is one and no master is given, else a new one: local by default."""
    active = SparkSession.getActiveSession()
    if active is not None and master is None:
        return active
    builder = SparkSession.builder.appName("hornbeam").master(master or LOCAL)
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    # It takes effect only if no Java process runs yet. The default of 1 GB is too small for many examples.
    builder = builder.config("spark.driver.memory", f"{max(2, -(-memory // 10**9))}g")
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


class SparkEngine(SqlEngine):
    """Counts with Spark: by default in the active session, or else in a local one."""

    name = "spark"
    _dialect = SPARK

    def __init__(
        self,
        database: Database,
        memory: int = DEFAULT_MEMORY,
        session: SparkSession | None = None,
        master: str | None = None,
    ) -> None:
        super().__init__(database, memory)
        self._spark = session
        self._master = master

    def _connect(self) -> Connection:
        return SparkConnection(self._spark, self._master, self.memory)
