"""Columns of text as numbers, dates or booleans, where all values but words for nothing can be read so."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Notice
from hornbeam.errors import DataError, plural
from hornbeam.loading.tables.columns.cells import (
    KINDS,
    NA,
    WordReader,
    in_utc,
    missing_in_text,
    read_boolean,
    read_moment,
    read_number,
    reads,
    stands_for_nothing,
)
from hornbeam.loading.tables.columns.column import MISSING, Column, Domain
from hornbeam.loading.tables.columns.new_columns import boolean_column, moment_column, number_column

_SAMPLE = 1000
"""distinct values that are tested first"""
_SHOWN = 3
_FEW, _MANY = 0.1, 0.5
"""Shares of rows that are not numbers: nearly numeric below _FEW; not worth a closer test from _MANY on."""


def inferred(column: Column, words: bool = True) -> Column:
    """A column of text as numbers, dates, moments or booleans where every value reads as one.

    With ``words``, words that stand for nothing are missing values, by the rule of ``cells``.

    >>> from hornbeam.loading.tables.columns.new_columns import text_column
    >>> inferred(text_column("born", ["2001-02-03", None])).domain
    <Domain.DATE: 'date'>
    >>> inferred(text_column("zip", ["01234", "5678"])).domain
    <Domain.TEXT: 'text'>
    >>> list(inferred(text_column("age", ["31", "NA", "?"])).texts)
    ['31']
    """
    if column.domain is not Domain.TEXT or not column.n_values:
        return column
    plain = _of_one_kind(column)
    if plain is not None or not words:
        return column if plain is None else plain
    # The first few values rule out most columns of text.
    few = list(islice((word for word in column.values if not stands_for_nothing(word)), _SHOWN))
    if few and any(all(reads(kind.read, word) for word in few) for kind in KINDS):
        nothing = np.array([stands_for_nothing(word) for word in column.values], dtype=bool)
        known = _of_one_kind(without_values(column, nothing)) if nothing.any() else None
        if known is not None:
            return known
    if NA in column.values and missing_in_text(column.values.tolist()):
        return without_values(column, column.values == NA)
    return column


def _of_one_kind(column: Column) -> Column | None:
    """A column of text as the first kind that all of its values have."""
    for kind in KINDS:
        # The first value rules out most kinds.
        with suppress(ValueError):
            return _converted(column, kind.domain, list(map(kind.read, column.values)))
    return None


def without_values(column: Column, left_out: npt.NDArray[np.bool_]) -> Column:
    """The column with some of its distinct values as missing values."""
    places = np.full(column.n_values + 1, MISSING, dtype=np.int32)
    places[:-1][~left_out] = np.arange(np.count_nonzero(~left_out), dtype=np.int32)
    return replace(column, values=column.values[~left_out], codes=places[column.codes])


def nearly_numbers(column: Column) -> Notice | None:
    """The notice about a column of text in which all but a few values are numbers.

    >>> from hornbeam.loading.tables.columns.new_columns import text_column
    >>> print(nearly_numbers(text_column("age", [*map(str, range(20)), "old"])).message)
    column "age" is read as text, because 1 value of 21 is not a number ("old"); if it stands for a \
missing value, state missing = ["old"] in schema.toml.
    """
    if column.domain is not Domain.TEXT:
        return None
    sizes = np.bincount(column.codes[column.codes != MISSING], minlength=column.n_values)
    step = max(column.n_values // _SAMPLE, 1)
    sample = _not_numbers(column.values[::step])
    if sizes[::step][sample].sum() >= _MANY * sizes[::step].sum():
        # A sample is enough for most columns of text, which hold hardly any numbers.
        return None
    others = sample if step == 1 else _not_numbers(column.values)
    rows = int(sizes[others].sum())
    if not rows or rows >= _FEW * sizes.sum():
        return None
    return _offer(column, rows, column.values[others].tolist())


def _offer(column: Column, rows: int, words: list[str]) -> Notice:
    """The notice that some words may stand for missing values, with the line for schema.toml."""
    listed = ", ".join(f'"{word}"' for word in words[:_SHOWN]) + (", ..." if len(words) > _SHOWN else "")
    one = rows == 1
    return Notice(
        f'column "{column.name}" is read as text, because {plural(rows, "value")} of {len(column):,} '
        f"{'is not a number' if one else 'are not numbers'} ({listed}); if "
        f"{'it stands for a missing value' if one else 'they stand for missing values'}, state "
        f"missing = [{listed}] in schema.toml."
    )


def _not_numbers(words: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return np.array([not reads(read_number, word) for word in words], dtype=bool)


def as_domain(column: Column, domain: Domain, date_format: str | None = None) -> Column:
    """The column with its values read as those of another domain; a value that cannot be is an error."""
    if column.domain is domain or (domain is Domain.MOMENT and column.domain is Domain.DATE):
        return column
    if domain is Domain.TEXT:
        return _as_text(column)
    if domain is Domain.BOOLEAN and column.domain is Domain.NUMBER:
        return _ones_and_zeros(column)
    if column.domain is Domain.NUMBER and domain is Domain.MOMENT and date_format:
        column = _as_text(column)
    if column.domain is not Domain.TEXT:
        raise _unreadable(column, domain, column.texts[0] if column.n_values else "")
    reader = _format_reader(date_format) if date_format else _READERS[domain]
    values = []
    nothing = np.array([stands_for_nothing(word) for word in column.values], dtype=bool)
    column = without_values(column, nothing) if nothing.any() else column
    for word in column.values:
        try:
            values.append(reader(word))
        except ValueError:
            raise _unreadable(column, domain, word, date_format) from None
    return _converted(column, domain, values)


def _converted(column: Column, domain: Domain, values: list[Any]) -> Column:
    """The column with the values of its words, in the order of the words."""
    missing = column.codes == MISSING
    if domain is Domain.NUMBER:
        known = [value for value in values if value == value]
        whole = all(isinstance(value, int) for value in known)
        missing |= np.array([*(value != value for value in values), False])[column.codes]
        plain = [value if value == value else 0 for value in values]
        numbers = np.array([*plain, 0], dtype=np.int64 if whole else np.float64)
        return number_column(column.name, numbers[column.codes], missing)
    if domain is Domain.BOOLEAN:
        return boolean_column(column.name, np.array([*values, False])[column.codes], missing)
    moments = np.array([*values, "NaT"], dtype="datetime64[us]")
    return moment_column(column.name, moments[column.codes])


def _as_text(column: Column) -> Column:
    words = np.empty(column.n_values, dtype=object)
    words[:] = list(column.texts)
    order = np.argsort(words)
    places = np.full(len(words) + 1, MISSING, dtype=np.int32)
    places[order] = np.arange(len(words))
    return Column(column.name, Domain.TEXT, words[order], places[column.codes])


def _ones_and_zeros(column: Column) -> Column:
    others = [text for text in column.texts if text not in ("0", "1")]
    if others:
        raise _unreadable(column, Domain.BOOLEAN, others[0])
    return Column(column.name, Domain.BOOLEAN, column.values.astype(bool), column.codes)


def _unreadable(column: Column, domain: Domain, word: str, date_format: str | None = None) -> DataError:
    wanted = {
        Domain.NUMBER: "a number",
        Domain.BOOLEAN: "true or false (or 1 and 0)",
        Domain.DATE: "a date such as 2024-12-31",
        Domain.MOMENT: "a date such as 2024-12-31 or a moment such as 2024-12-31T23:59:59",
    }[domain]
    if date_format:
        wanted = f"a date of the form {date_format}"
    return DataError(
        f'column "{column.name}" is stated to hold {domain.value}s, but "{word}" is not {wanted}; '
        "correct the value or the schema."
    )


def _format_reader(date_format: str) -> WordReader:
    return lambda word: in_utc(datetime.strptime(word, date_format))


_READERS: dict[Domain, WordReader] = {
    Domain.NUMBER: read_number,
    Domain.BOOLEAN: read_boolean,
    Domain.DATE: read_moment,
    Domain.MOMENT: read_moment,
}
