"""Examples held out: apart from those learned from, they choose options, and teach nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.data.database import Codes, Database, Examples
from hornbeam.engines.contract import Counts, Engine, Skipped
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.errors import ModelError
from hornbeam.learning.boosting import validation
from hornbeam.learning.boosting.boost import fit
from hornbeam.learning.boosting.steps import Chosen
from hornbeam.learning.boosting.validation import held_out
from hornbeam.learning.classes import fit_classes
from hornbeam.learning.history import INTERRUPTED, Record, Trial
from hornbeam.learning.loop import Control, time_limit
from hornbeam.learning.losses.dense import fit_weights
from hornbeam.learning.options import FitOptions, fit_options
from hornbeam.learning.problem import Fit
from hornbeam.logic.clauses import Clause
from hornbeam.logic.modes import schema_of
from hornbeam.logic.parse import parse_mode
from hornbeam.model.clause_model import Model
from hornbeam.model.files import model_text

MODES = tuple(
    map(
        parse_mode, ("sick(+person).", "knows(+person,-person).", "smokes(+person).", "owns(+person,#thing).")
    )
)
OPTIONS = fit_options(n_steps=6, max_literals=2)


def world(n_persons: int, owning: bool = False, seed: int = 1) -> Database:
    """Persons are sick who know somebody who smokes, or only somebody who smokes and owns a t1."""
    rng = np.random.default_rng(seed)
    persons = [f"p{number}" for number in range(n_persons)]
    smokes = rng.random(n_persons) < 0.3
    knows = [(a, b) for a in range(n_persons) for b in rng.choice(n_persons, 3, replace=False)]
    owned = {(int(rng.choice(n_persons)), f"t{rng.integers(4)}") for _ in range(2 * n_persons)}
    reason = np.zeros(n_persons, dtype=bool)
    for a, b in knows:
        reason[a] |= smokes[b] and (not owning or (int(b), "t1") in owned)
    sick = rng.random(n_persons) < np.where(reason, 0.85, 0.1)
    facts = {
        "knows": [[persons[a] for a, _ in knows], [persons[b] for _, b in knows]],
        "smokes": [[person for person, does in zip(persons, smokes, strict=True) if does]],
        "owns": [[persons[a] for a, _ in sorted(owned)], [thing for _, thing in sorted(owned)]],
    }
    return build(
        schema_of(MODES), MODES, facts, {"sick": ([(p,) for p in persons], sick.astype(int).tolist())}
    )


def learned(
    database: Database, options: FitOptions = OPTIONS, engine: type[Engine] = MemoryEngine
) -> Fit[Model]:
    examples = database.examples_of("sick")
    return fit(engine(database), examples, options)


def chosen_by(fitted: Fit[Model]) -> tuple[object, ...]:
    return tuple(fitted.model.settings[f"chosen_{name}"] for name in Chosen._fields)


# --- parts --------------------------------------------------------------------------------------


def test_no_constant_held_out_is_learned_from() -> None:
    modes = tuple(map(parse_mode, ("likes(+person,+person).", "knows(+person,-person).")))
    names = [f"p{number}" for number in range(40)]
    pairs = list(product(names, names))
    labels = (np.random.default_rng(0).random(len(pairs)) < 0.3).astype(np.int8)
    database = build(
        schema_of(modes), modes, {"knows": [names, names[::-1]]}, {"likes": (pairs, labels.tolist())}
    )
    examples = database.examples_of("likes")
    parts = held_out(database, examples, 0)
    assert len(parts) == validation.PARTS
    for inside, outside in parts:
        assert inside.any()
        assert outside.any()
        assert not set(examples.keys[inside].ravel()) & set(examples.keys[outside].ravel())
    times_held_out = np.sum([outside for _, outside in parts], axis=0)
    assert times_held_out.max() == 1


def test_a_few_examples_choose_nothing() -> None:
    fitted = learned(world(24))
    assert not [name for name in fitted.model.settings if name.startswith("chosen")]


def test_each_part_leaves_both_labels_to_learn_from() -> None:
    modes = tuple(map(parse_mode, ("likes(+person,+person).", "knows(+person,-person).")))
    names = [f"p{number}" for number in range(60)]
    pairs = list(product(names, names))
    part = {name: int(number) for name, number in zip(names, _parts_of(names), strict=True)}
    # All who like somebody are in one part with them: held out, nobody is left to learn that from.
    labels = [int(part[a] == part[b] == 0) for a, b in pairs]
    database = build(schema_of(modes), modes, {"knows": [names, names]}, {"likes": (pairs, labels)})
    examples = database.examples_of("likes")
    assert held_out(database, examples, 0) == []


def _parts_of(names: list[str]) -> np.ndarray:
    modes = (parse_mode("likes(+person)."),)
    labels = [number % 2 for number in range(len(names))]
    alone = build(schema_of(modes), modes, {}, {"likes": ([(name,) for name in names], labels)})
    examples = alone.examples_of("likes")
    parts = held_out(alone, examples, 0)
    numbers = np.argmax([part.outside for part in parts], axis=0)
    by_name = dict(zip(alone.names_of("likes", examples.keys)[:, 0], numbers, strict=True))
    return np.array([by_name[name] for name in names])


# --- what is chosen -----------------------------------------------------------------------------


def test_bodies_are_as_long_as_it_takes() -> None:
    options = replace(OPTIONS, max_literals=3, n_steps=24)
    assert chosen_by(learned(world(250), options))[0] == 2
    assert chosen_by(learned(world(250, owning=True), options))[0] == 3
    assert chosen_by(learned(world(400), replace(OPTIONS, max_literals=1)))[0] == 1


def test_the_final_weights_are_those_of_the_penalty_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    database = world(400)
    monkeypatch.setattr("hornbeam.learning.boosting.boost.validated", lambda *_: Chosen(2, 40.0, 3))
    model = learned(database).model
    assert chosen_by(learned(database)) == (2, 40.0, 3)
    assert len(model.clauses) == 3
    examples = database.examples_of("sick")
    unweighted = replace(
        model, clauses=tuple(replace(each, weights=(0.0, 1.0, 0.0)) for each in model.clauses)
    )
    rows = np.array(list(unweighted.contributions(MemoryEngine(database), examples.keys)))
    right = fit_weights(rows, examples.labels, 40.0)
    assert [each.weights[1] for each in model.clauses] == pytest.approx(right.weights, rel=1e-9)
    assert model.settings["l2"] == 2.0


def test_a_penalty_is_kept_unless_another_is_better_by_more_than_chance() -> None:
    rng = np.random.default_rng(2)
    given, other = Chosen(2, 2.0, 9), Chosen(2, 0.2, 9)
    base = rng.random(200)
    by_chance = {given: base, other: base - 0.01 + 0.2 * rng.standard_normal(200)}
    for_sure = {given: base, other: base - 0.1 + 0.2 * rng.standard_normal(200)}
    assert validation._better(by_chance, given, 2.0) == given
    assert validation._better(for_sure, given, 2.0) == other


def test_what_could_not_be_counted_meanwhile_is_recorded() -> None:
    class OfTwoLiterals(MemoryEngine):
        """Cannot count longer bodies."""

        signatures = Engine.signatures

        def count(self, clauses: Sequence[Clause], keys: Codes) -> list[Counts | Skipped]:
            return [
                Skipped(clause, "too large", 2, 1) if len(clause.body) > 2 else counts
                for clause, counts in zip(clauses, super().count(clauses, keys), strict=True)
            ]

    database, options = world(250), replace(OPTIONS, max_literals=3, per_constant=False)
    chosen = learned(database, options, OfTwoLiterals)
    assert chosen_by(chosen) == (options.max_literals, options.l2, options.n_steps)
    alone = learned(database, replace(options, validate=False), OfTwoLiterals)
    assert set(chosen.history.skipped) > set(alone.history.skipped) > set()


def test_penalties_and_a_sixth_of_the_steps_are_tried_on_a_third_of_them() -> None:
    given = Chosen(2, 2.0, 30)
    asked: list[tuple[int, float]] = []

    class Watched:
        def loss(self, number: int, l2: float) -> np.ndarray:
            asked.append((number, l2))
            return np.array([l2, float(number)])

    found = validation._losses([Watched(), Watched()], given)  # type: ignore[list-item]
    assert list(found) == [Chosen(2, l2, steps) for steps in (30, 5) for l2 in (0.2, 0.6, 2.0, 6.0, 20.0)]
    for choice, losses in found.items():
        assert losses.tolist() == [choice.l2, 10.0 if choice.n_steps == 30 else 5.0] * 2
    assert len(asked) == 20


def test_trials_are_a_third_as_long_as_the_fit() -> None:
    database = world(300)
    examples = database.examples_of("sick")
    heard: list[Record] = []
    options = replace(OPTIONS, n_steps=7, per_constant=False)
    fit(MemoryEngine(database), examples, options, Control(on_step=heard.append))
    assert max(each.steps for each in heard if isinstance(each, Trial)) == 3


# --- what is not learned ------------------------------------------------------------------------


def test_labels_held_out_do_not_change_what_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    database = world(300)
    examples = database.examples_of("sick")
    paths: list[validation.TrialPath] = []
    found = validation._path

    def kept(*arguments: object) -> validation.TrialPath:
        paths.append(found(*arguments))  # type: ignore[arg-type]
        return paths[-1]

    monkeypatch.setattr(validation, "_path", kept)
    options = replace(OPTIONS, per_constant=False)
    fit(MemoryEngine(database), examples, options)
    before = list(paths)
    for path in before[: validation.PARTS]:
        paths.clear()
        names = [database.population("person").names[code] for code in examples.keys[:, 0]]
        by_name = sorted(range(len(names)), key=lambda place: names[place])
        flipped = examples.labels.copy()
        outside = np.array(by_name)[path.outside]
        flipped[outside] = 1 - flipped[outside]
        fit(MemoryEngine(database), replace(examples, labels=flipped), options)
        again = next(each for each in paths if np.array_equal(each.outside, path.outside))
        assert np.array_equal(again.features, path.features)
        assert not np.array_equal(again.loss(6, 2.0), path.loss(6, 2.0))


# --- everywhere the same --------------------------------------------------------------------------


def test_engines_choose_the_same() -> None:
    database = world(70)
    options = replace(OPTIONS, n_steps=3)
    found = learned(database, options)
    assert chosen_by(found)
    assert model_text(found.model) == model_text(learned(database, options, NaiveEngine).model)


def test_a_fit_that_goes_on_ends_as_if_never_stopped(tmp_path: Path) -> None:
    database = world(400, seed=3)
    examples = database.examples_of("sick")
    whole = learned(database).model
    steps = 0

    def stop_after_two() -> str | None:
        return "enough" if steps >= 2 else None

    def seen(record: Record) -> None:
        nonlocal steps
        steps = record.number

    arguments = (MemoryEngine(database), examples, OPTIONS)
    part = fit(*arguments, Control(seen, tmp_path, stop_after_two))
    assert len(part.model.clauses) == 2
    assert part.model.settings["cut"] == "enough"
    again = fit(*arguments, Control(checkpoint=tmp_path))
    assert model_text(again.model) == model_text(whole)


def test_whoever_stops_the_choice_keeps_the_steps_done(tmp_path: Path) -> None:
    database = world(200)
    examples = database.examples_of("sick")
    arguments = (MemoryEngine(database), examples, OPTIONS)
    done: list[Record] = []

    def stop_after_two() -> str | None:
        return "enough" if done and done[-1].number == 2 else None

    fit(*arguments, Control(done.append, tmp_path, stop_after_two))
    again = fit(*arguments, Control(checkpoint=tmp_path, should_stop=time_limit(0.0)))
    assert len(again.model.clauses) == 2
    assert again.history.cut


def test_what_was_chosen_is_not_chosen_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = world(400, seed=3)
    examples = database.examples_of("sick")
    arguments = (MemoryEngine(database), examples, OPTIONS)
    calls: list[object] = []

    def choice(*_: object) -> Chosen:
        calls.append(None)
        return Chosen(1, 0.7, 3)

    monkeypatch.setattr("hornbeam.learning.boosting.boost.validated", choice)
    whole = fit(*arguments).model
    # Stopped in the search of the first step: what was chosen is saved before it.
    stop = Control(checkpoint=tmp_path, should_stop=lambda: "enough" if len(calls) == 2 else None)
    fit(*arguments, stop)
    assert len(calls) == 2
    for _ in ("to its end", "from its end"):
        assert model_text(fit(*arguments, Control(checkpoint=tmp_path)).model) == model_text(whole)
    assert len(calls) == 2
    assert len(whole.clauses) == 3
    (saved,) = tmp_path.iterdir()
    saved.write_text(saved.read_text().replace('"chosen": [1, 0.7, 3]', '"chosen": [1, 0.7]'))
    with pytest.raises(ModelError, match=r'"chosen" must be three numbers, or none, found \[1.0, 0.7\]'):
        fit(*arguments, Control(checkpoint=tmp_path))


def test_a_limit_of_time_ends_the_choice_too() -> None:
    database = world(200)
    examples = database.examples_of("sick")
    stop = time_limit(0.0)
    found = fit(MemoryEngine(database), examples, OPTIONS, Control(should_stop=stop))
    assert found.model.clauses == ()
    assert found.history.cut
    assert found.history.ended == "time limit"
    (notice,) = found.history.notices()
    assert "(time limit while options were chosen on held-out examples; turn validate off" in notice.message


def test_whoever_watches_hears_how_far_options_are_chosen() -> None:
    database = world(400)
    examples = database.examples_of("sick")
    heard: list[Record] = []
    options = replace(OPTIONS, max_literals=3)
    found = fit(MemoryEngine(database), examples, options, Control(on_step=heard.append))
    trials = [record for record in heard if isinstance(record, Trial)]
    assert heard == [*trials, *found.history.steps]
    # Two lengths of bodies times three parts, each told of as it begins and after each of its steps.
    assert list(dict.fromkeys((each.trial, each.trials) for each in trials)) == [(n, 6) for n in range(1, 7)]
    for number in range(1, 7):
        steps = [each.steps for each in trials if each.trial == number]
        assert steps == list(range(len(steps)))
    assert (trials[0].title, trials[0].candidates) == (
        "choosing options on held-out examples: trial 1 of 6",
        0,
    )
    assert trials[1].title.endswith("trial 1 of 6, 1 step")
    assert trials[1].candidates > 0
    assert {each.number for each in trials} == {0}


def test_ctrl_c_while_options_are_chosen_ends_the_fit_of_all_classes() -> None:
    database = world(300)
    examples = database.examples_of("sick")
    heard: list[Record] = []

    def interrupt(record: Record) -> None:
        heard.append(record)
        if len(heard) == 2:
            raise KeyboardInterrupt

    labels = (np.arange(300) % 3).astype(np.int8)
    examples = Examples("sick", examples.keys, labels, ("a", "b", "c"))
    found = fit_classes("rlr", MemoryEngine(database), examples, OPTIONS, Control(on_step=interrupt))
    assert heard[2:] == [Trial(1, 3), Trial(1, 3)]
    assert found.history.ended == INTERRUPTED
    assert found.history.steps == ()
