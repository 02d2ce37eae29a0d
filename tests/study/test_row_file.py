"""The file of results: nothing finished is lost, nothing half-written is read; which row is of which run."""

import json

import pytest

from hornbeam.errors import DataError
from hornbeam.learning.options import fit_options
from study.protocol import METHODS, full_study, quick_study, run_of
from study.row_file import appending, matched, read_rows, same_settings
from study_rows import row_of

STUDY = quick_study()
RUNS = STUDY.runs()
TASK = STUDY.tasks[0]


def test_rows_come_back_in_order(tmp_path):
    path = tmp_path / "runs.jsonl"
    with appending(path) as file:
        file.append({"a": 1})
        assert read_rows(path) == [{"a": 1}], "a row is on the disk as soon as append returns"
        file.append({"b": "ü\n"})
    with appending(path) as file:
        file.append({"c": None})
    assert read_rows(path) == [{"a": 1}, {"b": "ü\n"}, {"c": None}]


def test_no_file_is_no_rows(tmp_path):
    assert read_rows(tmp_path / "none.jsonl") == []


@pytest.mark.parametrize("torn", [b'{"b', b'{"b": 2}', b"\xc3", b"{"])
def test_a_line_that_is_not_whole_is_left_out_and_cut_off(tmp_path, torn):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b'{"a": 1}\n' + torn)
    assert read_rows(path) == [{"a": 1}]
    with appending(path) as file:
        assert path.read_bytes() == b'{"a": 1}\n'
        file.append({"c": 3})
    assert read_rows(path) == [{"a": 1}, {"c": 3}]


def test_a_damaged_line_in_the_middle_is_an_error_with_its_place(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"a": 1}\nhello\n{"b": 2}\n')
    with pytest.raises(DataError, match=r"runs\.jsonl:2: this line is not a row of results"):
        read_rows(path)


def test_only_one_process_writes(tmp_path):
    path = tmp_path / "runs.jsonl"
    with (
        appending(path),
        pytest.raises(DataError, match=r"runs\.jsonl is being written by another process"),
        appending(path),
    ):
        pass


def test_every_run_finds_its_own_row():
    rows = [row_of(run, place) for place, run in enumerate(RUNS)]
    found = matched(RUNS, json.loads(json.dumps(rows))[::-1])
    assert {place: row["scores"]["auc_roc"] for place, row in found.items()} == {
        place: place for place in range(len(RUNS))
    }


def test_of_two_rows_the_later_counts_and_failures_never_do():
    run = RUNS[1]
    rows = [row_of(run, 0.1), row_of(run, 0.2), row_of(run, 0.3, error="no memory")]
    assert matched([run], rows)[0]["scores"]["auc_roc"] == 0.2
    assert matched([run], rows[2:]) == {}


def test_a_row_with_other_settings_is_of_another_run():
    run = run_of(TASK, METHODS["default"], 1)
    other = row_of(run) | {"settings": run.settings | {"n_steps": 7}}
    assert matched([run], [other]) == {}
    stranger = row_of(run) | {"settings": run.settings | {"gone": 1}}
    assert matched([run], [stranger]) == {}


def test_an_option_newer_than_the_row_has_the_value_of_the_published_algorithm():
    published = fit_options("paper").settings()
    run = run_of(TASK, METHODS["paper-beam10"], 1)
    same = next(name for name, value in run.settings.items() if value == published[name])
    other = next(name for name, value in run.settings.items() if value != published[name])
    assert same_settings(run, {name: value for name, value in run.settings.items() if name != same})
    assert not same_settings(run, {name: value for name, value in run.settings.items() if name != other})


def test_rows_of_each_seed_fold_and_lambda_are_kept_apart():
    runs = full_study().runs()
    rows = [row_of(run) for run in runs]
    assert len(matched(runs, rows)) == len(runs)
    for place in (0, 100, 300):
        assert place not in matched(runs, rows[:place] + rows[place + 1 :])
