"""The public ``load``: a database in memory, or one whose tables stay in place."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hornbeam import loading
from hornbeam.data.database import Database
from hornbeam.data.keys import key_text
from hornbeam.data.numbers import AT_CUTOFF, STRICT, CutoffRule, read_times
from hornbeam.data.relations import Notice
from hornbeam.engines.contract import DEFAULT_MEMORY
from hornbeam.engines.registry import DEFAULT_ENGINE, engine_module
from hornbeam.errors import DataError, DataWarning, OptionError
from hornbeam.in_place.sources import IN_PLACE, stays_in_place
from hornbeam.loading.kind_of_source import DEFAULT_SPLIT, Source, SourceKind, kind_of_source
from hornbeam.loading.options import TableOptions


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
    engine: str | None = None,
    memory: int | None = None,
    scratch: str | None = None,
    master: str | None = None,
    at_cutoff: str | None = None,
    as_of: object = None,
    allow_outside: bool = False,
    missing: Sequence[str] | None = None,
    views: bool = False,
) -> Database:
    """Load facts or tables as a ``Database``, or open tables in place.

    ``source`` is a folder of facts, flat or in BoostSRL layout, where ``split`` names the part to load; or it
    holds tables: a folder of CSV or Parquet files, a DuckDB or SQLite file, a connection string of
    PostgreSQL, a dict of data frames (pandas, polars, Arrow), or ``catalog:NAME`` for a schema of Spark's
    catalogue.

    With tables, ``target`` is what to learn: a column (``users.premium``), a value or a side of a threshold
    (``users.gender=F``, ``users.age>30``), a link table, or a new predicate (``churned(users)``) whose
    examples you give. Keys, links and roles come from ``schema`` (a file or a dict in the shape of
    schema.toml), from the catalogue of the database, or are inferred. For a link table, ``negatives`` says
    which unlinked pairs are negative examples: "all", or a number per link, sampled with ``seed``.
    ``dangling`` says what to do with links to missing keys: drop, error or keep; by default drop, unless most
    links are such. ``examples`` is a CSV or Parquet file or a data frame of keys, with the optional columns
    ``label`` and ``cutoff``. ``origin`` is the ``settings`` of a model, as for which the tables are then
    read. ``missing`` lists further words for missing values, or is ["none"]. Views are read if ``schema``
    names them, or with ``views``.

    Without ``engine``, tables that would not fit into ``memory`` (default: half of what is here) stay where
    they are if DuckDB can use them there. With ``engine`` duckdb, postgres or spark, tables stay, and the
    engine counts in them in ``memory`` bytes (default: 2 GB); other sources are loaded. ``scratch``
    is a folder for DuckDB, or a schema for temporary tables of PostgreSQL, ``master`` the master of Spark.

    For an example with a cut-off, a row with a time is a fact only if its time is before the cut-off or, with
    ``at_cutoff="include"``, at the cut-off (default: "before", or as for ``origin``). ``as_of`` freezes the
    data: rows at or after this date (00:00 UTC) or number are facts for no example.

    Files that the data name must be in their folder or the folder above, and views of a DuckDB file must not
    read files, unless ``allow_outside``. All notices but guesses are warnings; unusable data are errors.
    """
    about = {"target": target, "schema": schema, "examples": examples, "origin": origin, "seed": seed}
    about |= {"negatives": negatives, "dangling": dangling, "allow_outside": allow_outside}
    about |= {"missing": missing, "views": views, "at_cutoff": at_cutoff, "as_of": as_of}
    about |= {"engine": engine, "memory": memory, "scratch": scratch, "master": master}
    database = load_quietly(source, split, default_split, **about)
    for notice in (each for each in database.notices if not each.is_guess):
        warnings.warn(str(notice), DataWarning, stacklevel=2)
    return database


def load_quietly(
    source: Source,
    split: str | None = None,
    default_split: str = DEFAULT_SPLIT,
    *,
    engine: str | None = DEFAULT_ENGINE,
    at_cutoff: str | None = None,
    as_of: object = None,
    **others: Any,
) -> Database:
    """``load`` without warnings, for callers that show the notices of the database themselves.

    Tables are loaded unless an engine is given; the engine None chooses, as in ``load``. ``others`` are the
    options of engines, and ``TableOptions``.
    """
    rule = _rule(at_cutoff, as_of, others.get("origin"))
    memory, scratch, master = (others.pop(word, None) for word in ("memory", "scratch", "master"))
    options = TableOptions(**others, as_of=rule.as_of)
    notices: list[Notice] = []
    if engine is None and split is None:
        engine, notices = _chosen(source, options.schema, memory)
    memory = DEFAULT_MEMORY if memory is None else memory
    in_place = _engine_in_place(engine, source, split, options.schema is not None)
    if in_place is None:
        return _under_rule(loading.load(source, split, default_split, options), rule)
    from hornbeam.in_place.open import open_in_place

    database = open_in_place(in_place, source, options, memory, scratch, master)
    return _under_rule(replace(database, notices=(*notices, *database.notices)), rule)


def _chosen(source: Any, schema: object, memory: int | None) -> tuple[str | None, list[Notice]]:
    """The engine that uses tables in place if they do not fit the memory, and a note that says so."""
    if kind_of_source(source, schema is not None) not in IN_PLACE["duckdb"]:
        return None, []
    from hornbeam.in_place.choice import engine_for

    return engine_for(source, schema, memory)


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
    if engine not in (None, DEFAULT_ENGINE):
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
