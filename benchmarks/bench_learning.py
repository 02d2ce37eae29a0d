"""The cost of learning: `hornbeam fit` as a whole process, beside the BoostSRL and SRLBoost programs.

    python benchmarks/bench_learning.py [--with-jars] [--only NAME ...] [--repeats 3] [--quick]

Both sides: two negatives for one positive. We have our default options, the programs 10 steps. They take
minutes, so their figures are kept in results/learning.json and used again on the same machine unless
--with-jars asks for new ones.
Data come from HORNBEAM_DATA or ../shared/data; data sets that are not there are left out, and said.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import jars
import measure
from hornbeam.data.database import Database
from hornbeam.datasets.worlds import smokers
from measure import say, seconds, table, times

HORNBEAM = Path(sys.executable).with_name("hornbeam")
AS_THE_PROGRAMS = ("--steps", "10", "--beam-width", "10", "--max-literals", "4", "--seed", "0")
SAMPLED = ("--neg-pos-ratio", "2")
EVERY = ("--neg-pos-ratio", "all")
FACTS_PER_PERSON = 14.75
COUNTERPARTS = {
    "mln-boost": ("BoostSRL MLN-Boost", "SRLBoost MLN-Boost"),
    "rdn-boost": ("BoostSRL RDN-Boost", "SRLBoost RDN-Boost"),
}
"""learners that the programs have too, run with their default options"""
AS_MUCH_LESS = 10
"""how many times less CPU than the same learner of BoostSRL"""
MLN_BOOST = "BoostSRL MLN-Boost"
LARGE = (MLN_BOOST, "SRLBoost MLN-Boost", "SRLBoost RDN-Boost")
"""the programs that are tried on larger data"""


@dataclass(frozen=True)
class Case:
    """A data set, how we learn on it, and the cost that we promise."""

    name: str
    target: str
    folder: str = ""
    folds: tuple[str, ...] = ("",)
    options: tuple[str, ...] = SAMPLED
    jars: tuple[str, ...] = field(default_factory=lambda: tuple(system.name for system in jars.SYSTEMS))
    facts: int = 0
    """size of a generated world; 0 for a data set of files"""
    times_less: float | None = None
    """how many times less CPU than MLN-Boost of BoostSRL"""
    at_most: float | None = None
    """CPU seconds"""


UWCSE_FOLDS = tuple(f"fold{i}" for i in range(1, 6))
CASES = (
    Case("UW-CSE", "advisedby", "uwcse", UWCSE_FOLDS, times_less=20),
    Case("IMDB", "workedUnder", "imdb", tuple(f"Fold{i}" for i in range(1, 6)), times_less=20),
    Case("WebKB", "faculty", "webkb", tuple(f"fold{i}" for i in range(1, 5)), times_less=10),
    Case("UW-CSE, every example", "advisedby", "uwcse", ("fold1",), EVERY, jars=(), at_most=18),
    Case("CiteSeer, every example", "infield_ftitle", "citeseer", ("fold1",), EVERY, LARGE, at_most=60),
    Case("smokers, 0.1M facts", "cancer", facts=100_000, jars=LARGE),
    Case("smokers, 1M facts", "cancer", facts=1_000_000, jars=(), at_most=60),
    Case("smokers, 10M facts", "cancer", facts=10_000_000, jars=()),
)


def main() -> None:
    arguments = _arguments()
    results = measure.load("learning")
    machine = measure.machine(["hornbeam", "numpy", "scipy"])
    if not _same_machine(results.get("machine"), machine):
        results = {}
    results["machine"] = machine
    results.setdefault("hornbeam", {})
    results.setdefault("jars", {})
    with_jars = arguments.with_jars or arguments.jars_only
    if with_jars and jars.java() is None:
        sys.exit("no java here: BoostSRL and SRLBoost cannot be run")
    with tempfile.TemporaryDirectory() as scratch:
        programs = jars.fetch(Path(scratch)) if with_jars else None
        for case in CASES:
            if arguments.only and case.name not in arguments.only:
                continue
            if arguments.quick and case.facts >= 10_000_000:
                continue
            folds = list(_folds(case, Path(scratch)))
            if not folds:
                say(f"{case.name}: no such data here, left out")
                continue
            if not arguments.jars_only:
                ours = results["hornbeam"].setdefault(case.name, {})
                for way, words in _ways(case).items():
                    ours[way] = _hornbeam(case, folds, way, words, arguments.repeats, Path(scratch))
            if programs and case.jars:
                chosen = [name for name in case.jars if name in (arguments.programs or case.jars)]
                found = _programs(case, folds, programs, chosen, arguments.jar_limit)
                results["jars"].setdefault(case.name, {}).update(found)
            measure.save("learning", results)
        if not arguments.jars_only:
            results["start_up"] = _start_up(arguments.repeats)
    measure.save("learning", results)
    if results["hornbeam"]:
        measure.write_section("learning", report(results))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--with-jars", action="store_true", help="run BoostSRL and SRLBoost as well")
    parser.add_argument("--jars-only", action="store_true", help="run BoostSRL and SRLBoost, not Hornbeam")
    parser.add_argument("--jar-limit", type=int, default=600, help="CPU seconds that a program gets per fold")
    names = [system.name for system in jars.SYSTEMS]
    parser.add_argument("--programs", nargs="+", metavar="NAME", choices=names, help="of them only these")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[case.name for case in CASES])
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the least time is taken")
    parser.add_argument("--quick", action="store_true", help="leave out the world of 10M facts")
    return parser.parse_args()


def _same_machine(one: dict[str, Any] | None, other: dict[str, Any]) -> bool:
    return one is not None and all(one[key] == other[key] for key in ("cores", "memory_gb", "processor"))


# --- data -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fold:
    """A folder in BoostSRL layout, and the file with its modes."""

    name: str
    data: Path
    background: Path


def _folds(case: Case, scratch: Path) -> Iterator[Fold]:
    if case.facts:
        folder = scratch / f"smokers_{case.facts}"
        if not folder.exists():
            write_world(smokers(round(case.facts / FACTS_PER_PERSON)), folder)
        yield Fold("generated", folder, folder / "train" / "train_bk.txt")
        return
    root = measure.DATA / case.folder
    for name in case.folds:
        background = next(
            (path for path in (root / name / "imdb_bk.txt", root / "background.txt") if path.exists()), None
        )
        if background:
            yield Fold(name, root / name, background)


def write_world(database: Database, folder: Path, target: str = "cancer") -> None:
    """A generated world as text files in BoostSRL layout."""
    train = folder / "train"
    train.mkdir(parents=True)
    with (train / "train_facts.txt").open("w") as file:
        for predicate, relation in database.relations.items():
            types = database.schema.types_of(predicate)
            columns = [
                database.population(type_name).decode(column)
                for type_name, column in zip(types, relation.columns, strict=True)
            ]
            for row in zip(*columns, strict=True):
                file.write(f"{predicate}({','.join(row)}).\n")
    keys, labels = database.examples(target)
    for kind, label in (("pos", 1), ("neg", 0)):
        rows = keys[labels == label]
        (train / f"train_{kind}.txt").write_text("".join(f"{target}({','.join(row)}).\n" for row in rows))
    (train / "train_bk.txt").write_text("".join(f"mode: {mode}\n" for mode in database.modes))


# --- runs -----------------------------------------------------------------------------------------


def _ways(case: Case) -> dict[str, tuple[str, ...]]:
    """The learners to run: the default, with one bag too, the paper's, and those that the programs have."""
    ways = {
        "default": ("--seed", "0"),
        "cheap": ("--bags", "1", "--seed", "0"),
        "paper": ("--preset", "paper", *AS_THE_PROGRAMS),
    }
    if case.times_less is not None:
        ways |= {learner: ("--learner", learner, "--steps", "10", "--seed", "0") for learner in COUNTERPARTS}
    return ways


def _hornbeam(
    case: Case, folds: Sequence[Fold], way: str, words: Sequence[str], repeats: int, scratch: Path
) -> list[dict[str, Any]]:
    """The least CPU and wall of each fold."""
    # As where it is installed: compiled once, not anew by every process.
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(scratch / "compiled")}
    lines = []
    for fold in folds:
        command = [
            *(HORNBEAM, "fit", fold.data, "--target", case.target.lower(), "--model", scratch / "model.json"),
            *("--split", "train", *words, *case.options),
        ]
        times_run = 1 if case.facts >= 10_000_000 else repeats
        runs = [measure.run_process(command, environment=compiled) for _ in range(times_run)]
        for run in runs:
            if run.status:
                sys.exit(f"{' '.join(map(str, command))} failed:\n{run.output}")
        lines.append(
            {
                "fold": fold.name,
                "cpu": min(run.cpu for run in runs),
                "wall": min(run.wall for run in runs),
                "peak": min(run.peak_bytes for run in runs),
                "skipped": runs[0].output.count("skipped"),
            }
        )
        say(f"{case.name} {fold.name}: hornbeam, {way} {seconds(lines[-1]['cpu'])} CPU")
    return lines


def _programs(
    case: Case, folds: Sequence[Fold], programs: Path, chosen: Sequence[str], limit: int
) -> dict[str, Any]:
    """One run of each chosen program on each fold."""
    found: dict[str, list[dict[str, Any]]] = {}
    for system in (system for system in jars.SYSTEMS if system.name in chosen):
        for fold in folds:
            train = jars.prepare(fold.data / "train", fold.background, programs)
            run = jars.learn(system, programs, train, case.target, limit)
            outcome = jars.outcome(run, limit)
            line = {"fold": fold.name, "cpu": run.cpu, "wall": run.wall, "peak": run.peak_bytes}
            found.setdefault(system.name, []).append(line | {"outcome": outcome})
            say(f"{case.name} {fold.name}: {system.name} {seconds(run.cpu)} CPU, {outcome}")
    return found


def _start_up(repeats: int) -> dict[str, Any]:
    """The time before anything happens: importing, and showing the help."""
    commands = {
        "import hornbeam": [sys.executable, "-c", "import hornbeam"],
        "hornbeam --help": [HORNBEAM, "--help"],
        "import numpy, scipy.sparse": [sys.executable, "-c", "import numpy, scipy.sparse"],
    }
    return {
        name: min(measure.run_process(command).cpu for _ in range(max(repeats, 5)))
        for name, command in commands.items()
    }


# --- the table ------------------------------------------------------------------------------------


def report(results: dict[str, Any]) -> str:
    """The section of README.md."""
    systems = [system.name for system in jars.SYSTEMS]
    header = ["data", "folds", "hornbeam CPU", "wall", "peak", "one bag, CPU", "as in the paper, CPU"]
    header += [*(f"{name} CPU" for name in systems), "target"]
    rows = [
        _row(case, results["hornbeam"][case.name], results["jars"].get(case.name, {}), systems)
        for case in CASES
        if case.name in results["hornbeam"]
    ]
    start_up = ", ".join(f"`{name}` {seconds(value)}" for name, value in results["start_up"].items())
    return "\n".join(
        [
            measure.machine_line(results["machine"]),
            "",
            table(header, rows),
            "",
            "Means over the folds; default options, two negatives for one positive unless every example is "
            "used. Behind a program's CPU is how many times ours that is; the programs take 10 steps. *As in "
            "the paper* is the preset of that name: 10 steps, beam 10, up to 4 literals.",
            "",
            _growth(results["hornbeam"]),
            "",
            f"Start-up, CPU: {start_up}.",
            "",
            "**The same learner on both sides**, each with its own defaults, 10 steps, two negatives for one "
            "positive:",
            "",
            _same_learners(results),
        ]
    )


def _row(
    case: Case, presets: dict[str, list[dict[str, Any]]], others: dict[str, Any], systems: Sequence[str]
) -> list[str]:
    ours = presets["default"]
    cpu = mean(line["cpu"] for line in ours)
    return [
        case.name,
        str(len(ours)),
        seconds(cpu),
        seconds(mean(line["wall"] for line in ours)),
        f"{max(line['peak'] for line in ours) / 1e6:.0f} MB",
        *(
            seconds(mean(line["cpu"] for line in presets[way])) if way in presets else "-"
            for way in ("cheap", "paper")
        ),
        *(_other(others.get(name), cpu) for name in systems),
        _target(case, cpu, others.get(MLN_BOOST)),
    ]


def _same_learners(results: dict[str, Any]) -> str:
    """Our MLN-Boost and RDN-Boost next to those of the programs."""
    header = ["data", "learner", "hornbeam CPU", "peak", "BoostSRL CPU", "SRLBoost CPU", "target"]
    rows = []
    for case in CASES:
        for learner, programs in COUNTERPARTS.items():
            ours = results["hornbeam"].get(case.name, {}).get(learner)
            if ours:
                others = results["jars"].get(case.name, {})
                cpu = mean(line["cpu"] for line in ours)
                theirs = others.get(programs[0])
                met = theirs and mean(line["cpu"] for line in theirs) >= AS_MUCH_LESS * cpu
                rows.append(
                    [
                        case.name,
                        learner,
                        seconds(cpu),
                        f"{max(line['peak'] for line in ours) / 1e6:.0f} MB",
                        *(_other(others.get(name), cpu) for name in programs),
                        f">= {AS_MUCH_LESS}x less than {programs[0]}, {'met' if met else '**missed**'}",
                    ]
                )
    return table(header, rows)


def _other(lines: list[dict[str, Any]] | None, ours: float) -> str:
    if not lines:
        return "-"
    failed = [line["outcome"] for line in lines if line["outcome"] != "done"]
    if failed:
        return failed[0]
    cpu = mean(line["cpu"] for line in lines)
    return f"{seconds(cpu)} ({times(cpu / ours)})"


def _target(case: Case, cpu: float, mln_boost: list[dict[str, Any]] | None) -> str:
    if case.times_less is not None and mln_boost:
        met = mean(line["cpu"] for line in mln_boost) >= case.times_less * cpu
        return f">= {case.times_less:g}x less than {MLN_BOOST}, {'met' if met else '**missed**'}"
    if case.at_most is not None:
        return f"<= {case.at_most:g} s, {'met' if cpu <= case.at_most else '**missed**'}"
    return "-"


def _growth(ours: dict[str, dict[str, list[dict[str, Any]]]]) -> str:
    sizes = [
        (case.facts, ours[case.name]["default"][0]["cpu"])
        for case in CASES
        if case.facts and case.name in ours
    ]
    steps = [
        f"{small / 1e6:g}M to {large / 1e6:g}M facts {times(after / before)}"
        for (small, before), (large, after) in pairwise(sizes)
    ]
    return f"Growth of CPU with the size of the smokers world: {', '.join(steps) or 'one size only'}."


if __name__ == "__main__":
    main()
