"""A fit over more facts than DuckDB may hold in memory: Parquet files, counted in place by the command line.

    python benchmarks/bench_out_of_core.py [--facts 10000000 50000000] [--limit 1GB] [--beside 50000000]
    python benchmarks/bench_out_of_core.py --facts 2000000 --limit 256MB --out /tmp/small.md

The limit must be below what the facts need in memory, which the line of the engine memory tells.

Writes results/out_of_core.json and the section in README.md. Each fit is a process of its own: its CPU, wall
time and peak memory are the kernel's account of all of it, start-up and reading of examples included.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb

import measure
from measure import say, seconds, table

SCHEMA = """
[persons]
key = "id"
links = {}
roles = { smokes = "flag", city = "category", age = "number" }

[friends]
key = false
links = { who = "persons", whom = "persons" }
"""
OPTIONS = (
    "--preset",
    "paper",
    "--steps",
    "2",
    "--max-literals",
    "2",
    "--beam-width",
    "5",
    "--neg-pos-ratio",
    "all",
)
EXAMPLES = 100_000
FRIENDS = 20
"""Friendships per person."""


def main() -> None:
    arguments = _arguments()
    results: dict[str, Any] = {
        "machine": measure.machine(["hornbeam", "duckdb", "sqlglot"]),
        "limit": arguments.limit,
        "options": " ".join(OPTIONS),
        "examples": EXAMPLES,
        "runs": [],
    }
    for facts in arguments.facts:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            world = Path(folder) / "world"
            say(f"{facts:,} facts as Parquet")
            # In another process: a fit would inherit the peak memory of this one.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                made = pool.submit(_make, world, facts).result()
            models = {}
            for engine in ("duckdb", *(["memory"] if arguments.beside and facts <= arguments.beside else [])):
                say(f"  fit, {engine}")
                run, models[engine] = _fit(world, engine, arguments.limit, Path(folder))
                results["runs"].append({"facts": made, "engine": engine, **run})
                if arguments.out is None:
                    measure.save("out_of_core", results)
            if len(set(models.values())) != 1:
                sys.exit("the engines learned different models")
    if arguments.out is None:
        measure.write_section("out of core", report(results))
    else:
        arguments.out.write_text(report(results) + "\n", encoding="utf-8")


def _make(folder: Path, facts: int) -> int:
    """Write a world of about this many facts, and return their exact number."""
    folder.mkdir()
    persons = facts // (FRIENDS + 2)
    (folder / "schema.toml").write_text(SCHEMA)
    with duckdb.connect(config={"memory_limit": "2GB", "temp_directory": str(folder.parent)}) as own:
        own.execute("SET enable_progress_bar = false; SELECT setseed(0.5)")
        own.execute(
            f"COPY (SELECT range AS id, hash(range) % 10 < 3 AS smokes, "
            f"'city' || hash(range * 7) % 10 AS city, (18 + hash(range * 13) % 70)::INTEGER AS age "
            f"FROM range({persons})) "
            f"TO '{folder}/persons.parquet'"
        )
        # Some have many friends: the first of a pair is drawn by a power law.
        pairs = (
            f"SELECT DISTINCT floor({persons} * pow(hash(range * 3 + 1) / pow(2.0, 64), 1.7))::BIGINT "
            f"AS who, (hash(range * 5 + 2) % {persons})::BIGINT AS whom FROM range({persons * FRIENDS})"
        )
        own.execute(f"COPY ({pairs}) TO '{folder}/friends.parquet'")
        chosen = f"hash(range * 11) % {max(1, persons // EXAMPLES)} = 0"
        own.execute(
            f"COPY (SELECT range AS id, hash(range) % 10 < 3 AND hash(range * 17) % 10 < 6 "
            f"OR hash(range * 19) % 10 < 1 AS label FROM range({persons}) WHERE {chosen}) "
            f"TO '{folder.parent}/examples.parquet'"
        )
        ((number,),) = own.execute(
            f"SELECT (SELECT count(*) FROM '{folder}/friends.parquet') + 2 * count(*) + sum(smokes::INT) "
            f"FROM '{folder}/persons.parquet'"
        ).fetchall()
    return int(number)


def _fit(world: Path, engine: str, limit: str, scratch: Path) -> tuple[dict[str, Any], str]:
    model, history = scratch / f"{engine}.json", scratch / f"{engine}.history.json"
    command = [sys.executable, "-m", "hornbeam", "fit", world, "--target", "cancer(persons)"]
    command += ["--examples", scratch / "examples.parquet", "--engine", engine, *OPTIONS]
    command += ["--model", model, "--history", history]
    if engine == "duckdb":
        command += ["--memory", limit, "--scratch", scratch]
    run = measure.run_process(command)
    if run.status:
        sys.exit(f"the fit failed:\n{run.output}")
    steps = json.loads(history.read_text())["steps"]
    counted = sum(step["counted"] for step in steps)
    return {"cpu": run.cpu, "wall": run.wall, "peak": run.peak_bytes, "counted": counted}, model.read_text()


def report(results: dict[str, Any]) -> str:
    """The section of README.md."""
    rows = [
        [
            f"{run['facts']:,}",
            run["engine"],
            f"{run['counted']:,}",
            seconds(run["cpu"]),
            seconds(run["wall"]),
            f"{run['peak'] / 1e9:.2f} GB",
            f"{run['cpu'] / run['facts'] * 1e6:.2f} us",
        ]
        for run in results["runs"]
    ]
    header = ["facts", "engine", "candidates counted", "CPU", "wall", "peak memory", "CPU per fact"]
    return "\n\n".join(
        [
            measure.machine_line(results["machine"]),
            f"`hornbeam fit {results['options']}` on about {results['examples']:,} examples, DuckDB limited "
            f"by `--memory {results['limit']}`; whole processes:",
            table(header, rows),
        ]
    )


def _arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--facts", type=int, nargs="+", default=[10_000_000, 50_000_000])
    parser.add_argument("--limit", default="1GB", help="memory of DuckDB")
    parser.add_argument(
        "--beside", type=int, default=50_000_000, help="engine memory, too, up to so many facts"
    )
    parser.add_argument("--out", type=Path, help="write the section to this file, not to README.md")
    parser.add_argument("--folder", type=Path, help="where the files go for a while")
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
