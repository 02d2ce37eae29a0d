"""What a report costs: CPU to write it, its size, and the time a browser takes to open it.

    python benchmarks/bench_report.py [--repeats N]

Writes results/report.json and its table in README.md. The model has 50 clauses of up to three literals,
drawn from the language of a generated university, and random weights. Opening is timed in Chromium, from
the start of the navigation to the table of examples being there; without Chromium it is left out, and said.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import measure
from hornbeam.clauses import head_atom
from hornbeam.database import Database
from hornbeam.engines.registry import open_engine
from hornbeam.generate import university
from hornbeam.model import LOG, Model, WeightedClause
from hornbeam.refine import Language, refinements
from hornbeam.report import About, report
from measure import say

TARGET = "advisedby"
SIZES = [(10, 10), (157, 50)]
"""departments (320 examples each) and clauses"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the least time is taken")
    arguments = parser.parse_args()
    results: dict[str, Any] = {"machine": measure.machine(["hornbeam", "numpy"]), "reports": []}
    with tempfile.TemporaryDirectory() as scratch:
        for departments, clauses in SIZES:
            found = measured(departments, clauses, arguments.repeats, Path(scratch) / "report.html")
            say(str(found))
            results["reports"].append(found)
    measure.save("report", results)
    measure.write_section("report", table(results))


def measured(departments: int, clauses: int, repeats: int, page: Path) -> dict[str, Any]:
    """One size: what writing and opening took."""
    database = university(n_departments=departments)
    model = drawn_model(database, clauses)
    examples = database.examples_of(TARGET)

    def write() -> None:
        # An engine of its own each time: nothing is known of earlier counts.
        report(model, open_engine("memory", database), examples, About("a university")).save(page)

    timing, _ = measure.best_of(repeats, write)
    return {
        "examples": len(examples),
        "clauses": clauses,
        "cpu": timing.cpu,
        "bytes": page.stat().st_size,
        "opened": opened(page, repeats),
    }


def drawn_model(database: Database, clauses: int) -> Model:
    """Clauses drawn from all that the modes allow, with random weights."""
    rng = random.Random(1)
    language = Language(head_atom(TARGET, 2), database.schema, database.modes, database.constants)
    engine = open_engine("memory", database)
    found: dict[str, WeightedClause] = {}
    while len(found) < clauses:
        clause = language.empty()
        for _ in range(rng.randint(1, 3)):
            clause = rng.choice(refinements(clause, language))
        if clause.touches_head():
            weights = (rng.gauss(0, 0.1), rng.gauss(0, 0.5), 0.0)
            found[str(clause)] = WeightedClause(clause, weights, engine.total(clause), LOG)
    return Model(TARGET, database.schema, -2.0, tuple(found.values()))


def opened(page: Path, repeats: int) -> float | None:
    """Seconds until a browser shows the page and its table; None without a browser."""
    chromium = shutil.which("chromium")
    if chromium is None:
        say("no chromium here: opening is not timed")
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        seconds = []
        for _ in range(repeats):
            tab = browser.new_page()
            tab.goto(page.as_uri())
            tab.wait_for_selector("#table tbody tr")
            # What the browser itself measured, from the navigation to the end of the load event.
            seconds.append(tab.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000)
            tab.close()
        browser.close()
    return min(seconds)


def table(results: dict[str, Any]) -> str:
    """The section of README.md."""
    rows = [
        [
            f"{each['examples']:,}",
            str(each["clauses"]),
            f"{each['cpu']:.1f} s",
            f"{each['bytes'] / 1e6:.1f} MB",
            "not timed" if each["opened"] is None else f"{each['opened']:.2f} s",
        ]
        for each in results["reports"]
    ]
    header = ["examples", "clauses", "CPU to write", "size", "to open"]
    return f"{measure.machine_line(results['machine'])}\n\n{measure.table(header, rows)}"


if __name__ == "__main__":
    main()
