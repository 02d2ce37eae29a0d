"""Results: CSV and JSON, to stdout or to a file. A file is written completely or not at all."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from hornbeam.cli.printable import printable, printable_json, wrapped
from hornbeam.errors import DataError, OptionError, Place
from hornbeam.files.writing import resolved, write_file

_ROWS_AT_ONCE = 10_000


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """CSV in pieces, so that a large result is never in memory as one text."""
    remaining = iter(rows)
    piece: list[Sequence[object]] = [header]
    while piece:
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows(piece)
        yield buffer.getvalue()
        piece = list(islice(remaining, _ROWS_AT_ONCE))


def write_result(text: Iterable[str], out: Path | None, exact: bool = False) -> None:
    """Write to the file, or to stdout if no file is named.

    Control characters are escaped, unless the text is ``exact`` because another program reads it.
    """
    if out is not None:
        write_file(out, text)
        return
    escaped = not exact or sys.stdout.isatty()
    for piece in text:
        shown = printable(piece) if escaped else piece
        sys.stdout.write(shown if exact else wrapped(shown, sys.stdout))


def one_form(forms: Mapping[str, bool]) -> str | None:
    """The flag that chooses the form of the output, if one is given; more than one is an error."""
    wanted = [flag for flag, given in forms.items() if given]
    if len(wanted) > 1:
        raise OptionError(f"{' and '.join(wanted)} are refused together: name one form.")
    return next(iter(wanted), None)


def json_text(value: object) -> str:
    """JSON with control characters escaped."""
    return printable_json(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"


def check_writable(path: Path | None, *read: object) -> None:
    """Refuse a file that cannot be written, or that this command reads, before any work is done."""
    if path is None:
        return
    if any(_same_file(path, each) for each in read):
        raise DataError(
            "this command reads the file, and the result would replace it; name another file for the result.",
            Place(str(path)),
        )
    try:
        folder = resolved(path).parent
    except OSError:
        folder = path  # a cycle of symbolic links
    if not path.is_dir() and folder.is_dir() and os.access(folder, os.W_OK):
        return
    if path.exists() and not path.is_file() and not path.is_dir():
        return
    raise DataError(
        "cannot be written; name a file in an existing folder that you may write to.", Place(str(path))
    )


def _same_file(path: Path, other: object) -> bool:
    """Whether a file to write is an existing file that is read; names of other sources are no files."""
    if not isinstance(other, str | os.PathLike) or not os.fspath(other):
        return False
    try:
        return path.is_file() and path.samefile(other)
    except (OSError, ValueError):
        return False
