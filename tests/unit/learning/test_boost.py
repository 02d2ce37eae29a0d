"""Fitting: worked examples, history, early ends, interrupts, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.data.database import Database, Examples
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.errors import DataError, SchemaError
from hornbeam.learning.boosting.boost import fit
from hornbeam.learning.history import Step
from hornbeam.learning.loop import Control, time_limit
from hornbeam.learning.options import PaperOptions
from hornbeam.logic.parse import parse_clause, parse_mode
from hornbeam.logic.schema import Schema, schema_of
from hornbeam.model.clause_model import Model, WeightedClause
from plain_options import joint, plain

MODES = tuple(map(parse_mode, ["risk(+person).", "friends(+person,-person).", "smokes(+person)."]))
SMALL = plain(n_steps=3, l2=1.0, max_literals=2, neg_pos_ratio=None)


def smokers() -> Database:
    friends = [["ann", "ann", "bob", "dan", "eve"], ["bob", "cat", "dan", "cat", "ann"]]
    examples = ([["ann"], ["bob"], ["cat"], ["dan"], ["eve"]], [1, 1, 0, 1, 0])
    return build(
        schema_of(MODES), MODES, {"friends": friends, "smokes": [["bob", "cat", "dan"]]}, {"risk": examples}
    )


def learn(database: Database, options: PaperOptions = SMALL, **control: object):  # type: ignore[no-untyped-def]
    return fit(NaiveEngine(database), database.examples_of("risk"), options, Control(**control))  # type: ignore[arg-type]


# --- the paper's examples ----------------------------------------------------------------------


def test_a_professor_is_active_from_four_phd_students_on() -> None:
    schema = Schema({"active": ("person",), "advisedby": ("person", "person"), "phd": ("person",)})
    students = [(f"s{i}{j}", f"p{i}") for i in range(7) for j in range(i)]
    facts = {"advisedby": list(zip(*students, strict=True)), "phd": [[s for s, _ in students]]}
    # One more student each who is not a PhD student must not count.
    facts["advisedby"] = [
        [*facts["advisedby"][0], *(f"m{i}" for i in range(7))],
        [*facts["advisedby"][1], *(f"p{i}" for i in range(7))],
    ]
    database = build(schema, (), facts, {"active": ([(f"p{i}",) for i in range(7)], [1] * 7)})
    clause = parse_clause("active(P) :- advisedby(S,P), phd(S).", schema)
    model = Model("active", schema, -3.5, (WeightedClause(clause, (0.0, 1.0, 0.0), 35),))
    found = model.probabilities(NaiveEngine(database), database.examples_of("active").keys)
    assert (found > 0.5).tolist() == [False] * 4 + [True] * 3
    assert found[4] == pytest.approx(1 / (1 + math.exp(-0.5)))


def test_the_false_count_is_the_population_less_the_true_count() -> None:
    schema = Schema({"popularity": ("person",), "publication": ("person", "paper")})
    facts = {"publication": [["ann", "ann", "bob"], ["t1", "t2", "t3"]]}
    database = build(schema, (), facts, {"popularity": ([("ann",), ("bob",), ("cat",)], [1, 1, 0])})
    clause = parse_clause("popularity(A) :- publication(A,B).", schema)
    model = Model("popularity", schema, 0.0, (WeightedClause(clause, (0.25, 2.0, -1.0), 3),))
    scores = model.scores(NaiveEngine(database), database.examples_of("popularity").keys)
    assert scores.tolist() == [0.25 + 2 * 2 - 1, 0.25 + 2 - 2, 0.25 - 3]


# --- a fit -------------------------------------------------------------------------------------


def test_weights_of_one_step_are_the_ridge_fit_to_label_minus_half() -> None:
    fitted = learn(smokers(), replace(SMALL, n_steps=1, max_literals=1))
    (weighted,) = fitted.model.clauses
    (counts,) = counter_of(NaiveEngine(smokers())).count(
        [weighted.clause], smokers().examples_of("risk").keys
    )
    true = counts.true.astype(float)
    rows = np.stack([np.ones(5), true, weighted.total - true], axis=1)
    gradients = smokers().examples_of("risk").labels - 0.5
    expected = np.linalg.solve(rows.T @ rows + np.eye(3), rows.T @ gradients)
    assert weighted.weights == pytest.approx(expected.tolist(), rel=1e-9)
    (step,) = fitted.history.steps
    assert step.error_before == pytest.approx(1.25)
    assert step.error_after == pytest.approx(float(np.sum((rows @ expected - gradients) ** 2)))


def test_history_tells_every_step() -> None:
    seen: list[Step] = []
    fitted = learn(smokers(), on_step=seen.append)
    history = fitted.history
    assert tuple(seen) == history.steps
    assert [step.number for step in history.steps] == [1, 2, 3]
    assert [step.weighted for step in history.steps] == list(fitted.model.clauses)
    assert (history.ended, history.cut, history.skipped) == ("all steps done", False, ())
    first, *later = history.steps
    assert first.counted > 0
    assert first.reused == 0
    assert all(step.reused > 0 for step in later)
    assert all(step.seconds > 0 for step in history.steps)
    written = history.as_dict()["steps"]
    assert isinstance(written, list)
    assert written[0]["clause"] == str(first.weighted.clause)
    assert list(written[0]) == [
        "step", "clause", "weights", "total", "feature", "error_before", "error_after", "log_loss",
        "counted", "reused", "skipped", "seconds",
    ]  # fmt: skip


def test_the_model_holds_the_settings_that_change_the_result() -> None:
    model = learn(smokers()).model
    assert model.settings == SMALL.settings()
    assert (model.target, model.prior, model.learner) == ("risk", 0.0, "rlr")


def test_scores_of_the_model_are_those_that_the_fit_ended_with() -> None:
    database = smokers()
    fitted = learn(database)
    examples = database.examples_of("risk")
    scores = fitted.model.scores(NaiveEngine(database), examples.keys)
    loss = np.mean(np.log1p(np.exp(np.where(examples.labels == 1, -scores, scores))))
    assert fitted.history.steps[-1].log_loss == pytest.approx(float(loss), rel=1e-12)


def test_the_prior_is_the_log_odds_of_the_examples_kept() -> None:
    assert learn(smokers(), replace(SMALL, prior="base-rate")).model.prior == float(f"{math.log(3 / 2):.12g}")
    assert learn(smokers(), replace(SMALL, prior="base-rate", neg_pos_ratio=0.3)).model.prior == float(
        f"{math.log(3):.12g}"
    )
    assert learn(smokers(), replace(SMALL, prior=-3.5)).model.prior == -3.5


def test_a_fit_ends_when_no_clause_lowers_the_error() -> None:
    # Nobody has a fact, and positives and negatives balance: no clause can tell anything.
    database = build(schema_of(MODES), MODES, {}, {"risk": ([["ann"], ["bob"]], [1, 0])})
    fitted = learn(database)
    assert fitted.model.clauses == ()
    assert (fitted.history.ended, fitted.history.cut) == ("no clause lowers the error", False)
    assert "cut" not in fitted.model.settings


# --- stopping ----------------------------------------------------------------------------------


def test_ctrl_c_keeps_the_steps_done_and_marks_the_model() -> None:
    def interrupt(step: Step) -> None:
        if step.number == 2:
            raise KeyboardInterrupt

    whole = learn(smokers())
    fitted = learn(smokers(), on_step=interrupt)
    assert fitted.model.clauses == whole.model.clauses[:2]
    assert (fitted.history.ended, fitted.history.cut) == ("interrupted", True)
    assert fitted.model.settings == SMALL.settings() | {"cut": "interrupted"}


def test_ctrl_c_while_counting_keeps_the_steps_done(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def stop() -> None:
        calls.append(1)
        if len(calls) == 4:  # two lengths a step: in the middle of the second
            raise KeyboardInterrupt

    fitted = learn(smokers(), should_stop=stop)
    assert len(fitted.model.clauses) == 1
    assert fitted.history.cut


def test_a_stop_on_request_or_by_time_cuts_the_fit() -> None:
    asked = iter([None, None, None, "enough"])
    fitted = learn(smokers(), should_stop=lambda: next(asked))
    assert len(fitted.model.clauses) == 1
    assert fitted.model.settings["cut"] == "enough"
    late = learn(smokers(), should_stop=time_limit(0.0))
    assert late.model.clauses == ()
    assert (late.history.ended, late.history.cut) == ("time limit", True)
    assert learn(smokers(), should_stop=time_limit(3600)).history.cut is False


def test_an_interrupt_after_the_last_step_cuts_nothing() -> None:
    def interrupt(step: Step) -> None:
        if step.number == 3:
            raise KeyboardInterrupt

    assert learn(smokers(), on_step=interrupt).history.cut is False


# --- refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, 1, 1], 'no negative example of "risk" among 3; learning needs at least one of each label.'),
        ([0, 0, 0], 'no positive example of "risk" among 3; learning needs at least one of each label.'),
        ([], 'no positive example of "risk" among 0; learning needs at least one of each label.'),
        ([1, 0, 2], 'labels of "risk" must be 0 or 1, found 2.'),
        ([1, 0, -1], 'labels of "risk" must be 0 or 1, found -1.'),
    ],
)
def test_labels_must_be_zero_and_one_and_both_there(labels: list[int], message: str) -> None:
    keys = np.zeros((len(labels), 1), dtype=np.int32)
    with pytest.raises(DataError) as error:
        fit(NaiveEngine(smokers()), Examples("risk", keys, np.array(labels, dtype=np.int8)))
    assert str(error.value) == message


@pytest.mark.parametrize("modes", [(), MODES[:1]])
def test_a_search_with_nothing_to_say_is_refused(modes: tuple) -> None:  # type: ignore[type-arg]
    database = replace(smokers(), modes=modes)
    with pytest.raises(SchemaError) as error:
        learn(database, joint())
    assert str(error.value) == (
        "no literal can be added to risk(A); give a mode with a + argument of type person "
        "for a predicate that has facts."
    )


def test_look_ahead_follows_a_link_that_gains_nothing() -> None:
    """Every paper has one first author; only what that author did before says anything."""
    texts = [
        "good(+paper).",
        "first(+paper,-person).",
        "tea(+person,-cup).",
        "known(+person).",
        "long(+paper).",
    ]
    texts += [f"noise{n}(+paper,-cup)." for n in range(4)]
    modes = tuple(map(parse_mode, texts))
    papers, rng = [f"p{n}" for n in range(80)], np.random.default_rng(2)
    persons = [f"a{n}" for n in range(80)]
    labels = np.arange(80) % 2
    facts = {
        "first": [papers, persons],
        "known": [[name for name, label in zip(persons, labels, strict=True) if label]],
        "tea": [persons, ["c"] * 80],
        "long": [[paper for paper in papers if rng.random() < 0.5]],
    } | {
        f"noise{n}": [[p for p in papers for _ in range(2)], [f"c{v}" for v in rng.integers(0, 9, 160)]]
        for n in range(4)
    }
    database = build(
        schema_of(modes), modes, facts, {"good": ([(paper,) for paper in papers], labels.tolist())}
    )
    examples = database.examples_of("good")

    def first_clause(look_ahead: bool) -> str:
        options = joint(n_steps=1, beam_width=1, max_literals=2, look_ahead=look_ahead)
        model = fit(MemoryEngine(database), examples, options).model
        return str(model.clauses[0].clause) if model.clauses else ""

    assert first_clause(True) == "good(A) :- first(A,B), known(B)."
    assert first_clause(False) != first_clause(True)


def test_a_model_without_a_clause_has_the_base_rate_of_all_examples() -> None:
    modes = (parse_mode("sick(+person)."), parse_mode("tall(+person)."))
    persons = [f"p{n}" for n in range(110)]
    database = build(
        schema_of(modes),
        modes,
        {"tall": [persons]},
        {"sick": ([(person,) for person in persons], [1] * 10 + [0] * 100)},
    )
    examples = database.examples_of("sick")
    options = joint(neg_pos_ratio=1.0)
    engine = MemoryEngine(database)
    model = fit(engine, examples, options).model
    assert model.clauses == ()
    assert model.probabilities(engine, examples.keys) == pytest.approx(np.full(110, 10 / 110))
