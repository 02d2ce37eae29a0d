"""What is run: the paper's folds, lambdas and methods, each run once."""

from collections import Counter

import pytest

from study.protocol import METHODS, TRUTH, full_study, penalty, quick_study, selected
from study.published import LAMBDAS, PUBLISHED

FULL = full_study()
RUNS = FULL.runs()


def test_the_published_tasks_have_the_paper_s_folds_and_lambdas():
    found = {task.name: (task.n_folds, task.l2) for task in FULL.tasks if task.published}
    assert found == {
        "smokes": (4, penalty(3.5)),
        "imdb": (5, 1000.0),
        "uwcse": (5, penalty(3.5)),
        "movielens": (5, 1000.0),
        "webkb": (4, 100.0),
    }
    assert set(found) == set(PUBLISHED)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_on_every_fold_of_every_task(method):
    folds = {(run.task, run.fold) for run in RUNS if run.method == method}
    assert folds == {(task.name, fold) for task in FULL.tasks for fold in range(1, task.n_folds + 1)}


def test_no_run_is_there_twice():
    seen = Counter((*run[:5], tuple(run.settings.items())) for run in RUNS)
    assert max(seen.values()) == 1


def test_only_learners_that_draw_a_sample_have_seeds():
    seeds = {}
    for run in RUNS:
        seeds.setdefault((run.task, run.method), set()).add(run.seed)
    assert (
        seeds["uwcse", "default"] == seeds["uwcse", "rdn-boost"] == seeds["webkb", "mln-boost"] == {0, 1, 2}
    )
    assert seeds["imdb", "rdn-boost"] == {0}, "there are no more than the two negatives per positive it keeps"
    assert seeds["uwcse", "paper"] == seeds["uwcse", "agg-lr"] == {0}
    assert all(run.settings["seed"] == run.seed for run in RUNS if run.method != TRUTH)


def test_the_lambda_curve_is_on_all_folds_and_wider_on_the_first():
    found = {}
    for run in RUNS:
        if run.method == "paper" and run.task == "webkb":
            found.setdefault(run.settings["l2"], set()).add(run.fold)
    assert {found.pop(penalty(exponent)) == {1, 2, 3, 4} for exponent in LAMBDAS} == {True}
    assert set(found) == {penalty(half / 2) for half in (-2, -1, 0, 1, 2, 3, 8)}
    assert all(folds == {1} for folds in found.values())


def test_settings_are_those_of_the_presets():
    paper = METHODS["paper"].settings(FULL.task("webkb"))
    assert (paper["l2"], paper["beam_width"], paper["stop"], paper["n_steps"]) == (100.0, 1, "full", 10)
    assert METHODS["paper-beam10"].settings(FULL.task("webkb")) == paper | {"beam_width": 10}
    assert METHODS["default"].settings(FULL.task("webkb")) == METHODS["default"].settings(FULL.task("uwcse"))


def test_generated_worlds_are_judged_by_their_truth_too():
    assert {run.task for run in RUNS if run.method == TRUTH} == {"smokes"}
    assert {run.task for run in quick_study().runs() if run.method == TRUTH} == {
        "smokes_small",
        "university_small",
    }


def test_runs_on_the_same_data_stand_together():
    places = [(run.task, run.fold) for run in RUNS]
    assert len(list(dict.fromkeys(places))) == sum(
        1 for place in range(len(places)) if place == 0 or places[place] != places[place - 1]
    )


def test_a_selection_is_by_method_and_task():
    chosen = selected(RUNS, ["paper", "default"], ["webkb"])
    assert {(run.method, run.task) for run in chosen} == {("paper", "webkb"), ("default", "webkb")}
    assert selected(RUNS, [], []) == RUNS
