"""Where tables are read if no engine is named: in memory if they fit, else in place by DuckDB.

What is learned does not depend on it: loaded tables and tables in place give the same model, byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hornbeam.data.relations import Notice
from hornbeam.errors import size_text
from hornbeam.in_place.sources import IN_PLACE
from hornbeam.loading.kind_of_source import Source, kind_of_source
from hornbeam.loading.machine import most_memory
from hornbeam.loading.tables.sources.read import stated_schema, table_files
from hornbeam.loading.tables.sources.sizes import file_bytes, loaded_bytes

_MOST_PACKED = 100
"""Files that are smaller than this part of the budget fit, however much they are compressed."""


def engine_for(source: Source, schema: object, budget: int | None) -> tuple[str | None, list[Notice]]:
    """DuckDB with a note for tables that do not fit the budget, in bytes; None for data that are loaded.

    Without a budget, it is half of the memory of the machine or of the container.
    """
    kind = kind_of_source(source, schema is not None)
    if kind not in IN_PLACE["duckdb"] or isinstance(source, Mapping):
        return None, []
    most = most_memory() // 2 if budget is None else budget
    path = Path(source)
    files = [path] if kind.is_file else [*table_files(path, stated_schema(source, schema)[0]).values()]
    if sum(map(file_bytes, files)) * _MOST_PACKED <= most:
        return None, []
    estimate = sum(map(loaded_bytes, files))
    if estimate <= most:
        return None, []
    whose = "half of the memory here" if budget is None else "the budget"
    return "duckdb", [
        Notice(
            f"the tables would take about {size_text(estimate)} in memory, more than {whose} "
            f"({size_text(most)}), "
            'so DuckDB uses them where they are; the engine "memory" (--engine memory) loads them.'
        )
    ]
