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
DAY_NUMBERS = "%Y%m%d"
"""how days are written as whole numbers"""
_FIRST_DAY, _LAST_DAY = 1900_01_01, 2100_12_31
_MONTH = re.compile("(19|20)[0-9]{2}[-/.](0[1-9]|1[0-2])")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_FORMS = tuple(f"{day}{clock}" for clock in _CLOCKS for day in _DAYS)
_SIGN, _UNIT = r"[-+]?[$€£¥]? ?[-+]?", " ?[$€£¥%]?"
_NUMBERS = (
    re.compile(rf"{_SIGN}([0-9]{{1,3}}(,[0-9]{{3}})+|[0-9]+)(\.[0-9]+)?{_UNIT}"),
    re.compile(rf"{_SIGN}([0-9]{{1,3}}(\.[0-9]{{3}})+|[0-9]+)(,[0-9]+)?{_UNIT}"),
)
"""with commas between thousands, and with a decimal comma; perhaps with a currency or %"""
_LIKE_A_DATE = re.compile(r"[0-9]{1,4}[-./ ].+|[A-Za-z]{3,9} [0-9]{1,2}, [0-9]{4}.*")
_MOST = 0.5
"""at least this share of the values look like numbers or dates if the column was meant as one"""
_COMPARED = 50
"""Maximum number of distinct values that are compared with every form of dates."""
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
    return _numbers_with_signs(words) or _several_dates(words)


def _numbers_with_signs(words: list[str]) -> str:
    """What columns of numbers with currencies, or with commas between thousands, are to be written as."""
    found = max(([word for word in words if form.fullmatch(word)] for form in _NUMBERS), key=len)
    signs = [word for word in found if re.search("[,$€£¥%]", word)]
    if not signs or len(found) < _MOST * len(words):
        return ""
    what = _said("numbers", signs[0], len(found), len(words))
    return f"{what}; if they are, write them as 1234.5, without other {_signs_in(signs)}"


def _signs_in(words: list[str]) -> str:
    """What is left out of numbers: commas, or signs such as that of a currency."""
    return "commas" if all(re.fullmatch("[-+0-9.,]+", word) for word in words) else "signs"


def _several_dates(words: list[str]) -> str:
    """What a column of dates that are written in several ways is to be written as."""
    words = words[:: max(1, len(words) // _COMPARED)]
    likely = [word for word in words if _LIKE_A_DATE.fullmatch(word)]
    if len(likely) < _MOST * len(words):
        return ""
    found = [word for word in likely if _date_forms([word])]
    if len(found) < _MOST * len(words):
        return ""
    return f"{_said('dates', found[0], len(found), len(words))}; if they are, write all as 2024-12-31"


def _said(what: str, example: str, found: int, of: int) -> str:
    many = "its values" if found == of else f"{found / of:.0%} of its values"
    return f"{many} look like {what}, such as {example}"


def day_numbers(column: Column) -> bool:
    """Whether whole numbers are days such as 20241231.

    >>> from hornbeam.loading.tables.columns.new_columns import value_column
    >>> [day_numbers(value_column("at", [20240101, day])[0]) for day in (20241231, 20241232)]
    [True, False]
    """
    if not column.is_whole or not column.n_values:
        return False
    least, greatest = column.extent
    if not _FIRST_DAY <= least <= greatest <= _LAST_DAY:
        return False
    sample = [least, greatest] if column.stays else column.values[:: max(1, column.n_values // _SAMPLE)]
    return all(reads(_reader(DAY_NUMBERS), str(number)) for number in sample)


def date_form(column: Column) -> str | None:
    """How the dates in a column of text are written: empty if as 2024-12-31; None if they are no dates."""
    words = _sample(column)
    return next(iter(_date_forms(words)), None) if words else None


def holds_months(column: Column) -> bool:
    """Whether a column of text holds months such as 2024-12."""
    words = column.first() if column.stays else _sample(column)
    return bool(words) and all(_MONTH.fullmatch(word) for word in words)


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
