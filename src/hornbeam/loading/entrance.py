"""The one door: facts or tables, from wherever they are, as a database."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hornbeam.data.database import Database
from hornbeam.errors import OptionError
from hornbeam.loading.facts.folder import load_folder
from hornbeam.loading.facts.layout import DEFAULT_SPLIT, holds_facts


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
    """Facts, modes and examples: of a folder of facts, or of tables.

    Facts are in BoostSRL layout (with a ``split``) or in a flat folder. Tables are a dict of data frames
    (pandas, polars, Arrow), a folder of CSV or Parquet files, a DuckDB or SQLite file, or a connection
    string of PostgreSQL; what they are is in a ``schema`` (a file or a dict in the shape of schema.toml),
    the database's catalogue, or inferred. With tables, ``target`` says what is to be learned:
    ``users.premium``, ``users.gender=F``, ``users.occupation``, a link table, or ``churned(users)`` for
    labels of your own; ``negatives`` ("all" or a number for each positive, drawn by ``seed``) are those of
    a link table, and ``dangling`` is what becomes of links to keys that are not there (error, drop, keep).

    ``examples`` (a CSV or Parquet file, or a data frame) has keys and optionally ``label`` and ``cutoff``.
    ``origin`` is the ``settings`` of a model learned from tables: nothing is inferred again.

    Whatever was accepted but may surprise is in the ``notices`` of the database. What cannot be used is
    an ``InputError``.
    """
    if not isinstance(source, str | os.PathLike | Mapping):
        raise OptionError(
            f"load does not take a {type(source).__name__}: name a folder, a file or a connection string, or "
            'give tables by their names, such as {"users": frame}.'
        )
    facts = isinstance(source, str | os.PathLike) and holds_facts(Path(source), schema is not None)
    if not facts:
        # Late: facts need none of it.
        from hornbeam.loading.tables.database import TableOptions, load_tables
        from hornbeam.loading.tables.sources.read import holds_tables

        if holds_tables(source, schema is not None):
            if split is not None:
                raise OptionError(
                    f'tables have one set of examples, so there is no split "{split}"; leave the split out.'
                )
            if isinstance(negatives, int | float) and not negatives > 0:
                raise OptionError(f"negatives={negatives} is refused: it must be 'all' or a number above 0.")
            options = TableOptions(target, schema, examples, negatives, dangling, seed, origin)
            return load_tables(source, options)
    assert isinstance(source, str | os.PathLike)
    not_asked = None if dangling == "error" else dangling
    for name, given in (("schema", schema), ("negatives", negatives), ("dangling", not_asked)):
        if given is not None:
            raise OptionError(f"{name} is for tables, but there are no tables in {source}.")
    return load_folder(source, split, default_split, target, examples)
