"""Text that is safe to print: names come from users' data, so control characters are escaped.

Control characters move the cursor, set the title or hide text; direction characters reorder it.
"""

from __future__ import annotations

import os
import re
import textwrap
from typing import TextIO

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


def wrapped(text: str, stream: TextIO) -> str:
    """Text for a stream: on a terminal, lines that are too long for it are wrapped at words."""
    if not stream.isatty():
        return text
    try:
        width = int(os.environ.get("COLUMNS") or os.get_terminal_size(stream.fileno()).columns) or 80
    except (OSError, ValueError):
        width = 80
    return "\n".join(_wrapped_line(line, width) for line in text.split("\n"))


def _wrapped_line(line: str, width: int) -> str:
    """A line in lines that fit, each indented by two more columns than the first.

    >>> _wrapped_line("  a line of several plain words", 22).splitlines()
    ['  a line of several', '    plain words']
    """
    if len(line) <= width:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line.strip(),
        max(width, len(indent) + 20),
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
