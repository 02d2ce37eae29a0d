"""Results: CSV and JSON, to stdout or to a file that is written whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from hornbeam.cli.printable import printable, printable_json
from hornbeam.errors import DataError, Place
from hornbeam.files import resolved, write_file

_ROWS_AT_ONCE = 10_000


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """CSV in pieces, so that a large result is never one text."""
    remaining = iter(rows)
    piece: list[Sequence[object]] = [header]
    while piece:
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows(piece)
        yield buffer.getvalue()
        piece = list(islice(remaining, _ROWS_AT_ONCE))


def write_result(text: Iterable[str], out: Path | None, exact: bool = False) -> None:
    """To the file, or to stdout where none is named.

    What a terminal would obey is written out, but not in ``exact`` text that another program reads.
    """
    if out is not None:
        write_file(out, text)
        return
    as_it_is = exact and not sys.stdout.isatty()
    for piece in text:
        sys.stdout.write(piece if as_it_is else printable(piece))


def json_text(value: object) -> str:
    return printable_json(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"


def check_writable(path: Path | None) -> None:
    """Refuse a file that cannot be written before the work, not after it."""
    if path is None:
        return
    try:
        folder = resolved(path).parent
    except OSError:
        folder = path  # links in a circle
    if not path.is_dir() and folder.is_dir() and os.access(folder, os.W_OK):
        return
    if path.exists() and not path.is_file() and not path.is_dir():
        return
    raise DataError(
        "cannot be written; name a file in an existing folder that you may write to.", Place(str(path))
    )
