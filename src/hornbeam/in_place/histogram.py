"""Quantiles of a column with many distinct values, found by queries."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.expressions import own_column
from hornbeam.logic.clauses import Value


class Histogram:
    """A table of the distinct values of a column, sorted, each with the number of rows up to it."""

    def __init__(self, connection: Connection, counts: exp.Select) -> None:
        """``counts`` is a query of the distinct values ``v`` and their numbers of rows ``n``."""
        by_value = exp.Order(expressions=[exp.Ordered(this=own_column("v"))])
        upto = exp.Window(this=exp.Sum(this=own_column("n")), order=by_value)
        place = exp.Window(this=exp.RowNumber(), order=by_value.copy())
        query = exp.select("v", exp.alias_(exp.cast(upto, "BIGINT"), "upto"), exp.alias_(place, "place"))
        self._connection = connection
        self._table = connection.new_name()
        connection.create(self._table, query.from_(counts.subquery("h")))

    def thresholds(self, number: int) -> tuple[Value, ...]:
        """The same thresholds as ``data.numbers.quantiles`` of these values."""
        largest = exp.select(exp.Count(this=exp.Star()), exp.Max(this=own_column("upto")))
        ((distinct, total),) = self._run(largest)
        if not distinct:
            return ()
        if distinct <= number + 1:
            rows = self._run(exp.select("v").where(own_column("place") > 1).order_by("place"))
            return tuple(plain_value(value) for (value,) in rows)
        done = 0
        thresholds: list[Value] = []
        for parts in range(number + 1, 1, -1):
            wanted = done - (done - int(total)) // parts
            enough = exp.GTE(this=own_column("upto"), expression=exp.Literal.number(wanted))
            ((first,),) = self._run(exp.select(exp.Min(this=own_column("place"))).where(enough))
            place = min(int(first), distinct - 1)
            here_and_next = exp.In(
                this=own_column("place"), expressions=[exp.convert(place), exp.convert(place + 1)]
            )
            (_, upto), (value, _) = self._run(exp.select("v", "upto").where(here_and_next).order_by("place"))
            if int(upto) <= done:
                break
            done = int(upto)
            thresholds.append(plain_value(value))
        return tuple(thresholds)

    def close(self) -> None:
        """Remove the table."""
        self._connection.drop(self._table)

    def _run(self, query: exp.Select) -> list[tuple[Any, ...]]:
        return self._connection.rows(self._connection.dialect.text(query.from_(self._table)))


def plain_value(value: Any) -> Value:
    """A value of a numeric column in the form that clauses use: a float, or a date without a time zone."""
    return float(value) + 0.0 if isinstance(value, int | float) else value
