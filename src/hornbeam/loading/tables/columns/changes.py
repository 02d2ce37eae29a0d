"""Tables with one value changed or one row less, as if they had been read so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.errors import DataError
from hornbeam.loading.tables.columns.column import MISSING, Column, Domain, Table
from hornbeam.loading.tables.columns.new_columns import (
    boolean_column,
    moment_column,
    number_column,
    text_column,
)
from hornbeam.loading.tables.columns.types import as_domain


def with_value(table: Table, row: int, name: str, word: str) -> Table:
    """The table with another value in one place; an empty word is a missing value.

    A word that is no value of the column's domain is an error.
    """
    column = _column(table, row, name)
    if column.domain is Domain.TEXT:
        words = [word_of(column, place) for place in range(len(column))]
        words[row] = word
        changed = text_column(name, words)
    else:
        (code,), new = (read := as_domain(text_column(name, [word]), column.domain)).codes, read.values
        values, missing = _in_rows(column)
        missing[row] = code == MISSING
        if code != MISSING:
            values = values.astype(np.result_type(values, new))
            values[row] = new[0]
        changed = _of_rows(column, values, missing)
    return replace(table, columns={**table.columns, name: changed})


def without_row(table: Table, row: int) -> Table:
    """The table without a row."""
    columns = {}
    for name in table.columns:
        column = _column(table, row, name)
        if column.domain is Domain.TEXT:
            words = [word_of(column, place) for place in range(len(column)) if place != row]
            columns[name] = text_column(name, words)
        else:
            values, missing = _in_rows(column)
            columns[name] = _of_rows(column, np.delete(values, row), np.delete(missing, row))
    return replace(table, columns=columns, size=table.size - 1)


def word_of(column: Column, row: int) -> str:
    """The value in a row as text; empty if it is missing."""
    code = int(column.codes[row])
    return "" if code == MISSING else column.texts[code]


def _column(table: Table, row: int, name: str) -> Column:
    if name not in table.columns:
        raise DataError(f'table "{table.name}" has no column "{name}".')
    if not 0 <= row < table.size:
        raise DataError(f'table "{table.name}" has no row {row}: it has {table.size:,} rows.')
    return table.columns[name]


def _in_rows(column: Column) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """The value of each row, and whether it is missing."""
    values = np.append(column.values, np.zeros(1, dtype=column.values.dtype))
    return values[column.codes], column.codes == MISSING


def _of_rows(column: Column, values: npt.NDArray[Any], missing: npt.NDArray[np.bool_]) -> Column:
    """A column like another one, from the value of each row."""
    if column.domain is Domain.NUMBER:
        made = number_column(column.name, values, missing)
        return replace(made, exact_below=min(made.exact_below, column.exact_below))
    if column.domain is Domain.BOOLEAN:
        return boolean_column(column.name, values, missing)
    return moment_column(column.name, np.where(missing, np.datetime64("NaT"), values))
