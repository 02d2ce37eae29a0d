"""The user's tables as plans read them: a common table expression for each table, with clean columns.

A table with a key has a row for each thing, and each of its other columns is an argument of one predicate: a
fact exists if its column has a value. All other facts are distinct rows of the columns of one predicate.
Numbers are DOUBLE and dates TIMESTAMP, NULL where they are missing; other values are as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from hornbeam.data.numbers import TimeColumn
from hornbeam.engines.export.user_tables import FreeNames, NamedQuery, UserFacts
from hornbeam.engines.sql.expressions import SqlTable, aliased, column, integer, latest, own_item

ROW = "f"
"""The alias of a table while its columns are read."""


@dataclass(eq=False)
class ExportedTable:
    """Rows of a table, under a name of ours; its columns are made when they are asked for."""

    facts: UserFacts
    table: SqlTable
    name: str
    key: str | None
    """the column with a different value in each row; None if rows are the distinct facts of a predicate"""
    _columns: dict[tuple[str, object], str] = field(default_factory=dict)
    _values: dict[str, exp.Expr] = field(default_factory=dict)
    _since: dict[str, tuple[TimeColumn, ...]] = field(default_factory=dict)

    def value(self, own: SqlTable, place: int, type_name: str, alias: str) -> exp.Column:
        """The argument of a predicate, which ``own`` has at a place of its columns."""
        source = own.columns[place]
        kind = self.facts.schema.numeric.get(type_name)

        def made() -> exp.Expr:
            value: exp.Expr = column(source, ROW)
            if kind is not None:
                value = self.facts.values.clean(value, kind)
            for name, other, key in own.keys if self.key is not None else ():
                if name == source:
                    value = exp.Case(ifs=[exp.If(this=is_key(name, other, key), true=value)])
            return value

        return self._column(("value", (source, kind)), source, made, alias)

    def flag(self, own: SqlTable, alias: str) -> exp.Column:
        """1 where the flag of a predicate is set."""
        assert own.true is not None
        source = own.true

        def made() -> exp.Expr:
            is_set = self.facts.values.is_set(column(source, ROW))
            return exp.Case(ifs=[exp.If(this=is_set, true=integer(1))], default=integer(0))

        return self._column(("flag", source), source, made, alias)

    def since(self, times: tuple[TimeColumn, ...], alias: str) -> exp.Column:
        """The time from which a fact exists: the latest of some columns."""
        name = self._columns.setdefault(("since", times), "")
        if not name:
            name = self._columns["since", times] = self._free("since")
            self._since[name] = times
        return column(name, alias)

    def query(self) -> exp.Select:
        """The query of all columns that were asked for."""
        kind = self.facts.times.kind
        select = exp.select(*(exp.alias_(value, name, quoted=True) for name, value in self._values.items()))
        select = select.from_(self.table.expression(ROW))
        wanted = dict.fromkeys(each for times in self._since.values() for each in times)
        select, read = self.table._replace(time=None, since=tuple(wanted)).with_times(select, ROW)
        moments = {
            each: self.facts.values.of_kind(time, str(kind)) for each, time in zip(wanted, read, strict=True)
        }
        for name, times in self._since.items():
            since = latest([moments[each].copy() for each in times])
            since = since if self.key is not None else exp.Min(this=since)
            select = select.select(exp.alias_(since, name, quoted=True))
        if self.key is not None:
            present = exp.Not(this=exp.Is(this=column(self.key, ROW), expression=exp.null()))
            return select.where(present)
        select = select.where(*self._conditions())
        if not self._since:
            return select.distinct()
        return select.group_by(*(value.copy() for value in self._values.values()))

    def _conditions(self) -> Iterator[exp.Expr]:
        """The conditions that make a row a fact of the only predicate."""
        for value in self.table.expressions(ROW):
            yield self.facts.values.is_present(value)
        if self.table.true is not None:
            yield self.facts.values.is_set(column(self.table.true, ROW))
        for each in self.table.keys:
            yield is_key(*each)

    def _column(
        self, what: tuple[str, object], source: str, made: Callable[[], exp.Expr], alias: str
    ) -> exp.Column:
        if what not in self._columns:
            name = self._columns[what] = self._free(source)
            self._values[name] = made()
        return column(self._columns[what], alias)

    def _free(self, name: str) -> str:
        taken = {each.lower() for each in self._columns.values()}
        while name.lower() in taken:
            name += "_"
        return name


def is_key(name: str, table: tuple[str, ...], key: str) -> exp.Expr:
    """The condition that a column of a row is a key of another table."""
    keys = exp.select(column(key, "k")).from_(SqlTable(table, ()).expression("k"))
    return exp.In(this=column(name, ROW), query=keys.subquery())


class ExportedTables:
    """The relations of predicates; predicates of one table with a key share one."""

    def __init__(self, facts: UserFacts, names: FreeNames) -> None:
        self._facts = facts
        self._names = names
        self._made: dict[object, ExportedTable] = {}

    def single(self, predicate: str, places: tuple[int, ...]) -> bool:
        """Whether at most one fact has given values at these places."""
        return self.key_place(predicate) in places

    def key_place(self, predicate: str) -> int | None:
        """The argument of a predicate that is the key of its table."""
        table = self._facts.table(predicate)
        return next((table.columns.index(name) for name in table.unique if name in table.columns), None)

    def of(self, predicate: str) -> ExportedTable:
        """The relation with the facts of a predicate."""
        table, place = self._facts.table(predicate), self.key_place(predicate)
        identity = predicate if place is None else (table.name, table.columns[place])
        if identity not in self._made:
            word = table.label if place is not None else predicate
            name = self._names.take(plain_word(word) + "_rows")
            key = None if place is None else table.columns[place]
            relation = ExportedTable(self._facts, table, name, key)
            types = self._facts.schema.types_of(predicate)
            if place is None:
                for each, type_name in enumerate(types):
                    relation.value(table, each, type_name, ROW)
            else:
                relation.value(table, place, types[place], ROW)
            self._made[identity] = relation
        return self._made[identity]

    def all_facts(self, predicate: str, alias: str) -> exp.Subquery:
        """The facts of a predicate: arguments ``c0 c1 ...``, and the time ``since`` if facts have times."""
        relation, table = self.of(predicate), self._facts.table(predicate)
        types = self._facts.schema.types_of(predicate)
        columns = [relation.value(table, at, name, "t") for at, name in enumerate(types)]
        named = [exp.alias_(value, f"c{at}") for at, value in enumerate(columns)]
        if self._facts.has_time(predicate) and self._facts.times.cutoffs:
            named.append(exp.alias_(relation.since(table.times, "t"), "since"))
        select = exp.select(*named).from_(aliased(own_item(relation.name), "t"))
        if relation.key is not None:
            for at, (value, name) in enumerate(zip(columns, types, strict=True)):
                if at != self.key_place(predicate):
                    kind = self._facts.schema.numeric.get(name)
                    select = select.where(self._facts.values.present(value.copy(), kind))
            if table.true is not None:
                select = select.where(exp.EQ(this=relation.flag(table, "t"), expression=integer(1)))
        return select.subquery(alias)

    def constants(self, predicate: str, place: int) -> exp.Select:
        """The different constants that facts of a predicate have at a place."""
        facts = self.all_facts(predicate, "f")
        return exp.select(exp.alias_(exp.column(f"c{place}", "f"), "constant")).distinct().from_(facts)

    def queries(self) -> Iterator[NamedQuery]:
        for relation in self._made.values():
            yield NamedQuery(relation.name, relation.query())


def plain_word(name: str) -> str:
    """A name as a plain word.

    >>> plain_word("Order Details")
    'order_details'
    """
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "table"


def joined(select: exp.Select, relation: ExportedTable, alias: str, kind: str, on: exp.Expr | None) -> None:
    """Join a relation to a select."""
    item = aliased(own_item(relation.name), alias)
    if on is None:
        select.append("joins", exp.Join(this=item, kind="CROSS"))
    elif kind == "LEFT":
        select.append("joins", exp.Join(this=item, side="LEFT", on=on))
    else:
        select.append("joins", exp.Join(this=item, kind=kind, on=on))
