"""Families whose counts are packed: several counts in the bits of one integer, which one sum adds.

If a thing has many of a family's constants, a row for each thing and constant makes the join of the next
literal many times longer. Here each thing has one row, with some bits (a *lane*) for each constant. A sum of
such rows adds all lanes at once. No lane overflows: it has the bits that an upper bound of the counts needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sqlglot import exp

from hornbeam.engines.sql.connection import Values
from hornbeam.engines.sql.counts.families import ClauseFamily, FamilyQuery
from hornbeam.engines.sql.expressions import integer, or_zero, own_alias, own_column, product
from hornbeam.engines.sql.plan import SqlMessage
from hornbeam.engines.sql.queries import HeadBindingTable
from hornbeam.engines.sql.sizes import Sizes

BITS = 62
"""Bits of an integer that lanes use; the sign is not one of them."""
COLUMNS_PER_ROW = 4
"""Summing this many packed columns costs no more than one more row in a join and a group."""


class Lanes(NamedTuple):
    """How counts are packed: the bits of one count, and the number of counts in one integer."""

    bits: int
    per_column: int

    def columns(self, members: int) -> int:
        """The number of integers that hold the counts of this many members."""
        return -(-members // self.per_column)

    def units(self, members: int) -> dict[str, Values]:
        """The columns ``p0 p1 ...`` of the table of constants: 1 in the lane of each constant, else 0."""
        units = {}
        for column in range(self.columns(members)):
            units[f"p{column}"] = values = np.zeros(members, dtype=np.int64)
            own = np.arange(column * self.per_column, min(members, (column + 1) * self.per_column))
            values[own] = np.left_shift(1, self.bits * (own % self.per_column))
        return units

    def count_of(self, member: int) -> exp.Expr:
        """The count of a member, from the packed columns under the alias ``v``."""
        column, lane = divmod(member, self.per_column)
        value: exp.Expr = own_column(f"p{column}", "v")
        if lane:
            value = exp.Paren(
                this=exp.BitwiseRightShift(this=value, expression=integer(self.bits * lane)),
            )
        return exp.Paren(this=exp.BitwiseAnd(this=value, expression=integer(2**self.bits - 1)))


def lanes_of(family: ClauseFamily, sizes: Sizes) -> Lanes | None:
    """How to pack the counts of a family; None if rows are cheaper, or counts too large.

    Rows are cheaper if things have few of the constants, and if no other literal is joined to them.
    """
    message, varied = family.plan.terms[0].factors[0].message, family.varied_message()
    if message == varied or varied.shape.anchors != 1:
        return None
    bits = sizes.largest(message).bit_length()
    lanes = Lanes(bits, BITS // bits)
    members = len(set(family.constants.values()))
    predicate, place = family.varied_argument()
    rows = sizes.rows_per_key(varied.shape) * min(1.0, members / max(1, sizes.distinct(predicate, place)))
    is_worth = lanes.per_column > 1 and lanes.columns(members) <= COLUMNS_PER_ROW * rows
    return lanes if is_worth else None


class PackedQuery(FamilyQuery):
    """Writes the query of packed counts; the table of constants has their ``value`` and ``Lanes.units``."""

    def write_columns(
        self, family: ClauseFamily, bindings: HeadBindingTable, lanes: Lanes, members: Sequence[int]
    ) -> exp.Select:
        """The counts ``t0 t1 ...`` of clauses whose constants have these numbers, by binding."""
        self._packed = [f"p{column}" for column in range(lanes.columns(max(members) + 1))]
        select, numbers = self._joined(family.plan, bindings)
        counts = [
            self._dialect.cast(
                or_zero(product([lanes.count_of(member), *(number.copy() for number in numbers)]))
            )
            for member in members
        ]
        named = [own_alias(count, f"t{column}") for column, count in enumerate(counts)]
        return select.select(*(own_column(name, "b") for name in bindings.others), *named, copy=False)

    def _summed(
        self, select: exp.Select, keys: list[exp.Expr], factors: list[exp.Expr], message: SqlMessage
    ) -> exp.Select:
        named = [own_alias(key, f"k{number}") for number, key in enumerate(keys)]
        for name in self._packed:
            packed = product([own_column(name, "v"), *(factor.copy() for factor in factors)])
            named.append(own_alias(self._dialect.cast(exp.Sum(this=packed)), name))
        return select.select(*named, copy=False).group_by(*(key.copy() for key in keys), copy=False)
