"""Every learner through the same verbs of the command line, from data to reasons."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.main import get_command

import folders
from hornbeam.cli import main
from hornbeam.cli.app import app_of
from hornbeam.datasets.worlds import smokers
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.learning.learners import options_class
from hornbeam.learning.options import PaperOptions
from hornbeam.loading import load
from hornbeam.model.files import load_model

LEARNERS = ["rlr", "agg-lr", "ilp-rlr", "mln-boost", "rdn-boost"]
SMALL = {
    "rlr": ["--steps", "40", "--max-literals", "2"],
    "agg-lr": [],
    "ilp-rlr": [],
    "mln-boost": ["--steps", "3", "--max-literals", "2"],
    "rdn-boost": ["--steps", "3", "--min-examples", "5"],
}


def without_score(told: str) -> str:
    """What a fit says on stderr, apart from how well the model predicts held-out examples."""
    return re.sub(
        r"^out-of-bag log-loss [\d.]+, base rate [\d.]+\n(\d+ effects? keeps? .*\n)?explains .*\n", "", told
    )


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    train, test = smokers(n_persons=150, seed=1), smokers(n_persons=100, seed=2)
    return folders.world(tmp_path_factory.mktemp("world"), train, test)


@pytest.fixture(scope="module")
def models(world, tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    for learner in LEARNERS:
        words = ["fit", str(world), "--learner", learner, "--model", str(folder / learner), *SMALL[learner]]
        with pytest.raises(SystemExit) as left:
            main(words)
        assert left.value.code == 0
    return {learner: folder / learner for learner in LEARNERS}


@pytest.mark.parametrize("learner", LEARNERS)
def test_from_fit_to_reasons(learner, world, models, run):
    model = models[learner]
    assert load_model(model).learner == learner
    status, shown, _ = run("show", model, *(["--logic"] if learner == "rlr" else []))
    assert (status, shown) == (0, f"{load_model(model)}\n")
    assert run("show", model, "--json")[1] == model.read_text()
    status, predicted, _ = run("predict", world, "--model", model)
    rows = list(csv.DictReader(io.StringIO(predicted)))
    database = load(world, "test")
    expected = load_model(model).probabilities(MemoryEngine(database), database.examples_of("cancer").keys)
    assert [float(row["probability"]) for row in rows] == expected.tolist()
    scores = json.loads(run("evaluate", world, "--model", model, "--json")[1])
    assert scores["auc_roc"] > 0.5
    example = f"cancer({rows[0]['arg1']})"
    status, told, _ = run("explain", world, "--model", model, "--example", example)
    assert status == 0
    assert told.startswith(f"Person {rows[0]['arg1']}: cancer with probability ")
    reasons = json.loads(run("explain", world, "--model", model, "--example", example, "--json")[1])
    assert reasons["probability"] == float(rows[0]["probability"])
    added = reasons["prior"] + sum(reason["contribution"] for reason in reasons["reasons"])
    assert np.isclose(added, reasons["log_odds"], atol=1e-9)


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_same_command_gives_the_same_bytes_on_every_engine(learner, world, models, tmp_path, run):
    small = [word if word != "2" else "1" for word in SMALL[learner]]
    for engine in ("memory", "duckdb"):
        out = tmp_path / engine
        status, _, told = run("fit", world, "--learner", learner, "--engine", engine, "--model", out, *small)
        assert (status, without_score(told)) == (0, "")
    assert (tmp_path / "memory").read_bytes() == (tmp_path / "duckdb").read_bytes()
    probabilities = [
        run("predict", world, "--model", models[learner], "--engine", e)[1] for e in ("memory", "duckdb")
    ]
    assert probabilities[0] == probabilities[1]


@pytest.mark.parametrize("learner", LEARNERS)
def test_without_a_file_what_was_learned_is_printed_and_history_written(learner, world, tmp_path, run):
    status, out, err = run(
        "fit", world, "--learner", learner, *SMALL[learner], "--history", tmp_path / "h.json"
    )
    assert (status, without_score(err)) == (0, "")
    assert out.startswith("prior ")
    history = json.loads((tmp_path / "h.json").read_text())
    assert history["steps"][0]["step"] == (4 if learner == "rlr" else 1)
    assert history["cut"] is False


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_time_limit_is_heeded(learner, world, tmp_path, run):
    status, _, err = run("fit", world, "--learner", learner, "--time", "0s", "--model", tmp_path / "m.json")
    assert status == 1
    assert "nothing was learned within --time 0s, so nothing was written" in err
    assert not (tmp_path / "m.json").exists()


@pytest.mark.parametrize("learner", ["mln-boost", "rdn-boost"])
def test_a_checkpoint_is_taken_up(learner, world, tmp_path, run):
    words = ("fit", world, "--learner", learner, *SMALL[learner], "--checkpoint", tmp_path / "c")
    assert run(*words)[1] == run(*words)[1]
    status, _, err = run("fit", world, "--checkpoint", tmp_path / "c")
    assert status == 2
    assert "this checkpoint belongs to a fit with different options" in err


def test_every_option_of_a_learner_is_in_its_model(world, tmp_path, run):
    given = {
        "mln-boost": "--steps 2 --clauses-per-step 2 --max-literals 2 --beam-width 3 --stop full --prior -1 "
        "--neg-pos-ratio 1.5 --seed 7 --negation --thresholds 3",
        "rdn-boost": "--steps 2 --max-depth 2 --max-leaves 3 --min-examples 4 --max-literals 1 "
        "--beam-width 3 --prior base-rate --neg-pos-ratio all --no-redraw --seed 7 --negation --thresholds 3",
        "ilp-rlr": "--max-literals 2 --max-rounds 1 --max-recall 5 --max-bodies 50 --l2 3 --neg-pos-ratio 1 "
        "--seed 7 --thresholds 3 --populations database",
        "agg-lr": "--max-literals 1 --feature count --l2 3 --neg-pos-ratio 1 --seed 7",
    }
    expected = {
        "mln-boost": {
            "n_steps": 2, "clauses_per_step": 2, "max_literals": 2, "beam_width": 3, "stop": "full",
            "prior": -1.0, "neg_pos_ratio": 1.5, "seed": 7, "negation": True, "n_thresholds": 3,
        },
        "rdn-boost": {
            "n_steps": 2, "max_depth": 2, "max_leaves": 3, "min_examples": 4, "max_literals": 1,
            "beam_width": 3, "prior": "base-rate", "neg_pos_ratio": None, "redraw": False, "seed": 7,
            "negation": True, "n_thresholds": 3,
        },
        "ilp-rlr": {
            "max_literals": 2, "max_rounds": 1, "max_recall": 5, "max_bodies": 50, "l2": 3.0,
            "neg_pos_ratio": 1.0, "seed": 7, "n_thresholds": 3, "populations": "database",
        },
        "agg-lr": {"max_literals": 1, "feature": "count", "l2": 3.0, "neg_pos_ratio": 1.0, "seed": 7},
    }  # fmt: skip
    for learner, words in given.items():
        out = tmp_path / learner
        status, _, err = run("fit", world, "--learner", learner, "--model", out, *words.split())
        assert (status, err) == (0, "")
        assert load_model(out).settings == expected[learner]


FIT = {
    flag: parameter for parameter in get_command(app_of()).commands["fit"].params for flag in parameter.opts
}
OPTIONS = {
    learner: {declared.flag for declared in options_class(learner).declared().values()}
    for learner in LEARNERS
}
IN_PAPER = {declared.flag for declared in PaperOptions.declared().values()}
EVERY_OPTION = sorted(set.union(IN_PAPER, *OPTIONS.values()))


def test_every_option_of_every_learner_can_be_typed():
    assert set(EVERY_OPTION) <= set(FIT)


@pytest.mark.parametrize("learner", LEARNERS)
def test_an_option_that_a_learner_lacks_is_refused_by_name(learner, world, tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    others = [flag for flag in EVERY_OPTION if flag not in OPTIONS[learner]]
    others += [] if learner == "rlr" else ["--preset"]
    others += ["--checkpoint"] if learner in ("agg-lr", "ilp-rlr") else []
    for flag in others:
        value = [] if FIT[flag].is_flag else ["1"]
        status, out, err = run("fit", world, "--learner", learner, flag, *value)
        assert (status, out) == (2, "")
        why = f" is refused: learner {learner} has no such option; it has --"
        if learner == "rlr" and flag in IN_PAPER:
            why = "".join(f" {each}" for each in value) + " is refused: it belongs to --preset paper"
        assert err.startswith(f"hornbeam: {flag}{why}")
        assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "fit WORLD --learner rnd-boost",
            'no learner "rnd-boost". Learners are: agg-lr, ilp-rlr, mln-boost, ',
        ),
        (
            "fit WORLD --learner rdn-boost --max-depth 0",
            "--max-depth 0 is refused: it must be a whole number",
        ),
        ("fit WORLD --learner mln-boost --clauses-per-step 0", "--clauses-per-step 0 is refused"),
        (
            "fit WORLD --learner agg-lr --feature raw",
            "--feature raw is refused: it must be count or log.",
        ),
        ("fit WORLD --learner ilp-rlr --max-bodies many", "Invalid value for '--max-bodies'"),
        ("show rlr --svg", "--svg is refused: a model of learner rlr has no such form."),
        ("show rlr --clauses", "--clauses is refused: a model of learner rlr has no such form."),
        ("show rdn-boost --compact", "--compact is refused: a model of learner rdn-boost has no such form."),
        ("show agg-lr --compact", "--compact is refused: a model of learner agg-lr has no such form."),
        ("show rdn-boost --svg --json", "--svg and --json are refused together: name one form."),
        ("sql --model rdn-boost", "a model of learner rdn-boost cannot be written as SQL."),
    ],
)
def test_a_user_error_is_one_sentence(words, sentence, world, models, run, monkeypatch):
    monkeypatch.chdir(models["rlr"].parent)
    status, out, err = run(*words.replace("WORLD", str(world)).split())
    assert (status, out) == (2, "")
    assert err.startswith("hornbeam: ")
    assert err.count("\n") == 1
    assert sentence in err


def test_trees_are_shown_as_clauses_and_as_a_picture(models, tmp_path, run):
    model = load_model(models["rdn-boost"])
    assert run("show", models["rdn-boost"], "--clauses")[1] == f"{model.clause_text()}\n"
    assert run("show", models["rdn-boost"], "--svg", "--out", tmp_path / "t.svg")[:2] == (0, "")
    assert ElementTree.parse(tmp_path / "t.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize("learner", ["mln-boost", "ilp-rlr"])
def test_models_of_clauses_are_queries_too(learner, models, run):
    status, out, _ = run("sql", "--model", models[learner])
    assert status == 0
    assert "SELECT" in out


def test_only_agg_lr_imports_scikit_learn_and_only_to_learn(world, models, tmp_path):
    code = (
        "import sys\nfrom hornbeam.cli import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit as left: assert left.code == 0\n"
        "sys.stderr.write('sklearn ' + str('sklearn' in sys.modules))"
    )

    def imports(*words: object) -> bool:
        done = subprocess.run([sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True)
        return done.stderr.endswith("sklearn True")

    for learner in LEARNERS:
        fit = ("fit", world, "--learner", learner, "--model", tmp_path / "m.json", *SMALL[learner])
        assert imports(*fit) == (learner == "agg-lr")
    assert not imports("predict", world, "--model", models["agg-lr"])
