"""Weights per constant: which films a person rated can matter more than how many.

All constants that paths of at most one link reach, and the example's own categories, get weights together, by
regression under one ridge penalty. The penalty is chosen by cross-validation. Boosting starts from
scores that were fitted without the example (cross-fitting), so that memorised constants gain nothing. If the
scores do not predict held-out examples better than a constant, by a standard error, there are no weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes
from hornbeam.data.sparse import Matrix, summed
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.engines.questions import CountsByConstant, ValueRequest
from hornbeam.learning.effects.links import CATEGORY, THING, Path
from hornbeam.learning.losses.loss import Loss, Score
from hornbeam.learning.losses.sparse import fit_sparse_weights, rows_of
from hornbeam.learning.numbers import Floats, round_weight
from hornbeam.learning.workers import ALONE, Jobs
from hornbeam.logic.clauses import Atom
from hornbeam.logic.effects import Body, Curve, Effect, Feature, clause_of, in_order_of_use, is_clause
from hornbeam.logic.features import DISTINCT
from hornbeam.model.clause_model import WeightedClause
from hornbeam.model.features import LOG

PENALTIES = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
"""Penalties to try, from strong to weak, until one predicts held-out examples worse than the one before."""
LEAST_EXAMPLES = 5
"""Minimum number of training examples that reach a constant with a weight."""
MOST_CONSTANTS = 5000
"""A variable with more constants gets no weights: they would only copy the data."""
MOST_ENTRIES = 5_000_000
"""The most pairs of an example and a constant; variables beyond it get no weights."""
MANY = 50
"""Weights per constant need a variable with at least this many constants; fewer are candidates one by one."""
MOST_PER_EXAMPLE = 50
"""With more weights of constants and classes for each example, there are none: nobody could read them."""
FOLDS = 5
MANY_ENTRIES = 50_000
"""With at least this many pairs of an example and a constant, workers fit some of the folds."""
NAME = "folds"


class Family(NamedTuple):
    """A body, the variable whose constants have weights, its type, and the columns of its constants."""

    body: Body
    variable: int
    type: str
    codes: Codes
    start: int


@dataclass(frozen=True, eq=False)
class ConstantWeights:
    """Weights per constant, and the cross-fitted score that they give each training example."""

    clauses: tuple[WeightedClause, ...]
    """with classes, those of the first class, then those of the second, and so on"""
    intercept: Score
    crossed: Floats

    def of_classes(self, number: int) -> list[tuple[WeightedClause, ...]]:
        """The clauses of each of some classes."""
        size = len(self.clauses) // number
        return [self.clauses[place * size : (place + 1) * size] for place in range(number)]

    def at(self, strength: float) -> ConstantWeights:
        """A share of the weights: effects beside them explain some of what they do."""
        clauses = tuple(
            replace(
                each, constants=tuple((name, round_weight(strength * own)) for name, own in each.constants)
            )
            for each in self.clauses
        )
        return ConstantWeights(clauses, strength * self.intercept, strength * self.crossed)

    @property
    def mean(self) -> Score:
        """What the weights add to an average training example."""
        return self.crossed.mean(axis=0) - self.intercept


class Weighted(NamedTuple):
    """The examples of a fit: keys, targets in the learner's unit, how much each counts, and the loss."""

    keys: Codes
    targets: Floats
    weights: Floats
    loss: Loss

    def fitted(self, matrix: Matrix, rows: npt.NDArray[np.intp], l2: float, start: Floats | None) -> Floats:
        """The weights of the columns, fitted to some examples."""
        of_rows = rows_of(self.loss.smooth(), self.targets[rows], self.weights[rows])
        return fit_sparse_weights(matrix.take(rows), of_rows, l2, start)


class FoldFits:
    """Weights fitted without each of some folds, from strong to weak penalties."""

    def __init__(
        self, matrix: Matrix, data: Weighted, folds: npt.NDArray[np.int64], own: Sequence[int]
    ) -> None:
        self._matrix, self._data = matrix, data
        self._inside = [np.flatnonzero(folds != fold) for fold in own]
        self._outside = [np.flatnonzero(folds == fold) for fold in own]
        self._weights: list[Floats | None] = [None] * len(own)

    def scores(self, penalty: float) -> list[Floats]:
        """For each fold the scores of its examples, by weights that were fitted to the others."""
        found = []
        for place, (inside, outside) in enumerate(zip(self._inside, self._outside, strict=True)):
            weights = self._data.fitted(self._matrix, inside, penalty, self._weights[place])
            self._weights[place] = weights
            found.append(self._matrix.take(outside) @ weights[:-1] + weights[-1])
        return found


class _Folds:
    """The fits of all folds: some in this process, the others in workers."""

    def __init__(self, matrix: Matrix, data: Weighted, folds: npt.NDArray[np.int64], jobs: Jobs) -> None:
        self._jobs = jobs
        self._workers = jobs.workers[: FOLDS - 1] if len(matrix.ends) >= MANY_ENTRIES else []
        n_parts = len(self._workers) + 1
        # The first part is the smallest one: this process has other things to do.
        edges = [FOLDS * part // n_parts for part in range(n_parts + 1)]
        self._outside = [np.flatnonzero(folds == fold) for fold in range(FOLDS)]
        with jobs.together():
            for worker, (start, end) in zip(self._workers, pairwise(edges[1:]), strict=True):
                worker.make(NAME, FoldFits, matrix, data, folds, range(start, end))
            self._own = FoldFits(matrix, data, folds, range(edges[1]))
            for worker in self._workers:
                worker.answer()

    def scores(self, penalty: float) -> Floats:
        """The score of each example, by weights that were fitted without its fold."""
        with self._jobs.together():
            for worker in self._workers:
                worker.ask(NAME, "scores", penalty)
            found = self._own.scores(penalty)
            for worker in self._workers:
                found += worker.answer()
        crossed = np.zeros((sum(map(len, self._outside)), *found[0].shape[1:]))
        for outside, scores in zip(self._outside, found, strict=True):
            crossed[outside] = scores
        return crossed


def constant_weights(
    engine: Engine,
    head: Atom,
    paths: Sequence[Path],
    data: Weighted,
    folds: npt.NDArray[np.int64],
    scale: float = 1.0,
    jobs: Jobs = ALONE,
) -> ConstantWeights | None:
    """The weights, or None if they predict no better than a constant; ``scale`` is that of the model."""
    families, matrix = _matrix(engine, head, paths, data.keys)
    n_scores = int(np.prod(data.loss.shape, dtype=int))
    if not families or (n_scores > 1 and n_scores * matrix.shape[1] > MOST_PER_EXAMPLE * len(data.keys)):
        return None
    targets, loss = data.targets, data.loss
    best: tuple[float, Floats, float] | None = None
    base = _base(data, folds)
    fits = _Folds(matrix, data, folds, jobs)
    total = data.weights.sum()
    for penalty in PENALTIES:
        crossed = fits.scores(penalty)
        mean = float((data.weights * loss.each(targets, crossed)).sum() / total)
        if best is None or mean < best[0]:
            best = mean, crossed, penalty
        else:
            break
    assert best is not None
    _, crossed, penalty = best
    gained = data.weights * (loss.each(targets, base) - loss.each(targets, crossed))
    if gained.mean() <= gained.std() / np.sqrt(len(targets)):
        return None
    weights = data.fitted(matrix, np.arange(len(targets)), penalty, None)
    of_classes = (scale * weights).reshape(len(weights), -1).T
    clauses = [each for own in of_classes for each in _clauses(engine, head, families, own)]
    return ConstantWeights(tuple(clauses), weights[-1] if loss.shape else float(weights[-1]), crossed)


def _base(data: Weighted, folds: npt.NDArray[np.int64]) -> Floats:
    """For each example, the best constant score of the other folds."""
    result = np.zeros((len(data.targets), *data.loss.shape))
    for fold in range(FOLDS):
        inside = folds != fold
        result[folds == fold] = rows_of(data.loss, data.targets[inside], data.weights[inside]).start()
    return result


def _matrix(engine: Engine, head: Atom, paths: Sequence[Path], keys: Codes) -> tuple[list[Family], Matrix]:
    """ln(1 + count) of each constant for each example."""
    families: list[Family] = []
    rows, columns, entries = [], [], []
    width = number = 0
    for body, node, type_name in _variables(paths):
        answer = engine.counts_by_constant(ValueRequest(head, body, node), keys)
        if isinstance(answer, Skipped):
            continue
        counts = CountsByConstant(*(np.concatenate(each) for each in zip(*answer, strict=True)))
        found = counts.code
        sizes = np.bincount(found[found >= 0])
        frequent = np.flatnonzero(sizes >= LEAST_EXAMPLES).astype(np.int32)
        more = number + int(sizes[frequent].sum())
        if not 2 <= len(frequent) <= MOST_CONSTANTS or more > MOST_ENTRIES:
            continue
        number = more
        # By name, because the order of codes differs between engines, and sums of floats depend on it.
        names = np.array(engine.database.population(type_name).decode(frequent), dtype=object)
        codes = frequent[np.argsort(names)]
        place = np.full(len(sizes) + 1, -1, dtype=np.int64)
        place[codes] = np.arange(len(codes))
        places = place[found]  # an unknown constant, -1, is at the end
        keep = places >= 0
        families.append(Family(body, node, type_name, codes, width))
        rows.append(counts.row[keep])
        columns.append(width + places[keep])
        entries.append(np.log1p(counts.number[keep].astype(np.float64)))
        width += len(codes)
    if not any(len(family.codes) >= MANY for family in families):
        return [], Matrix(np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0), (0, 0))
    row, column, entry = (np.concatenate(each) for each in (rows, columns, entries))
    return families, summed(row, column, entry, (len(keys), width))


def _variables(paths: Sequence[Path]) -> list[tuple[Body, int, str]]:
    """The bodies and variables whose constants may have weights."""
    found = []
    for path in paths:
        if path.links > 1 or path.meets or not is_clause(path.body):
            continue
        for attribute in path.attributes:
            named = attribute.kind in (THING, CATEGORY) and is_clause(attribute.steps)
            if named and (path.links == 0 or not attribute.steps):
                found.append(((*path.body, *attribute.steps), attribute.node.variable, attribute.node.type))
    return found


def _clauses(
    engine: Engine, head: Atom, families: Sequence[Family], weights: Floats
) -> tuple[WeightedClause, ...]:
    clauses = []
    for family in families:
        names = engine.database.population(family.type).decode(family.codes)
        own = weights[family.start : family.start + len(names)].tolist()
        constants = tuple(
            sorted((name, round_weight(weight)) for name, weight in zip(names, own, strict=True))
        )
        # A file numbers variables by first use, and so must ``each``.
        effect = Effect(head, family.body, Feature(DISTINCT, family.variable), Curve((), (0.0,)))
        _, body, (_, each), _ = in_order_of_use(effect)
        clauses.append(WeightedClause(clause_of(head, body), (0.0, 0.0, 0.0), 0, LOG, each, constants))
    return tuple(clauses)
