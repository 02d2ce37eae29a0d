"""How the words of a clause are written: variables, constants, predicates and types, numbers and dates.

Whatever a name contains, its text reads back as the same name (see ``parse``).
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache

# A full stop at the end of a word would end the clause, so a bare word may have one only inside it.
_BARE_CONSTANT = re.compile(r"[a-z0-9](?:[A-Za-z0-9_+-]|\.(?=[A-Za-z0-9_+-]))*")
_BARE_NAME = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED = frozenset(["not", "true"])
"""The words for negation and for the empty body."""


@lru_cache(maxsize=4096)
def variable_name(number: int) -> str:
    """A, B, ..., Z, A1, B1, ...

    >>> variable_name(0), variable_name(25), variable_name(26)
    ('A', 'Z', 'A1')
    """
    letter = chr(ord("A") + number % 26)
    return letter if number < 26 else f"{letter}{number // 26}"


@lru_cache(maxsize=65536)
def format_constant(name: str) -> str:
    """A constant in clause text: bare if that reads back as the same constant, quoted otherwise.

    >>> format_constant("bob"), format_constant("Bob"), format_constant("it's")
    ('bob', "'Bob'", "'it\\\\'s'")
    """
    return name if _BARE_CONSTANT.fullmatch(name) else _quoted(name)


@lru_cache(maxsize=4096)
def format_name(name: str) -> str:
    """The name of a predicate or type in clause text: quoted unless it is a plain word.

    >>> format_name("friends"), format_name("has space"), format_name("not")
    ('friends', "'has space'", "'not'")
    """
    return name if name not in _RESERVED and _BARE_NAME.fullmatch(name) else _quoted(name)


def format_value(value: float | datetime) -> str:
    """The shortest text that reads back as exactly the same value; midnight is written as a date.

    >>> [format_value(value) for value in (35.0, -0.1, 1e300, 2.0**53)]
    ['35', '-0.1', '1e+300', '9007199254740992']
    >>> format_value(datetime(1998, 3, 1)), format_value(datetime(1998, 3, 1, 12, 30))
    ('1998-03-01', '1998-03-01T12:30:00')
    """
    if isinstance(value, datetime):
        at_midnight = (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0)
        return value.date().isoformat() if at_midnight else value.isoformat()
    return str(int(value)) if value == int(value) and abs(value) < 1e16 else repr(float(value))


def format_threshold(value: float | datetime) -> str:
    """A value in a comparison; a time of day is quoted because a colon cannot be part of a word.

    >>> format_threshold(35.0), format_threshold(datetime(1998, 3, 1, 12, 30))
    ('35', "'1998-03-01T12:30:00'")
    """
    text = format_value(value)
    return _quoted(text) if ":" in text else text


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    escaped = escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f"'{escaped}'"
