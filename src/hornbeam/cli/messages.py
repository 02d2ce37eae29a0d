"""Messages on stderr: notes, and progress bars if stderr is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from hornbeam.cli.printable import printable, wrapped

if TYPE_CHECKING:
    from pathlib import Path

    from hornbeam.learning.history import Record


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
