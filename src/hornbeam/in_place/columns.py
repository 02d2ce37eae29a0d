"""Tables whose columns stay in a database, for the code that finds keys, links and roles in tables.

That code is the same as for tables that are loaded. It asks how many values a column has and which of
them are keys of other tables, and a query answers. Values are fetched only for the examples.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeGuard

import numpy as np

from hornbeam.data.database import Notice
from hornbeam.data.keys import key_text
from hornbeam.errors import DataError, OptionError
from hornbeam.in_place.table_queries import (
    BOOLEAN,
    DAY,
    MOMENT,
    REAL,
    TEXT,
    WHOLE,
    WORD,
    ColumnCounts,
    TableQueries,
)
from hornbeam.loading.tables.columns.column import LARGEST_WHOLE, Column, Domain, ForeignKey, Table
from hornbeam.loading.tables.columns.new_columns import value_column

_DOMAINS = {
    WHOLE: Domain.NUMBER,
    REAL: Domain.NUMBER,
    TEXT: Domain.TEXT,
    WORD: Domain.TEXT,
    BOOLEAN: Domain.BOOLEAN,
    DAY: Domain.DATE,
    MOMENT: Domain.MOMENT,
}


@dataclass(frozen=True, eq=False)
class ColumnInPlace(Column):
    """A column that stays in a database. Its ``values`` are 0 and 1 if it has no others, or empty."""

    queries: TableQueries
    counts: ColumnCounts
    kind: str
    size: int

    def __len__(self) -> int:
        return self.size

    @cached_property
    def n_missing(self) -> int:
        return self.counts.n_missing

    @property
    def n_values(self) -> int:
        return self.counts.n_values

    @property
    def is_unique(self) -> bool:
        return self.counts.most_rows <= 1

    @property
    def is_whole(self) -> bool:
        if self.kind == REAL and self.n_values and not self.counts.fractions:
            return not self.is_rounded
        return self.kind == WHOLE

    @property
    def is_rounded(self) -> bool:
        if self.kind != REAL or not self.n_values:
            return False
        return max(-float(self.counts.least), float(self.counts.greatest)) >= LARGEST_WHOLE

    @property
    def is_zero_one(self) -> bool:
        return self.is_whole and self.n_values > 0 and {self.counts.least, self.counts.greatest} <= {0, 1}

    @property
    def stays(self) -> bool:
        return True

    @property
    def extent(self) -> tuple[int, int]:
        return int(self.counts.least), int(self.counts.greatest)

    def repeated(self) -> tuple[int, list[str]]:
        number, first = self.queries.repeated(self.name)
        return number, list(map(key_text, first))

    def lost(self, key: Column) -> tuple[int, int, list[str]]:
        if self._compares_with(key):
            number, rows, first = self.queries.lost(self.name, key.queries, key.name)
        else:
            number, rows, first = self.n_values, self.size - self.n_missing, self.queries.first(self.name)
        return number, rows, list(map(key_text, first))

    def n_shared(self, key: Column) -> int:
        return self.n_values - self.lost(key)[0] if self._compares_with(key) else 0

    def _compares_with(self, key: Column) -> TypeGuard[ColumnInPlace]:
        """Whether the other column is in a database too; a column that only the model has is not."""
        return isinstance(key, ColumnInPlace) and self.domain is key.domain

    def only(self, key: Column) -> Column:
        raise OptionError(
            f'links to missing keys in column "{self.name}" cannot be dropped while tables stay in place; '
            'correct the links, or pass dangling="keep" to add the missing keys.'
        )

    def rows_differ(self, others: Sequence[Column]) -> bool:
        return self.queries.rows_differ([self.name, *(other.name for other in others)])


def table_in_place(
    name: str,
    queries: TableQueries,
    unused: Collection[str],
    key: tuple[str, ...] = (),
    foreign_keys: tuple[ForeignKey, ...] = (),
) -> Table:
    """A table that stays in its database; there are no queries about unused columns."""
    columns: dict[str, Column] = {}
    notices = []
    size = queries.size()
    for column, kind in queries.kinds.items():
        if column in unused:
            continue
        if kind not in _DOMAINS:
            sentence = f'table "{name}": column "{column}" is not used: its values are of the type '
            notices.append(Notice(f"{sentence}{kind[1:-1]}."))
            continue
        counts = queries.counts(column)
        if kind == REAL and counts.n_values and np.isinf([float(counts.least), float(counts.greatest)]).any():
            raise DataError(
                f'table "{name}": column "{column}" holds infinity, which is not allowed; replace it or '
                "leave it empty."
            )
        values = np.empty(0, dtype=np.int64)
        if kind == WHOLE and counts.n_values in (1, 2) and {counts.least, counts.greatest} <= {0, 1}:
            values = np.unique([int(counts.least), int(counts.greatest)])
        codes = np.empty(0, dtype=np.int32)
        columns[column] = ColumnInPlace(column, _DOMAINS[kind], values, codes, queries, counts, kind, size)
    return Table(name, columns, size, key, foreign_keys, tuple(notices))


def with_values(table: Table, names: Collection[str]) -> Table:
    """The table with the values of some columns fetched, those that the database has."""
    in_place = {name: each for name, each in table.columns.items() if isinstance(each, ColumnInPlace)}
    fetched = [name for name in in_place if name in names]
    if not fetched:
        return table
    rows = in_place[fetched[0]].queries.fetch(fetched)
    columns = {
        name: value_column(name, [row[position] for row in rows])[0] for position, name in enumerate(fetched)
    }
    return replace(table, columns={**table.columns, **columns})
