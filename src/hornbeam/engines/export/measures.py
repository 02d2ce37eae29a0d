"""Measures of rows, as expressions of SQL: what is asked of parts, and how it is added up for each key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlglot import exp

from hornbeam.engines.sql.expressions import conjunction, integer, own_column, product, real

NUMBER, KNOWN, SUM, LEAST, MOST = "number", "known", "sum", "least", "most"
EARLIEST, LATEST, FIRST, LAST = "earliest", "latest", "first", "last"
SPREAD, DISTINCT, VALUES = "spread", "different", "values"
DISTINCT_OF_EXAMPLE = "different of an example"
OF_VALUE = (KNOWN, SUM, LEAST, MOST, SPREAD)
APART = (FIRST, LAST, SPREAD, VALUES)
"""What needs a query of its own."""
VALUE = "value"
"""One of the different values of a key."""
REST = "rest"
"""The second part of a sum: of what is left of the numbers, rounded to a power of two."""


class Need(NamedTuple):
    """What is asked of a part."""

    kind: str
    unit: float | None = None
    """for sums, the power of two whose multiples are added without rounding; None for whole numbers"""


N = Need(NUMBER)


def aggregated(word: str, value: exp.Expr, conditions: Sequence[exp.Expr]) -> exp.Expr:
    """A measure of the rows of a key that satisfy conditions."""
    is_one = isinstance(value, exp.Literal) and value.this == "1"
    if isinstance(value, exp.Count):
        return exp.Count(this=when(conditions, value.this))
    if word in (NUMBER, KNOWN) and is_one:
        if not conditions:
            return exp.Count(this=exp.Star())
        return exp.Count(this=when(conditions, integer(1)))
    value = when(conditions, value.unnest())
    if word in (NUMBER, KNOWN):
        return exp.cast(exp.Sum(this=value), "BIGINT")
    if word == DISTINCT:
        return exp.Count(this=exp.Distinct(expressions=[value]))
    if word in (LEAST, EARLIEST):
        return exp.Min(this=value)
    return exp.Max(this=value) if word in (MOST, LATEST) else exp.Sum(this=value)


def when(conditions: Sequence[exp.Expr], value: exp.Expr) -> exp.Expr:
    """A value where all conditions hold, else NULL."""
    if not conditions:
        return value.copy()
    condition = conjunction([each.copy() for each in conditions])
    return exp.Case(ifs=[exp.If(this=condition, true=value.copy())])


def rounded(value: exp.Expr, unit: float) -> exp.Expr:
    """A number rounded to a multiple of a power of two."""
    if unit < 1:
        scaled = exp.Mul(this=value.copy(), expression=real(1 / unit))
        return exp.Div(this=exp.Round(this=scaled), expression=real(1 / unit), typed=False, safe=False)
    shared = exp.Div(this=value.copy(), expression=real(unit), typed=False, safe=False)
    return exp.Mul(this=exp.Round(this=shared), expression=real(unit))


def edge_of(kind: str, values: Mapping[str, exp.Expr], by: Sequence[exp.Expr]) -> exp.Expr:
    """The earliest or latest time of the rows of a key."""
    best = (exp.Min if kind == FIRST else exp.Max)(this=values["time"].copy())
    return exp.Window(this=best, partition_by=list(by))


def edge_measures(kind: str, values: Mapping[str, exp.Expr]) -> dict[str, exp.Expr]:
    time = exp.Min(this=own_column("time", "t"))
    sums = {word: exp.Sum(this=own_column(word, "t")) for word in values if word != "time"}
    return {"time": time, **{w: exp.cast(s, "BIGINT") if w == KNOWN else s for w, s in sums.items()}}


def spread_center(values: Mapping[str, exp.Expr], by: Sequence[exp.Expr]) -> exp.Expr:
    """The mean of all values of a key."""
    weighted = exp.Mul(this=values[NUMBER].copy(), expression=values["mean"].copy())
    total = exp.Window(this=exp.Sum(this=weighted), partition_by=list(by))
    number = exp.Window(this=exp.Sum(this=values[NUMBER].copy()), partition_by=[each.copy() for each in by])
    return exp.Div(this=total, expression=number, typed=False, safe=False)


def spread_measures() -> dict[str, exp.Expr]:
    """The number of values, their mean, and the sum of their squared distances from it."""
    away = exp.Paren(this=exp.Sub(this=own_column("mean", "t"), expression=own_column("edge", "t")))
    number = own_column(NUMBER, "t")
    square = product([number.copy(), away, away.copy()])
    squares = exp.Sum(this=exp.Add(this=own_column("squares", "t"), expression=square))
    mean = exp.Min(this=own_column("edge", "t"))
    return {NUMBER: exp.cast(exp.Sum(this=number), "BIGINT"), "mean": mean, "squares": squares}
