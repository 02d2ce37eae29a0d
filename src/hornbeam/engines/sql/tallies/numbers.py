"""Numbers in place of constants and times: what is fetched for a path is whole numbers, on every system.

A source that is coded has numbers in its columns. For tables in place, a temporary table numbers the
constants of a type, and another one the times of a predicate; queries join them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from hornbeam.data.database import UNKNOWN, Database
from hornbeam.data.numbers import Floats
from hornbeam.data.rows import Integers
from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.expressions import (
    aliased,
    integer,
    join_to,
    own_alias,
    own_column,
    own_table,
)
from hornbeam.engines.sql.tallies.queries import TallySource

CONSTANT, TIME = "constant", "time"


class NumberedValues(NamedTuple):
    """What the numbers 0, 1, ... of a type stand for: values if the type is numeric, else codes."""

    values: npt.NDArray[Any]
    first: Integers | None
    """for each number the first one that stands for the same; None if all are different"""


class Numbers:
    """The numbers of the constants and times of one source."""

    def __init__(self, database: Database, connection: Connection, source: TallySource) -> None:
        self._database = database
        self._connection = connection
        self._source = source
        self._tables: dict[tuple[str, str], str] = {}
        self._values: dict[str, NumberedValues] = {}
        self._times: dict[str, Floats] = {}

    def size(self, type_name: str) -> int:
        """The numbers of a type are smaller than this."""
        return len(self._database.population(type_name))

    def of_constant(self, select: exp.Select, value: exp.Expr, type_name: str, alias: str) -> exp.Expr:
        """The number of a value in a query, to which a join is added under an alias; -1 if it has none."""
        if self._source.coded:
            return self._connection.dialect.cast(value)
        table = self._table(CONSTANT, type_name)
        return self._joined(select, value, own_table(table, alias), UNKNOWN)

    def of_time(self, select: exp.Select, since: exp.Expr, predicate: str, alias: str) -> exp.Expr:
        """The same for the time of a fact; a fact without a time has the number after all others."""
        time = self._source.tallied_time(since)
        if self._source.coded:
            return time
        table = self._table(TIME, predicate)
        return self._joined(select, time, own_table(table, alias), len(self.times(predicate)) - 1)

    def values(self, type_name: str) -> NumberedValues:
        """What the numbers of a type stand for."""
        if type_name not in self._values:
            values = self._decoded(type_name)
            _, first, which = np.unique(values, return_index=True, return_inverse=True)
            alike = first[which.ravel()] if len(first) < len(values) else None
            self._values[type_name] = NumberedValues(values, alike)
        return self._values[type_name]

    def times(self, predicate: str) -> Floats:
        """The times that numbers stand for, rising; the last one is that of facts without a time."""
        if self._source.coded:
            return self._database.moments
        if predicate not in self._times:
            number, times = self._fetch(self._table(TIME, predicate), own_column("value", "c"))
            result = np.full(len(number) + 1, np.inf)
            result[number.astype(np.int64)] = self._source.decoded_times(times)
            self._times[predicate] = result
        return self._times[predicate]

    def close(self) -> None:
        """Drop the tables."""
        self._connection.drop_all(self._tables.values())
        self._tables.clear()

    def _joined(self, select: exp.Select, value: exp.Expr, table: exp.Expr, missing: int) -> exp.Expr:
        alias = table.alias
        join_to(select, table, "LEFT", [exp.EQ(this=own_column("value", alias), expression=value)])
        number = exp.Coalesce(this=own_column("number", alias), expressions=[integer(missing)])
        return self._connection.dialect.cast(number)

    def _decoded(self, type_name: str) -> npt.NDArray[Any]:
        source, size = self._source, self.size(type_name)
        if source.coded:
            return source.decoded(type_name, np.arange(size, dtype=np.int64))
        value = source.tallied(own_column("value", "c"), type_name)
        number, raw = self._fetch(self._table(CONSTANT, type_name), value)
        found = source.decoded(type_name, raw)
        if type_name not in self._database.schema.numeric:
            found = self._database.population(type_name).encode_known(found.tolist())
        values = np.empty(len(found), dtype=found.dtype)
        values[number.astype(np.int64)] = found
        return values

    def _fetch(self, table: str, value: exp.Expr) -> list[npt.NDArray[Any]]:
        select = exp.Select().select(own_column("number", "c"), value, copy=False)
        query = select.from_(own_table(table, "c"), copy=False)
        return self._connection.arrays(self._connection.dialect.text(query), 2)

    def _table(self, kind: str, name: str) -> str:
        """The table ``value number`` of a type's constants, or of a predicate's times."""
        if (kind, name) not in self._tables:
            select = self._constants(name) if kind == CONSTANT else self._moments(name)
            # In a fixed order: a system that makes a lost part of the table again must number it alike.
            place = exp.Window(
                this=exp.RowNumber(),
                order=exp.Order(expressions=[exp.Ordered(this=own_column("label", "c"))]),
            )
            number = exp.Sub(this=place, expression=integer(1))
            query = exp.Select().select(own_column("value", "c"), own_alias(number, "number"), copy=False)
            table = self._connection.new_name()
            self._connection.create(table, query.from_(select.subquery("c"), copy=False))
            self._tables[kind, name] = table
        return self._tables[kind, name]

    def _constants(self, type_name: str) -> exp.Select:
        table = own_table(self._source.constants(type_name), "t")
        value, label = own_column("constant", "t"), own_column("name", "t")
        named = own_alias(value, "value"), own_alias(label, "label")
        return exp.Select().select(*named, copy=False).from_(table, copy=False)

    def _moments(self, predicate: str) -> exp.Select:
        relation = self._source.relation(predicate)
        time = self._source.tallied_time(relation.since("f"))
        named = own_alias(time, "value"), own_alias(time.copy(), "label")
        select = exp.Select().select(*named, copy=False).distinct(copy=False)
        known = exp.Not(this=exp.Is(this=time.copy(), expression=exp.null()))
        return select.from_(aliased(relation.item, "f"), copy=False).where(known, copy=False)
