"""The records of measurements: ``benchmarks/results/reliability/NAME.json``, one file for each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "benchmarks" / "results" / "reliability"


def record(name: str, found: Mapping[str, object]) -> None:
    """Write figures into the file of a measurement; figures in it that have other names stay."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps(recorded(name) | found, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def recorded(name: str) -> dict[str, Any]:
    """The figures of a measurement; none if it was not made yet."""
    path = FOLDER / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found
