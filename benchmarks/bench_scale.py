"""Whole fits of many facts: CPU, and the peak memory of all their processes, loaded and in place.

    python benchmarks/bench_scale.py --rows 500000                    # about a minute
    python benchmarks/bench_scale.py --rows 5000000 50000000          # some minutes each
    python benchmarks/bench_scale.py --rows 5000000 --only loaded "in place, 500 MB"
    python benchmarks/bench_scale.py --report                         # only the table

Events of users in shops, and ratings of films by users (two links to many), as Parquet files. Each line is a
process of its own: start-up included, CPU is user and system time of it and its children, the peak is the
largest sum of their memory, looked at every 20 ms. Beside them stands one GROUP BY in DuckDB, written by
hand, that computes the features of the path from users to events for the same examples.

Writes results/scale.json and its table in README.md; lines that are not run keep their last figures.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb

import measure
from hornbeam.model.files import load_model
from measure import say, seconds, table

EXAMPLES = 20_000
"""At most so many examples, and at most a tenth of the users, where not all users are examples."""
KINDS = 8
"""Kinds of events; the features of each are computed."""
SCHEMA = """
[users]
key = "id"
links = {}

[shops]
key = "id"
links = {}

[events]
key = "id"
links = { user_id = "users", shop_id = "shops" }
"""
FILM_SCHEMA = """
[users]
key = "id"
links = {}

[films]
key = "id"
links = {}

[ratings]
key = false
links = { user_id = "users", film_id = "films" }
rows = false
"""
LIMIT = 600
"""CPU seconds after which a line is given up."""


@dataclass(frozen=True)
class Line:
    """One process to measure: its name, its command for a folder of data, and what is wanted of it."""

    name: str
    command: Callable[[Path], list[str | Path]]
    wanted: Mapping[int, tuple[float, float]]
    """by number of events: CPU seconds and peak megabytes"""
    learns: bool = True
    least: int = 0
    """with fewer events it runs only if it is named"""


def main() -> None:
    arguments = _arguments()
    results: dict[str, Any] = measure.load("scale")
    results["machine"] = measure.machine(["hornbeam", "numpy", "duckdb"])
    for rows in () if arguments.report else arguments.rows:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
            folder = Path(name)
            say(f"{rows:,} rows as Parquet")
            # In another process, so that the memory of DuckDB goes with it.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                pool.submit(_make, folder, rows).result()
            of_size = results.setdefault("rows", {}).setdefault(str(rows), {})
            for line in LINES:
                if line.name in arguments.only or (not arguments.only and rows >= line.least):
                    of_size[line.name] = _run(line, folder)
                    say(f"  {line.name}: {of_size[line.name]}")
                    if arguments.out is None:
                        measure.save("scale", results)
            _check_alike(of_size)
    if arguments.out is None:
        measure.write_section("scale", report(results))
    else:
        arguments.out.write_text(report(results) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[500_000], help="numbers of events")
    parser.add_argument("--only", nargs="+", choices=[line.name for line in LINES], default=[])
    parser.add_argument("--report", action="store_true", help="only write the table")
    parser.add_argument("--out", type=Path, help="write the section to this file, not to README.md")
    parser.add_argument("--folder", type=Path, help="where the files go for a while")
    return parser.parse_args()


# --- data ------------------------------------------------------------------------------------


def _make(folder: Path, rows: int) -> None:
    """Write the events and the ratings, and the files of examples."""
    users, shops = max(min(rows // 10, 1_000_000), 1), max(rows // 5_000, 20)
    events, films = folder / "events", folder / "films"
    for place, schema in ((events, SCHEMA), (films, FILM_SCHEMA)):
        place.mkdir()
        (place / "schema.toml").write_text(schema)
    with duckdb.connect(config={"memory_limit": "2GB", "temp_directory": str(folder)}) as own:
        own.execute("SET enable_progress_bar = false; SET preserve_insertion_order = true")

        def write(path: Path, query: str) -> None:
            own.execute(f"COPY ({query}) TO '{path}'")

        of_users = f"SELECT range AS id, 18 + (hash(range * 13) % 60)::INTEGER AS age FROM range({users})"
        write(events / "users.parquet", of_users)
        write(
            events / "shops.parquet",
            f"SELECT range AS id, 'branch' || hash(range * 3) % 6 AS branch FROM range({shops})",
        )
        # Some users have many events, and users differ in what they spend: labels depend on that.
        spends = "(1 + hash(user_id * 31) % 4)"
        write(
            events / "events.parquet",
            f"SELECT range AS id, user_id, (hash(range * 11 + 1) % {shops})::BIGINT AS shop_id, "
            f"'kind' || hash(range * 17 + 3) % {KINDS} AS kind, "
            f"round({spends} * (1 + hash(range * 19 + 5) % 5000) / 100.0, 2) AS amount FROM (SELECT range, "
            f"floor({users} * pow(hash(range * 3 + 7) / pow(2.0, 64), 1.3))::BIGINT AS user_id "
            f"FROM range({rows}))",
        )
        label = "hash(id * 31) % 4 >= 2 AND hash(id * 37) % 10 < 8 OR hash(id * 41) % 10 = 0"
        step = max(10, users // EXAMPLES)
        write(folder / "some.parquet", f"SELECT id, {label} AS label FROM ({of_users}) WHERE id % {step} = 0")
        write(folder / "all.parquet", f"SELECT id, {label} AS label FROM ({of_users})")
        write(films / "users.parquet", of_users)
        n_films = max(users // 300, 20)
        write(
            films / "films.parquet",
            "SELECT range AS id, 'genre' || hash(range * 3) % 12 AS genre, "
            f"1950 + (hash(range * 5) % 70)::INTEGER AS year FROM range({n_films})",
        )
        write(
            films / "ratings.parquet",
            "SELECT user_id, film_id, min(stars) AS stars FROM (SELECT "
            f"(hash(range * 3 + 7) % {users})::BIGINT AS user_id, floor({n_films} * "
            "pow(hash(range * 5 + 9) / pow(2.0, 64), 2))::BIGINT AS film_id, "
            f"1 + (hash(range * 7) % 5)::INTEGER AS stars FROM range({rows // 5})) GROUP BY ALL",
        )


# --- lines -----------------------------------------------------------------------------------


def _fit(data: str, examples: str, *options: str) -> Callable[[Path], list[str | Path]]:
    def command(folder: Path) -> list[str | Path]:
        words: list[str | Path] = [sys.executable, "-m", "hornbeam", "fit", folder / data]
        words += ["--target", "good(users)", "--examples", folder / examples]
        return [*words, "--model", folder / "model.json", *options]

    return command


def _load(folder: Path) -> list[str | Path]:
    code = f"import hornbeam.loading as l; l.load({str(folder / 'events')!r})"
    return [sys.executable, "-W", "ignore", "-c", code]


def _open(folder: Path) -> list[str | Path]:
    code = (
        "from hornbeam.in_place.load import load_quietly as load\n"
        f"load({str(folder / 'events')!r}, engine='duckdb', target='good(users)', "
        f"examples={str(folder / 'some.parquet')!r}, memory=1_000_000_000)"
    )
    return [sys.executable, "-W", "ignore", "-c", code]


def _by_hand(examples: str) -> Callable[[Path], list[str | Path]]:
    """The features of users and their events by one GROUP BY, as an expert writes them."""

    def command(folder: Path) -> list[str | Path]:
        features = []
        for where in ("", *(f" FILTER (kind = 'kind{number}')" for number in range(KINDS))):
            features += [f"count(*){where}", *(f"{f}(amount){where}" for f in ("sum", "avg", "min", "max"))]
            features.append(f"stddev_pop(amount){where}")
        query = (
            f"SELECT user_id, {', '.join(features)} FROM '{folder}/events/events.parquet' "
            f"WHERE user_id IN (SELECT id FROM '{folder}/{examples}') GROUP BY user_id"
        )
        code = (
            "import duckdb\nown = duckdb.connect(config={'memory_limit': '1GB'})\n"
            f"print(len(own.execute({query!r}).fetchnumpy()['user_id']))"
        )
        return [sys.executable, "-c", code]

    return command


IN_PLACE = ("--engine", "duckdb", "--memory")
LINES = (
    Line("by hand", _by_hand("some.parquet"), {}, learns=False),
    Line("by hand, all users", _by_hand("all.parquet"), {}, learns=False),
    Line("loading", _load, {50_000_000: (60, 3_000)}, learns=False),
    Line("opening in place", _open, {}, learns=False),
    Line(
        "loaded",
        _fit("events", "some.parquet", "--engine", "memory"),
        {5_000_000: (13, 700), 50_000_000: (60, 4_500)},
    ),
    Line(
        "in place, 500 MB",
        _fit("events", "some.parquet", *IN_PLACE, "500MB"),
        {5_000_000: (16, 700)},
    ),
    Line("in place, 1 GB", _fit("events", "some.parquet", *IN_PLACE, "1GB"), {50_000_000: (60, 1_300)}),
    Line(
        "in place, 4 GB, all users",
        _fit("events", "all.parquet", *IN_PLACE, "4GB"),
        {50_000_000: (800, 4_300)},
        least=5_000_000,
    ),
    Line("films, loaded", _fit("films", "some.parquet", "--engine", "memory"), {}),
)
ALIKE = ("loaded", "in place, 500 MB", "in place, 1 GB")
"""Lines that must learn the same model."""


def _run(line: Line, folder: Path) -> dict[str, Any]:
    say(f"  {line.name} ...")
    run = measure.run_process(line.command(folder), LIMIT, all_processes=True)
    found: dict[str, Any] = {
        "cpu": round(run.cpu, 2),
        "system": round(run.system, 2),
        "wall": round(run.wall, 2),
        "peak": run.peak_bytes,
    }
    if run.status:
        words = run.output.strip().splitlines()
        return {**found, "failed": f"status {run.status}: {words[-1] if words else ''}"[:300]}
    if line.learns:
        model = folder / "model.json"
        first = load_model(model).effects[0].effect
        found["first"] = str(first).partition(" : ")[2]
        found["model"] = sha256(model.read_bytes()).hexdigest()
    return found


def _check_alike(found: Mapping[str, Any]) -> None:
    """Stop if the same data gave different models loaded and in place."""
    models = {name: found[name]["model"] for name in ALIKE if "model" in found.get(name, {})}
    if len(set(models.values())) > 1:
        sys.exit(f"the models of {', '.join(models)} differ")


def report(results: Mapping[str, Any]) -> str:
    """The section of README.md."""
    header = ["work", "CPU", "of it system", "wall", "peak memory", "by hand", "wanted", "first effect"]
    parts = [measure.machine_line(results["machine"])]
    for rows, found in sorted(results["rows"].items(), key=lambda item: int(item[0])):
        lines = [_row(line, int(rows), found) for line in LINES if line.name in found]
        parts += [f"**{int(rows):,} events**", table(header, lines)]
    return "\n\n".join(parts)


def _row(line: Line, rows: int, found: Mapping[str, Any]) -> list[str]:
    ran = found[line.name]
    hand = found.get("by hand, all users" if "all users" in line.name else "by hand")
    ratio = "-" if hand is None or not line.learns or "films" in line.name else ran["cpu"] / hand["cpu"]
    wanted = "-"
    if rows in line.wanted:
        cpu, megabytes = line.wanted[rows]
        met = ran["cpu"] <= cpu and ran["peak"] <= megabytes * 1e6 and "failed" not in ran
        wanted = f"<= {cpu} s, {megabytes:,} MB, {'met' if met else '**missed**'}"
    return [
        line.name + (f" (**failed**: {ran['failed']})" if "failed" in ran else ""),
        seconds(ran["cpu"]),
        seconds(ran["system"]),
        seconds(ran["wall"]),
        f"{ran['peak'] / 1e6:,.0f} MB",
        ratio if isinstance(ratio, str) else measure.times(ratio),
        wanted,
        f"`{ran['first']}`" if "first" in ran else "-",
    ]


if __name__ == "__main__":
    main()
