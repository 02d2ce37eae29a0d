"""The effects of a model as SQL: the value of each effect's feature for the examples, and the curves.

Bodies are compiled by ``engines.plan``, as for all engines; ``links`` writes what links tell, and here the
features of examples are made of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from sqlglot import exp

from hornbeam.engines.export.levels import MeasuredRows
from hornbeam.engines.export.measures import (
    DISTINCT_OF_EXAMPLE,
    EARLIEST,
    FIRST,
    KNOWN,
    LAST,
    LATEST,
    LEAST,
    MOST,
    NUMBER,
    REST,
    SPREAD,
    SUM,
    N,
    Need,
    when,
)
from hornbeam.engines.export.plan_queries import PlanQueries
from hornbeam.engines.export.user_tables import NamedQuery, UserFacts, comment_of
from hornbeam.engines.plan.compiling import Compiler
from hornbeam.engines.plan.parts import FactNumber, RowPart
from hornbeam.engines.sql.expressions import integer, own_alias, real
from hornbeam.engines.tally import DAY
from hornbeam.errors import OptionError
from hornbeam.logic import features as kinds
from hornbeam.logic.clauses import Value
from hornbeam.logic.effects import Body, Curve, Effect, body_text, in_order_of_use
from hornbeam.logic.features import KINDS
from hornbeam.logic.schema import DATE, number_of

_BITS = 26
"""Numbers are added in two parts: multiples of a power of two, so many bits below the cuts, and the rest."""
NEEDED: Mapping[str, tuple[str, ...]] = {
    kinds.COUNT: (NUMBER,),
    kinds.DISTINCT: (DISTINCT_OF_EXAMPLE,),
    kinds.MINIMUM: (LEAST,),
    kinds.MAXIMUM: (MOST,),
    kinds.SPREAD: (SPREAD,),
    kinds.SUM: (SUM,),
    kinds.MEAN: (SUM, KNOWN),
}
"""For each measure of features, what is asked of the parts of a plan (see ``measures``)."""


def level_of(value: exp.Expr, curve: Curve) -> exp.Expr:
    """What a curve adds to the score for a value; NULL is a missing value."""
    missing = exp.Is(this=value, expression=exp.null())
    cases = [exp.If(this=missing, true=real(curve.missing))]
    for cut, level in zip(curve.cuts, curve.levels, strict=False):
        below = exp.LT(this=value.copy(), expression=real(_plain(cut)))
        cases.append(exp.If(this=below, true=real(level)))
    levels = exp.Case(ifs=cases, default=real(curve.levels[-1]))
    return exp.Add(this=levels, expression=_risen(value, curve)) if curve.slope else levels


def _risen(value: exp.Expr, curve: Curve) -> exp.Expr:
    """What the slope of a curve adds for a value."""
    missing = exp.Is(this=value.copy(), expression=exp.null())
    below = exp.LT(this=value.copy(), expression=real(curve.low))
    above = exp.GT(this=value.copy(), expression=real(curve.high))
    beyond = exp.paren(exp.Sub(this=value.copy(), expression=real(curve.low)))
    cases = [
        exp.If(this=missing, true=real(0.0)),
        exp.If(this=below, true=real(0.0)),
        exp.If(this=above, true=real(curve.risen(curve.high))),
    ]
    return exp.Case(ifs=cases, default=exp.Mul(this=real(curve.slope), expression=beyond))


def adds_nothing(curve: Curve) -> bool:
    """Whether a curve is 0 everywhere."""
    return not any((*curve.levels, curve.missing, curve.slope))


def _plain(cut: Value) -> float:
    return float(number_of(cut))


class EffectColumn:
    """The column ``value_1`` of the first effect, and so on."""

    def __init__(self, number: int, effect: Effect, facts: UserFacts, compiler: Compiler) -> None:
        self._name = f"value_{number}"
        self._facts = facts
        self._effect = effect = in_order_of_use(effect)
        self._parts, self._needs = self._ask(effect, compiler)

    def wants(self) -> Iterator[tuple[RowPart, Need]]:
        """What is asked of the parts of a plan."""
        for part in self._parts:
            for need in self._needs:
                if need.kind != KNOWN or part.value is None:
                    yield part, need

    def before(self, queries: PlanQueries) -> Iterator[NamedQuery]:
        """Expressions that the column reads: none."""
        return iter(())

    def columns(self, level: MeasuredRows) -> list[exp.Expr]:
        """The value of the feature."""
        column = own_alias(self._value(level), self._name)
        column.add_comments([comment_of(_text_of(self._effect))])
        return [column]

    # --- what is asked -----------------------------------------------------------------------------

    def _ask(self, effect: Effect, compiler: Compiler) -> tuple[tuple[RowPart, ...], tuple[Need, ...]]:
        """The parts that a feature needs, and what is asked of them."""
        kind, variable = effect.feature
        row = KINDS[kind]
        if row.needs == kinds.CUTOFF:
            if self._facts.times.cutoffs and self._facts.times.kind != DATE:
                raise OptionError('the feature "month" needs cut-offs that are dates, but they are numbers.')
            return (), ()
        bodies: tuple[Body, ...] = (effect.body,)
        if row.needs == kinds.GUARD:
            bodies = (effect.body, effect.body[:-1])
        parts = tuple(compiler.part_of(effect.head, body, variable, bool(row.edge)) for body in bodies)
        return parts, self._needed(effect, parts[0])

    def _needed(self, effect: Effect, part: RowPart) -> tuple[Need, ...]:
        row = KINDS[effect.feature.kind]
        if row.needs == kinds.TIMES:
            return (Need(EARLIEST if row.edge == kinds.FIRST else LATEST),) if part.has_time else ()
        unit = None if _is_number(part) else _unit(effect.curve)
        if row.edge and part.has_time:
            return (Need(FIRST if row.edge == kinds.FIRST else LAST, unit),)
        return tuple(Need(each, unit if each == SUM else None) for each in NEEDED[row.measure])

    # --- values of features ------------------------------------------------------------------------

    def _value(self, level: MeasuredRows) -> exp.Expr:
        """The value of the feature of an effect."""
        kind = KINDS[self._effect.feature.kind]
        missing = exp.cast(exp.null(), "DOUBLE")
        relative = kind.needs in (kinds.CUTOFF, kinds.DATES, kinds.TIMES)
        if relative and not self._facts.times.cutoffs:
            return missing
        if kind.needs == kinds.CUTOFF:
            cutoff = level.rows.cutoff
            assert cutoff is not None
            month = exp.cast(exp.Extract(this=exp.var("MONTH"), expression=cutoff.copy()), "DOUBLE")
            return self._if_cut_off(cutoff.copy(), month, missing)
        if not self._needs:
            return missing
        if kind.needs == kinds.GUARD:
            return self._share(level)
        (part,) = self._parts
        need = self._needs[0]
        if need.kind in (NUMBER, DISTINCT_OF_EXAMPLE):
            return self._whole(part, need, level)
        if need.kind in (SUM, FIRST, LAST):
            return self._mean(level)
        terms = level.terms(part, need)
        if need.kind == SPREAD:
            share = _divided(terms.values["squares"], terms.values[NUMBER])
            return when(terms.conditions, exp.Sqrt(this=share))
        value = when(terms.conditions, terms.values[need.kind])
        return self._length(value, level, kind.needs) if relative else value

    def _whole(self, part: RowPart, need: Need, level: MeasuredRows) -> exp.Expr:
        """A count, or a number of different values; 0 without groundings."""
        conditions, values = level.terms(part, need)
        known = when(conditions, values[NUMBER])
        return exp.cast(exp.Coalesce(this=known, expressions=[integer(0)]), "DOUBLE")

    def _share(self, level: MeasuredRows) -> exp.Expr:
        """The number of groundings, divided by that of the body without its last step."""
        true, total = (self._whole(part, N, level) for part in self._parts)
        some = exp.Nullif(this=total, expression=real(0.0))
        return exp.Div(this=true, expression=some, typed=False, safe=False)

    def _mean(self, level: MeasuredRows) -> exp.Expr:
        """A sum, or a sum divided by its number of values."""
        (part,) = self._parts
        need = self._needs[0]
        is_sum = KINDS[self._effect.feature.kind].measure == kinds.SUM
        if part.value is not None and not is_sum:
            # All groundings of the example have this value.
            numbers = level.terms(part, Need(LEAST)) if need.kind == SUM else level.terms(part, need)
            return when(numbers.conditions, level.rows.number(part.value))
        conditions, values = level.terms(part, need)
        total = values[SUM]
        if REST in values:
            total = exp.Paren(this=exp.Add(this=total, expression=values[REST]))
        if is_sum:
            return when(conditions, total.unnest() if isinstance(total, exp.Paren) else total)
        known = values[KNOWN] if KNOWN in values else level.terms(part, Need(KNOWN)).values[KNOWN]
        return when(conditions, _divided(total, known))

    def _length(self, edge: exp.Expr, level: MeasuredRows, needs: str) -> exp.Expr:
        """The length of time from a date to the cut-off; missing for an example without a cut-off."""
        cutoff, dated = level.rows.cutoff, self._facts.times.kind == DATE
        assert cutoff is not None
        if needs != kinds.DATES:
            edge = self._facts.as_number(edge)
        length: exp.Expr = exp.Sub(this=self._facts.as_number(cutoff.copy()), expression=edge)
        if dated:
            length = exp.Div(this=exp.Paren(this=length), expression=real(DAY), typed=False, safe=False)
        else:
            # Facts without a time may have minus infinity, from which there is no length.
            finite = exp.GT(this=edge.copy(), expression=real(-1.7e308))
            length = exp.Case(ifs=[exp.If(this=finite, true=length)])
        return self._if_cut_off(cutoff.copy(), length, exp.cast(exp.null(), "DOUBLE"))

    def _if_cut_off(self, cutoff: exp.Expr, value: exp.Expr, otherwise: exp.Expr) -> exp.Expr:
        none = exp.EQ(this=cutoff, expression=self._facts.everything())
        return exp.Case(ifs=[exp.If(this=none, true=otherwise)], default=value)


def _divided(this: exp.Expr, by: exp.Expr) -> exp.Expr:
    """A quotient; what is divided by may be a product."""
    by = exp.Paren(this=by) if isinstance(by, exp.Binary) else by
    return exp.Div(this=this, expression=by, typed=False, safe=False)


def _is_number(part: RowPart) -> bool:
    """Whether the value that is asked for is a number of facts."""
    if part.value is not None:
        return isinstance(part.value, FactNumber)
    return any(_is_number(link.below) for link in part.links if link.below.has_value)


def _unit(curve: Curve) -> float:
    """The power of two whose multiples are added without rounding: far below the cuts."""
    largest = max((abs(_plain(cut)) for cut in curve.cuts), default=0.0)
    return 2.0 ** max(-900, math.frexp(largest)[1] - _BITS)


def _text_of(effect: Effect) -> str:
    return f"{effect.feature} of {body_text(effect.head, effect.body)}"
