"""What is measured over the groundings of a body for each example, as SQL: counts, sums, spreads, edges.

Sums are exact where the numbers of an example are less than 2^27 apart in size: each number is split into a
multiple of a power of two and a small remainder, so that neither sum is rounded, and the two sums are added
at the end. So a mean that is exactly at a cut of a curve stays there, whatever the order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlglot import exp

from hornbeam.engines.sql.expressions import own_alias, own_column, own_table, real
from hornbeam.logic.features import COUNT, DISTINCT, FIRST, MAXIMUM, MEAN, MINIMUM, SPREAD, SUM

ALL = "all"
"""Which groundings of an example: all, or those with the earliest or latest time."""
NEEDED: Mapping[str, tuple[str, ...]] = {
    COUNT: (COUNT,),
    DISTINCT: (DISTINCT,),
    MEAN: (SUM, COUNT),
    SUM: (SUM,),
    MINIMUM: (MINIMUM,),
    MAXIMUM: (MAXIMUM,),
    SPREAD: (SPREAD, COUNT),
}
"""For each measure of features, what a query over groundings measures for it."""
_TINY = 1e-280
"""Numbers below this one need no split: no system multiplies them without loss."""
_BITS = 26


class Measure(NamedTuple):
    """A number per example: of its groundings, of the values ``g0 g1 ...`` in them, or of their times."""

    kind: str
    value: str | None = None
    """the column of values"""

    @property
    def name(self) -> str:
        return self.kind if self.value is None else f"{self.kind}_{self.value}"


def edge_query(tally: str, identity: Sequence[str], edge: str) -> exp.Select:
    """The groups of a tally that have the earliest or latest time of their example."""
    best = (exp.Min if edge == FIRST else exp.Max)(this=own_column("moment", "t"))
    marked = exp.select("t.*", own_alias(_over(best, identity), "edge")).from_(own_table(tally, "t"))
    same = exp.EQ(this=own_column("moment", "t"), expression=own_column("edge", "t"))
    return exp.select("*").from_(marked.subquery("t")).where(same)


def scaled_query(tally: str, identity: Sequence[str], measures: Iterable[Measure]) -> exp.Select | None:
    """The groups of a tally with the powers of two by which numbers are split; None if none are needed.

    ``u_g0`` is at most the largest size of the values of an example, ``w_g0`` the distance between the
    smallest, ``b_g0``, and the largest.
    """
    columns: list[exp.Expr] = []
    for kind, name in measures:
        value = None if name is None else own_column(name, "t")
        if value is None:
            continue
        if kind == SUM:
            largest = _over(exp.Max(this=exp.Abs(this=value)), identity)
            columns.append(own_alias(_power_below(largest), f"u_{name}"))
        elif kind == SPREAD:
            least, most = (_over(edge(this=value.copy()), identity) for edge in (exp.Min, exp.Max))
            width = _power_below(exp.Paren(this=exp.Sub(this=most, expression=least.copy())))
            columns += [own_alias(least, f"b_{name}"), own_alias(width, f"w_{name}")]
    if not columns:
        return None
    return exp.select("t.*", *columns).from_(own_table(tally, "t"))


def measures_query(tally: str, identity: Sequence[str], measures: Iterable[Measure]) -> exp.Select:
    """A row for each example that has groundings, with its measures."""
    keys = [own_column(name, "t") for name in identity]
    columns = [column for measure in measures for column in _columns(measure)]
    select = exp.select(*keys, *columns).from_(own_table(tally, "t"))
    return select.group_by(*(key.copy() for key in keys))


def _columns(measure: Measure) -> list[exp.Expr]:
    number, value = own_column("n", "t"), own_column(measure.value or "n", "t")
    if measure.kind == COUNT:
        return [own_alias(exp.cast(exp.Sum(this=number), "DOUBLE"), measure.name)]
    if measure.kind == DISTINCT:
        distinct = exp.Count(this=exp.Distinct(expressions=[value]))
        return [own_alias(exp.cast(distinct, "DOUBLE"), measure.name)]
    if measure.kind in (MINIMUM, MAXIMUM):
        edge = exp.Min if measure.kind == MINIMUM else exp.Max
        return [own_alias(edge(this=value), measure.name)]
    if measure.kind == SUM:
        unit = exp.Mul(this=own_column(f"u_{measure.value}", "t"), expression=real(2.0**-_BITS))
        return [own_alias(_exact_sum(value, exp.Paren(this=unit)), measure.name)]
    width = own_column(f"w_{measure.value}", "t")
    above = exp.Sub(this=value, expression=own_column(f"b_{measure.value}", "t"))
    share = exp.Paren(this=_quotient(exp.Paren(this=above), width))
    square = exp.Paren(this=exp.Mul(this=share, expression=share.copy()))
    return [
        own_alias(_exact_sum(share.copy(), real(2.0 ** (1 - _BITS))), f"above_{measure.value}"),
        own_alias(_exact_sum(square, real(2.0 ** (2 - _BITS))), f"squares_{measure.value}"),
        own_alias(exp.Min(this=width.copy()), f"width_{measure.value}"),
    ]


def measured(measure: str, table: str, name: str) -> exp.Expr:
    """The value of a measure, from what a table has measured of the values ``name``."""
    if measure == SPREAD:
        return _spread(table, name)
    parts = [Measure(each, None if each == COUNT else name) for each in NEEDED[measure]]
    first, *more = [own_column(each.name, table) for each in parts]
    return _quotient(first, more[0]) if more else first


def _spread(table: str, name: str) -> exp.Expr:
    """The standard deviation, from the measures ``spread`` and ``count`` in a table; NULL without these."""
    above, squares, width = (own_column(f"{kind}_{name}", table) for kind in ("above", "squares", "width"))
    count = own_column(COUNT, table)
    # What is multiplied comes before what is divided, as in the sums of features.
    mean_square = _quotient(exp.Paren(this=exp.Mul(this=above, expression=above.copy())), count)
    rest = exp.Paren(this=exp.Sub(this=squares, expression=mean_square))
    root = exp.Sqrt(this=_quotient(rest, count.copy()))
    positive = exp.GT(this=rest.copy(), expression=real(0.0))
    known = exp.GT(this=count.copy(), expression=real(0.0))
    cases = [(positive, exp.Mul(this=root, expression=width)), (known, real(0.0))]
    return exp.Case(ifs=[exp.If(this=condition, true=value) for condition, value in cases])


def _exact_sum(value: exp.Expr, unit: exp.Expr) -> exp.Expr:
    """The sum over all groundings: that of multiples of a unit, and that of the remainders."""
    number = own_column("n", "t")
    rounded = exp.Round(this=_quotient(value.copy(), unit))
    coarse = exp.Paren(this=exp.Mul(this=rounded, expression=unit.copy()))
    fine = exp.Paren(this=exp.Sub(this=value, expression=coarse.copy()))
    return exp.Add(
        this=exp.Sum(this=exp.Mul(this=number, expression=coarse)),
        expression=exp.Sum(this=exp.Mul(this=number.copy(), expression=fine)),
    )


def _power_below(number: exp.Expr) -> exp.Expr:
    """A power of two of about the size of a number, at most the number; 1 for 0."""
    base = exp.Ln(this=real(2.0))
    exponent = exp.Floor(this=_quotient(exp.Ln(this=number), base))
    power = exp.Pow(this=real(2.0), expression=exponent)
    large = exp.GT(this=number.copy(), expression=real(_TINY))
    return exp.cast(exp.Case(ifs=[exp.If(this=large, true=power)], default=real(1.0)), "DOUBLE")


def _over(value: exp.Expr, identity: Sequence[str]) -> exp.Window:
    return exp.Window(this=value, partition_by=[own_column(name, "t") for name in identity])


def _quotient(this: exp.Expr, by: exp.Expr) -> exp.Expr:
    return exp.Div(this=this, expression=by, typed=False, safe=False)
