"""Modes: whether each argument of a predicate must be bound, may be new, or must be a constant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from hornbeam.errors import SchemaError
from hornbeam.logic.schema import Schema
from hornbeam.logic.text import format_name


class Kind(Enum):
    """How an argument may be filled; the value is the character that stands for it in mode text."""

    BOUND = "+"
    """a variable already in the clause"""
    OPEN = "-"
    """a variable already in the clause, or a new one"""
    CONSTANT = "#"
    """each constant that occurs in this argument"""
    NEW = "`"
    """a new variable only"""


class Argument(NamedTuple):
    """One argument of a mode: how it may be filled, and its type."""

    kind: Kind
    type: str


@dataclass(frozen=True, slots=True)
class Mode:
    """The literals of a predicate that refinement may add: ``friends(+person,-person)``."""

    predicate: str
    args: tuple[Argument, ...]

    def __str__(self) -> str:
        args = ",".join(f"{arg.kind.value}{format_name(arg.type)}" for arg in self.args)
        return f"{format_name(self.predicate)}({args})."


def schema_of(modes: Iterable[Mode]) -> Schema:
    """The schema that follows from modes; all modes of a predicate must agree.

    >>> schema_of([Mode("smokes", (Argument(Kind.BOUND, "person"),))]).predicates
    {'smokes': ('person',)}
    """
    predicates: dict[str, tuple[str, ...]] = {}
    for mode in modes:
        types = tuple(arg.type for arg in mode.args)
        known = predicates.setdefault(mode.predicate, types)
        if known != types:
            raise SchemaError(
                f'two modes of "{mode.predicate}" disagree: {mode.predicate}({",".join(known)}) and '
                f"{mode.predicate}({','.join(types)}); give both the same number and types of arguments."
            )
    return Schema(predicates)
