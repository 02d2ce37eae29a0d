"""The file of results: one line of JSON per run, appended and synced, so that no finished run is lost.

If the process is killed while it writes a line, the line is incomplete; it is removed when the file is next
opened for writing. If a run has two rows, the later one counts.
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
from study.protocol import TRUTH, Run

Row = Mapping[str, Any]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """All complete rows of a file; none if there is no such file."""
    if not path.exists():
        return []
    rows = []
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines[:-1], start=1):
        try:
            rows.append(json.loads(line))
        except ValueError:
            raise DataError(
                "this line is not a row of results: remove it, then run the same command again.",
                Place(str(path), number),
            ) from None
    return rows


class RowFile:
    """A file of rows that is open for appending."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def append(self, row: Row) -> None:
        """Write a row, and return once it is on the disk."""
        self._file.write(json.dumps(row, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


@contextmanager
def appending(path: Path) -> Iterator[RowFile]:
    """Open a file of rows for appending; no other process can do so at the same time."""
    lock = path.with_name(f".{path.name}.lock")
    with locked(lock, f"{path} is being written"), path.open("a+b") as file:
        file.seek(0)
        end_of_rows = file.read().rfind(b"\n") + 1
        file.truncate(end_of_rows)
        yield RowFile(file)


def matched(runs: Sequence[Run], rows: Iterable[Row]) -> dict[int, Row]:
    """The latest row of each run that has one without an error, by the place of the run in the list."""
    known: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        if "error" not in row:
            known.setdefault(_names(row["task"], row["fold"], row["seed"], row["method"]), []).append(row)
    row_of_run: dict[int, Row] = {}
    for place, run in enumerate(runs):
        for row in reversed(known.get(_names(run.task, run.fold, run.seed, run.method), [])):
            if row["learner"] == run.learner and same_settings(run, row["settings"]):
                row_of_run[place] = row
                break
    return row_of_run


def _names(task: str, fold: int, seed: int, method: str) -> tuple[object, ...]:
    return task, fold, seed, method


def same_settings(run: Run, settings: Mapping[str, Any]) -> bool:
    """Whether a row's settings are those of the run.

    If an option was added after the row was written, the row counts as having the published value.
    """
    if settings == run.settings:
        return True
    if run.learner == TRUTH or not settings.keys() <= run.settings.keys():
        return False
    published = options_for(run.learner, PAPER if home_of(run.learner).presets else None).settings()
    known = {**published, **settings}
    return all(name in known and known[name] == value for name, value in run.settings.items())
