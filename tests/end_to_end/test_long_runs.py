"""Kills and soak, the short way; ``make test-long`` kills and fits ten times as often by the same scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "reliability"


def run(script: str, *words: object) -> dict[str, float]:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / script), *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, float] = json.loads(done.stdout)
    return found


def test_twenty_kills_at_random_moments_give_the_model_of_an_undisturbed_fit() -> None:
    found = run("kills.py", "--kills", 20)
    assert found["kills"] == 20
    assert (found["other_models"], found["unfinished"]) == (0, 0)


def test_thirty_fits_in_one_process_leave_nothing_behind() -> None:
    found = run("soak.py", "--fits", 30)
    assert found["growth"] <= 0.05
    assert {name: found[name] for name in found if name.endswith("_left")} == {
        "files_left": 0,
        "handles_left": 0,
        "threads_left": 0,
        "connections_left": 0,
    }
