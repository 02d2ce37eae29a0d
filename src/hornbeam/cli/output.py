"""What commands write: results as CSV and JSON, to stdout or to a file; messages and progress on stderr.

Names come from users' data, so text that is printed has its control characters escaped: they move the cursor,
set the title or hide text, and direction characters reorder it.
"""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from hornbeam.errors import DataError, OptionError, Place
from hornbeam.files import resolved, write_file

if TYPE_CHECKING:
    from hornbeam.learning.history import Record


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


QUIET, NORMAL, VERBOSE = -1, 0, 1
"""How much is said: errors alone, notes too, or everything even if stderr is no terminal."""
_level = NORMAL


def set_level(level: int) -> None:
    """Set how much the following messages say."""
    global _level
    _level = level


def say(notices: Iterable[object]) -> None:
    """Print each notice once, on a line of its own."""
    for text in dict.fromkeys(map(str, notices)):
        print_message(f"note: {text}")


def remark(text: str) -> None:
    """Print a text if stderr is a terminal, or the user wants to know everything."""
    if sys.stderr.isatty() or _level == VERBOSE:
        print_message(text)


def detail(text: str) -> None:
    """Print a text if the user wants to know everything."""
    if _level == VERBOSE:
        print_message(text)


def say_written(path: Path | None, what: str) -> None:
    """Say what was written to which file; nothing if the result went to stdout."""
    if path is not None:
        print_message(f"wrote {what} to {path}")


def print_message(text: str) -> None:
    """Print a line to stderr, unless the user wants errors alone."""
    if _level > QUIET:
        print_error(text)


def print_error(text: str) -> None:
    """Print a line to stderr. A message that cannot be written is no reason to stop."""
    with suppress(OSError):
        print(wrapped(printable(text), sys.stderr), file=sys.stderr, flush=True)


_SECONDS = 5.0
"""Time between two lines of progress, if stderr is no terminal."""
_DETAIL = 34
"""Characters of a line of progress that are not its title: with them, a line fits a terminal."""


@contextmanager
def progress(steps: int | None) -> Iterator[Callable[[Record], None] | None]:
    """The progress of a fit: a bar if stderr is a terminal, lines if the user wants to know everything.

    ``steps`` is the maximum number of steps, or None. Finding candidates is a phase before the first step.
    """
    if not sys.stderr.isatty() or _level == QUIET:
        yield _lines_of_progress() if _level == VERBOSE else None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from hornbeam.learning.history import Collected

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description} {task.completed:.0f}{task.fields[most]}", markup=False),
        BarColumn(bar_width=10),
        TimeRemainingColumn(compact=True),
        # A clause has square brackets, which rich would take for markup.
        TextColumn("{task.fields[title]}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("candidates", total=1, title="", most="/1")
        phase = ""

        def on_step(step: Record) -> None:
            nonlocal phase
            total: int | None
            if isinstance(step, Collected):
                now, done, total, title = "candidates", step.path, step.paths, ""
            else:
                now, done, total = "step", step.number, steps
                title = printable(step.title.removeprefix("log-loss on "))
            if now != phase:
                bar.reset(task, total=total or done, description=now)
                phase = now
            room = max(console.width - _DETAIL, 10)
            shown = title if len(title) <= room else f"{title[: room - 3]}..."
            most = "" if total is None else f"/{total}"
            bar.update(task, completed=done, total=total or done, title=shown, most=most)

        yield on_step


def _lines_of_progress() -> Callable[[Record], None]:
    last = float("-inf")

    def on_step(step: Record) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS:
            last = now
            print_message(f"step {step.number}: {step.title}")

    return on_step


@contextmanager
def download_progress() -> Iterator[Callable[[int, int | None], None] | None]:
    """A progress bar over the bytes of a download, if stderr is a terminal."""
    if not sys.stderr.isatty() or _level == QUIET:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(bar_width=20), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)


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


class _ClosedStream(io.TextIOBase):
    """Stands for a stdout that was closed before the program began."""

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def open_closed_streams() -> None:
    """Give the program a stdout and a stderr if it was started without them, which Python shows as None.

    Results that go to a closed stdout are an error; messages are dropped.
    """
    if sys.stdout is None:
        sys.stdout = _ClosedStream()
    if sys.stderr is None:
        sys.stderr = io.StringIO()


def forget_stdout() -> None:
    """Drop what stdout still holds: Python would try to write it at the end, and report the error again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Clock:
    """Measures the seconds that each phase takes."""

    def __init__(self) -> None:
        self._laps: list[tuple[str, float]] = []
        self._start = time.perf_counter()

    def lap(self, name: str) -> None:
        """End a phase: the time since the end of the previous one belongs to it."""
        now = time.perf_counter()
        self._laps.append((name, now - self._start))
        self._start = now

    def total(self) -> float:
        """The seconds of all phases that have ended."""
        return sum(seconds for _, seconds in self._laps)

    def laps(self) -> tuple[tuple[str, float], ...]:
        return tuple(self._laps)
