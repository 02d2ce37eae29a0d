"""Run the published study again and write a report: ``make reproduce OUT=DIR [QUICK=1]``, or

    python -m study --out DIR [--quick] [--jobs 2] [--only METHOD] [--data TASK] [--again] [--report-only]

Boosted RLR in three settings, AGG-LR, ILP-RLR, MLN-Boost and RDN-Boost run on the paper's five data sets,
fold by fold. Each result is added to DIR/runs.jsonl when it is finished; after an interruption the same
command continues. Then DIR/REPORT.md and DIR/figures are written. Data are read from HORNBEAM_DATA or the
cache of the user; missing data are downloaded.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hornbeam.errors import HornbeamError
from study.protocol import full_study, quick_study
from study.report.write import REPORT
from study.reproduce import fetch_data, report, reproduce

FAILED, INTERRUPTED = 2, 130


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="study", description="Run the published study again.")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of results and report")
    parser.add_argument("--quick", action="store_true", help="two small generated worlds; needs no files")
    parser.add_argument("--jobs", type=int, default=2, metavar="NUMBER", help="number of processes")
    parser.add_argument("--only", action="append", default=[], metavar="METHOD", help="only this method")
    parser.add_argument("--data", action="append", default=[], metavar="TASK", help="only this task")
    parser.add_argument("--again", action="store_true", help="also runs that have a result")
    parser.add_argument("--report-only", action="store_true", help="only write the report so far")
    given = parser.parse_args(words)
    try:
        results = _results(given)
    except HornbeamError as error:
        _say(f"study: {error}")
        return FAILED
    except KeyboardInterrupt:
        _say("interrupted; finished runs are kept, and the same command continues from there.")
        return INTERRUPTED
    for each in results.errors:
        _say(each)
    if results.missing:
        _say(f"{len(results.missing):,} of {len(results.runs):,} runs have no result yet.")
    print(given.out / REPORT)
    return 0


def _results(given: argparse.Namespace) -> Any:
    study = quick_study() if given.quick else full_study()
    if given.report_only:
        return report(study, given.out)
    limits: dict[str, Any] = {"methods": given.only, "tasks": given.data, "again": given.again}
    fetch_data(study, given.out, **limits)
    return reproduce(study, given.out, jobs=given.jobs, **limits, on_row=_done)


def _done(number: int, total: int, row: dict[str, Any]) -> None:
    if sys.stderr.isatty():
        _say(f"run {number:,} of {total:,}: {row['method']} on {row['task']}, fold {row['fold']}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
