"""The values that the names of constants stand for, and other texts of the same values."""

from __future__ import annotations

from datetime import datetime

from hornbeam.data.keys import key_text
from hornbeam.logic.schema import read_value


def number_named(name: str) -> float | None:
    """The number whose text in keys is this name.

    >>> number_named("3"), number_named("2.5"), number_named("3.0"), number_named("007")
    (3.0, 2.5, None, None)
    """
    value = read_value(name)
    return value if isinstance(value, float) and key_text(value) == name else None


def moment_named(name: str) -> datetime | None:
    """The date or moment whose text in keys is this name.

    >>> moment_named("2024-12-31"), moment_named("2024-12-31 10:00")
    (datetime.datetime(2024, 12, 31, 0, 0), None)
    """
    value = read_value(name)
    if not isinstance(value, datetime):
        return None
    return value if name in (value.isoformat(), value.date().isoformat()) else None


def spellings(name: str) -> list[str]:
    """The texts in which SQLite may hold a constant that is a truth value, a date or a moment.

    >>> spellings("2024-12-31"), spellings("true"), spellings("Rome")
    (['2024-12-31', '2024-12-31 00:00:00', '2024-12-31T00:00:00'], ['true', '1'], ['Rome'])
    """
    truth = {"true": "1", "false": "0"}
    if name in truth:
        return [name, truth[name]]
    moment = moment_named(name)
    if moment is None:
        return [name]
    return list(dict.fromkeys((name, moment.isoformat(sep=" "), moment.isoformat())))
