"""The facts of a loaded ``Database``, copied to a SQL system relation by relation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlglot import exp

from hornbeam.data.database import UNKNOWN, Codes, Database
from hornbeam.data.numbers import Floats
from hornbeam.engines.sql.connection import Connection, Values
from hornbeam.engines.sql.expressions import SqlRelation, integer
from hornbeam.logic.clauses import AT_LEAST, Value
from hornbeam.logic.schema import Schema, number_of


class LoadedSource:
    """The facts of a ``Database``; a relation is copied to the SQL system when it is first used.

    Constants are the database's codes, so no name becomes SQL. A constant of a numeric type is its
    rank in the order of values, so that values are compared as integers.
    """

    coded = True

    def __init__(self, database: Database, connection: Connection) -> None:
        self._database = database
        self._connection = connection
        self._relations: dict[str, SqlRelation] = {}
        self._ranks: dict[str, Codes] = {}

    @property
    def schema(self) -> Schema:
        return self._database.schema

    def relation(self, predicate: str) -> SqlRelation:
        known = self._relations.get(predicate)
        if known is None:
            types = self.schema.types_of(predicate)
            relation = self._database.relation(predicate)
            columns = [self._ranked(t, codes) for t, codes in zip(types, relation.columns, strict=True)]
            names = tuple(f"c{position}" for position in range(len(columns)))
            loaded = dict(zip(names, columns, strict=True))
            times = self._database.times.get(predicate)
            if times is not None:
                # A cut-off in the keys is the number of distinct times up to it; times are ranked likewise.
                moments = self._database.moments
                loaded["since"] = np.searchsorted(moments, times, "left").astype(np.int32)
            table = self._connection.new_name()
            self._connection.load(table, loaded)
            known = SqlRelation(exp.to_table(table), names, True, None if times is None else "since")
            self._relations[predicate] = known
        return known

    def exists(self, since: exp.Expr, cutoff: exp.Expr) -> exp.Expr:
        return exp.LT(this=since, expression=cutoff)

    def moments(self, times: Floats) -> Values:
        """The number of distinct times of facts before each of these times."""
        moments = self._database.moments
        before = np.searchsorted(moments, times, "left")
        return np.where(times == np.inf, len(moments), before).astype(np.int32)

    def is_before(self, since: exp.Expr, moment: exp.Expr) -> exp.Expr:
        return exp.LT(this=since, expression=moment)

    def is_from(self, since: exp.Expr, moment: exp.Expr) -> exp.Expr:
        return exp.GTE(this=since, expression=moment)

    def tallied(self, value: exp.Expr, type_name: str) -> exp.Expr:
        return self._connection.dialect.cast(value)

    def tallied_time(self, since: exp.Expr) -> exp.Expr:
        return self._connection.dialect.cast(since)

    def decoded(self, type_name: str, values: Values) -> Values:
        if type_name not in self.schema.numeric:
            return values.astype(np.int32)
        return np.sort(self._database.numbers[type_name])[values]

    def decoded_times(self, values: Values) -> Floats:
        return self._database.moments[values]

    def constants(self, type_name: str) -> str:
        raise AssertionError("values are coded, so no table of their names is asked for")

    def equals(self, value: exp.Expr, type_name: str, name: str) -> exp.Expr:
        code = self._database.population(type_name).code(name)
        if code == UNKNOWN:
            return exp.false()
        (rank,) = self._ranked(type_name, np.array([code], dtype=np.int32)).tolist()
        return exp.EQ(this=value, expression=integer(rank))

    def compares(self, value: exp.Expr, type_name: str, operator: str, threshold: Value) -> exp.Expr:
        below = int(np.count_nonzero(self._database.numbers[type_name] < number_of(threshold)))
        if operator == AT_LEAST:
            return exp.GTE(this=value, expression=integer(below))
        # An unknown key is -1: it has no value and is on neither side of the threshold.
        return exp.Between(this=value, low=integer(0), high=integer(below - 1)) if below else exp.false()

    def key_values(self, type_name: str, codes: Codes) -> Values:
        # Unknown keys stay -1: no fact has that code.
        return self._ranked(type_name, codes)

    def bound(self, keys: str, types: Sequence[str]) -> exp.Select | None:
        return None

    def _ranked(self, type_name: str, codes: Codes) -> Codes:
        """The ranks by value for codes of a numeric type; codes of other types, and -1, stay as they are."""
        if type_name not in self.schema.numeric:
            return codes
        if type_name not in self._ranks:
            numbers = self._database.numbers[type_name]
            # One more element at the end, so that the code -1 selects it.
            ranks = np.full(len(numbers) + 1, UNKNOWN, dtype=np.int32)
            ranks[np.argsort(numbers, kind="stable")] = np.arange(len(numbers), dtype=np.int32)
            self._ranks[type_name] = ranks
        return self._ranks[type_name][codes]
