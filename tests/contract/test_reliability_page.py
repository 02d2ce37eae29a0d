"""The page on reliability says what was measured."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_figure_is_as_recorded() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "reliability" / "document.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
