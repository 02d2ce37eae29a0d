"""Models of several classes through the verbs that use a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden" / "models"
DATA = GOLDEN / "data"
CLASSES = GOLDEN / "classes_rlr.json"
PLAIN = GOLDEN / "rlr.json"


def test_classes_are_scored_together(run) -> None:
    code, out, _ = run("evaluate", DATA, "--model", CLASSES, "--json")
    scores = json.loads(out)
    assert code == 0
    assert 0.0 <= scores["accuracy"] <= 1.0
    assert run("evaluate", DATA, "--model", CLASSES)[0] == 0


def test_an_explanation_is_of_one_class(run) -> None:
    most = run("explain", DATA, "--model", CLASSES, "--example", "risk(p0)")
    assert most[0] == 0
    assert most[1].startswith("Person p0: risk high with probability ")
    low = run("explain", DATA, "--model", CLASSES, "--example", "risk(p0)", "--class", "low")
    assert low[1].startswith("Person p0: risk low with probability ")
    assert low[1] != most[1]
    code, _, err = run("explain", DATA, "--model", CLASSES, "--example", "risk(p0)", "--class", "hgh")
    assert (code, 'Did you mean "high"?' in err) == (2, True)
    code, _, err = run("explain", DATA, "--model", PLAIN, "--example", "cancer(p0)", "--class", "low")
    assert (code, "--class is refused: the model has no classes." in err) == (2, True)


@pytest.mark.parametrize(
    ("example", "said"),
    [
        ("risk(p0)", 'the example is of "risk", but the model predicts "cancer".'),
        ("cancer(p0,p1)", 'the example has 2 arguments, but "cancer" takes 1'),
    ],
)
def test_an_example_of_something_else(example: str, said: str, run) -> None:
    code, _, err = run("explain", DATA, "--model", PLAIN, "--example", example)
    assert (code, said in err) == (2, True)
