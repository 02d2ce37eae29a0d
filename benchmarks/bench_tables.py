"""The cost of tables: loading them, thresholds of a numeric column, and cut-off times.

    python benchmarks/bench_tables.py [--only PART ...] [--repeats N]

Writes results/tables.json and its table in README.md. Generated tables are written to a temporary
folder first, which is not timed; each load is a process of its own, start-up included. --only measures
some parts (small, large, thresholds, cutoffs) and keeps what was measured of the others before.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl

import measure
from hornbeam.data.database import Database
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.counting.count_cache import CountCache
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.in_place.load import load_quietly
from hornbeam.logic.parse import parse_clause
from measure import say

GB = 1_000_000_000
PARTS = ("small", "large", "thresholds", "cutoffs")
LARGE = 10_000_000
THRESHOLDS = (1, 4, 16, 64)
MOST_SORTS = 1.5
LOADS = {
    # what: rows, ending, whether a pair may stand in two rows, CPU seconds and GB at most
    "CSV, link table": (1_000_000, "csv", False, 5.0, None),
    "CSV, pairs may repeat": (1_000_000, "csv", True, 5.0, None),
    "Parquet, link table": (10_000_000, "parquet", False, 30.0, 2.0),
    "Parquet, pairs may repeat": (10_000_000, "parquet", True, 30.0, 2.0),
}
LOAD = """
import json, sys
import hornbeam as hb
sys.path.insert(0, sys.argv[1])
import measure
database = hb.load(sys.argv[2], target="users.gender=F")
print(json.dumps({"facts": sum(map(len, database.relations.values())), "peak": measure.peak_bytes()}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts to measure")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the least time is taken")
    arguments = parser.parse_args()
    results = measure.load("tables")
    results["machine"] = measure.machine(["hornbeam", "numpy", "duckdb", "polars"])
    loads = results.setdefault("loads", {})
    for what, (rows, ending, repeated, _, _) in LOADS.items():
        is_large = rows >= LARGE
        if ("large" if is_large else "small") in arguments.only:
            loads[what] = _load(rows, ending, repeated, 1 if is_large else arguments.repeats)
            say(f"{what}: {loads[what]}")
    if "thresholds" in arguments.only:
        results["thresholds"] = _thresholds(arguments.repeats)
    if "cutoffs" in arguments.only:
        results["cutoffs"] = _cutoffs(arguments.repeats)
    measure.save("tables", results)
    measure.write_section("tables", report(results))


# --- loading ---------------------------------------------------------------------------------


def _load(rows: int, ending: str, repeated: bool, repeats: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _write(folder, rows, ending, repeated)
        size = sum(path.stat().st_size for path in folder.iterdir())
        runs = [
            measure.run_process([sys.executable, "-c", LOAD, measure.HERE, folder]) for _ in range(repeats)
        ]
    best = min(runs, key=lambda run: run.cpu)
    if best.status:
        sys.exit(best.output)
    said = json.loads(best.output.splitlines()[-1])
    return {
        "rows": rows,
        "bytes": size,
        "facts": said["facts"],
        "cpu": best.cpu,
        "wall": best.wall,
        "peak_bytes": said["peak"],
    }


def _write(folder: Path, rows: int, ending: str, repeated: bool) -> None:
    """Users, movies (with text for keys) and ratings, each at a moment of its own."""
    users, movies = rows // 20, rows // 100
    form = "(HEADER)" if ending == "csv" else "(FORMAT parquet)"
    # A user's ratings fall into twenty different parts of the movies: no pair stands twice.
    part = movies // 20
    movie = f"hash(i) % {movies}" if repeated else f"(i // {users}) * {part} + hash(i) % {part}"
    with duckdb.connect() as made:
        for name, query in {
            "users": f"""SELECT i AS user_id, CASE WHEN hash(i) % 5 < 2 THEN 'F' ELSE 'M' END AS gender,
                15 + hash(i) % 60 AS age, 'job' || (hash(i) % 20) AS job FROM range({users}) t(i)""",
            "movies": f"""SELECT 'm' || i AS movie_id, hash(i) % 3 = 0 AS romance,
                DATE '1970-01-01' + (hash(i) % 10000)::INT AS released FROM range({movies}) t(i)""",
            "ratings": f"""SELECT {"hash(i + 7) % " + str(users) if repeated else f"i % {users}"} AS user_id,
                'm' || ({movie}) AS movie_id, 1 + hash(i) % 5 AS stars,
                TIMESTAMP '2020-01-01 00:00:00' + to_seconds((hash(i) % 100000000)::INT) AS rated_at
                FROM range({rows}) t(i) ORDER BY hash(i)""",
        }.items():
            made.execute(f"COPY ({query}) TO '{folder / f'{name}.{ending}'}' {form}")


# --- thresholds ------------------------------------------------------------------------------


def _world(dated: bool) -> tuple[Database, dict[str, Any]]:
    """A hundred thousand users, fifty thousand movies, a million ratings; all numbers are their own."""
    draw = np.random.default_rng(0)
    users, movies, rows = 100_000, 50_000, 1_000_000
    pairs = draw.choice(users * (movies // 10), rows, replace=False)
    columns = {
        "age": np.round(draw.normal(40, 10, users), 6),
        "length": np.round(draw.gamma(5, 20, movies), 6),
        "price": np.round(draw.gamma(2, 10, rows), 6),
    }
    rated = {
        "user_id": pairs // (movies // 10),
        "movie_id": pairs % (movies // 10) * 10,
        "price": columns["price"],
    }
    if dated:
        rated["day"] = draw.uniform(0, 1000, rows)
    frames = {
        "users": pl.DataFrame(
            {"user_id": np.arange(users), "age": columns["age"], "woman": draw.random(users) < 0.4}
        ),
        "movies": pl.DataFrame({"movie_id": np.arange(movies), "length": columns["length"]}),
        "ratings": pl.DataFrame(rated),
    }
    stated: dict[str, Any] = {
        "links": {"user_id": "users", "movie_id": "movies"},
        "roles": {"price": "number"},
    }
    if not dated:
        return load_quietly(frames, target="users.woman", schema={"ratings": stated}), columns
    examples = pl.DataFrame({"user_id": np.arange(users), "cutoff": draw.uniform(0, 1000, users)})
    stated["time"] = "day"
    return load_quietly(frames, target="users.woman", schema={"ratings": stated}, examples=examples), columns


BODIES = {
    "age": "woman(A) :- age(A,X), X >= {}.",
    "price": "woman(A) :- price(A,B,X), X >= {}.",
    "length": "woman(A) :- ratings(A,B), length(B,X), X >= {}.",
}


def _thresholds(repeats: int) -> list[dict[str, Any]]:
    """The sums of clauses that differ in a threshold only, next to a sort of the facts that are cut."""
    database, columns = _world(dated=False)
    keys = database.examples_of("woman").keys
    gradients = np.random.default_rng(1).integers(-(2**29), 2**29, len(keys))
    found = []
    for name, text in BODIES.items():
        values = columns["price"] if name == "length" else columns[name]
        sort, _ = measure.best_of(repeats, lambda values=values: np.sort(values))
        cpu = {}
        for number in THRESHOLDS:
            cuts = np.quantile(columns[name], np.arange(1, number + 1) / (number + 1))
            clauses = [parse_clause(text.format(round(cut, 6)), database.schema) for cut in cuts.tolist()]

            def prepare(clauses: list[Any] = clauses, text: str = text) -> Any:
                engine = MemoryEngine(database)
                # Indexes are made once per database, whatever is counted.
                counter_of(engine).count([parse_clause(text.format(-1), database.schema)], keys[:10])

                def work() -> Any:
                    session = CountCache(counter_of(engine), keys)
                    session.set_gradients(gradients)
                    return session.sums(clauses)

                return work

            cpu[str(number)] = measure.side_by_side(repeats, {"work": prepare})["work"][0].cpu
        found.append({"body": text.format("t"), "facts": len(values), "sort": sort.cpu, "cpu": cpu})
        say(f"{name}: {found[-1]}")
    return found


# --- cut-offs --------------------------------------------------------------------------------

DATED = {
    "woman(A) :- ratings(A,B).": "one link",
    "woman(A) :- price(A,B,X), X >= 20.": "a link and a threshold",
    "woman(A) :- ratings(A,B), length(B,X), X >= 100.": "a link to a number",
    "woman(A) :- ratings(A,B), ratings(C,B).": "two dated links",
}


def _cutoffs(repeats: int) -> list[dict[str, Any]]:
    """The same count with and without cut-offs: each example has its own."""
    database, _ = _world(dated=True)
    examples = database.examples_of("woman")
    cuts = examples.cutoffs
    assert cuts is not None
    plain = examples.keys[:, :1]
    found = []
    for text, words in DATED.items():
        clause = parse_clause(text, database.schema)

        def prepare(keys: Any, clause: Any = clause) -> Any:
            engine = MemoryEngine(database)
            return lambda: counter_of(engine).count([clause], keys)[0].true.sum()

        timing = measure.side_by_side(
            repeats, {"cut": lambda: prepare(examples.keys), "plain": lambda: prepare(plain)}
        )
        found.append(
            {
                "body": text,
                "words": words,
                "examples": len(examples),
                "cutoffs": len(np.unique(cuts)),
                "cpu": timing["cut"][0].cpu,
                "plain_cpu": timing["plain"][0].cpu,
                "true": int(timing["cut"][1]),
                "plain_true": int(timing["plain"][1]),
            }
        )
        say(f"{words}: {found[-1]}")
    return found


# --- the tables ------------------------------------------------------------------------------


def report(results: Mapping[str, Any]) -> str:
    rows = []
    for what, (_, _, _, most_cpu, most_gb) in LOADS.items():
        if what not in results["loads"]:
            continue
        run = results["loads"][what]
        target = f"<= {most_cpu:g} s, {_met(run['cpu'] <= most_cpu)}"
        if most_gb is not None:
            target += f"; <= {most_gb:g} GB, {_met(run['peak_bytes'] <= most_gb * GB)}"
        size, peak = f"{run['bytes'] / 1e6:.0f} MB", f"{run['peak_bytes'] / GB:.2f} GB"
        cpu = measure.seconds(run["cpu"])
        rows.append([what, f"{run['rows']:,}", size, f"{run['facts']:,}", cpu, peak, target])
    header = ["source", "rows", "files", "facts", "CPU", "peak", "target"]
    parts = [measure.machine_line(results["machine"]), measure.table(header, rows)]
    rows = []
    for each in results.get("thresholds", []):
        cpu = [each["cpu"][str(number)] for number in THRESHOLDS]
        sorts = cpu[-2] / each["sort"]
        # With hardly more facts than examples, the sums over examples weigh more than any pass over facts.
        is_judged = each["facts"] >= 1_000_000
        target = f"<= {MOST_SORTS:g} sorts, {_met(sorts <= MOST_SORTS)}" if is_judged else ""
        shown = f"`{each['body']}`"
        seconds = map(measure.seconds, [each["sort"], *cpu])
        rows.append([shown, f"{each['facts']:,}", *seconds, measure.times(sorts), target])
    header = ["body", "facts cut", "one sort of them", *(f"{number} thresholds" for number in THRESHOLDS)]
    parts.append(
        "**Thresholds**: the sums of clauses that differ in `t` only, over 100,000 examples, CPU. Without a "
        "target where facts are as few as examples: there the sums of each clause weigh more than the facts."
    )
    parts.append(measure.table([*header, f"{THRESHOLDS[-2]} / sort", "target"], rows))
    rows = [
        [
            f"`{each['body']}`",
            f"{each['cutoffs']:,}",
            measure.seconds(each["cpu"]),
            measure.seconds(each["plain_cpu"]),
            measure.times(each["cpu"] / each["plain_cpu"]),
            f"{each['true']:,}",
            f"{each['plain_true']:,}",
        ]
        for each in results.get("cutoffs", [])
    ]
    header = ["body", "cut-offs", "CPU", "CPU without", "ratio", "true counts", "true counts without"]
    parts.append(
        "**Cut-offs**: a million dated facts, each example with a cut-off of its own, one count of all:"
    )
    parts.append(measure.table(header, rows))
    return "\n\n".join(parts)


def _met(holds: bool) -> str:
    return "met" if holds else "**missed**"


if __name__ == "__main__":
    main()
