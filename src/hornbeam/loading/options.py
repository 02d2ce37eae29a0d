"""What a user says about data besides their source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any


@dataclass(frozen=True, slots=True)
class TableOptions:
    """What a user says about tables besides their source."""

    target: str | None = None
    schema: object = None
    examples: Any = None
    negatives: str | float | None = None
    dangling: str | None = None
    seed: int = 0
    origin: Mapping[str, object] | None = None
    """the settings of a model: its tables and target; with it, nothing is inferred"""
    as_of: float = inf
    """the time from which on no example sees rows"""
    allow_outside: bool = False
    """whether a schema and the views of a DuckDB file may name files that are not part of the data"""
    missing: Sequence[str] | None = None
    """further words for missing values in all tables, or only "none" """
    views: bool = False
    """whether all views of a database are read, not only those that are stated"""
