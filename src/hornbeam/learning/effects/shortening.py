"""The short model: the fewest effects that predict held-out examples as well as the long model.

Effects are chosen one by one so that their curves, fitted to the long model's scores, leave least of them
unexplained. The same choice is fitted to the scores of each model, and judged on the same examples as it.
The short model has the fewest effects whose loss is within one paired standard error of the long model's, and
whose scores are close to the long model's: bags overfit more than their average does, so that their held-out
examples alone would be content with too few effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.learning.effects.steps.bin_sums import bin_sums
from hornbeam.learning.losses.loss import Loss
from hornbeam.learning.numbers import Floats
from hornbeam.learning.workers import ALONE, Jobs

SWEEPS = 3
"""How often each curve is fitted again to what the others leave, whenever effects were added."""
RIDGE = 5.0
"""Weight of the long model's level in the fit of a level: other effects' curves replace little of it."""
SHARE_LOST, MOST_LOST = 0.002, 0.005
"""Share of the long model's gain over no effects that the difference of scores may cost at most: usually, and
with the largest number of effects, beyond which nobody reads a model."""
AS_GOOD = 0.8
"""Of the effects that explain at least this share of what the best one explains, the simplest is chosen."""
SIZES = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 27, 33, 40, 50, 60, 75, 95, 120)
"""The numbers of effects that are judged on held-out examples."""

OTHER_FITS = 10
"""About this many bags can be fitted in the time in which the order of the effects is found."""
NAME = "short"

Bins = npt.NDArray[np.uint8]


class Long(NamedTuple):
    """The long model: the bins of its candidates, and the score of each example in each model."""

    bins: Bins
    scores: Floats
    """one column for each model; the last one is the average, which is the long model"""
    weights: Floats
    """weight of each example in each model; the last column counts every example"""
    judged: Floats
    """weight of each example where each model is judged, but for the average"""
    judging: Floats
    """weight of each example among those that judge"""
    curves: list[Floats]
    """the curves of each model: a row for each candidate"""
    offset: Floats
    """what effects other than curves add to the score of each example"""
    conditions: Floats
    """the number of conditions in the body of each candidate"""


@dataclass(frozen=True, eq=False)
class Short:
    """The candidates of the short model in order of choice, their curves, and the intercept."""

    chosen: tuple[int, ...]
    curves: Floats
    intercept: float
    enough: bool = True
    """whether it predicts held-out examples as well as the long model"""
    held_out_loss: float | None = None
    """the mean loss of the same effects, fitted in each model, on the examples that judge it"""
    of_bags: Sequence[Floats] = ()
    """the curves of the same effects in each bag"""


def shortened(
    long: Long,
    targets: Floats,
    loss: Loss,
    most: int | None,
    judge: tuple[bool, float],
    jobs: Jobs = ALONE,
) -> Short:
    """The short model; ``most`` is the largest number of effects allowed.

    ``judge`` says whether held-out examples judge it, and how much the long model lowered their loss.
    Otherwise it has as many effects as allowed.
    """
    judged, gained = judge
    rows = _Rows(long.bins)
    order = _Order(long, rows, targets, loss)
    limit = SIZES[-1] if most is None else most
    final = _Fit(long, rows, long.scores.shape[1] - 1, targets, loss)
    fits = _FitsOfBags(long, targets, loss, jobs)
    enough, held_out = not judged, None
    for size in (*(size for size in SIZES if judged and size < limit), limit):
        chosen = order.first(size)
        final.extend(chosen)
        excess, held_out = fits.judged(chosen)
        if judged:
            mean, error = excess
            share = MOST_LOST if size == SIZES[-1] else SHARE_LOST
            enough = mean <= error and final.distance() <= share * gained
        if enough or len(chosen) < size or order.is_complete(size):
            break
    return Short(tuple(final.chosen), final.levels(), final.intercept, enough, held_out, fits.curves())


class HeldOut(NamedTuple):
    """The loss of each example outside a bag, times its weight there: of the short model, and its excess."""

    losses: Floats
    excess: Floats


class BagFits:
    """The short models of some bags, judged on the examples outside them."""

    def __init__(self, long: Long, targets: Floats, loss: Loss, columns: Sequence[int]) -> None:
        rows = _Rows(long.bins)
        self._loss = loss
        self._fits = [_Fit(long, rows, column, targets, loss) for column in columns]
        self._outside = [outside_of(long, column) for column in columns]
        self._targets = [targets[places] for places, _ in self._outside]
        self._whole = [
            loss.each(own, long.scores[places, column])
            for own, (places, _), column in zip(self._targets, self._outside, columns, strict=True)
        ]

    def extend(self, chosen: list[int]) -> list[HeldOut]:
        """Fit the curves of more candidates, and judge each bag."""
        for fit in self._fits:
            fit.extend(chosen)
        return [
            self._held_out(self._loss.each(own, fit.score[places]), whole, weights)
            for fit, own, (places, weights), whole in zip(
                self._fits, self._targets, self._outside, self._whole, strict=True
            )
        ]

    def curves(self) -> list[Floats]:
        """The curves of each bag, in order of choice."""
        return [fit.levels() for fit in self._fits]

    def _held_out(self, short: Floats, whole: Floats, weights: Floats) -> HeldOut:
        return HeldOut(short * weights, weights * (short - whole))


def outside_of(long: Long, column: int) -> tuple[npt.NDArray[np.intp], Floats]:
    """The examples outside a bag, and their weights there."""
    weights = long.judged[:, column]
    places = np.flatnonzero(weights != 0)
    return places, weights[places]


class _FitsOfBags:
    """The short models of all bags: some in this process, the others in workers."""

    def __init__(self, long: Long, targets: Floats, loss: Loss, jobs: Jobs) -> None:
        number = long.scores.shape[1] - 1
        self._long, self._jobs, self._workers = long, jobs, jobs.workers[:number]
        self._outside = [outside_of(long, column)[0] for column in range(number)]
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

    def judged(self, chosen: list[int]) -> tuple[tuple[float, float], float | None]:
        """What more candidates give: mean and standard error of the excess, and the mean loss."""
        found: list[HeldOut] = self._asked("extend", chosen)
        return self._excess(found), self._mean_loss(found)

    def curves(self) -> list[Floats]:
        """The curves of each bag, in order of choice."""
        return self._asked("curves")

    def _asked(self, method: str, *arguments: Any) -> list[Any]:
        """The answers for all bags, in order."""
        with self._jobs.together():
            for worker in self._workers:
                worker.ask(NAME, method, *arguments)
            found: list[Any] = getattr(self._own, method)(*arguments)
            for worker in self._workers:
                found += worker.answer()
        return found

    def _mean_loss(self, found: list[HeldOut]) -> float | None:
        total = float(self._long.judged.sum())
        each = np.zeros(self._long.judged.shape)
        for column, (places, held_out) in enumerate(zip(self._outside, found, strict=True)):
            each[places, column] = held_out.losses
        return float(each.sum() / total) if total else None

    def _excess(self, found: list[HeldOut]) -> tuple[float, float]:
        """The mean loss above the long model's on the examples that judge, and its standard error."""
        long = self._long
        times = long.judged.sum(axis=1)
        total = np.zeros(len(times))
        for places, held_out in zip(self._outside, found, strict=True):
            total[places] += held_out.excess
        seen = times > 0
        if not seen.any():
            return 0.0, 0.0
        # An example that is outside several bags counts once, with its mean.
        each = total[seen] / times[seen]
        number = long.judging[seen]
        size = float(number.sum())
        mean = float((each * number).sum() / size)
        spread = float((((each - mean) ** 2) * number).sum() / size)
        return mean, float(np.sqrt(spread / size))


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
        self._fit = _Fit(long, rows, long.scores.shape[1] - 1, targets, loss)
        self._of_bins = bin_sums(long.bins, self._fit.size)
        self._weights = self._sums(self._fit.weights)
        self._chosen: list[int] = []
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
        """The sum of values over each bin of each candidate."""
        sums = np.empty((len(self._long.bins), self._fit.size))
        for block, each in self._of_bins.of(values[:, None]):
            sums[block] = each[..., 0]
        return sums

    def _add(self) -> bool:
        """Choose one more candidate, unless none explains anything."""
        fit, conditions = self._fit, self._long.conditions
        if len(self._chosen) == len(self._long.bins):
            return False
        sums = self._sums(fit.weights * (fit.wanted - fit.score))
        gains = np.round((sums * sums / (self._weights + RIDGE)).sum(axis=1), 9)
        gains[self._chosen] = -1.0
        if gains.max() <= 1e-6:
            return False
        good = np.flatnonzero(gains >= AS_GOOD * gains.max())
        simple = good[conditions[good] == conditions[good].min()]
        self._chosen.append(int(simple[gains[simple].argmax()]))
        fit.extend(self._chosen)
        return True


class _Fit:
    """Curves of some candidates that approximate the scores of one model by weighted least squares."""

    def __init__(self, long: Long, rows: _Rows, column: int, targets: Floats, loss: Loss) -> None:
        self.rows = rows
        self.wanted = long.scores[:, column]
        _, curvature = loss.gradients(targets, self.wanted)
        self.weights = long.weights[:, column] * np.maximum(curvature, 1e-3)
        self.total = float(long.weights[:, column].sum())
        self.own = long.curves[column]
        self.size = self.own.shape[1]
        self.chosen: list[int] = []
        self.curves: dict[int, Floats] = {}
        self.sizes: dict[int, Floats] = {}
        """the sum of weights in each bin of each candidate so far"""
        self.intercept = 0.0
        self.score = long.offset.copy()
        self._centre()

    def extend(self, order: list[int]) -> None:
        """Fit the curves of more candidates, and those so far again."""
        new = order[len(self.chosen) :]
        for candidate in new:
            row = self.rows[candidate]
            self.curves[candidate] = self.own[candidate].copy()
            sizes: Floats = np.bincount(row, self.weights, minlength=self.size).astype(np.float64)
            self.sizes[candidate] = sizes
            self.score += self.own[candidate][row]
        self._centre()
        self.chosen = list(order)
        for _ in range(SWEEPS):
            for candidate in self.chosen:
                self._fit(candidate)
            self._centre()

    def levels(self) -> Floats:
        """A row for each candidate so far: its curve."""
        return np.array([self.curves[each] for each in self.chosen]).reshape(-1, self.size)

    def distance(self) -> float:
        """The loss that the difference of scores costs, if the wanted scores were right."""
        left = self.wanted - self.score
        return float(0.5 * (self.weights * left * left).sum() / self.total)

    def _fit(self, candidate: int) -> None:
        row = self.rows[candidate]
        left = self.weights * (self.wanted - self.score)
        sums = np.bincount(row, left, minlength=self.size)
        curve = self.curves[candidate]
        change = (sums + RIDGE * (self.own[candidate] - curve)) / (self.sizes[candidate] + RIDGE)
        self.curves[candidate] = curve + change
        self.score += change[row]

    def _centre(self) -> None:
        total = float(self.weights.sum())
        if total > 0:
            change = float((self.weights * (self.wanted - self.score)).sum()) / total
            self.intercept += change
            self.score += change
