"""The cost of counting in SQL: beside the naive join, beside counting in memory, and on Spark.

    python benchmarks/bench_sql.py [--quick] [--repeats 5] [--only joins candidates spark] [--facts 1000000]

Writes results/sql.json and the table in README.md. A part that is not run keeps its last figures.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt

import measure
import worlds
from hornbeam.engines.contract import Counts, Engine
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.sql.counts import families
from hornbeam.engines.sql.drivers.duckdb import DuckDBEngine
from hornbeam.engines.sql.expressions import SqlTable
from hornbeam.in_place.database import ExampleTable, in_place
from hornbeam.learning.problem import language_for
from hornbeam.logic.clauses import Clause
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.refine import refinements
from measure import say, seconds, table, times
from worlds import World

PARTS = ("joins", "candidates", "spark")
LIMIT = 120.0
"""Seconds after which a naive join is given up."""
SPARK_CANDIDATES = 80
"""Candidates of a level that are counted together on Spark; an eighth of them also one by one."""


class Body(NamedTuple):
    """A clause, and the join that one would write for it without thinking about plans."""

    name: str
    clause: str
    naive: str
    chain_or_tree: bool


BODIES = (
    Body(
        "two-hop chain",
        "cancer(A) :- friends(A,B), friends(B,C).",
        "JOIN friends f ON f.c0 = e.k0 JOIN friends g ON g.c0 = f.c1",
        True,
    ),
    Body(
        "chain to a property",
        "cancer(A) :- friends(A,B), friends(B,C), smokes(C).",
        "JOIN friends f ON f.c0 = e.k0 JOIN friends g ON g.c0 = f.c1 JOIN smokes s ON s.c0 = g.c1",
        True,
    ),
    Body(
        "tree",
        "cancer(A) :- friends(A,B), smokes(B), friends(B,C), lives(B,D).",
        "JOIN friends f ON f.c0 = e.k0 JOIN smokes s ON s.c0 = f.c1 JOIN friends g ON g.c0 = f.c1 "
        "JOIN lives l ON l.c0 = f.c1",
        True,
    ),
    Body(
        "bushy tree",
        "cancer(A) :- friends(A,B), friends(B,C), friends(D,B).",
        "JOIN friends f ON f.c0 = e.k0 JOIN friends g ON g.c0 = f.c1 JOIN friends h ON h.c1 = f.c1",
        True,
    ),
    Body(
        "triangle",
        "cancer(A) :- friends(A,B), friends(B,C), friends(C,A).",
        "JOIN friends f ON f.c0 = e.k0 JOIN friends g ON g.c0 = f.c1 "
        "JOIN friends h ON h.c0 = g.c1 AND h.c1 = f.c0",
        False,
    ),
)
PAIRS = Body(
    "pairs",
    "advisedby(A,B) :- publication(C,A), publication(C,B).",
    "JOIN publication p ON p.c1 = e.k0 JOIN publication q ON q.c1 = e.k1 AND q.c0 = p.c0",
    False,
)


def main() -> None:
    arguments = _arguments()
    if arguments.child:
        print(json.dumps(CHILDREN[arguments.child](*arguments.words)))
        return
    results = measure.load("sql") | {
        "machine": measure.machine(["hornbeam", "duckdb", "sqlglot", "pyspark"]),
        "repeats": arguments.repeats,
    }
    for part in arguments.only:
        say(part)
        results[part] = globals()[f"_{part}"](arguments)
        measure.save("sql", results)
    measure.write_section("sql", _report(results))


# --- joins: against the naive join and against memory -----------------------------------------------


def _joins(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    found = []
    sizes = [(10_000, 100_000), (100_000, 1_000_000)] + [(1_000_000, 10_000_000)] * (not arguments.quick)
    for persons, edges in sizes:
        # The triangles of ten million friendships take minutes, whoever counts them.
        bodies = BODIES[: 4 if edges > 1_000_000 else 5]
        repeats = 2 if edges > 1_000_000 else arguments.repeats
        found += _compare(worlds.friendships(persons, edges), bodies, repeats)
    for rows in (100_000, 1_000_000):
        found += _compare(worlds.publications(rows, rows // 10, rows // 5), [PAIRS], arguments.repeats)
    return found


def _compare(world: World, bodies: Sequence[Body], repeats: int) -> list[dict[str, Any]]:
    naive = _NaiveJoins(world)
    found = []
    for body in bodies:
        say(f"  {world.name}: {body.name}")
        clause = parse_clause(body.clause, world.database.schema)
        engine = DuckDBEngine(world.database)
        _column(engine, clause, world)  # loads the facts
        memory = MemoryEngine(world.database)
        _column(memory, clause, world)
        # A new engine in memory each time: the old one remembers its counts.
        ways = {
            "duckdb": lambda engine=engine, clause=clause: _counting(engine, clause, world),
            "memory": lambda clause=clause: partial(_column, MemoryEngine(world.database), clause, world),
        }
        if naive.column(body) is not None:
            ways["naive"] = lambda body=body: partial(naive.column, body)
        timed = measure.side_by_side(repeats, ways)
        results = [result for _, result in timed.values()]
        if not all(np.array_equal(results[0], result) for result in results):
            sys.exit(f"counts of {body.name} differ")
        line = {name: timing.cpu for name, (timing, _) in timed.items()}
        found.append({"body": body.name, "world": world.name, "fast": body.chain_or_tree, **line})
        engine.close()
    return found


def _counting(engine: DuckDBEngine, clause: Clause, world: World) -> Any:
    """Count one clause in the database that holds facts and examples, as the naive join does."""
    session = engine.session(world.keys)
    variables = ",".join("AB"[: world.keys.shape[1]])
    warm = "smokes(A)" if len(variables) == 1 else "publication(C,A), publication(D,B)"
    session.counts([parse_clause(f"{clause.head.predicate}({variables}) :- {warm}.", world.database.schema)])

    def work() -> npt.NDArray[Any]:
        (counts,) = session.counts([clause])
        return counts.true

    return work


def _column(engine: Engine, clause: Clause, world: World) -> npt.NDArray[Any]:
    (counts,) = engine.count([clause], world.keys)
    assert isinstance(counts, Counts), counts
    return counts.true


class _NaiveJoins:
    """One join of everything with the examples, then a count per example."""

    def __init__(self, world: World) -> None:
        self._connection = duckdb.connect()
        self._size = len(world.keys)
        arrays = {
            name: {f"c{i}": column for i, column in enumerate(relation.columns)}
            for name, relation in world.database.relations.items()
        }
        keys = {f"k{i}": np.ascontiguousarray(world.keys[:, i]) for i in range(world.keys.shape[1])}
        arrays["examples"] = {"id": np.arange(self._size)} | keys
        for name, columns in arrays.items():
            self._connection.register("given", columns)
            self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
            self._connection.unregister("given")

    def column(self, body: Body) -> npt.NDArray[np.int64] | None:
        """Counts in the order of the examples; None if it takes too long."""
        sql = f"SELECT e.id, COUNT(*) AS t FROM examples e {body.naive} GROUP BY e.id"
        timer = threading.Timer(LIMIT, self._connection.interrupt)
        timer.start()
        try:
            rows = self._connection.execute(sql).fetchnumpy()
        except duckdb.InterruptException:
            return None
        finally:
            timer.cancel()
        counts = np.zeros(self._size, dtype=np.int64)
        counts[rows["id"]] = rows["t"]
        return counts


# --- candidates: a level of a search together, and one by one -----------------------------------------


def _candidates(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    found = []
    for edges in (100_000,) if arguments.quick else (100_000, 1_000_000):
        world = worlds.with_traits(worlds.friendships(edges // 10, edges))
        clauses = _level(world)
        for name, engine in (("duckdb", DuckDBEngine), ("memory", MemoryEngine)):
            say(f"  {world.name}: {name}, {len(clauses)} candidates")
            one_by_one = [[clause] for clause in clauses]
            ways = {
                "together": partial(_sums, engine, world, [clauses]),
                "one by one": partial(_sums, engine, world, one_by_one),
            }
            if name == "duckdb":
                ways["a column each"] = partial(_column_each, world, clauses)
            timed = measure.side_by_side(2 if name == "duckdb" else arguments.repeats, ways)
            if len({tuple(result) for _, result in timed.values()}) != 1:
                sys.exit(f"sums of {name} differ")
            line = {way: len(clauses) / timing.cpu for way, (timing, _) in timed.items()}
            found.append({"world": world.name, "engine": name, "candidates": len(clauses), **line})
    return found


def _level(world: World) -> list[Clause]:
    """All refinements of two bodies: the candidates of a beam of two at length two."""
    language = language_for(world.database, "cancer", False, 0)
    first = refinements(language.empty(), language)
    chosen = [clause for clause in first if str(clause).count("friends")][:2]
    return list(dict.fromkeys(longer for clause in chosen for longer in refinements(clause, language)))


def _sums(made: type[Engine], world: World, batches: Sequence[Sequence[Clause]]) -> Any:
    engine = made(world.database)
    engine.count([parse_clause("cancer(A) :- friends(A,B), smokes(B).", world.database.schema)], world.keys)
    session = engine.session(world.keys)
    session.set_gradients(np.arange(len(world.keys), dtype=np.int64) % 1001 - 500)

    def work() -> list[int]:
        return [total for batch in batches for total in session.sums(batch).true]

    return work


def _column_each(world: World, clauses: Sequence[Clause]) -> Any:
    """Count all candidates together, with a column for each, even if they differ in one constant only."""
    work = _sums(DuckDBEngine, world, [clauses])

    def without_families() -> Any:
        least, families.LEAST_MEMBERS = families.LEAST_MEMBERS, len(clauses) + 1
        try:
            return work()
        finally:
            families.LEAST_MEMBERS = least

    return without_families


# --- Spark --------------------------------------------------------------------------------------------


def _spark(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = measure.load("sql").get("spark", [])
    for facts in arguments.facts:
        with tempfile.TemporaryDirectory() as folder:
            made = _child("make", folder, str(facts))["facts"]
            for way in ("together", "one by one"):
                say(f"  Spark, {facts:,} facts, {way}")
                run = {"facts": made, "way": way, **_child("spark", folder, way)}
                lines = [line for line in lines if (line["facts"], line["way"]) != (made, way)]
                lines = sorted([*lines, run], key=lambda line: (line["facts"], line["way"] != "together"))
                # Saved at once: a run that is cut short keeps what it measured, and other sizes stay.
                measure.save("sql", {**measure.load("sql"), "spark": lines})
    return lines


def _make(folder: str, facts: str) -> dict[str, Any]:
    """Write a world of this many facts as Parquet files."""
    edges = int(facts) * 19 // 20
    world = worlds.friendships(edges // 20, edges)
    with duckdb.connect() as connection:
        for name, relation in world.database.relations.items():
            columns = {f"c{i}": column for i, column in enumerate(relation.columns)}
            connection.register("given", columns)
            connection.execute(f"COPY (SELECT * FROM given) TO '{folder}/{name}.parquet'")
            connection.unregister("given")
        keys = world.keys[:: max(1, len(world.keys) // 100_000), 0]
        connection.register("given", {"id": keys, "label": (keys * 7919 % 3 == 0).astype(np.int32)})
        connection.execute(f"COPY (SELECT * FROM given) TO '{folder}/examples.parquet'")
    return {"facts": world.facts()}


def _on_spark(folder: str, way: str) -> dict[str, Any]:
    import psutil

    from hornbeam.engines.sql.drivers.spark import SparkConnection, SparkEngine

    empty = worlds.friendships(10, 20).database
    connection = SparkConnection()
    (java,) = [each for each in psutil.Process().children(recursive=True) if "java" in each.name()]
    tables = {
        name: SqlTable(("parquet", f"{folder}/{name}.parquet"), tuple(f"c{i}" for i in range(arity)))
        for name, arity in (("friends", 2), ("smokes", 1), ("lives", 2))
    }
    examples = ExampleTable(("parquet", f"{folder}/examples.parquet"), ("id",), "label")
    modes = [mode for mode in empty.modes if mode.predicate in ("cancer", "friends", "smokes", "lives")]
    database = in_place(connection, empty.schema, modes, tables, "cancer", examples)
    keys = database.examples_of("cancer").keys
    world = World("", database, keys)
    clauses = _level(world)
    clauses = clauses[:: max(1, len(clauses) // SPARK_CANDIDATES)][:SPARK_CANDIDATES]
    if way != "together":
        clauses = clauses[::8]
    work = _sums(SparkEngine, world, [clauses] if way == "together" else [[clause] for clause in clauses])
    before = sum(java.cpu_times()[:2])
    timing, _ = measure.best_of(1, work)
    spent = sum(java.cpu_times()[:2]) - before + timing.cpu
    connection.close()
    return {"candidates": len(clauses), "cpu": spent, "wall": timing.wall}


CHILDREN = {"make": _make, "spark": _on_spark}


def _child(name: str, *words: str) -> dict[str, Any]:
    """Run a part in a process of its own, so that only its memory is measured."""
    environment = {"PYTHONWARNINGS": "ignore"}
    command = [sys.executable, __file__, "--child", name, "--words", *words]
    run = measure.run_process(command, environment=environment)
    if run.status:
        sys.exit(f"{name} failed:\n{run.output}")
    found: dict[str, Any] = json.loads(run.output.strip().splitlines()[-1])
    return found


# --- report -------------------------------------------------------------------------------------------


def _report(results: dict[str, Any]) -> str:
    parts = [measure.machine_line(results["machine"])]
    if results.get("joins"):
        parts.append(_joins_table(results["joins"]))
    if results.get("candidates"):
        rows = [
            [
                line["engine"],
                line["world"],
                str(line["candidates"]),
                f"{line['together']:.1f}",
                f"{line['one by one']:.1f}",
                f"{line['a column each']:.1f}" if "a column each" in line else "-",
                times(line["together"] / line["a column each"]) if "a column each" in line else "-",
            ]
            for line in results["candidates"]
        ]
        header = ["engine", "world", "candidates", "per CPU-s together", "one by one"]
        header += ["a column each", "together / a column each"]
        parts.append("**The candidates of one level**, sums of each:\n\n" + table(header, rows))
    if results.get("spark"):
        rows = [
            [
                f"{line['facts']:,}",
                line["way"],
                str(line["candidates"]),
                seconds(line["cpu"]),
                f"{line['candidates'] / line['cpu']:.2f}",
                f"{line['cpu'] / line['candidates'] / line['facts'] * 1e9:.0f} ns",
            ]
            for line in results["spark"]
        ]
        header = ["facts", "candidates", "number", "CPU", "per CPU-s", "per candidate and fact"]
        parts.append(
            "**Spark**, a local session, Parquet files, without its start:\n\n" + table(header, rows)
        )
    return "\n\n".join(parts)


def _joins_table(lines: Sequence[dict[str, Any]]) -> str:
    rows = []
    for line in lines:
        naive = line.get("naive")
        ratio = None if naive is None else naive / line["duckdb"]
        wanted = 2.0 if line["fast"] else 1.0
        met = "met" if ratio is None or round(ratio, 2) >= wanted else "**missed**"
        rows.append(
            [
                line["body"],
                line["world"],
                seconds(line["duckdb"]),
                f"over {LIMIT:.0f} s" if naive is None else seconds(naive),
                times(ratio),
                f">= {wanted:g}x, {met}",
                seconds(line["memory"]),
                times(line["duckdb"] / line["memory"]),
            ]
        )
    header = [
        "body",
        "world",
        "duckdb",
        "naive join",
        "naive / duckdb",
        "target",
        "memory",
        "duckdb / memory",
    ]
    said = "CPU per count of all examples; facts and examples loaded, and the query written, before:\n\n"
    return said + table(header, rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small worlds")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--facts", type=int, nargs="+", default=[1_000_000, 10_000_000], help="sizes for Spark"
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--child", choices=CHILDREN, help=argparse.SUPPRESS)
    parser.add_argument("--words", nargs="*", default=[], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if "spark" in arguments.only and not (arguments.child or shutil.which("java")):
        arguments.only.remove("spark")
    return arguments


if __name__ == "__main__":
    main()
