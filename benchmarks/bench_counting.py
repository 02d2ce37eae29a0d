"""The cost of counting: beside hand-factorised SQL and bare scipy kernels, by size, and in memory.

    python benchmarks/bench_counting.py [--quick] [--repeats 7]

Writes results/counting.json and the table in README.md.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import measure
import worlds
from hornbeam.data.database import Relation
from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.contract import DEFAULT_MEMORY, Skipped
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.logic.clauses import Clause, atom_of
from hornbeam.logic.parse import parse_clause
from measure import say, seconds, table, times

ACYCLIC_FACTS = ("friends", "smokes", "lives")
AT_LEAST_BELOW_SQL = {"pairs": 2.0, "triangle": 1.0}
CHAINS_AND_TREES = 10.0
AT_MOST_ABOVE_SCIPY = 1.5
CANDIDATES = 16
CANDIDATE_BODIES = (
    "friends(A,B), has(B,t{})",
    "friends(A,B), friends(B,C), has(C,t{})",
    "friends(A,B), friends(B,C), lives(C,c{})",
)
GIVE_BACK = {"MALLOC_MMAP_THRESHOLD_": "65536"}
"""Freed arrays go back to the system at once, so that resident memory is what is in use."""
BUDGETS = (DEFAULT_MEMORY, 256_000_000, 64_000_000)


def main() -> None:
    arguments = _arguments()
    if arguments.memory_of:
        _memory_in_this_process(arguments)
        return
    sizes = [(10_000, 100_000), (100_000, 1_000_000)] + [(1_000_000, 10_000_000)] * (not arguments.quick)
    results: dict[str, Any] = {
        "machine": measure.machine(["hornbeam", "numpy", "scipy", "duckdb"]),
        "repeats": arguments.repeats,
        "bodies": [],
        "candidates": [],
        "scaling": [],
        "memory": [],
        "cyclic": [],
    }
    import rivals  # here, so that the processes that measure memory do without duckdb

    with tempfile.TemporaryDirectory() as scratch:
        for persons, edges in sizes:
            say(f"friendships: {edges:,}")
            world = worlds.friendships(persons, edges)
            compared = _compare(world, rivals.ACYCLIC, ACYCLIC_FACTS, arguments.repeats)
            results["scaling"] += [_per_fact(world, line) for line in compared]
            if edges >= 1_000_000:
                results["bodies"] += compared
                results["candidates"] += _candidates(world, arguments.repeats)
                results["memory"] += _memory(world, rivals.ACYCLIC, Path(scratch))
            if edges == 1_000_000:
                say("triangle")
                results["bodies"] += _compare(
                    world, [rivals.TRIANGLE], ("friends",), min(arguments.repeats, 3)
                )
                results["memory"] += _memory(world, [rivals.TRIANGLE], Path(scratch))
                results["cyclic"] += _cyclic(world, rivals.TRIANGLE, Path(scratch))
            del world
        say("pairs")
        world = worlds.publications()
        results["bodies"] += _compare(world, [rivals.PAIRS], ("publication",), arguments.repeats)
        results["memory"] += _memory(world, [rivals.PAIRS], Path(scratch))
    measure.save("counting", results)
    measure.write_section("counting", report(results))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="leave out the world of 10M facts")
    parser.add_argument("--repeats", type=int, default=7, help="runs of which the least time is taken")
    parser.add_argument("--memory-of", metavar="CLAUSE", help=argparse.SUPPRESS)
    parser.add_argument("--columns", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--budget", type=int, default=DEFAULT_MEMORY, help=argparse.SUPPRESS)
    return parser.parse_args()


# --- time -----------------------------------------------------------------------------------------


def _indexed(world: worlds.World, clauses: Sequence[Clause]) -> MemoryEngine:
    """An engine with indexes but without any counts."""
    engine = MemoryEngine(world.database)
    counter_of(engine).count(clauses, world.keys)
    return _forgetful(engine)


def _forgetful(engine: MemoryEngine) -> MemoryEngine:
    """A new engine with the indexes of another: it must plan and count everything again."""
    fresh = MemoryEngine(engine.database, engine.memory)
    fresh._facts = fresh._messages.facts = engine._facts
    fresh._facts.tidy(-1)
    return fresh


def _counting(engine: MemoryEngine, clauses: Sequence[Clause], world: worlds.World) -> Callable[[], Any]:
    return lambda: counter_of(engine).count(clauses, world.keys)


def _column(found: Counts | Skipped) -> npt.NDArray[np.int64]:
    if not isinstance(found, Counts):
        sys.exit(f"not counted: {found}")
    return found.true.astype(np.int64)


def _compare(
    world: worlds.World, bodies: Sequence[Any], predicates: tuple[str, ...], repeats: int
) -> list[Any]:
    """Time of each body by the engine, by SQL and by scipy; all three must give the same counts."""
    import rivals

    tables, matrices = rivals.Tables(world, predicates), rivals.Matrices(world)
    lines = []
    for body in bodies:
        clause = parse_clause(body.clause, world.database.schema)
        indexed = _indexed(world, [clause])
        body.kernel(matrices)  # makes the matrices
        ways = {
            "hornbeam": lambda e=indexed, c=clause: _counting(_forgetful(e), [c], world),
            "first": lambda c=clause: _counting(MemoryEngine(world.database), [c], world),
            "scipy": lambda b=body: lambda: b.kernel(matrices),
            "sql": lambda b=body: lambda: tables.count(b.sql),
        }
        found = measure.side_by_side(repeats, ways)
        ours, first, scipy_time, sql_time = (found[name][0] for name in ways)
        counts = _column(found["hornbeam"][1][0])
        others = [found["scipy"][1], tables.column(found["sql"][1])]
        if not all(np.array_equal(counts, other) for other in others):
            sys.exit(f"{world.name}: {body.clause} is counted differently by hornbeam, scipy and SQL")
        lines.append(
            {
                "world": world.name,
                "body": body.name,
                "clause": body.clause,
                "facts": _facts_used(world, clause),
                "examples": len(world.keys),
                "sum_of_counts": int(counts.sum()),
                "hornbeam": ours._asdict(),
                "build": {"cpu": first.cpu - ours.cpu, "wall": first.wall - ours.wall},
                "scipy": scipy_time._asdict(),
                "sql": sql_time._asdict(),
                "sql_over_hornbeam": sql_time.cpu / ours.cpu,
                "hornbeam_over_scipy": ours.cpu / scipy_time.cpu,
            }
        )
        say(
            f"  {body.name}: hornbeam {seconds(ours.cpu)}, scipy {seconds(scipy_time.cpu)}, "
            f"SQL {seconds(sql_time.cpu)}, build {seconds(first.cpu - ours.cpu)}"
        )
    return lines


def _candidates(world: worlds.World, repeats: int) -> list[dict[str, Any]]:
    with_traits = worlds.with_traits(world)
    return [_candidates_on(with_traits, body, repeats) for body in CANDIDATE_BODIES]


def _candidates_on(world: worlds.World, body: str, repeats: int) -> dict[str, Any]:
    """Sixteen candidates that attach to one variable of one body, against one of them alone."""
    clauses = [
        parse_clause(f"cancer(A) :- {body.format(number)}.", world.database.schema)
        for number in range(CANDIDATES)
    ]
    engine = _indexed(world, clauses)

    ways = {
        "together": lambda: _counting(_forgetful(engine), clauses, world),
        "alone": lambda: _counting(_forgetful(engine), clauses[:1], world),
    }
    timed = measure.side_by_side(repeats, ways)
    (together, found), (alone, one) = timed["together"], timed["alone"]
    largest = max(int(_column(counts).max()) for counts in found)
    if not np.array_equal(_column(one[0]), _column(found[0])):
        sys.exit(f"{world.name}: candidates are counted differently together and alone")
    say(f"  {CANDIDATES} x {body}: {seconds(together.cpu / CANDIDATES)} each, alone {seconds(alone.cpu)}")
    return {
        "world": world.name,
        "body": body.format("*"),
        "each_together": together.cpu / CANDIDATES,
        "alone": alone.cpu,
        "ratio": together.cpu / CANDIDATES / alone.cpu,
        "largest_count": largest,
    }


def _facts_used(world: worlds.World, clause: Clause) -> int:
    predicates = {atom_of(literal).predicate for literal in clause.body}
    return sum(len(world.database.relation(predicate)) for predicate in predicates)


def _per_fact(world: worlds.World, line: dict[str, Any]) -> dict[str, Any]:
    facts = line["facts"]
    return {
        "body": line["body"],
        "facts": facts,
        "world": world.name,
        "count_ns": line["hornbeam"]["cpu"] / facts * 1e9,
        "build_and_count_ns": (line["build"]["cpu"] + line["hornbeam"]["cpu"]) / facts * 1e9,
    }


# --- memory ---------------------------------------------------------------------------------------


def _memory(world: worlds.World, bodies: Sequence[Any], scratch: Path) -> list[dict[str, Any]]:
    """Resident memory and peak of each body, each in a process of its own."""
    return [_memory_of(world, body, scratch, DEFAULT_MEMORY) for body in bodies]


def _cyclic(world: worlds.World, body: Any, scratch: Path) -> list[dict[str, Any]]:
    return [_memory_of(world, body, scratch, budget) for budget in BUDGETS]


def _memory_of(world: worlds.World, body: Any, scratch: Path, budget: int) -> dict[str, Any]:
    file = _saved_columns(world, scratch)
    command = [
        sys.executable,
        __file__,
        "--memory-of",
        body.clause,
        "--columns",
        file,
        "--budget",
        str(budget),
    ]
    run = measure.run_process(command, environment=GIVE_BACK)
    if run.status:
        sys.exit(f"measuring the memory of {body.clause} failed:\n{run.output}")
    found: dict[str, Any] = json.loads(run.output.splitlines()[-1])
    say(
        f"  {body.name}: {found['resident'] / found['columns']:.2f}x resident, "
        f"{found['build_peak'] / found['columns']:.2f}x at the peak of the build, "
        f"{found['counted'] / found['columns']:.2f}x after counting, "
        f"{found['peak'] / found['columns']:.2f}x at its peak, budget {budget / 1e6:.0f} MB, "
        f"{found['outcome']}"
    )
    return {"world": world.name, "body": body.name, "budget": budget, **found}


def _saved_columns(world: worlds.World, scratch: Path) -> Path:
    file = scratch / f"{world.name.replace(' ', '_')}.npz"
    if not file.exists():
        columns = {
            f"{name}.{i}": column
            for name, relation in world.database.relations.items()
            for i, column in enumerate(relation.columns)
        }
        sizes = {f"size.{name}": np.array(len(p)) for name, p in world.database.populations.items()}
        np.savez(file, keys=world.keys, **columns, **sizes)
    return file


def _memory_in_this_process(arguments: argparse.Namespace) -> None:
    """Load only the columns the clause uses, count, and print the memory above that of an idle process."""
    _count_something_small()
    with np.load(arguments.columns) as file:
        sizes = {name[5:]: int(file[name]) for name in file.files if name.startswith("size.")}
        clause = parse_clause(arguments.memory_of, worlds.database({}, sizes).schema)
        used = sorted({atom_of(literal).predicate for literal in clause.body})
        keys = np.array(file["keys"])
        gc.collect()
        idle = measure.resident_bytes()
        relations = {
            name: Relation(tuple(file[part] for part in sorted(file.files) if part.startswith(f"{name}.")))
            for name in used
        }
    columns = sum(column.nbytes for relation in relations.values() for column in relation.columns)
    engine = MemoryEngine(worlds.database(relations, sizes), arguments.budget)
    counter_of(engine).count([clause], keys[:1])  # makes every index, and next to no partial result
    gc.collect()
    built = {"resident": measure.resident_bytes() - idle, "build_peak": measure.peak_bytes() - idle}
    [found] = counter_of(engine).count([clause], keys)
    outcome = "counted" if isinstance(found, Counts) else "skipped"
    total = int(found.true.sum()) if isinstance(found, Counts) else None
    del found
    gc.collect()
    counted = {"counted": measure.resident_bytes() - idle, "peak": measure.peak_bytes() - idle}
    print(json.dumps({"columns": columns, "outcome": outcome, "sum_of_counts": total} | built | counted))


def _count_something_small() -> None:
    """Import everything and run every code path once, so that only the data are measured."""
    world = worlds.friendships(100, 300)
    clauses = [
        parse_clause(text, world.database.schema)
        for text in (
            "cancer(A) :- friends(A,B), friends(B,C), smokes(C), lives(B,c7).",
            "cancer(A) :- friends(A,B), friends(B,C), friends(C,A).",
        )
    ]
    counter_of(MemoryEngine(world.database)).count(clauses, world.keys)


# --- the table ------------------------------------------------------------------------------------


def report(results: dict[str, Any]) -> str:
    """The section of README.md."""
    parts = [
        measure.machine_line(results["machine"]),
        "",
        table(
            [
                *("body", "world", "hornbeam", "wall", "scipy", "SQL"),
                *("SQL / hornbeam", "target", "hornbeam / scipy", "target"),
            ],
            [_body_row(line) for line in results["bodies"]],
        ),
        "",
        "CPU per count of all examples, but for the column *wall*. The bodies: "
        + "; ".join(dict.fromkeys(f"{line['body']}: `{line['clause']}`" for line in results["bodies"]))
        + ".",
        "",
        "**Index build**, once per database and not part of the ratios above:",
        "",
        table(
            ["body", "world", "CPU", "wall"],
            [
                [line["body"], line["world"], seconds(line["build"]["cpu"]), seconds(line["build"]["wall"])]
                for line in results["bodies"]
            ],
        ),
        "",
        f"**{CANDIDATES} candidates on one variable**, CPU per candidate:",
        "",
        table(
            ["body", "world", "largest count", "counted together", "one alone", "ratio", "target"],
            [_candidates_row(line) for line in results["candidates"]],
        ),
        "",
        "**By size**, CPU per fact used; growth is from one decade to the next (target: below 1.5x):",
        "",
        _scaling_table(results["scaling"]),
        "",
        "**Memory**, as multiples of the integer columns of the facts used (these columns included): with "
        "all indexes made; at the peak of making them; and after counting all examples, with what is kept:",
        "",
        table(
            ["body", "world", "columns", "resident", "target", "peak of build", "target", "counted"],
            [_memory_row(line) for line in results["memory"]],
        ),
        "",
        "**A cyclic body under a memory budget** (1M friendships):",
        "",
        table(
            ["body", "budget", "outcome", "peak beyond columns and indexes", "target"],
            [
                [
                    line["body"],
                    f"{line['budget'] / 1e6:.0f} MB",
                    line["outcome"],
                    f"{(line['peak'] - line['resident']) / 1e6:.0f} MB",
                    _verdict(line["peak"] - line["resident"] <= line["budget"], "<= budget"),
                ]
                for line in results["cyclic"]
            ],
        ),
    ]
    return "\n".join(parts)


def _verdict(met: bool, target: str) -> str:
    return f"{target}, {'met' if met else '**missed**'}"


def _body_row(line: dict[str, Any]) -> list[str]:
    target = AT_LEAST_BELOW_SQL.get(line["body"], CHAINS_AND_TREES)
    return [
        line["body"],
        line["world"],
        seconds(line["hornbeam"]["cpu"]),
        seconds(line["hornbeam"]["wall"]),
        seconds(line["scipy"]["cpu"]),
        seconds(line["sql"]["cpu"]),
        times(line["sql_over_hornbeam"]),
        _verdict(line["sql_over_hornbeam"] >= target, f">= {target:g}x"),
        times(line["hornbeam_over_scipy"]),
        _verdict(line["hornbeam_over_scipy"] <= AT_MOST_ABOVE_SCIPY, f"<= {AT_MOST_ABOVE_SCIPY:g}x"),
    ]


def _candidates_row(line: dict[str, Any]) -> list[str]:
    fits = line["largest_count"] < 2**16
    return [
        f"`{line['body']}`",
        line["world"],
        f"{line['largest_count']:,}",
        seconds(line["each_together"]),
        seconds(line["alone"]),
        times(line["ratio"]),
        _verdict(line["ratio"] <= 0.5, "<= 0.5x") if fits else "none: past 16 bits",
    ]


def _memory_row(line: dict[str, Any]) -> list[str]:
    resident, build_peak = line["resident"] / line["columns"], line["build_peak"] / line["columns"]
    return [
        line["body"],
        line["world"],
        f"{line['columns'] / 1e6:.1f} MB",
        times(resident),
        _verdict(resident <= 3, "<= 3x"),
        times(build_peak),
        _verdict(build_peak <= 5, "<= 5x"),
        times(line["counted"] / line["columns"]),
    ]


def _scaling_table(lines: Sequence[dict[str, Any]]) -> str:
    rows = []
    for body in dict.fromkeys(line["body"] for line in lines):
        previous: dict[str, Any] | None = None
        for line in (line for line in lines if line["body"] == body):
            cells = [body, f"{line['facts']:,}"]
            for measured in ("count_ns", "build_and_count_ns"):
                growth = "-" if previous is None else times(line[measured] / previous[measured])
                cells += [f"{line[measured]:.2f} ns", growth]
            rows.append(cells)
            previous = line
    return table(["body", "facts", "count", "growth", "index build and count", "growth"], rows)


if __name__ == "__main__":
    main()
