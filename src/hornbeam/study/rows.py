"""The file of results: a line of JSON per run, appended and synced, so that a kill loses nothing finished.

A line that was being written when the process was killed is not whole; it is cut off when the file is
next opened for writing. Of two rows of one run the later counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from hornbeam.errors import DataError, Place
from hornbeam.files import locked
from hornbeam.learning.learners import home_of, options_for
from hornbeam.learning.options import PAPER
from hornbeam.study.protocol import TRUTH, Run

Row = Mapping[str, Any]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """All whole rows of a file; a file that is not there has none."""
    if not path.exists():
        return []
    rows = []
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines[:-1], start=1):
        try:
            rows.append(json.loads(line))
        except ValueError:
            raise DataError(
                "this line is no row of results; remove it to go on.", Place(str(path), number)
            ) from None
    return rows


class RowFile:
    """A file of rows that is open for appending."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def append(self, row: Row) -> None:
        """Write a row; when this returns, it is on the disk."""
        self._file.write(json.dumps(row, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


@contextmanager
def appending(path: Path) -> Iterator[RowFile]:
    """Open a file of rows for appending, as the only process that does."""
    lock = path.with_name(f".{path.name}.lock")
    with locked(lock, f"{path} is being written"), path.open("a+b") as file:
        file.seek(0)
        whole = file.read().rfind(b"\n") + 1
        file.truncate(whole)
        yield RowFile(file)


def matched(runs: Sequence[Run], rows: Iterable[Row]) -> dict[int, Row]:
    """For each run, by its place in the list, the last row that is of it and was no failure."""
    known: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        if "error" not in row:
            known.setdefault(_names(row["task"], row["fold"], row["seed"], row["method"]), []).append(row)
    found: dict[int, Row] = {}
    for place, run in enumerate(runs):
        for row in reversed(known.get(_names(run.task, run.fold, run.seed, run.method), [])):
            if row["learner"] == run.learner and same_settings(run, row["settings"]):
                found[place] = row
                break
    return found


def _names(task: str, fold: int, seed: int, method: str) -> tuple[object, ...]:
    return task, fold, seed, method


def same_settings(run: Run, settings: Mapping[str, Any]) -> bool:
    """Whether a row's settings are those of the run.

    An option that is newer than the row has, for the row, the value of the published algorithm.
    """
    if settings == run.settings:
        return True
    if run.learner == TRUTH or not settings.keys() <= run.settings.keys():
        return False
    published = options_for(run.learner, PAPER if home_of(run.learner).presets else None).settings()
    return all(settings.get(name, published[name]) == value for name, value in run.settings.items())
