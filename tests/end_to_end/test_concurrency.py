"""Several fits at once on one Database, in threads and in processes: the same model as alone."""

from __future__ import annotations

import gc
import multiprocessing
import pickle
import stat
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from folders import write
from hornbeam import RLRClassifier, load
from hornbeam.cli import main
from hornbeam.data.database import Database
from hornbeam.datasets.worlds import smokers
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.registry import open_engine
from hornbeam.learning.effects.learner import fit
from hornbeam.learning.options import effect_options
from hornbeam.logic.parse import parse_clause
from hornbeam.model.files import model_text

AT_ONCE = 4
SIZES = [1, 2, 3, 1]
"""literals of each fit: they do different things to what they share"""


def learned(database: Database, engine: str, literals: int) -> str:
    examples = database.examples_of("cancer")
    options = effect_options(n_steps=40, n_bags=3, max_literals=literals)
    opened = open_engine(engine, database)
    return model_text(fit(opened, examples, options).model)


def at_once(executor: Executor, database: Database, engine: str) -> list[str]:
    jobs = [executor.submit(learned, database, engine, literals) for literals in SIZES]
    return [job.result() for job in jobs]


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_fits_in_threads_are_as_alone(engine: str) -> None:
    database = smokers(n_persons=120, seed=3)
    with ThreadPoolExecutor(AT_ONCE) as executor:
        found = at_once(executor, database, engine)
    alone = smokers(n_persons=120, seed=3)
    assert found == [learned(alone, engine, literals) for literals in SIZES]


@pytest.mark.parametrize("way", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_fits_in_processes_are_as_alone(way: str) -> None:
    database = smokers(n_persons=120, seed=3)
    with ProcessPoolExecutor(2, multiprocessing.get_context(way)) as executor:
        found = at_once(executor, database, "memory")
    assert found == [learned(database, "memory", literals) for literals in SIZES]


def forked(child: Callable[[], None]) -> int | None:
    """What a forked process that does this ends with."""
    gc.collect()  # what earlier tests left behind must not be collected by the child
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(60)
    return process.exitcode


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_process_leaves_the_engine_of_its_parent_alone() -> None:
    database = smokers(n_persons=120, seed=3)
    clause = parse_clause("cancer(A) :- friends(A,B), smokes(B).")
    keys = database.examples_of("cancer").keys
    engine = open_engine("duckdb", database)
    (before,) = counter_of(engine).count([clause], keys)

    def child() -> None:
        (found,) = counter_of(engine).count([clause], keys)
        assert np.array_equal(found.true, before.true)
        engine.close()
        gc.collect()

    assert forked(child) == 0
    (after,) = counter_of(engine).count([clause], keys)
    assert np.array_equal(after.true, before.true)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_process_forgets_what_its_parent_left_open() -> None:
    left = [open_engine("duckdb", smokers(n_persons=20, seed=3))]
    counter_of(left[0]).count(
        [parse_clause("cancer(A) :- smokes(A).")], left[0].database.examples_of("cancer").keys
    )

    def child() -> None:
        left.clear()
        gc.collect()

    assert forked(child) == 0


def test_estimators_in_threads_share_a_database() -> None:
    database = smokers(n_persons=120, seed=3)
    X, y = database.examples("cancer")

    def chances(steps: int) -> np.ndarray:
        return RLRClassifier(database=database, target="cancer", n_steps=steps).fit(X, y).predict_proba(X)

    with ThreadPoolExecutor(AT_ONCE) as executor:
        found = list(executor.map(chances, [1, 2, 3, 2]))
    for steps, each in zip([1, 2, 3, 2], found, strict=True):
        assert np.array_equal(each, chances(steps))


def test_a_folder_that_may_only_be_read_is_left_as_it_is(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "data",
        {
            "facts.txt": "friends(ann,bob). friends(bob,cat). friends(cat,dan). smokes(bob). smokes(cat).",
            "pos.txt": "cancer(ann). cancer(bob).",
            "neg.txt": "cancer(cat). cancer(dan).",
        },
    )
    before = {path: path.read_bytes() for path in folder.iterdir()}
    model = tmp_path / "m.json"
    for path in (*before, folder):
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    try:
        for words in (
            ["fit", folder, "--target", "cancer", "--steps", "2", "--model", model],
            ["fit", folder, "--target", "cancer", "--steps", "2", "--engine", "duckdb", "--model", model],
            ["predict", folder, "--model", model],
            ["evaluate", folder, "--model", model],
            ["explain", folder, "--model", model, "--example", "cancer(ann)"],
        ):
            with pytest.raises(SystemExit) as left:
                main(list(map(str, words)))
            assert left.value.code == 0
        load(folder)
        # Also where the rights of the user (root) would allow more, nothing was written.
        assert {path: path.read_bytes() for path in folder.iterdir()} == before
    finally:
        folder.chmod(0o755)


def test_rows_predicted_in_threads_are_as_alone() -> None:
    database = smokers(n_persons=300, seed=3)
    X, y = database.examples("cancer")
    fitted = RLRClassifier(database=database, n_steps=40, n_bags=3).fit(X, y)
    alone = pickle.loads(pickle.dumps(fitted)).predict_proba(X)
    with ThreadPoolExecutor(AT_ONCE) as executor:
        rows = list(executor.map(lambda place: fitted.predict_proba(X[[place]])[0], range(len(X))))
    assert np.array_equal(rows, alone)
    assert not np.array_equal(fitted.predict_proba(X, smokers(n_persons=300, seed=4)), alone)
    assert np.array_equal(fitted.predict_proba(X), alone)
