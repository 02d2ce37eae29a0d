"""About how much memory files of tables take, from what the files say of themselves: no value is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornbeam.files import database_file, one_file
from hornbeam.loading.kind_of_source import SourceKind, kind_of_source, kind_of_table_file

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PER_VALUE = 16
"""bytes that a value of a column takes while it is loaded and learned from"""
PER_TEXT = 40
"""bytes that a text takes besides, in a file that does not say how long its texts are"""
PER_TEXT_BYTE = 5
"""bytes that a byte of text takes besides, in a file that says so"""
PER_BYTE = 8
"""bytes that a byte of delimited text takes while it is loaded"""


def loaded_bytes(file: Path) -> int:
    """About the memory that the tables of a file take while they are loaded and learned from."""
    is_duckdb = kind_of_source(file) is SourceKind.DUCKDB_FILE
    if not is_duckdb and kind_of_table_file(file) is not SourceKind.PARQUET_FILE:
        return PER_BYTE * file_bytes(file)
    import duckdb

    try:
        with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as own:
            if is_duckdb:
                own.execute("ATTACH ? AS data (READ_ONLY)", [database_file(file)])
                return _of_duckdb_file(own)
            return _of_parquet(own, file)
    except duckdb.Error:
        # Reading the file says what is wrong with it.
        return 0


def _of_parquet(own: DuckDBPyConnection, file: Path) -> int:
    query = (
        "SELECT sum(num_values), sum(total_uncompressed_size) FILTER (type = 'BYTE_ARRAY') "
        "FROM parquet_metadata(?)"
    )
    values, text = _one_row(own.execute(query, [one_file(file)]))
    return PER_VALUE * values + PER_TEXT_BYTE * text


def _of_duckdb_file(own: DuckDBPyConnection) -> int:
    query = (
        "SELECT sum(t.estimated_size), sum(t.estimated_size) FILTER (c.data_type LIKE 'VARCHAR%') "
        "FROM duckdb_tables() t JOIN duckdb_columns() c USING (table_oid, database_name) "
        "WHERE t.database_name = 'data'"
    )
    values, texts = _one_row(own.execute(query))
    return PER_VALUE * values + PER_TEXT * texts


def _one_row(answer: Any) -> list[int]:
    return [int(number or 0) for number in answer.fetchall()[0]]


def file_bytes(file: Path) -> int:
    """The size of a file; 0 if it cannot be found out."""
    try:
        return file.stat().st_size
    except OSError:
        # Reading the file says what is wrong with it.
        return 0
