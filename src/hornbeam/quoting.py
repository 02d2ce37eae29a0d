"""Names in SQL: the one place where they are quoted."""

from __future__ import annotations

from collections.abc import Sequence

from hornbeam.errors import DataError


def quoted(name: str) -> str:
    """An identifier as standard SQL writes it, whatever is in it.

    >>> print(quoted('a"; DROP TABLE users; --'))
    "a""; DROP TABLE users; --"
    """
    if "\0" in name:
        raise DataError(f"{name!r} is no name of a table or column: it holds a zero character.")
    return '"' + name.replace('"', '""') + '"'


def quoted_path(names: Sequence[str]) -> str:
    """A name with its schema.

    >>> print(quoted_path(["public", "users"]))
    "public"."users"
    """
    return ".".join(map(quoted, names))
