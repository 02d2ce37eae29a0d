"""Text that is safe to print: names come from users' data, so control characters are escaped.

Control characters move the cursor, set the title or hide text; direction characters reorder it.
"""

from __future__ import annotations

import re

_ESCAPED = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_CONTROLS = re.compile(f"[{_ESCAPED}]")


def printable(text: str) -> str:
    r"""The text with control and direction characters escaped; line breaks and tabs stay.

    >>> print(printable("ann\x1b[2J bob\u202e"))
    ann\x1b[2J bob\u202e
    """
    return _CONTROLS.sub(_escape, text)


def printable_json(text: str) -> str:
    r"""Like ``printable``, for JSON: a JSON reader turns the escapes back into the same text.

    >>> print(printable_json('"a\x9b"'))
    "a\u009b"
    """
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escape(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
