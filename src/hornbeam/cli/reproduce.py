"""The verb reproduce: the published study, run anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hornbeam.cli.messages import download_progress, remark, run_progress, say
from hornbeam.cli.output import write_result

_INTERRUPTED = 130


def reproduce(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for rows, report, figures.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Two small generated worlds; no data needed.")
    ] = False,
    jobs: Annotated[int, typer.Option("--jobs", help="Worker processes.")] = 2,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="METHOD", help="Run this method only; repeatable.")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option("--data", metavar="TASK", help="Run this task only; repeatable.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Run also what has a row already.")] = False,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Run nothing: write the report.")
    ] = False,
) -> None:
    """Run the published study anew and report it.

    Boosted RLR in three settings, AGG-LR, ILP-RLR, MLN-Boost and RDN-Boost on the paper's five data sets,
    fold by fold. Rows go to DIR/runs.jsonl as they are finished; the same command goes on after an
    interruption. Then DIR/REPORT.md and DIR/figures are written. Data come from HORNBEAM_DATA or the
    user's cache, else they are downloaded (see hornbeam datasets).

    \b
    Example: hornbeam reproduce --out results
    """
    from hornbeam.study.protocol import full_study, quick_study
    from hornbeam.study.report.write import REPORT
    from hornbeam.study.reproduce import fetch_data, report
    from hornbeam.study.reproduce import reproduce as run_study

    study = quick_study() if quick else full_study()
    if report_only:
        results = report(study, out)
    else:
        limits: dict[str, Any] = {"methods": only or (), "tasks": data or (), "again": again}
        try:
            # One bar after the other: two at once are more than older versions of rich can draw.
            with download_progress() as on_download:
                fetch_data(study, out, **limits, on_download=on_download)
            with run_progress() as on_row:
                results = run_study(study, out, jobs=jobs, **limits, on_row=on_row)
        except KeyboardInterrupt:
            say(["interrupted; finished runs are kept, and the same command goes on from there."])
            raise typer.Exit(_INTERRUPTED) from None
    say(results.errors)
    if results.missing:
        say([f"{len(results.missing):,} of {len(results.runs):,} runs have no row yet."])
    remark(f"{len(results.rows):,} runs")
    write_result([f"{out / REPORT}\n"], None)
