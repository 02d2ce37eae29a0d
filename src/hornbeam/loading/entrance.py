"""Load facts or tables into memory. ``hb.load``, which also opens tables in place, is ``in_place.load``."""

from __future__ import annotations

import os

from hornbeam.data.database import Database
from hornbeam.errors import OptionError
from hornbeam.loading.kind_of_source import DEFAULT_SPLIT, Source, kind_of_source
from hornbeam.loading.options import TableOptions

_FOR_TABLES = ("schema", "negatives", "dangling", "missing", "views")
"""options that folders of facts do not have"""


def load(
    source: Source,
    split: str | None = None,
    default_split: str = DEFAULT_SPLIT,
    options: TableOptions | None = None,
) -> Database:
    """Load facts and examples into memory, from a folder of facts or from tables.

    Data that cannot be used raise an ``InputError``.
    """
    options = options or TableOptions()
    if kind_of_source(source, options.schema is not None).holds_tables:
        return _tables(source, split, options)
    assert isinstance(source, str | os.PathLike)
    for name in _FOR_TABLES:
        if getattr(options, name) not in (None, False):
            raise OptionError(f"{name} is for tables, but there are no tables in {source}.")
    # Imported here, because loading tables does not need it.
    from hornbeam.loading.facts.folder import load_folder

    return load_folder(source, split, default_split, options.target, options.examples, options.allow_outside)


def _tables(source: Source, split: str | None, options: TableOptions) -> Database:
    # Imported here, because loading facts does not need it.
    from hornbeam.loading.inspect.suspicions import suspicious_columns
    from hornbeam.loading.tables.database import load_tables

    if split is not None:
        raise OptionError(
            f'tables have one set of examples, so there is no split "{split}"; leave the split out.'
        )
    if isinstance(options.negatives, int | float) and not options.negatives > 0:
        raise OptionError(f"negatives={options.negatives} is refused: it must be 'all' or a number above 0.")
    return load_tables(source, options, suspicious_columns if options.origin is None else lambda _: ())
