"""Several processes learn the model that one process learns, and end with the fit."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from hornbeam.datasets.worlds import university
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.errors import EngineError, OptionError
from hornbeam.learning import workers
from hornbeam.learning.effects import candidates, collecting, constants
from hornbeam.learning.effects.bodies import BodyLimits
from hornbeam.learning.effects.learner import fit
from hornbeam.learning.effects.links import PathFinder, Vocabulary
from hornbeam.learning.history import INTERRUPTED, Collected, Record
from hornbeam.learning.loop import Control
from hornbeam.learning.options import EffectOptions, effect_options
from hornbeam.learning.problem import Fit
from hornbeam.learning.workers import Jobs, n_processors, number_of_jobs
from hornbeam.logic.clauses import head_atom
from hornbeam.model.clause_model import Model
from hornbeam.model.files import model_text
from orders_world import shoppers

PEOPLE = university(2, seed=3)
SHOPPERS = shoppers(300, seed=4)
OPTIONS = effect_options(n_bags=3, n_steps=40)


@pytest.fixture(autouse=True)
def workers_for_small_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "ENOUGH_VALUES", 0)
    monkeypatch.setattr(constants, "MANY_ENTRIES", 0)


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    before = set(psutil.Process().children(recursive=True))
    yield
    assert not set(psutil.Process().children(recursive=True)) - before


def learned(
    jobs: int, options: EffectOptions = OPTIONS, memory: int = 2 * 10**9, **control: object
) -> Fit[Model]:
    engine = MemoryEngine(PEOPLE, memory)
    return fit(engine, PEOPLE.examples_of("advisedby"), options, Control(jobs=jobs, **control))  # type: ignore[arg-type]


def same(one: Fit[Model], other: Fit[Model]) -> bool:
    return model_text(one.model) == model_text(other.model) and one.history == other.history


@pytest.mark.parametrize("n_bags", [1, 3])
def test_models_are_the_same_for_every_number_of_jobs(n_bags: int) -> None:
    options = replace(OPTIONS, n_bags=n_bags)
    alone = learned(1, options)
    assert alone.model.effects
    for jobs in (2, 3):
        assert same(learned(jobs, options), alone)


def test_tables_with_weights_per_constant() -> None:
    examples = SHOPPERS.examples_of(SHOPPERS.target_named(None))
    fits = [fit(MemoryEngine(SHOPPERS), examples, OPTIONS, Control(jobs=jobs)) for jobs in (1, 2)]
    assert same(*fits)


def test_paths_are_reported_in_order() -> None:
    records: list[list[Record]] = [[], []]
    for jobs in (1, 2):
        learned(jobs, on_step=records[jobs - 1].append)
    assert records[0] == records[1]


@pytest.mark.parametrize("name", ["path", "number"])
def test_an_interrupted_fit_is_that_of_one_process(name: str) -> None:
    def interrupted(jobs: int) -> Fit[Model]:
        def interrupt(record: Record) -> None:
            if getattr(record, name, None) == 8:
                raise KeyboardInterrupt

        return learned(jobs, on_step=interrupt)

    alone = interrupted(1)
    assert alone.history.ended == INTERRUPTED and alone.history.cut
    assert same(interrupted(2), alone)


def test_a_fit_that_is_stopped_while_paths_are_followed_ends() -> None:
    asked: list[None] = []

    def stop() -> str | None:
        asked.append(None)
        return "enough" if len(asked) == 5 else None

    fitted = learned(2, should_stop=stop)
    assert fitted.history.cut and fitted.history.ended == "enough" and not fitted.model.effects


def test_a_checkpoint_continues_with_another_number_of_jobs(tmp_path: Path) -> None:
    def interrupt(record: Record) -> None:
        if not isinstance(record, Collected) and record.number == 28:
            raise KeyboardInterrupt

    learned(2, checkpoint=tmp_path, on_step=interrupt)
    assert same(learned(3, checkpoint=tmp_path), learned(1))


def test_limits_on_all_paths_together_are_those_of_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (candidates, collecting):
        monkeypatch.setattr(module, "MOST_WORK", 2_000)
    alone = learned(1)
    assert alone.history.skipped
    assert same(learned(2), alone)


def test_a_budget_for_few_candidates_is_that_of_one_process() -> None:
    alone, all_ = learned(1, memory=100_000), learned(1)
    assert int(str(alone.model.settings["candidates"])) < int(str(all_.model.settings["candidates"]))
    assert same(learned(2, memory=100_000), alone)


def test_an_error_in_a_worker_is_raised_and_ends_all_workers() -> None:
    with Jobs(3) as jobs:
        first, second = jobs.workers
        first.make("number", int, "7")
        second.make("number", int, "seven")
        with pytest.raises(ValueError, match="seven"), jobs.together():
            assert first.answer() is None
            second.answer()
        assert not jobs.workers


def test_a_worker_answers_with_one_thread_and_what_it_prints_is_no_answer() -> None:
    with Jobs(2) as jobs:
        (worker,) = jobs.workers
        worker.make("threads", os.getenv, "OPENBLAS_NUM_THREADS")
        worker.answer()
        worker.ask("threads", "strip")
        assert worker.answer() == "1"
        worker.make("nothing", print, "hello")
        assert worker.answer() is None


def test_a_worker_that_was_killed_is_an_error_that_says_what_to_do() -> None:
    before = set(psutil.Process().children())
    with Jobs(2) as jobs:
        (worker,) = jobs.workers
        worker.make("text", str, 1)
        worker.answer()
        (process,) = set(psutil.Process().children()) - before
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with pytest.raises(EngineError, match="Use fewer jobs"):
            worker.ask("text", "strip")
            worker.answer()


def test_numbers_of_jobs() -> None:
    assert [number_of_jobs(each) for each in (None, 1, 5)] == [1, 1, 5]
    assert number_of_jobs(-1) == n_processors() >= 1
    assert number_of_jobs(-n_processors()) == number_of_jobs(-999) == 1
    for wrong in (0, True, "two"):
        with pytest.raises(OptionError, match="whole number other than 0"):
            number_of_jobs(wrong)  # type: ignore[arg-type]


def test_a_small_fit_starts_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "ENOUGH_VALUES", 10**9)
    monkeypatch.setattr(workers, "Worker", None)
    assert same(learned(2), learned(1))


def test_processes_take_neighbouring_shares_and_then_help_each_other() -> None:
    shares = collecting._Shares([[]] * 7, 2, 0)
    assert [shares.take(0) for _ in range(4)] == [0, 1, 2, 6]
    assert [shares.take(1) for _ in range(4)] == [3, 4, 5, None]


def test_earlier_paths_that_are_followed_later_have_all_their_candidates() -> None:
    keys = PEOPLE.examples_of("advisedby").keys
    head = head_atom("advisedby", 2)
    settings = collecting.PathSettings(head, keys, 8, 3, 4, BodyLimits(), False)
    paths = PathFinder(Vocabulary(PEOPLE, "advisedby"), head, {}, 2, 100, 40).paths()
    in_order, backwards = (collecting.PathFollower(MemoryEngine(PEOPLE), settings) for _ in range(2))
    first = in_order.of_paths(0, paths[:20])
    backwards.of_paths(1, paths[20:])
    again = backwards.of_paths(0, paths[:20])
    assert [each.candidates for each in again] == [each.candidates for each in first]
    assert sum(len(each.candidates) for each in first) > 20
