"""Classes that are learned together, through every verb that uses a model."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import hornbeam as hb
from citations import TOPICS, tables
from hornbeam.report.dbt import DbtPlace, dbt_files

FAST = ("--bags", "2", "--steps", "40", "--effects", "3", "--no-per-constant")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("topics")
    for name, frame in tables().items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    from hornbeam.cli import main

    path = folder.parent / "m.json"
    with pytest.raises(SystemExit) as left:
        main(["fit", str(folder), "--target", "papers.topic", *FAST, "--model", str(path)])
    assert left.value.code == 0
    return path


def test_fit_says_one_loss_and_one_number_of_effects(folder: Path, tmp_path: Path, run) -> None:
    path = tmp_path / "m.json"
    history, page = tmp_path / "h.json", tmp_path / "r.html"
    asked = ("--model", path, "--history", history, "--report", page)
    code, _, err = run("fit", folder, "--target", "papers.topic", *FAST, *asked)
    assert code == 0
    assert err.count("out-of-bag log-loss") == 1
    assert "mean AUC of the classes" in err
    assert "steps" in json.loads(history.read_text())
    assert "All classes" in page.read_text()


def test_show_prints_all_classes_or_one(model: Path, run) -> None:
    code, out, _ = run("show", model)
    assert code == 0
    assert out.startswith("Which topic do papers have?\n3 effects on 3 classes")
    code, one, _ = run("show", model, "--class", "db")
    assert code == 0
    assert one.startswith("Which papers have topic db?")
    assert "factor" in one
    assert run("show", model, "--class", "x")[0] == 2
    assert "the file has all classes" in run("show", model, "--class", "db", "--json")[2]
    assert run("show", model, "--json")[1] == model.read_text()
    assert run("show", model, "--logic")[1].count("class ") == 3


def test_count_takes_a_line_that_show_prints(folder: Path, model: Path, run) -> None:
    _, one, _ = run("show", model, "--class", "db", "--logic")
    line = next(line for line in one.splitlines() if ":-" in line)
    code, out, _ = run("count", folder, line, "--model", model)
    assert code == 0
    assert len(out.splitlines()) > 100


def test_predictions_and_the_query_agree(folder: Path, model: Path, tmp_path: Path, run) -> None:
    out = tmp_path / "p.csv"
    assert run("predict", folder, "--model", model, "--out", out)[0] == 0
    code, query, _ = run("sql", model)
    assert code == 0
    connection = duckdb.connect()
    for name, frame in tables().items():
        connection.register(name, frame)
    rows = connection.execute(query).df().set_index("paper_id")
    with out.open(newline="") as file:
        predicted = {row["paper_id"]: row for row in csv.DictReader(file)}
    for topic in TOPICS:
        for key, row in predicted.items():
            found = rows.loc[key, f"probability_{topic}"]
            assert found == pytest.approx(float(row[f"probability_{topic}"]), abs=1e-12)
    # Each effect and class has a column, and the columns add up to the score.
    document = json.loads(model.read_text())
    for topic, prior in zip(document["classes"], document["priors"], strict=True):
        added = rows[[f"adds_{number}_{topic}" for number in (1, 2, 3)]].sum(axis=1)
        assert (added + prior - rows[f"score_{topic}"]).abs().max() < 1e-9


def test_a_project_of_dbt_describes_the_columns(model: Path) -> None:
    files = dbt_files(hb.load_model(model), DbtPlace("topics"))
    text = files["models/topics.yml"]
    for topic in TOPICS:
        assert f'- name: "probability_{topic}"' in text
        assert f'- name: "adds_1_{topic}"' in text
    assert "Which topic do papers have?" in files["models/topics.sql"]


def test_one_class_is_explained_and_reported(folder: Path, model: Path, tmp_path: Path, run) -> None:
    code, out, _ = run("explain", folder, model, "p0", "--class", "ml", "--json")
    found = json.loads(out)
    predicted = tmp_path / "p.csv"
    run("predict", folder, "--model", model, "--out", predicted)
    rows = pd.read_csv(predicted).set_index("paper_id")
    assert code == 0
    assert found["probability"] == pytest.approx(rows.loc["p0", "probability_ml"])
    added = sum(reason["contribution"] for reason in found["reasons"])
    assert found["score"] == pytest.approx(found["prior"] + added)
    page = tmp_path / "r.html"
    assert run("report", folder, "--model", model, "--class", "ml", "--out", page)[0] == 0
    assert "Which topic" in page.read_text() or "topic ml" in page.read_text()
    assert run("evaluate", folder, "--model", model)[0] == 0


def test_edits_are_of_all_classes_or_of_one(folder: Path, model: Path, tmp_path: Path, run) -> None:
    all_classes, one = tmp_path / "a.json", tmp_path / "b.json"
    code, out, _ = run("edit", model, "off 3", "--out", all_classes, "--data", folder)
    assert code == 0
    assert "log-loss" in out
    assert len(json.loads(all_classes.read_text())["effects"]) == 2
    assert run("edit", model, "rise 1", "--class", "ai", "--out", one)[0] == 0
    before, after = (json.loads(path.read_text())["effects"] for path in (model, one))
    assert [each["levels"][1:] for each in before] == [each["levels"][1:] for each in after]
    code, _, err = run("edit", model, "rise 1", "--out", one)
    assert (code, "needs a class" in err) == (2, True)


def test_a_card_lists_each_effect_once(model: Path, run) -> None:
    code, out, _ = run("card", model)
    assert code == 0
    assert "# Which topic do papers have?" in out
    assert "Probabilities of an average example:" in out
    assert sum(line.startswith(("1. ", "2. ", "3. ")) for line in out.splitlines()) == 3
