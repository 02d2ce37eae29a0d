"""The command line from the outside: what people type, what they read, what is left on disk."""

import csv
import json
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import folders
from folders import boostsrl, flat, split_files, write
from hornbeam.cli import main
from hornbeam.datasets.worlds import smokers, university
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.naive import NaiveEngine
from hornbeam.loading import load
from hornbeam.logic.parse import parse_clause
from hornbeam.model.evaluate import evaluate
from hornbeam.model.files import load_model
from public_data import DATA, needs
from table_worlds import as_csv, shop


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """A generated world on disk: train and test, with modes."""
    train, test = smokers(n_persons=400, seed=1), smokers(n_persons=80, seed=2)
    return folders.world(tmp_path_factory.mktemp("world"), train, test)


@pytest.fixture(scope="module")
def model(world, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.json"
    with pytest.raises(SystemExit) as left:
        main(["fit", str(world), "--model", str(path), "--steps", "40", "--max-literals", "2"])
    assert left.value.code == 0
    return path


# --- fit -----------------------------------------------------------------------------------------


SCORE = r"out-of-bag log-loss \d\.\d{4}, base rate \d\.\d{4}\n"
LENGTH = r"(\d+ effects?(, beside weights of \d+ constants,)? keeps? \d+ % of what \d+ gain .*\n)?"
EXPLAINED = r"explains [\d.]+ % of what the base rate leaves open; AUC 0\.\d\d \(held-out examples\)\n"


def test_fit_writes_the_model_and_says_how_good_it_is(world, tmp_path, run):
    ran = run("fit", world, "--target", "CANCER", "--model", tmp_path / "m.json", "--max-literals", 2)
    assert (ran.status, ran.out) == (0, "")
    assert re.fullmatch(SCORE + LENGTH + EXPLAINED, ran.err)
    assert load_model(tmp_path / "m.json").effects
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


def test_fit_without_a_file_prints_the_effects(world, run):
    ran = run("fit", world, "--max-literals", 2, "--effects", 1)
    assert ran.status == 0
    prior, effect = ran.out.splitlines()
    assert prior.startswith("prior ")
    assert re.fullmatch(r"[a-z ]+[A-Z]? \[.*else: .*\] : cancer\(A\) :- .*\.", effect)


def test_fit_with_the_published_algorithm_prints_the_clauses(world, run):
    ran = run("fit", world, "--preset", "paper", "--steps", 1, "--max-literals", 2)
    assert (ran.status, ran.err) == (0, "")
    _, clause = ran.out.splitlines()
    assert re.match(r"\[.*\] : cancer\(A\) :- ", clause)


def test_two_jobs_give_the_bytes_of_one(world, tmp_path, run):
    for jobs in (1, 2):
        ran = run("fit", world, "--model", tmp_path / f"{jobs}.json", "--steps", 20, "--jobs", jobs)
        assert ran.status == 0
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()
    ran = run("fit", world, "--jobs", 0)
    assert ran.status == 2
    assert "--jobs" in ran.err


def test_the_same_command_gives_the_same_bytes(world, tmp_path, run):
    for name in ("a.json", "b.json"):
        run("fit", world, "--model", tmp_path / name, "--steps", 3)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_every_option_of_a_fit_is_in_the_model(world, tmp_path, run):
    options = (
        "--preset paper --steps 2 --l2 5 --max-literals 3 --beam-width 2 --stop best --prior base-rate "
        "--neg-pos-ratio 1.5 --seed 7 --negation --thresholds 5 --populations training --memory 1GB "
        "--time 10m --feature log --refit --length-penalty 0.2 --look-ahead --false-counts guarded"
    )
    ran = run("fit", world, "--model", tmp_path / "m.json", *shlex.split(options))
    assert (ran.status, ran.err) == (0, "")
    assert load_model(tmp_path / "m.json").settings == {
        "n_steps": 2, "l2": 5.0, "max_literals": 3, "beam_width": 2, "stop": "best", "prior": "base-rate",
        "neg_pos_ratio": 1.5, "seed": 7, "negation": True, "populations": "training",
        "n_thresholds": 5, "false_counts": "guarded", "feature": "log", "refit": True, "length_penalty": 0.2,
        "look_ahead": True, "per_constant": False, "validate": False, "max_clauses": None,
    }  # fmt: skip
    options = (
        "--steps 20 --learning-rate 0.2 --bags 2 --l2 3 --cuts 4 --max-links 1 --max-conditions 1 "
        "--max-literals 3 --effects all --min-support 2 --no-per-constant --no-validate --neg-pos-ratio 1.5 "
        "--seed 7 --prior -1 --negation --thresholds 5"
    )
    ran = run("fit", world, "--model", tmp_path / "m.json", *shlex.split(options))
    assert (ran.status, len(ran.err.splitlines())) == (0, 2)
    expected = {
        "n_steps": 20, "learning_rate": 0.2, "n_bags": 2, "l2": 3.0, "n_cuts": 4, "max_links": 1,
        "max_conditions": 1, "max_literals": 3, "max_effects": "all", "min_support": 2, "per_constant": False,
        "validate": False, "neg_pos_ratio": 1.5, "seed": 7, "prior": -1.0, "negation": True,
        "n_thresholds": 5,
    }  # fmt: skip
    assert load_model(tmp_path / "m.json").settings.items() >= expected.items()


def test_the_old_flag_for_the_size_of_a_model_is_accepted(world, run):
    old, new = (run("fit", world, flag, 2) for flag in ("--max-clauses", "--effects"))
    assert old.status == 0
    assert old.out == new.out
    assert old.err == f"note: --max-clauses is now called --effects.\n{new.err}"


def test_presets_and_all_negatives(world, tmp_path, run):
    run("fit", world, "--preset", "paper", "--steps", 1, "--model", tmp_path / "p.json")
    assert load_model(tmp_path / "p.json").settings["populations"] == "database"
    run("fit", world, "--neg-pos-ratio", "all", "--steps", 1, "--model", tmp_path / "a.json")
    assert load_model(tmp_path / "a.json").settings["neg_pos_ratio"] is None


def test_the_history_says_what_each_step_did(world, tmp_path, run):
    run("fit", world, "--steps", 2, "--model", tmp_path / "m.json", "--history", tmp_path / "h.json")
    history = json.loads((tmp_path / "h.json").read_text())
    assert [step["step"] for step in history["steps"]] == [2]
    assert history["steps"][0].keys() == {"step", "held_out_loss", "base_loss"}
    assert re.fullmatch(SCORE, history["score"] + "\n")
    run("fit", world, "--preset", "paper", "--steps", 2, "--history", tmp_path / "p.json")
    history = json.loads((tmp_path / "p.json").read_text())
    assert [step["step"] for step in history["steps"]] == [1, 2]
    assert history["steps"][0]["clause"].startswith("cancer(A) :- ")


def test_a_checkpoint_is_taken_up_by_the_same_command(world, tmp_path, run):
    words = ("fit", world, "--steps", 2, "--checkpoint", tmp_path / "c")
    first, second = run(*words), run(*words)
    assert first.out == second.out
    other = run("fit", world, "--steps", 2, "--l2", 3, "--checkpoint", tmp_path / "c")
    assert other.status == 2
    assert "this checkpoint belongs to a fit with different options" in other.err


def test_a_time_limit_within_which_nothing_is_learned_writes_nothing(world, tmp_path, run):
    ran = run("fit", world, "--time", "0s", "--model", tmp_path / "m.json")
    assert ran.status == 1
    assert ran.err == (
        "note: nothing was learned within --time 0s, so nothing was written; allow more time, or leave "
        "out tables and columns by schema.toml.\n"
    )
    assert not (tmp_path / "m.json").exists()


def test_candidates_beyond_the_budget_are_noted_once(tmp_path, run):
    database = university(n_departments=1)
    folder = write(tmp_path / "u", split_files(database, "train"))
    write(folder, {"background.txt": "".join(f"mode: {mode}\n" for mode in database.modes)})
    ran = run(
        "fit", folder, "--memory", "10kB", "--steps", 2, "--max-literals", 2, "--model", tmp_path / "m.json"
    )
    assert ran.status == 0
    assert ran.err.count("note: ") == 1
    assert "candidate clauses that could not be counted" in ran.err


# --- predict, evaluate, explain ------------------------------------------------------------------


def test_predict_prints_one_row_per_example_of_the_test_split(world, model, run):
    rows = run("predict", world, "--model", model).rows()
    keys, labels = load(world, "test").examples("cancer")
    assert list(rows[0]) == ["arg1", "label", "probability"]
    assert [row["arg1"] for row in rows] == [key for (key,) in keys]
    assert [row["label"] for row in rows] == [str(label) for label in labels]
    learned, database = load_model(model), load(world, "test")
    expected = learned.probabilities(NaiveEngine(database), database.examples_of("cancer").keys)
    assert [float(row["probability"]) for row in rows] == expected.tolist()


def test_predict_writes_the_same_to_a_file(world, model, tmp_path, run):
    printed = run("predict", world, "--model", model, "--split", "train")
    ran = run("predict", world, "--model", model, "--split", "train", "--out", tmp_path / "p.csv")
    assert (ran.status, ran.out) == (0, "")
    n_rows = len(printed.rows())
    assert ran.err == f"wrote {n_rows} predictions to {tmp_path / 'p.csv'}\n"
    assert (tmp_path / "p.csv").read_text() == printed.out
    scores = run("evaluate", world, "--model", model, "--split", "train")
    assert (
        run("evaluate", world, "--model", model, "--split", "train", "--examples", tmp_path / "p.csv")
        == scores
    )


def test_evaluate_scores_what_predict_predicts(world, model, run):
    rows = run("predict", world, "--model", model).rows()
    expected = evaluate([int(row["label"]) for row in rows], [float(row["probability"]) for row in rows])
    ran = run("evaluate", world, "--model", model, "--json")
    assert json.loads(ran.out) == expected.as_dict()
    assert list(json.loads(ran.out)) == [
        "auc_roc", "auc_pr", "auc_pr_2to1", "log_loss", "brier", "n_pos", "n_neg"
    ]  # fmt: skip
    text = run("evaluate", world, "--model", model).out
    assert f"auc_roc      {expected.auc_roc:.6f}\n" in text


def test_explain_says_why(world, model, run):
    row = max(run("predict", world, "--model", model).rows(), key=lambda row: float(row["probability"]))
    example = f"Cancer({row['arg1']})"
    text = run("explain", world, "--model", model, "--example", example).out
    assert text.startswith(f"Person {row['arg1']}: cancer with probability ")
    assert " because the number of " in text
    document = json.loads(run("explain", world, "--model", model, "--example", example, "--json").out)
    assert document["probability"] == float(row["probability"])


def test_data_that_lack_a_predicate_are_noted_once(model, tmp_path, run):
    folder = flat(tmp_path, "friends(ann,bob).", "mode: friends(+person,-person).")
    ran = run("predict", folder, "--model", model)
    assert ran.status == 0
    assert ran.err.count("the data have no facts of smokes, which the model uses; they count as empty.") == 1
    assert len(ran.rows()) == 2


# --- count, show, modes, demo --------------------------------------------------------------------


def test_count_prints_true_and_false(tmp_path, run):
    folder = flat(tmp_path, "friends(ann,bob). friends(ann,'C, D'). smokes(bob).")
    rows = run("count", folder, "cancer(A) :- friends(A,B), smokes(B).").rows()
    assert rows == [{"arg1": "ann", "true": "1", "false": "2"}, {"arg1": "bob", "true": "0", "false": "3"}]


def test_a_constant_that_the_data_do_not_have_is_noted(tmp_path, run):
    ran = run("count", flat(tmp_path, "likes(ann,tea). likes(bob,cake)."), "cancer(A) :- likes(A,tee).")
    assert [row["true"] for row in ran.rows()] == ["0", "0"]
    assert (
        'note: no "tee" is among the constants of likes_2, so it matches nothing. Constants are: cake, tea. '
        'Did you mean "tea"?'
    ) in ran.err


def test_count_inside_the_guard(tmp_path, run):
    folder = flat(tmp_path, "friends(ann,bob). friends(ann,'C, D'). smokes(bob).")
    body = "cancer(A) :- friends(A,B), smokes(B)."
    rows = run("count", folder, body, "--false-counts", "guarded").rows()
    assert rows == [{"arg1": "ann", "true": "1", "false": "1"}, {"arg1": "bob", "true": "0", "false": "0"}]
    refused = run("count", folder, body, "--false-counts", "none")
    assert refused.status == 2
    assert "--false-counts none is refused: it must be population or guarded." in refused.err


def test_a_body_apart_from_the_head_counts_the_same_for_all_and_says_so(tmp_path, run):
    folder = flat(
        tmp_path, facts="friends(ann,bob). friends(bob,ann).", pos="cancer(ann).", neg="cancer(bob)."
    )
    ran = run("count", folder, "cancer(A) :- friends(B,C).")
    assert ran.status == 0
    assert [row["true"] for row in ran.rows()] == ["2", "2"]
    assert ran.err.count("the body shares no variable with the head") == 1


@pytest.mark.parametrize("engine", ["memory", "naive", "duckdb"])
def test_engines_count_the_same(engine, world, run):
    clause = "cancer(A) :- friends(A,B), smokes(B)."
    rows = run("count", world, clause, "--engine", engine).rows()
    database = load(world, "train")
    (expected,) = counter_of(NaiveEngine(database)).count(
        [parse_clause(clause, database.schema)], database.examples_of("cancer").keys
    )
    assert [int(row["true"]) for row in rows] == expected.true.tolist()


def test_names_come_out_bare_and_csv_is_quoted_where_it_must_be(tmp_path, run):
    folder = flat(tmp_path, "smokes('A, \"B\"').", pos="cancer('A, \"B\"').", neg="cancer(Ω).")
    ran = run("count", folder, "cancer(A) :- smokes(A).", "--out", tmp_path / "c.csv")
    assert ran.status == 0
    with (tmp_path / "c.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["arg1", "true", "false"], ['A, "B"', "1", "0"], ["Ω", "0", "1"]]


def test_show_prints_what_was_learned(model, run):
    assert run("show", model).out == f"{load_model(model).words()}\n"
    logic = run("show", model, "--logic").out
    assert logic == f"{load_model(model)}\n"
    compact = run("show", model, "--logic", "--compact").out.splitlines()
    assert len(compact) == len(set(compact)) <= len(logic.splitlines())
    assert run("show", model, "--json").out == model.read_text()


def test_modes_are_inferred_where_there_are_none(tmp_path, run):
    folder = flat(tmp_path, "friends(ann,bob). smokes(ann).")
    ran = run("modes", folder)
    assert "mode: smokes(+" in ran.out
    assert ran.err.startswith("note: ")


def test_printed_modes_read_back(tmp_path, run):
    folder = flat(tmp_path, "friends(ann,bob). smokes(ann).")
    first = run("modes", folder)
    write(folder, {"background.txt": first.out})
    assert run("modes", folder).out == first.out


def test_the_demo_of_pairs_needs_no_data(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = run("demo", "--pairs")
    assert (ran.status, ran.err) == (0, "")
    assert Path("report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "advisedby(A,B) :- publication(C,A), publication(C,B)." in ran.out
    assert "auc_roc" in ran.out
    assert "because the number of titles of student" in ran.out


def test_the_version_is_printed(run):
    assert run("--version").out.startswith("hornbeam 0.")


# --- user errors: one sentence, exit 2 -----------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("fit nowhere", 'cannot read "nowhere"'),
        ("fit WORLD --target cnacer", 'no target "cnacer". Targets are: cancer. Did you mean "cancer"?'),
        ("fit WORLD --target smokes", 'no examples of "smokes". Targets are: cancer.'),
        ("fit WORLD --split dev", 'has no split "dev"; it has: test, train.'),
        ("fit WORLD --preset papr", 'no preset "papr". Presets are: default, paper. Did you mean "paper"?'),
        ("fit WORLD --l2 -1", "--l2 -1 is refused: it must be a finite number above 0 and at most 1e+100."),
        ("fit WORLD --l2 much", "Invalid value for '--l2': "),
        ("fit WORLD --steps 0", "--steps 0 is refused: it must be a whole number from 1 to"),
        ("fit WORLD --preset paper --stop early", "--stop early is refused: it must be best or full."),
        ("fit WORLD --stop full", "it belongs to --preset paper; without it, see --max-conditions."),
        ("fit WORLD --preset paper --validate", "--validate is refused: it belongs to --preset default."),
        ("fit WORLD --effects 0", "it must be a whole number from 1 to 1000000 or auto or all."),
        ("fit WORLD --prior high", "high is refused: it must be a finite number of a size of at most"),
        ("fit WORLD --neg-pos-ratio some", "some is refused: it must be a finite number above 0 or all."),
        ("fit WORLD --engine dukcdb", 'no engine "dukcdb". Engines are: duckdb, memory, naive,'),
        ("fit nowhere --engine dukcdb", 'no engine "dukcdb".'),
        ("predict nowhere --model MODEL --engine dukcdb", 'no engine "dukcdb".'),
        ("count nowhere cancer(A):-smokes(A). --engine dukcdb", 'no engine "dukcdb".'),
        ("fit WORLD --memory 2XB", "--memory 2XB is refused: it must be a size such as 500MB or 2GB."),
        ("fit WORLD --memory 0", "--memory 0 is refused: it must be a size such as 500MB or 2GB."),
        ("fit WORLD --time soon", "--time soon is refused: it must be a duration such as 30s, 10m or 2h."),
        ("fit WORLD --model no/m.json", "no/m.json: cannot be written; name a file in an existing folder"),
        ("fit WORLD --history WORLD", "cannot be written; name a file in an existing folder"),
        ("fit WORLD --fast", "No such option: --fast"),
        ("fit", "Missing argument 'DATA'."),
        ("fly", 'no command "fly". Commands are: fit, predict,'),
        ("predict WORLD", "no model is named; name the file of one, such as model.json."),
        ("predict WORLD --model none.json", "none.json: no such model file."),
        ("predict WORLD --model WORLD/background.txt", "background.txt:1:1: this is not a Hornbeam model"),
        ("predict WORLD --model MODEL --split dev", 'has no split "dev"; it has: test, train.'),
        ("predict WORLD --model MODEL --out no/p.csv", "no/p.csv: cannot be written"),
        ("predict TABLES --model MODEL", 'the model predicts "cancer", which these tables do not have; name'),
        ("predict OTHER --model MODEL", "they have none of its predicates (friends, smokes), only"),
        ("evaluate UNLABELLED --model MODEL", 'no examples of "cancer". Targets are: happy.'),
        ("evaluate POSITIVE --model MODEL", "there are no negative examples; scores need at least one"),
        ("fit POSITIVE", 'no negative example of "cancer" among 1; learning needs at least one of each'),
        ("explain WORLD --model MODEL --example cancer(p1,p2)", 'has 2 arguments, but "cancer" takes 1'),
        ("explain WORLD --model MODEL --example smokes(p1)", 'is of "smokes", but the model predicts'),
        ("explain WORLD --model MODEL --example=", "it must be 1 key separated by commas, or an atom of"),
        ("explain WORLD --model MODEL --example cancer(p1", '--example:1:7: this "(" is not closed.'),
        ("explain WORLD --model MODEL --example cancer(p1) --shown -1", "Invalid value for '--shown'"),
        ("count WORLD cancer(A):-frends(A,B).", 'no predicate "frends".'),
        ("count WORLD cancer(A):-friends(A).", '"friends" has 1 argument here, but takes 2'),
        ("count WORLD smokes(A):-friends(A,B).", 'no examples of "smokes". Targets are: cancer.'),
        ("count WORLD cancer(A):-", "expected a predicate name, found the end of the text."),
        ("show none.json", "none.json: no such model file."),
        ("modes nowhere", 'cannot read "nowhere"'),
    ],
)  # fmt: skip
def test_a_user_error_is_one_sentence(words, sentence, world, model, tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flat(tmp_path / "other", "likes(ann,tea).", pos="cancer(ann).", neg="cancer(bob).")
    flat(tmp_path / "unlabelled", "smokes(ann).", pos="happy(ann).", neg="happy(bob).")
    flat(tmp_path / "positive", "smokes(ann). smokes(bob).", pos="cancer(ann).", neg="")
    write(tmp_path / "tables", {"users.csv": "user_id,age\n1,20\n2,30\n"})
    places = {"WORLD": world, "MODEL": model} | {
        name.upper(): tmp_path / name for name in ("other", "unlabelled", "positive", "tables")
    }
    for name, path in places.items():
        words = words.replace(name, str(path))
    ran = run(*words.split())
    assert ran.status == 2
    assert ran.out == ""
    complaint = [line for line in ran.err.splitlines() if not line.startswith("note: ")]
    assert len(complaint) == 1
    assert complaint[0].startswith("hornbeam: ")
    assert sentence in complaint[0]


def test_predicting_on_a_flat_folder_with_a_split_is_refused(model, tmp_path, run):
    ran = run("predict", flat(tmp_path, "smokes(ann)."), "--model", model, "--split", "test")
    assert ran.status == 2
    assert "flat folder with one set of examples" in ran.err


def test_several_targets_must_be_named(tmp_path, run):
    folder = flat(tmp_path, "smokes(ann).", pos="cancer(ann). happy(bob).", neg="cancer(bob). happy(ann).")
    ran = run("fit", folder)
    assert ran.status == 2
    assert "the data have examples of several targets (cancer, happy); name one of them." in ran.err
    assert run("fit", folder, "--target", "happy", "--steps", 1).status == 0


def test_a_model_of_another_format_is_refused(world, model, tmp_path, run):
    (tmp_path / "new.json").write_text(
        model.read_text().replace('"format_version": 1', '"format_version": 9')
    )
    ran = run("predict", world, "--model", tmp_path / "new.json")
    assert ran.status == 2
    assert (
        "format version 9, but this Hornbeam reads version 1: install the Hornbeam that wrote it" in ran.err
    )


def test_debug_shows_the_traceback(model):
    done = subprocess.run(
        [sys.executable, "-m", "hornbeam", "show", "none.json", "--debug"], capture_output=True, text=True
    )
    assert "Traceback" in done.stderr
    assert "ModelError" in done.stderr


def test_an_output_that_cannot_be_written_leaves_the_old_one(world, model, tmp_path, run):
    out = tmp_path / "p.csv"
    out.write_text("old")
    assert run("predict", world, "--model", model, "--split", "dev", "--out", out).status == 2
    assert out.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]


# --- processes: terminals, pipes, signals --------------------------------------------------------


def hornbeam(*words: object) -> list[str]:
    return [sys.executable, "-m", "hornbeam", *map(str, words)]


def on_a_terminal(*words: object, columns: int = 160) -> tuple[str, str]:
    """Stdout (a pipe) and stderr (a terminal) of a command."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "40"}
    with subprocess.Popen(
        hornbeam(*words), stdout=subprocess.PIPE, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        assert process.stdout is not None
        out = process.stdout.read().decode()
    os.close(ours)
    assert process.returncode == 0
    return out, seen.decode()


def test_progress_is_shown_on_a_terminal_only(world, tmp_path):
    words = ("fit", world, "--steps", 8, "--max-literals", 2, "--model", tmp_path / "m.json")
    out, screen = on_a_terminal(*words)
    assert out == ""
    assert "step 8/8" in screen
    assert "candidates" in screen
    assert "held-out examples 0." in screen
    assert ", learned from 400 examples, to" in screen
    piped = subprocess.run(hornbeam(*words), capture_output=True, text=True, check=True)
    assert piped.stdout == ""
    assert re.fullmatch(SCORE + LENGTH + EXPLAINED, piped.stderr)


def test_progress_and_notes_fit_80_columns(tmp_path, run):
    folder = as_csv(shop(), tmp_path / "shop")
    model = tmp_path / "m.json"
    words = ("fit", folder, "--target", "users.gender=F", "--steps", 30, "--bags", 2, "--model", model)
    _, screen = on_a_terminal(*words, columns=80)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen)
    assert "candidates 0/1" in plain
    assert re.search(r"step 30/30 ━+ .*held-out examples 0\.", plain)
    lines = [line.split("/tmp")[0] for line in re.split(r"[\r\n]+", plain)]
    assert max(map(len, lines)) <= 80
    assert 'note: keys and links were inferred (movies: "movie_id" is the key; ratings:' in lines


def test_progress_names_no_last_step_if_held_out_examples_choose_it(tmp_path):
    folder = as_csv(shop(), tmp_path / "shop")
    words = ("fit", folder, "--target", "users.gender=F", "--bags", 2, "--model", tmp_path / "m.json")
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", on_a_terminal(*words, columns=80)[1])
    assert re.search(r"step \d+ ━+ .*held-out examples 0\.", plain)


def test_quiet_and_verbose(tmp_path, run):
    folder = as_csv(shop(), tmp_path / "shop")
    model = tmp_path / "m.json"
    words = ("fit", folder, "--target", "users.gender=F", "--steps", 8, "--bags", 2, "--model", model)
    assert run(*words, "-q") == (0, "", "")
    assert run("-q", "predict", folder, "--model", model, "--out", tmp_path / "p.csv") == (0, "", "")
    loud = run(*words, "--verbose").err
    assert "step 0: candidates of path 1 of " in loud
    assert re.search(r"^load \d\.\d s, learn \d+\.\d s$", loud, re.MULTILINE)
    assert f"to {model}\n" in loud
    refused = run("show", "none.json", "-q")
    assert (refused.status, refused.err) == (2, "hornbeam: none.json: no such model file.\n")
    assert "note: " in run(*words).err


def test_the_result_on_stdout_is_the_same_with_and_without_a_terminal(world):
    words = ("fit", world, "--steps", 2, "--max-literals", 2)
    out, _ = on_a_terminal(*words)
    assert out == subprocess.run(hornbeam(*words), capture_output=True, text=True, check=True).stdout


def test_a_reader_that_leaves_is_no_error(tmp_path):
    people = "".join(f"cancer(p{number}).\n" for number in range(100_000))
    folder = flat(tmp_path, "smokes(p1).", pos=people, neg="cancer(x).")
    with subprocess.Popen(
        hornbeam("count", folder, "cancer(A) :- smokes(A)."), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"arg1,true,false\n"
        process.stdout.close()
        complaints = process.stderr.read().decode().splitlines()
    assert [line for line in complaints if not line.startswith("note: ")] == []
    assert process.returncode == 1


def interrupted(words: list[str], ready, seconds: float = 120) -> tuple[int, str, str]:
    """The command's status, stdout and stderr when Ctrl-C comes as soon as it is ready."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        end = time.monotonic() + seconds
        while not ready() and process.poll() is None and time.monotonic() < end:
            select.select([], [], [], 0.05)
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return process.returncode, out, err


def test_ctrl_c_keeps_the_steps_done_and_says_so(world, tmp_path):
    saved = tmp_path / "c" / "checkpoint.json"

    def two_steps() -> bool:
        return saved.exists() and len(json.loads(saved.read_text())["steps"]) >= 2

    # The paper's way finds something to add for ever: the fit cannot end before Ctrl-C comes.
    words = hornbeam("fit", world, "--preset", "paper", "--steps", 100_000, "--model", tmp_path / "m.json")
    status, out, err = interrupted([*words, "--checkpoint", str(tmp_path / "c")], two_steps)
    assert status == 130
    assert out == ""
    model = load_model(tmp_path / "m.json")
    assert len(model.clauses) >= 2
    steps = len(model.clauses)
    assert err == f"note: the fit was stopped early (interrupted); the model has {steps} steps.\n"
    assert "Traceback" not in err


def test_ctrl_c_before_the_first_step_writes_nothing(tmp_path):
    started = tmp_path / "started"
    script = (
        "import pathlib, sys, hornbeam.learning.effects.learner as learner, hornbeam.cli\n"
        "def candidates(*_, **__):\n"
        f"    pathlib.Path({str(started)!r}).touch()\n"
        "    while True: pass\n"
        "learner._candidates = candidates\n"
        "hornbeam.cli.main(sys.argv[1:])"
    )
    folder = boostsrl(tmp_path / "d", "train")
    words = [sys.executable, "-c", script, "fit", str(folder), "--model", str(tmp_path / "m.json")]
    status, out, err = interrupted(words, started.exists)
    assert (status, out) == (130, "")
    assert err.splitlines()[-1] == "note: interrupted before the first step was done; nothing was written."
    assert not (tmp_path / "m.json").exists()


# --- the toys of the public data -----------------------------------------------------------------


@needs()
@pytest.mark.parametrize(
    ("name", "target", "example"),
    [
        ("toy_cancer", "cancer", "cancer(zod)"),
        ("toy_father", "father", "father(elizabeth,mrbennet)"),
    ],
)
def test_the_toys_from_fit_to_explain(name, target, example, tmp_path, run):
    folder, model = DATA / name, tmp_path / "m.json"
    assert run("fit", folder, "--target", target, "--steps", 5, "--model", model).status == 0
    scores = json.loads(run("evaluate", folder, "--model", model, "--json").out)
    assert scores["auc_roc"] > 0.5
    rows = run("predict", folder, "--model", model).rows()
    assert len(rows) == scores["n_pos"] + scores["n_neg"]
    assert (
        run("explain", folder, "--model", model, "--example", example).out.count(
            f": {target} with probability "
        )
        == 1
    )


@needs()
def test_the_toy_without_negatives_can_be_counted_but_not_learned(run):
    folder = DATA / "toy_machines"
    rows = run("count", folder, "machine(A,B) :- worn(A,C), replaceable(C).").rows()
    assert len(rows) == 12
    refused = run("fit", folder)
    assert refused.status == 2
    assert (
        'no negative example of "machine" among 12; learning needs at least one of each label.' in refused.err
    )


@pytest.mark.parametrize("words", [(), ("datasets",)], ids=["hornbeam", "datasets"])
def test_without_a_verb_there_is_help_in_lines(words, run):
    ran = run(*words)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("Usage: hornbeam")
    assert "\nCommands:\n" in ran.out


def test_a_model_has_its_own_modes_so_those_of_the_data_are_no_matter(tmp_path, run):
    facts = "friends(ann,bob). friends(bob,cat). friends(cat,dan). smokes(bob). smokes(cat)."
    town = flat(tmp_path, facts, pos="cancer(ann). cancer(bob).", neg="cancer(cat). cancer(dan).")
    fitted = run("fit", town, "--model", tmp_path / "m.json", "--steps", 1)
    assert "types and modes were inferred" in fitted.err
    assert run("evaluate", town, "--model", tmp_path / "m.json").err == ""
