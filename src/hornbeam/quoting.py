"""Names and texts inside SQL: the one place where they are quoted."""

from __future__ import annotations

from collections.abc import Sequence

from hornbeam.errors import DataError


def quoted(name: str) -> str:
    """An identifier quoted as in standard SQL, whatever characters it contains.

    >>> print(quoted('a"; DROP TABLE users; --'))
    "a""; DROP TABLE users; --"
    """
    if "\0" in name:
        raise DataError(f"{name!r} cannot be the name of a table or column: it contains a zero character.")
    return '"' + name.replace('"', '""') + '"'


def quoted_path(names: Sequence[str]) -> str:
    """A name with its schema, each part quoted.

    >>> print(quoted_path(["public", "users"]))
    "public"."users"
    """
    return ".".join(map(quoted, names))


def quoted_text(text: str) -> str:
    """A text literal in standard SQL, for statements that take no parameters.

    >>> print(quoted_text("it's here"))
    'it''s here'
    """
    return "'" + text.replace("'", "''") + "'"
