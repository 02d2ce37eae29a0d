"""Checkpoints: a fit that was stopped anywhere goes on to the same model, byte for byte."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.data.database import Database, Examples
from hornbeam.engines.naive import NaiveEngine
from hornbeam.errors import DataError
from hornbeam.learning.boosting.boost import fit
from hornbeam.learning.checkpoint import Checkpoint, fit_fingerprint
from hornbeam.learning.history import Step
from hornbeam.learning.loop import Control
from hornbeam.learning.options import PaperOptions
from hornbeam.learning.problem import Fit
from hornbeam.logic.parse import parse_mode
from hornbeam.logic.schema import schema_of
from hornbeam.model.files import model_text
from plain_options import plain

MODES = tuple(map(parse_mode, ["risk(+person).", "friends(+person,-person).", "smokes(+person)."]))
OPTIONS = plain(n_steps=5, l2=0.7, max_literals=2, prior="base-rate", neg_pos_ratio=None, negation=True)
FRIENDS = [["ann", "ann", "bob", "Dan O'Hara", "eve"], ["bob", "cat", "Dan O'Hara", "cat", "ann"]]
RISK = ([["ann"], ["bob"], ["cat"], ["Dan O'Hara"], ["eve"]], [1, 1, 0, 1, 0])


def world(
    friends: list[list[str]] = FRIENDS,
    smokes: list[str] | None = None,
    risk: tuple[list[list[str]], list[int]] = RISK,
    ranges: dict[str, list[str]] | None = None,
) -> Database:
    smoking = ["bob", "cat", "Dan O'Hara"] if smokes is None else smokes
    facts = {"friends": friends, "smokes": [smoking]}
    return build(schema_of(MODES), MODES, facts, {"risk": risk}, ranges)


def learn(
    folder: Path | None, database: Database | None = None, options: PaperOptions = OPTIONS, **control: object
) -> Fit:
    database = database or world()
    control |= {"checkpoint": folder}
    return fit(NaiveEngine(database), database.examples_of("risk"), options, Control(**control))  # type: ignore[arg-type]


def stop_after(number: int):  # type: ignore[no-untyped-def]
    def interrupt(step: Step) -> None:
        if step.number == number:
            raise KeyboardInterrupt

    return interrupt


def test_an_interruption_amid_saving_keeps_the_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "save", interrupt)
    assert len(learn(tmp_path).model.clauses) == 1


@pytest.mark.parametrize("number", [1, 2, 4])
def test_the_same_fit_goes_on_where_it_was_stopped(tmp_path: Path, number: int) -> None:
    learn(tmp_path / "new" / "state", on_step=stop_after(number))
    seen: list[Step] = []
    resumed = learn(tmp_path / "new" / "state", on_step=seen.append)
    assert [step.number for step in seen] == list(range(number + 1, 6))
    assert model_text(resumed.model) == model_text(learn(None).model)
    assert [step.number for step in resumed.history.steps] == [1, 2, 3, 4, 5]


def test_a_finished_checkpoint_just_gives_the_model(tmp_path: Path) -> None:
    whole = learn(tmp_path)
    saved = (tmp_path / "checkpoint.json").read_bytes()
    seen: list[Step] = []
    again = learn(tmp_path, on_step=seen.append)
    assert seen == []
    assert model_text(again.model) == model_text(whole.model)
    assert again.history == whole.history
    assert (tmp_path / "checkpoint.json").read_bytes() == saved
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.json"]


def test_an_early_end_is_remembered(tmp_path: Path) -> None:
    empty = build(schema_of(MODES), MODES, {}, {"risk": ([["ann"], ["bob"]], [1, 0])})
    options = replace(OPTIONS, negation=False)
    assert learn(tmp_path, empty, options).history.ended == "no clause lowers the error"
    assert learn(tmp_path, empty, options).history.ended == "no clause lowers the error"


def test_what_a_killed_run_left_behind_is_ignored_and_removed(tmp_path: Path) -> None:
    learn(tmp_path, on_step=stop_after(2))
    (tmp_path / ".checkpoint.json.0badc0de.hornbeam-tmp").write_text('{"format": 1, "ma')
    assert model_text(learn(tmp_path).model) == model_text(learn(None).model)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.json"]


@pytest.mark.parametrize(
    ("database", "options", "what"),
    [
        (world(smokes=["bob", "cat"]), OPTIONS, "facts"),
        (world(friends=[FRIENDS[1], FRIENDS[0]]), OPTIONS, "facts"),
        (world(ranges={"person": ["nobody"]}), OPTIONS, "facts"),
        (world(risk=(RISK[0], [1, 1, 0, 1, 1])), OPTIONS, "examples"),
        (world(risk=(RISK[0][:4], RISK[1][:4])), OPTIONS, "examples"),
        (replace(world(), modes=MODES[:2]), OPTIONS, "schema or modes"),
        (world(), replace(OPTIONS, l2=0.5), "options"),
        (world(), replace(OPTIONS, n_steps=6), "options"),
        (world(smokes=["ann"]), replace(OPTIONS, seed=1), "facts and options"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused(
    tmp_path: Path, database: Database, options: PaperOptions, what: str
) -> None:
    learn(tmp_path, on_step=stop_after(1))
    with pytest.raises(DataError) as error:
        learn(tmp_path, database, options)
    assert str(error.value) == (
        f"{tmp_path}: this checkpoint belongs to a fit with different {what}; "
        "name another folder, or remove it to start again."
    )


def test_order_and_codes_are_no_part_of_the_fingerprint() -> None:
    def marks(database: Database) -> object:
        examples = database.examples_of("risk")
        return fit_fingerprint(database, examples, OPTIONS.settings(), 5)

    rows = sorted(zip(*FRIENDS, strict=True), reverse=True)
    other = build(
        schema_of(MODES),
        MODES[::-1],
        {"smokes": [["Dan O'Hara", "bob", "cat", "bob"]], "friends": list(zip(*rows, strict=True))},
        {"risk": (RISK[0][::-1], RISK[1][::-1])},
    )
    assert other.population("person").names != world().population("person").names
    assert marks(other) == marks(world())


def test_the_fingerprint_holds_for_many_rows_and_unknown_keys() -> None:
    # More rows than are hashed at a time; -1 is a key that the data do not have.
    names = [f"p{number}" for number in range(400)]
    pairs = [(a, b) for a in names for b in names[:200]]
    risk = ([["p1"], ["p2"]], [1, 0])
    forward = world(friends=list(map(list, zip(*pairs, strict=True))), risk=risk)
    backward = world(friends=list(map(list, zip(*pairs[::-1], strict=True))), risk=risk)
    labels = np.array([1, 0], dtype=np.int8)

    def marks(database: Database, first: int) -> object:
        second = database.population("person").code("p2")
        keys = np.array([[first], [second]], dtype=np.int32)
        return fit_fingerprint(database, Examples("risk", keys, labels), OPTIONS.settings(), 5)

    assert marks(forward, -1) == marks(backward, -1)
    last = len(forward.population("person")) - 1
    assert marks(forward, -1) != marks(forward, last)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read as a checkpoint; remove it to start again."),
        ('{"format": 99}', "is not a checkpoint of this version; remove it to start again."),
    ],
)
def test_a_file_that_is_no_checkpoint_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "checkpoint.json"
    path.write_text(content)
    with pytest.raises(DataError) as error:
        learn(tmp_path)
    assert str(error.value) == f"{path}: {message}"


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(DataError, match=r"cannot be a checkpoint folder \(it is a file\); name a folder."):
        learn(tmp_path / "taken")
