"""The tables of a PostgreSQL database, with the keys that its catalogue states.

One read-only transaction reads all tables, so that they are all from the same moment. COPY, the fastest way
to export a table, sends it as text; the text is read like a delimited file, with the types of the catalogue.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from hornbeam.errors import DataError, OptionError
from hornbeam.files import OWN_TABLES, TemporaryFolder, quoted, quoted_path
from hornbeam.loading.kind_of_source import connection_string, unreadable
from hornbeam.loading.tables.columns.column import (
    EVERY_VIEW,
    Catalogued,
    Domain,
    ForeignKey,
    Table,
    Views,
    omitted_view,
    unread_column,
)
from hornbeam.loading.tables.sources.duckdb import connection
from hornbeam.loading.tables.sources.text_rows import TextRows, columns_of_rows, number_of_rows

if TYPE_CHECKING:
    import psycopg
    from duckdb import DuckDBPyConnection

_DOMAINS = {
    **dict.fromkeys(["int2", "int4", "int8", "float4", "float8", "numeric", "oid"], Domain.NUMBER),
    **dict.fromkeys(["text", "varchar", "bpchar", "name", "uuid", "citext"], Domain.TEXT),
    **dict.fromkeys(["date", "timestamp", "timestamptz"], Domain.MOMENT),
    "bool": Domain.BOOLEAN,
}
_TABLES = f"""
SELECT c.oid, n.nspname, c.relname, c.relkind IN ('v', 'm') FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND n.nspname <> 'information_schema'
AND n.nspname NOT LIKE 'pg\\_%%' AND has_table_privilege(c.oid, 'SELECT')
AND c.relname !~ '^{OWN_TABLES}$' ORDER BY 2, 3
"""
_COLUMNS = """
SELECT a.attname, CASE WHEN t.typtype = 'e' THEN 'text' ELSE coalesce(b.typname, t.typname) END
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_type b ON b.oid = t.typbasetype
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_CONSTRAINTS = """
SELECT c.contype, c.confrelid,
  (SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(c.conkey) WITH ORDINALITY k(number, place)
   JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number),
  (SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(c.confkey) WITH ORDINALITY k(number, place)
   JOIN pg_catalog.pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.number)
FROM pg_catalog.pg_constraint c WHERE c.conrelid = %s AND c.contype IN ('p', 'f') ORDER BY c.conname
"""


_PUBLIC = "public"
"""the schema whose tables are named without it"""


class _CatalogueEntry(NamedTuple):
    """A table or view of the catalogue: its full name, columns with the names of their types, and keys."""

    path: tuple[str, str]
    types: dict[str, str]
    key: tuple[str, ...]
    foreign_keys: tuple[ForeignKey, ...]
    is_view: bool


def read_postgres(
    conninfo: str,
    unused: Mapping[str, Collection[str]],
    left_out: Collection[str] = (),
    views: Views = EVERY_VIEW,
) -> list[Table]:
    """The tables and views that the user of the connection may read, sorted by name; some are left out."""
    with _connected(conninfo) as server, connection() as duck:
        tables = {name: table for name, table in _catalogue(server).items() if name not in left_out}
        omitted = views.omitted({name: table.is_view for name, table in tables.items()})
        return [
            omitted_view(name) if name in omitted else _table(server, duck, name, table, unused.get(name, ()))
            for name, table in tables.items()
        ]


def postgres_catalogue(conninfo: str) -> dict[str, Catalogued]:
    """The tables and views that the user of the connection may read, by name, with their keys."""
    with _connected(conninfo) as server:
        tables = _catalogue(server)
    return {
        name: Catalogued(table.path, table.key, table.foreign_keys, table.path[0] != _PUBLIC, table.is_view)
        for name, table in tables.items()
    }


@contextmanager
def _connected(conninfo: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A read-only transaction that sees one snapshot of the data."""
    try:
        import psycopg
    except ModuleNotFoundError as error:
        raise OptionError(
            f"reading from PostgreSQL needs the package {error.name}, which is not installed: "
            'pip install "hornbeam[postgres]".'
        ) from None
    parts = _parts(conninfo)
    try:
        with psycopg.connect(connection_string(conninfo), client_encoding="utf8") as server:
            server.read_only = True
            server.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            # The last setting makes the scan of a large table start at its first row, not in the middle.
            server.execute(
                "SELECT set_config('datestyle', 'ISO', true), set_config('timezone', 'UTC', true), "
                "set_config('synchronize_seqscans', 'off', true)"
            )
            yield server
    except psycopg.Error as error:
        hint = ""
        if isinstance(error, psycopg.OperationalError) and error.sqlstate is None:
            hint = "; is the server running, and are host and port right?"
        raise DataError(
            f"cannot read from PostgreSQL ({_shown(parts)}): {_short(error)}{hint or '.'}"
        ) from None


def _catalogue(server: psycopg.Connection[tuple[object, ...]]) -> dict[str, _CatalogueEntry]:
    with server.cursor() as cursor:
        tables = cursor.execute(_TABLES).fetchall()
        names = {
            oid: str(table) if schema == _PUBLIC else f"{schema}.{table}" for oid, schema, table, _ in tables
        }
        catalogue = {}
        for oid, schema, table, is_view in tables:
            types = {str(column): str(kind) for column, kind in cursor.execute(_COLUMNS, [oid]).fetchall()}
            key: tuple[str, ...] = ()
            foreign_keys = []
            for kind, other, columns, references in cursor.execute(_CONSTRAINTS, [oid]).fetchall():
                assert isinstance(columns, list)
                if kind == "p":
                    key = tuple(columns)
                elif other in names and isinstance(references, list):
                    foreign_keys.append(ForeignKey(tuple(columns), names[other], tuple(references)))
            catalogue[names[oid]] = _CatalogueEntry(
                (str(schema), str(table)), types, key, tuple(foreign_keys), bool(is_view)
            )
    return catalogue


def _table(
    server: psycopg.Connection[tuple[object, ...]],
    duck: DuckDBPyConnection,
    name: str,
    table: _CatalogueEntry,
    unused: Collection[str],
) -> Table:
    domains = {
        column: _DOMAINS[kind]
        for column, kind in table.types.items()
        if kind in _DOMAINS and column not in unused
    }
    unread = tuple(
        unread_column(column, kind)
        for column, kind in table.types.items()
        if kind not in _DOMAINS and column not in unused
    )
    source = quoted_path(table.path)
    if not domains:
        with server.cursor() as cursor:
            (row,) = cursor.execute(f"SELECT count(*) FROM {source}".encode()).fetchall()
        size = int(str(row[0]))
        return Table(name, {}, size, table.key, table.foreign_keys, (), table.path[0] != _PUBLIC, unread)
    wanted = ", ".join(f"{quoted(column)}::text" for column in domains)
    copy = f"COPY (SELECT {wanted} FROM {source} AS t{_order(table, domains)}) TO STDOUT (FORMAT csv)"
    with TemporaryFolder() as folder:
        path = folder / "rows.csv"
        with path.open("wb") as file, server.cursor() as cursor, cursor.copy(copy.encode()) as rows:
            for piece in rows:
                file.write(piece)
        TextRows(path, ",", len(domains), header=False).copy(duck)
    singles = [column for column in domains if table.types[column] == "float4"]
    columns, _ = columns_of_rows(duck, list(domains), domains=domains, singles=singles)
    size = number_of_rows(duck)
    duck.execute("DROP TABLE rows")
    return Table(name, columns, size, table.key, table.foreign_keys, (), table.path[0] != _PUBLIC, unread)


def _order(table: _CatalogueEntry, domains: Mapping[str, Domain]) -> str:
    """The order of rows, which a server does not guarantee: by the key, or for a view by all values.

    Columns are qualified by the table t: a bare name would mean the fetched text, which sorts differently.
    """
    columns = [f"t.{quoted(column)}" for column in table.key]
    if table.is_view:
        columns = [
            f't.{quoted(column)}::text COLLATE "C"' if domain is Domain.TEXT else f"t.{quoted(column)}"
            for column, domain in domains.items()
        ]
    return f" ORDER BY {', '.join(columns)}" if columns else ""


def _parts(conninfo: str) -> Mapping[str, object]:
    """The parts of a connection string."""
    import psycopg

    try:
        return psycopg.conninfo.conninfo_to_dict(connection_string(conninfo))
    except psycopg.Error:
        # The message of the driver may show the password.
        raise unreadable() from None


def _shown(parts: Mapping[str, object]) -> str:
    """The parts of a connection that may be shown: not its password."""
    return " ".join(f"{name}={parts[name]}" for name in ("host", "port", "dbname", "user") if parts.get(name))


def _short(error: Exception) -> str:
    """The first line of the driver's message that is not blank, without its full stop."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__
