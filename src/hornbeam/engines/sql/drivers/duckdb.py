"""The DuckDB engine: in this process, with data that may exceed the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
from sqlglot import exp

from hornbeam.data.database import Database
from hornbeam.engines.contract import DEFAULT_MEMORY
from hornbeam.engines.sql.connection import Connection, Values
from hornbeam.engines.sql.drivers.duckdb_text import (
    DelimitedFile,
    TextKind,
    TypedColumn,
    typed_file,
    typed_query,
)
from hornbeam.engines.sql.engine import SqlEngine
from hornbeam.engines.sql.expressions import (
    DUCKDB,
    SqlTable,
    aliased,
    column,
    create_table,
    drop_table,
    integer,
    own_column,
)
from hornbeam.errors import EngineError
from hornbeam.files import NO_OTHER_FILES, TemporaryFolder, database_file, one_file, quoted_path

LEAST_MEMORY = 256_000_000
"""Minimum memory limit of DuckDB, even if the budget for partial results is smaller."""
LEAST_BITS, MOST_BITS = 12, 20
"""Bits of integer keys up to which DuckDB groups in an array, not a hash table: its default, our limit."""
CELL = 32
"""An upper bound of the bytes of one number in such an array."""
TURN = 0.2
"""Seconds after which Python looks for Ctrl-C while a query runs."""


class DuckDBConnection(Connection):
    """A DuckDB in this process; it spills to a temporary folder, which is removed at the end."""

    dialect = DUCKDB

    def __init__(self, memory: int, spill: Path | None = None, loaded: bool = False) -> None:
        """If ``loaded``, facts are copied to temporary tables, not read from files."""
        super().__init__()
        self._folder = TemporaryFolder(spill)
        self._spill = self._folder.path / "spill"
        self._worker = ThreadPoolExecutor(max_workers=1)
        memory = max(memory, LEAST_MEMORY)
        self._duckdb = duckdb.connect(
            config={
                "memory_limit": f"{memory}B",
                "temp_directory": str(self._spill),
                "preserve_insertion_order": "false",
                "autoinstall_known_extensions": "false",
                # Moments are in UTC, whatever the zone of the machine.
                "TimeZone": "UTC",
            }
        )
        if loaded:
            # Filtering scans by the keys of a join saves time for files, but not for temporary tables.
            self._duckdb.execute("SET disabled_optimizers = 'join_filter_pushdown'")
        ((threads,),) = self._duckdb.execute("SELECT current_setting('threads')").fetchall()
        # Each thread has its own array, which DuckDB does not count against its memory limit.
        self._room = memory // 16 // CELL // int(threads)
        self._bits = LEAST_BITS

    def attach(self, file: Path, name: str, allow_outside: bool = False) -> None:
        """Open a DuckDB file for reading under a name; its tables are then ``name.table``.

        Afterwards no other file is read, by a view for example, unless ``allow_outside``.
        """
        path, alias = exp.Literal.string(database_file(file)), exp.to_identifier(name, quoted=True)
        self._execute(f"ATTACH {self.dialect.text(path)} AS {self.dialect.text(alias)} (READ_ONLY)")
        if not allow_outside:
            self._execute(NO_OTHER_FILES)

    def view_parquet(self, path: Path) -> str:
        """Create a view of a Parquet file; returns its name."""
        # Without the option a folder named "year=2024" would become a column.
        plain = exp.EQ(this=own_column("hive_partitioning"), expression=exp.false())
        read = exp.Anonymous(this="read_parquet", expressions=[exp.Literal.string(one_file(path)), plain])
        return self._view(self.dialect.text(exp.select("*").from_(exp.Table(this=read))))

    def view_text(
        self, file: DelimitedFile, kinds: Sequence[TextKind], else_kinds: Sequence[TextKind] = ()
    ) -> tuple[str, dict[str, int]]:
        """Create a view of a file of delimited text, whose cells are of the first of these kinds that fits.

        Returns its name, and for some columns the number of rows with words for a missing value.
        """
        query, words = typed_file(self, file, kinds, else_kinds)
        return self._view(query), words

    def view_typed(self, table: Sequence[str], columns: Sequence[TypedColumn]) -> str:
        """Create a view of a table, in queries under the alias r, with typed columns; returns its name."""
        query, _ = typed_query(self, f"{quoted_path(table)} AS r", columns)
        return self._view(query)

    def in_microseconds(self, table: tuple[str, ...]) -> tuple[str, ...]:
        """The name of a table, or of a view of it in which nanoseconds are cut to whole microseconds."""
        item = SqlTable(table, ()).item()
        columns = self.columns(self.dialect.text(exp.select("*").from_(item.copy())))
        if not any(is_in_nanoseconds(kind) for _, kind in columns):
            return table
        values = [
            exp.alias_(_microseconds(column(name, "t")), name, quoted=True)
            if is_in_nanoseconds(kind)
            else column(name, "t")
            for name, kind in columns
        ]
        query = exp.select(*values).from_(aliased(item, "t"))
        return (self._view(self.dialect.text(query)),)

    def _view(self, query: str) -> str:
        name = self.new_name()
        self._execute(f"CREATE VIEW {name} AS {query}")
        return name

    def view(self, query: exp.Select) -> str:
        return self._view(self.dialect.text(query))

    def create(self, name: str, query: exp.Select) -> None:
        self._group_by_arrays(len(query.selects))
        self._execute(self.dialect.text(create_table(name, query)))

    def load(self, name: str, columns: Mapping[str, Values]) -> None:
        view = f"{name}_arrays"
        self._duckdb.register(view, {key: np.ascontiguousarray(values) for key, values in columns.items()})
        try:
            self.create(name, exp.select(*columns).from_(exp.to_table(view)))
        finally:
            self._duckdb.unregister(view)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self._execute(query).fetchall()
        return rows

    def integers(self, query: str, columns: int) -> list[npt.NDArray[np.int64]]:
        self._group_by_arrays(columns)
        return [np.asarray(column) for column in self._execute(query).fetchnumpy().values()]

    def arrays(self, query: str, columns: int) -> list[Values]:
        return [_without_mask(column) for column in self._execute(query).fetchnumpy().values()]

    def columns(self, query: str) -> list[tuple[str, str]]:
        return [(name, kind) for name, kind, *_ in self._execute(f"DESCRIBE {query}").fetchall()]

    def drop(self, name: str) -> None:
        self._execute(self.dialect.text(drop_table(name)))

    def close(self) -> None:
        # Garbage collection may call this anywhere, even while a thread starts and holds a lock that
        # waiting for another thread needs. So do not wait: the worker is idle.
        self._worker.shutdown(wait=False)
        self._duckdb.close()
        self._folder.remove()

    def _group_by_arrays(self, columns: int) -> None:
        """Set the key size up to which DuckDB groups in arrays, so that these arrays fit the memory."""
        bits = min(max((self._room // columns).bit_length() - 1, LEAST_BITS), MOST_BITS)
        if bits != self._bits:
            self._execute(f"SET perfect_ht_threshold = {bits}")
            self._bits = bits

    def _execute(self, query: str) -> duckdb.DuckDBPyConnection:
        # DuckDB checks for Ctrl-C only between its tasks, which may be long. A worker thread runs the query,
        # so that Python can handle Ctrl-C at once.
        running = self._worker.submit(self._duckdb.execute, query)
        try:
            while not running.done():
                # The handler of Ctrl-C that polars sets does not end a wait: look for it in turns.
                wait([running], TURN)
            return running.result()
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except duckdb.Error as error:
            raise EngineError(failure(error, self._folder.path.parent)) from error
        except BaseException:  # Ctrl-C, or another signal
            self._duckdb.interrupt()
            wait([running])
            raise


def _without_mask(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A column as a plain array: of objects, with None for NULL, if it has NULL."""
    if not isinstance(column, np.ma.MaskedArray):
        return column
    if not np.ma.is_masked(column):
        return column.data
    values: npt.NDArray[Any] = column.data.astype(object)
    values[np.ma.getmaskarray(column)] = None
    return values


def is_in_nanoseconds(kind: str) -> bool:
    """Whether the values of a type of DuckDB are moments in nanoseconds, with or without a zone."""
    return kind in ("TIMESTAMP_NS", "TIMESTAMPTZ_NS")


def _microseconds(value: exp.Expr) -> exp.Expr:
    """A moment in nanoseconds as TIMESTAMP in UTC; DuckDB's own cast rounds, and refuses zones."""
    nanoseconds = exp.Anonymous(this="epoch_ns", expressions=[value])
    thousand = integer(1000)
    # The remainder of a moment before 1970 is negative.
    rest = exp.Mod(
        this=exp.Paren(this=exp.Mod(this=nanoseconds, expression=thousand) + 1000), expression=thousand
    )
    whole = exp.IntDiv(this=exp.Paren(this=nanoseconds.copy() - rest), expression=thousand.copy())
    return exp.Anonymous(this="make_timestamp", expressions=[whole])


def failure(error: duckdb.Error, scratch: Path) -> str:
    """One sentence that says what DuckDB could not do, and what to do about it."""
    reason = " ".join(str(error).split())
    if isinstance(error, duckdb.OutOfMemoryException):
        return (
            f"DuckDB ran out of memory or of disk space in {scratch}: {reason} Raise the limit with memory=."
        )
    if isinstance(error, duckdb.PermissionException):
        return (
            f"a view of the DuckDB file reads another file ({reason}); leave the view out by use = false in "
            "schema.toml, or allow such views by allow_outside=True (--allow-outside)."
        )
    if isinstance(error, duckdb.IOException):
        return (
            f"DuckDB could not read or write a file ({reason}); check the path, free disk space in "
            f"{scratch}, and run again."
        )
    return f"DuckDB failed: {reason}"


class DuckDBEngine(SqlEngine):
    """Counts with DuckDB."""

    name = "duckdb"
    _dialect = DUCKDB

    def __init__(
        self, database: Database, memory: int = DEFAULT_MEMORY, scratch: str | Path | None = None
    ) -> None:
        """``scratch`` is a folder for data that exceed the memory (default: the temporary folder)."""
        super().__init__(database, memory)
        self._scratch = None if scratch is None else Path(scratch)

    def _connect(self) -> Connection:
        return DuckDBConnection(self.memory, self._scratch, loaded=True)
