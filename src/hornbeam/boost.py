"""Boosting: each step fits weighted clauses to what the model still gets wrong.

``init`` gives the state before a step, ``step`` the state after one and what happened in it. ``fit``
learns relational logistic regression: one clause a step, its weights by ridge. ``boosted`` takes other
ways to fit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from hornbeam.checkpoint import Checkpoint, fingerprint, read_step
from hornbeam.choice import Choice, Columns, best_reading
from hornbeam.clauses import Clause
from hornbeam.database import Codes, Database
from hornbeam.engines.contract import LOG_UNIT, Engine, Session, Skipped
from hornbeam.history import ALL_STEPS, NO_GAIN, History, Record, Step
from hornbeam.learning import (
    Fit,
    Labels,
    check_labels,
    gradients,
    language_for,
    log_loss,
    prior_of,
    whole_gradients,
)
from hornbeam.loop import Pause, ShouldStop, run
from hornbeam.model import Floats, Model, WeightedClause, sigmoid
from hornbeam.options import BASE_RATE, BEST, PRESETS, FitOptions
from hornbeam.per_constant import families
from hornbeam.readings import COUNT, LOG, in_units
from hornbeam.refine import memoised
from hornbeam.refit import Refitted, refitted
from hornbeam.ridge import Integers, Response, Ridge, Slope, response, round_weight
from hornbeam.sampling import in_order, sampled
from hornbeam.search import Fitting, Found, Refine, SearchOptions, length_of, search

CAUTION = 5.0
"""A clause is chosen under so many times the penalty of its final weight: a rare one must earn its place."""


class BoostOptions(SearchOptions, Protocol):
    """The options that boosting of clauses heeds, whatever the way to fit them."""

    @property
    def n_steps(self) -> int: ...
    @property
    def prior(self) -> float | str: ...
    @property
    def neg_pos_ratio(self) -> float | None: ...
    @property
    def seed(self) -> int: ...
    @property
    def negation(self) -> bool: ...
    @property
    def n_thresholds(self) -> int: ...
    def settings(self) -> dict[str, object]: ...


@dataclass(frozen=True, slots=True)
class Way:
    """A way to boost clauses: the learner's name, the fit of a clause, and what else it does.

    ``refit`` is the ridge penalty under which all weights are fitted anew after each step, if so;
    ``readings`` whether it is then chosen for each clause which reading of its counts is weighted, under
    a penalty of ``caution``.
    """

    learner: str
    fitting: Callable[[Response], Fitting]
    clauses_per_step: int = 1
    feature: str = COUNT
    refit: float | None = None
    length_penalty: float = 0.0
    readings: bool = False
    caution: float = 0.0
    look_ahead: bool = False
    per_constant: bool = False


@dataclass(frozen=True, eq=False)
class Problem:
    """What stays the same in all steps."""

    session: Session
    refine: Refine
    empty: Clause
    labels: Labels
    prior: float
    options: BoostOptions
    way: Way
    columns: Columns
    total: Callable[[Clause], int]
    offset: float = 0.0
    """log-odds to add for the negatives that sampling left out, once all weights are fitted jointly"""


class State(NamedTuple):
    """A model in the making: the log-odds of each example, the steps so far, and whether that is all."""

    scores: Floats
    steps: tuple[Step, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    ended: str | None = None
    features: tuple[Floats, ...] = ()
    """what of each clause is weighted, where all weights are fitted jointly"""
    joint: Refitted | None = None


def fit(
    engine: Engine,
    keys: Codes,
    labels: Labels,
    target: str,
    options: FitOptions = PRESETS["default"],
    on_step: Callable[[Record], None] | None = None,
    checkpoint: str | Path | None = None,
    should_stop: ShouldStop | None = None,
) -> Fit[Model]:
    """Learn a model of the target from examples given as rows of codes and labels 0 or 1.

    Ctrl-C and ``should_stop`` end the fit with the steps done so far and mark it as cut. With a
    checkpoint folder the state is saved after every step, and the same call goes on from there.
    """
    way = Way(
        "rlr",
        (lambda whole: Slope(whole, CAUTION * options.l2, LOG_UNIT))
        if options.feature != COUNT
        else (lambda whole: Ridge(whole, options.l2)),
        feature=COUNT if options.feature == COUNT else LOG,
        refit=options.l2 if options.refit else None,
        length_penalty=options.length_penalty,
        readings=options.feature == BEST,
        caution=CAUTION * options.l2,
        look_ahead=options.look_ahead,
        per_constant=options.per_constant and options.feature == BEST and options.refit,
    )
    return boosted(engine, keys, labels, target, options, way, on_step, checkpoint, should_stop)


def boosted(
    engine: Engine,
    keys: Codes,
    labels: Labels,
    target: str,
    options: BoostOptions,
    way: Way,
    on_step: Callable[[Record], None] | None = None,
    checkpoint: str | Path | None = None,
    should_stop: ShouldStop | None = None,
) -> Fit[Model]:
    """As ``fit``, by a way of one's own to fit clauses."""
    database = engine.database
    check_labels(labels, target)
    saved = None
    if checkpoint is not None:
        settings = options.settings() | {"learner": way.learner}
        marks = fingerprint(database, target, keys, labels, settings, engine.memory)
        saved = Checkpoint(Path(checkpoint), marks, read_step)
    kept = sampled(database, target, keys, labels, options.neg_pos_ratio, options.seed)
    if way.refit is not None:
        kept = kept[in_order(database, target, keys[kept], labels[kept])]
    problem = _problem(engine, target, keys[kept], labels[kept], options, way)
    problem = replace(problem, offset=_offset(labels, labels[kept]))

    def start() -> State:
        return init(problem) if saved is None else resumed(problem, saved, database)

    def go_on(state: State, pause: Pause) -> tuple[State, Sequence[Step]]:
        state, done = step(problem, state, pause)
        if saved is not None:
            saved.save(state.steps, state.skipped, state.ended)
        return state, done

    try:
        state, reason = run(init(problem), start, go_on, on_step, should_stop)
    finally:
        problem.session.close()
    return _result(problem, state, target, database, reason)


def init(problem: Problem) -> State:
    """The state before the first step: every example has the prior's log-odds."""
    return State(np.full(len(problem.labels), problem.prior, dtype=np.float64))


def step(problem: Problem, state: State, pause: Pause) -> tuple[State, tuple[Step, ...]]:
    """Add the clauses that fit the gradients best; without a gain the state is the last one.

    Each further clause of the step fits what those before it leave of the gradients.
    """
    number = state.steps[-1].number + 1 if state.steps else 1
    rest = gradients(problem.labels, state.scores)
    done: list[Step] = []
    while len(done) < problem.way.clauses_per_step:
        if done:
            rest = rest - whole_gradients(_contribution(problem, done[-1].weighted))
        state, info = _add_clause(problem, state, rest, number, pause)
        if info is None:
            break
        done.append(info)
    ended = NO_GAIN if not done else ALL_STEPS if number >= problem.options.n_steps else None
    return state._replace(ended=ended), tuple(done)


def _add_clause(
    problem: Problem, state: State, slopes: Integers, number: int, pause: Pause
) -> tuple[State, Step | None]:
    started = time.perf_counter()
    fitting = problem.way.fitting(whole := response(slopes))
    problem.session.set_gradients(slopes)
    found = search(
        problem.session,
        problem.refine,
        problem.empty,
        fitting,
        problem.options,
        pause,
        problem.way.length_penalty,
        () if problem.way.refit is None else _logged(state),
        _links_from(problem),
    )
    state = state._replace(skipped=tuple(dict.fromkeys((*state.skipped, *found.skipped))))
    best = _chosen(problem, state, slopes, found)
    if best is None:
        return state, None
    # Both are the nearest floats to exact numbers: what the rounding of gradients alone could
    # explain is no gain.
    before, after = whole.error(), whole.error(fitting.exact_gain(best.sums))
    if after >= before:
        return state, None
    weighted = WeightedClause(
        best.clause, fitting.weights(best.sums), best.sums.total, best.feature, best.each
    )
    if problem.way.refit is None:
        scores = state.scores + _contribution(problem, weighted)
    else:
        state = _jointly(problem, state, (weighted,))
        assert state.joint is not None
        weighted = replace(weighted, weights=(0.0, state.joint.weights[-1], 0.0))
        scores = state.scores
    info = Step(
        number=number,
        weighted=weighted,
        error_before=before,
        error_after=after,
        log_loss=log_loss(problem.labels, scores),
        counted=found.counted,
        reused=found.reused,
        skipped=len(found.skipped),
        seconds=time.perf_counter() - started,
    )
    return state._replace(scores=scores, steps=(*state.steps, info)), info


def _logged(state: State) -> set[Clause]:
    """The clauses that a search by logarithms cannot gain by any more."""
    return {
        each.weighted.clause
        for each in state.steps
        if each.weighted.feature in (COUNT, LOG) and each.weighted.each is None
    }


def _links_from(problem: Problem) -> int | None:
    """The sum of true of a clause without a body, which holds once for each example."""
    if not problem.way.look_ahead:
        return None
    once = np.ones(1, dtype=np.int64)
    return len(problem.labels) * int(in_units(once, LOG)[0] if problem.way.feature == LOG else 1)


def _chosen(problem: Problem, state: State, slopes: Integers, found: Found) -> Choice | None:
    """What a search found best, in the reading that gains most where that is to be chosen."""
    if not problem.way.readings:
        best = found.best
        return None if best is None else Choice(best.clause, problem.way.feature, best.sums)
    kept = 1.0 - problem.way.length_penalty
    found.leaders.sort(key=lambda each: (-each.gain * kept ** length_of(each.clause), str(each.clause)))
    leaders = found.leaders[: problem.options.beam_width]
    earlier = [each.weighted for each in state.steps]
    totals = {each.clause: each.sums.total for each in leaders}
    totals |= {each.clause: each.total for each in earlier if each.each is None}
    chances = sigmoid(state.scores)
    choice = best_reading(
        list(totals),
        problem.columns,
        {(each.clause, each.feature, each.each) for each in earlier},
        slopes,
        chances * (1.0 - chances),
        problem.way.caution,
        problem.way.length_penalty,
    )
    if choice is None:
        return None
    total = problem.total(choice.clause) if choice.each is not None else totals[choice.clause]
    return choice._replace(sums=choice.sums._replace(total=total))


def resumed(problem: Problem, saved: Checkpoint[Step], database: Database) -> State:
    """The state that a checkpoint keeps; scores are what its clauses give, added in order again."""
    steps, skipped, ended = saved.load(database.schema)
    state = init(problem)._replace(steps=steps, skipped=skipped, ended=ended)
    if problem.way.refit is not None and steps:
        return _jointly(problem, state, [each.weighted for each in steps])
    if ended is not None:
        return state
    scores = state.scores
    for each in steps:
        scores = scores + _contribution(problem, each.weighted)
    return state._replace(scores=scores)


def _jointly(problem: Problem, state: State, added: Sequence[WeightedClause]) -> State:
    """The state with more clauses, all weights fitted anew."""
    assert problem.way.refit is not None
    new = [problem.columns.feature(weighted) for weighted in added]
    features = (*state.features, *new)
    rows = np.stack(features)
    joint = refitted(rows, problem.labels, problem.way.refit)
    return state._replace(features=features, joint=joint, scores=joint.scores(rows))


def _offset(all_labels: Labels, labels: Labels) -> float:
    """The log-odds that a sample of the negatives adds, taken back."""
    return math.log(np.count_nonzero(labels == 0) / np.count_nonzero(all_labels == 0))


def _contribution(problem: Problem, weighted: WeightedClause) -> Floats:
    return weighted.contribution(problem.columns[weighted.clause], weighted.total)


def _problem(
    engine: Engine, target: str, keys: Codes, labels: Labels, options: BoostOptions, way: Way
) -> Problem:
    language = language_for(engine.database, target, options.negation, options.n_thresholds, keys)
    prior = prior_of(labels, options.prior)
    session = engine.session(keys, logarithm=way.feature == LOG)
    found = families(engine, language, keys, labels, options.seed) if way.per_constant else ()
    columns = Columns(session.columns, found, engine.memory // 16)
    return Problem(
        session, memoised(language), language.empty(), labels, prior, options, way, columns, engine.total
    )


def _result(
    problem: Problem, state: State, target: str, database: Database, reason: str | None
) -> Fit[Model]:
    cut = reason is not None and state.ended is None
    ended = state.ended or reason or ALL_STEPS
    settings = problem.options.settings() | dict(database.origin) | ({"cut": ended} if cut else {})
    clauses = tuple(each.weighted for each in state.steps)
    prior = problem.prior
    if problem.way.refit is not None and state.joint is None:
        prior = round_weight(prior_of(problem.labels, BASE_RATE) + problem.offset)
    elif state.joint is not None:
        # The weights of all clauses, not those that each had in its step.
        prior = round_weight(state.joint.intercept + problem.offset)
        clauses = tuple(
            _with_weight(problem, weighted, weight)
            for weighted, weight in zip(clauses, state.joint.weights, strict=True)
        )
    model = Model(target, database.schema, prior, clauses, settings, problem.way.learner)
    return Fit(model, History(state.steps, ended, cut, state.skipped))


def _with_weight(problem: Problem, weighted: WeightedClause, weight: float) -> WeightedClause:
    if weighted.each is None:
        return replace(weighted, weights=(0.0, weight, 0.0))
    family = problem.columns.families[weighted.clause, weighted.each]
    constants = tuple((name, round_weight(weight * each)) for name, each in family.weights)
    return replace(weighted, weights=(0.0, 1.0, 0.0), constants=constants)
