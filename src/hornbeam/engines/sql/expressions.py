"""The building blocks of SQL: dialects, sources of facts, and the expressions that all queries use.

Names and values of the user become SQL only as quoted identifiers and literals of an expression
tree; SQL is never concatenated by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy.typing as npt
import sqlglot
from sqlglot import exp
from sqlglot.generator import Generator

from hornbeam.data.database import Codes
from hornbeam.data.numbers import TimeColumn
from hornbeam.errors import OptionError
from hornbeam.logic.clauses import AT_LEAST, Value
from hornbeam.logic.schema import DATE, NUMBER, Schema

WIDTH = 110
"""About how wide lines of printed queries are."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The differences between SQL systems that go beyond syntax."""

    name: str
    """sqlglot's name of the dialect"""

    def cast(self, value: exp.Expr) -> exp.Cast:
        """A value as BIGINT."""
        return exp.Cast(this=value, to=_type("BIGINT", self.name).copy())

    def text(self, tree: exp.Expr, pretty: bool = False) -> str:
        """The tree as SQL in this dialect. Without ``pretty`` the tree is not copied and may be modified."""
        if not pretty:
            return tree.sql(dialect=self.name, comments=False, copy=False)
        return _printer(self.name)(dialect=self.name, pretty=True, max_text_width=WIDTH).generate(tree)


@lru_cache(maxsize=64)
def _printer(dialect: str) -> Callable[..., Generator]:
    """The generator of a dialect, with a line for each branch of a CASE that has short ones."""
    base = sqlglot.Dialect.get_or_raise(dialect).generator_class

    class Printer(base):  # type: ignore[misc, valid-type]
        def case_sql(self, expression: exp.Case) -> str:
            branches = [
                f"WHEN {self.sql(e, 'this')} THEN {self.sql(e, 'true')}" for e in expression.args["ifs"]
            ]
            default = self.sql(expression, "default")
            lines = ["CASE", *branches, *([f"ELSE {default}"] if default else []), "END"]
            is_long = any("\n" in line or len(line) > WIDTH for line in lines)
            if is_long or sum(map(len, lines)) < WIDTH - len(lines):
                return str(super().case_sql(expression))
            return str(self.indent("\n".join(lines), skip_first=True, skip_last=True))

    return Printer


@lru_cache(maxsize=1024)
def _type(name: str, dialect: str) -> exp.DataType:
    return exp.DataType.build(name, dialect=dialect)


CUTOFF = "\0cut-off"
"""The type name of cut-offs; no type of a schema can have this name."""

DUCKDB = Dialect("duckdb")
POSTGRES = Dialect("postgres")
SPARK = Dialect("spark")


class SqlRelation(NamedTuple):
    """The facts of a predicate: a table or query to select from, and its column for each argument.

    The rows are distinct and have no NULL.
    """

    item: exp.Expr
    columns: tuple[str, ...]
    own: bool = False
    """whether Hornbeam named the columns, so that they need no quotes"""
    time: str | None = None
    """the column with the time from which each fact exists"""

    def column(self, position: int, alias: str) -> exp.Column:
        """A column of the relation under an alias."""
        return self._named(self.columns[position], alias)

    def since(self, alias: str) -> exp.Column:
        """The time of a fact."""
        assert self.time is not None
        return self._named(self.time, alias)

    def _named(self, name: str, alias: str) -> exp.Column:
        return own_column(name, alias) if self.own else column(name, alias)


class SqlTable(NamedTuple):
    """A table in the user's database with the facts of a predicate.

    ``name`` has the parts of the table's name, ``columns`` a column for each argument. A row with NULL at an
    argument is not a fact.
    """

    name: tuple[str, ...]
    columns: tuple[str, ...]
    true: str | None = None
    """a column that must be true, or not 0, for a row to be a fact"""
    time: str | None = None
    """the column with the time from which each fact exists"""
    texts: tuple[str, ...] = ()
    """columns in which empty text means a missing value"""
    distinct: bool = False
    """whether all rows are known to be different facts"""
    since: tuple[TimeColumn, ...] = ()
    """in place of ``time``, columns of which the latest has the time from which each fact exists"""
    rows: int | None = None
    """the number of rows, if all of them are known to be facts"""
    unique: tuple[str, ...] = ()
    """columns that are known to have another value in each row"""
    covered: tuple[str, ...] = ()
    """columns whose values are known to be keys of the table of their type"""
    keys: tuple[tuple[str, tuple[str, ...], str], ...] = ()
    """columns whose values must be keys to make a fact, each with the table and column of these keys"""
    called: str = ""
    """the word for the table, if its name is not one"""

    @classmethod
    def of(
        cls,
        name: str | Sequence[str],
        columns: Sequence[str],
        true: str | None = None,
        time: str | tuple[TimeColumn, ...] | None = None,
        keys: Sequence[tuple[str, str | Sequence[str], str]] = (),
        unique: Sequence[str] = (),
    ) -> SqlTable:
        """A table from its name: a text with dots between the parts, or a sequence of the parts.

        >>> SqlTable.of("social.friends", ["who", "whom"]).name
        ('social', 'friends')
        """
        known = tuple((column, _parts(table), key) for column, table, key in keys)
        table = cls(_parts(name), tuple(columns), true, keys=known, unique=tuple(unique))
        return table._replace(since=time) if isinstance(time, tuple) else table._replace(time=time)

    @property
    def times(self) -> tuple[TimeColumn, ...]:
        """The columns with times; none if its facts have no times."""
        return self.since if self.time is None else (TimeColumn(self.time),)

    @property
    def label(self) -> str:
        """The word for the table in names of expressions."""
        return self.called or self.name[-1]

    def names(self) -> list[tuple[str, ...]]:
        """The names of the table and of those whose times or keys count."""
        of_times = (SqlTable.of(table, ()).name for each in self.since for _, table, _ in each.links)
        return [self.name, *of_times, *(table for _, table, _ in self.keys)]

    def renamed(self, names: Mapping[tuple[str, ...], tuple[str, ...]]) -> SqlTable:
        """The same with other names of all of its tables."""
        since = tuple(
            TimeColumn(
                name, tuple((link, names[SqlTable.of(table, ()).name], key) for link, table, key in links)
            )
            for name, links in self.since
        )
        keys = tuple((link, names[table], key) for link, table, key in self.keys)
        return self._replace(name=names[self.name], since=since, keys=keys, called=self.label)

    def with_times(self, facts: exp.Select, alias: str) -> tuple[exp.Select, list[exp.Expr]]:
        """A query of the table, joined with the tables to which links for times lead; and all times."""
        times: list[exp.Expr] = []
        places: dict[tuple[object, ...], str] = {(): alias}
        for name, links in self.times:
            place: tuple[object, ...] = ()
            for link, table, key in links:
                before, place = places[place], (*place, link, table, key)
                if place not in places:
                    places[place] = f"{alias}{len(places)}"
                    same = exp.EQ(this=column(link, before), expression=column(key, places[place]))
                    item = SqlTable.of(table, ()).expression(places[place])
                    facts = facts.join(item, on=same, join_type="LEFT")
            times.append(column(name, places[place]))
        return facts, times

    def item(self) -> exp.Table:
        """The table as an expression, without an alias."""
        *qualifiers, name = (exp.to_identifier(part, quoted=True) for part in self.name)
        parts = dict(zip(("db", "catalog"), reversed(qualifiers), strict=False))
        return exp.Table(this=name, **parts)

    def expression(self, alias: str) -> exp.Expr:
        """The table under an alias."""
        return aliased(self.item(), alias)

    def expressions(self, alias: str) -> list[exp.Column]:
        """The table's columns, qualified by its alias."""
        return [column(name, alias) for name in self.columns]

    def conditions(self, alias: str) -> list[exp.Expr]:
        """The conditions that make a row a fact."""
        conditions: list[exp.Expr] = [
            exp.Not(this=exp.Is(this=value, expression=exp.null())) for value in self.expressions(alias)
        ]
        conditions += [
            exp.NEQ(this=column(name, alias), expression=exp.Literal.string(""))
            for name in self.columns
            if name in self.texts
        ]
        if self.true is not None:
            conditions.append(exp.NEQ(this=exp.cast(column(self.true, alias), "INT"), expression=integer(0)))
        return conditions


def _parts(name: str | Sequence[str]) -> tuple[str, ...]:
    """The parts of the name of a table."""
    parts = tuple(name.split(".") if isinstance(name, str) else name)
    if not parts or not all(parts) or len(parts) > 3:
        raise OptionError(
            f"{name!r} is not the name of a table; give table, schema.table or a list of the parts."
        )
    return parts


class SqlFacts(Protocol):
    """Facts that a query can read."""

    @property
    def schema(self) -> Schema: ...

    def relation(self, predicate: str) -> SqlRelation: ...

    def equals(self, value: exp.Expr, type_name: str, name: str) -> exp.Expr:
        """The condition that a value of a column of this type is the named constant."""

    def compares(self, value: exp.Expr, type_name: str, operator: str, threshold: Value) -> exp.Expr:
        """The condition that a value of a column of this numeric type is on one side of a threshold."""

    def exists(self, since: exp.Expr, cutoff: exp.Expr) -> exp.Expr:
        """The condition that a fact with a time exists for an example with a cut-off."""


class SqlSource(SqlFacts, Protocol):
    """Facts that an engine can count, and the translation of examples' keys to values in the facts.

    The type of a cut-off is ``CUTOFF``.
    """

    coded: bool
    """whether values are codes: integers from 0 on, and -1 for an unknown constant"""

    def bound(self, keys: str, types: Sequence[str]) -> exp.Select | None:
        """The query that turns a table of ``key_values`` into bindings; None if no translation is needed."""

    def key_values(self, type_name: str, codes: Codes) -> npt.NDArray[Any]:
        """Values for codes of keys, comparable with columns of the type; an unknown key matches no row."""


def compared(value: exp.Expr, operator: str, threshold: Value) -> exp.Expr:
    """The condition that a value is on one side of a threshold, compared as DOUBLE or TIMESTAMP."""
    side = exp.GTE if operator == AT_LEAST else exp.LT
    return side(this=numeric(value, isinstance(threshold, datetime)), expression=_constant(threshold))


def equal_number(value: exp.Expr, constant: Value) -> exp.Expr:
    """The condition that a value of a numeric column equals a number or date."""
    return exp.EQ(this=numeric(value, isinstance(constant, datetime)), expression=_constant(constant))


def numeric(value: exp.Expr, date: bool) -> exp.Expr:
    """The value of a numeric column as TIMESTAMP or DOUBLE, for comparisons."""
    return exp.cast(value, "TIMESTAMP" if date else "DOUBLE")


def _constant(value: Value) -> exp.Expr:
    if isinstance(value, datetime):
        return exp.cast(exp.Literal.string(value.isoformat(sep=" ")), "TIMESTAMP")
    return exp.cast(real(value), "DOUBLE")


def joined_text(texts: Iterable[exp.Expr]) -> exp.Expr:
    """Several texts as one, as ``columns.joined_column`` writes it; NULL if one of them is."""
    joined: exp.Expr | None = None
    for text in texts:
        part = _replaced(_replaced(text, "%", "%25"), "/", "%2F")
        joined = (
            part
            if joined is None
            else exp.DPipe(
                this=exp.DPipe(this=joined, expression=exp.Literal.string("/"), safe=False),
                expression=part,
                safe=False,
            )
        )
    assert joined is not None
    return joined


def moment_text(moment: exp.Expr) -> exp.Expr:
    """The text of a TIMESTAMP: its day, its time unless that is midnight, its microseconds if it has some."""
    text = exp.TimeToStr(this=moment, format=exp.Literal.string("%Y-%m-%d %H:%M:%S.%f"))
    return _replaced(_replaced(text, ".000000", ""), " 00:00:00", "")


def _replaced(text: exp.Expr, old: str, new: str) -> exp.Expr:
    words = [exp.Literal.string(old), exp.Literal.string(new)]
    return exp.Anonymous(this="REPLACE", expressions=[text, *words])


EVERYTHING = {NUMBER: "inf", DATE: "9999-12-31 23:59:59"}
"""The cut-off, as text, of an example that sees every fact, for each kind of times."""
NOTHING = {NUMBER: "-inf", DATE: "0001-01-01 00:00:00"}
"""The cut-off, as text, of an example that sees no fact with a time, for each kind of times."""


def cutoff_value(cutoff: str | exp.Expr, kind: str) -> exp.Expr:
    """A cut-off, from text or an expression, as a value that compares with times of this kind."""
    return numeric(exp.Literal.string(cutoff) if isinstance(cutoff, str) else cutoff, kind == DATE)


def latest(times: Sequence[exp.Expr]) -> exp.Expr:
    """The latest of some times; NULL if one of them is."""
    result, *others = times
    for other in others:
        later = exp.GTE(this=result, expression=other)
        earlier = exp.LT(this=result.copy(), expression=other.copy())
        result = exp.Case(
            ifs=[exp.If(this=later, true=result.copy()), exp.If(this=earlier, true=other.copy())]
        )
    return result


def exists_at(since: exp.Expr, cutoff: exp.Expr, kind: str) -> exp.Expr:
    """The condition that a fact exists at a cut-off; the cut-off ``EVERYTHING`` also admits NULL times."""
    known = exp.LTE(this=numeric(since, kind == DATE), expression=cutoff)
    everything = exp.EQ(this=cutoff.copy(), expression=cutoff_value(EVERYTHING[kind], kind))
    return exp.Paren(this=exp.Or(this=known, expression=everything))


def real(value: float) -> exp.Expr:
    """A float as the shortest literal that has its value."""
    return exp.Neg(this=real(-value)) if value < 0 else exp.Literal.number(repr(value))


def column(name: str, table: str) -> exp.Column:
    """A column by its quoted name."""
    return exp.column(exp.to_identifier(name, quoted=True), table=table)


def own_column(name: str, table: str | None = None) -> exp.Column:
    """A column that Hornbeam named: a plain word that needs no quotes."""
    return exp.column(name, table=table)


def own_item(name: str) -> exp.Table:
    """A table that Hornbeam named; built directly, because ``exp.to_table`` would run a parser."""
    return exp.Table(this=exp.to_identifier(name))


def own_table(name: str, alias: str) -> exp.Expr:
    """A table that Hornbeam named, under an alias."""
    return _set_alias(own_item(name), alias)


def _set_alias(item: exp.Expr, alias: str) -> exp.Expr:
    item.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    return item


def own_alias(value: exp.Expr, name: str) -> exp.Alias:
    """A value under a name that Hornbeam chose; ``exp.alias_`` would copy the value."""
    return exp.Alias(this=value, alias=exp.to_identifier(name))


def join_to(select: exp.Select, item: exp.Expr, kind: str, on: Sequence[exp.Expr]) -> None:
    """Add a join on all conditions to a select; without conditions it is a cross join."""
    if not on:
        select.append("joins", exp.Join(this=item, kind="CROSS"))
    elif kind == "LEFT":
        select.append("joins", exp.Join(this=item, side=kind, on=conjunction(on)))
    else:
        select.append("joins", exp.Join(this=item, kind=kind, on=conjunction(on)))


def create_table(name: str, query: exp.Select, temporary: bool = True) -> exp.Create:
    """A statement that creates a table with the rows of a query."""
    properties = _table_properties(temporary)
    return exp.Create(this=own_item(name), kind="TABLE", properties=properties, expression=query)


def create_empty(name: str, types: Mapping[str, str], temporary: bool = True) -> exp.Create:
    """A statement that creates an empty table with columns of these names and types."""
    columns = [
        exp.ColumnDef(this=exp.to_identifier(key), kind=exp.DataType.build(type_name))
        for key, type_name in types.items()
    ]
    schema = exp.Schema(this=own_item(name), expressions=columns)
    return exp.Create(this=schema, kind="TABLE", properties=_table_properties(temporary))


def _table_properties(temporary: bool) -> exp.Properties | None:
    return exp.Properties(expressions=[exp.TemporaryProperty()]) if temporary else None


def drop_table(name: str) -> exp.Drop:
    """A statement that drops a table if it exists."""
    table = own_item(name)
    # Up to sqlglot 29 a Drop has one table in ``this``, since then a list in ``tables``.
    return exp.Drop(this=table, tables=[table.copy()], kind="TABLE", exists=True)


def integer(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def product(factors: Sequence[exp.Expr]) -> exp.Expr:
    """The product of expressions; 1 if there are none."""
    if not factors:
        return integer(1)
    result = factors[0]
    for factor in factors[1:]:
        result = exp.Mul(this=result, expression=factor)
    return result


def conjunction(conditions: Sequence[exp.Expr]) -> exp.Expr:
    return exp.and_(*conditions, copy=False) if conditions else exp.true()


def aliased(item: exp.Expr, alias: str) -> exp.Expr:
    """A table or query under an alias."""
    if isinstance(item, exp.Table):
        return _set_alias(item.copy(), alias)
    return exp.alias_(item.copy(), alias, table=True)
