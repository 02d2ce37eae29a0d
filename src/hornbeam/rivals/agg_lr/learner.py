"""AGG-LR: logistic regression on relational aggregates; for a numeric target, linear regression.

This is feature engineering as people do it by hand: count what is related to an example along paths of one
or two relations, compute distinct values, means and extremes, and give the columns to a standard learner.
Columns that are constant over the training examples, or equal to an earlier column, are dropped. Counts are
used as they are or as ``ln(1 + count)``, columns are standardised, and scikit-learn fits the weights. A saved
model needs no scikit-learn.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.data.relations import Examples
from hornbeam.data.sampling import atom_texts, sampled
from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.errors import LimitError
from hornbeam.learning.history import History, Record
from hornbeam.learning.loop import NO_CONTROL, Control, Pause, run
from hornbeam.learning.losses.loss import Unit
from hornbeam.learning.losses.squared import Squared
from hornbeam.learning.numbers import Labels, round_weight
from hornbeam.learning.options import BASE_RATE, AggOptions
from hornbeam.learning.problem import Fit, check_labels, check_values, language_for, prior_of
from hornbeam.logic.clauses import Clause
from hornbeam.model.clause_model import Floats
from hornbeam.model.scales import LOGISTIC, SQUARED
from hornbeam.rivals.agg_lr.aggregates import Aggregate, WeightedAggregate, aggregates, paths
from hornbeam.rivals.agg_lr.joiner import Joiner
from hornbeam.rivals.agg_lr.model import AggregateModel, aggregate_columns, by_path, weighted_values

WEIGHED = "all features weighed"
NOT_CONVERGED = "the weights did not converge"
PATHS_AT_ONCE = 64
MOST_ITERATIONS = 200
DIGITS = 9
"""Weights of standardised columns are rounded to this many digits: the last ones depend on the machine."""


@dataclass(frozen=True, slots=True)
class WeighedStep:
    """The one step of the learner: how many columns it computed, and how many of them have a weight."""

    number: int
    computed: int
    """aggregates that the modes allow"""
    constant: int
    """aggregates that have one value for all training examples"""
    repeated: int
    """aggregates that equal an earlier one on all training examples"""
    features: int
    """aggregates with a weight"""
    iterations: int
    """iterations of the fit of the weights"""
    seconds: float

    @property
    def title(self) -> str:
        return f"{self.features} features"

    @property
    def candidates(self) -> int:
        return self.computed

    def as_dict(self) -> dict[str, object]:
        return {
            "step": self.number,
            "computed": self.computed,
            "constant": self.constant,
            "repeated": self.repeated,
            "features": self.features,
            "iterations": self.iterations,
            "seconds": self.seconds,
        }


class AggregateState(NamedTuple):
    """The state before and after the one step."""

    prior: float
    features: tuple[WeightedAggregate, ...] = ()
    steps: tuple[WeighedStep, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    ended: str | None = None


class Answers(NamedTuple):
    """What is learned: labels, or numbers in a unit."""

    values: Labels | Floats
    unit: Unit | None = None

    @property
    def prior(self) -> float:
        """The score without any feature."""
        if self.unit is None:
            return prior_of(self.values.astype(np.int8), BASE_RATE)
        return round_weight(self.unit.centre)

    def regression(self, rows: Floats, l2: float) -> tuple[float, list[float], int]:
        """The bias, the weights and the number of iterations."""
        if self.unit is None:
            return _logistic_regression(rows, self.values.astype(np.int8), l2)
        bias, weights = _linear_regression(rows, self.values.astype(np.float64), l2)
        return self.unit.of_model(bias), [self.unit.scale * weight for weight in weights], 1


def fit(
    engine: Engine,
    examples: Examples,
    options: AggOptions | None = None,
    control: Control = NO_CONTROL,
) -> Fit[AggregateModel]:
    """Weigh aggregates of examples with labels 0 and 1, or with numbers.

    There is one step: Ctrl-C and ``control.should_stop`` leave a model of its prior alone, marked as cut.
    """
    options = options or AggOptions()
    database = engine.database
    target, keys, labels = examples.target, examples.keys, examples.labels
    if examples.values is None:
        check_labels(examples)
        kept = sampled(database, target, keys, labels, options.neg_pos_ratio, options.seed)
    else:
        check_values(target, examples.values)
        kept = np.arange(len(keys))
    # Sorted by text, because sums of floats, and so the last digits of weights, depend on the order of rows.
    texts = atom_texts(database, target, keys[kept])
    order = kept[sorted(range(len(kept)), key=texts.__getitem__)]
    answers = Answers(labels[order])
    if examples.values is not None:
        answers = Answers(*Squared().prepared(examples.values[order], np.ones(len(order))))
    nothing = AggregateState(answers.prior)

    def step(state: AggregateState, pause: Pause) -> tuple[AggregateState, Sequence[Record]]:
        state = _weighed(engine, keys[order], answers, target, options, pause)
        return state, state.steps

    state, ending = run(nothing, lambda: nothing, step, control)
    settings = options.settings() | dict(database.origin) | ending.settings()
    settings |= {} if answers.unit is None else {"constant": answers.prior}
    loss = LOGISTIC if answers.unit is None else SQUARED
    model = AggregateModel(target, database.schema, state.prior, state.features, settings, loss=loss)
    return Fit(model, History(state.steps, ending.reason, ending.cut, state.skipped))


def _weighed(
    engine: Engine, keys: Codes, answers: Answers, target: str, options: AggOptions, pause: Pause
) -> AggregateState:
    started = time.perf_counter()
    table = AggregateTable(engine, keys, options.feature)
    language = language_for(engine.database, target, False, 0)
    for some in _batches(paths(language, options.max_literals)):
        pause()
        table.add(by_path(each for path in some for each in aggregates(path, language)))
    pause()
    prior, weights, iterations = answers.regression(table.standardised(), options.l2)
    features = [
        (abs(weight), WeightedAggregate(each, round_weight(weight / spread), round_weight(mean)))
        for each, mean, spread, weight in zip(
            table.features, table.means, table.spreads, weights, strict=True
        )
    ]
    # Strongest first. Rounded weights decide, so that the order does not depend on their last digits.
    features.sort(key=lambda pair: (-round_weight(pair[0]), str(pair[1].aggregate)))
    info = WeighedStep(
        number=1,
        computed=table.computed,
        constant=table.constant,
        repeated=table.repeated,
        features=len(features),
        iterations=iterations,
        seconds=time.perf_counter() - started,
    )
    ended = WEIGHED if iterations < MOST_ITERATIONS else f"{NOT_CONVERGED} in {iterations} iterations"
    weighted = tuple(each for _, each in features)
    return AggregateState(round_weight(prior), weighted, (info,), tuple(table.skipped), ended)


class AggregateTable:
    """The distinct columns of aggregates that differ between examples, as they are weighted."""

    def __init__(self, engine: Engine, keys: Codes, feature: str) -> None:
        self.engine = engine
        self.keys = keys
        self.feature = feature
        self.joiner = Joiner(engine.database, keys, engine.memory // 4)
        self.features: list[Aggregate] = []
        self.means: list[float] = []
        self.spreads: list[float] = []
        self.skipped: list[Skipped] = []
        self.computed = self.constant = self.repeated = 0
        self._columns: list[Floats] = []
        self._seen: set[bytes] = set()
        self._most = max(1, engine.memory // 4 // (8 * max(1, len(keys))))

    def add(self, wanted: Mapping[Clause, Sequence[Aggregate]]) -> None:
        """Compute aggregates, and keep those that differ between examples and from earlier columns."""

        def count(clauses: Sequence[Clause]) -> Sequence[Counts | Skipped]:
            return counter_of(self.engine).count(clauses, self.keys)

        for aggregate, column in aggregate_columns(wanted, self.engine, self.keys, count, self.joiner):
            self.computed += 1
            if isinstance(column, Skipped):
                if column not in self.skipped:
                    self.skipped.append(column)
                continue
            values = weighted_values(aggregate, column, self.feature)
            known = values[~np.isnan(values)]
            mean = float(known.mean()) if len(known) else 0.0
            values = np.where(np.isnan(values), mean, values)
            spread = float(values.std())
            if not len(known) or known.min() == known.max() or spread == 0.0:
                self.constant += 1
                continue
            digest = blake2b(values.tobytes(), digest_size=16).digest()
            if digest in self._seen:
                self.repeated += 1
                continue
            if len(self._columns) == self._most:
                raise LimitError(
                    f"{len(self._columns):,} features of {len(self.keys):,} examples fill the memory budget; "
                    "allow more memory, set a smaller max_literals, or keep fewer negatives."
                )
            self._seen.add(digest)
            self.features.append(aggregate)
            self.means.append(mean)
            self.spreads.append(spread)
            self._columns.append(values)

    def standardised(self) -> Floats:
        """A matrix with a row per example and a column per feature, each with mean 0 and deviation 1."""
        rows = np.empty((len(self.keys), len(self._columns)))
        for at, (column, mean, spread) in enumerate(
            zip(self._columns, self.means, self.spreads, strict=True)
        ):
            rows[:, at] = (column - mean) / spread
        return rows


def _batches(members: Sequence[Clause]) -> Iterator[Sequence[Clause]]:
    for start in range(0, len(members), PATHS_AT_ONCE):
        yield members[start : start + PATHS_AT_ONCE]


def _linear_regression(rows: Floats, targets: Floats, l2: float) -> tuple[float, list[float]]:
    """The bias and the weights with the least squared error plus l2 times the squared weights."""
    if not rows.shape[1]:
        return 0.0, []
    from sklearn.linear_model import Ridge
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(1):
        learner = Ridge(alpha=l2, solver="cholesky").fit(rows, targets)
    return _rounded(learner.intercept_), list(map(_rounded, learner.coef_))


def _rounded(weight: float) -> float:
    return round(float(weight), DIGITS)


def _logistic_regression(rows: Floats, labels: Labels, l2: float) -> tuple[float, list[float], int]:
    """The bias, the weights and the number of iterations."""
    if not rows.shape[1]:
        return prior_of(labels, BASE_RATE), [], 0
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    learner = LogisticRegression(C=1.0 / l2, solver="newton-cholesky", max_iter=MOST_ITERATIONS, tol=1e-10)
    # One thread, because the order of sums, and so their last digits, depends on the number of threads.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner.fit(rows, labels)
    return _rounded(learner.intercept_[0]), list(map(_rounded, learner.coef_[0])), int(learner.n_iter_[0])
