"""Data of unusual shapes: many predicates, columns or tables, and small tables that stay in place.

    python benchmarks/bench_shapes.py [--before]

Writes results/shapes.json and its table in README.md. Each line is a process of its own; the figure is the
CPU time of the whole command, start included. With ``--before`` the figures are those of an older version to
compare with: run it with PYTHONPATH set to the sources of that version.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import measure
from measure import say

LIMIT = 90
"""CPU seconds after which a command is ended"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure data of unusual shapes.")
    parser.add_argument("--before", action="store_true", help="these are figures of an older version")
    column = "before" if parser.parse_args().before else "commands"
    path = measure.RESULTS / "shapes.json"
    results: dict[str, Any] = measure.load("shapes") if path.exists() else {"before": {}, "commands": {}}
    results[column] = {}  # in the order of the commands: the file has them sorted by name
    results["machine"] = measure.machine(["hornbeam", "numpy", "duckdb"])
    with tempfile.TemporaryDirectory() as folder:
        for name, words in _commands(Path(folder)).items():
            say(name)
            ran = measure.run_process([sys.executable, "-m", "hornbeam", *map(str, words)], LIMIT)
            assert ran.status in (0, measure.TIMED_OUT), ran.output
            done = ran.status == 0
            results[column][name] = {"cpu": ran.cpu if done else None, "wall": ran.wall if done else None}
    measure.save("shapes", results)
    measure.write_section("shapes", report(results))


def _commands(folder: Path) -> dict[str, list[object]]:
    predicates, wide, many = folder / "predicates", folder / "wide", folder / "many"
    for place in (predicates, wide, many):
        place.mkdir()
    (predicates / "facts.txt").write_text("".join(f"p{n}(a1).\np{n}(a2).\n" for n in range(16_000)))
    (predicates / "pos.txt").write_text("".join(f"t(a{n}).\n" for n in range(20)))
    (predicates / "neg.txt").write_text("".join(f"t(a{n}).\n" for n in range(20, 40)))
    _write_wide(wide / "users.csv")
    (many / "users.csv").write_text("id,bad\n" + "".join(f"{n},{n % 2}\n" for n in range(50)))
    rows = "".join(f"{n},{n * 7 % 50},{'abc'[n % 3]}\n" for n in range(20))
    for number in range(2_000):
        (many / f"t{number}.csv").write_text(f"id,user_id,kind\n{rows}")
    small, large = folder / "small.duckdb", folder / "large.duckdb"
    write_shop(small, 200)
    examples = write_shop(large, 4_000)
    paper = ["fit", small, "--target", "users.bad", "--preset", "paper"]
    default = ["fit", large, "--target", "users.bad", "--examples", examples]
    in_place = ["--engine", "duckdb"]
    return {
        "16,000 predicates of 2 facts": ["inspect", predicates],
        "one CSV table of 1,000 columns and 1,000 rows": ["inspect", wide],
        "2,000 CSV tables of 20 rows": ["inspect", many],
        "paper, 200 users, loaded": paper,
        "paper, 200 users, in place": [*paper, *in_place],
        "default with cut-offs, 4,000 users, loaded": default,
        "default with cut-offs, 4,000 users, in place": [*default, *in_place],
    }


def _write_wide(path: Path) -> None:
    random = np.random.default_rng(0)
    columns = [
        [random.integers(0, 10, 1_000), random.choice(list("abcd"), 1_000), random.random(1_000).round(3)][
            number % 3
        ].tolist()
        for number in range(1_000)
    ]
    with path.open("w") as file:
        file.write("id,bad," + ",".join(f"c{number}" for number in range(1_000)) + "\n")
        for number, row in enumerate(zip(*columns, strict=True)):
            file.write(f"{number},{number % 2},{','.join(map(str, row))}\n")


def write_shop(path: Path, users: int) -> Path:
    """Users, orders and friends in a DuckDB file; returns a file of examples with cut-offs."""
    examples = path.with_suffix(".csv")
    with duckdb.connect(path) as own:
        own.execute("SELECT setseed(0.5)")
        own.execute(
            "CREATE TABLE users (id INTEGER PRIMARY KEY, age INTEGER, city VARCHAR, bad BOOLEAN);"
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INTEGER REFERENCES users (id), "
            "amount DOUBLE, item VARCHAR, placed TIMESTAMP);"
            "CREATE TABLE friends (a INTEGER REFERENCES users (id), b INTEGER REFERENCES users (id));"
            "INSERT INTO users SELECT i, 18 + (random() * 60)::INT, 'c' || (random() * 5)::INT, "
            f"random() < 0.4 FROM range({users}) AS r(i);"
            f"INSERT INTO orders SELECT i, (random() * {users - 1})::INT, random() * 100, "
            "'i' || (random() * 8)::INT, TIMESTAMP '2024-01-01' + to_days((random() * 360)::INT) "
            f"FROM range({users * 5}) AS r(i);"
            f"INSERT INTO friends SELECT DISTINCT (random() * {users - 1})::INT, "
            f"(random() * {users - 1})::INT FROM range({users * 3});"
        )
        own.execute(
            "COPY (SELECT id, bad AS label, TIMESTAMP '2024-06-01' + to_days(id % 200) AS cutoff FROM users) "
            f"TO '{examples}' (HEADER)"
        )
    return examples


def report(results: Mapping[str, Any]) -> str:
    """The table of README.md."""
    rows = [
        [name, _shown(results["before"].get(name), "cpu"), _shown(line, "cpu"), _shown(line, "wall")]
        for name, line in results["commands"].items()
    ]
    header = ["data", "CPU before", "CPU", "wall"]
    return f"{measure.machine_line(results['machine'])}\n\n{measure.table(header, rows)}"


def _shown(line: Mapping[str, Any] | None, key: str) -> str:
    if line is None:
        return "not measured"
    return f"> {LIMIT} s" if line[key] is None else measure.seconds(line[key])


if __name__ == "__main__":
    main()
