"""The verb ``demo``: a first look on generated data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hornbeam.cli.command import verb
from hornbeam.cli.output import check_writable, write_result


@verb
def demo(
    *,
    report: Annotated[
        Path, typer.Option("--report", metavar="FILE", help="Write the report to this file.")
    ] = Path("report.html"),
) -> None:
    """Learn, score and explain on generated data; needs no files.

    \b
    Example: hornbeam demo
    """
    from hornbeam.cli.demonstration import story

    check_writable(report)
    for part in story(report):
        write_result([f"{part}\n"], None)
