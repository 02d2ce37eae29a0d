"""Columns of text whose values look like dates or numbers, but are not written so that they are read."""

from __future__ import annotations

import re
from datetime import datetime

from hornbeam.loading.tables.columns.cells import WordReader, read_moment, read_number, reads
from hornbeam.loading.tables.columns.column import Column, Domain

_DAYS = (
    *("%d.%m.%Y", "%Y.%m.%d", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y"),
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_FORMS = tuple(f"{day}{clock}" for clock in _CLOCKS for day in _DAYS)
_NUMBERS = (
    re.compile(r"[-+]?([0-9]{1,3}(,[0-9]{3})+|[0-9]+)(\.[0-9]+)?"),
    re.compile(r"[-+]?([0-9]{1,3}(\.[0-9]{3})+|[0-9]+)(,[0-9]+)?"),
)
"""with commas between thousands, and with a decimal comma"""
FEW = 10
"""Up to this many texts that are numbers may well be codes."""
_SAMPLE = 1000
"""Maximum number of distinct values that are looked at."""


def other_form(column: Column) -> str:
    """What the values of a column of text look like, and what makes them readable; empty if like nothing.

    >>> from hornbeam.loading.tables.columns.new_columns import text_column
    >>> other_form(text_column("born", ["31.12.2001", "05.01.1999"]))
    'its values look like dates, such as 05.01.1999; if they are, state dates = { born = "%d.%m.%Y" }'
    >>> other_form(text_column("paid", ["1,5", "20,25"]))
    'its values look like numbers, such as 1,5; if they are, write them as 1234.5, without other commas'
    """
    words = _sample(column)
    if not words:
        return ""
    forms = _date_forms(words)
    if forms:
        # A day up to the 12th may be a month.
        lines = [f'dates = {{ {column.name} = "{form}" }}' for form in forms[:2] if form]
        line = " or ".join(lines) or f'convert it, or state roles = {{ {column.name} = "date" }}'
        return f"its values look like dates, such as {words[0]}; if they are, {'state ' * bool(lines)}{line}"
    if column.n_values > FEW and all(reads(read_number, word) for word in words):
        line = f'convert it, or state roles = {{ {column.name} = "number" }}'
        return f"its values look like numbers, such as {words[0]}; if they are, {line}"
    if any(all(map(form.fullmatch, words)) for form in _NUMBERS) and any("," in word for word in words):
        shown = next(word for word in words if "," in word)
        return (
            f"its values look like numbers, such as {shown}; if they are, write them as 1234.5, without "
            "other commas"
        )
    return ""


def date_form(column: Column) -> str | None:
    """How the dates in a column of text are written: empty if as 2024-12-31; None if they are no dates."""
    words = _sample(column)
    return next(iter(_date_forms(words)), None) if words else None


def _sample(column: Column) -> list[str]:
    """Some of the texts of a column that is in memory."""
    if column.domain is not Domain.TEXT or column.stays or not len(column.values):
        return []
    return [str(word) for word in column.values[:: max(1, column.n_values // _SAMPLE)]]


def _date_forms(words: list[str]) -> list[str]:
    if all(reads(read_moment, word) for word in words):
        return [""]
    return [form for form in _FORMS if all(reads(_reader(form), word) for word in words)]


def _reader(form: str) -> WordReader:
    return lambda word: datetime.strptime(word, form)
