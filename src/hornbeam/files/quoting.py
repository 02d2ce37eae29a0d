"""Names, texts and paths of files inside SQL: the one place where they are quoted."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

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


OWN_TABLES = "hornbeam_([0-9a-f]{12})_[0-9]+"
"""The names of tables that Hornbeam creates in a user's database: they are never read as data."""


def own_table(mark: str, number: int) -> str:
    """The name of a table of our own, by the mark of its connection.

    >>> own_table("00c0ffee0123", 7)
    'hornbeam_00c0ffee0123_7'
    """
    return f"hornbeam_{mark}_{number}"


NO_OTHER_FILES = "SET enable_external_access = false"
"""After it DuckDB reads only the files that it has attached, and its own temporary files."""
_PATTERN = re.compile(r"[*?[]")
"""Characters that make DuckDB take a path for a pattern of many files."""


def one_file(path: Path) -> str:
    """The path of one file for DuckDB's ``read_csv`` and ``read_parquet``, which take patterns of paths.

    >>> print(one_file(Path("/data[1]/users*.csv")))
    /data[[]1]/users[*].csv
    """
    text = _absolute(path)
    if not _PATTERN.search(text):
        return text
    if _has_backslash(text):
        raise DataError(
            f'DuckDB cannot read "{text}": a path must not contain a backslash together with *, ? or [; '
            "rename the file or its folder."
        )
    return _PATTERN.sub(lambda found: f"[{found[0]}]", text)


def database_file(path: Path) -> str:
    """The path of a database for DuckDB's ``ATTACH``, which takes \\ for / and ? for the end of the path."""
    text = _absolute(path)
    if "?" in text or _has_backslash(text):
        raise DataError(
            f'DuckDB cannot read "{text}": the path of a database must not contain a backslash or ?; '
            "rename the file or its folder."
        )
    return text


def _absolute(path: Path) -> str:
    """The absolute path: DuckDB takes ``~/a``, ``:memory:`` and ``md:a`` for something else than a file."""
    text = str(path.absolute())
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(
            f"DuckDB cannot read {text!r}: the path is not UTF-8; rename the file or its folder."
        ) from None
    return text


def _has_backslash(path: str) -> bool:
    """Whether a name in a path has a backslash, which separates names on Windows."""
    return os.sep != "\\" and "\\" in path
