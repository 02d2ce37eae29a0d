"""The predicates that users mean by the names of targets, and the examples that data have of them."""

from __future__ import annotations

from hornbeam.data.database import Database
from hornbeam.errors import DataError, did_you_mean


def predicate_of(database: Database, name: str) -> str:
    """The predicate of a target, which may also be named as a column of a table: ``papers.topic``."""
    lower = name.lower()
    if name == database.origin.get("target") or lower in database.schema.predicates:
        return database.target_named(name)
    table, dot, column = lower.partition(".")
    named = [
        predicate
        for predicate, types in database.schema.predicates.items()
        if dot and types[0].lower() == table and predicate in (column, f"{table}_{column}")
    ]
    if len(named) == 1:
        return named[0]
    known = sorted({*database.example_sets, *database.schema.predicates})
    raise DataError(f'no target "{name}". {did_you_mean(lower, known, "Targets")}')
