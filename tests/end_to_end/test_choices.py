"""Choices on the command line: files, evaluation, explanation, one SQL query, a report; on every engine."""

import csv
import json
import random

import duckdb
import numpy as np
import pytest

from hornbeam.cli import main


def shop(folder, n_sessions=120):
    """Sessions of four offers with prices; the reviews matter too, and one offer has no session."""
    rng = random.Random(5)
    offers, reviews = [("offer", "session", "price", "taken")], [("review", "offer")]
    for session in range(n_sessions):
        shown = []
        for place in range(4):
            name, price, number = f"o{session}_{place}", rng.randrange(10, 40), rng.randrange(4)
            reviews += [(f"r{name}_{each}", name) for each in range(number)]
            shown.append((name, price, np.exp(-0.15 * price + 0.6 * number)))
        taken = rng.choices(range(4), [each[2] for each in shown])[0]
        offers += [(name, f"s{session}", price, n == taken) for n, (name, price, _) in enumerate(shown)]
    offers.append(("alone", "", 20, True))
    for name, rows in {"offers": offers, "reviews": reviews}.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    return folder


def ended(*arguments):
    """The exit status of a command."""
    with pytest.raises(SystemExit) as end:
        main([str(each) for each in arguments])
    return end.value.code


def run(capsys, *arguments):
    code = ended(*arguments)
    out = capsys.readouterr()
    assert code == 0, out.err
    return out.out


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return shop(tmp_path_factory.mktemp("market"))


FIT = ("--target", "offers.taken", "--loss", "choice", "--bags", "2", "--steps", "60")


def fit(capsys, folder, model, *more):
    return run(capsys, "fit", folder, *FIT, "--choice", "session", "--model", model, *more)


def test_the_query_shares_out_each_choice_as_predict_does(folder, tmp_path, capsys, monkeypatch):
    model = tmp_path / "m.json"
    fit(capsys, folder, model)
    predicted = list(csv.DictReader(run(capsys, "predict", folder, model).splitlines()))
    monkeypatch.chdir(folder)
    with duckdb.connect() as connection:
        for name in ("offers", "reviews"):
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM '{name}.csv'")
        found = connection.execute(run(capsys, "sql", model)).fetchdf()
    by_offer = dict(zip(found["offer"], found["probability"], strict=True))
    assert len(predicted) == len(by_offer)
    for row in predicted:
        assert by_offer[row["offer"]] == pytest.approx(float(row["probability"]), abs=1e-9)
    assert by_offer["alone"] == 1.0
    assert sum(row["predicted"] == "true" for row in predicted) == 121


def test_engines_learn_the_same_choices(folder, tmp_path, capsys):
    models = []
    for engine in ("memory", "duckdb", "naive"):
        model = tmp_path / f"{engine}.json"
        fit(capsys, folder, model, "--engine", engine, "--max-conditions", "1", "--max-links", "1")
        models.append(json.loads(model.read_text())["effects"])
    assert models[0] == models[1] == models[2]


def test_a_choice_may_be_a_column_of_numbers(folder, tmp_path, capsys):
    with (folder / "offers.csv").open() as file:
        rows = list(csv.reader(file))
    (tmp_path / "numbered").mkdir()
    with (tmp_path / "numbered" / "offers.csv").open("w", newline="") as file:
        csv.writer(file).writerows([rows[0], *([*row[:1], row[1][1:], *row[2:]] for row in rows[1:])])
    (tmp_path / "numbered" / "reviews.csv").write_text((folder / "reviews.csv").read_text())
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    fit(capsys, folder, one)
    fit(capsys, tmp_path / "numbered", other)
    scores = [run(capsys, "evaluate", *each) for each in ((folder, one), (tmp_path / "numbered", other))]
    assert "n_choices            121" in scores[0] and "n_choices            121" in scores[1]


def test_evaluate_explain_and_the_report_know_choices(folder, tmp_path, capsys):
    model, page = tmp_path / "m.json", tmp_path / "r.html"
    fit(capsys, folder, model, "--report", page)
    scores = json.loads(run(capsys, "evaluate", folder, model, "--json"))
    assert scores["n_choices"] == 121 and scores["n_alternatives"] == 481
    assert scores["log_loss"] < scores["equal_chances"]
    explained = run(capsys, "explain", folder, model, "o3_1")
    assert "compared with o3_" in explained and ", not " in explained
    text = page.read_text()
    assert "Choices that are hit" in text and "AUC" not in text.split("<script")[0]


def test_a_file_of_examples_may_have_the_choices(folder, tmp_path, capsys):
    with (folder / "offers.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["session"]]
    examples, model, again = tmp_path / "e.csv", tmp_path / "m.json", tmp_path / "p.csv"
    with examples.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("offer", "label", "choice"))
        writer.writerows((row["offer"], row["taken"], row["session"]) for row in rows)
    run(capsys, "fit", folder, *FIT, "--examples", examples, "--model", model)
    own = run(capsys, "evaluate", folder, model, "--examples", examples)
    run(capsys, "predict", folder, model, "--examples", examples, "--out", again)
    assert run(capsys, "evaluate", folder, model, "--examples", again) == own
    assert ended("sql", model) == 2
    assert "learned with a list of choices" in capsys.readouterr().err


def test_joint_models_have_no_choices(folder, capsys):
    assert ended("fit", folder, "--joint", *FIT) == 2
    assert "joint models have no choices" in capsys.readouterr().err
