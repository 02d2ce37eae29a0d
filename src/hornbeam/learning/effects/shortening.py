"""The short model: the fewest effects that keep most of what the long model gains on held-out examples.

Effects are chosen one after the other, so that the curves of all that are chosen, fitted together to the long
model's scores, leave least of them unexplained.

What a choice keeps is measured on examples that its curves were not fitted to: in each bag, the curves are
fitted to the long model's scores of the examples in the bag, and compared with those of the examples that
judge the bag. What the difference costs, if the long model is right, is the part of its gain that is lost.
(Losses by the labels of these examples would be too favourable: a bag's own model overfits more than the
average does, so that any short model seems as good.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.learning.effects.steps.bin_sums import bin_sums, summed_by
from hornbeam.learning.losses.loss import Loss, Score
from hornbeam.learning.numbers import Floats
from hornbeam.learning.workers import ALONE, Jobs
from hornbeam.model.scales import softmax

SWEEPS = 3
"""How often each curve is fitted again to what the others leave, whenever effects were added."""
RIDGE = 5.0
"""Weight of the long model's level in the fit of a level: other effects' curves replace little of it."""
TURNS = 10
"""Number of Newton steps to the best factor."""
DIGITS = 6
"""Number of decimals of the factor."""
AS_GOOD = 0.8
"""Of the effects that explain at least this share of what the best one explains, the simplest is chosen."""
COPY = 0.95
"""Candidates of one path with at least this rank correlation are near-copies: one of them is enough."""
LOOKED = 2_000
"""About this many examples say how near candidates are."""
FEW, ENOUGH = 20, 0.95
"""This many effects are not exceeded if they keep at least this share of the gain."""
SIZES = (*range(11), 12, 14, 16, 18, FEW, 22, 25, 28, 32, 36, 40, 45, 50, 55, 60, 70, 80, 100, 120)
"""The numbers of effects that are judged on held-out examples."""

OTHER_FITS = 10
"""About this many bags can be fitted in the time in which the order of the effects is found."""
NAME = "short"

Bins = npt.NDArray[np.uint8]


class Idea(NamedTuple):
    """What a candidate is about, and how simple it is."""

    predicates: frozenset[str]
    conditions: int
    length: int
    """the number of its steps and of their limits in time"""

    def is_near(self, other: Idea) -> bool:
        """Whether both follow the same path, of which one may read an attribute and the other not."""
        return self.predicates <= other.predicates or other.predicates <= self.predicates


class Long(NamedTuple):
    """The long model: the bins of its candidates, and the score of each example in each model."""

    bins: Bins
    scores: Floats
    """one column for each model; the last one is the average, which is the long model"""
    weights: Floats
    """weight of each example in each model; the last column counts every example"""
    judged: Floats
    """weight of each example where each model is judged, but for the average"""
    curves: list[Floats]
    """the curves of each model: a row for each candidate, with a level for each bin and, last, a slope"""
    offset: Floats
    """what effects other than curves add to the score of each example"""
    ideas: Sequence[Idea]
    """what each candidate is about"""
    directions: Floats
    """for each candidate 1 if its curve may only rise, -1 if it may only fall, else 0"""
    n_bins: Sequence[int]
    """the number of bins of each candidate, with that of missing values"""
    values: Mapping[int, Floats] = {}
    """for each candidate with a line, its value in each example"""

    @property
    def average(self) -> int:
        """The column of the long model."""
        return len(self.curves) - 1


class Wanted(NamedTuple):
    """What a short model has to keep."""

    share: float
    """the share of the long model's gain"""
    gain: float
    """how much the long model lowers the mean loss of the examples that judge; NaN if none do"""
    most: int | None = None
    """the largest number of effects; None for ``FEW``, or more if these do not keep enough"""


@dataclass(frozen=True, eq=False)
class Short:
    """The candidates of the short model in order of choice, their curves, and the intercept."""

    chosen: tuple[int, ...]
    curves: Floats
    intercept: Score
    lost: float
    """how much of the long model's gain is lost on the examples that judge; NaN if none do"""
    kept: float
    """the share of the gain that is kept; NaN if that is not known"""
    of_bags: Sequence[Floats] = ()
    """the curves of the same effects, fitted to the scores of each bag"""

    def is_enough(self, wanted: Wanted) -> bool:
        """Whether the model keeps what is wanted."""
        if len(self.chosen) == FEW and wanted.most is None:
            return self.kept >= min(wanted.share, ENOUGH)
        return self.kept >= wanted.share


def shortened(long: Long, targets: Floats, loss: Loss, wanted: Wanted, jobs: Jobs = ALONE) -> Short:
    """The shortest model that keeps what is wanted; without one, the shortest of those that keep most."""
    rows = _Rows(long.bins)
    order = _Order(long, rows, targets, loss)
    final = _Fit(long, rows, (long.average, long.average), targets, loss)
    fits = _FitsOfBags(long, targets, loss, jobs)
    gain = min(wanted.gain, _lost_by_a_constant(long, targets, loss))
    tried: list[Short] = []
    for size in _sizes(wanted):
        chosen = order.first(size)
        final.extend(chosen)
        before, lost = fits.lost(chosen)
        kept = 1.0 - before / gain if gain > 0 else math.nan
        tried.append(Short(tuple(chosen), final.levels(), final.constant(), lost, kept))
        if tried[-1].is_enough(wanted) or order.is_complete(size):
            break
    best = tried[-1] if tried[-1].is_enough(wanted) else max(tried, key=_kept_share)
    return replace(best, of_bags=fits.curves(list(best.chosen)))


def _lost_by_a_constant(long: Long, targets: Floats, loss: Loss) -> float:
    """How much the best constant of all examples loses against the long model on the examples that judge.

    With few examples, constants of bags lose more by chance than effects could gain.
    """
    judging = long.judged.sum(axis=1)
    total = float(judging.sum())
    right = long.scores[:, long.average]
    start = loss.start(targets, long.weights[:, long.average])
    constant = np.broadcast_to(start, right.shape)
    return float((judging * loss.excess(targets, right, constant)).sum()) / total if total else math.nan


def _kept_share(short: Short) -> float:
    return -math.inf if math.isnan(short.kept) else short.kept


def _sizes(wanted: Wanted) -> tuple[int, ...]:
    """The numbers of effects that are judged."""
    if wanted.most is None:
        return SIZES
    smaller = tuple(size for size in SIZES if size < wanted.most) if wanted.share < 1 else ()
    return (*smaller, wanted.most)


class BagFits:
    """The short models of some bags, judged on the examples outside them."""

    def __init__(self, long: Long, targets: Floats, loss: Loss, bags: Sequence[int]) -> None:
        self._long, self._targets, self._loss, self._bags = long, targets, loss, bags
        self._rows = _Rows(long.bins)
        self._fits = [_Fit(long, self._rows, (long.average, bag), targets, loss) for bag in bags]

    def extend(self, chosen: list[int]) -> list[tuple[float, float]]:
        """Fit the curves of more candidates to the long model, and sum up what is lost outside each bag.

        With classes, before all curves are stretched by one factor, and after it: few effects that are
        stretched far seem to lose less than they do.
        """
        lost = []
        for fit, bag in zip(self._fits, self._bags, strict=True):
            fit.extend(chosen)
            weights = self._long.judged[:, bag]
            places = np.flatnonzero(weights != 0)
            right, targets = self._long.scores[places, self._long.average], self._targets[places]
            both = [
                float((weights[places] * self._loss.excess(targets, right, scores[places])).sum())
                for scores in fit.before_and_after()
            ]
            lost.append((both[0], both[-1]))
        return lost

    def curves(self, chosen: list[int]) -> list[Floats]:
        """The curves of candidates, fitted to the scores of each bag."""
        found = []
        for bag in self._bags:
            fit = _Fit(self._long, self._rows, (bag, bag), self._targets, self._loss)
            fit.extend(chosen)
            found.append(fit.levels())
        return found


class _FitsOfBags:
    """The short models of all bags: some in this process, the others in workers."""

    def __init__(self, long: Long, targets: Floats, loss: Loss, jobs: Jobs) -> None:
        number = long.average
        self._total = float(long.judged.sum())
        self._jobs, self._workers = jobs, jobs.workers[:number]
        # The order of the effects, which takes as long as some bags, is found in this process too.
        own = number
        if self._workers:
            own = max(0, (number + OTHER_FITS) // (len(self._workers) + 1) - OTHER_FITS)
        n_others, n_workers = number - own, len(self._workers)
        edges = [own + n_others * place // max(1, n_workers) for place in range(n_workers + 1)]
        with jobs.together():
            for worker, (start, end) in zip(self._workers, pairwise(edges), strict=True):
                worker.make(NAME, BagFits, long, targets, loss, range(start, end))
            self._own = BagFits(long, targets, loss, range(own))
            for worker in self._workers:
                worker.answer()

    def lost(self, chosen: list[int]) -> tuple[float, float]:
        """How much of the long model's gain is lost with more candidates, on average; NaN if none judge."""
        lost: list[tuple[float, float]] = self._asked("extend", chosen)
        if not self._total:
            return math.nan, math.nan
        before, after = (sum(each) / self._total for each in zip(*lost, strict=True))
        return before, after

    def curves(self, chosen: list[int]) -> list[Floats]:
        """The curves of candidates, fitted to the scores of each bag."""
        return self._asked("curves", chosen)

    def _asked(self, method: str, *arguments: Any) -> list[Any]:
        """The answers for all bags, in order."""
        with self._jobs.together():
            for worker in self._workers:
                worker.ask(NAME, method, *arguments)
            found: list[Any] = getattr(self._own, method)(*arguments)
            for worker in self._workers:
                found += worker.answer()
        return found


class _Rows:
    """The bins of candidates as numbers by which arrays are indexed at once; made when they are needed."""

    def __init__(self, bins: Bins) -> None:
        self._bins = bins
        self._made: dict[int, npt.NDArray[np.intp]] = {}

    def __getitem__(self, candidate: int) -> npt.NDArray[np.intp]:
        row = self._made.get(candidate)
        if row is None:
            row = self._made[candidate] = self._bins[candidate].astype(np.intp)
        return row


class _Order:
    """Candidates in the order in which they explain the long model's scores; each is chosen when needed."""

    def __init__(self, long: Long, rows: _Rows, targets: Floats, loss: Loss) -> None:
        self._long = long
        self._fit = _Fit(long, rows, (long.average, long.average), targets, loss)
        self._of_bins = bin_sums(long.bins, self._fit.size)
        self._weights = self._sums(self._fit.weights)
        self._ranks = _ranks_of(long.bins, long.weights[:, long.average])
        self._chosen: list[int] = []
        self._copies: set[int] = set()
        """near-copies of those that are chosen"""
        self._more = True

    def first(self, size: int) -> list[int]:
        """The first candidates; fewer if no others explain anything."""
        while self._more and len(self._chosen) < size:
            self._more = self._add()
        return self._chosen[:size]

    def is_complete(self, size: int) -> bool:
        """Whether there are no more than so many candidates."""
        return len(self.first(size + 1)) <= size

    def _sums(self, values: Floats) -> Floats:
        """The sums of values over each bin of each candidate; classes, or one column, are the last axis."""
        columns = values.reshape(len(values), -1)
        sums = np.empty((len(self._long.bins), self._fit.size, columns.shape[1]))
        for block, each in self._of_bins.of(columns):
            sums[block] = each
        return sums

    def _add(self) -> bool:
        """Choose one more candidate, unless none explains anything; its near-copies are out from then on."""
        fit, ideas = self._fit, self._long.ideas
        if len(self._chosen) == len(self._long.bins):
            return False
        gains = self._gains(fit.weights * (fit.wanted - fit.score))
        gains[[*self._chosen, *self._copies]] = -1.0
        if gains.max() <= 1e-6:
            return False
        good = np.flatnonzero(gains >= AS_GOOD * gains.max()).tolist()
        fewest = min(ideas[each].conditions for each in good)
        best = max((each for each in good if ideas[each].conditions == fewest), key=lambda each: gains[each])
        copies = self._near(best)
        as_good = [each for each in copies if gains[each] >= AS_GOOD * gains[best]]
        chosen = min(as_good, key=lambda each: (*ideas[each][1:], each != best, each))
        self._copies.update(each for each in copies if each not in self._chosen)
        self._copies.discard(chosen)
        self._chosen.append(chosen)
        fit.extend(self._chosen)
        return True

    def _gains(self, left: Floats) -> Floats:
        """How much each candidate explains of what is left: by levels, or by its line if it has no levels."""
        sums = self._sums(left)
        gains = (sums * sums / (self._weights + RIDGE)).sum(axis=(1, 2))
        for candidate, values in self._fit.values.items():
            along = float((left * values).sum())
            by_line = along * along / (float((self._fit.weights * values * values).sum()) + RIDGE)
            of_missing = sums[candidate, 0, 0] ** 2 / (self._weights[candidate, 0, 0] + RIDGE)
            if self._fit.is_line[candidate]:
                gains[candidate] = by_line + of_missing
        return np.asarray(np.round(gains, 9))

    def _near(self, candidate: int) -> list[int]:
        """The candidates that say nearly the same about the same path; the candidate is one of them."""
        ideas = self._long.ideas
        near = [each for each, idea in enumerate(ideas) if idea.is_near(ideas[candidate])]
        ranks = self._ranks
        # Bins are in the order of values, so that their correlation is one of ranks.
        alike = np.abs((ranks[near] * ranks[candidate]).sum(axis=1)) >= COPY
        return [
            each for each, is_copy in zip(near, alike.tolist(), strict=True) if is_copy or each == candidate
        ]


def _ranks_of(bins: Bins, sizes: Floats) -> Floats:
    """For each candidate the ranks of some examples by their bins; products of two rows are correlations."""
    every = slice(None, None, max(1, len(sizes) // LOOKED))
    bins, sizes = bins[:, every], sizes[every]
    ranks = np.empty(bins.shape)
    for own, row in zip(ranks, bins, strict=True):
        counts = np.bincount(row, sizes)
        own[:] = (np.cumsum(counts) - counts / 2)[row]
    ranks -= (ranks * sizes).sum(axis=1, keepdims=True) / sizes.sum()
    ranks *= np.sqrt(sizes)
    lengths = np.sqrt((ranks * ranks).sum(axis=1, keepdims=True))
    return np.asarray(np.divide(ranks, lengths, out=np.zeros_like(ranks), where=lengths > 0))


class Stretch:
    """The factor of all curves that brings the probabilities of classes nearest to those of the long model.

    Scores that are fitted by least squares are nearer to each other than the probabilities ask for.
    """

    def __init__(self, loss: Loss, weights: Floats, offset: Floats) -> None:
        self._loss, self._weights, self._offset = loss, weights, offset

    def stretched(self, scores: Floats, factor: float) -> Floats:
        """The scores with another factor."""
        return self._offset + factor * (scores - self._offset)

    def best(self, wanted: Floats, scores: Floats) -> float:
        """The factor of the least mean divergence from the wanted scores, by Newton's method."""
        right, by_curves, factor = softmax(wanted), scores - self._offset, 1.0
        for _ in range(TURNS):
            chances = softmax(self.stretched(scores, factor))
            mean = (chances * by_curves).sum(axis=1, keepdims=True)
            slope = float((self._weights * (right - chances) * by_curves).sum())
            curvature = float((self._weights * chances * (by_curves - mean) ** 2).sum())
            if curvature <= 0.0:
                break
            factor = min(max(factor + slope / curvature, factor / 2.0), 2.0 * factor)
        return round(factor, DIGITS)


class _Fit:
    """Curves of some candidates that approximate the scores of a model by weighted least squares.

    ``columns`` are those of the scores and of the weights of the examples.
    """

    def __init__(
        self, long: Long, rows: _Rows, columns: tuple[int, int], targets: Floats, loss: Loss
    ) -> None:
        of_scores, of_weights = columns
        self.rows = rows
        self.wanted = long.scores[:, of_scores]
        _, curvature = loss.gradients(targets, self.wanted)
        of_examples = long.weights[:, of_weights].reshape(-1, *(1 for _ in loss.shape))
        self.weights = of_examples * np.maximum(curvature, 1e-3)
        self._stretch = Stretch(loss, of_examples, long.offset) if loss.shape else None
        self.factor = 1.0
        self.own = long.curves[of_scores]
        self.directions, self.n_bins, self.values = long.directions, long.n_bins, long.values
        self.size = self.own.shape[1] - 1
        self.is_line = [not levels.any() for levels in long.curves[long.average][:, 1:-1]]
        """whether the curve of a candidate is a line, and a level for missing values"""
        self.chosen: list[int] = []
        self.curves: dict[int, Floats] = {}
        self.sizes: dict[int, Floats] = {}
        """the sum of weights in each bin of each candidate so far"""
        self.intercept: Score = np.zeros(loss.shape) if loss.shape else 0.0
        self.score = long.offset.copy()
        self._centre()

    def extend(self, order: list[int]) -> None:
        """Fit the curves of more candidates, and those so far again."""
        new = order[len(self.chosen) :]
        for candidate in new:
            row = self.rows[candidate]
            self.curves[candidate] = self.own[candidate].copy()
            self.sizes[candidate] = summed_by(row, self.weights, self.size)
            self.score += self.own[candidate][row]
            if candidate in self.values:
                self.score += self.own[candidate][-1] * self.values[candidate]
        self._centre()
        self.chosen = list(order)
        for _ in range(SWEEPS):
            for candidate in self.chosen:
                self._fit(candidate)
            self._centre()
        if self._stretch is not None:
            self.factor = self._stretch.best(self.wanted, self.score)

    def levels(self) -> Floats:
        """A row for each candidate so far: its curve."""
        curves = np.array([self.curves[each] for each in self.chosen]).reshape(-1, *self.own.shape[1:])
        return self.factor * curves

    def before_and_after(self) -> list[Floats]:
        """The scores of all examples; with classes, also with stretched curves."""
        if self._stretch is None:
            return [self.score]
        return [self.score, self._stretch.stretched(self.score, self.factor)]

    def constant(self) -> Score:
        """The intercept."""
        return self.factor * self.intercept

    def _fit(self, candidate: int) -> None:
        if candidate in self.values:
            self._fit_slope(candidate)
        row = self.rows[candidate]
        left = self.weights * (self.wanted - self.score)
        sums = summed_by(row, left, self.size)
        curve = self.curves[candidate][:-1]
        own = self.own[candidate][:-1]
        change = (sums + RIDGE * (own - curve)) / (self.sizes[candidate] + RIDGE)
        if self.is_line[candidate] and candidate in self.values:
            change[1:] = 0.0
        elif self.directions[candidate]:
            change = self._directed(candidate, curve + change) - curve
        self.curves[candidate][:-1] = curve + change
        self.score += change[row]

    def _fit_slope(self, candidate: int) -> None:
        values, curve = self.values[candidate], self.curves[candidate]
        weighted = self.weights * values
        wanted = float((weighted * (self.wanted - self.score)).sum())
        wanted += RIDGE * float(self.own[candidate][-1] - curve[-1])
        change = wanted / (float((weighted * values).sum()) + RIDGE)
        curve[-1] += change
        self.score += change * values

    def _directed(self, candidate: int, curve: Floats) -> Floats:
        """The best curve that goes in the direction of the candidate, given the best one of all."""
        from hornbeam.model.editing.curves import falling, rising

        known = slice(1, self.n_bins[candidate])
        nearest = rising if self.directions[candidate] > 0 else falling
        directed = curve.copy()
        directed[known] = nearest(curve[known].tolist(), (self.sizes[candidate][known] + RIDGE).tolist())
        return directed

    def _centre(self) -> None:
        total = self.weights.sum(axis=0)
        if total.min() > 0:
            change = (self.weights * (self.wanted - self.score)).sum(axis=0) / total
            self.intercept = self.intercept + change
            self.score += change
