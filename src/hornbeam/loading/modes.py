"""Modes that facts and tables share: how a target is declared, and when constants are offered."""

from __future__ import annotations

from collections.abc import Sequence

from hornbeam.data.database import Database
from hornbeam.logic.schema import Argument, Kind, Mode

MOST_CONSTANTS = 50
"""An argument with more distinct constants is not offered as a constant."""


def target_mode(target: str, types: Sequence[str]) -> Mode:
    """The mode of a target. It states the types of the head; the target is never added to a body."""
    return Mode(target, tuple(Argument(Kind.BOUND, type_name) for type_name in types))


def modes_text(database: Database) -> str:
    """The modes of a database as the text of a background file, one per line."""
    return "".join(f"mode: {mode}\n" for mode in database.modes)
