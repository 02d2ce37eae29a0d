"""What users of BoostSRL and srlearn have works after following docs/boostsrl.md: their own toy examples."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import pandas
import pytest

import hornbeam as hb
from plain_options import FEW
from public_data import DATA, needs

pytestmark = needs()

SRLEARN_TOY_CANCER = [0.88079619] * 3 + [0.3075821] * 2
"""What the first example in srlearn's documentation prints: three positives, then two negatives."""


def hornbeam(*words: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "hornbeam", *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("folder", ["toy_cancer", "boostsrl_files/Toy-Cancer"])
def test_toy_cancer_by_commands_gives_the_numbers_that_srlearn_documents(folder, tmp_path):
    model = tmp_path / "m.json"
    hornbeam(
        "fit", DATA / folder, "--target", "cancer", "--learner", "rdn-boost", "--steps", 10, "--model", model
    )
    printed = csv.DictReader(hornbeam("predict", DATA / folder, "--model", model).splitlines())
    assert [round(float(line["probability"]), 8) for line in printed] == SRLEARN_TOY_CANCER
    assert "auc_roc      1.000000" in hornbeam("evaluate", DATA / folder, "--model", model)


@pytest.mark.parametrize("learner", ["rlr", "mln-boost", "rdn-boost"])
@pytest.mark.parametrize(("folder", "target"), [("toy_cancer", "cancer"), ("toy_father", "father")])
def test_the_toys_are_learned_by_every_learner_that_users_come_from_or_to(folder, target, learner, tmp_path):
    model = tmp_path / "m.json"
    # Of fewer than ten examples, none are held out to prove a gain: `rlr` learns only if it need not.
    all_steps = ("--no-validate",) if learner == "rlr" else ()
    hornbeam("fit", DATA / folder, "--target", target, "--learner", learner, *all_steps, "--model", model)
    scores = hornbeam("evaluate", DATA / folder, "--model", model)
    assert "auc_roc      1.000000" in scores


def test_toy_machines_are_classes_once_they_are_tables():
    """Positives only, and an action for each machine: the page says to make them tables."""

    def rows(path: Path, predicate: str) -> list[list[str]]:
        found = re.findall(rf"^{predicate}\(([^)]*)\)", path.read_text(), re.MULTILINE)
        return [[word.strip() for word in words.split(",")] for words in found]

    def tables(split: str) -> dict[str, pandas.DataFrame]:
        facts = DATA / "toy_machines" / split / f"{split}_facts.txt"
        actions = DATA / "toy_machines" / split / f"{split}_pos.txt"
        repair = ("replaceable", "irreplaceable")
        parts = [[part, kind] for kind in repair for (part,) in rows(facts, kind)]
        return {
            "machines": pandas.DataFrame(rows(actions, "machine"), columns=["machine_id", "action"]),
            "worn": pandas.DataFrame(rows(facts, "worn"), columns=["machine_id", "part_id"]),
            "parts": pandas.DataFrame(parts, columns=["part_id", "repair"]),
        }

    train, test = (hb.load(tables(split), target="machines.action") for split in ("train", "test"))
    X, y = train.examples("action")
    classifier = hb.RLRClassifier(database=train, min_support=1, **FEW).fit(X, y)
    X_test, y_test = test.examples("action")
    assert list(classifier.predict(X)) == list(y)
    assert list(classifier.predict(X_test, database=test)) == list(y_test)


@pytest.mark.parametrize("folder", ["IMDB", "UW-CSE", "WebKB"])
def test_files_as_boostsrl_users_keep_them_are_learned_from(folder, tmp_path):
    data = DATA / "boostsrl_files" / folder
    model = tmp_path / "m.json"
    hornbeam("fit", data, "--steps", 2, "--max-literals", 2, "--model", model)
    assert "auc_roc" in hornbeam("evaluate", data, "--model", model)
