"""The cost of loading data: from text of facts to a database that is ready to be counted.

    python benchmarks/bench_loading.py [--repeats N]

Writes results/loading.json and its table in README.md. Generated worlds are written to a temporary
folder first, which is not timed. Public data come from HORNBEAM_DATA or ../shared/data; data sets
that are not there are left out, and said.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import measure
import worlds
from hornbeam.data.database import Database
from hornbeam.loading import load
from measure import say

TARGET_SECONDS_PER_MILLION = 3.0
BACKGROUND = "friends(+person,-person).\nfriends(-person,+person).\nsmokes(+person).\nlives(+person,#city).\n"
PUBLIC = [("uwcse/fold1", "train"), ("citeseer/fold1", "train"), ("movielens_paper", None)]
STYLES = {
    "plain": "{}({}).\n",
    "spaces, CRLF": " {} ( {} ).\r\n",
    "quoted": "{}('{}').\n",
    "no full stops": "{}({})\n",
    "comment on each line": "{}({}).  % seen\n",
}
JOINS = {"spaces, CRLF": " , ", "quoted": "', '"}


def main() -> None:
    arguments = _arguments()
    results: dict[str, Any] = {"machine": measure.machine(["hornbeam", "numpy"]), "loads": []}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for persons, edges in [(10_000, 100_000), (100_000, 1_000_000)]:
            world = worlds.friendships(persons, edges)
            for style in STYLES if edges == 1_000_000 else ["plain"]:
                _write(world.database, folder, style)
                for background in (BACKGROUND + "cancer(+person).\n", None):
                    if background is None and style != "plain":
                        continue
                    _set_background(folder, background)
                    name = f"{world.name}: {style}" + ("" if background else ", modes inferred")
                    results["loads"].append(_measured(name, folder, None, arguments.repeats))
    for name, split in PUBLIC:
        if (measure.DATA / name).is_dir():
            results["loads"].append(_measured(name, measure.DATA / name, split, arguments.repeats))
        else:
            say(f"{name} is not there, and left out")
    measure.save("loading", results)
    measure.write_section("loading", report(results))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the least time is taken")
    return parser.parse_args()


def _write(database: Database, folder: Path, style: str) -> None:
    with (folder / "facts.txt").open("w", encoding="utf-8", newline="") as file:
        for line in _lines(database, STYLES[style], JOINS.get(style, ",")):
            file.write(line)
    (folder / "pos.txt").write_text("cancer(p1).\n")
    (folder / "neg.txt").write_text("cancer(p2).\n")


def _lines(database: Database, form: str, join: str) -> Iterator[str]:
    for predicate, relation in database.relations.items():
        types = database.schema.types_of(predicate)
        columns = [
            database.population(type_name).decode(column)
            for type_name, column in zip(types, relation.columns, strict=True)
        ]
        for row in zip(*columns, strict=True):
            yield form.format(predicate, join.join(row))


def _set_background(folder: Path, text: str | None) -> None:
    path = folder / "background.txt"
    if text is None:
        path.unlink(missing_ok=True)
    else:
        path.write_text(text)


def _measured(name: str, folder: Path, split: str | None, repeats: int) -> dict[str, Any]:
    say(f"loading {name}")
    timing, database = measure.best_of(repeats, lambda: load(folder, split))
    files = (folder if split is None else folder / split).glob("*.txt")
    return {
        "name": name,
        "atoms": sum(map(len, database.relations.values())) + sum(map(len, database.example_sets.values())),
        "bytes": sum(path.stat().st_size for path in files),
        "cpu": timing.cpu,
        "wall": timing.wall,
    }


def report(results: Mapping[str, Any]) -> str:
    """The table of README.md."""
    rows = []
    for line in results["loads"]:
        per_million = line["cpu"] / line["atoms"] * 1e6
        large = line["atoms"] >= 1_000_000
        met = "met" if per_million <= TARGET_SECONDS_PER_MILLION else "**missed**"
        rows.append(
            [
                line["name"],
                f"{line['atoms']:,}",
                f"{line['bytes'] / 1e6:.1f} MB",
                measure.seconds(line["cpu"]),
                measure.seconds(line["wall"]),
                measure.seconds(per_million),
                f"<= {TARGET_SECONDS_PER_MILLION:.0f} s, {met}" if large else "",
            ]
        )
    header = ["data", "facts and examples", "text", "CPU", "wall", "CPU per million", "target"]
    return f"{measure.machine_line(results['machine'])}\n\n{measure.table(header, rows)}"


if __name__ == "__main__":
    main()
