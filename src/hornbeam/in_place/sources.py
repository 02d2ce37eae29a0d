"""Which sources of tables an engine counts in place."""

from __future__ import annotations

from collections.abc import Mapping

from hornbeam.loading.kind_of_source import SourceKind, kind_of_source

IN_PLACE: Mapping[str, tuple[SourceKind, ...]] = {
    "postgres": (SourceKind.POSTGRES,),
    "spark": (SourceKind.SPARK_CATALOGUE, SourceKind.TABLE_FOLDER),
    "duckdb": (
        SourceKind.TABLE_FOLDER,
        SourceKind.DUCKDB_FILE,
        SourceKind.PARQUET_FILE,
        SourceKind.TEXT_FILE,
    ),
}
"""The kinds of sources that each engine counts in place."""


def stays_in_place(engine: str, source: object, has_schema: bool = False) -> bool:
    """Whether an engine counts in the tables of a source, so that they need not be loaded.

    With ``has_schema``, a schema was given, so that any folder is a folder of tables.

    >>> stays_in_place("postgres", "dbname=shop"), stays_in_place("duckdb", "dbname=shop")
    (True, False)
    """
    return kind_of_source(source, has_schema) in IN_PLACE.get(engine, ())
