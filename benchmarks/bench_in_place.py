"""What a fit of tables in place costs beside the same fit of loaded tables, and how many queries it takes.

    python benchmarks/bench_in_place.py [--only shop formula-1] [--report]

Writes results/in_place.json and its table in README.md. Each fit is a process of its own; the figure is the
CPU time of reading and fitting, all threads together. Both fits must give the same model, byte for byte.
Queries are all statements that DuckDB runs in a fit; a path is a way along links whose features are offered.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import measure
from bench_shapes import write_shop
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.sql.drivers.duckdb import DuckDBConnection, DuckDBEngine
from hornbeam.in_place.load import load
from hornbeam.learning.effects.candidates import Offers
from hornbeam.learning.effects.learner import fit
from hornbeam.learning.options import EffectOptions
from measure import DATA, say

WORLDS = {"shop": "users.bad", "formula-1": "dnf(drivers)"}
USERS = 4_000
ENGINES = ("loaded", "in place")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--report", action="store_true", help="only write the table")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(_measured(*arguments.child)))
        return
    path = measure.RESULTS / "in_place.json"
    results: dict[str, Any] = measure.load("in_place") if path.exists() else {}
    results["machine"] = measure.machine(["hornbeam", "numpy", "duckdb"])
    with tempfile.TemporaryDirectory() as folder:
        for world in () if arguments.report else arguments.only:
            source, examples = _sources(world, Path(folder))
            if not source.exists():
                say(f"there is no {source}: {world} is left out")
                continue
            results[world] = {engine: _child(world, engine, source, examples) for engine in ENGINES}
            one, other = (results[world][engine]["model"] for engine in ENGINES)
            if one != other:
                sys.exit(f"the models of {world} differ")
    measure.save("in_place", results)
    measure.write_section("in_place", report(results))


def _sources(world: str, folder: Path) -> tuple[Path, Path]:
    """The tables of a world, and a file of its examples with cut-offs."""
    if world == "shop":
        return folder / "shop.duckdb", write_shop(folder / "shop.duckdb", USERS)
    return DATA / "f1", DATA / "f1" / "labels" / "driver-dnf_train.csv"


def _child(world: str, engine: str, source: Path, examples: Path) -> dict[str, Any]:
    say(f"{world}, {engine}")
    command = [sys.executable, __file__, "--child", world, engine, str(source), str(examples)]
    ran = measure.run_process(command)
    if ran.status:
        sys.exit(f"{world} failed:\n{ran.output}")
    found: dict[str, Any] = json.loads(ran.output.strip().splitlines()[-1])
    return found


def _measured(world: str, engine: str, source: str, examples: str) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    numbers = {"paths": 0, "queries": 0}
    _counted(Offers, "of_path", numbers, "paths")
    _counted(DuckDBConnection, "_execute", numbers, "queries")
    start = time.process_time()
    in_place = {"engine": "duckdb"} if engine == "in place" else {}
    database = load(source, target=WORLDS[world], examples=Path(examples), **in_place)
    reading = dict(numbers)
    made = (DuckDBEngine if in_place else MemoryEngine)(database)
    model = fit(made, database.examples_of(database.target_named(None)), EffectOptions()).model
    cpu = time.process_time() - start
    fingerprint = sha256(repr((model.prior, model.effects)).encode()).hexdigest()
    queries = numbers["queries"] - reading["queries"]
    return {"cpu": cpu, "paths": numbers["paths"], "queries": queries, "model": fingerprint}


def _counted(owner: type, name: str, numbers: dict[str, int], key: str) -> None:
    """Count the calls of a method."""
    method = getattr(owner, name)

    def counted(*arguments: Any) -> Any:
        numbers[key] += 1
        return method(*arguments)

    setattr(owner, name, counted)


def report(results: Mapping[str, Any]) -> str:
    """The table: CPU loaded and in place, and queries."""
    header = ["data", "paths", "queries in place", "per path", "CPU loaded", "CPU in place", "ratio"]
    rows = []
    for world in WORLDS:
        if world in results:
            loaded, in_place = (results[world][engine] for engine in ENGINES)
            rows.append(
                [
                    world,
                    str(in_place["paths"]),
                    str(in_place["queries"]),
                    f"{in_place['queries'] / in_place['paths']:.1f}",
                    measure.seconds(loaded["cpu"]),
                    measure.seconds(in_place["cpu"]),
                    measure.times(in_place["cpu"] / loaded["cpu"]),
                ]
            )
    return f"{measure.machine_line(results['machine'])}\n\n{measure.table(header, rows)}"


if __name__ == "__main__":
    main()
