"""Boosting: each step fits one weighted clause to what the model still gets wrong.

``init`` gives the state before a step, ``step`` the state after one and what happened in it;
``fit`` is the loop around them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.checkpoint import Checkpoint, fingerprint
from hornbeam.clauses import Clause, format_literal, head_atom
from hornbeam.database import Codes, Database
from hornbeam.engines.contract import Engine, Session, Skipped
from hornbeam.errors import DataError, SchemaError
from hornbeam.history import ALL_STEPS, INTERRUPTED, NO_GAIN, TIME_LIMIT, History, Step
from hornbeam.model import Floats, Model, WeightedClause, sigmoid
from hornbeam.options import BASE_RATE, PRESETS, FitOptions
from hornbeam.refine import Language, memoised
from hornbeam.ridge import GRADIENT_BITS, exact_gain, response, round_weight, weights
from hornbeam.sampling import sampled
from hornbeam.search import Refine, search

Labels = npt.NDArray[np.int8]
ShouldStop = Callable[[], str | None]
"""Asked before each length of each search: the reason to stop now, or ``None``."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A learned model and how it came about."""

    model: Model
    history: History


@dataclass(frozen=True, eq=False)
class Problem:
    """What stays the same in all steps."""

    session: Session
    refine: Refine
    empty: Clause
    labels: Labels
    prior: float
    options: FitOptions


class State(NamedTuple):
    """A model in the making: the log-odds of each example, the steps so far, and whether that is all."""

    scores: Floats
    steps: tuple[Step, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    ended: str | None = None


class _StopRequestedError(Exception):
    """Somebody asked the fit to stop; the message is the reason."""


def fit(
    engine: Engine,
    keys: Codes,
    labels: Labels,
    target: str,
    options: FitOptions = PRESETS["default"],
    on_step: Callable[[Step], None] | None = None,
    checkpoint: str | Path | None = None,
    should_stop: ShouldStop | None = None,
) -> Fit:
    """Learn a model of the target from examples given as rows of codes and labels 0 or 1.

    Ctrl-C and ``should_stop`` end the fit with the steps done so far and mark it as cut. With a
    checkpoint folder the state is saved after every step, and the same call goes on from there.
    """
    database = engine.database
    check_labels(labels, target)
    saved = None
    if checkpoint is not None:
        marks = fingerprint(database, target, keys, labels, options, engine.memory)
        saved = Checkpoint(Path(checkpoint), marks)
    kept = sampled(database, target, keys, labels, options.neg_pos_ratio, options.seed)
    problem = _problem(engine, target, keys[kept], labels[kept], options)
    state = init(problem)
    reason = None

    def pause() -> None:
        if should_stop is not None and (why := should_stop()) is not None:
            raise _StopRequestedError(why)

    try:
        if saved is not None:
            state = resumed(problem, saved, database)
        while state.ended is None:
            state, info = step(problem, state, pause)
            if saved is not None:
                saved.save(state.steps, state.skipped, state.ended)
            if on_step is not None and info is not None:
                on_step(info)
    except KeyboardInterrupt:
        reason = INTERRUPTED
    except _StopRequestedError as stopped:
        reason = str(stopped)
    finally:
        problem.session.close()
    return _result(problem, state, target, database, reason)


def init(problem: Problem) -> State:
    """The state before the first step: every example has the prior's log-odds."""
    return State(np.full(len(problem.labels), problem.prior, dtype=np.float64))


def step(problem: Problem, state: State, pause: Callable[[], None]) -> tuple[State, Step | None]:
    """Add the clause that fits the gradients best; without a gain the state is the last one."""
    started = time.perf_counter()
    options = problem.options
    slopes = gradients(problem.labels, state.scores)
    whole = response(slopes)
    problem.session.set_gradients(slopes)
    found = search(problem.session, problem.refine, problem.empty, whole, options, pause)
    skipped = tuple(dict.fromkeys((*state.skipped, *found.skipped)))
    best = found.best
    if best is None:
        return state._replace(skipped=skipped, ended=NO_GAIN), None
    # Both are the nearest floats to exact numbers: what the rounding of gradients alone could
    # explain is no gain.
    before, after = whole.error(), whole.error(exact_gain(best.sums, whole, options.l2))
    if after >= before:
        return state._replace(skipped=skipped, ended=NO_GAIN), None
    weighted = WeightedClause(best.clause, weights(best.sums, whole, options.l2), best.sums.total)
    scores = _added(problem, state.scores, weighted)
    number = len(state.steps) + 1
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
    ended = ALL_STEPS if number >= options.n_steps else None
    return State(scores, (*state.steps, info), skipped, ended), info


def resumed(problem: Problem, saved: Checkpoint, database: Database) -> State:
    """The state that a checkpoint keeps; scores are what its clauses give, added in order again."""
    steps, skipped, ended = saved.load(database.schema)
    state = init(problem)._replace(steps=steps, skipped=skipped, ended=ended)
    if ended is not None:
        return state
    scores = state.scores
    for each in steps:
        scores = _added(problem, scores, each.weighted)
    return state._replace(scores=scores)


def _added(problem: Problem, scores: Floats, weighted: WeightedClause) -> Floats:
    return scores + weighted.contribution(problem.session.column(weighted.clause), weighted.total)


def gradients(labels: Labels, scores: Floats) -> npt.NDArray[np.int64]:
    """``y - P`` of each example, rounded to whole multiples of 2**-30."""
    slopes: Floats = np.rint((labels - sigmoid(scores)) * 2.0**GRADIENT_BITS)
    return slopes.astype(np.int64)


def log_loss(labels: Labels, scores: Floats) -> float:
    """The mean of ``-log P(label)``, without overflow."""
    return float(np.mean(np.logaddexp(0.0, np.where(labels == 1, -scores, scores))))


def time_limit(seconds: float) -> ShouldStop:
    """A ``should_stop`` that ends a fit so many seconds from now."""
    end = time.monotonic() + seconds
    return lambda: TIME_LIMIT if time.monotonic() >= end else None


def check_labels(labels: Labels, target: str) -> None:
    """Labels are 0 and 1, and there are some of each."""
    values, counts = np.unique(labels, return_counts=True)
    wrong = [value for value in values.tolist() if value not in (0, 1)]
    if wrong:
        raise DataError(f'labels of "{target}" must be 0 or 1, found {wrong[0]!r}.')
    for value, name in ((1, "positive"), (0, "negative")):
        if value not in values:
            raise DataError(
                f'no {name} example of "{target}" among {int(counts.sum())}; '
                "learning needs at least one of each label."
            )


def _problem(engine: Engine, target: str, keys: Codes, labels: Labels, options: FitOptions) -> Problem:
    database = engine.database
    head = head_atom(target, database.schema.arity(target))
    language = Language(head, database.schema, database.modes, database.constants, options.negation)
    refine = memoised(language)
    if not refine(language.empty()):
        raise SchemaError(
            f"no literal can be added to {format_literal(head)}; give a mode with a + argument of type "
            f"{' or '.join(dict.fromkeys(database.schema.types_of(target)))} for a predicate that has facts."
        )
    return Problem(engine.session(keys), refine, language.empty(), labels, _prior(labels, options), options)


def _prior(labels: Labels, options: FitOptions) -> float:
    if options.prior == BASE_RATE:
        positives = int(np.count_nonzero(labels))
        return round_weight(math.log(positives / (len(labels) - positives)))
    return float(options.prior)


def _result(problem: Problem, state: State, target: str, database: Database, reason: str | None) -> Fit:
    cut = reason is not None and state.ended is None
    ended = state.ended or reason or ALL_STEPS
    settings = problem.options.settings() | ({"cut": ended} if cut else {})
    clauses = tuple(each.weighted for each in state.steps)
    model = Model(target, database.schema, problem.prior, clauses, settings)
    return Fit(model, History(state.steps, ended, cut, state.skipped))
