"""Tables whose columns stay in a database, for the code that finds keys, links and roles in tables.

That code is the same as for tables that are loaded. It asks how many values a column has and which of
them are keys of other tables, and a query answers. Values are fetched only for the examples.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, TypeGuard

import numpy as np

from hornbeam.data.keys import key_text
from hornbeam.errors import DataError
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
from hornbeam.loading.tables.columns.column import (
    LARGEST_WHOLE,
    MISSING,
    Column,
    Domain,
    ForeignKey,
    Table,
    decimal_part,
    unread_column,
)
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
        return self.queries.n_values(self.name)

    @property
    def is_unique(self) -> bool:
        return self.n_values == self.size - self.n_missing

    @property
    def _is_empty(self) -> bool:
        return self.n_missing == self.size

    @property
    def is_whole(self) -> bool:
        if self.kind == REAL and not self._is_empty and not self.counts.fractions:
            return not self.is_rounded
        return self.kind == WHOLE

    @property
    def is_rounded(self) -> bool:
        if self.kind != REAL or self._is_empty:
            return False
        return max(-float(self.counts.least), float(self.counts.greatest)) >= LARGEST_WHOLE

    @property
    def is_zero_one(self) -> bool:
        return self.is_whole and not self._is_empty and {self.counts.least, self.counts.greatest} <= {0, 1}

    @property
    def stays(self) -> bool:
        return True

    @property
    def extent(self) -> tuple[int, int]:
        return int(self.counts.least), int(self.counts.greatest)

    def first(self) -> list[str]:
        return list(map(key_text, self.queries.first(self.name)))

    def n_from(self, time: float) -> int:
        return self.queries.n_from(self.name, time)

    def repeated(self) -> tuple[int, list[str]]:
        number, first = self.queries.repeated(self.name)
        return number, list(map(key_text, first))

    def lost(self, key: Column) -> tuple[int, int, list[str]]:
        if self.compares_with(key):
            number, rows, first = self.queries.lost(self.name, key.queries, key.name)
        else:
            number, rows, first = self.n_values, self.size - self.n_missing, self.queries.first(self.name)
        return number, rows, list(map(key_text, first))

    def compares_with(self, key: Column) -> TypeGuard[ColumnInPlace]:
        """Whether the other column is in a database too; a column that only the model has is not."""
        return isinstance(key, ColumnInPlace) and self.domain is key.domain

    def rows_differ(self, others: Sequence[Column]) -> bool:
        return self.queries.rows_differ([self.name, *(other.name for other in others)])


@dataclass(frozen=True, eq=False)
class TableInPlace(Table):
    """A table that stays in its database."""

    def with_joined(self, joined: Mapping[str, tuple[str, ...]]) -> Self:
        in_place = {name: each for name, each in self.columns.items() if isinstance(each, ColumnInPlace)}
        there = {name: parts for name, parts in joined.items() if all(part in in_place for part in parts)}
        # Of columns that only the model has, the joined one has no values either.
        codes = np.full(self.size, MISSING, dtype=np.int32)
        empty = Column("", Domain.TEXT, np.empty(0, dtype=object), codes)
        made: dict[str, Column] = {name: replace(empty, name=name) for name in joined if name not in there}
        for parts in there.values():
            for part in parts:
                if in_place[part].domain is Domain.NUMBER and not in_place[part].is_whole:
                    raise DataError(decimal_part(part))
        if there:
            queries = next(iter(in_place.values())).queries
            view = queries.with_joined(there)
            size, counted = view.counts([*in_place, *there])
            made |= {name: replace(in_place[name], queries=view) for name in in_place}
            nothing = np.empty(0, dtype=np.int32)
            made |= {
                name: ColumnInPlace(
                    *(name, Domain.TEXT, nothing, nothing, view, counted[name], view.kinds[name], size)
                )
                for name in there
            }
        return replace(self, columns={**self.columns, **made}, joined={**self.joined, **joined})

    def with_links_only_to(self, keys: Mapping[str, Column]) -> Self:
        in_place = {name: each for name, each in self.columns.items() if isinstance(each, ColumnInPlace)}
        queries = next(iter(in_place.values())).queries
        view = queries.with_links_only_to(
            {
                name: (key.queries, key.name) if in_place[name].compares_with(key) else None
                for name, key in keys.items()
            }
        )
        _, counted = view.counts(list(in_place))
        columns = {name: replace(each, queries=view, counts=counted[name]) for name, each in in_place.items()}
        return replace(self, columns={**self.columns, **columns})


def table_in_place(
    name: str,
    queries: TableQueries,
    unused: Collection[str],
    key: tuple[str, ...] = (),
    foreign_keys: tuple[ForeignKey, ...] = (),
    words: Mapping[str, int] | None = None,
) -> Table:
    """A table that stays in its database; there are no queries about unused columns."""
    columns: dict[str, Column] = {}
    used = [column for column in queries.kinds if column not in unused]
    size, counted = queries.counts([column for column in used if queries.kinds[column] in _DOMAINS])
    unread = []
    for column in used:
        kind = queries.kinds[column]
        if kind not in _DOMAINS:
            unread.append(unread_column(column, kind[1:-1]))
            continue
        counts = counted[column]
        is_empty = counts.n_missing == size
        if kind == REAL and not is_empty and np.isinf([float(counts.least), float(counts.greatest)]).any():
            raise DataError(
                f'table "{name}": column "{column}" holds infinity, which is not allowed; replace it or '
                "leave it empty."
            )
        values = np.empty(0, dtype=np.int64)
        if kind == WHOLE and not is_empty and {counts.least, counts.greatest} <= {0, 1}:
            values = np.unique([int(counts.least), int(counts.greatest)])
        codes = np.empty(0, dtype=np.int32)
        columns[column] = ColumnInPlace(
            *(column, _DOMAINS[kind], values, codes, queries, counts, kind, size),
            n_words=(words or {}).get(column, 0),
        )
    return TableInPlace(name, columns, size, key, foreign_keys, unread=tuple(unread))


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
