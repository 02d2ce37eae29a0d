"""Reports from the command line: what is in the page, for every learner, and what is refused."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from folders import flat, write
from hornbeam.engines.registry import open_engine
from hornbeam.learning.learners import learn, options_for
from hornbeam.loading import load
from hornbeam.model.evaluate import evaluate
from hornbeam.model.files import load_model
from hornbeam.model.scales import sigmoid

FACTS = "friends(ann,bob). friends(bob,cat). friends(cat,dan). friends(dan,eve). friends(eve,ann). " + (
    "smokes(bob). smokes(cat). smokes(eve)."
)
POS, NEG = "cancer(ann). cancer(bob).", "cancer(cat). cancer(dan). cancer(eve)."


def page_data(path: Path) -> dict:
    text = path.read_text(encoding="utf-8")
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found)


@pytest.fixture
def town(tmp_path) -> Path:
    return flat(tmp_path, FACTS, pos=POS, neg=NEG)


@pytest.mark.parametrize("learner", ["rlr", "agg-lr", "ilp-rlr", "mln-boost", "rdn-boost"])
def test_every_learner_has_a_report(learner, town, tmp_path, run):
    model, page = tmp_path / "m.json", tmp_path / "r.html"
    assert run("fit", town, "--learner", learner, "--model", model, "--report", page)[0] == 0
    text = page.read_text(encoding="utf-8")
    assert ("The model was learned from these examples" in text) != ("Scores and plots are held out" in text)
    learned, database = load_model(model), load(town)
    examples = database.examples_of("cancer")
    probabilities = learned.probabilities(open_engine("memory", database), examples.keys)
    data = page_data(page)
    assert data["probability"] == pytest.approx(probabilities.tolist(), abs=1e-12)
    if "heldOut" not in data:
        assert f"{evaluate(examples.labels, probabilities).auc_pr_2to1:.4f}" in text


def half_smoke(tmp_path) -> Path:
    """Forty people of whom half smoke, most of whom have cancer."""
    people = [f"p{number}" for number in range(40)]
    smokes = " ".join(f"smokes({each})." for each in people[:20])
    pos = " ".join(f"cancer({each})." for each in [*people[:17], *people[37:]])
    return flat(tmp_path, smokes, pos=pos, neg=" ".join(f"cancer({each})." for each in people[17:37]))


def test_the_report_of_a_fit_judges_each_example_by_models_without_it(tmp_path, run):
    town, page = half_smoke(tmp_path), tmp_path / "r.html"
    model = tmp_path / "m.json"
    assert run("fit", town, "--model", model, "--steps", 30, "--bags", 6, "--report", page)[0] == 0
    text, data = page.read_text(encoding="utf-8"), page_data(page)
    database = load(town)
    examples = database.examples_of("cancer").labelled()
    fitted = learn("rlr", open_engine("memory", database), examples, options_for("rlr", n_steps=30, n_bags=6))
    known = ~np.isnan(fitted.held_out)
    assert 10 < known.sum() < 40
    scores = evaluate(examples.labels[known], sigmoid(fitted.held_out[known]))
    assert f"each of {known.sum()} of the 40 examples is judged by models" in text
    assert f"{scores.auc_roc:.4f}" in text
    assert f"{scores.log_loss:.4f}" in text
    assert [each is not None for each in data["heldOut"]] == known.tolist()
    own = load_model(model).probabilities(open_engine("memory", database), examples.keys)
    assert data["probability"] == pytest.approx(own.tolist(), abs=1e-12)


@pytest.mark.parametrize(("preset", "examples"), [("default", "held-out"), ("paper", "training")])
def test_report_writes_a_page_with_its_history(preset, examples, tmp_path, run):
    town = half_smoke(tmp_path)
    model, history, page = (tmp_path / name for name in ("m.json", "h.json", "r.html"))
    words = ("--preset", preset, "--steps", 2)
    assert run("fit", town, "--model", model, "--history", history, *words)[0] == 0
    assert run("report", town, "--model", model, "--history", history, "--out", page)[0] == 0
    text = page.read_text(encoding="utf-8")
    assert "Learning curve" in text
    assert f"Mean log-loss of the {examples} examples" in text
    # Model files of effects say which examples they were learned from; those of the paper do not.
    assert ("flatter" in text) == (preset == "default")


def test_classes_are_shown_one_at_a_time(tmp_path, run):
    people = "id,job\n" + "".join(
        f"p{number},{('cook', 'smith', 'monk')[number % 3]}\n" for number in range(12)
    )
    visits = "id,person,place\n" + "".join(f"v{number},p{number},x{number % 3}\n" for number in range(12))
    folder = write(tmp_path / "tables", {"people.csv": people, "visits.csv": visits})
    model, page = tmp_path / "m.json", tmp_path / "r.html"
    assert (
        run("fit", folder, "--target", "people.job", "--model", model, "--steps", 1, "--report", page)[0] == 0
    )
    assert "The target has 3 classes" in page.read_text(encoding="utf-8")
    assert run("report", folder, "--model", model, "--class", "monk", "--out", page)[0] == 0
    assert "this page shows class monk alone" in page.read_text(encoding="utf-8")
    status, _, said = run("report", folder, "--model", model, "--class", "monks", "--out", page)
    assert status == 2
    assert 'no model of class "monks"' in said


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_tables_that_stay_in_place_have_the_same_report_without_groundings(preset, tmp_path, run):
    people = "id,happy\n" + "".join(f"p{number},{number % 2}\n" for number in range(20))
    visits = "id,person,place\n" + "".join(
        f"v{number},p{number % 20},x{number % 4}\n" for number in range(40)
    )
    folder = write(tmp_path / "tables", {"people.csv": people, "visits.csv": visits})
    pages = {}
    for engine in ("memory", "duckdb"):
        page = tmp_path / f"{engine}.html"
        words = ("--target", "people.happy", "--steps", 2, "--preset", preset, "--engine", engine)
        words += ("--report", page, *(("--no-per-constant",) if preset == "default" else ()))
        assert run("fit", folder, "--model", tmp_path / f"{engine}.json", *words)[0] == 0
        pages[engine] = page_data(page)
    assert (tmp_path / "memory.json").read_text() == (tmp_path / "duckdb.json").read_text()
    assert pages["duckdb"]["probability"] == pages["memory"]["probability"]
    if preset == "paper":  # effects have no groundings
        assert pages["memory"]["evidence"]["parts"]
        assert not pages["duckdb"]["evidence"]["parts"]
        assert not pages["duckdb"]["evidence"]["complete"]


@pytest.mark.parametrize("text", ["no json", "[]", "{}", '{"steps": 3}', '{"a": 1}'])
def test_what_is_no_history_is_refused(text, town, tmp_path, run):
    model, history = tmp_path / "m.json", tmp_path / "h.json"
    assert run("fit", town, "--model", model, "--steps", 1)[0] == 0
    history.write_text(text, encoding="utf-8")
    status, _, said = run(
        "report", town, "--model", model, "--history", history, "--out", tmp_path / "r.html"
    )
    assert status == 2
    assert "is not a history" in said
    assert not (tmp_path / "r.html").exists()


def test_examples_without_labels_have_a_report_without_scores(town, tmp_path, run):
    model, page = tmp_path / "m.json", tmp_path / "r.html"
    assert run("fit", town, "--model", model, "--steps", 1)[0] == 0
    keys = tmp_path / "keys.csv"
    keys.write_text("arg1\nann\ndan\n", encoding="utf-8")
    assert run("report", town, "--model", model, "--examples", keys, "--out", page)[0] == 0
    assert "do not have both labels" in page.read_text(encoding="utf-8")
    assert page_data(page)["label"] == [-1, -1]


def test_a_model_has_a_card(town, tmp_path, run):
    model, card = tmp_path / "m.json", tmp_path / "card.md"
    assert run("fit", town, "--model", model, "--steps", 1)[0] == 0
    assert run("card", model, "--out", card)[0] == 0
    assert run("card", model).out == card.read_text(encoding="utf-8")
    assert "## Limits" in card.read_text(encoding="utf-8")


# --- in a terminal -------------------------------------------------------------------------------


def on_terminal(*words: object) -> str:
    """What a command prints to somebody in front of a terminal, without its colours."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    command = [sys.executable, "-m", "hornbeam", *map(str, words)]
    process = subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment)
    os.close(theirs)
    text = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        text += piece
    os.close(ours)
    assert process.wait() == 0
    assert b"\x1b[" in text
    return re.sub(r"\x1b\[[0-9;]*m", "", text.decode())


def test_a_terminal_gets_tables_and_a_pipe_gets_text(town, tmp_path, run):
    model = tmp_path / "m.json"
    assert run("fit", town, "--model", model, "--steps", 2)[0] == 0
    learned = load_model(model)
    shown = on_terminal("show", model)
    for weighted in learned.clauses:
        (line,) = [line for line in shown.splitlines() if str(weighted.clause) in line]
        assert f"{weighted.weights[1]:+.4g}" in line
    explained = on_terminal("explain", town, "--model", model, "--example", "cancer(ann)")
    assert explained.startswith("Example ann: cancer with probability ")
    assert "the prior" in explained
    plain = run("explain", town, "--model", model, "--example", "cancer(ann)").out
    assert "\x1b" not in plain
    assert f"{learned.prior:+.4g} from the prior" in plain
