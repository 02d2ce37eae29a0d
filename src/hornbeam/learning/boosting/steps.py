"""One step of boosting: the state before it, the clause that is added, and the state after.

``init`` gives the state before the first step; ``step`` gives the state after the next one and a record
of it. A step can learn from a part of the examples and still score all of them: ``validation`` uses this
to hold examples out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from hornbeam.engines.contract import Session, Skipped
from hornbeam.learning.boosting.choice import best_feature, best_guarded
from hornbeam.learning.boosting.columns import Columns, Feature
from hornbeam.learning.history import ALL_STEPS, NO_GAIN, Step
from hornbeam.learning.loop import Pause
from hornbeam.learning.losses.dense import JointWeights, fit_weights
from hornbeam.learning.losses.logistic import curvatures, gradients, log_loss
from hornbeam.learning.numbers import Integers, Labels, whole_gradients
from hornbeam.learning.search.beam import (
    Fitting,
    Scored,
    SearchLimits,
    SearchResult,
    SearchSpace,
    length_of,
    search,
)
from hornbeam.learning.search.ridge import ClauseSums, Fitted, Response, response
from hornbeam.logic.canonical import canonical
from hornbeam.logic.clauses import Clause
from hornbeam.logic.guards import guard_of, with_guard
from hornbeam.model.clause_model import Floats, WeightedClause, sigmoid
from hornbeam.model.features import COUNT, LOG, SHARE, in_units

Mask = npt.NDArray[np.bool_]


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
    choose_feature: bool = False
    """whether each added clause gets the feature of its counts that gains most; needs ``refit``"""
    caution: float = 0.0
    """ridge penalty for that choice"""
    look_ahead: bool = False
    per_constant: bool = False
    validate: bool = False
    max_clauses: int | None = None
    """maximum number of clauses in the final model; None keeps all"""
    in_guards: bool = False
    """whether false groundings are counted inside guards only, not over all combinations"""
    guarded_l2: float | None = None
    """ridge penalty for fits to true and false counts inside guards; None to fit features"""


class Chosen(NamedTuple):
    """Options chosen on held-out examples: limits of the search, and the penalty of the final weights."""

    max_literals: int
    l2: float
    n_steps: int

    @classmethod
    def read(cls, values: Sequence[float]) -> Chosen:
        """From the three numbers of a checkpoint, in this order."""
        max_literals, l2, n_steps = values
        return cls(int(max_literals), l2, int(n_steps))

    def settings(self) -> dict[str, object]:
        """The entries of a model file, stored in addition to the options that were given."""
        return {f"chosen_{name}": value for name, value in self._asdict().items()}


@dataclass(frozen=True, eq=False)
class BoostProblem:
    """Everything that stays the same in all steps."""

    session: Session
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
    inside: Mask | None = None
    """the examples to learn from; None for all. The other examples are only scored."""

    def within(self, chosen: Chosen | None) -> BoostProblem:
        """The problem with the limits that were chosen; unchanged if none were."""
        if chosen is None:
            return self
        limits = self.limits._replace(max_literals=chosen.max_literals)
        return replace(self, limits=limits, n_steps=chosen.n_steps)

    def gradients(self, scores: Floats) -> Integers:
        """The gradient of each example; 0 for held-out examples."""
        all_gradients = gradients(self.labels, scores)
        return all_gradients if self.inside is None else np.where(self.inside, all_gradients, 0)


class BoostState(NamedTuple):
    """An unfinished model: the log-odds of each example, the steps so far, and why the fit ended."""

    scores: Floats
    steps: tuple[Step, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    ended: str | None = None
    features: tuple[Floats, ...] = ()
    """the weighted feature of each clause, where all weights are fitted jointly"""
    joint: JointWeights | None = None
    chosen: Chosen | None = None


def init(problem: BoostProblem) -> BoostState:
    """The state before the first step: every example has the prior's log-odds."""
    return BoostState(np.full(len(problem.labels), problem.prior, dtype=np.float64))


def step(problem: BoostProblem, state: BoostState, pause: Pause) -> tuple[BoostState, tuple[Step, ...]]:
    """Add the clauses that fit the gradients best; if no clause gains, the returned state has ended.

    Each further clause of the step is fitted to the residuals of the clauses before it.
    """
    number = state.steps[-1].number + 1 if state.steps else 1
    residuals = problem.gradients(state.scores)
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
    feature, fitted = chosen
    # Both are the nearest floats to exact numbers: a decrease too small for floats is not a gain.
    before, after = whole.error(), whole.error(fitted.gain)
    if after >= before:
        return state, None
    total = problem.total(feature.clause)
    weighted = WeightedClause(feature.clause, fitted.weights, total, feature.feature, feature.each)
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
    return {
        canonical(each.weighted.clause)
        for each in state.steps
        if each.weighted.feature in (COUNT, LOG) and each.weighted.each is None
    }


def _links_from(problem: BoostProblem) -> int | None:
    """The sum of the true counts of the empty clause, which holds once for each example; for look-ahead."""
    if not problem.strategy.look_ahead:
        return None
    once = np.ones(1, dtype=np.int64)
    return len(problem.labels) * int(in_units(once, LOG)[0] if problem.strategy.feature == LOG else 1)


def _chosen(
    problem: BoostProblem, state: BoostState, gradients: Integers, result: SearchResult, fitting: Fitting
) -> tuple[Feature, Fitted] | None:
    """The feature to add, from the clauses that a search found, and its fit."""
    if problem.strategy.guarded_l2 is not None:
        clauses = [each.clause for each in result.leaders]
        if problem.limits.stop == "full" and clauses:
            clauses = [clause for clause in clauses if length_of(clause) == length_of(clauses[-1])]
        return best_guarded(clauses, problem.columns, problem.total, gradients, problem.strategy.guarded_l2)
    if problem.strategy.choose_feature:
        best = _best_feature(problem, state, gradients, result)
    else:
        best = result.best and (Feature(result.best.clause, problem.strategy.feature), result.best.sums)
    if best is None:
        return None
    feature, sums = best
    if problem.columns.guarded and feature.each is None and feature.feature != SHARE:
        feature = feature._replace(clause=with_guard(feature.clause))
    return feature, Fitted(fitting.exact_gain(sums), fitting.weights(sums))


def _best_feature(
    problem: BoostProblem, state: BoostState, gradients: Integers, result: SearchResult
) -> tuple[Feature, ClauseSums] | None:
    """The best feature of the clauses that a search found, or of a clause in the model."""
    leaders = _first_of_each_length(result.leaders, problem.limits.beam_width)
    earlier = [each.weighted for each in state.steps]
    clauses = [each.clause for each in leaders]
    clauses += [canonical(each.clause) for each in earlier if each.each is None]
    curvature = curvatures(sigmoid(state.scores))
    return best_feature(
        list(dict.fromkeys(clauses)),
        problem.columns,
        {Feature(each.clause, each.feature, each.each) for each in earlier},
        gradients,
        curvature if problem.inside is None else curvature * problem.inside,
        problem.strategy.caution,
        problem.strategy.length_penalty,
    )


def _first_of_each_length(leaders: list[Scored], width: int) -> list[Scored]:
    """The best clauses of each length: in one ranking, long clauses would win by chance alone."""
    by_length: dict[int, list[Scored]] = {}
    for each in sorted(leaders, key=lambda each: (-each.gain, str(each.clause))):
        by_length.setdefault(length_of(each.clause), []).append(each)
    return [each for clauses in by_length.values() for each in clauses[:width]]


def jointly(problem: BoostProblem, state: BoostState, added: WeightedClause) -> BoostState:
    """The state with one more clause and all weights fitted again."""
    assert problem.strategy.refit is not None
    features = (*state.features, problem.columns.feature(added))
    rows = np.stack(features)
    joint = joint_weights(problem, rows, problem.strategy.refit, state.joint)
    return state._replace(features=features, joint=joint, scores=joint.scores(rows))


def joint_weights(
    problem: BoostProblem, rows: Floats, l2: float, start: JointWeights | None = None
) -> JointWeights:
    """Fit the weights of features, given one row for each, to the examples to learn from."""
    if problem.inside is None:
        return fit_weights(rows, problem.labels, l2, start)
    return fit_weights(rows[:, problem.inside], problem.labels[problem.inside], l2, start)


def contribution_of(problem: BoostProblem, weighted: WeightedClause) -> Floats:
    """What a clause adds to the log-odds of each example."""
    true, total = problem.columns[canonical(weighted.clause)], weighted.total
    if problem.columns.guarded and weighted.weighs_false and len(weighted.clause.body) > 1:
        return weighted.contribution(
            true, problem.columns[guard_of(weighted.clause)].astype(np.int64) * total
        )
    return weighted.contribution(true, total)
