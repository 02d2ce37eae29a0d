"""Tables that are not read: their columns stay in a database, which answers what is asked of them.

What a table is (keys, links, roles) is judged by the same code as for tables that were read; it asks
how many values a column has and which of them are keys elsewhere, and these questions go to the
database. Values come over only for the examples.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeGuard

import numpy as np

from hornbeam.data.keys import key_text
from hornbeam.errors import OptionError
from hornbeam.loading.tables.column import (
    Column,
    Domain,
    ForeignKey,
    Table,
    of_table,
    unreadable_type,
    value_column,
)

WHOLE = "whole"
_DOMAINS = {
    WHOLE: Domain.NUMBER,
    "real": Domain.NUMBER,
    "text": Domain.TEXT,
    "word": Domain.TEXT,
    "boolean": Domain.BOOLEAN,
    "day": Domain.DATE,
    "moment": Domain.MOMENT,
}


class Counted(Protocol):
    """A column in numbers."""

    @property
    def n_values(self) -> int: ...
    @property
    def n_missing(self) -> int: ...
    @property
    def most_rows(self) -> int: ...
    @property
    def least(self) -> Any: ...
    @property
    def most(self) -> Any: ...


class Asked(Protocol):
    """A table that stays where it is (``engines/sql_columns``)."""

    @property
    def kinds(self) -> Mapping[str, str]: ...
    def size(self) -> int: ...
    def counts(self, name: str, /) -> Counted: ...
    def repeated(self, name: str, /) -> tuple[int, list[object]]: ...
    def first(self, name: str, /) -> list[object]: ...
    def lost(self, name: str, other: Any, key: str, /) -> tuple[int, int, list[object]]: ...
    def rows_differ(self, names: Sequence[str], /) -> bool: ...
    def fetch(self, names: Sequence[str], /) -> list[tuple[Any, ...]]: ...


@dataclass(frozen=True, eq=False)
class DescribedColumn(Column):
    """A column in a database. Of its values only 0 and 1 are here, where it has no others."""

    asked: Any = None
    counted: Any = None
    kind: str = ""
    size: int = 0

    def __len__(self) -> int:
        return self.size

    @cached_property
    def n_missing(self) -> int:
        return int(self.counted.n_missing)

    @property
    def n_values(self) -> int:
        return int(self.counted.n_values)

    @property
    def is_unique(self) -> bool:
        return int(self.counted.most_rows) <= 1

    @property
    def is_whole(self) -> bool:
        return self.kind == WHOLE

    @property
    def stays(self) -> bool:
        return True

    @property
    def extent(self) -> tuple[int, int]:
        return int(self.counted.least), int(self.counted.most)

    def repeated(self) -> tuple[int, list[str]]:
        number, first = self.asked.repeated(self.name)
        return number, list(map(key_text, first))

    def lost(self, key: Column) -> tuple[int, int, list[str]]:
        if self._compares_with(key):
            number, rows, first = self.asked.lost(self.name, key.asked, key.name)
        else:
            number, rows, first = self.n_values, self.size - self.n_missing, self.asked.first(self.name)
        return number, rows, list(map(key_text, first))

    def n_shared(self, key: Column) -> int:
        return self.n_values - self.lost(key)[0] if self._compares_with(key) else 0

    def _compares_with(self, key: Column) -> TypeGuard[DescribedColumn]:
        """Whether the other column is in a database, too (a model may know of ones that are nowhere)."""
        return isinstance(key, DescribedColumn) and self.domain is key.domain

    def only(self, key: Column) -> Column:
        raise OptionError(
            f'links of column "{self.name}" cannot be left out where the tables stay in place; correct '
            'them, or pass dangling="keep" to add their keys.'
        )

    def rows_differ(self, others: Sequence[Column]) -> bool:
        return bool(self.asked.rows_differ([self.name, *(other.name for other in others)]))


def described_table(
    name: str,
    asked: Asked,
    unused: Collection[str],
    key: tuple[str, ...] = (),
    foreign_keys: tuple[ForeignKey, ...] = (),
) -> Table:
    """A table by what its database says of it; columns that are not used are not asked for."""
    columns: dict[str, Column] = {}
    notices = []
    size = asked.size()
    for column, kind in asked.kinds.items():
        if column in unused:
            continue
        if kind not in _DOMAINS:
            notices.append(of_table(name, unreadable_type(column, kind[1:-1])))
            continue
        counted = asked.counts(column)
        values = np.empty(0, dtype=np.int64)
        if kind == WHOLE and counted.n_values in (1, 2) and {counted.least, counted.most} <= {0, 1}:
            values = np.unique([int(counted.least), int(counted.most)])
        codes = np.empty(0, dtype=np.int32)
        columns[column] = DescribedColumn(column, _DOMAINS[kind], values, codes, asked, counted, kind, size)
    return Table(name, columns, size, key, foreign_keys, tuple(notices))


def with_values(table: Table, names: Collection[str]) -> Table:
    """The table with the values of some columns, those that are there."""
    there = {name: each for name, each in table.columns.items() if isinstance(each, DescribedColumn)}
    wanted = [name for name in there if name in names]
    if not wanted:
        return table
    rows = there[wanted[0]].asked.fetch(wanted)
    read = {name: value_column(name, [row[place] for row in rows])[0] for place, name in enumerate(wanted)}
    return replace(table, columns={**table.columns, **read})
