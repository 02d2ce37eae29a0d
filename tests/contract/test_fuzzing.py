"""The fuzz targets hold: on what was found before, on their seeds, and on 5 seconds of new inputs each."""

import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[2] / "fuzz"
TARGETS = ("facts", "modes", "clauses", "effects", "models", "schemas")
INPUTS = sorted(path for folder in ("seeds", "found") for path in FUZZ.glob(f"{folder}/*/*"))


@pytest.fixture
def targets(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.syspath_prepend(str(FUZZ))
    import targets

    return targets.TARGETS


def test_every_reader_is_a_target(targets) -> None:  # type: ignore[no-untyped-def]
    assert tuple(targets) == TARGETS
    for target in TARGETS:
        assert any(path.parent.name == target for path in INPUTS)
        assert (FUZZ / "words" / target).is_file()


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_was_found_before_stays_mended(path: Path, targets) -> None:  # type: ignore[no-untyped-def]
    targets[path.parent.name](path.read_bytes())


@pytest.mark.parametrize("target", TARGETS)
def test_five_seconds_of_new_inputs_find_nothing(target: str) -> None:
    done = subprocess.run(
        [sys.executable, str(FUZZ / "run.py"), target, "--seconds", "5"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "no fault" in done.stdout
