"""Run the package without extras, in an environment that has only Hornbeam and its dependencies.

``python reliability/core_only.py [--record]`` learns, predicts and explains from facts and tables, counts in
DuckDB, and uses options that need extras: their errors must say what to install.
"""

from __future__ import annotations

import importlib.util
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from results import ROOT, record

EXTRAS = ("psycopg", "pyspark", "pyarrow", "pandas", "polars", "pytest", "hypothesis")
GOLDEN = ROOT / "tests" / "golden" / "models"


def main() -> None:
    there = [name for name in EXTRAS if importlib.util.find_spec(name) is not None]
    if there:
        sys.exit(f"this environment has packages that the core does not need: {', '.join(there)}")
    with tempfile.TemporaryDirectory(prefix="hornbeam-core-") as folder:
        verbs = _verbs(Path(folder))
    found = {"verbs": verbs, "dependencies": {name: version(name) for name in _dependencies()}}
    print(f"Python {platform.python_version()}: {verbs} commands ran with the core alone")
    if "--record" in sys.argv:
        record("core", {platform.python_version(): found})


def _dependencies() -> tuple[str, ...]:
    return (
        "numpy",
        "scipy",
        "typer",
        "rich",
        "scikit-learn",
        "threadpoolctl",
        "narwhals",
        "duckdb",
        "sqlglot",
    )


def _verbs(folder: Path) -> int:
    model = folder / "m.json"
    data = GOLDEN / "data"
    facts = folder / "facts"
    facts.mkdir()
    (facts / "facts.txt").write_text("friends(ann,bob). friends(bob,cat). friends(cat,dan). smokes(bob).")
    (facts / "pos.txt").write_text("cancer(ann). cancer(cat).")
    (facts / "neg.txt").write_text("cancer(bob). cancer(dan).")
    done = 0
    for words in (
        ["demo"],
        ["fit", facts, "--target", "cancer", "--steps", "2", "--model", model],
        ["predict", facts, "--model", model],
        ["predict", facts, "--model", model, "--engine", "duckdb"],
        ["explain", facts, "--model", model, "--example", "cancer(ann)"],
        ["evaluate", facts, "--model", model, "--json"],
        ["sql", "--model", model, "--dialect", "postgres"],
        ["inspect", data],
        ["fit", data, "--target", "persons.cancer", "--steps", "2", "--model", model],
        *(["predict", data, "--model", path] for path in sorted(GOLDEN.glob("version1/*.json"))),
    ):
        _run(words, 0)
        done += 1
    for engine in ("postgres", "spark"):
        error = _run(["fit", facts, "--target", "cancer", "--engine", engine], 2)
        assert "install" in error, error
        done += 1
    return done


def _run(words: list[object], status: int) -> str:
    command = [sys.executable, "-W", "error::ResourceWarning", "-m", "hornbeam", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tempfile.gettempdir())
    if done.returncode != status:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return done.stderr


if __name__ == "__main__":
    main()
