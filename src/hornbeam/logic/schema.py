"""The schema: predicates, the type of each argument, and which types are numeric. And modes:
whether each argument of a predicate must be bound, may be new, or must be a constant.

A constant of a numeric type has a value, which is a 64-bit float: the float nearest to the number that its
name spells or, for a date, the microseconds since the start of 1970. Whole microseconds are exact for the
years 1685 to 2255, whole seconds and days for all years. Every engine compares these floats, so comparisons
are exact. Dates have no time zone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple

from hornbeam.errors import SchemaError, did_you_mean, plural
from hornbeam.logic.clauses import Clause, Comparison, Value, atom_of, format_name, variable_name

NUMBER = "number"
DATE = "date"
KINDS = (NUMBER, DATE)
"""The kinds of numeric types."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?)?")
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


def read_value(text: str) -> Value | None:
    """The number or the date that a text spells; None for any other text.

    A date is an ISO date, with or without a time of day; fractions of a microsecond are cut off.

    >>> read_value("2.50"), read_value("1998-03-01T12:30"), read_value("x1")
    (2.5, datetime.datetime(1998, 3, 1, 12, 30), None)
    """
    if _NUMBER.fullmatch(text):
        number = float(text)
        return number + 0.0 if math.isfinite(number) else None
    if _DATE.fullmatch(text):
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            return None
    return None


def kind_of(value: Value) -> str:
    return DATE if isinstance(value, datetime) else NUMBER


def number_of(value: Value) -> float:
    """The float that stands for a value: itself, or a date's microseconds since the start of 1970.

    >>> number_of(datetime(1970, 1, 2))
    86400000000.0
    """
    return float((value - _EPOCH) // _MICROSECOND) if isinstance(value, datetime) else value


def value_of(number: float, kind: str) -> Value:
    """The value that a float stands for.

    >>> value_of(86400000000.0, DATE)
    datetime.datetime(1970, 1, 2, 0, 0)
    """
    return _EPOCH + int(number) * _MICROSECOND if kind == DATE else number


@dataclass(frozen=True, slots=True)
class Schema:
    """Argument types by predicate, and the kind of each numeric type. All names are lower case.

    >>> Schema({"age": ("person", "years")}, {"years": NUMBER}).arity("age")
    2
    """

    predicates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numeric: Mapping[str, str] = field(default_factory=dict)

    def types_of(self, predicate: str) -> tuple[str, ...]:
        """The argument types of a predicate; the error for an unknown predicate lists the known ones."""
        try:
            return self.predicates[predicate]
        except KeyError:
            hint = did_you_mean(predicate, self.predicates, "Predicates")
            raise SchemaError(f'no predicate "{predicate}". {hint}') from None

    def arity(self, predicate: str) -> int:
        return len(self.types_of(predicate))

    def types(self) -> tuple[str, ...]:
        """Every type, sorted."""
        return tuple(sorted({name for types in self.predicates.values() for name in types}))

    def variable_types(self, clause: Clause) -> dict[int, str]:
        """The type of each variable of a clause.

        Refuses a wrong number of arguments, a variable with two types, a comparison of a variable that is
        not numeric, and a comparison of a number with a date.
        """
        known: dict[int, str] = {}
        comparisons: list[Comparison] = []
        for literal in (clause.head, *clause.body):
            if isinstance(literal, Comparison):
                comparisons.append(literal)
                continue
            atom = atom_of(literal)
            types = self.types_of(atom.predicate)
            if len(types) != len(atom.args):
                raise SchemaError(
                    f"{atom} has {plural(len(atom.args), 'argument')}, but "
                    f'"{atom.predicate}" takes {len(types)}: {atom.predicate}({",".join(types)}).'
                )
            for term, type_name in zip(atom.args, types, strict=True):
                if isinstance(term, int) and known.setdefault(term, type_name) != type_name:
                    raise SchemaError(
                        f"variable {variable_name(term)} is used as {known[term]} and as {type_name} "
                        f"in {atom}; use two variables."
                    )
        for comparison in comparisons:
            problem = self.misfit(comparison, known.get(comparison.variable))
            if problem is not None:
                raise SchemaError(f"{comparison}: {problem}")
        return known

    def misfit(self, comparison: Comparison, type_name: str | None, name: str | None = None) -> str | None:
        """Why a comparison does not fit the type of its variable, as a sentence; None if it fits."""
        name = name or variable_name(comparison.variable)
        if type_name is None:
            return f"variable {name} is compared but occurs in no atom; add an atom that contains it."
        kind = self.numeric.get(type_name)
        if kind is None:
            hint = did_you_mean(type_name, self.numeric, "Numeric types")
            return f"variable {name} is of type {type_name}, which is not numeric. {hint}"
        if kind != kind_of(comparison.value):
            expected = "a date such as 2001-12-31" if kind == DATE else "a number"
            return f"variable {name} is of type {type_name}; compare it with {expected}."
        return None


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
