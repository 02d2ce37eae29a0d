"""Numbers of DuckDB in place, with the types that loading gives them.

Loading makes whole numbers of floats and decimals that are all whole, and text of whole numbers past 64 bits.
A view does the same, so that the same column is a key, a flag or a number in both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hornbeam.engines.sql.drivers.duckdb_text import TypedColumn
from hornbeam.files import quoted, quoted_path
from hornbeam.loading.tables.columns.cells import FLOAT_KINDS, KINDS

if TYPE_CHECKING:
    from hornbeam.engines.sql.drivers.duckdb import DuckDBConnection

_AS_TEXT = ("DECIMAL", "HUGEINT", "UHUGEINT", "UBIGINT")
"""numbers that may not fit int64 or float64: their text decides what they are"""


def as_when_loaded(connection: DuckDBConnection, table: tuple[str, ...]) -> tuple[str, ...]:
    """The name of a table, or of a view of it if some of its numbers have other types when loaded."""
    types = dict(connection.columns(f"SELECT * FROM {quoted_path(table)}"))
    columns = [_typed(name, type_name.upper()) for name, type_name in types.items()]
    if not any(column.kinds for column in columns):
        return table
    return (connection.view_typed(table, columns),)


def _typed(name: str, type_name: str) -> TypedColumn:
    cell = f"r.{quoted(name)}"
    if type_name in FLOAT_KINDS:
        return TypedColumn(name, cell, FLOAT_KINDS[type_name])
    if type_name.startswith(_AS_TEXT):
        return TypedColumn(name, f"CAST({cell} AS VARCHAR)", KINDS[:3])
    return TypedColumn(name, cell, ())
