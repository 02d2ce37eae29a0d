"""The verb ``reproduce``: run the published study again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hornbeam.cli.command import INTERRUPTED, verb
from hornbeam.cli.messages import download_progress, remark, run_progress, say
from hornbeam.cli.output import write_result


@verb
def reproduce(
    *,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for the results, the report and its figures.")
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Run on two small generated worlds; needs no files.")
    ] = False,
    jobs: Annotated[int, typer.Option("--jobs", metavar="NUMBER", help="Number of processes.")] = 2,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="METHOD", help="Run only this method; may be repeated."),
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option("--data", metavar="TASK", help="Run only this task; may be repeated.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Run everything again, even runs that have a result.")
    ] = False,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Only write the report of the results so far.")
    ] = False,
) -> None:
    """Run the published study again and write a report.

    Runs boosted RLR in three settings, AGG-LR, ILP-RLR, MLN-Boost and RDN-Boost on the paper's five data
    sets, fold by fold. Each result is added to DIR/runs.jsonl when it is finished; after an interruption the
    same command continues. Then DIR/REPORT.md and DIR/figures are written. Data are read from HORNBEAM_DATA
    or the user's cache; missing data are downloaded (see hornbeam datasets).

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
            # One progress bar after the other: older versions of rich cannot draw two at once.
            with download_progress() as on_download:
                fetch_data(study, out, **limits, on_download=on_download)
            with run_progress() as on_row:
                results = run_study(study, out, jobs=jobs, **limits, on_row=on_row)
        except KeyboardInterrupt:
            say(["interrupted; finished runs are kept, and the same command continues from there."])
            raise typer.Exit(INTERRUPTED) from None
    say(results.errors)
    if results.missing:
        say([f"{len(results.missing):,} of {len(results.runs):,} runs have no result yet."])
    remark(f"{len(results.rows):,} runs")
    write_result([f"{out / REPORT}\n"], None)
