"""Boosting: each step fits weighted clauses to the gradients of the model so far.

``fit`` learns relational logistic regression: one clause per step, with weights from a ridge fit.
``boosted`` learns with any other strategy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from hornbeam.data.database import Database
from hornbeam.data.relations import Examples
from hornbeam.data.sampling import in_order, sampled
from hornbeam.engines.clauses.contract import LOG_UNIT
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.counting.candidates import Candidates, ComponentNumbers, candidates
from hornbeam.engines.clauses.counting.count_cache import CountCache
from hornbeam.engines.clauses.counting.guarded import new_total
from hornbeam.engines.contract import Engine
from hornbeam.learning.boosting.columns import Columns
from hornbeam.learning.boosting.steps import (
    BoostOptions,
    BoostProblem,
    BoostState,
    Strategy,
    contribution_of,
    init,
    jointly,
    step,
)
from hornbeam.learning.checkpoint import Checkpoint, Saved, fit_fingerprint, read_step
from hornbeam.learning.history import History, Step
from hornbeam.learning.loop import NO_CONTROL, Control, Ending, Pause, run
from hornbeam.learning.numbers import Labels, round_weight
from hornbeam.learning.options import BASE_RATE, PaperOptions
from hornbeam.learning.problem import Fit, check_labels, language_for, prior_of
from hornbeam.learning.search.beam import SearchLimits, SearchSpace
from hornbeam.learning.search.ridge import LineFit, Ridge
from hornbeam.logic.clauses import GUARDED, Clause
from hornbeam.logic.refine import Language, memoised
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.features import COUNT, LOG

CAUTION = 5.0
"""The choice of a clause uses the final penalty times this number, so a rare clause must gain more."""


def fit(
    engine: Engine,
    examples: Examples,
    options: PaperOptions | None = None,
    control: Control = NO_CONTROL,
) -> Fit[Model]:
    """Learn a model of the target from examples with labels 0 and 1.

    Ctrl-C and ``control.should_stop`` end the fit with the steps done so far and mark it as cut.
    """
    options = options or PaperOptions()
    in_guards = options.false_counts == GUARDED
    penalty = options.l2
    strategy = Strategy(
        "rlr",
        (lambda whole: LineFit(whole, CAUTION * penalty, LOG_UNIT))
        if options.feature == LOG
        else (lambda whole: Ridge(whole, penalty)),
        feature=options.feature,
        refit=options.l2 if options.refit else None,
        length_penalty=options.length_penalty,
        look_ahead=options.look_ahead,
        in_guards=in_guards,
        guarded_l2=options.l2 if in_guards and options.feature == COUNT and not options.refit else None,
    )
    return boosted(engine, examples, options, strategy, control)


def boosted(
    engine: Engine,
    examples: Examples,
    options: BoostOptions,
    strategy: Strategy,
    control: Control = NO_CONTROL,
) -> Fit[Model]:
    """Like ``fit``, with any strategy."""
    database = engine.database
    check_labels(examples)
    saved = None
    if control.checkpoint is not None:
        settings = options.settings() | {"learner": strategy.learner}
        fingerprint = fit_fingerprint(database, examples, settings, engine.memory)
        saved = Checkpoint(Path(control.checkpoint), fingerprint, read_step)
    training = _training_sample(database, examples, options, strategy)
    problem = _problem(engine, training, options, strategy)
    problem = replace(problem, offset=_offset(examples.labels, training.labels))

    def start() -> BoostState:
        return init(problem) if saved is None else resumed(problem, saved.load(database.schema))

    def save(state: BoostState) -> None:
        if saved is not None:
            saved.save(state.steps, state.skipped, state.ended)

    def go_on(state: BoostState, pause: Pause) -> tuple[BoostState, Sequence[Step]]:
        return step(problem, state, pause)

    try:
        state, ending = run(init(problem), start, go_on, control, save)
    finally:
        problem.session.close()
    return _result(problem, state, examples.target, database, options, ending)


def resumed(problem: BoostProblem, saved: Saved[Step]) -> BoostState:
    """Restore the state of a checkpoint by adding the contributions of its clauses in the same order."""
    steps, skipped, ended, _ = saved
    state = init(problem)._replace(steps=steps, skipped=skipped, ended=ended)
    if problem.strategy.refit is not None:
        for each in steps:
            state = jointly(problem, state, each.weighted)
        return state
    if ended is not None:
        return state
    scores = state.scores
    for each in steps:
        scores = scores + contribution_of(problem, each.weighted)
    return state._replace(scores=scores)


def _training_sample(
    database: Database, examples: Examples, options: BoostOptions, strategy: Strategy
) -> Examples:
    """The examples to learn from: all positives, and the sampled negatives."""
    target, keys, labels = examples.target, examples.keys, examples.labels
    sample = examples.at(sampled(database, target, keys, labels, options.neg_pos_ratio, options.seed))
    if strategy.refit is None:
        return sample
    # Sums of floats depend on the order of the examples, so use an order that does not depend on files.
    return sample.at(in_order(database, target, sample.keys, sample.labels))


def _offset(all_labels: Labels, labels: Labels) -> float:
    """Corrects the log-odds for the negatives that sampling left out."""
    return math.log(np.count_nonzero(labels == 0) / np.count_nonzero(all_labels == 0))


def _problem(engine: Engine, examples: Examples, options: BoostOptions, strategy: Strategy) -> BoostProblem:
    keys, labels = examples.keys, examples.labels
    language = language_for(engine.database, examples.target, options.negation, options.n_thresholds, keys)
    prior = prior_of(labels, options.prior)
    session = CountCache(counter_of(engine), keys, logarithm=strategy.feature == LOG)
    total = partial(new_total, session.counter) if strategy.in_guards else session.counter.total
    guards = session.sums if strategy.in_guards else None
    columns = Columns(session.columns, engine.cache, guards)
    return BoostProblem(
        session=session,
        space=_space(language, options.max_literals, strategy.look_ahead),
        labels=labels,
        prior=prior,
        limits=SearchLimits(options.max_literals, options.beam_width, options.stop, strategy.length_penalty),
        n_steps=options.n_steps,
        strategy=strategy,
        columns=columns,
        total=total,
    )


def _space(language: Language, max_literals: int, look_ahead: bool) -> SearchSpace:
    refine = memoised(language)
    if look_ahead:  # it looks at every clause
        return SearchSpace(language.empty(), refine)
    numbers = ComponentNumbers(language.head, refine.bodies.clause, max_literals)

    def extend(clauses: Sequence[Clause]) -> Candidates | None:
        extensions = [refine.extensions(clause) for clause in clauses]
        known = [each for each in extensions if each is not None]
        return candidates(numbers, known) if len(known) == len(extensions) else None

    return SearchSpace(language.empty(), refine, extend)


def _result(
    problem: BoostProblem,
    state: BoostState,
    target: str,
    database: Database,
    options: BoostOptions,
    ending: Ending,
) -> Fit[Model]:
    settings = options.settings() | dict(database.origin) | ending.settings()
    prior, clauses = _weighed(problem, state)
    model = Model(target, database.schema, prior, clauses, settings, problem.strategy.learner)
    return Fit(model, History(state.steps, ending.reason, ending.cut, state.skipped))


def _weighed(problem: BoostProblem, state: BoostState) -> tuple[float, tuple[WeightedClause, ...]]:
    """The prior and the clauses of the model, with joint weights where the strategy fits them."""
    clauses = tuple(each.weighted for each in state.steps)
    strategy = problem.strategy
    if strategy.refit is None:
        return problem.prior, clauses
    if state.joint is None:
        return round_weight(prior_of(problem.labels, BASE_RATE) + problem.offset), clauses
    weighed = [
        replace(clause, weights=(0.0, weight, 0.0))
        for clause, weight in zip(clauses, state.joint.weights, strict=True)
    ]
    return round_weight(state.joint.intercept + problem.offset), tuple(weighed)
