"""The cost of a report: CPU to write it, its size, and the time a browser takes to open it.

    python benchmarks/bench_report.py [--repeats N]

Writes results/report.json and its table in README.md. The model has 50 clauses of up to three literals,
drawn from the language of a generated university, and random weights. Opening is timed in Chromium, from
the start of the navigation to the end of its load event, by when the table of examples is there; filtering
its 5,000 rows and opening an explanation until the layout is done. Without Chromium all that is left out.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import measure
from hornbeam.data.database import Database
from hornbeam.datasets.worlds import university
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.registry import open_engine
from hornbeam.logic.clauses import head_atom
from hornbeam.logic.refine import Language, refinements
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.features import LOG
from hornbeam.report import About, report
from measure import say

TARGET = "advisedby"
SIZES = [(10, 10), (157, 50)]
"""departments (320 examples each) and clauses"""


OPENED = "performance.getEntriesByType('navigation')[0].loadEventEnd"
# Until the layout is done, which asking for a height waits for.
FILTERED = """() => {
    const start = performance.now(), find = document.getElementById('find');
    find.value = '7';
    find.dispatchEvent(new Event('input'));
    document.body.offsetHeight;
    return performance.now() - start;
}"""
EXPLAINED = """() => {
    const start = performance.now();
    document.querySelectorAll('#table tbody tr')[9].click();
    document.body.offsetHeight;
    return performance.now() - start;
}"""


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
    """The time to write and to open a report of one size."""
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
        **in_browser(page, repeats),
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
            found[str(clause)] = WeightedClause(clause, weights, counter_of(engine).total(clause), LOG)
    return Model(TARGET, database.schema, -2.0, tuple(found.values()))


def in_browser(page: Path, repeats: int) -> dict[str, float | None]:
    """Seconds until a browser shows the page and its table, and until it shows another sample of it.

    None without a browser.
    """
    chromium = shutil.which("chromium")
    if chromium is None:
        say("no chromium here: opening is not timed")
        return {"opened": None, "filtered": None, "explained": None}
    from playwright.sync_api import sync_playwright

    found: dict[str, list[float]] = {"opened": [], "filtered": [], "explained": []}
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(repeats):
            tab = browser.new_page()
            tab.goto(page.as_uri())
            tab.wait_for_selector("#table tbody tr")
            # What the browser itself measured, from the navigation to the end of the load event.
            found["opened"].append(tab.evaluate(OPENED) / 1000)
            found["filtered"].append(tab.evaluate(FILTERED) / 1000)
            found["explained"].append(tab.evaluate(EXPLAINED) / 1000)
            tab.close()
        browser.close()
    return {name: min(seconds) for name, seconds in found.items()}


def table(results: dict[str, Any]) -> str:
    """The section of README.md."""
    rows = [
        [
            f"{each['examples']:,}",
            str(each["clauses"]),
            f"{each['cpu']:.2f} s",
            f"{each['bytes'] / 1e6:.1f} MB",
            *(_milliseconds(each[name]) for name in ("opened", "filtered", "explained")),
        ]
        for each in results["reports"]
    ]
    header = ["examples", "clauses", "CPU to write", "size", "to open", "to filter", "to explain"]
    return f"{measure.machine_line(results['machine'])}\n\n{measure.table(header, rows)}"


def _milliseconds(seconds: float | None) -> str:
    return "not timed" if seconds is None else f"{1000 * seconds:.0f} ms"


if __name__ == "__main__":
    main()
