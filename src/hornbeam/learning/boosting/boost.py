"""Boosting: each step fits weighted clauses to what the model still gets wrong.

``fit`` learns relational logistic regression: one clause a step, its weights by ridge. ``boosted`` takes
other ways to fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from hornbeam.data.database import Codes, Database
from hornbeam.data.sampling import in_order, sampled
from hornbeam.engines.contract import LOG_UNIT, Engine
from hornbeam.engines.guarded import new_total
from hornbeam.learning.boosting.columns import Columns
from hornbeam.learning.boosting.prune import strongest
from hornbeam.learning.boosting.steps import (
    BoostOptions,
    BoostProblem,
    BoostState,
    Bounds,
    Chosen,
    Strategy,
    contribution_of,
    init,
    joint_weights,
    jointly,
    step,
)
from hornbeam.learning.boosting.validation import held_out, validated
from hornbeam.learning.checkpoint import Checkpoint, Saved, fingerprint, read_step
from hornbeam.learning.constants.per_constant import families
from hornbeam.learning.history import ALL_STEPS, History, Record, Step
from hornbeam.learning.loop import Pause, ShouldStop, run
from hornbeam.learning.options import BASE_RATE, BEST, PRESETS, FitOptions
from hornbeam.learning.problem import Fit, Labels, check_labels, language_for, prior_of
from hornbeam.learning.search.ridge import Ridge, Slope, round_weight
from hornbeam.logic.guards import GUARDED
from hornbeam.logic.refine import memoised
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.features import COUNT, LOG

CAUTION = 5.0
"""A clause is chosen under so many times the penalty of its final weight: a rare one must earn its place."""


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

    Ctrl-C and ``should_stop`` end the fit with the steps done so far and mark it as cut. ``on_step``
    hears of each step; before the first, under number 0, how far options are chosen. With a checkpoint
    folder the state is saved after every step, and the same call goes on from there.
    """
    guarded = options.false_counts == GUARDED
    way = Strategy(
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
        validate=options.validate and options.refit,
        max_clauses=options.max_clauses,
        guarded=options.l2 if guarded and options.feature == COUNT and not options.refit else None,
    )
    return boosted(engine, keys, labels, target, options, way, on_step, checkpoint, should_stop)


def boosted(
    engine: Engine,
    keys: Codes,
    labels: Labels,
    target: str,
    options: BoostOptions,
    way: Strategy,
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
    parts = held_out(database, target, keys[kept], labels[kept], options.seed) if way.validate else []

    def start() -> BoostState:
        return init(problem) if saved is None else resumed(problem, saved.load(database.schema))

    def save(state: BoostState) -> None:
        if saved is not None:
            saved.save(state.steps, state.skipped, state.ended, state.chosen or ())

    def go_on(state: BoostState, pause: Pause) -> tuple[BoostState, Sequence[Step]]:
        if parts and state.chosen is None:
            chosen = validated(problem, parts, pause, on_step)
            state = state._replace(chosen=chosen, skipped=tuple(problem.columns.skipped))
            save(state)
        state, done = step(problem.within(state.chosen), state, pause)
        save(state)
        return state, done

    try:
        state, reason = run(init(problem), start, go_on, on_step, should_stop)
    finally:
        problem.session.close()
    return _result(problem, state, target, database, options, reason, bool(parts))


def resumed(problem: BoostProblem, saved: Saved[Step]) -> BoostState:
    """The state that a checkpoint keeps; scores are what its clauses give, added in order again."""
    steps, skipped, ended, chosen = saved
    state = init(problem)._replace(
        steps=steps, skipped=skipped, ended=ended, chosen=Chosen.read(chosen) if chosen else None
    )
    if problem.way.refit is not None:
        for each in steps:
            state = jointly(problem, state, each.weighted)
        return state
    if ended is not None:
        return state
    scores = state.scores
    for each in steps:
        scores = scores + contribution_of(problem, each.weighted)
    return state._replace(scores=scores)


def _offset(all_labels: Labels, labels: Labels) -> float:
    """The log-odds that a sample of the negatives adds, taken back."""
    return math.log(np.count_nonzero(labels == 0) / np.count_nonzero(all_labels == 0))


def _problem(
    engine: Engine, target: str, keys: Codes, labels: Labels, options: BoostOptions, way: Strategy
) -> BoostProblem:
    language = language_for(engine.database, target, options.negation, options.n_thresholds, keys)
    prior = prior_of(labels, options.prior)
    session = engine.session(keys, logarithm=way.feature == LOG)
    found = families(engine, language, keys, labels, options.seed) if way.per_constant else ()
    guarded = options.settings().get("false_counts") == GUARDED
    total = partial(new_total, engine) if guarded else engine.total
    columns = Columns(session.columns, found, engine.memory // 16, session.sums if guarded else None)
    bounds = Bounds(options.max_literals, options.beam_width, options.stop, options.n_steps)
    return BoostProblem(
        session, memoised(language), language.empty(), labels, prior, bounds, way, columns, total
    )


def _result(
    problem: BoostProblem,
    state: BoostState,
    target: str,
    database: Database,
    options: BoostOptions,
    reason: str | None,
    choosing: bool,
) -> Fit[Model]:
    cut = reason is not None and state.ended is None
    ended = state.ended or reason or ALL_STEPS
    settings = options.settings() | dict(database.origin) | ({"cut": ended} if cut else {})
    if state.chosen is not None:
        settings |= state.chosen.settings()
    prior, clauses = _weighed(problem, state)
    model = Model(target, database.schema, prior, clauses, settings, problem.way.learner)
    choosing = choosing and cut and state.chosen is None
    return Fit(model, History(state.steps, ended, cut, state.skipped, choosing))


def _weighed(problem: BoostProblem, state: BoostState) -> tuple[float, tuple[WeightedClause, ...]]:
    """The prior and the clauses of the model; weights are joint, where they are, not those of each step."""
    clauses = tuple(each.weighted for each in state.steps)
    way = problem.way
    if way.refit is None:
        return problem.prior, clauses
    if state.joint is None:
        return round_weight(prior_of(problem.labels, BASE_RATE) + problem.offset), clauses
    joint, features = state.joint, np.stack(state.features)
    l2 = way.refit if state.chosen is None else state.chosen.l2
    most = len(clauses) if way.max_clauses is None else way.max_clauses
    kept = strongest(features, problem.labels, l2, most)
    if state.chosen is not None or len(kept) < len(clauses):
        joint = joint_weights(problem, features[kept], l2)
    weighed = [
        _with_weight(problem, clauses[place], weight)
        for place, weight in zip(kept, joint.weights, strict=True)
    ]
    return round_weight(joint.intercept + problem.offset), tuple(weighed)


def _with_weight(problem: BoostProblem, weighted: WeightedClause, weight: float) -> WeightedClause:
    if weighted.each is None:
        return replace(weighted, weights=(0.0, weight, 0.0))
    family = problem.columns.families[weighted.clause, weighted.each]
    constants = tuple((name, round_weight(weight * each)) for name, each in family.weights)
    return replace(weighted, weights=(0.0, 1.0, 0.0), constants=constants)
