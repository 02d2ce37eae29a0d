"""Load facts or tables into memory. ``hb.load``, which also opens tables in place, is ``in_place.load``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from hornbeam.data.database import Database
from hornbeam.errors import OptionError
from hornbeam.loading.facts.folder import load_folder
from hornbeam.loading.facts.layout import DEFAULT_SPLIT
from hornbeam.loading.kind_of_source import kind_of_source


def load(
    source: str | os.PathLike[str] | Mapping[str, Any],
    split: str | None = None,
    default_split: str = DEFAULT_SPLIT,
    *,
    target: str | None = None,
    schema: object = None,
    examples: Any = None,
    negatives: str | float | None = None,
    dangling: str = "error",
    seed: int = 0,
    origin: Mapping[str, object] | None = None,
) -> Database:
    """Load facts, modes and examples from a folder of facts or from tables.

    Facts are in BoostSRL layout (with a ``split``) or in a flat folder. Tables are a dict of data frames
    (pandas, polars, Arrow), a folder of CSV or Parquet files, a DuckDB or SQLite file, or the connection
    string of a PostgreSQL database. Their keys and links come from a ``schema`` (a file, or a dict in the
    shape of schema.toml), from the catalogue of the database, or are inferred.

    With tables, ``target`` names what to learn: ``users.premium``, ``users.gender=F``,
    ``users.occupation``, a link table, or ``churned(users)`` for labels of your own. If the target is a
    link table, ``negatives`` says which unlinked pairs are negative examples: "all", or a number of them
    per link, sampled with ``seed``. ``dangling`` says what to do with links to keys that do not exist:
    "error", "drop" the link, or "keep" it and add the key.

    ``examples`` (a CSV or Parquet file, or a data frame) has a column per argument of the target, and
    may have the columns ``label`` and ``cutoff``. ``origin`` is the ``settings`` of a model learned from
    tables: the tables are then read as they were for that model, and nothing is inferred.

    The ``notices`` of the database list what was accepted but may surprise. Data that cannot be used
    raise an ``InputError``.
    """
    if kind_of_source(source, schema is not None).holds_tables:
        # Imported here, because loading facts does not need it.
        from hornbeam.loading.tables.database import TableOptions, load_tables

        if split is not None:
            raise OptionError(
                f'tables have one set of examples, so there is no split "{split}"; leave the split out.'
            )
        if isinstance(negatives, int | float) and not negatives > 0:
            raise OptionError(f"negatives={negatives} is refused: it must be 'all' or a number above 0.")
        options = TableOptions(target, schema, examples, negatives, dangling, seed, origin)
        return load_tables(source, options)
    assert isinstance(source, str | os.PathLike)
    not_default = None if dangling == "error" else dangling
    for name, given in (("schema", schema), ("negatives", negatives), ("dangling", not_default)):
        if given is not None:
            raise OptionError(f"{name} is for tables, but there are no tables in {source}.")
    return load_folder(source, split, default_split, target, examples)
