"""The CPU time of the preset `paper` on UW-CSE, beside MLN-Boost of BoostSRL, in one run.

    python benchmarks/bench_paper.py [--folds 5] [--repeats 3] [--report]

Whole processes, with compiled modules stored. No variable limits threads. Data come from HORNBEAM_DATA or
../shared/data.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import jars
import measure
from measure import run_process, say, seconds, table, times

HORNBEAM = Path(sys.executable).with_name("hornbeam")
UWCSE = measure.DATA / "uwcse"
PROGRAM = next(system for system in jars.SYSTEMS if system.name == "BoostSRL MLN-Boost")
SEARCH = ("--target", "advisedby", "--preset", "paper", "--stop", "best", "--beam-width", "10")
WAYS: Mapping[str, Sequence[str]] = {
    "two negatives for one positive": ("--neg-pos-ratio", "2"),
    "all negatives, the default": (),
}
TIMES_LESS = 24
PROGRAM_REPEATS = 2
"""how often the program is run, whose CPU differs much between runs; the least counts"""
LIMIT = 600
"""CPU seconds that the program gets per fold"""


def measured(fold: str, programs: Path, repeats: int) -> dict[str, Any]:
    """The least CPU seconds of each way on one fold, and those of the program."""
    found: dict[str, Any] = {}
    model = programs / "model.json"
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(programs / "compiled")}
    # The first run stores the compiled modules.
    for _ in range(repeats + 1):
        for way, words in WAYS.items():
            command = [HORNBEAM, "fit", UWCSE / fold, "--split", "train", *SEARCH, *words, "--model", model]
            run = run_process(command, environment=compiled)
            if run.status:
                raise SystemExit(f"{command} ended with {run.status}: {run.output[-500:]}")
            found[way] = min(found.get(way, float("inf")), run.cpu)
    train = jars.prepare(UWCSE / fold / "train", UWCSE / "background.txt", programs)
    runs = [jars.learn(PROGRAM, programs, train, "advisedby", LIMIT) for _ in range(PROGRAM_REPEATS)]
    run = min(runs, key=lambda each: each.cpu)
    return found | {"program": run.cpu, "outcome": jars.outcome(run, LIMIT)}


def report(results: Mapping[str, Any]) -> str:
    folds = results["folds"].values()
    theirs = mean(fold["program"] for fold in folds)
    rows = []
    for way in WAYS:
        ours = mean(fold[way] for fold in folds)
        met = "met" if theirs >= TIMES_LESS * ours else "**missed**"
        least = min(fold["program"] / fold[way] for fold in folds)
        share = [times(theirs / ours), times(least), f">= {TIMES_LESS}x, {met}"]
        rows.append([way, str(len(folds)), seconds(ours), seconds(theirs), *share])
    header = [
        "negatives",
        "folds",
        "hornbeam CPU",
        f"{PROGRAM.name} CPU",
        "times less",
        "least of the folds",
        "wanted",
    ]
    return f"{measure.machine_line(results['machine'])}\n\n{table(header, rows)}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folds", type=int, default=5, help="so many of the five folds")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--report", action="store_true", help="only write the table")
    arguments = parser.parse_args()
    results = measure.load("paper")
    if not arguments.report and jars.java() is None:
        say("no java here: BoostSRL cannot be run, and the table stays as it is")
    elif not arguments.report:
        results = {"machine": measure.machine(["hornbeam", "numpy", "scipy"]), "folds": {}}
        with tempfile.TemporaryDirectory() as scratch:
            programs = jars.fetch(Path(scratch))
            for number in range(1, arguments.folds + 1):
                fold = f"fold{number}"
                results["folds"][fold] = measured(fold, programs, arguments.repeats)
                say(f"{fold}: {results['folds'][fold]}")
                measure.save("paper", results)
    measure.write_section("paper", report(results))


if __name__ == "__main__":
    main()
