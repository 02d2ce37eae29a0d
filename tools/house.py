"""How large the package is, and what its commands import.

python tools/house.py            lines and modules by room, sums of some rooms, and parts of later versions
python tools/house.py --verbs    modules that commands load, and of a fit those that run
python tools/house.py --modules  the modules that a fit loads and does not run
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "hornbeam"
OUTSIDE = "(beside rooms)"

SUMS = {
    "counting: engines, in_place, search of clauses": (
        "engines/",
        "in_place/",
        "learning/search/",
        "learning/boosting/",
    ),
    "joint models with their verbs and views": (
        "joint/",
        "cli/opened.py",
    ),
    "rivals": ("rivals/",),
}
"""What is read together, by the beginning of paths."""

LATER = {
    "policies": ("policies/", "cli/verbs/policies.py", "cli/verbs/policy.py", "estimators/policy.py"),
    "serve and edit": (
        "report/live/",
        "model/editing/",
        "cli/verbs/serve.py",
        "cli/verbs/edit.py",
        "loading/tables/columns/changes.py",
    ),
    "export to dbt, MLflow and model cards": (
        "report/dbt.py",
        "engines/export/dbt.py",
        "report/card.py",
        "cli/verbs/card.py",
        "mlflow.py",
    ),
    "labels from events": ("loading/events/", "cli/verbs/examples.py"),
    "choices": (
        "learning/losses/choice.py",
        "learning/effects/examples/choices.py",
        "model/choices.py",
        "model/readable/runner_up.py",
    ),
    "composite and foreign keys": (
        "loading/tables/columns/folding.py",
        "loading/tables/near_links.py",
        "loading/tables/row_times.py",
    ),
}
"""Modules that are there for what the first version did not have, by the beginning of their paths."""

SHOWN = """
import json, sys
run = set()
def called(frame, event, _):
    code = frame.f_code
    # Bodies of modules and of classes are no functions: they run when they are imported.
    if event == "call" and code.co_flags & 1 and "/hornbeam/" in code.co_filename:
        run.add(frame.f_globals.get("__name__", ""))
from hornbeam.cli import main
sys.setprofile(called)
status = 0
try:
    main(sys.argv[1:])
except SystemExit as left:
    status = left.code or 0
sys.setprofile(None)
print(json.dumps([status, sorted(n for n in sys.modules if n.split(".")[0] == "hornbeam"), sorted(run)]))
"""


class Size(NamedTuple):
    """A number of modules, and of their lines."""

    modules: int
    lines: int

    def __str__(self) -> str:
        return f"{self.modules:4d} modules {self.lines:7,d} lines"


class Loaded(NamedTuple):
    """The modules of ours that are loaded at the end of a command, and those of which a function ran."""

    names: list[str]
    run: list[str]


def lines_by_module() -> dict[str, int]:
    """The number of lines of each module, by its path in the package."""
    return {
        path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8").count("\n")
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def size_of(lines: dict[str, int], starts: Sequence[str] = ("",)) -> Size:
    """The size of the modules whose paths begin in one of these ways."""
    found = [number for path, number in lines.items() if path.startswith(tuple(starts))]
    return Size(len(found), sum(found))


def rooms(lines: dict[str, int]) -> dict[str, Size]:
    """The size of each room; modules beside the rooms are together in one row."""
    by_room: dict[str, dict[str, int]] = {}
    for path, number in lines.items():
        room = path.split("/")[0] if "/" in path else OUTSIDE
        by_room.setdefault(room, {})[path] = number
    return {room: size_of(of_room) for room, of_room in sorted(by_room.items())}


def imported_by(words: Sequence[str], folder: Path) -> Loaded:
    """What a command loads, which runs in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", SHOWN, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    status, names, run = json.loads(done.stdout.splitlines()[-1])
    if status:
        sys.exit(f"hornbeam {' '.join(words)} ended with {status}:\n{done.stderr}")
    return Loaded(names, [name for name in run if name in names])


def verbs(folder: Path) -> Iterator[tuple[str, Loaded]]:
    """Some commands on a small generated shop, each with the modules that it loads."""
    from hornbeam.datasets.worlds.shop import write_shop

    write_shop(folder, 200)
    shop, model = "shop", ("--model", "m.json", "-q")
    for words in (
        ("fit", shop, "--target", "customers.churned", "--bags", "2", *model),
        ("predict", shop, *model, "--out", "p.csv"),
        ("show", "m.json", "--out", "shown.txt", "-q"),
        ("inspect", shop, "-q"),
    ):
        yield words[0], imported_by(words, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description="How large the package is, and what commands import.")
    parser.add_argument("--verbs", action="store_true", help="count the modules that commands load and run")
    parser.add_argument("--modules", action="store_true", help="name what a fit loads and does not run")
    given = parser.parse_args()
    if given.verbs or given.modules:
        with tempfile.TemporaryDirectory() as scratch:
            for verb, loaded in verbs(Path(scratch)):
                if given.verbs:
                    _print_verb(verb, loaded)
                elif verb == "fit":
                    print("\n".join(sorted(set(loaded.names) - set(loaded.run))))
        return
    lines = lines_by_module()
    for room, size in rooms(lines).items():
        print(f"{room:48s} {size}")
    print(f"{'all':48s} {size_of(lines)}\n")
    for name, starts in SUMS.items():
        print(f"{name:48s} {size_of(lines, starts)}")
    for name, starts in LATER.items():
        print(f"{'later: ' + name:48s} {size_of(lines, starts)}")
    every = [start for starts in LATER.values() for start in starts]
    rest = {path: number for path, number in lines.items() if not path.startswith(tuple(every))}
    print(f"{'all but what came later':48s} {size_of(rest)}")


def _print_verb(verb: str, loaded: Loaded) -> None:
    found = Counter(name.split(".")[1] for name in loaded.names if "." in name)
    by_room = ", ".join(f"{room} {number}" for room, number in found.most_common())
    print(f"{verb:8s} {len(loaded.names):4d} modules, {len(loaded.run)} run: {by_room}")


if __name__ == "__main__":
    main()
