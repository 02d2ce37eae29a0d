"""The verb ``demo``: the commands of a first hour, run on a made-up shop."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from hornbeam.cli.app import app_of
from hornbeam.cli.command import verb
from hornbeam.cli.output import check_writable, write_result
from hornbeam.errors import DataError, Place

COMMANDS = (
    "fit shop --target customers.churned --examples train.csv --effects 2 --no-per-constant "
    "--model churn.json",
    "show churn.json",
    "evaluate shop churn.json --examples test.csv",
    "explain shop churn.json c401",
)
"""What is run, in the folder with the shop."""
REPORT = "report shop churn.json --examples test.csv --out"


@verb
def demo(
    *,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            metavar="FOLDER",
            help="Leave the shop, the model and the report in this new folder.",
        ),
    ] = None,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Instead, learn from a university who advises whom.")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write the report to this file.  [default: report.html; with --keep, in FOLDER]",
        ),
    ] = None,
) -> None:
    """Learn who leaves a made-up shop, score, explain; needs no files.

    The commands are printed and run. Without --keep, only the report is left.

    \b
    Example: hornbeam demo --keep try
    """
    if keep is not None and keep.exists():
        raise DataError("is there already; name a new folder.", Place(str(keep)))
    page = report or (Path("report.html") if keep is None else keep / "report.html")
    if keep is None or report is not None:
        check_writable(page)
    if pairs:
        _pairs(keep, page)
        return
    with _shop(keep) as folder:
        own = keep is not None and report is None
        shown = page.name if own else str(page)
        written = shown if own else str(Path.cwd() / page)
        _told(f"A shop in three tables, made up: customers, products and orders. Who leaves?\n{_where(keep)}")
        with _inside(folder):
            for command in COMMANDS:
                _run(command, command)
            _run(f"{REPORT} {shlex.quote(shown)}", f"{REPORT} {shlex.quote(written)}")
    _told("For your own data: hornbeam fit DATA lists what may be learned. More: hornbeam demo --pairs.")


def _pairs(keep: Path | None, page: Path) -> None:
    from hornbeam.cli.verbs.generated.pairs import story

    if keep is not None:
        keep.mkdir()
    for part in story(page):
        _told(part)


def _where(keep: Path | None) -> str:
    return "" if keep is None else f"To run these commands yourself: cd {shlex.quote(str(keep))}\n"


@contextmanager
def _shop(keep: Path | None) -> Iterator[Path]:
    """A folder with the shop: a new one that stays, or a temporary one."""
    from hornbeam.datasets.worlds import write_shop

    if keep is not None:
        try:
            keep.mkdir()
        except OSError as error:
            raise DataError(f"cannot be made ({error.strerror}).", Place(str(keep))) from None
        write_shop(keep)
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="hornbeam-") as folder:
        write_shop(Path(folder))
        yield Path(folder)


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Run what follows in a folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _run(shown: str, command: str) -> None:
    """Print a command, and run it as if it had been typed."""
    _told(f"$ hornbeam {shown}", end="")
    words = shlex.split(command)
    app_of(words[:1])(words, prog_name="hornbeam", standalone_mode=False)
    _told("", end="")


def _told(text: str, end: str = "\n") -> None:
    write_result([f"{text}\n{end}"], None)
