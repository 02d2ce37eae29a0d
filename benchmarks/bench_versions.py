"""The CPU time and memory of a default fit, beside another version of Hornbeam, in one run.

    python benchmarks/bench_versions.py [--other ENVIRONMENT/bin/hornbeam] [--repeats 3] [--only NAME ...]

Both run `hornbeam fit` with default options as whole processes, in turn; the least CPU time of each counts.
The other version is commit 79ebffe, from the history of the project, unless a command is given.
No variable limits threads or keeps Python from storing compiled modules, as in a user's environment; "one
thread" is this version with one BLAS thread.
The preset `paper` is run on a generated world of pairs with 500 constants per literal: one step, which counts
nearly all its candidates, and ten; both versions also with one BLAS thread.
Two jobs are compared with one: the CPU time of all processes and of the longest one, and their memory.
Data come from HORNBEAM_DATA or ../shared/data.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil

import measure
from bench_learning import write_world
from measure import DATA, PROJECT, say, table
from worlds import pairs_with_constants

HORNBEAM = Path(sys.executable).with_name("hornbeam")
OTHER = "79ebffe"
"""The commit of version 0.1."""
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
SAME_MODEL = ("default", "two jobs", "one thread")
"""ways whose models are the same, byte for byte"""
SCHEMA = Path(__file__).with_name("movielens_100k.toml")


class Case(NamedTuple):
    """Data to learn from, and the most CPU that a fit may take beside the other: default, cheap mode."""

    arguments: Sequence[str | Path]
    at_most: tuple[float, float] | None = None
    memory: float | None = None
    """the most memory beside the other"""
    has_other: bool = True
    """whether the other version can learn it"""


CASES: Mapping[str, Case] = {
    "UW-CSE": Case([DATA / "uwcse" / "fold1", "--target", "advisedby"], (1.0, 0.7)),
    "UW-CSE, all examples": Case(
        [DATA / "uwcse" / "fold1", "--target", "advisedby", "--neg-pos-ratio", "all"], (1.0, 0.7)
    ),
    "MovieLens 100K": Case(
        [DATA / "movielens_100k", "--schema", SCHEMA, "--target", "users.gender=F"], (1.0, 0.7)
    ),
    "ICML": Case([DATA / "icml", "--target", "coauthor"], (1 / 3, 1 / 3), 1 / 2),
    "mutagenesis": Case([DATA / "mutagenesis"]),
    "hepatitis": Case([DATA / "hepatitis"]),
    "Formula 1, driver-dnf": Case(
        [
            *(DATA / "f1", "--target", "dnf(drivers)"),
            *("--examples", DATA / "f1" / "labels" / "driver-dnf_train.csv"),
        ],
        has_other=False,
    ),
}

PAIRS = "pairs"
SEARCH = (
    "--split",
    "train",
    "--target",
    "match",
    "--preset",
    "paper",
    "--stop",
    "best",
    "--beam-width",
    "10",
)
JOBS_AT_MOST = (1.1, 0.6)
"""the most CPU time of two jobs beside one: of all processes, and of the longest"""
STEPS = {"one step": "1", "ten steps": "10"}
AS_MUCH_LESS = 6
"""how many times less CPU than the other version the preset `paper` is to take on pairs"""


class Program(NamedTuple):
    """A command, and the variables of its environment."""

    words: tuple[str, ...]
    environment: Mapping[str, str]


OURS = Program((str(HORNBEAM),), {})


def other_program(given: Path | None, folder: Path) -> Program:
    """The other version: the given command, or the commit, taken out of the history into a folder."""
    if given is not None:
        return Program((str(given),), {"PYTHONPATH": ""})
    archive = subprocess.run(
        ["git", "archive", OTHER, "src"], cwd=PROJECT, capture_output=True, check=True
    ).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    return Program((sys.executable, "-m", "hornbeam"), {"PYTHONPATH": str(folder / "src")})


def measured(case: Case, other: Program, repeats: int) -> dict[str, Any]:
    """The least CPU seconds and the peak memory of each way to learn, and whether jobs and threads matter."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.json"
        fit = ("fit", *map(str, case.arguments), "--model", str(model))
        ways: dict[str, tuple[Program, tuple[str, ...], Mapping[str, str]]] = {
            "default": (OURS, fit, {}),
            "two jobs": (OURS, (*fit, "--jobs", "2"), {}),
        }
        if case.has_other:
            ways["cheap"] = OURS, (*fit, "--bags", "1"), {}
            ways["one thread"] = OURS, fit, ONE_THREAD
            ways["other"] = other, fit, {}
        found: dict[str, Any] = {}
        models = set()
        for _ in range(repeats):
            for name, (program, words, environment) in ways.items():
                run = watched(program, words, environment)
                before = found.get(name, run)
                found[name] = {part: min(before[part], value) for part, value in run.items()}
                if name in SAME_MODEL:
                    models.add(model.read_bytes())
        return found | {"same": len(models) == 1}


def measured_pairs(other: Program, repeats: int) -> dict[str, Any]:
    """The least CPU seconds of the preset `paper` on pairs, and whether both versions learn the same."""
    ways = {
        "default": (OURS, {}),
        "one thread": (OURS, ONE_THREAD),
        "other": (other, {}),
        "other, one thread": (other, ONE_THREAD),
    }
    found: dict[str, Any] = {name: {} for name in STEPS}
    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder) / "pairs", Path(folder) / "model.json"
        write_world(pairs_with_constants(), data, "match")
        for name, steps in STEPS.items():
            clauses = {}
            for _ in range(repeats):
                for way, (program, environment) in ways.items():
                    words = ("fit", str(data), *SEARCH, "--steps", steps, "--model", str(model))
                    run = watched(program, words, environment)
                    clauses[way] = json.loads(model.read_text())["clauses"]
                    found[name][way] = min(found[name].get(way, float("inf")), run["cpu"])
            found[name]["same"] = all(each == clauses["default"] for each in clauses.values())
    return found


def pairs_table(results: Mapping[str, Any]) -> str:
    """The preset `paper` on pairs."""
    rows = []
    for name, found in results.get(PAIRS, {}).items():
        ours, one = found["default"], found["one thread"]
        shares = found["other"] / ours, found["other, one thread"] / one
        cpu = (f"{found[way]:.2f}" for way in ("default", "other", "one thread", "other, one thread"))
        met = " / ".join("met" if share >= AS_MUCH_LESS else "**missed**" for share in shares)
        same = "yes" if found["same"] else "no"
        rows.append([name, *cpu, *(f"{share:.1f}x" for share in shares), f">= {AS_MUCH_LESS}x, {met}", same])
    header = ["`paper` on pairs", "CPU", "0.1", "one thread", "0.1, one thread"]
    return table([*header, "0.1 / CPU", "0.1 / CPU, one thread", "wanted", "same clauses"], rows)


def watched(program: Program, arguments: Sequence[str], environment: Mapping[str, str]) -> dict[str, float]:
    """CPU seconds of all processes of a command and of the longest one, and the most memory that all had.

    Variables that limit threads are those of ``environment`` alone.
    """
    words = [*program.words, *arguments]
    limits = (*ONE_THREAD, "PYTHONDONTWRITEBYTECODE")
    of_user = {name: value for name, value in os.environ.items() if name not in limits}
    variables = of_user | dict(program.environment) | dict(environment)
    with tempfile.TemporaryFile() as output:
        started = psutil.Popen(words, stdout=output, stderr=subprocess.STDOUT, env=variables)
        cpu: dict[int, float] = {}
        peak = 0
        while not (ended := os.wait4(started.pid, os.WNOHANG))[0]:
            total = 0
            with suppress(psutil.NoSuchProcess):
                for each in (started, *started.children(recursive=True)):
                    times = each.cpu_times()
                    cpu[each.pid] = times.user + times.system
                    total += each.memory_info().rss
            peak = max(peak, total)
            time.sleep(0.02)
        started.returncode = os.waitstatus_to_exitcode(ended[1])
        output.seek(0)
        if started.returncode:
            raise SystemExit(f"{words} ended with {started.returncode}: {output.read()[-500:].decode()}")
    usage = ended[2]  # of the process and of those that it waited for
    longest = max(cpu.values()) if len(cpu) > 1 else usage.ru_utime + usage.ru_stime
    return {
        "cpu": usage.ru_utime + usage.ru_stime,
        "longest": longest,
        "peak": max(peak, usage.ru_maxrss * 1024),
    }


def jobs_table(results: Mapping[str, Any]) -> str:
    """Two jobs beside one."""
    rows = []
    for name in CASES:
        found = results["cases"].get(name, {})
        if "two jobs" in found:
            one, two = found["default"], found["two jobs"]
            cells = [one["cpu"], two["cpu"], two["longest"]]
            shares = [two["cpu"] / one["cpu"], two["longest"] / one["cpu"]]
            memory = [one["peak"] / 1e6, two["peak"] / 1e6]
            numbers = (*(f"{each:.2f}" for each in cells), *(f"{each:.2f}" for each in shares))
            same = "yes" if found["same"] else "**no**"
            met = "met" if shares[0] <= JOBS_AT_MOST[0] and shares[1] <= JOBS_AT_MOST[1] else "**missed**"
            rows.append([name, *numbers, met, *(f"{each:.0f}" for each in memory), same])
    wanted = f"wanted: {JOBS_AT_MOST[0]} / {JOBS_AT_MOST[1]}"
    header = ["data", "1 job", "2 jobs", "longest", "2 jobs / 1", "longest / 1", wanted]
    return table([*header, "MB", "MB of 2 jobs", "same model"], rows)


def report(results: Mapping[str, Any]) -> str:
    rows = []
    for name, case in CASES.items():
        found = results["cases"].get(name)
        if found is None or not case.has_other:
            continue
        base = found["other"]
        shares = [found[way]["cpu"] / base["cpu"] for way in ("default", "cheap")]
        peaks = [found[way]["peak"] for way in ("default", "other")]
        wanted = ""
        if case.at_most is not None:
            wanted = " / ".join(f"{most:.2g}" for most in case.at_most)
            met = all(share <= most for share, most in zip(shares, case.at_most, strict=True))
            if case.memory is not None:
                wanted += f", memory {case.memory:.2g}"
                met = met and peaks[0] <= case.memory * peaks[1]
            wanted += ", met" if met else ", **missed**"
        cpu = (f"{found[way]['cpu']:.2f}" for way in ("default", "cheap", "one thread", "other"))
        memory = (f"{peak / 1e6:.0f}" for peak in peaks)
        rows.append([name, *cpu, f"{shares[0]:.2f}", f"{shares[1]:.2f}", wanted, *memory])
    header = ["data", "default", "cheap", "one thread", "0.1", "default / 0.1", "cheap / 0.1", "wanted", "MB"]
    header.append("0.1 MB")
    tables = (table(header, rows), jobs_table(results), pairs_table(results))
    return "\n\n".join((measure.machine_line(results["machine"]), *tables))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--other", type=Path, help="the command of the other version")
    parser.add_argument("--only", nargs="+", choices=[*CASES, PAIRS], default=[*CASES, PAIRS])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--report", action="store_true", help="only write the table")
    arguments = parser.parse_args()
    results = measure.load("versions")
    results["machine"] = measure.machine(["hornbeam", "numpy", "scipy"])
    cases = results.setdefault("cases", {})
    with tempfile.TemporaryDirectory() as folder:
        other = None if arguments.report else other_program(arguments.other, Path(folder))
        for name in () if other is None else arguments.only:
            if name == PAIRS:
                results[PAIRS] = measured_pairs(other, arguments.repeats)
                say(f"{name}: {results[PAIRS]}")
            else:
                cases[name] = measured(CASES[name], other, arguments.repeats)
                say(f"{name}: {cases[name]}")
            measure.save("versions", results)
    measure.write_section("versions", report(results))


if __name__ == "__main__":
    main()
