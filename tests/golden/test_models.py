"""Model files of every format version load for ever, print, and predict what they did when they were made.

A new format version adds a folder; nothing in an old one is ever changed.
"""

import csv
import json
from pathlib import Path

import pytest

from hornbeam.cli import main
from hornbeam.model.files import FORMAT_VERSION, HOMES, load_model, model_text

FOLDER = Path(__file__).parent / "models"
LEARNERS = {
    1: {"rlr", *HOMES} - {"joint"},
    2: {"rlr", "one-vs-rest", "joint"},
    3: {"rlr"},
    4: {"one-vs-rest"},
}
"""The learners whose models a version of the format was made for; other models stay in their version."""
FILES = sorted(FOLDER.glob("version*/*.json"))


def test_there_are_files_of_every_version_and_every_learner() -> None:
    for version in range(1, FORMAT_VERSION + 1):
        of_version = [path for path in FILES if path.parent.name == f"version{version}"]
        documents = [json.loads(path.read_text()) for path in of_version]
        assert {document["format_version"] for document in documents} == {version}
        assert {document["learner"] for document in documents} == LEARNERS[version]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
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
    """What a file predicts of each key, which is in its first column. Older files name this column arg1."""
    with path.open(newline="") as file:
        return {
            next(iter(row.values())): {
                column: float(value)
                for column, value in row.items()
                if column.startswith(("probability", "prediction"))
            }
            for row in csv.DictReader(file)
        }


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_golden_model_is_written_again_as_it_was(path: Path) -> None:
    model = load_model(path)
    assert model_text(model) == path.read_text()
    assert str(model)
