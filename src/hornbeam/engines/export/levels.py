"""Rows of a plan and what is known of their links: what a part tells about one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlglot import exp

from hornbeam.engines.export.measures import (
    DISTINCT,
    DISTINCT_OF_EXAMPLE,
    EARLIEST,
    FIRST,
    KNOWN,
    LAST,
    LATEST,
    LEAST,
    MOST,
    NUMBER,
    OF_VALUE,
    REST,
    SPREAD,
    SUM,
    VALUE,
    VALUES,
    N,
    Need,
    rounded,
)
from hornbeam.engines.export.rows import Joined, PlanRows
from hornbeam.engines.plan.parts import Absent, FactNumber, Facts, Found, ManyLink, RowPart, Value
from hornbeam.engines.sql.expressions import Dialect, conjunction, integer, own_column, product, real

Group = tuple[Facts, tuple[Value, ...]]
"""Links that lead to the same facts, with the same keys."""
Wants = Mapping[tuple[RowPart, Need], None]


@dataclass
class Measured:
    """The tables of measures of a group of links."""

    keys: tuple[Value, ...]
    cutoff: bool
    """whether the cut-off is a key, too"""
    columns: dict[tuple[RowPart, Need], tuple[str, dict[str, str]]] = field(default_factory=dict)
    """for what was asked, the table, and its column for each measure"""


class Terms(NamedTuple):
    """What a part tells about one row: numbers by measure, if all conditions hold."""

    conditions: list[exp.Expr]
    values: dict[str, exp.Expr]


def below(part: RowPart, link: ManyLink, need: Need) -> tuple[Need, ...]:
    """What has to be known of a link of a part, to tell what is asked of the part."""
    below, kind = link.below, need.kind
    has_value = part.value is None and below.has_value
    has_time = part.time is None and below.has_time
    if kind in OF_VALUE:
        return (need,) if has_value else (N,)
    if kind == DISTINCT_OF_EXAMPLE:
        return (Need(DISTINCT),) if has_value else (N,)
    if kind in (DISTINCT, VALUES):
        return (Need(VALUES),) if has_value else (N,)
    if kind in (EARLIEST, LATEST):
        return (need,) if has_time else (N,)
    if kind in (FIRST, LAST):
        return (need,) if has_time else (Need(KNOWN), Need(SUM, need.unit)) if has_value else (N,)
    return (N,)


class NumberParts:
    """The parts of numbers of facts, each made once."""

    def __init__(self) -> None:
        self._made: dict[Facts, RowPart] = {}

    def part(self, facts: Facts) -> RowPart:
        if facts not in self._made:
            predicates = frozenset({facts.predicate})
            self._made[facts] = RowPart((), (), None, None, False, False, predicates)
        return self._made[facts]


def numbers_of(part: RowPart) -> list[Facts]:
    """The facts whose number a part asks for."""
    found: dict[Facts, None] = {}
    values: list[object] = [part.value, *(value for link in part.links for value in link.keys)]
    for test in part.tests:
        if isinstance(test, Absent):
            found[test.facts] = None
            values += test.facts.known
        else:
            values += test.facts.known if hasattr(test, "facts") else [test.value]
    while values:
        value = values.pop()
        if isinstance(value, FactNumber):
            found[value.facts] = None
        if isinstance(value, FactNumber | Found):
            values += value.facts.known
    return list(found)


@dataclass
class MeasuredRows:
    """Rows, and what is known of their links."""

    rows: PlanRows
    measured: Mapping[Group, Measured]
    counting: NumberParts
    dialect: Dialect
    joined: list[Joined] = field(default_factory=list)

    def terms(self, part: RowPart, need: Need) -> Terms:
        """What a part tells about a row."""
        self._join_numbers(part)
        conditions = self.rows.tests(part)
        kind, values = need.kind, {}
        numbers = [self._column(link, N, NUMBER) for link in part.links if below(part, link, need) == (N,)]
        special = [link for link in part.links if below(part, link, need) != (N,)]
        if kind == NUMBER:
            return Terms(conditions, {NUMBER: product(numbers)})
        if numbers and kind != KNOWN:
            conditions += [exp.GT(this=each.copy(), expression=integer(0)) for each in numbers]
        if kind in (EARLIEST, LATEST):
            return Terms(conditions, {kind: self._time(part, special, need, kind)})
        if kind in (VALUES, DISTINCT):
            return self._value(part, special, numbers, conditions)
        if kind == DISTINCT_OF_EXAMPLE:
            if part.value is None:
                return Terms(conditions, {NUMBER: self._column(special[0], Need(DISTINCT), DISTINCT)})
            known = self.rows.facts.values.present(self.rows.value(part.value), self.rows.kind(part.value))
            return Terms([*conditions, known], {NUMBER: integer(1)})
        if kind in (LEAST, MOST):
            value = self._own(part)
            values[kind] = self._column(special[0], need, kind) if value is None else value
            return Terms(conditions, values)
        if kind == SPREAD:
            return self._spread(part, special, need, numbers, conditions)
        if kind in (FIRST, LAST):
            return self._at_edge(part, special, need, numbers, conditions)
        value = self._own(part)
        if kind == KNOWN:
            if value is None:
                known = self._column(special[0], need, KNOWN)
                return Terms(conditions, {KNOWN: product([known, *numbers])})
            if not numbers:
                return Terms(conditions, {KNOWN: exp.Count(this=value)})
            conditions = [*conditions, self.rows.facts.values.present(value, "number")]
            return Terms(conditions, {KNOWN: product(numbers)})
        return Terms(conditions, self._sums(value, special, need, numbers))

    # --- kinds of measures -------------------------------------------------------------------------

    def _own(self, part: RowPart) -> exp.Expr | None:
        return None if part.value is None else self.rows.number(part.value)

    def _sums(
        self, value: exp.Expr | None, special: Sequence[ManyLink], need: Need, numbers: Sequence[exp.Expr]
    ) -> dict[str, exp.Expr]:
        """A value times the number of groundings, in two parts that add up without rounding."""
        if value is None:
            (link,) = [each for each in special if each.below.has_value]
            words = [SUM] if need.unit is None else [SUM, REST]
            own = Need(SUM, need.unit)
            sums = {word: self._column(link, own, word) for word in words}
        elif need.unit is None:
            sums = {SUM: value}
        else:
            coarse = rounded(value, need.unit)
            sums = {SUM: coarse, REST: exp.Paren(this=exp.Sub(this=value.copy(), expression=coarse.copy()))}
        return {word: product([each, *(number.copy() for number in numbers)]) for word, each in sums.items()}

    def _time(self, part: RowPart, special: Sequence[ManyLink], need: Need, word: str) -> exp.Expr:
        if part.time is None:
            (link,) = [each for each in special if each.below.has_time]
            return self._column(link, need, word)
        facts = part.time if isinstance(part.time, Facts) else self.rows.reached
        assert facts is not None
        return self.rows.time(facts)

    def _value(
        self,
        part: RowPart,
        special: Sequence[ManyLink],
        numbers: Sequence[exp.Expr],
        conditions: list[exp.Expr],
    ) -> Terms:
        """A value, and the number of groundings that have it; behind a link there is a row for each value."""
        if part.value is not None:
            return Terms(conditions, {VALUE: self.rows.value(part.value), NUMBER: product(numbers)})
        value, number = (self._column(special[0], Need(VALUES), word) for word in (VALUE, NUMBER))
        some = exp.GT(this=number.copy(), expression=integer(0))
        return Terms([*conditions, some], {VALUE: value, NUMBER: product([number, *numbers])})

    def _spread(
        self,
        part: RowPart,
        special: Sequence[ManyLink],
        need: Need,
        numbers: Sequence[exp.Expr],
        conditions: list[exp.Expr],
    ) -> Terms:
        value = self._own(part)
        if value is not None:
            number = product([each.copy() for each in numbers]) if numbers else integer(1)
            conditions = [*conditions, self.rows.facts.values.present(value, "number")]
            return Terms(conditions, {NUMBER: number, "mean": value.copy(), "squares": real(0.0)})
        (link,) = special
        found = {word: self._column(link, need, word) for word in (NUMBER, "mean", "squares")}
        for word in (NUMBER, "squares"):
            found[word] = product([found[word], *(each.copy() for each in numbers)])
        some = exp.GT(this=self._column(link, need, NUMBER), expression=integer(0))
        return Terms([*conditions, some], found)

    def _at_edge(
        self,
        part: RowPart,
        special: Sequence[ManyLink],
        need: Need,
        numbers: Sequence[exp.Expr],
        conditions: list[exp.Expr],
    ) -> Terms:
        """The time of a row, the number of its groundings at that time, and the sum of their values."""
        values = {"time": self._time(part, special, need, "time")}
        value = self._own(part)
        with_time = [each for each in special if part.time is None and each.below.has_time]
        with_value = [each for each in special if value is None and each.below.has_value]
        factors = [*numbers]
        if value is not None:
            conditions = [*conditions, self.rows.facts.values.present(value, "number")]
        for link in with_time:
            number = self._column(link, need, KNOWN)
            conditions = [*conditions, exp.GT(this=number, expression=integer(0))]
            if link not in with_value:
                factors.append(number.copy())
        if not part.has_value:
            return Terms(conditions, {**values, KNOWN: product(factors)})
        if value is not None:
            known: list[exp.Expr] = []
            sums = self._sums(value, special, need, factors)
        else:
            (link,) = with_value
            own = need if link in with_time else Need(KNOWN)
            known = [self._column(link, own, KNOWN)]
            conditions = [*conditions, exp.GT(this=known[0].copy(), expression=integer(0))]
            words = [SUM] if need.unit is None else [SUM, REST]
            of_sums = need if link in with_time else Need(SUM, need.unit)
            sums = {
                word: product([self._column(link, of_sums, word), *(each.copy() for each in factors)])
                for word in words
            }
        return Terms(conditions, {**values, KNOWN: product([*known, *(e.copy() for e in factors)]), **sums})

    # --- joins -------------------------------------------------------------------------------------

    def _join_numbers(self, part: RowPart) -> None:
        """Join the numbers of facts that a part asks for."""
        for facts in numbers_of(part):
            if facts not in self.rows.counted:
                group = (facts, ())
                self.rows.counted[facts] = self._of(group, self.counting.part(facts), N, NUMBER)

    def _column(self, link: ManyLink, need: Need, word: str) -> exp.Expr:
        """What a link tells; its table is joined if it is new."""
        return self._of((link.facts, link.carried), link.below, need, word)

    def _of(self, group: Group, part: RowPart, need: Need, word: str) -> exp.Expr:
        measured = self.measured[group]
        table, columns = measured.columns[part, need]
        on: list[exp.Expr] = [
            exp.EQ(this=own_column(f"k{number}", "?"), expression=self.rows.value(key))
            for number, key in enumerate(measured.keys)
        ]
        if measured.cutoff:
            assert self.rows.cutoff is not None
            cutoff = self.rows.out(self.rows.cutoff)
            on.append(exp.EQ(this=own_column("cutoff", "?"), expression=cutoff))
        identity = (table, self.dialect.text(conjunction([each.copy() for each in on])))
        for joined, known in self._known.items():
            if known == identity:
                return own_column(columns[word], joined)
        alias = f"m{len(self.joined) + 1}"
        for each in on:
            each.this.set("table", exp.to_identifier(alias))
        self._known[alias] = identity
        self.joined.append(Joined(table, alias, tuple(on)))
        return own_column(columns[word], alias)

    def __post_init__(self) -> None:
        self._known: dict[str, tuple[str, str]] = {}
