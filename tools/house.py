"""How large the package is, and what each verb imports.

python tools/house.py            lines and modules by room
python tools/house.py --verbs    modules of ours that are loaded at the end of some commands
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

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "hornbeam"
SHOWN = """
import json, sys
from hornbeam.cli import main
try:
    main(sys.argv[1:])
except SystemExit as left:
    status = left.code or 0
print(json.dumps([status, sorted(name for name in sys.modules if name.split(".")[0] == "hornbeam")]))
"""


def rooms() -> dict[str, tuple[int, int]]:
    """The number of modules and of lines of each room; modules beside the rooms are together in one row."""
    modules: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).parts
        room = parts[0] if len(parts) > 1 else "(beside rooms)"
        modules[room] += 1
        lines[room] += path.read_text(encoding="utf-8").count("\n")
    return {room: (modules[room], lines[room]) for room in sorted(modules)}


def imported_by(words: Sequence[str], folder: Path) -> list[str]:
    """The modules of ours that are loaded at the end of a command, which runs in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", SHOWN, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    status, names = json.loads(done.stdout.splitlines()[-1])
    if status:
        sys.exit(f"hornbeam {' '.join(words)} ended with {status}:\n{done.stderr}")
    return list(names)


def verbs(folder: Path) -> Iterator[tuple[str, list[str]]]:
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
    parser = argparse.ArgumentParser(description="How large the package is.")
    parser.add_argument("--verbs", action="store_true", help="count the modules that commands load")
    if parser.parse_args().verbs:
        with tempfile.TemporaryDirectory() as scratch:
            for verb, names in verbs(Path(scratch)):
                found = Counter(name.split(".")[1] for name in names if "." in name)
                rooms_of = ", ".join(f"{room} {number}" for room, number in found.most_common())
                print(f"{verb:8s} {len(names):4d} modules: {rooms_of}")
        return
    found = rooms()
    for room, (modules, lines) in found.items():
        print(f"{room:16s} {modules:4d} modules {lines:7,d} lines")
    modules, lines = (sum(column) for column in zip(*found.values(), strict=True))
    print(f"{'all':16s} {modules:4d} modules {lines:7,d} lines")


if __name__ == "__main__":
    main()
