"""The PostgreSQL engine: on a server, over a connection."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg import errors as reasons
from sqlglot import exp

from hornbeam.data.database import Database
from hornbeam.engines.contract import DEFAULT_MEMORY
from hornbeam.engines.sql.connection import Connection, Values
from hornbeam.engines.sql.engine import SqlEngine
from hornbeam.engines.sql.expressions import POSTGRES, create_empty, create_table, drop_table
from hornbeam.errors import EngineError
from hornbeam.files import OWN_TABLES, quoted, quoted_path

_HEADER = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_TRAILER = b"\xff\xff"
_LOCKS = 0x686F
"""The first bytes of the numbers of our advisory locks."""


class PostgresConnection(Connection):
    """A separate connection; its tables are temporary, or in a scratch schema that the user names."""

    dialect = POSTGRES

    def __init__(self, server: str, memory: int, scratch: str | None = None) -> None:
        super().__init__()
        self._server = server
        self._scratch = scratch
        self._tables: set[str] = set()
        self._views: set[str] = set()
        try:
            self._psycopg = psycopg.connect(server, autocommit=True)
        except psycopg.ProgrammingError:
            # The message of the driver may show the password.
            raise EngineError(
                "the connection string of PostgreSQL cannot be read; write it as "
                "postgresql://USER:PASSWORD@HOST:PORT/DATABASE or as host=... dbname=... user=..."
            ) from None
        except psycopg.Error as error:
            raise EngineError(_unreachable(error)) from error
        # Compiling a query with hundreds of sums takes longer than running it.
        self._set("jit", "off")
        self._set("work_mem", f"{min(max(memory // 16, 4_000_000), 256_000_000) // 1000}kB")
        self._set("standard_conforming_strings", "on")
        # Moments are in UTC, and dates are written in one way, whatever the settings of server and user.
        self._set("timezone", "UTC")
        self._set("datestyle", "ISO")
        self._set("client_min_messages", "error")
        # Floats as their shortest text.
        self._set("extra_float_digits", "1")
        if scratch is not None:
            self._check(scratch)
            ((path,),) = self.rows("SHOW search_path")
            self._set("search_path", f"{quoted(scratch)}, {path}")
            # As long as this connection lasts, its tables are in use.
            self.rows(f"SELECT pg_advisory_lock({_lock_of(self._mark)})")
            self._remove_leftovers(scratch)

    def create(self, name: str, query: exp.Select) -> None:
        self._tables.add(name)
        self._execute(self.dialect.text(create_table(name, query, temporary=self._scratch is None)))
        self._execute(f"ANALYZE {quoted(name)}")

    def load(self, name: str, columns: Mapping[str, Values]) -> None:
        self._tables.add(name)
        types = {key: _type(values) for key, values in columns.items()}
        self._execute(self.dialect.text(create_empty(name, types, temporary=self._scratch is None)))
        text = "TEXT" in types.values()
        statement = f"COPY {quoted(name)} FROM STDIN" + ("" if text else " (FORMAT BINARY)")
        with (
            self._failures(),
            self._psycopg.cursor() as cursor,
            cursor.copy(statement.encode()) as copy,
        ):
            if text:
                for row in zip(*(values.tolist() for values in columns.values()), strict=True):
                    copy.write_row(row)
            else:
                copy.write(_packed(list(columns.values())))
        self._execute(f"ANALYZE {quoted(name)}")

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self._failures(), self._psycopg.cursor() as cursor:
            return cursor.execute(query.encode()).fetchall()

    def integers(self, query: str, columns: int) -> list[npt.NDArray[np.int64]]:
        copied = b"COPY (" + query.encode() + b") TO STDOUT (FORMAT BINARY)"
        with self._failures(), self._psycopg.cursor() as cursor, cursor.copy(copied) as copy:
            return _unpacked(b"".join(map(bytes, copy)), columns)

    def columns(self, query: str) -> list[tuple[str, str]]:
        with self._failures(), self._psycopg.cursor() as cursor:
            cursor.execute(f"SELECT * FROM ({query}) AS q LIMIT 0".encode())
            return [(column.name, column.type_display) for column in cursor.description or ()]

    def as_when_loaded(self, table: tuple[str, ...]) -> tuple[str, ...]:
        """The name of a table, or of a view of it in which 32-bit floats have the values that loading gives.

        Loading reads their shortest text: 0.1 is 0.1, not 0.10000000149011612.
        """
        columns = self.columns(f"SELECT * FROM {quoted_path(table)}")
        if not any(kind == "float4" for _, kind in columns):
            return table
        values = [
            f"CAST(CAST({quoted(name)} AS text) AS double precision) AS {quoted(name)}"
            if kind == "float4"
            else quoted(name)
            for name, kind in columns
        ]
        return (self._view(f"SELECT {', '.join(values)} FROM {quoted_path(table)}"),)

    def view(self, query: exp.Select) -> str:
        return self._view(self.dialect.text(query))

    def _view(self, query: str) -> str:
        view = self.new_name()
        self._views.add(view)
        temporary = "TEMPORARY " if self._scratch is None else ""
        self._execute(f"CREATE {temporary}VIEW {quoted(view)} AS {query}")
        return view

    def drop(self, name: str) -> None:
        self._execute(self.dialect.text(drop_table(name)))
        self._tables.discard(name)

    def close(self) -> None:
        # Temporary tables end with the connection; tables in a scratch schema do not.
        if self._scratch is not None:
            self.drop_all(tuple(self._tables))
            for view in tuple(self._views):
                with suppress(EngineError):
                    self._execute(f"DROP VIEW IF EXISTS {quoted(view)}")
                    self._views.discard(view)
        with suppress(psycopg.Error):
            self._psycopg.close()
        if self._scratch is not None and (self._tables or self._views):
            self._drop_by_another_connection(self._scratch)

    def _drop_by_another_connection(self, scratch: str) -> None:
        """Drop what is left after an interrupt in the middle of a command: this connection takes no more."""
        with suppress(psycopg.Error), psycopg.connect(self._server, autocommit=True) as other:
            other.execute("SELECT set_config('lock_timeout', '10s', false)")
            for kind, names in (("VIEW", self._views), ("TABLE", self._tables)):
                for name in names:
                    other.execute(f"DROP {kind} IF EXISTS {quoted_path([scratch, name])}".encode())

    def _check(self, scratch: str) -> None:
        """Check the permission to create tables: without it PostgreSQL would silently use another schema."""
        query = "SELECT has_schema_privilege(oid, 'CREATE, USAGE') FROM pg_namespace WHERE nspname = %s"
        with self._failures(), self._psycopg.cursor() as cursor:
            row = cursor.execute(query, [scratch]).fetchone()
        if row is None:
            self._psycopg.close()
            raise EngineError(
                f'there is no schema "{scratch}" in PostgreSQL for the scratch tables; create it, or name '
                "another one."
            )
        (allowed,) = row
        if not allowed:
            self._psycopg.close()
            raise EngineError(
                f'PostgreSQL does not allow this user to create tables in "{scratch}"; grant CREATE and '
                "USAGE on that schema, or name another one."
            )

    def _remove_leftovers(self, scratch: str) -> None:
        """Drop the tables of killed processes and lost connections, which hold no lock any more."""
        query = (
            "SELECT relname, CASE relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END FROM pg_class "
            "WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'v') ORDER BY relkind DESC"
        )
        with self._failures(), self._psycopg.cursor() as cursor:
            names = cursor.execute(query, [quoted(scratch)]).fetchall()
        tables: dict[str, list[tuple[str, str]]] = {}
        for name, kind in names:
            if own := re.fullmatch(OWN_TABLES, name):
                tables.setdefault(own[1], []).append((name, kind))
        for mark in tables.keys() - {self._mark}:
            ((is_free,),) = self.rows(f"SELECT pg_try_advisory_lock({_lock_of(mark)})")
            if is_free:
                for name, kind in tables[mark]:
                    with suppress(EngineError):  # a table of another user stays
                        self._execute(f"DROP {kind} IF EXISTS {quoted_path([scratch, name])}")
                self.rows(f"SELECT pg_advisory_unlock({_lock_of(mark)})")

    def _set(self, name: str, value: str) -> None:
        with self._failures(), self._psycopg.cursor() as cursor:
            cursor.execute("SELECT set_config(%s, %s, false)", [name, value])

    def _execute(self, query: str) -> None:
        with self._failures(), self._psycopg.cursor() as cursor:
            cursor.execute(query.encode())

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise EngineError(failure(error, self._psycopg.broken)) from error


def _lock_of(mark: str) -> int:
    """The number of the lock that stands for a connection; locks of other programs have other numbers."""
    return (_LOCKS << 48) + int(mark, 16)


def failure(error: psycopg.Error, broken: bool) -> str:
    """One sentence that says what the server could not do, and what to do about it."""
    reason = " ".join(str(error.diag.message_primary or error).split())
    if broken or isinstance(error, reasons.AdminShutdown | reasons.CrashShutdown):
        return f"the connection to PostgreSQL was lost ({reason}); check that the server runs, and run again."
    if isinstance(error, reasons.InsufficientPrivilege):
        return (
            f"PostgreSQL refused: {reason}; grant SELECT on the tables that hold the facts, and TEMPORARY on "
            "the database or CREATE on a scratch schema."
        )
    if isinstance(error, reasons.UndefinedTable | reasons.UndefinedColumn):
        return (
            f"PostgreSQL no longer has a table or column that the facts are in: {reason}; the database was "
            "changed in the meantime, so run again."
        )
    if isinstance(error, reasons.DiskFull | reasons.OutOfMemory):
        return (
            f"PostgreSQL ran out of disk space or memory: {reason}; free some on the server, and run again."
        )
    return f"PostgreSQL failed: {reason}."


def _unreachable(error: psycopg.Error) -> str:
    reason = " ".join(str(error).split())
    return (
        f"PostgreSQL cannot be reached ({reason}); set PGHOST, PGPORT, PGDATABASE and PGUSER, "
        "or give server=."
    )


def _type(values: Values) -> str:
    if values.dtype.kind != "i":
        return "TEXT"
    return "INT" if values.dtype.itemsize == 4 else "BIGINT"


def _row_type(sizes: list[int]) -> np.dtype[Any]:
    """A row in PostgreSQL's binary format: the number of fields, then the length and value of each."""
    fields: list[tuple[str, str]] = [("fields", ">i2")]
    for position, size in enumerate(sizes):
        fields += [(f"size{position}", ">i4"), (f"value{position}", f">i{size}")]
    return np.dtype(fields)


def _packed(columns: list[Values]) -> bytes:
    sizes = [values.dtype.itemsize for values in columns]
    rows = np.empty(len(columns[0]), dtype=_row_type(sizes))
    rows["fields"] = len(columns)
    for position, (size, values) in enumerate(zip(sizes, columns, strict=True)):
        rows[f"size{position}"] = size
        rows[f"value{position}"] = values
    return _HEADER + rows.tobytes() + _TRAILER


def _unpacked(data: bytes, number: int) -> list[npt.NDArray[np.int64]]:
    body = data[len(_HEADER) : -len(_TRAILER)]
    rows = np.frombuffer(body, dtype=_row_type([8] * number))
    return [rows[f"value{position}"].astype(np.int64) for position in range(number)]


class PostgresEngine(SqlEngine):
    """Counts with PostgreSQL; without ``server`` it uses PGHOST, PGPORT, PGDATABASE and PGUSER."""

    name = "postgres"
    _dialect = POSTGRES

    def __init__(
        self,
        database: Database,
        memory: int = DEFAULT_MEMORY,
        server: str = "",
        scratch: str | None = None,
    ) -> None:
        super().__init__(database, memory)
        self._server = server
        self._scratch = scratch

    def _connect(self) -> Connection:
        return PostgresConnection(self._server, self.memory, self._scratch)
