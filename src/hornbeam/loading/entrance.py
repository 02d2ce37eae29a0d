"""Load facts or tables into memory. ``hb.load``, which also opens tables in place, is ``in_place.load``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from hornbeam.data.database import Database
from hornbeam.errors import OptionError
from hornbeam.loading.kind_of_source import DEFAULT_SPLIT, kind_of_source


def load(
    source: str | os.PathLike[str] | Mapping[str, Any],
    split: str | None = None,
    default_split: str = DEFAULT_SPLIT,
    *,
    target: str | None = None,
    schema: object = None,
    examples: Any = None,
    negatives: str | float | None = None,
    dangling: str | None = None,
    seed: int = 0,
    origin: Mapping[str, object] | None = None,
    as_of: float = float("inf"),
    allow_outside: bool = False,
    missing: Sequence[str] | None = None,
    views: bool = False,
) -> Database:
    """Load facts and examples into memory, from a folder of facts or from tables.

    ``hb.load`` documents the parameters. Data that cannot be used raise an ``InputError``.
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
        options = TableOptions(
            *(target, schema, examples, negatives, dangling, seed, origin, as_of),
            allow_outside=allow_outside,
            missing=missing,
            views=views,
        )
        from hornbeam.loading.inspect.suspicions import suspicious_columns

        return load_tables(source, options, suspicious_columns if origin is None else lambda _: ())
    assert isinstance(source, str | os.PathLike)
    for_tables = {"schema": schema, "negatives": negatives, "dangling": dangling, "missing": missing}
    for_tables["views"] = views or None
    for name, given in for_tables.items():
        if given is not None:
            raise OptionError(f"{name} is for tables, but there are no tables in {source}.")
    # Imported here, because loading tables does not need it.
    from hornbeam.loading.facts.folder import load_folder

    return load_folder(source, split, default_split, target, examples, allow_outside)
