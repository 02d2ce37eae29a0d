"""The rows at which a plan asks for something: where its values are, and the conditions of its tests.

Rows are the examples, or the facts that a link reaches. A lookup joins the only row of another table that can
match; what a message tells about the links of a row is joined after that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlglot import exp

from hornbeam.engines.export.relations import ExportedTable, ExportedTables
from hornbeam.engines.export.user_tables import UserFacts
from hornbeam.engines.plan.parts import (
    Absent,
    Cell,
    Compare,
    Exists,
    FactNumber,
    Facts,
    Found,
    Input,
    IsConstant,
    New,
    RowPart,
    Value,
)
from hornbeam.engines.sql.expressions import (
    Dialect,
    aliased,
    column,
    conjunction,
    integer,
    own_item,
    real,
)
from hornbeam.engines.tally import DAY
from hornbeam.logic.clauses import AT_LEAST
from hornbeam.logic.effects import NUMBER_OF_FACTS, kind_of_type
from hornbeam.logic.schema import DATE, value_of


class Joined(NamedTuple):
    """A table joined to rows: its name, its alias, and the conditions."""

    table: str
    alias: str
    on: tuple[exp.Expr, ...]


@dataclass
class RowAtHand:
    """The row of a relation at hand."""

    relation: ExportedTable
    alias: str
    key: Value | str | None = None
    """the value of its key, by which a lookup has found it"""


@dataclass
class PlanRows:
    """The rows of one query, and what is joined to them.

    If ``name`` is set, the rows with all that is asked of them are a common table expression of this name,
    and values are its columns.
    """

    facts: UserFacts
    relations: ExportedTables
    dialect: Dialect
    inputs: Mapping[int, exp.Expr]
    cutoff: exp.Expr | None
    own: RowAtHand | None = None
    reached: Facts | None = None
    """the facts that the rows are"""
    given: str | None = None
    """the table of the keys from which they are reached"""
    prefix: str = "x"
    name: str | None = None
    lookups: list[Joined] = field(default_factory=list)
    places: list[RowAtHand] = field(default_factory=list)
    columns: dict[str, tuple[str, exp.Expr]] = field(default_factory=dict)
    """for a named expression: its columns, by the text of their values"""
    counted: dict[Facts, exp.Expr] = field(default_factory=dict)
    """the numbers of facts that are joined"""
    only: exp.Expr | None = None
    """one more condition on the facts"""
    inside: bool = False
    """whether values are asked for in the query of the named expression"""

    # --- values ------------------------------------------------------------------------------------

    def value(self, value: Value) -> exp.Expr:
        """A value as queries see it from outside."""
        if isinstance(value, FactNumber):
            return exp.Coalesce(this=self.counted[value.facts].copy(), expressions=[integer(0)])
        return self.out(self._inner(value))

    def number(self, value: Value) -> exp.Expr:
        """A value as a number: dates in microseconds; other values as they are."""
        known = self.value(value)
        if self.kind(value) == DATE:
            return self.facts.values.microseconds(known)
        return exp.cast(known, "DOUBLE") if isinstance(value, FactNumber) else known

    def kind(self, value: Value) -> str | None:
        """The kind of the numbers of a value; None if it has none."""
        name = NUMBER_OF_FACTS if isinstance(value, FactNumber) else value.type_name
        return kind_of_type(self.facts.schema, name)

    def time(self, facts: Facts) -> exp.Expr:
        """The time of the fact of the row, or of a lookup; a fact without one comes after all others."""
        since = self._since(facts, self._place(facts))
        return exp.Coalesce(this=self.out(since), expressions=[self.facts.everything()])

    def out(self, value: exp.Expr) -> exp.Expr:
        """A value of the rows, or the column of the named expression that has it."""
        if self.name is None or self.inside:
            return value.copy()
        text = self.dialect.text(value.copy())
        if text not in self.columns:
            word = value.name if isinstance(value, exp.Column) else "value"
            taken = {name.lower() for name, _ in self.columns.values()}
            while word.lower() in taken:
                word += "_"
            self.columns[text] = word, value.copy()
        return column(self.columns[text][0], "r")

    def _inner(self, value: Input | Cell | Found) -> exp.Expr:
        """A value where the rows and lookups are joined."""
        if isinstance(value, Input):
            return self.inputs[value.place].copy()
        facts = self.reached if isinstance(value, Cell) else value.facts
        assert facts is not None
        place = self.own if isinstance(value, Cell) else self._place(facts)
        assert place is not None
        return self._argument(facts, value.place, place)

    def _argument(self, facts: Facts, position: int, place: RowAtHand) -> exp.Column:
        table = self.facts.table(facts.predicate)
        type_name = self.facts.schema.types_of(facts.predicate)[position]
        return place.relation.value(table, position, type_name, place.alias)

    def _since(self, facts: Facts, place: RowAtHand) -> exp.Column:
        return place.relation.since(self.facts.table(facts.predicate).times, place.alias)

    # --- lookups -----------------------------------------------------------------------------------

    def _place(self, facts: Facts) -> RowAtHand:
        """The row that a lookup finds: the row at hand, or another one, which is joined once."""
        if facts is self.reached:
            assert self.own is not None
            return self.own
        relation = self.relations.of(facts.predicate)
        at = self.relations.key_place(facts.predicate)
        if at is None or isinstance(facts.args[at], New):
            return self._join(relation, facts)
        key = facts.args[at]
        assert not isinstance(key, New)
        for place in [*([self.own] if self.own is not None else []), *self.places]:
            if place.relation is relation and self._is_key(place, key):
                return place
        found = RowAtHand(relation, f"{self.prefix}{len(self.lookups) + 1}", key)
        column_of = self._argument(facts, at, found)
        on = self._equal(column_of, facts, at, key)
        self.lookups.append(Joined(relation.name, found.alias, (on,)))
        self.places.append(found)
        return found

    def _join(self, relation: ExportedTable, facts: Facts) -> RowAtHand:
        """Join the fact that has all arguments."""
        found = RowAtHand(relation, f"{self.prefix}{len(self.lookups) + 1}")
        on = tuple(
            self._equal(self._argument(facts, at, found), facts, at, arg)
            for at, arg in enumerate(facts.args)
            if not isinstance(arg, New)
        )
        known = next(
            (each for each in self.lookups if self._same(each, relation.name, on, found.alias)), None
        )
        if known is not None:
            return RowAtHand(relation, known.alias)
        self.lookups.append(Joined(relation.name, found.alias, on))
        return found

    def _same(self, joined: Joined, table: str, on: Sequence[exp.Expr], alias: str) -> bool:
        def text(conditions: Sequence[exp.Expr]) -> str:
            return self.dialect.text(conjunction([each.copy() for each in conditions]))

        if joined.table != table:
            return False
        renamed = [_with_alias(each, joined.alias, alias) for each in joined.on]
        return text(renamed) == text(on)

    def _is_key(self, place: RowAtHand, key: Value | str) -> bool:
        """Whether a value is the key of a row at hand."""
        if place is not self.own:
            return place.key == key
        if self.reached is None or not isinstance(key, Cell):
            return False
        return self.relations.key_place(self.reached.predicate) == key.place

    def _equal(self, value: exp.Expr, facts: Facts, at: int, arg: Value | str) -> exp.Expr:
        """The condition that an argument has a value or is a constant."""
        if isinstance(arg, str):
            return self.facts.equals(value, self.facts.schema.types_of(facts.predicate)[at], arg)
        assert not isinstance(arg, FactNumber)
        return exp.EQ(this=value, expression=self._inner(arg))

    # --- conditions --------------------------------------------------------------------------------

    def matching(self) -> Iterator[exp.Expr]:
        """The conditions on the facts that the rows are, besides those by which they are joined."""
        facts, own = self.reached, self.own
        assert facts is not None and own is not None
        self.inside = True
        yield from self._arguments(facts, own, frozenset())
        if self._is_timed(facts):
            yield self.facts.exists(self._since(facts, own), self._cutoff())
        yield from self._recent(facts, own)
        if self.only is not None:
            yield self.only.copy()
        self.inside = False

    def _cutoff(self) -> exp.Expr:
        assert self.cutoff is not None
        return self.out(self.cutoff)

    def _is_timed(self, facts: Facts) -> bool:
        return self.cutoff is not None and facts.predicate in self.facts.timed()

    def _arguments(self, facts: Facts, place: RowAtHand, known: frozenset[Value]) -> Iterator[exp.Expr]:
        """The conditions on arguments that no join has."""
        relation = place.relation
        at_key = self.relations.key_place(facts.predicate)
        for at, arg in enumerate(facts.args):
            value = self._argument(facts, at, place)
            if isinstance(arg, New) and arg.place != at:
                yield exp.EQ(
                    this=self.out(value), expression=self.out(self._argument(facts, arg.place, place))
                )
            elif isinstance(arg, New):
                found: Value = (
                    Cell(at, self.facts.schema.types_of(facts.predicate)[at])
                    if facts is self.reached
                    else Found(facts, at, self.facts.schema.types_of(facts.predicate)[at])
                )
                if relation.key is not None and at != at_key and found not in known:
                    yield self.facts.values.present(self.out(value), self.kind(found))
            elif isinstance(arg, str) and facts is self.reached:
                yield self._equal(self.out(value), facts, at, arg)
        if relation.key is not None and self.facts.table(facts.predicate).true is not None:
            flag = relation.flag(self.facts.table(facts.predicate), place.alias)
            yield exp.EQ(this=self.out(flag), expression=integer(1))

    def _recent(self, facts: Facts, place: RowAtHand) -> Iterator[exp.Expr]:
        """The condition that a fact is not older than a length of time before the cut-off."""
        if facts.within is None or not self._is_timed(facts):
            return
        dated = self.facts.times.kind == DATE
        length = facts.within * DAY if dated else facts.within
        earliest = exp.Sub(this=self.facts.as_number(self._cutoff()), expression=real(length))
        since = self.facts.as_number(self.out(self._since(facts, place)))
        recent = exp.GTE(this=since, expression=earliest)
        unlimited = exp.EQ(this=self._cutoff(), expression=self.facts.everything())
        yield exp.Paren(this=exp.Or(this=unlimited, expression=recent))

    def tests(self, part: RowPart) -> list[exp.Expr]:
        """The conditions of a part on the row."""
        known = frozenset(self._implied(part))
        conditions: list[exp.Expr] = []
        for test in part.tests:
            if isinstance(test, Compare):
                conditions.append(self._compared(test))
            elif isinstance(test, IsConstant):
                assert not isinstance(test.value, FactNumber)
                conditions.append(self.facts.equals(self.value(test.value), test.value.type_name, test.name))
            elif isinstance(test, Absent):
                conditions.append(exp.EQ(this=self.value(FactNumber(test.facts)), expression=integer(0)))
            else:
                conditions += self._exists(test.facts, known)
        unique = {self.dialect.text(each.copy()): each for each in conditions}
        return list(unique.values())

    def _implied(self, part: RowPart) -> Iterator[Value]:
        """The values that other conditions of a part find missing."""
        if part.value is not None and self.kind(part.value) is not None:
            yield part.value
        for test in part.tests:
            if isinstance(test, Compare | IsConstant):
                yield test.value
            elif isinstance(test, Exists):
                at = self.relations.key_place(test.facts.predicate)
                if at is not None and not isinstance(key := test.facts.args[at], New | str):
                    yield key

    def _exists(self, facts: Facts, known: frozenset[Value]) -> Iterator[exp.Expr]:
        """The conditions that a lookup finds its fact."""
        place = self._place(facts)
        at_key = self.relations.key_place(facts.predicate)
        if at_key is None:
            some = self.out(self._argument(facts, 0, place))
            yield exp.Not(this=exp.Is(this=some, expression=exp.null()))
        else:
            for at, arg in enumerate(facts.args):
                if at != at_key and not isinstance(arg, New):
                    yield self._outer_equal(facts, at, arg, place)
            if len(facts.args) == 1 and self.facts.table(facts.predicate).true is None:
                some = self.out(self._argument(facts, 0, place))
                yield exp.Not(this=exp.Is(this=some, expression=exp.null()))
            yield from self._arguments(facts, place, known)
        same = False
        if place is self.own and self.reached is not None:
            times = self.facts.table(self.reached.predicate).times
            same = times == self.facts.table(facts.predicate).times
        if self._is_timed(facts) and not same:
            yield self.facts.exists(self.out(self._since(facts, place)), self._cutoff())
        yield from self._recent(facts, place)

    def _outer_equal(self, facts: Facts, at: int, arg: Value | str, place: RowAtHand) -> exp.Expr:
        value = self.out(self._argument(facts, at, place))
        if isinstance(arg, str):
            return self.facts.equals(value, self.facts.schema.types_of(facts.predicate)[at], arg)
        return exp.EQ(this=value, expression=self.value(arg))

    def _compared(self, test: Compare) -> exp.Expr:
        side = exp.GTE if test.operator == AT_LEAST else exp.LT
        if isinstance(test.value, FactNumber):
            return side(this=self.value(test.value), expression=real(test.threshold))
        kind = self.kind(test.value)
        assert kind is not None
        threshold = self.facts.values.constant(value_of(test.threshold, kind))
        return side(this=self.value(test.value), expression=threshold)


def _with_alias(condition: exp.Expr, alias: str, new: str) -> exp.Expr:
    """The condition with another name of a table."""
    copied = condition.copy()
    for each in copied.find_all(exp.Column):
        if each.table == alias:
            each.set("table", exp.to_identifier(new))
    return copied


def with_joins(select: exp.Select, joins: Iterable[Joined]) -> exp.Select:
    """A select with tables joined, rows without a match included."""
    for table, alias, on in joins:
        condition = conjunction([each.copy() for each in on])
        select.append("joins", exp.Join(this=aliased(own_item(table), alias), side="LEFT", on=condition))
    return select


def named(columns: Mapping[str, exp.Expr]) -> list[exp.Expr]:
    """Expressions under names; a column that has its name already needs none."""
    return [
        value if isinstance(value, exp.Column) and value.name == name else exp.alias_(value, name)
        for name, value in columns.items()
    ]
