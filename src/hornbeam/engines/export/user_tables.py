"""The user's tables as the facts of an exported query, and the names of its common table expressions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlglot import exp

from hornbeam.data.numbers import INCLUDE, TimeColumn
from hornbeam.engines.export.user_values import UserValues
from hornbeam.engines.sql.expressions import (
    EVERYTHING,
    SqlTable,
    column,
    cutoff_value,
    joined_text,
)
from hornbeam.errors import SchemaError, plural
from hornbeam.logic.schema import DATE, Schema, read_value

Table = (
    tuple[str | Sequence[str], Sequence[str]]
    | tuple[str | Sequence[str], Sequence[str], str | None]
    | tuple[str | Sequence[str], Sequence[str], str | None, str | tuple[TimeColumn, ...] | None]
)
"""A table in a database: name (or the parts of a qualified name), columns, flag column, time column. There
may be several columns of times, of which the latest counts."""


class NamedQuery(NamedTuple):
    """A common table expression of the exported query."""

    name: str
    query: exp.Select
    comment: str = ""


class FreeNames:
    """Makes plain names for common table expressions that differ from the names of the user's tables."""

    def __init__(self, tables: Iterable[SqlTable]) -> None:
        self._taken = {name[-1].lower() for table in tables for name in table.names()}

    def take(self, word: str) -> str:
        name, number = word, 1
        while name in self._taken:
            number += 1
            name = f"{word}_{number}"
        self._taken.add(name)
        return name


def joined_tables(
    joined: Mapping[tuple[str, ...], Mapping[str, Sequence[str]]],
    used: Iterable[SqlTable],
    free_names: FreeNames,
    values: UserValues,
) -> tuple[list[NamedQuery], dict[tuple[str, ...], tuple[str, ...]]]:
    """The tables with columns that are made of several, as expressions; and new names for all tables in use.

    ``joined`` has, by table, for each such column the columns that it is made of.
    """
    names = {name: name for table in used for name in table.names()}
    queries = []
    for name in [name for name in names if name in joined]:
        query = exp.select(exp.Column(this=exp.Star(), table=exp.to_identifier("t")))
        for made, parts in joined[name].items():
            written = joined_text(values.to_join(column(part, "t")) for part in parts)
            query = query.select(exp.alias_(written, made, quoted=True))
        word = free_names.take("with_keys")
        queries.append(NamedQuery(word, query.from_(SqlTable(name, ()).expression("t"))))
        names[name] = (word,)
    return queries, names


class Times(NamedTuple):
    """How the times of facts and the cut-offs of examples are compared."""

    kind: str | None
    """the kind of times, numbers or dates; None if the model knows none"""
    cutoffs: bool
    """whether examples have cut-offs"""
    at_cutoff: str
    """whether facts at the very time of a cut-off exist"""


class UserFacts:
    """The user's tables, the values in them, and when facts exist."""

    def __init__(
        self,
        schema: Schema,
        tables: Mapping[str, SqlTable],
        times: Times,
        values: UserValues,
    ) -> None:
        self._seen = exp.LTE if times.at_cutoff == INCLUDE else exp.LT
        self.schema = schema
        self.values = values
        self.times = times
        self._tables = tables
        for predicate, table in tables.items():
            if len(table.columns) != schema.arity(predicate):
                columns = plural(len(table.columns), "column")
                raise SchemaError(
                    f'table {".".join(table.name)} has {columns} for "{predicate}", '
                    f"which takes {plural(schema.arity(predicate), 'argument')}; name one column for each."
                )

    def table(self, predicate: str) -> SqlTable:
        """The table of a predicate."""
        return self._tables[predicate]

    def as_number(self, moment: exp.Expr) -> exp.Expr:
        """A time as a number: microseconds if times are dates."""
        return self.values.microseconds(moment) if self.times.kind == DATE else moment

    def timed(self) -> frozenset[str]:
        """The predicates whose facts some examples do not see: none if examples have no cut-offs."""
        return frozenset(filter(self.has_time, self._tables)) if self.times.cutoffs else frozenset()

    def has_time(self, predicate: str) -> bool:
        """Whether the facts of a predicate have times."""
        return self.times.kind is not None and bool(self._tables[predicate].times)

    def exists(self, since: exp.Expr, cutoff: exp.Expr) -> exp.Expr:
        # The query of the facts has made the time a value that compares with cut-offs.
        everything = exp.EQ(this=cutoff.copy(), expression=self.everything())
        return exp.Paren(this=exp.Or(this=self._seen(this=since, expression=cutoff), expression=everything))

    def everything(self) -> exp.Expr:
        """The cut-off of an example that sees every fact."""
        kind = self.times.kind
        assert kind is not None
        if kind == DATE:
            return self.values.moment_of(EVERYTHING[DATE])
        return cutoff_value(EVERYTHING[kind], kind)

    def cutoff(self, value: exp.Expr) -> exp.Expr:
        """The cut-off of an example, from the column that has it; an example without one sees every fact."""
        assert self.times.kind is not None
        given = self.values.of_kind(value, self.times.kind)
        return exp.Coalesce(this=given, expressions=[self.everything()])

    def equals(self, value: exp.Expr, type_name: str, name: str) -> exp.Expr:
        if type_name in self.schema.numeric:
            constant = read_value(name)
            return exp.false() if constant is None else self.values.equal_number(value, constant)
        return self.values.equals(value, name)


def comment_of(text: str) -> str:
    """Text that can neither end its comment nor begin another one."""
    return " " + text.replace("*/", "* /").replace("/*", "/ *").replace("\n", " ").strip() + " "
