"""Lines: one for each simple candidate, all fitted together under one ridge penalty.

Steps take the candidate that gains most. If many candidates say nearly the same, such as the means of the
last three, five and ten results, or if each of many columns says a little, then many small slopes together
predict better than a few large ones; and what is a straight line needs no steps. Simple candidates have one
condition at most and follow one link at most. The lines of each model are fitted to the values of the
examples that it learns from, and the examples that judge choose the penalty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.learning.effects.bodies import n_conditions
from hornbeam.learning.effects.candidates import FeatureCandidate
from hornbeam.learning.effects.steps.looking import drawn
from hornbeam.learning.losses.loss import Loss
from hornbeam.learning.losses.newton import Stopping, minimise, one_thread
from hornbeam.learning.losses.sparse import INTERCEPT_PENALTY, RowLoss, rows_of
from hornbeam.learning.numbers import Floats
from hornbeam.logic.effects import atom_in, has_dates
from hornbeam.logic.features import COUNT, KINDS, SHARE
from hornbeam.logic.schema import Schema

MOST = 200
"""Maximum number of candidates with lines; those with fewer conditions and links come first."""
ENOUGH_EXAMPLES = 12_000
"""Lines are fitted to about this many examples: more would not make so few slopes much surer."""
CHOOSERS = 5
"""Maximum number of models whose judges choose the penalty."""
PENALTIES = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3)
"""Tried one after the other, until the loss of the judged examples rises."""
SHARES = (0.25, 0.5, 0.75, 1.0)
"""The shares of lines in the scores that are tried."""
NEARLY = 0.95
"""A curve of steps and a slope is a line if a line makes at least this share of its variance."""
STOPPING = Stopping(rounds=50, shortest=1e-6, close=1e-8)
DIGITS = 9
"""Weights and values are rounded to this many digits: the last ones depend on the machine."""
ASIDE = 100
"""One in so many values may be far away: a line ends one more range of the others beyond them."""

Bins = npt.NDArray[np.uint8]


class LineEnds(NamedTuple):
    """Where a line begins and ends, and the mean and the deviation of the values between."""

    low: float
    high: float
    mean: float
    deviation: float
    is_flag: bool = False
    """whether there are two values only, so that a line is a step"""

    @property
    def ends(self) -> Floats:
        """The ends in units of the deviation from the mean."""
        return (np.array([self.low, self.high]) - self.mean) / self.deviation


class LineValues(NamedTuple):
    """The values of simple candidates, in units of their deviation from their mean; 0 for missing ones."""

    candidates: list[int]
    columns: Floats
    """a row for each of these candidates, and a column for each example"""
    missing: npt.NDArray[np.bool_]
    limits: list[LineEnds]

    def of(self, candidate: int) -> int | None:
        """The row of a candidate; None if it has no line."""
        return self.candidates.index(candidate) if candidate in self.candidates else None


class LineData(NamedTuple):
    """The examples that lines are fitted to."""

    values: LineValues
    targets: Floats
    offset: Floats
    """what is added to the score of each example"""
    sizes: Floats
    """how much each example counts"""
    loss: Loss


class Lines(NamedTuple):
    """For each model a slope and a level for missing values for each row of the values, and the intercept."""

    slopes: Floats
    """a row for each model, and a column for each candidate with a line"""
    missing: Floats
    intercepts: list[float]

    def curves(self, model: int, values: LineValues, size: int) -> dict[int, Floats]:
        """For each candidate with a line in a model, the level of each of its bins and, last, its slope."""
        rows: dict[int, Floats] = {}
        for place, (candidate, limits) in enumerate(zip(values.candidates, values.limits, strict=True)):
            slope, missing = self.slopes[model, place], self.missing[model, place]
            if slope or missing:
                row = rows[candidate] = np.zeros(size)
                row[0] = missing
                if limits.is_flag:
                    row[1:3] = slope * limits.ends
                else:
                    row[-1] = slope
        return rows

    def scores(self, values: LineValues) -> Floats:
        """The score of each example by each model, a column for each: without any offset."""
        total = np.repeat(np.array(self.intercepts)[None, :], values.columns.shape[1], axis=0)
        for place, (column, none) in enumerate(zip(values.columns, values.missing, strict=True)):
            total += column[:, None] * self.slopes[None, :, place]
            total += none[:, None] * self.missing[None, :, place]
        return total


def simple_candidates(candidates: Sequence[FeatureCandidate], schema: Schema) -> list[int]:
    """The numbers of the candidates that may have lines, those with fewer conditions and links first."""
    ranked = []
    for number, each in enumerate(candidates):
        head, body, feature = each.request
        # A variable of the feature or of a condition is that of an attribute; the other steps are links.
        atoms = [atom for step in body if (atom := atom_in(step)) is not None]
        attributes = (feature.variable is not None) + len(body) - len(atoms)
        links = sum(len(atom.args) > 1 for atom in atoms)
        conditions = n_conditions(body)
        few = links - attributes <= 1 and conditions <= (feature.kind in (COUNT, SHARE))
        if few and KINDS[feature.kind].line and not has_dates(schema, head, body, feature):
            ranked.append((conditions, number))
    return [number for _, number in sorted(ranked)][:MOST]


def line_values(
    engine: Engine, candidates: Sequence[FeatureCandidate], simple: Sequence[int], keys: Codes
) -> LineValues:
    """The values of simple candidates for the examples with these keys."""
    requests = [candidates[number].request for number in simple]
    kept: list[int] = []
    columns: list[Floats] = []
    unknown: list[npt.NDArray[np.bool_]] = []
    limits: list[LineEnds] = []
    for number, values in zip(simple, engine.features(requests, keys), strict=True):
        if isinstance(values, Skipped):
            continue
        found = limits_of(values)
        if found is not None:
            kept.append(number)
            limits.append(found)
            columns.append(standardised(values, found))
            unknown.append(np.isnan(values))
    size = len(keys)
    return LineValues(
        kept,
        np.array(columns).reshape(-1, size),
        np.array(unknown, dtype=bool).reshape(-1, size),
        limits,
    )


def limits_of(values: Floats) -> LineEnds | None:
    """The limits of a line over these values; None if all known ones are equal.

    >>> limits_of(np.array([1.0, 2.0, 3.0, np.nan, 2.0]))
    LineEnds(low=1.0, high=3.0, mean=2.0, deviation=0.707106781, is_flag=False)
    """
    known = np.sort(values[~np.isnan(values)])
    if len(known) < 2 or known[0] == known[-1] or np.abs(known[[0, -1]]).max() > LARGEST:
        return None
    aside = len(known) // ASIDE
    first, last = float(known[aside]), float(known[-1 - aside])
    low = max(float(known[0]), 2 * first - last)
    high = min(float(known[-1]), 2 * last - first)
    low, high = (float(f"{end:.6g}") for end in (low, high))
    if not low < high:
        return None
    inside = np.clip(known, low, high)
    mean = float(f"{np.round(inside - low, 12).mean() + low:.9g}")
    deviation = float(f"{np.sqrt(np.square(inside - mean).mean()):.9g}")
    if not deviation > 1e-9 * (high - low):
        return None
    return LineEnds(low, high, mean, deviation, bool(((known == known[0]) | (known == known[-1])).all()))


LARGEST = 1e100
"""Values beyond are sentinels or near to infinity: they have no line."""


def standardised(values: Floats, limits: LineEnds) -> Floats:
    """Values in units of their deviation; those beyond the limits as these, missing ones as 0."""
    low, high, mean, deviation, _ = limits
    moved = (np.clip(np.where(np.isnan(values), mean, values), low, high) - mean) / deviation
    return np.asarray(np.round(np.where(np.isnan(values), 0.0, moved), DIGITS))


def fitted_lines(data: LineData, weights: Floats, judged: Floats) -> Lines | None:
    """The lines of each model, with the penalty of the least judged loss; None if nothing has a line.

    Column k of ``weights`` has the weight of each example in model k, and of ``judged`` where it is judged.
    """
    number = weights.shape[1]
    looked = drawn(data.sizes, np.vstack([weights.T, judged.T]), ENOUGH_EXAMPLES)
    columns, places = _columns(data.values, looked.places)
    if len(places) == 0:
        return None
    targets, offset = looked.of(data.targets), looked.of(data.offset)
    models = [
        _Model(columns, rows_of(data.loss.smooth(), targets, inside), offset, outside)
        for inside, outside in zip(looked.weights[:number], looked.weights[number:], strict=True)
    ]
    judges = [each for each in models if each.judged.any()][-CHOOSERS:]
    if not judges:
        return None
    with one_thread():
        penalty, start = _best_penalty(judges, data.loss, targets)
        fitted = [each.fitted(penalty, start) for each in models]
    return _as_lines(fitted, places, len(data.values.candidates))


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


def share_of_lines(
    loss: Loss, targets: Floats, judged: Floats, both: tuple[Floats, Floats], surely: float = 1.0
) -> float:
    """The share of lines beside steps: it grows as long as that clearly lowers the loss.

    ``both`` has the scores by steps and by lines: a column for each model. An example is scored by the
    average of the models that are judged on it, as new examples are by the average of all. ``surely`` says by
    how many standard errors a share must be better than the one before it.
    """
    times = (judged != 0).sum(axis=1)
    known = times > 0
    if not known.any():
        return 0.0
    steps, lines = (np.where(judged != 0, own, 0.0).sum(axis=1)[known] / times[known] for own in both)
    sizes, targets = (judged.sum(axis=1)[known] / times[known]), targets[known]
    total = float(sizes.sum())
    best, least = 0.0, loss.each(targets, steps)
    for share in SHARES:
        losses = loss.each(targets, (1.0 - share) * steps + share * lines)
        gaps = losses - least
        mean = float((gaps * sizes).sum()) / total
        variance = float(((gaps - mean) ** 2 * sizes).sum()) / total
        if -mean <= surely * np.sqrt(variance / total):
            break
        best, least = share, losses
    return best


def lines_or_steps(curves: Sequence[Floats], bins: Bins, line: Floats, sizes: Floats) -> None:
    """Make a feature's curves in several models lines, if the last one is nearly a line, else steps.

    A curve has a level for each bin and, last, a slope; it is changed in place. A curve that is both is hard
    to read: its levels say little without its slope.
    """
    average = curves[-1]
    weights = sizes * (bins > 0)
    total = float(weights.sum())
    middle = float((weights * line).sum()) / total if total else 0.0
    away = line - middle
    length = float((weights * away * away).sum())
    if not average[-1] or not average[1:-1].any() or not length:
        return
    whole = average[bins] + average[-1] * line
    whole = whole - float((weights * whole).sum()) / total
    along = float((weights * whole * away).sum())
    if along * along >= NEARLY * length * float((weights * whole * whole).sum()):
        for curve in curves:
            levels = curve[bins]
            slope = float((weights * levels * away).sum()) / length
            curve[0] -= float((weights * levels).sum()) / total - slope * middle
            curve[-1] += slope
            curve[1:-1] = 0.0
        return
    counts = np.bincount(bins, weights, minlength=len(average) - 1)
    sums = np.bincount(bins, weights * line, minlength=len(average) - 1)
    means = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
    for curve in curves:
        curve[:-1] += curve[-1] * means
        curve[-1] = 0.0


def _columns(
    values: LineValues, looked: npt.NDArray[np.int64] | None
) -> tuple[Floats, list[tuple[int, bool]]]:
    """A column for each line, one for each set of examples whose values are missing, and the intercept's.

    With each column but the last, the row of the values, and whether it is about missing values.
    """
    columns: list[Floats] = []
    places: list[tuple[int, bool]] = []
    seen: set[bytes] = set()
    for place, (column, missing) in enumerate(zip(values.columns, values.missing, strict=True)):
        own, none = (column, missing) if looked is None else (column[looked], missing[looked])
        columns.append(own)
        places.append((place, False))
        key = np.packbits(none).tobytes()
        if none.any() and key not in seen:
            seen.add(key)
            columns.append(none.astype(np.float64))
            places.append((place, True))
    size = values.columns.shape[1] if looked is None else len(looked)
    return np.column_stack([*columns, np.ones(size)]), places


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


def _as_lines(weights: Sequence[Floats], places: Sequence[tuple[int, bool]], number: int) -> Lines:
    slopes, missing = np.zeros((len(weights), number)), np.zeros((len(weights), number))
    for model, own in enumerate(weights):
        for weight, (place, is_missing) in zip(own.tolist(), places, strict=False):
            (missing if is_missing else slopes)[model, place] = round(weight, DIGITS)
    return Lines(slopes, missing, [round(float(own[-1]), DIGITS) for own in weights])
