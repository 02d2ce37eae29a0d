"""Measure which lines and branches the tests run: ``python reliability/coverage_of_tests.py --record``.

``--combined FILE`` reports the data of earlier runs, without running the tests. ``--rooms`` names the folders
that the figures are about, if the tests that were run are those of some rooms.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from results import ROOT, record

LEAST_SHOWN = 95.0
"""Modules with a lower percentage are listed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--combined", help="a data file of coverage")
    parser.add_argument("--tests", default="all tests", help="which tests were run, in words, if not all")
    parser.add_argument("--rooms", nargs="*", default=[], help="folders in src/hornbeam, if not all")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hornbeam-coverage-") as folder:
        data = options.combined or str(Path(folder) / "data")
        if not options.combined:
            _coverage(data, "run", "-m", "pytest", "-q")
            _coverage(data, "combine", "-q", folder)
        report = Path(folder) / "report.json"
        places = ",".join(f"src/hornbeam/{room}*" for room in options.rooms or [""])
        _coverage(data, "json", "-q", f"--include={places}", "-o", str(report))
        found = json.loads(report.read_text())
    figures = _figures(found) | {"tests": options.tests, "rooms": options.rooms}
    print(f"{figures['percent']}% of lines and branches")
    if options.record:
        record("coverage", figures)


def _coverage(data: str, *words: str) -> None:
    environment = os.environ | {"COVERAGE_FILE": data}
    done = subprocess.run([sys.executable, "-m", "coverage", *words], cwd=ROOT, env=environment)
    if done.returncode != 0:
        sys.exit(done.returncode)


def _figures(report: dict) -> dict[str, object]:  # type: ignore[type-arg]
    totals = report["totals"]
    below = {}
    for name, each in sorted(report["files"].items()):
        percent = each["summary"]["percent_covered"]
        if percent < LEAST_SHOWN:
            below[name.removeprefix("src/hornbeam/")] = round(percent, 1)
    return {
        "percent": round(totals["percent_covered"], 1),
        "lines": totals["num_statements"],
        "lines_run": totals["covered_lines"],
        "branches": totals["num_branches"],
        "branches_run": totals["covered_branches"],
        "below": below,
    }


if __name__ == "__main__":
    main()
