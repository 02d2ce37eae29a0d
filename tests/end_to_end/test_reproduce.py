"""The study as a user runs it: killed, taken up again, reported."""

import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from hornbeam.datasets.worlds import university
from hornbeam.errors import OptionError
from public_data import DATA, needs
from study.__main__ import main
from study.one_run import fingerprint, without
from study.protocol import METHODS, full_study, quick_study
from study.reproduce import reproduce

ROOT = Path(__file__).resolve().parents[2]


def command(out, *words):
    return [sys.executable, "-m", "study", "--quick", "--out", str(out), *words]


def rows_in(out):
    path = out / "runs.jsonl"
    text = path.read_bytes() if path.exists() else b""
    return [json.loads(line) for line in text.split(b"\n")[:-1]]


def name_of(row):
    return row["task"], row["fold"], row["seed"], row["method"], json.dumps(row["settings"])


def test_a_killed_study_goes_on_without_losing_or_repeating_a_row(tmp_path):
    out = tmp_path / "results"
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(command(out), cwd=ROOT, stdout=nowhere, stderr=nowhere) as process:
        while len(rows_in(out)) < 3 and process.poll() is None:
            time.sleep(0.02)
        workers = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert workers, "it was killed at work"
    _, alive = psutil.wait_procs(workers, timeout=30)
    assert not alive, "workers end with whoever started them"
    before = rows_in(out)
    assert 3 <= len(before) < len(quick_study().runs())
    assert not (out / "REPORT.md").exists()
    with (out / "runs.jsonl").open("ab") as file:
        file.write(b'{"task":"smokes_small","fold":1,"se')

    done = subprocess.run(command(out, "--jobs", "1"), cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{out / 'REPORT.md'}\n"), done.stderr
    after = rows_in(out)
    assert after[: len(before)] == before
    assert set(Counter(map(name_of, after)).values()) == {1}
    assert len(after) == len(quick_study().runs())

    # Once more: there is nothing to do, and the report comes out the same.
    report, rows = (out / "REPORT.md").read_bytes(), (out / "runs.jsonl").read_bytes()
    assert b"Not complete" not in report
    reproduce(quick_study(), out)
    assert (out / "REPORT.md").read_bytes() == report
    assert (out / "runs.jsonl").read_bytes() == rows


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path):
    words = command(tmp_path / "results", "--jobs", "1")
    with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        while not rows_in(tmp_path / "results") and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1]
    assert process.returncode == 130
    assert said == "interrupted; finished runs are kept, and the same command continues from there.\n"
    assert rows_in(tmp_path / "results")


def test_one_method_on_one_task_and_the_same_again(tmp_path):
    seen = []
    limits = {"methods": ["agg-lr"], "tasks": ["university_small"], "jobs": 1}
    on_row = lambda done, total, row: seen.append((done, total, row["method"]))  # noqa: E731
    reproduce(quick_study(), tmp_path, **limits, on_row=on_row)
    assert seen == [(1, 2, "agg-lr"), (2, 2, "agg-lr")]
    results = reproduce(quick_study(), tmp_path, **limits, again=True)
    rows = rows_in(tmp_path)
    assert len(rows) == 4
    assert rows[0]["scores"] == rows[2]["scores"], "a run is the same whenever it is run"
    assert {row["code"] for row in rows} == {fingerprint()}
    assert len(results.rows) == 2
    assert "2 of" in (tmp_path / "REPORT.md").read_text()


def test_a_fit_that_fails_is_a_row_that_says_so_and_is_tried_again(tmp_path, monkeypatch):
    from study import one_run as module

    monkeypatch.setattr(
        "study.reproduce.rows_of", lambda pairs, jobs: (module.measure(*pair) for pair in pairs)
    )
    from hornbeam.errors import LimitError

    def refuse(*arguments):
        raise LimitError("no room for that.")

    monkeypatch.setattr(module, "learn", refuse)
    limits = {"methods": ["agg-lr"], "tasks": ["smokes_small"]}
    module._warm.cache_clear()
    results = reproduce(quick_study(), tmp_path, **limits)
    assert results.errors == (
        "agg-lr on smokes_small, fold 1: no room for that.",
        "agg-lr on smokes_small, fold 2: no room for that.",
    )
    monkeypatch.undo()
    results = reproduce(quick_study(), tmp_path, **limits, jobs=1)
    assert results.errors == ()
    assert len(results.rows) == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--only", "defualt"], 'no method "defualt". Methods are: .* Did you mean "default"?'),
        (["--data", "imdb"], 'no task "imdb". Tasks are: smokes_small, university_small.'),
        (["--jobs", "0"], "jobs=0 is refused: it must be a whole number of at least 1."),
    ],
)
def test_a_wrong_word_is_one_sentence(tmp_path, capsys, words, sentence):
    status = main(["--quick", "--out", str(tmp_path), *words])
    said = capsys.readouterr().err
    assert status == 2
    assert re.fullmatch(f"study: {sentence.replace('?', '[?]')}\n", said)
    assert list(tmp_path.iterdir()) == []


def test_a_report_needs_no_runs(tmp_path, capsys):
    assert main(["--out", str(tmp_path), "--report-only"]) == 0
    printed, said = capsys.readouterr()
    assert printed == f"{tmp_path / 'REPORT.md'}\n"
    assert "runs have no result yet" in said
    assert "Not complete" in (tmp_path / "REPORT.md").read_text()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["--quick", "--out", str(tmp_path / "file")]) == 2
    assert "the folder cannot be created (File exists); name another one." in capsys.readouterr().err


def test_data_that_are_not_there_stop_the_study_before_its_first_run(tmp_path, monkeypatch):
    monkeypatch.setenv("HORNBEAM_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(ValueError, match='data set "imdb" is not on this machine'):
        reproduce(full_study(), tmp_path / "out", tasks=["imdb"])
    assert rows_in(tmp_path / "out") == []


def test_a_predicate_is_left_out_with_its_modes():
    whole = university(n_departments=1)
    fewer = without(whole, "ta")
    assert "ta" not in fewer.relations
    assert not [mode for mode in fewer.modes if mode.predicate == "ta"]
    assert len(fewer.relations) == len(whole.relations) - 1
    assert fewer.populations == whole.populations


@needs()
def test_the_ratios_of_the_protocol_are_those_of_the_data(monkeypatch):
    import hornbeam as hb

    monkeypatch.setenv("HORNBEAM_DATA", str(DATA))
    for task in full_study().tasks:
        ratios = []
        for fold in range(1, task.n_folds + 1):
            labels = hb.datasets.load(task.data.name, fold).train.examples_of(task.data.target).labels
            ratios.append((labels == 0).sum() / (labels == 1).sum())
        kept = {method.settings(task).get("neg_pos_ratio") for method in METHODS.values()} - {None}
        # A learner draws a sample on all folds or on none, and the protocol knows which.
        assert {ratio: max(ratios) > ratio for ratio in kept} == {
            ratio: task.most_negatives > ratio for ratio in kept
        }


def test_options_are_checked_before_anything_is_written(tmp_path):
    with pytest.raises(OptionError):
        reproduce(quick_study(), tmp_path / "new", jobs=0)
    assert not (tmp_path / "new").exists()
