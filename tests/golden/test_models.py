"""Model files of every learner load, print, and predict what they did when they were made."""

import csv
from pathlib import Path

import pytest

from hornbeam.cli import main
from hornbeam.model.files import HOMES, load_model, model_text

FOLDER = Path(__file__).parent / "models"
FILES = sorted(FOLDER.glob("*.json"))


def test_there_are_files_of_every_learner() -> None:
    assert {load_model(path).learner for path in FILES} == {"rlr", *HOMES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_model_predicts_what_it_always_did(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "predictions.csv"
    with pytest.raises(SystemExit) as left:
        main(["predict", str(FOLDER / "data"), "--model", str(path), "--out", str(out)])
    assert left.value.code == 0
    found, expected = predictions(out), predictions(path.with_suffix(".csv"))
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        assert found[key] == pytest.approx(values, rel=1e-9, abs=1e-12)


def predictions(path: Path) -> dict[str, dict[str, float]]:
    """What a file predicts of each key, which is in its first column."""
    with path.open(newline="") as file:
        return {
            next(iter(row.values())): {
                column: float(value)
                for column, value in row.items()
                if column.startswith(("probability", "prediction"))
            }
            for row in csv.DictReader(file)
        }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_model_is_written_again_as_it_was(path: Path) -> None:
    model = load_model(path)
    assert model_text(model) == path.read_text()
    assert str(model)
