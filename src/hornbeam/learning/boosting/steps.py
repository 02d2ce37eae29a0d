"""One step of boosting: the state before it, the clause that is added, and the state after.

``init`` gives the state before the first step, ``step`` the state after one and what happened in it. A
step may learn from some of the examples only, and score the others along: that is how ``validation``
finds out what helps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from hornbeam.engines.contract import Session, Skipped
from hornbeam.learning.boosting.choice import best_guarded, best_reading
from hornbeam.learning.boosting.columns import Columns, Feature
from hornbeam.learning.boosting.refit import Refitted, refitted
from hornbeam.learning.history import ALL_STEPS, NO_GAIN, Step
from hornbeam.learning.loop import Pause
from hornbeam.learning.problem import Labels, gradients, log_loss, whole_gradients
from hornbeam.learning.search.beam import Fitting, Found, Refine, Scored, SearchOptions, length_of, search
from hornbeam.learning.search.ridge import ClauseSums, Fitted, Integers, Response, response
from hornbeam.logic.canonical import canonical
from hornbeam.logic.clauses import Clause
from hornbeam.logic.guards import guard_of, with_guard
from hornbeam.model.clause_model import Floats, WeightedClause, sigmoid
from hornbeam.model.features import COUNT, LOG, SHARE, in_units

Mask = npt.NDArray[np.bool_]


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
class Strategy:
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
    validate: bool = False
    max_clauses: int | None = None
    """clauses that are kept in the end, where not all of them are"""
    guarded: float | None = None
    """the ridge penalty of fits to true and false counts inside guards, where they are fitted so"""


class Bounds(NamedTuple):
    """How far a search goes, and how many steps there are."""

    max_literals: int
    beam_width: int
    stop: str
    n_steps: int


class Chosen(NamedTuple):
    """What examples held out chose: bounds of the search, and the penalty of the final weights."""

    max_literals: int
    l2: float
    n_steps: int

    @classmethod
    def read(cls, values: Sequence[float]) -> Chosen:
        """As a checkpoint keeps them, in this order."""
        max_literals, l2, n_steps = values
        return cls(int(max_literals), l2, int(n_steps))

    def settings(self) -> dict[str, object]:
        """As a model file keeps them, next to those given."""
        return {f"chosen_{name}": value for name, value in self._asdict().items()}


@dataclass(frozen=True, eq=False)
class BoostProblem:
    """What stays the same in all steps."""

    session: Session
    refine: Refine
    empty: Clause
    labels: Labels
    prior: float
    bounds: Bounds
    way: Strategy
    columns: Columns
    total: Callable[[Clause], int]
    """what true and false counts add up to, for each grounding of the guard where they are guarded"""
    offset: float = 0.0
    """log-odds to add for the negatives that sampling left out, once all weights are fitted jointly"""
    inside: Mask | None = None
    """the examples to learn from, where it is not all of them; the others are scored along"""

    def within(self, chosen: Chosen | None) -> BoostProblem:
        """The same within the bounds that were chosen, where some were."""
        if chosen is None:
            return self
        bounds = self.bounds._replace(max_literals=chosen.max_literals, n_steps=chosen.n_steps)
        return replace(self, bounds=bounds)

    def slopes(self, scores: Floats) -> Integers:
        """The gradients; 0 for examples that are not learned from."""
        found = gradients(self.labels, scores)
        return found if self.inside is None else np.where(self.inside, found, 0)


class BoostState(NamedTuple):
    """A model in the making: the log-odds of each example, the steps so far, and whether that is all."""

    scores: Floats
    steps: tuple[Step, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    ended: str | None = None
    features: tuple[Floats, ...] = ()
    """what of each clause is weighted, where all weights are fitted jointly"""
    joint: Refitted | None = None
    chosen: Chosen | None = None


def init(problem: BoostProblem) -> BoostState:
    """The state before the first step: every example has the prior's log-odds."""
    return BoostState(np.full(len(problem.labels), problem.prior, dtype=np.float64))


def step(problem: BoostProblem, state: BoostState, pause: Pause) -> tuple[BoostState, tuple[Step, ...]]:
    """Add the clauses that fit the gradients best; without a gain the state is the last one.

    Each further clause of the step fits what those before it leave of the gradients.
    """
    number = state.steps[-1].number + 1 if state.steps else 1
    rest = problem.slopes(state.scores)
    done: list[Step] = []
    while len(done) < problem.way.clauses_per_step:
        if done:
            rest = rest - whole_gradients(contribution_of(problem, done[-1].weighted))
        state, info = _add_clause(problem, state, rest, number, pause)
        if info is None:
            break
        done.append(info)
    ended = NO_GAIN if not done else ALL_STEPS if number >= problem.bounds.n_steps else None
    return state._replace(ended=ended), tuple(done)


def _add_clause(
    problem: BoostProblem, state: BoostState, slopes: Integers, number: int, pause: Pause
) -> tuple[BoostState, Step | None]:
    started = time.perf_counter()
    fitting = problem.way.fitting(whole := response(slopes))
    problem.session.set_gradients(slopes)
    found = search(
        problem.session,
        problem.refine,
        problem.empty,
        fitting,
        problem.bounds,
        pause,
        problem.way.length_penalty,
        () if problem.way.refit is None else _logged(state),
        _links_from(problem),
    )
    problem.columns.skipped.update(dict.fromkeys(found.skipped))
    chosen = _chosen(problem, state, slopes, found, fitting)
    state = state._replace(skipped=tuple(dict.fromkeys((*state.skipped, *problem.columns.skipped))))
    if chosen is None:
        return state, None
    said, fitted = chosen
    # Both are the nearest floats to exact numbers: what the rounding of gradients alone could
    # explain is no gain.
    before, after = whole.error(), whole.error(fitted.gain)
    if after >= before:
        return state, None
    total = problem.total(said.clause)
    weighted = WeightedClause(said.clause, fitted.weights, total, said.feature, said.each)
    if problem.way.refit is None:
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
        counted=found.counted,
        reused=found.reused,
        skipped=len(found.skipped),
        seconds=time.perf_counter() - started,
    )
    return state._replace(scores=scores, steps=(*state.steps, info)), info


def _logged(state: BoostState) -> set[Clause]:
    """The clauses that a search by logarithms cannot gain by any more."""
    return {
        canonical(each.weighted.clause)
        for each in state.steps
        if each.weighted.feature in (COUNT, LOG) and each.weighted.each is None
    }


def _links_from(problem: BoostProblem) -> int | None:
    """The sum of true of a clause without a body, which holds once for each example."""
    if not problem.way.look_ahead:
        return None
    once = np.ones(1, dtype=np.int64)
    return len(problem.labels) * int(in_units(once, LOG)[0] if problem.way.feature == LOG else 1)


def _chosen(
    problem: BoostProblem, state: BoostState, slopes: Integers, found: Found, fitting: Fitting
) -> tuple[Feature, Fitted] | None:
    """What of the clauses that a search found is added, and its fit."""
    if problem.way.guarded is not None:
        clauses = [each.clause for each in found.leaders]
        if problem.bounds.stop == "full" and clauses:
            clauses = [clause for clause in clauses if length_of(clause) == length_of(clauses[-1])]
        return best_guarded(clauses, problem.columns, problem.total, slopes, problem.way.guarded)
    if problem.way.readings:
        best = _best_read(problem, state, slopes, found)
    else:
        best = found.best and (Feature(found.best.clause, problem.way.feature), found.best.sums)
    if best is None:
        return None
    said, sums = best
    if problem.columns.guarded and said.each is None and said.feature != SHARE:
        said = said._replace(clause=with_guard(said.clause))
    return said, Fitted(fitting.exact_gain(sums), fitting.weights(sums))


def _best_read(
    problem: BoostProblem, state: BoostState, slopes: Integers, found: Found
) -> tuple[Feature, ClauseSums] | None:
    """The best reading of what a search found, or of a clause that the model has."""
    leaders = _first_of_each_length(found.leaders, problem.bounds.beam_width)
    earlier = [each.weighted for each in state.steps]
    clauses = [each.clause for each in leaders]
    clauses += [canonical(each.clause) for each in earlier if each.each is None]
    chances = sigmoid(state.scores)
    spread = chances * (1.0 - chances)
    return best_reading(
        list(dict.fromkeys(clauses)),
        problem.columns,
        {Feature(each.clause, each.feature, each.each) for each in earlier},
        slopes,
        spread if problem.inside is None else spread * problem.inside,
        problem.way.caution,
        problem.way.length_penalty,
    )


def _first_of_each_length(leaders: list[Scored], width: int) -> list[Scored]:
    """Those that gain most of each length: long clauses gain a little more than short ones by chance."""
    by_length: dict[int, list[Scored]] = {}
    for each in sorted(leaders, key=lambda each: (-each.gain, str(each.clause))):
        by_length.setdefault(length_of(each.clause), []).append(each)
    return [each for alike in by_length.values() for each in alike[:width]]


def jointly(problem: BoostProblem, state: BoostState, added: WeightedClause) -> BoostState:
    """The state with one more clause, all weights fitted anew."""
    assert problem.way.refit is not None
    features = (*state.features, problem.columns.feature(added))
    rows = np.stack(features)
    joint = joint_weights(problem, rows, problem.way.refit, state.joint)
    return state._replace(features=features, joint=joint, scores=joint.scores(rows))


def joint_weights(problem: BoostProblem, rows: Floats, l2: float, start: Refitted | None = None) -> Refitted:
    """The weights of features, which are rows, from the examples to learn from."""
    if problem.inside is None:
        return refitted(rows, problem.labels, l2, start)
    return refitted(rows[:, problem.inside], problem.labels[problem.inside], l2, start)


def contribution_of(problem: BoostProblem, weighted: WeightedClause) -> Floats:
    """What a clause adds to the log-odds of each example."""
    true, total = problem.columns[canonical(weighted.clause)], weighted.total
    if problem.columns.guarded and weighted.weighs_false and len(weighted.clause.body) > 1:
        return weighted.contribution(
            true, problem.columns[guard_of(weighted.clause)].astype(np.int64) * total
        )
    return weighted.contribution(true, total)
