"""Where measured figures are kept: ``benchmarks/results/reliability/NAME.json``, one file per measurement."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "benchmarks" / "results" / "reliability"


def record(name: str, found: Mapping[str, object]) -> None:
    """Put figures into a measurement's file, beside those of other names that are there already."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps(recorded(name) | found, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def recorded(name: str) -> dict[str, Any]:
    """The figures of a measurement; none where it was not made yet."""
    path = FOLDER / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found
