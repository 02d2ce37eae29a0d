"""How the text of a cell is read: the one rule, as Python and as SQL for DuckDB.

A column of text has the first of ``KINDS`` that all of its cells have. If none fits, it has the first of
``KINDS_BESIDE_WORDS``, in which words that stand for nothing, such as NA, are missing values. Loaded files
and files that stay in place follow this rule, so both give the same facts. A number has no leading zeros:
01234 is a code. Whole numbers past 2^53 are numbers only if the whole column fits into int64: as floats they
would lose their last digits. NaN among numbers is a missing value. Moments without an offset are in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from hornbeam.loading.tables.columns.column import LARGEST_WHOLE, Domain

_WHOLE = "-?(0|[1-9][0-9]*)"
_NUMBER = f"{_WHOLE}([.][0-9]+)?([eE][-+]?[0-9]+)?"
_NAN = "NaN"
_BOOLEAN = "[tT][rR][uU][eE]|[fF][aA][lL][sS][eE]"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?"
_OFFSET = "Z|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?"
_MOMENT = f"{_DAY}([T ]{_CLOCK}({_OFFSET})?)?"
EMPTY_WORDS = ("NULL", "null", "NaN")
"""Words that are missing values in every column of a text file, as empty text is."""
_WORDS = ("?", "na", "n/a", "#n/a", "nan", "<na>", "null", "none", "nil", "-", "--", ".")
"""words, in any case, that are missing values in a column whose other values are numbers, dates or flags"""
NA = "NA"
"""a missing value in a column of other text, too, unless its other values are codes of two letters"""
_CODE = "[A-Z]{2}"
_LONGEST = max(map(len, _WORDS))
_FIRST, _LAST = np.datetime64("0001-01-01", "us"), np.datetime64("9999-12-31T23:59:59.999999", "us")

# --- Python ----------------------------------------------------------------------------------

WordReader = Callable[[str], Any]
"""Reads one word; ValueError if it cannot."""


def read_whole(word: str) -> int | float:
    """A whole number of 64 bits, or NaN."""
    if word == _NAN:
        return np.nan
    # Twenty characters hold every number of 64 bits; Python refuses to read thousands of digits.
    if len(word) > 20 or re.fullmatch(_WHOLE, word) is None or not -(2**63) <= int(word) < 2**63:
        raise ValueError
    return int(word)


def read_number(word: str) -> int | float:
    """A number, which may lose digits as a float: what a column that is stated to hold numbers may have."""
    try:
        return read_whole(word)
    except ValueError:
        if re.fullmatch(_NUMBER, word) is None or re.fullmatch(_WHOLE, word) is not None:
            raise
    if not np.isfinite(float(word)):
        raise ValueError
    return float(word)


def _read_real(word: str) -> float:
    number = read_number(word)
    if isinstance(number, int) and abs(number) >= LARGEST_WHOLE:
        raise ValueError
    return float(number)


def _read_whole_real(word: str) -> float:
    number = _read_real(word)
    if number == number and (abs(number) >= LARGEST_WHOLE or not number.is_integer()):
        raise ValueError
    return number


def read_boolean(word: str) -> bool:
    """True or false, in any case."""
    if re.fullmatch(_BOOLEAN, word) is None:
        raise ValueError
    return word.lower() == "true"


def read_moment(word: str) -> np.datetime64:
    """A date or a moment, in UTC."""
    if re.fullmatch(_MOMENT, word) is None:
        raise ValueError
    moment = in_utc(datetime.fromisoformat(word))
    if not _FIRST <= moment <= _LAST:
        raise ValueError
    return moment


def _read_day(word: str) -> np.datetime64:
    moment = read_moment(word)
    if moment != moment.astype("datetime64[D]"):
        raise ValueError
    return moment


def stands_for_nothing(word: str) -> bool:
    """Whether a word is a missing value where the other values are numbers, dates or flags.

    >>> [stands_for_nothing(word) for word in ("NA", "n/a", "-", "x")]
    [True, True, True, False]
    """
    return len(word) <= _LONGEST and word.lower() in _WORDS


def missing_in_text(words: Sequence[str]) -> bool:
    """Whether NA is a missing value among the words of a column of text.

    >>> missing_in_text(["low", "NA"]), missing_in_text(["DE", "NA", "US"]), missing_in_text(["low"])
    (True, False, False)
    """
    others = [word for word in words if word != NA]
    are_codes = bool(others) and all(re.fullmatch(_CODE, word) for word in others)
    return len(others) < len(words) and not are_codes


def in_utc(moment: datetime) -> np.datetime64:
    """A moment of Python as one of NumPy, in UTC."""
    plain = np.datetime64(moment.replace(tzinfo=None), "us")
    offset = moment.utcoffset()
    return plain if offset is None else plain - np.timedelta64(offset)


# --- SQL -------------------------------------------------------------------------------------

_LIMIT = str(int(LARGEST_WHOLE))
_REAL_SQL = "TRY_CAST({0} AS DOUBLE)"


def _matches(pattern: str) -> str:
    """The condition that a cell matches a pattern, with {0} for the cell."""
    escaped = pattern.replace("{", "{{").replace("}", "}}")
    return f"regexp_full_match({{0}}, '{escaped}')"


# A whole number is written as DuckDB writes it; that is faster to test than a pattern.
_IS_WHOLE = (
    "CASE WHEN {0} IS NOT NULL THEN CAST(TRY_CAST({0} AS BIGINT) AS VARCHAR) IS NOT DISTINCT FROM {0} "
    f"OR {{0}} IN ('-0', '{_NAN}') END"
)
_IS_REAL = (
    f"({{0}} = '{_NAN}' OR ({_matches(_NUMBER)} AND coalesce(isfinite({_REAL_SQL}) AND "
    f"(abs({_REAL_SQL}) < {_LIMIT} OR contains({{0}}, '.') OR contains(lower({{0}}), 'e')), false)))"
)
_IS_WHOLE_REAL = (
    f"({_IS_REAL} AND ({{0}} = '{_NAN}' OR coalesce(abs({_REAL_SQL}) < {_LIMIT} "
    f"AND {_REAL_SQL} = floor({_REAL_SQL}), false)))"
)
_NO_NAN = f"nullif({{0}}, '{_NAN}')"
_REAL_VALUE = f"(CAST({_NO_NAN} AS DOUBLE) + 0.0)"
_AFTER_CLOCK = "regexp_replace({0}, '^[^T ]*[T ][0-9:.]*', '')"
"""the offset of a moment that has a clock: empty, Z, +02, +0230 or +02:30"""
_MINUTES = (
    f"coalesce(TRY_CAST(substr({_AFTER_CLOCK}, 2, 2) AS INTEGER) * 60 "
    f"+ coalesce(TRY_CAST(right(replace(substr({_AFTER_CLOCK}, 4), ':', ''), 2) AS INTEGER), 0), 0) "
    f"* CASE WHEN {_AFTER_CLOCK}[1] = '-' THEN -1 ELSE 1 END"
)
_HAS_OFFSET = "(ends_with({0}, 'Z') OR contains(substr({0}, 11), '+') OR contains(substr({0}, 11), '-'))"
_MOMENT_VALUE = (
    f"CASE WHEN NOT {_HAS_OFFSET} THEN TRY_CAST({{0}} AS TIMESTAMP) ELSE "
    f"TRY_CAST(regexp_extract({{0}}, '^[^T ]*[T ][0-9:.]*') AS TIMESTAMP) - to_minutes({_MINUTES}) END"
)
_IS_MOMENT = (
    f"CASE WHEN {_matches(_MOMENT)} THEN coalesce({_MOMENT_VALUE} BETWEEN TIMESTAMP '0001-01-01' "
    f"AND TIMESTAMP '9999-12-31 23:59:59.999999', false) ELSE {_matches(_MOMENT)} END"
)
_IS_DAY = f"({_IS_MOMENT} AND {_MOMENT_VALUE} = date_trunc('day', {_MOMENT_VALUE}))"


# --- kinds -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CellKind:
    """A kind of cells: how Python reads one, and the same in SQL, with {0} for the text of the cell."""

    domain: Domain
    read: WordReader
    condition: str
    """holds if the cell is of this kind; NULL for NULL"""
    value: str
    """the value of a cell of this kind"""
    nothing: str = ""
    """holds if a cell of this kind is a word that stands for a missing value; empty if none is"""


WHOLE = CellKind(Domain.NUMBER, read_whole, _IS_WHOLE, f"CAST({_NO_NAN} AS BIGINT)")
WHOLE_REAL = CellKind(Domain.NUMBER, _read_whole_real, _IS_WHOLE_REAL, f"CAST({_REAL_VALUE} AS BIGINT)")
REAL = CellKind(Domain.NUMBER, _read_real, _IS_REAL, _REAL_VALUE)
BOOLEAN = CellKind(Domain.BOOLEAN, read_boolean, _matches(_BOOLEAN), "lower({0}) = 'true'")
DAY = CellKind(Domain.DATE, _read_day, _IS_DAY, f"CAST({_MOMENT_VALUE} AS DATE)")
MOMENT = CellKind(Domain.MOMENT, read_moment, _IS_MOMENT, _MOMENT_VALUE)
KINDS = (WHOLE, WHOLE_REAL, REAL, BOOLEAN, DAY, MOMENT)
"""in the order in which they are tried"""
_IS_WORD = f"lower({{0}}) IN {_WORDS!r}"
_KNOWN = f"CASE WHEN {_IS_WORD} THEN NULL ELSE {{0}} END"


def beside_words(kind: CellKind) -> CellKind:
    """A kind of cells in which words that stand for nothing are missing values.

    >>> beside_words(WHOLE).read("NA") is None, beside_words(WHOLE).read("7")
    (True, 7)
    """
    return CellKind(
        kind.domain,
        lambda word: None if stands_for_nothing(word) else kind.read(word),
        kind.condition.replace("{0}", _KNOWN),
        kind.value.replace("{0}", _KNOWN),
        _IS_WORD,
    )


def _text_kind(condition: str, value: str, nothing: str = "") -> CellKind:
    return CellKind(Domain.TEXT, str, condition, value, nothing)


_IS_NA = f"{{0}} = '{NA}'"
KINDS_BESIDE_WORDS = (
    *map(beside_words, KINDS),
    _text_kind(_IS_NA, "CAST(NULL AS VARCHAR)", _IS_NA),
    _text_kind(f"{{0}} <> '{NA}'", "{0}"),
    _text_kind(_matches(_CODE), "{0}"),
    _text_kind("true", f"nullif({{0}}, '{NA}')", _IS_NA),
)
"""in the order in which they are tried on a column that none of ``KINDS`` fits; the last one always fits"""


# --- columns of numbers in DuckDB ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FloatKind:
    """A kind of values of a column of floats, in SQL, with {0} for the value."""

    condition: str
    value: str
    nothing: str = ""


def _float_kinds(real: str, exact_below: float) -> tuple[FloatKind, ...]:
    """Whole numbers where all values are whole and exact, else floats; NaN is missing, infinity refused."""
    known = f"nullif({real}, 'NaN'::DOUBLE)"
    is_whole = f"(isnan({{0}}) OR (abs({real}) < {int(exact_below)} AND {real} = floor({real})))"
    return (
        FloatKind(is_whole, f"CAST({known} AS BIGINT)"),
        FloatKind("NOT isinf({0})", known),
    )


_SINGLE = "CAST(CAST({0} AS VARCHAR) AS DOUBLE)"
"""through its shortest text: the 32-bit float 0.1 becomes 0.1, not 0.10000000149011612"""
FLOAT_KINDS = {"DOUBLE": _float_kinds("{0}", LARGEST_WHOLE), "FLOAT": _float_kinds(_SINGLE, 2.0**24)}
"""how columns of floats that stay in DuckDB are read, as loading reads them"""


def reads(reader: WordReader, word: str) -> bool:
    """Whether a word can be read.

    >>> reads(read_moment, "2024-12-31T23:59:59Z"), reads(read_moment, "2024-13-02")
    (True, False)
    """
    try:
        reader(word)
    except ValueError:
        return False
    return True
