"""Lines: one for each simple candidate, all fitted together under one ridge penalty.

Steps take the candidate that gains most. If many candidates say nearly the same, such as the means of the
last three, five and ten results, then many small slopes together predict better than a few large ones.
Simple candidates have no conditions and follow one link at most. The lines of each model are fitted to the
examples that it learns from, and the examples that judge choose the penalty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.learning.effects.bodies import n_conditions
from hornbeam.learning.effects.candidates import FeatureCandidate
from hornbeam.learning.effects.steps.looking import ENOUGH_EXAMPLES, drawn
from hornbeam.learning.losses.loss import Loss
from hornbeam.learning.losses.newton import Stopping, minimise, one_thread
from hornbeam.learning.losses.sparse import INTERCEPT_PENALTY, RowLoss, rows_of
from hornbeam.learning.numbers import Floats
from hornbeam.logic.features import (
    KINDS,
)

MOST = 200
"""Maximum number of candidates with lines; those with fewer links come first."""
PENALTIES = (1000.0, 300.0, 100.0, 30.0, 10.0)
"""Tried one after the other, until the loss of the judged examples rises."""
SHARES = (0.25, 0.5, 0.75)
"""The shares of lines in the scores that are tried."""
STOPPING = Stopping(rounds=50, shortest=1e-6, close=1e-8)
DIGITS = 9
"""Weights are rounded to this many digits: the last ones depend on the machine."""

Bins = npt.NDArray[np.uint8]


class LineData(NamedTuple):
    """The examples that lines are fitted to."""

    bins: Bins
    """the bin of each example for each candidate"""
    scores: Floats
    """the score of each bin of each candidate"""
    targets: Floats
    offset: Floats
    """what is added to the score of each example"""
    sizes: Floats
    """how much each example counts"""
    loss: Loss


class Lines(NamedTuple):
    """For each model, the line of each simple candidate as a curve, and the intercept."""

    curves: list[dict[int, Floats]]
    intercepts: list[float]


class _LineColumns(NamedTuple):
    """A column for each line, and one for each set of examples whose values are missing."""

    values: Floats
    """rows are examples; the last column is the intercept's"""
    levels: list[tuple[int, Floats]]
    """the candidate of each column, and what a weight of 1 gives each of its bins"""


def simple_candidates(candidates: Sequence[FeatureCandidate]) -> list[int]:
    """The numbers of the candidates that may have lines."""
    return [number for number, each in enumerate(candidates) if _is_simple(each)][:MOST]


def _is_simple(candidate: FeatureCandidate) -> bool:
    _, body, feature = candidate.request
    # The last step to a variable reads an attribute; the others are links.
    links = len(body) - (feature.variable is not None)
    return KINDS[feature.kind].line and links <= 1 and n_conditions(body) == 0


def fitted_lines(data: LineData, simple: Sequence[int], weights: Floats, judged: Floats) -> Lines | None:
    """The lines of each model, with the penalty of the least judged loss; None if nothing has a line.

    Column k of ``weights`` has the weight of each example in model k, and of ``judged`` where it is judged.
    """
    number = weights.shape[1]
    # More examples would not make the slopes of so few candidates much surer.
    looked = drawn(data.sizes, np.vstack([weights.T, judged.T]), ENOUGH_EXAMPLES)
    columns = _columns(looked.of_bins(data.bins), data.scores, simple)
    if len(columns.levels) == 0:
        return None
    targets, offset = looked.of(data.targets), looked.of(data.offset)
    models = [
        _Model(columns.values, rows_of(data.loss.smooth(), targets, inside), offset, outside)
        for inside, outside in zip(looked.weights[:number], looked.weights[number:], strict=True)
    ]
    judges = [each for each in models if each.judged.any()]
    if not judges:
        return None
    with one_thread():
        penalty, start = _best_penalty(judges, data.loss, targets)
        fitted = [each.fitted(penalty, start) for each in models]
    return _as_curves(fitted, columns, data.scores.shape[1])


def _best_penalty(models: Sequence[_Model], loss: Loss, targets: Floats) -> tuple[float, Floats]:
    """The penalty with the least judged loss of these models, and weights from which others may start."""
    best: tuple[float, float, Floats] | None = None
    found: list[Floats | None] = [None] * len(models)
    for penalty in PENALTIES:
        fitted = [each.fitted(penalty, start) for each, start in zip(models, found, strict=True)]
        losses = [
            float((each.judged * loss.each(targets, each.scores(own))).sum())
            for each, own in zip(models, fitted, strict=True)
        ]
        if best is not None and sum(losses) >= best[0]:
            break
        best, found = (sum(losses), penalty, fitted[-1]), list(fitted)
    assert best is not None
    return best[1:]


def share_of_lines(loss: Loss, targets: Floats, judged: Floats, both: tuple[Floats, Floats]) -> float:
    """The share of lines beside steps with the least judged loss; 0 unless it is clearly below the steps'.

    ``both`` has the scores by steps and by lines: a column for each model.
    """
    steps, lines = both
    total = float(judged.sum())
    best, least = 0.0, 0.0
    alone = loss.each(targets[:, None], steps)
    for share in SHARES:
        gaps = loss.each(targets[:, None], (1.0 - share) * steps + share * lines) - alone
        mean = float((gaps * judged).sum()) / total
        variance = float(((gaps - mean) ** 2 * judged).sum()) / total
        if mean < least and -mean > np.sqrt(variance / total):
            best, least = share, mean
    return best


def _columns(bins: Bins, scores: Floats, simple: Sequence[int]) -> _LineColumns:
    size = scores.shape[1]
    values: list[Floats] = []
    levels: list[tuple[int, Floats]] = []
    missing_seen: set[bytes] = set()
    none: Floats = (np.arange(size) == 0).astype(np.float64)
    for candidate in simple:
        row = bins[candidate]
        if (row == row[:1]).all():
            continue
        values.append(scores[candidate][row])
        levels.append((candidate, scores[candidate]))
        missing = row == 0
        key = np.packbits(missing).tobytes()
        if missing.any() and key not in missing_seen:
            missing_seen.add(key)
            values.append(missing.astype(np.float64))
            levels.append((candidate, none))
    return _LineColumns(np.column_stack([*values, np.ones(bins.shape[1])]), levels)


@dataclass(eq=False)
class _Model:
    """The lines of one model: a weight for each column."""

    columns: Floats
    rows: RowLoss
    offset: Floats
    judged: Floats
    """the weight of each example where the model is judged"""
    penalty: float = 0.0

    def fitted(self, penalty: float, start: Floats | None) -> Floats:
        """The weights with the least loss, plus half the penalty times their squares."""
        self.penalty = penalty
        if start is None:
            start = np.zeros(self.columns.shape[1])
            start[-1] = self.rows.start()
        return minimise(self, start, STOPPING)

    def scores(self, weights: Floats) -> Floats:
        scores: Floats = self.columns @ weights + self.offset
        return scores

    def loss(self, weights: Floats, scores: Floats) -> float:
        return self.rows.total(scores) + 0.5 * float((self._penalties() * weights * weights).sum())

    def direction(self, weights: Floats, scores: Floats) -> Floats:
        first, second = self.rows.gradients(scores)
        gradient = np.dot(first, self.columns) - self._penalties() * weights
        weighted = self.columns * np.sqrt(second)[:, None]
        curvature = np.dot(weighted.T, weighted) + np.diag(self._penalties())
        direction: Floats = np.linalg.solve(curvature, gradient)
        return direction

    def _penalties(self) -> Floats:
        penalties = np.full(self.columns.shape[1], self.penalty)
        penalties[-1] = INTERCEPT_PENALTY
        return penalties


def _as_curves(weights: Sequence[Floats], columns: _LineColumns, size: int) -> Lines:
    curves: list[dict[int, Floats]] = []
    for own in weights:
        curve: dict[int, Floats] = {}
        for weight, (candidate, levels) in zip(own.tolist(), columns.levels, strict=False):
            curve[candidate] = curve.get(candidate, np.zeros(size)) + round(weight, DIGITS) * levels
        curves.append(curve)
    return Lines(curves, [round(float(own[-1]), DIGITS) for own in weights])
