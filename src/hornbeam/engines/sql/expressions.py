"""The pieces of SQL: dialects, sources of facts, and the few expressions that all queries are made of.

Names and values from outside become SQL only as quoted identifiers and literals of an expression
tree; no text is ever put together by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy.typing as npt
from sqlglot import exp

from hornbeam.data.database import Codes
from hornbeam.errors import OptionError
from hornbeam.logic.clauses import AT_LEAST, Value
from hornbeam.logic.schema import DATE, NUMBER, Schema


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between systems beyond spelling."""

    name: str
    """sqlglot's name of the dialect"""
    wide: str
    """an integer type past int64"""
    sum_widens: bool = True
    """whether the sum of BIGINT is exact past int64"""
    one_query: bool = False
    """whether counts asked for once are best made by one query, without tables on the way"""

    def cast(self, value: exp.Expr, wide: bool = False) -> exp.Cast:
        """A value as BIGINT, or as the integer type past it."""
        return exp.Cast(this=value, to=_type(self.wide if wide else "BIGINT", self.name).copy())

    def text(self, tree: exp.Expr, pretty: bool = False) -> str:
        """The tree as text of this dialect; a tree that is not for readers is not copied first."""
        return tree.sql(dialect=self.name, pretty=pretty, comments=pretty, copy=pretty)


@cache
def _type(name: str, dialect: str) -> exp.DataType:
    return exp.DataType.build(name, dialect=dialect)


CUTOFF = "\0cut-off"
"""In place of a type: that of cut-offs, which no other type is named."""

DUCKDB = Dialect("duckdb", "INT128", one_query=True)
POSTGRES = Dialect("postgres", "DECIMAL")
SPARK = Dialect("spark", "DECIMAL(38, 0)", sum_widens=False)


class SqlRelation(NamedTuple):
    """Where the facts of a predicate are: something to select from, and its column per argument.

    The rows are distinct and have no NULL.
    """

    item: exp.Expr
    columns: tuple[str, ...]
    own: bool = False
    """whether the columns' names are ours, plain words"""
    time: str | None = None
    """the column that says since when a fact has been"""

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
    """A table of the user's database: the parts of its name, its column for each argument, and its facts.

    A row without a value at an argument is no fact.
    """

    name: tuple[str, ...]
    columns: tuple[str, ...]
    true: str | None = None
    """a column that must be true, or not 0, for a row to be a fact"""
    time: str | None = None
    """the column that says since when a fact has been"""
    texts: tuple[str, ...] = ()
    """columns whose empty text is no value"""
    distinct: bool = False
    """whether no two rows are known to be the same fact"""

    @classmethod
    def of(
        cls,
        name: str | Sequence[str],
        columns: Sequence[str],
        true: str | None = None,
        time: str | None = None,
    ) -> SqlTable:
        """A table from its name, whose parts are separated by dots or given one by one.

        >>> SqlTable.of("social.friends", ["who", "whom"]).name
        ('social', 'friends')
        """
        parts = tuple(name.split(".") if isinstance(name, str) else name)
        if not parts or not all(parts) or len(parts) > 3:
            raise OptionError(f"{name!r} is no name of a table: give table, schema.table or its parts.")
        return cls(parts, tuple(columns), true, time)

    def item(self) -> exp.Table:
        """The table as it stands in a query, without a name of ours."""
        *qualifiers, name = (exp.to_identifier(part, quoted=True) for part in self.name)
        parts = dict(zip(("db", "catalog"), reversed(qualifiers), strict=False))
        return exp.Table(this=name, **parts)

    def expression(self, alias: str) -> exp.Expr:
        """The table under a name of ours."""
        return aliased(self.item(), alias)

    def expressions(self, alias: str) -> list[exp.Column]:
        """Its columns, where the table is under that name."""
        return [column(name, alias) for name in self.columns]

    def conditions(self, alias: str) -> list[exp.Expr]:
        """What makes a row a fact."""
        found: list[exp.Expr] = [
            exp.Not(this=exp.Is(this=value, expression=exp.null())) for value in self.expressions(alias)
        ]
        found += [
            exp.NEQ(this=column(name, alias), expression=exp.Literal.string(""))
            for name in self.columns
            if name in self.texts
        ]
        if self.true is not None:
            found.append(exp.NEQ(this=exp.cast(column(self.true, alias), "INT"), expression=integer(0)))
        return found


class SqlFacts(Protocol):
    """Facts that a query can read."""

    @property
    def schema(self) -> Schema: ...

    def relation(self, predicate: str) -> SqlRelation: ...

    def equals(self, value: exp.Expr, type_name: str, name: str) -> exp.Expr:
        """The condition that a value of a column of some type is the constant of that name."""

    def compares(self, value: exp.Expr, type_name: str, operator: str, threshold: Value) -> exp.Expr:
        """The condition that a value of a column of a numeric type is on one side of a threshold."""

    def exists(self, since: exp.Expr, cutoff: exp.Expr) -> exp.Expr:
        """The condition that a fact with a time exists for an example with a cut-off."""


class SqlSource(SqlFacts, Protocol):
    """Facts that an engine can reach, and how keys of examples become values that facts have.

    The type of a cut-off is ``CUTOFF``.
    """

    coded: bool
    """whether values are codes: integers from 0 on, and -1 for what is unknown"""

    def timed(self) -> frozenset[str]:
        """The predicates whose facts have times."""

    def bound(self, keys: str, types: Sequence[str]) -> exp.Select | None:
        """The query that turns a table of ``key_values`` into bindings; None where they are such already."""

    def key_values(self, type_name: str, codes: Codes) -> npt.NDArray[Any]:
        """Values, comparable with columns of the type, for codes of keys; what is unknown matches no row."""


def compared(value: exp.Expr, operator: str, threshold: Value) -> exp.Expr:
    """The condition that a value is on one side of a threshold: numbers as DOUBLE, dates as TIMESTAMP."""
    side = exp.GTE if operator == AT_LEAST else exp.LT
    return side(this=numeric(value, isinstance(threshold, datetime)), expression=_constant(threshold))


def equal_number(value: exp.Expr, constant: Value) -> exp.Expr:
    """The condition that a value of a numeric column is some number or date."""
    return exp.EQ(this=numeric(value, isinstance(constant, datetime)), expression=_constant(constant))


def numeric(value: exp.Expr, date: bool) -> exp.Expr:
    """The value of a numeric column, to be compared with others."""
    return exp.cast(value, "TIMESTAMP" if date else "DOUBLE")


def _constant(value: Value) -> exp.Expr:
    if isinstance(value, datetime):
        return exp.cast(exp.Literal.string(value.isoformat(sep=" ")), "TIMESTAMP")
    return exp.cast(real(value), "DOUBLE")


EVERYTHING = {NUMBER: "inf", DATE: "9999-12-31 23:59:59"}
"""The cut-off, as text, of an example that sees every fact: by the kind of times."""
NOTHING = {NUMBER: "-inf", DATE: "0001-01-01 00:00:00"}
"""The cut-off of one that sees no fact with a time."""


def cutoff_value(cutoff: str | exp.Expr, kind: str) -> exp.Expr:
    """A cut-off, from text or an expression, as times of some kind are compared."""
    return numeric(exp.Literal.string(cutoff) if isinstance(cutoff, str) else cutoff, kind == DATE)


def exists_at(since: exp.Expr, cutoff: exp.Expr, kind: str) -> exp.Expr:
    """The condition that a fact exists at a cut-off; without a time it exists for whoever sees everything."""
    known = exp.LTE(this=numeric(since, kind == DATE), expression=cutoff)
    everything = exp.EQ(this=cutoff.copy(), expression=cutoff_value(EVERYTHING[kind], kind))
    return exp.Paren(this=exp.Or(this=known, expression=everything))


def real(value: float) -> exp.Expr:
    """A float as it prints."""
    return exp.Neg(this=real(-value)) if value < 0 else exp.Literal.number(repr(value))


def column(name: str, table: str) -> exp.Column:
    """A column by its quoted name."""
    return exp.column(exp.to_identifier(name, quoted=True), table=table)


def own_column(name: str, table: str | None = None) -> exp.Column:
    """A column that we named ourselves: a plain word, so it needs no quotes."""
    return exp.column(name, table=table)


def own_item(name: str) -> exp.Table:
    """A table that we named ourselves; made by hand, as ``exp.to_table`` would start a parser for it."""
    return exp.Table(this=exp.to_identifier(name))


def own_table(name: str, alias: str) -> exp.Expr:
    """A table that we named ourselves, under an alias."""
    return _under(own_item(name), alias)


def _under(item: exp.Expr, alias: str) -> exp.Expr:
    item.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    return item


def own_alias(value: exp.Expr, name: str) -> exp.Alias:
    """A value under a name of ours; ``exp.alias_`` would copy it."""
    return exp.Alias(this=value, alias=exp.to_identifier(name))


def join_to(select: exp.Select, item: exp.Expr, kind: str, on: Sequence[exp.Expr]) -> None:
    """Join one table more, on all of some conditions; without any, each row with each."""
    if not on:
        select.append("joins", exp.Join(this=item, kind="CROSS"))
    elif kind == "LEFT":
        select.append("joins", exp.Join(this=item, side=kind, on=conjunction(on)))
    else:
        select.append("joins", exp.Join(this=item, kind=kind, on=conjunction(on)))


def create_table(name: str, query: exp.Select, temporary: bool = True) -> exp.Create:
    """A table of ours with the rows of a query."""
    return exp.Create(this=own_item(name), kind="TABLE", properties=_kept_how(temporary), expression=query)


def create_empty(name: str, types: Mapping[str, str], temporary: bool = True) -> exp.Create:
    """A table of ours with columns of these names and types, without rows."""
    columns = [
        exp.ColumnDef(this=exp.to_identifier(key), kind=exp.DataType.build(type_name))
        for key, type_name in types.items()
    ]
    schema = exp.Schema(this=own_item(name), expressions=columns)
    return exp.Create(this=schema, kind="TABLE", properties=_kept_how(temporary))


def _kept_how(temporary: bool) -> exp.Properties | None:
    return exp.Properties(expressions=[exp.TemporaryProperty()]) if temporary else None


def drop_table(name: str) -> exp.Drop:
    """Away with a table of ours, if it is there."""
    table = own_item(name)
    # Up to sqlglot 29 what is dropped is one table, since then a list of them.
    return exp.Drop(this=table, tables=[table.copy()], kind="TABLE", exists=True)


def integer(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def product(factors: Sequence[exp.Expr]) -> exp.Expr:
    """The product of expressions, 1 for none."""
    if not factors:
        return integer(1)
    result = factors[0]
    for factor in factors[1:]:
        result = exp.Mul(this=result, expression=factor)
    return result


def conjunction(conditions: Sequence[exp.Expr]) -> exp.Expr:
    return exp.and_(*conditions, copy=False) if conditions else exp.true()


def aliased(item: exp.Expr, alias: str) -> exp.Expr:
    """A table or query under a name of ours."""
    if isinstance(item, exp.Table):
        return _under(item.copy(), alias)
    return exp.alias_(item.copy(), alias, table=True)
