"""Messages on stderr: notes, and progress bars if stderr is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from hornbeam.cli.printable import printable

if TYPE_CHECKING:
    from pathlib import Path

    from hornbeam.learning.history import Record


def say(notices: Iterable[object]) -> None:
    """Print each notice once, on a line of its own."""
    for text in dict.fromkeys(map(str, notices)):
        print_message(f"note: {text}")


def remark(text: str) -> None:
    """Print a text if stderr is a terminal."""
    if sys.stderr.isatty():
        print_message(text)


def say_written(path: Path | None, what: str) -> None:
    """Say what was written to which file; nothing if the result went to stdout."""
    if path is not None:
        print_message(f"wrote {what} to {path}")


def print_message(text: str) -> None:
    """Print a line to stderr. A message that cannot be written is no reason to stop."""
    with suppress(OSError):
        print(printable(text), file=sys.stderr, flush=True)


@contextmanager
def progress(steps: int | None) -> Iterator[Callable[[Record], None] | None]:
    """A progress bar over the steps of a fit, if stderr is a terminal; ``steps`` is their number or None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    columns = (
        SpinnerColumn(),
        TextColumn("step {task.completed}" if steps is None else "step {task.completed}/{task.total}"),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[candidates]:,} candidates"),
        TimeElapsedColumn(),
        # A clause has square brackets, which rich would take for markup.
        TextColumn("{task.fields[clause]}", markup=False, table_column=Column(no_wrap=True, ratio=1)),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=steps, candidates=0, clause="searching ...")
        candidates = 0

        def on_step(step: Record) -> None:
            nonlocal candidates
            candidates += step.candidates
            bar.update(task, completed=step.number, candidates=candidates, clause=printable(step.title))

        yield on_step


@contextmanager
def download_progress() -> Iterator[Callable[[int, int | None], None] | None]:
    """A progress bar over the bytes of a download, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(bar_width=20), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)


@contextmanager
def run_progress() -> Iterator[Callable[[int, int, dict[str, Any]], None] | None]:
    """A progress bar over the runs of a study, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("run {task.completed}/{task.total}"),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.fields[last]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, last="")

        def on_row(done: int, total: int, row: dict[str, Any]) -> None:
            last = f"{row['method']} on {row['task']}, fold {row['fold']}"
            bar.update(task, completed=done, total=total, last=last)

        yield on_row
