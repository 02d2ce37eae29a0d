"""The public ``load``: a database in memory, or one whose tables stay in place."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hornbeam import loading
from hornbeam.data.database import Database
from hornbeam.data.keys import key_text
from hornbeam.data.numbers import AT_CUTOFF, STRICT, CutoffRule, read_times
from hornbeam.engines.contract import DEFAULT_MEMORY
from hornbeam.engines.registry import engine_module
from hornbeam.errors import DataError, DataWarning, OptionError
from hornbeam.in_place.sources import stays_in_place
from hornbeam.loading.facts.layout import DEFAULT_SPLIT
from hornbeam.loading.kind_of_source import SourceKind, kind_of_source


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
    engine: str | None = None,
    memory: int = DEFAULT_MEMORY,
    scratch: str | None = None,
    master: str | None = None,
    at_cutoff: str | None = None,
    as_of: object = None,
    allow_outside: bool = False,
) -> Database:
    """Load facts or tables as a ``Database``, or open tables in place.

    ``source`` is a folder of facts, or it holds tables: a folder of CSV or Parquet files, a DuckDB or
    SQLite file, a connection string of PostgreSQL, a dict of data frames (pandas, polars, Arrow), or
    ``catalog:NAME`` for a schema of Spark's catalogue. Facts are in a flat folder, or in BoostSRL layout,
    where ``split`` names the part to load.

    With tables, ``target`` is what to learn: a column (``users.premium``), a value of a column
    (``users.gender=F``), a link table, or a new predicate (``churned(users)``) whose examples you give. Keys,
    links and roles come from ``schema`` (a file or a dict in the shape of schema.toml), from the catalogue of
    the database, or are inferred. If the target is a link table, ``negatives`` says which unlinked pairs are
    negative examples: "all", or a number of them per link, sampled with ``seed``. ``dangling`` says what to
    do with links to keys that do not exist: error, drop or keep. ``examples`` is a CSV or Parquet file or a
    data frame of keys, with the optional columns ``label`` and ``cutoff``. ``origin`` is the ``settings`` of
    a model learned from tables: the tables are then read as for that model, and nothing is inferred.

    With ``engine`` duckdb, postgres or spark, tables stay where they are: only the examples are read, and the
    engine counts in the tables. A classifier with such a database uses its engine. DuckDB opens folders of
    tables and DuckDB files, PostgreSQL a server, Spark folders of Parquet files and its catalogue; other
    sources are loaded into memory. ``memory`` limits the memory of the engine, in bytes. ``scratch`` is a
    folder for what DuckDB cannot keep in memory, or a schema for temporary tables of PostgreSQL. ``master``
    is the master of Spark. Closing the database, or the end of the program, removes temporary tables.

    For an example with a cut-off, a row with a time is a fact only if its time is before the cut-off or, with
    ``at_cutoff="include"``, at the cut-off (default: "before", or the choice of the model of ``origin``).
    ``as_of`` freezes the data: rows at or after this date (00:00 UTC) or number are facts for no example.

    Files that the data name must be in their folder or the folder above, and views of a DuckDB file must not
    read files, unless ``allow_outside`` is true. What was accepted but may surprise is a ``DataWarning``, and
    the ``notices`` of the database list it. Data that cannot be used raise an ``InputError``.
    """
    options: dict[str, Any] = {"target": target, "schema": schema, "examples": examples, "origin": origin}
    options |= {"negatives": negatives, "dangling": dangling, "seed": seed, "allow_outside": allow_outside}
    place = {"engine": engine, "memory": memory, "scratch": scratch, "master": master}
    database = load_quietly(
        source, split, default_split, **options, **place, at_cutoff=at_cutoff, as_of=as_of
    )
    for notice in database.notices:
        warnings.warn(str(notice), DataWarning, stacklevel=2)
    return database


def load_quietly(
    source: str | os.PathLike[str] | Mapping[str, Any],
    split: str | None = None,
    default_split: str = DEFAULT_SPLIT,
    **options: Any,
) -> Database:
    """``load`` without warnings, for callers that show the notices of the database themselves."""
    rule = _rule(options.pop("at_cutoff", None), options.pop("as_of", None), options.get("origin"))
    engine, memory = options.pop("engine", None), options.pop("memory", DEFAULT_MEMORY)
    scratch, master = options.pop("scratch", None), options.pop("master", None)
    in_place = _engine_in_place(engine, source, split, options.get("schema") is not None)
    if in_place is None:
        return _under_rule(loading.load(source, split, default_split, **options), rule)
    from hornbeam.in_place.open import open_in_place

    return _under_rule(open_in_place(in_place, source, options, memory, scratch, master), rule)


def _rule(at_cutoff: str | None, as_of: object, origin: Mapping[str, object] | None) -> CutoffRule:
    """Which facts exist at a cut-off: as stated, else as for the model of the origin, else those before."""
    if at_cutoff is not None and at_cutoff not in AT_CUTOFF:
        raise OptionError(f"at_cutoff={at_cutoff!r} is refused: it must be {' or '.join(AT_CUTOFF)}.")
    rule = STRICT if origin is None or "times" not in origin else CutoffRule.of_settings(origin)
    if at_cutoff is not None:
        rule = CutoffRule(at_cutoff)
    if as_of is None:
        return rule
    try:
        (time,) = read_times([key_text(as_of)])
    except DataError:
        time = np.nan
    if not np.isfinite(time):
        raise OptionError(
            f"as_of={str(as_of)!r} is refused: it must be a date such as 2024-12-31, or a number."
        )
    return replace(rule, as_of=float(time))


def _under_rule(database: Database, rule: CutoffRule) -> Database:
    """The database under a rule, or an error; then the database is closed."""
    try:
        return _with_rule(database, rule)
    except BaseException:
        database.close()
        raise


def _with_rule(database: Database, rule: CutoffRule) -> Database:
    """The database under a rule, which models learned from it keep."""
    kind = database.origin.get("times")
    if kind is None:
        if rule.is_frozen:
            raise OptionError(
                'as_of is refused: no table has a time column; state one, such as time = "day" in '
                "schema.toml."
            )
        return database
    origin = {**database.origin, "at_cutoff": rule.at_cutoff}
    if rule.is_frozen:
        (origin["as_of"],) = database.cutoff_texts(np.array([rule.as_of]))
    return replace(database.under_rule(rule), origin=origin)


def _engine_in_place(engine: str | None, source: object, split: str | None, has_schema: bool) -> str | None:
    """The engine that counts in the tables of a source, or None if the source is to be loaded."""
    if engine is not None:
        engine_module(engine)  # an unknown engine is an error before anything is loaded
    if kind_of_source(source, has_schema) is SourceKind.SPARK_CATALOGUE and engine != "spark":
        raise OptionError(
            f'"{source}" is a schema of Spark\'s catalogue, which only Spark reads; name the engine spark '
            "(--engine spark)."
        )
    if engine is None or not stays_in_place(engine, source, has_schema):
        return None
    if split is not None:
        raise OptionError(
            f'tables have one set of examples, so there is no split "{split}"; leave the split out.'
        )
    return engine
