"""Rows of text in DuckDB as columns: what files of delimited text and PostgreSQL's COPY have in common.

Each column of text becomes one of numbers, moments or booleans if all of its values are written so.
Long columns of numbers and moments are converted inside DuckDB and never become text in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hornbeam.data.database import Notice
from hornbeam.files import one_file, quoted
from hornbeam.loading.tables.columns.cells import MOMENT, REAL, WHOLE, CellKind, beside_words
from hornbeam.loading.tables.columns.column import Column, Domain
from hornbeam.loading.tables.columns.new_columns import moment_column, number_column, text_column
from hornbeam.loading.tables.columns.types import as_domain, inferred, nearly_numbers
from hornbeam.loading.tables.sources.duckdb import text_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Cells = list[tuple[str | None, ...]]
"""Rows of text; None is missing."""
_NOT_A_TIME = np.iinfo(np.int64).min
"""how NumPy stores NaT"""
_FIRST_ROWS = 1000
SMALL_FILE = 1 << 16
"""Up to this many bytes, a file is fetched by one query."""
SMALL = 2000
"""Up to this many rows, Python reads the cells: asking DuckDB about each column takes longer."""


class TextRows(NamedTuple):
    """A file of UTF-8 text with rows of cells."""

    path: Path
    separator: str
    width: int
    header: bool
    missing: Sequence[str] = ()

    def copy(self, duck: DuckDBPyConnection) -> None:
        """Read the file into the table ``rows`` with the text columns c0, c1, ..."""
        duck.execute(f"CREATE OR REPLACE TABLE rows AS {self._query()}", self._values())

    def fetch(self, duck: DuckDBPyConnection) -> Cells:
        """The rows of a small file."""
        return duck.execute(self._query(), self._values()).fetchall()

    def _values(self) -> list[object]:
        return [one_file(self.path), self.separator, self.header, ["", *self.missing]]

    def _query(self) -> str:
        # The user's column names never become part of a query: columns are named by numbers.
        types = ", ".join(f"'c{number}': 'VARCHAR'" for number in range(self.width))
        return (
            "SELECT * FROM read_csv(?, auto_detect=false, hive_partitioning=false, delim=?, quote='\"', "
            f"escape='\"', header=?, nullstr=?, columns={{{types}}}, max_line_size=16777216)"
        )


def number_of_rows(duck: DuckDBPyConnection) -> int:
    """The size of the table ``rows``."""
    return int(duck.execute("SELECT count(*) FROM rows").fetchall()[0][0])


def columns_of_rows(
    duck: DuckDBPyConnection,
    names: Sequence[str],
    unused: Collection[str] = (),
    domains: Mapping[str, Domain] | None = None,
    singles: Collection[str] = (),
    words: bool = True,
) -> tuple[dict[str, Column], list[Notice]]:
    """The columns of the table ``rows``, and notices about them; domains are inferred unless given.

    ``singles`` are columns of floats of 32 bits. With ``words``, words such as NA are missing values.
    """
    used = {number: name for number, name in enumerate(names) if name not in unused}
    if domains is None and used and number_of_rows(duck) <= SMALL:
        wanted = ", ".join(quoted(f"c{number}") for number in used)
        cells = duck.execute(f"SELECT {wanted} FROM rows").fetchall()
        return columns_of_cells(cells, list(used.values()), words=words)
    return read_by_duckdb(duck, used, domains, singles, words)


def columns_of_cells(
    rows: Cells, names: Sequence[str], unused: Collection[str] = (), words: bool = True
) -> tuple[dict[str, Column], list[Notice]]:
    """The columns of rows of text, and notices about them."""
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    read = [
        _from_text(text_column(name, cells), None, words)
        for name, cells in zip(names, columns, strict=True)
        if name not in unused
    ]
    notices = [notice for _, notice in read if notice is not None]
    return {column.name: column for column, _ in read}, notices


def read_by_duckdb(
    duck: DuckDBPyConnection,
    names: Mapping[int, str],
    domains: Mapping[str, Domain] | None = None,
    singles: Collection[str] = (),
    words: bool = True,
) -> tuple[dict[str, Column], list[Notice]]:
    """The columns of the table ``rows`` by their numbers; numbers and moments never become text in Python."""

    def candidates(domain: Domain) -> list[int]:
        return [number for number in names if domains is None or domains[names[number]] is domain]

    kinds = _kinds(duck, candidates, words and domains is None)
    columns: dict[str, Column] = {}
    notices = []
    for number, name in names.items():
        kind = kinds.get(number)
        if kind is None:
            text = text_of(duck, "rows", f"c{number}")
            column = Column(name, text.domain, text.values, text.codes)
            columns[name], notice = _from_text(column, None if domains is None else domains[name], words)
            notices += [notice] if notice is not None else []
        elif kind.domain is Domain.NUMBER:
            columns[name] = _numbers(duck, number, name, kind, name in singles)
        else:
            columns[name] = _moments(duck, number, name, kind)
        if kind is not None and kind.nothing:
            columns[name] = replace(columns[name], n_words=_n_words(duck, number, kind))
    return columns, notices


def _kinds(
    duck: DuckDBPyConnection, candidates: Callable[[Domain], list[int]], words: bool
) -> dict[int, CellKind]:
    """The columns that DuckDB converts, each with the first kind that all of its cells have."""
    kinds = (WHOLE, REAL, MOMENT)
    found: dict[int, CellKind] = {}
    for kind in (*kinds, *map(beside_words, kinds if words else ())):
        left = [number for number in candidates(kind.domain) if number not in found]
        found |= dict.fromkeys(_where_all(duck, left, kind), kind)
    return found


def _n_words(duck: DuckDBPyConnection, number: int, kind: CellKind) -> int:
    query = f"SELECT count(*) FROM rows WHERE {kind.nothing.format(quoted(f'c{number}'))}"
    return int(duck.execute(query).fetchall()[0][0])


def _numbers(duck: DuckDBPyConnection, number: int, name: str, kind: CellKind, single: bool) -> Column:
    query = f"SELECT {kind.value.format(quoted(f'c{number}'))} AS value FROM rows"
    array = duck.execute(query).fetchnumpy()["value"]
    values = np.ma.getdata(array)
    return number_column(name, values.astype(np.float32) if single else values, np.ma.getmaskarray(array))


def _moments(duck: DuckDBPyConnection, number: int, name: str, kind: CellKind) -> Column:
    query = f"SELECT epoch_us({kind.value.format(quoted(f'c{number}'))}) AS value FROM rows"
    array = duck.execute(query).fetchnumpy()["value"]
    return moment_column(name, np.ma.filled(array, _NOT_A_TIME).view("datetime64[us]"))


def _from_text(column: Column, domain: Domain | None, words: bool) -> tuple[Column, Notice | None]:
    """A column that DuckDB did not convert: of the given domain, or of the one that all its values have."""
    if domain is None:
        typed = inferred(column, words)
        if words and typed.n_missing > column.n_missing:
            typed = replace(typed, n_words=typed.n_missing - column.n_missing)
        return typed, nearly_numbers(typed)
    # Numbers that reach this point are too long for int64, unless the column has no value at all.
    if domain is Domain.NUMBER and column.n_values:
        return column, None
    return as_domain(column, domain), None


def _where_all(duck: DuckDBPyConnection, numbers: Sequence[int], kind: CellKind) -> list[int]:
    """The columns that have values, all of which are of a kind, words for nothing aside."""
    holding = list(numbers)
    # Most columns of text fail on the first rows, which saves testing all of them.
    for rows in (f"(SELECT * FROM rows LIMIT {_FIRST_ROWS})", "rows"):
        if not holding:
            break
        columns = [quoted(f"c{number}") for number in holding]
        tests = ", ".join(f"bool_and({kind.condition.format(column)})" for column in columns)
        answer = duck.execute(f"SELECT {tests} FROM {rows}").fetchall()[0]
        holding = [number for number, holds in zip(holding, answer, strict=True) if holds is not False]
    return [number for number in holding if _has_values(duck, number, kind)]


def _has_values(duck: DuckDBPyConnection, number: int, kind: CellKind) -> bool:
    column = quoted(f"c{number}")
    known = f"AND NOT {kind.nothing.format(column)}" if kind.nothing else ""
    query = f"SELECT 1 FROM rows WHERE {column} IS NOT NULL {known} LIMIT 1"
    return bool(duck.execute(query).fetchall())
