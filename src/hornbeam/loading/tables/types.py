"""Text that means numbers, dates or booleans: read as such where all of a column can be."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Notice
from hornbeam.errors import DataError, plural
from hornbeam.loading.tables.column import (
    MISSING,
    Column,
    Domain,
    boolean_column,
    moment_column,
    number_column,
)

NUMBER = r"-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][-+]?[0-9]+)?"
"""A number without leading zeros: 01234 is a code of some kind, not a number."""
_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?"
_MOMENT = rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ]{_CLOCK}(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)?)?"
_FIRST_LOOK = 1000
_FEW, _MANY = 0.1, 0.5
"""A column is nearly numbers if fewer of its rows than this share are not; far from it with so many."""


def inferred(column: Column) -> Column:
    """A column of text as numbers, dates, moments or booleans where every value reads as one.

    >>> from hornbeam.loading.tables.column import text_column
    >>> inferred(text_column("born", ["2001-02-03", None])).domain
    <Domain.DATE: 'date'>
    >>> inferred(text_column("zip", ["01234", "5678"])).domain
    <Domain.TEXT: 'text'>
    """
    if column.domain is not Domain.TEXT or not column.n_values:
        return column
    for domain in (Domain.NUMBER, Domain.BOOLEAN, Domain.MOMENT):
        # One look at the first value settles most columns.
        reads = _READERS[domain]
        if _can(reads, column.values[0]) and all(_can(reads, word) for word in column.values[1:]):
            return as_domain(column, domain)
    return column


def nearly_numbers(column: Column) -> Notice | None:
    """What to say of a column of text that but for a few values would be one of numbers."""
    if column.domain is not Domain.TEXT:
        return None
    sizes = np.bincount(column.codes[column.codes != MISSING], minlength=column.n_values)
    every = max(column.n_values // _FIRST_LOOK, 1)
    look = _strange(column.values[::every])
    if sizes[::every][look].sum() >= _MANY * sizes[::every].sum():
        # Most columns of text are nothing like numbers, which a few words tell.
        return None
    strange = look if every == 1 else _strange(column.values)
    rows = int(sizes[strange].sum())
    if not rows or rows >= _FEW * sizes.sum():
        return None
    return Notice(
        f'column "{column.name}" is taken as text, because {plural(rows, "value")} of {len(column):,} '
        f'{"is" if rows == 1 else "are"} no number (first: "{column.values[strange][0]}"); where that stands '
        'for no value, say so by missing = ["..."] in schema.toml.'
    )


def _strange(words: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return np.array([not _can(_read_number, word) for word in words], dtype=bool)


def as_domain(column: Column, domain: Domain, date_format: str | None = None) -> Column:
    """The column with its values read as another kind; one that cannot be is an error that shows it."""
    if column.domain is domain or (domain is Domain.MOMENT and column.domain is Domain.DATE):
        return column
    if domain is Domain.TEXT:
        return _as_text(column)
    if domain is Domain.BOOLEAN and column.domain is Domain.NUMBER:
        return _ones_and_zeros(column)
    if column.domain is not Domain.TEXT:
        raise _unreadable(column, domain, column.texts[0] if column.n_values else "")
    reads = _format_reader(date_format) if date_format else _READERS[domain]
    values = []
    for word in column.values:
        try:
            values.append(reads(word))
        except ValueError:
            raise _unreadable(column, domain, word, date_format) from None
    missing = column.codes == MISSING
    if domain is Domain.NUMBER:
        whole = all(isinstance(value, int) for value in values)
        numbers = np.array([*values, 0], dtype=np.int64 if whole else np.float64)
        return number_column(column.name, numbers[column.codes], missing)
    if domain is Domain.BOOLEAN:
        return boolean_column(column.name, np.array([*values, False])[column.codes], missing)
    moments = np.array([*values, "NaT"], dtype="datetime64[us]")
    return moment_column(column.name, moments[column.codes])


def _as_text(column: Column) -> Column:
    words = np.empty(column.n_values, dtype=object)
    words[:] = column.texts
    order = np.argsort(words)
    places = np.full(len(words) + 1, MISSING, dtype=np.int32)
    places[order] = np.arange(len(words))
    return Column(column.name, Domain.TEXT, words[order], places[column.codes])


def _ones_and_zeros(column: Column) -> Column:
    strange = [text for text in column.texts if text not in ("0", "1")]
    if strange:
        raise _unreadable(column, Domain.BOOLEAN, strange[0])
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


# --- reading one word ------------------------------------------------------------------------

Reader = Callable[[str], object]


def _can(reads: Reader, word: str) -> bool:
    try:
        reads(word)
    except ValueError:
        return False
    return True


def _read_number(word: str) -> int | float:
    match = re.fullmatch(NUMBER, word)
    if match is None:
        raise ValueError
    if match[2] or match[3]:
        return float(word)
    number = int(word)
    if not -(2**63) <= number < 2**63:
        raise ValueError
    return number


def _read_boolean(word: str) -> bool:
    found = {"true": True, "false": False}.get(word.lower())
    if found is None:
        raise ValueError
    return found


def _read_moment(word: str) -> np.datetime64:
    if re.fullmatch(_MOMENT, word) is None:
        raise ValueError
    return _utc(datetime.fromisoformat(word))


def _format_reader(date_format: str) -> Reader:
    return lambda word: _utc(datetime.strptime(word, date_format))


def _utc(moment: datetime) -> np.datetime64:
    offset = moment.utcoffset()
    if offset is not None:
        moment = moment.replace(tzinfo=None) - offset
    return np.datetime64(moment, "us")


_READERS: dict[Domain, Reader] = {
    Domain.NUMBER: _read_number,
    Domain.BOOLEAN: _read_boolean,
    Domain.DATE: _read_moment,
    Domain.MOMENT: _read_moment,
}
