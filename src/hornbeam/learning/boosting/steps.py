"""One step of boosting: the state before it, the clause that is added, and the state after.

``init`` gives the state before the first step; ``step`` gives the state after the next one and a record
of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from hornbeam.engines.clauses.counting.count_cache import CountCache
from hornbeam.engines.contract import Skipped
from hornbeam.learning.boosting.choice import best_guarded
from hornbeam.learning.boosting.columns import Columns
from hornbeam.learning.history import ALL_STEPS, NO_GAIN, Step
from hornbeam.learning.loop import Pause
from hornbeam.learning.losses.dense import JointWeights, fit_weights
from hornbeam.learning.losses.logistic import gradients, log_loss
from hornbeam.learning.numbers import Integers, Labels, whole_gradients
from hornbeam.learning.search.beam import Fitting, SearchLimits, SearchResult, SearchSpace, length_of, search
from hornbeam.learning.search.ridge import Fitted, Response, response
from hornbeam.logic.canonical import canonical
from hornbeam.logic.clauses import Clause
from hornbeam.logic.guards import guard_of, with_guard
from hornbeam.model.clause_model import Floats, WeightedClause
from hornbeam.model.features import COUNT, LOG, in_units


class BoostOptions(Protocol):
    """The options that all learners by boosted clauses have."""

    @property
    def max_literals(self) -> int: ...
    @property
    def beam_width(self) -> int: ...
    @property
    def stop(self) -> str: ...
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
class Strategy:
    """How a learner boosts clauses: its name, the fit of one clause, and other choices."""

    learner: str
    fitting: Callable[[Response], Fitting]
    clauses_per_step: int = 1
    feature: str = COUNT
    """the function of the counts by which the search ranks clauses"""
    refit: float | None = None
    """ridge penalty for fitting all weights again after each step; None to keep each step's weights"""
    length_penalty: float = 0.0
    look_ahead: bool = False
    in_guards: bool = False
    """whether false groundings are counted inside guards only, not over all combinations"""
    guarded_l2: float | None = None
    """ridge penalty for fits to true and false counts inside guards; None to fit features"""


@dataclass(frozen=True, eq=False)
class BoostProblem:
    """Everything that stays the same in all steps."""

    session: CountCache
    space: SearchSpace
    labels: Labels
    prior: float
    limits: SearchLimits
    n_steps: int
    strategy: Strategy
    columns: Columns
    total: Callable[[Clause], int]
    """the sum of true and false counts of a clause; if counts are guarded, per grounding of the guard"""
    offset: float = 0.0
    """log-odds to add for the negatives that sampling left out, once all weights are fitted jointly"""


class BoostState(NamedTuple):
    """An unfinished model: the log-odds of each example, the steps so far, and why the fit ended."""

    scores: Floats
    steps: tuple[Step, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    ended: str | None = None
    features: tuple[Floats, ...] = ()
    """the weighted feature of each clause, where all weights are fitted jointly"""
    joint: JointWeights | None = None


def init(problem: BoostProblem) -> BoostState:
    """The state before the first step: every example has the prior's log-odds."""
    return BoostState(np.full(len(problem.labels), problem.prior, dtype=np.float64))


def step(problem: BoostProblem, state: BoostState, pause: Pause) -> tuple[BoostState, tuple[Step, ...]]:
    """Add the clauses that fit the gradients best; if no clause gains, the returned state has ended.

    Each further clause of the step is fitted to the residuals of the clauses before it.
    """
    number = state.steps[-1].number + 1 if state.steps else 1
    residuals = gradients(problem.labels, state.scores)
    done: list[Step] = []
    while len(done) < problem.strategy.clauses_per_step:
        if done:
            residuals = residuals - whole_gradients(contribution_of(problem, done[-1].weighted))
        state, info = _add_clause(problem, state, residuals, number, pause)
        if info is None:
            break
        done.append(info)
    ended = NO_GAIN if not done else ALL_STEPS if number >= problem.n_steps else None
    return state._replace(ended=ended), tuple(done)


def _add_clause(
    problem: BoostProblem, state: BoostState, gradients: Integers, number: int, pause: Pause
) -> tuple[BoostState, Step | None]:
    started = time.perf_counter()
    fitting = problem.strategy.fitting(whole := response(gradients))
    problem.session.set_gradients(gradients)
    result = search(
        problem.session,
        problem.space,
        fitting,
        problem.limits,
        pause,
        barred=() if problem.strategy.refit is None else _logged(state),
        links_from=_links_from(problem),
    )
    problem.columns.skipped.update(dict.fromkeys(result.skipped))
    chosen = _chosen(problem, state, gradients, result, fitting)
    state = state._replace(skipped=tuple(dict.fromkeys((*state.skipped, *problem.columns.skipped))))
    if chosen is None:
        return state, None
    clause, fitted = chosen
    # Both are the nearest floats to exact numbers: a decrease too small for floats is not a gain.
    before, after = whole.error(), whole.error(fitted.gain)
    if after >= before:
        return state, None
    weighted = WeightedClause(clause, fitted.weights, problem.total(clause), problem.strategy.feature)
    if problem.strategy.refit is None:
        scores = state.scores + contribution_of(problem, weighted)
    else:
        state = jointly(problem, state, weighted)
        assert state.joint is not None
        weighted = replace(weighted, weights=(0.0, state.joint.weights[-1], 0.0))
        scores = state.scores
    info = Step(
        number=number,
        weighted=weighted,
        error_before=before,
        error_after=after,
        log_loss=log_loss(problem.labels, scores),
        counted=result.counted,
        reused=result.reused,
        skipped=len(result.skipped),
        seconds=time.perf_counter() - started,
    )
    return state._replace(scores=scores, steps=(*state.steps, info)), info


def _logged(state: BoostState) -> set[Clause]:
    """Clauses whose count or logarithm the model weighs already: the search gains nothing from them."""
    return {canonical(each.weighted.clause) for each in state.steps}


def _links_from(problem: BoostProblem) -> int | None:
    """The sum of the true counts of the empty clause, which holds once for each example; for look-ahead."""
    if not problem.strategy.look_ahead:
        return None
    once = np.ones(1, dtype=np.int64)
    return len(problem.labels) * int(in_units(once)[0] if problem.strategy.feature == LOG else 1)


def _chosen(
    problem: BoostProblem, state: BoostState, gradients: Integers, result: SearchResult, fitting: Fitting
) -> tuple[Clause, Fitted] | None:
    """The clause to add, from those that a search found, and its fit."""
    if problem.strategy.guarded_l2 is not None:
        clauses = [each.clause for each in result.leaders]
        if problem.limits.stop == "full" and clauses:
            clauses = [clause for clause in clauses if length_of(clause) == length_of(clauses[-1])]
        return best_guarded(clauses, problem.columns, problem.total, gradients, problem.strategy.guarded_l2)
    if result.best is None:
        return None
    clause, sums = result.best.clause, result.best.sums
    clause = with_guard(clause) if problem.columns.guarded else clause
    return clause, Fitted(fitting.exact_gain(sums), fitting.weights(sums))


def jointly(problem: BoostProblem, state: BoostState, added: WeightedClause) -> BoostState:
    """The state with one more clause and all weights fitted again."""
    assert problem.strategy.refit is not None
    features = (*state.features, problem.columns.feature(added))
    rows = np.stack(features)
    joint = fit_weights(rows, problem.labels, problem.strategy.refit, state.joint)
    return state._replace(features=features, joint=joint, scores=joint.scores(rows))


def contribution_of(problem: BoostProblem, weighted: WeightedClause) -> Floats:
    """What a clause adds to the log-odds of each example."""
    true, total = problem.columns[canonical(weighted.clause)], weighted.total
    if problem.columns.guarded and weighted.weighs_false and len(weighted.clause.body) > 1:
        return weighted.contribution(
            true, problem.columns[guard_of(weighted.clause)].astype(np.int64) * total
        )
    return weighted.contribution(true, total)
