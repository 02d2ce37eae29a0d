"""The effects of a model as SQL: the value of each effect's feature for the examples, and the curves.

Bodies are compiled by ``engines.plan``, as for all engines; ``links`` writes what links tell, and here the
features of examples are made of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlglot import exp

from hornbeam.engines.export.levels import MeasuredRows
from hornbeam.engines.export.links import LinkQueries
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
from hornbeam.engines.export.relations import ExportedTables
from hornbeam.engines.export.rows import PlanRows, with_joins
from hornbeam.engines.export.user_tables import FreeNames, NamedQuery, UserFacts, comment_of
from hornbeam.engines.plan.compiling import Compiler
from hornbeam.engines.plan.parts import FactNumber, RowPart
from hornbeam.engines.sql.expressions import Dialect, integer, own_alias, own_column, own_table, real
from hornbeam.engines.tally import DAY
from hornbeam.errors import OptionError
from hornbeam.logic import features as kinds
from hornbeam.logic.clauses import Value
from hornbeam.logic.effects import Body, Curve, Effect, body_text, in_order_of_use
from hornbeam.logic.features import KINDS
from hornbeam.logic.schema import DATE, number_of

MOST_JOINS = 30
"""Number of tables joined to examples at once; SQLite joins at most 64 tables."""
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


class _AskedEffect(NamedTuple):
    """An effect, the parts that its feature needs, and what is asked of them."""

    effect: Effect
    parts: tuple[RowPart, ...]
    needs: tuple[Need, ...]


class EffectQueries:
    """Writes the values of effects for the examples in a table of keys."""

    def __init__(
        self,
        effects: Sequence[Effect],
        facts: UserFacts,
        arity: int,
        names: FreeNames,
        dialect: Dialect,
        keys: str,
    ) -> None:
        """``keys`` is the table of keys ``k0 k1 ...``, with the cut-off last if examples have one."""
        self._facts = facts
        self._names = names
        self._dialect = dialect
        self._arity = arity
        self._relations = ExportedTables(facts, names)
        timed = [name for name in facts.schema.predicates if facts.has_time(name)]
        self._compiler = Compiler(facts.schema, self._relations.single, timed)
        self._asked = [self._ask(in_order_of_use(effect)) for effect in effects]
        self._links = LinkQueries(facts, self._relations, names, dialect)
        wants = {want: None for asked in self._asked for want in self._wants(asked)}
        rows = self._rows(keys, "e")
        start = exp.Select().from_(own_table(keys, "e"), copy=False)
        self._measured = self._links.measured(wants, rows, start, keys)

    def queries(self) -> Iterator[NamedQuery]:
        """The tables of the user, and what links tell."""
        measures = [each for each in self._links.named if each is not None]
        yield from self._relations.queries()
        yield from measures

    def with_values(self, start: str, numbers: Sequence[int]) -> Iterator[NamedQuery]:
        """Expressions that add the columns ``value_1 ...`` to a table; the last one has all of them.

        ``numbers`` has the number of each effect.
        """
        named: list[exp.Expr] = []
        level = self._level(start)
        for number, asked in zip(numbers, self._asked, strict=True):
            column = own_alias(self._value(asked, level), f"value_{number}")
            column.add_comments([comment_of(_text_of(asked.effect))])
            named.append(column)
            joins = len(level.joined) + len(level.rows.lookups)
            if joins >= MOST_JOINS or asked is self._asked[-1]:
                query = exp.select("e.*", *named).from_(own_table(start, "e"))
                query = with_joins(query, [*level.rows.lookups, *level.joined])
                start = self._names.take(
                    "effect_values" if asked is self._asked[-1] else f"values_to_{number}"
                )
                yield NamedQuery(start, query)
                named, level = [], self._level(start)

    def _rows(self, table: str, alias: str) -> PlanRows:
        facts, arity = self._facts, self._arity
        cutoff = own_column(f"k{arity}", alias) if facts.times.cutoffs else None
        inputs = {place: own_column(f"k{place}", alias) for place in range(arity)}
        return PlanRows(facts, self._relations, self._dialect, inputs, cutoff)

    def _level(self, table: str) -> MeasuredRows:
        return self._links.level(self._rows(table, "e"), self._measured)

    # --- what is asked -----------------------------------------------------------------------------

    def _ask(self, effect: Effect) -> _AskedEffect:
        """The parts that a feature needs, and what is asked of them."""
        kind, variable = effect.feature
        row = KINDS[kind]
        if row.needs == kinds.CUTOFF:
            if self._facts.times.cutoffs and self._facts.times.kind != DATE:
                raise OptionError('the feature "month" needs cut-offs that are dates, but they are numbers.')
            return _AskedEffect(effect, (), ())
        bodies: tuple[Body, ...] = (effect.body,)
        if row.needs == kinds.GUARD:
            bodies = (effect.body, effect.body[:-1])
        parts = tuple(self._compiler.part_of(effect.head, body, variable, bool(row.edge)) for body in bodies)
        return _AskedEffect(effect, parts, self._needs(effect, parts[0]))

    def _needs(self, effect: Effect, part: RowPart) -> tuple[Need, ...]:
        row = KINDS[effect.feature.kind]
        if row.needs == kinds.TIMES:
            return (Need(EARLIEST if row.edge == kinds.FIRST else LATEST),) if part.has_time else ()
        unit = None if _is_number(part) else _unit(effect.curve)
        if row.edge and part.has_time:
            return (Need(FIRST if row.edge == kinds.FIRST else LAST, unit),)
        return tuple(Need(each, unit if each == SUM else None) for each in NEEDED[row.measure])

    def _wants(self, asked: _AskedEffect) -> Iterator[tuple[RowPart, Need]]:
        for part in asked.parts:
            for need in asked.needs:
                if need.kind != KNOWN or part.value is None:
                    yield part, need

    # --- values of features ------------------------------------------------------------------------

    def _value(self, asked: _AskedEffect, level: MeasuredRows) -> exp.Expr:
        """The value of the feature of an effect."""
        kind = KINDS[asked.effect.feature.kind]
        missing = exp.cast(exp.null(), "DOUBLE")
        relative = kind.needs in (kinds.CUTOFF, kinds.DATES, kinds.TIMES)
        if relative and not self._facts.times.cutoffs:
            return missing
        if kind.needs == kinds.CUTOFF:
            cutoff = level.rows.cutoff
            assert cutoff is not None
            month = exp.cast(exp.Extract(this=exp.var("MONTH"), expression=cutoff.copy()), "DOUBLE")
            return self._if_cut_off(cutoff.copy(), month, missing)
        if not asked.needs:
            return missing
        if kind.needs == kinds.GUARD:
            return self._share(asked, level)
        (part,) = asked.parts
        need = asked.needs[0]
        if need.kind in (NUMBER, DISTINCT_OF_EXAMPLE):
            return self._whole(part, need, level)
        if need.kind in (SUM, FIRST, LAST):
            return self._mean(asked, level)
        terms = level.terms(part, need)
        if need.kind == SPREAD:
            share = exp.Div(
                this=terms.values["squares"], expression=terms.values[NUMBER], typed=False, safe=False
            )
            return when(terms.conditions, exp.Sqrt(this=share))
        value = when(terms.conditions, terms.values[need.kind])
        return self._length(value, level, kind.needs) if relative else value

    def _whole(self, part: RowPart, need: Need, level: MeasuredRows) -> exp.Expr:
        """A count, or a number of different values; 0 without groundings."""
        conditions, values = level.terms(part, need)
        known = when(conditions, values[NUMBER])
        return exp.cast(exp.Coalesce(this=known, expressions=[integer(0)]), "DOUBLE")

    def _share(self, asked: _AskedEffect, level: MeasuredRows) -> exp.Expr:
        """The number of groundings, divided by that of the body without its last step."""
        true, total = (self._whole(part, N, level) for part in asked.parts)
        some = exp.Nullif(this=total, expression=real(0.0))
        return exp.Div(this=true, expression=some, typed=False, safe=False)

    def _mean(self, asked: _AskedEffect, level: MeasuredRows) -> exp.Expr:
        """A sum, or a sum divided by its number of values."""
        (part,) = asked.parts
        need = asked.needs[0]
        is_sum = KINDS[asked.effect.feature.kind].measure == kinds.SUM
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
        return when(conditions, exp.Div(this=total, expression=known, typed=False, safe=False))

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
