"""Run Hornbeam in other environments, each created in a temporary folder.

``python reliability/environments.py core --python python3.13`` installs the package without extras and runs
its commands; ``python reliability/environments.py oldest`` installs the oldest versions that
``pyproject.toml`` allows (``reliability/oldest.txt``) and runs some of the tests on them. ``--record``
writes the result to the records.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from results import ROOT, record

HERE = Path(__file__).resolve().parent
OLDEST = HERE / "oldest.txt"
TOOLS = ("pytest", "hypothesis", "mpmath", "pandas<3.1", "polars", "psutil", "pyarrow", "psycopg[binary]")
TESTS = (
    "tests/golden",
    "tests/unit/data/test_keys.py",
    "tests/unit/engines/test_export.py",
    "tests/unit/engines/test_count_cache.py",
    "tests/unit/engines/test_sql_text.py",
    "tests/unit/learning/test_boost.py",
    "tests/fits/learning/test_classes.py",
    "tests/unit/learning/test_ridge.py",
    "tests/unit/loading/test_delimited.py",
    "tests/end_to_end/test_cli.py",
)
OTHER_TEXT = (
    "not spark and not postgres"
    " and not snowflake"  # an older sqlglot writes TEXT where a newer one writes VARCHAR
    " and not fast"  # typer words the error of an unknown option in its own way
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("core", "oldest"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--environment", help="the folder of the environment, which is kept")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hornbeam-environment-") as folder:
        place = Path(options.environment or folder)
        python = place / "bin" / "python"
        if not python.exists():
            _run([options.python, "-m", "venv", str(place)])
            _run([str(python), *_install(options.what)])
        if options.what == "core":
            _run([str(python), str(HERE / "core_only.py"), *(["--record"] if options.record else [])])
        else:
            _oldest(str(python), options.record)


def _install(what: str) -> list[str]:
    pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if what == "core":
        return [*pip, "-c", str(ROOT / "constraints.txt"), str(ROOT)]
    return [*pip, "-c", str(OLDEST), str(ROOT), *TOOLS]


def _oldest(python: str, wanted: bool) -> None:
    versions = dict(line.split("==") for line in OLDEST.read_text(encoding="utf-8").split())
    listed = json.loads(_run([python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check"]))
    installed = {each["name"].lower(): each["version"] for each in listed}
    other = {name: installed.get(name) for name in versions if installed.get(name) != versions[name]}
    if other:
        sys.exit(f"these installed versions are not the oldest: {other}")
    # Old versions warn about newer Pythons and packages; that is not our concern.
    output = _run(
        [
            *(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore::DeprecationWarning"),
            *(
                "-rN",
                "--no-summary",
                "--tb=short",
                *TESTS,
                "-k",
                OTHER_TEXT,
                "-o",
                "addopts=--import-mode=importlib",
            ),
        ],
        HORNBEAM_CASES="60",
    )
    passed = re.findall(r"(\d+) passed", output)
    print(f"{passed[-1]} tests passed on the oldest versions")
    if wanted:
        record("oldest", {"versions": versions, "passed": int(passed[-1])})


def _run(command: list[str], **more: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | more
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    if done.returncode != 0:
        sys.exit(
            f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-5000:]}\n{done.stderr[-5000:]}"
        )
    return done.stdout


if __name__ == "__main__":
    main()
