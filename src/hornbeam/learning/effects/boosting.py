"""Boosting over bins: many small steps, for all bags at once.

A step adds to one candidate's curve: two levels on either side of a cut and one for missing values, or a line
over the scores of its bins, whichever lowers the quadratic approximation of the loss more. The step is shrunk
by the learning rate. Sums of gradients are whole multiples of 2**-30, hence exact, so the order of the
examples does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.sparse import Matrix
from hornbeam.learning.losses.loss import Loss
from hornbeam.learning.numbers import GRADIENT_BITS, Floats

UNIT = 2.0**GRADIENT_BITS
AT_ONCE = 4
"""Number of steps between two rankings of the active candidates."""
ACTIVE = 40
"""Number of candidates that are active for each bag."""
RENEWALS = (0, 24, 48, 96, 192, 384, 768)
"""The steps before which the active candidates are chosen again among all."""
MOST_CELLS = 8_000_000
"""Sums of all candidates are prepared once if there are at most this many bins, else piece by piece."""
PATIENCE = 60
"""Steps without a lower loss on held-out examples after which boosting ends."""


class Steps(NamedTuple):
    """What a learner fixes about steps."""

    number: int
    rate: float
    l2: float
    line_l2: float
    start: float | None = None
    """the score before the first step; None for the constant with the least loss"""
    patient: bool = False
    """whether all steps are taken, even if they do not lower the loss on held-out examples"""
    worth: Floats | None = None
    """what the gain of each candidate is multiplied by before gains are compared; None for 1"""


class Addition(NamedTuple):
    """What a step added to the curve of a candidate: a change for each bin, and the intercept after it."""

    candidate: int
    change: Floats
    intercept: float


@dataclass(eq=False)
class Bags:
    """Boosted models, one for each bag; column k of ``weights`` has the weight of each example in bag k."""

    start: Floats
    additions: list[list[Addition]]
    mean_losses: list[float] = field(default_factory=list)
    """before the first step and after each one, the mean loss of the examples that are held out"""

    @property
    def done(self) -> int:
        """Number of complete steps."""
        return len(self.mean_losses) - 1

    def chosen(self) -> list[list[int]]:
        """For each complete step, the candidate of each bag, or -1."""
        return [[own[step].candidate for own in self.additions] for step in range(self.done)]


class BinSums:
    """Sums over the examples in each bin of some candidates, by one sparse product."""

    def __init__(self, bins: npt.NDArray[np.uint8]) -> None:
        self.bins = bins
        self.size = int(bins.max(initial=0)) + 1
        number = len(bins)
        counts = np.array([np.bincount(row, minlength=self.size) for row in bins]).reshape(number, self.size)
        self.usual = counts.argmax(axis=1)
        # The bin with most examples is left out: its sum is what remains of the total.
        rows, places = [], []
        starts = [0]
        for candidate, row in enumerate(bins):
            order = np.argsort(row, kind="stable")
            edges = np.r_[0, np.cumsum(counts[candidate])]
            for level in range(self.size):
                if level != self.usual[candidate]:
                    rows.append(order[edges[level] : edges[level + 1]])
                    places.append((candidate, level))
                    starts.append(starts[-1] + len(rows[-1]))
        columns = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
        self._places = np.array(places, dtype=np.int64).reshape(-1, 2)
        self._matrix = Matrix(
            np.array(starts, dtype=np.int32),
            columns.astype(np.int32),
            np.ones(len(columns)),
            (len(rows), bins.shape[1]),
        )

    def of(self, values: Floats) -> Floats:
        """For each candidate and bin, the sum of each column of values."""
        sums = np.zeros((len(self.bins), self.size, values.shape[1]))
        sums[self._places[:, 0], self._places[:, 1]] = self._matrix @ values
        sums[np.arange(len(self.bins)), self.usual] = values.sum(axis=0) - sums.sum(axis=1)
        return sums


class Boosting:
    """Boosted models for all bags, step by step; ``bags`` has what is done.

    ``data`` has the targets of the examples and how often each counts, ``scores`` the score of each bin of
    each candidate. ``offset`` is added to the score of each example.
    """

    def __init__(
        self,
        bins: npt.NDArray[np.uint8],
        scores: Floats,
        data: tuple[Floats, Floats],
        weights: Floats,
        loss: Loss,
        steps: Steps,
        offset: Floats | None = None,
    ) -> None:
        self.bins, self.scores, self.loss, self.steps = bins, scores, loss, steps
        self.targets, self.numbers = data
        # Steps read one bag at a time: columns are contiguous.
        self.weights = np.asfortranarray(weights)
        self.held_out = self.numbers[:, None] - weights
        number = weights.shape[1]
        given = steps.start
        start = np.array(
            [loss.start(self.targets, weights[:, bag]) if given is None else given for bag in range(number)]
        )
        self.score = np.asfortranarray(np.repeat(start[None, :], len(self.targets), axis=0))
        if offset is not None:
            self.score += offset[:, None]
        self.intercepts = start.copy()
        self.bags = Bags(start, [[] for _ in range(number)])
        self.all = BinSums(bins) if 0 < bins.size <= MOST_CELLS else None
        self.active = np.empty(0, dtype=np.int64)
        self.sums: BinSums | None = None
        if given is None:
            for bag in range(number):
                self._centre(bag)
        self.bags.start = self.intercepts.copy()
        self._record()

    def replay(self, chosen: Sequence[Sequence[int]]) -> None:
        """Take steps that were chosen earlier, with the candidate of each bag or -1, to the same result."""
        for step in chosen:
            self._all_bags(step)

    def run(self) -> Iterator[bool]:
        """Take the steps that are left.

        After every few steps, yields whether the next ones begin with a new choice of active candidates.
        """
        while len(self.bins) and not self.is_done:
            done = self.bags.done
            if done in RENEWALS or self.sums is None:
                self._renew()
            choices = self._ranked(self._gradients())
            for place in range(min(AT_ONCE, self.steps.number - done)):
                self._all_bags([int(each[place]) if place < len(each) else -1 for each in choices])
            yield self.bags.done in RENEWALS

    @property
    def is_done(self) -> bool:
        """Whether all steps are done, or more steps do not lower the loss on held-out examples."""
        done, means = self.bags.done, self.bags.mean_losses
        late = done - int(np.argmin(means)) >= PATIENCE and bool(np.isfinite(means[-1]))
        return done >= self.steps.number or (late and not self.steps.patient)

    def _all_bags(self, chosen: Sequence[int]) -> None:
        """Take one step in each bag."""
        for bag, candidate in enumerate(chosen):
            if candidate >= 0:
                self._step(bag, candidate)
            else:
                self.bags.additions[bag].append(Addition(-1, np.zeros(1), self.intercepts[bag]))
        self._record()

    def _gradients(self) -> tuple[Floats, Floats]:
        """Gradients and curvatures of each example in each bag, in whole units."""
        first, second = self.loss.gradients(self.targets[:, None], self.score)
        return np.rint(first * UNIT) * self.weights, np.rint(second * UNIT) * self.weights

    def _renew(self) -> None:
        """Choose the active candidates: for each bag, those with the largest gains."""
        if len(self.bins) <= 2 * ACTIVE:
            self.active, self.sums = np.arange(len(self.bins)), self.all or BinSums(self.bins)
            return
        gradients = self._gradients()
        if self.all is not None:
            gains = self._gains(self.all, np.arange(len(self.bins)), gradients)
        else:
            size = max(1, MOST_CELLS // self.bins.shape[1])
            parts = [
                np.arange(start, min(start + size, len(self.bins)))
                for start in range(0, len(self.bins), size)
            ]
            gains = np.vstack([self._gains(BinSums(self.bins[part]), part, gradients) for part in parts])
        top = np.argpartition(-gains, ACTIVE, axis=0)[:ACTIVE]
        used = {each.candidate for additions in self.bags.additions for each in additions[-2 * AT_ONCE :]}
        self.active = np.array(sorted({*top.ravel().tolist(), *used} - {-1}))
        self.sums = BinSums(self.bins[self.active])

    def _gains(self, sums: BinSums, which: npt.NDArray[np.int64], gradients: tuple[Floats, Floats]) -> Floats:
        """The largest gain of each candidate in each bag."""
        number = self.weights.shape[1]
        both = sums.of(np.hstack(gradients)) / UNIT
        first, second = both[..., :number], both[..., number:]
        cuts, _ = cut_gains(first, second, self.steps.l2)
        lines, _ = line_gains(first, second, self.scores[which][:, : sums.size], self.steps.line_l2)
        best: Floats = np.maximum(cuts.max(axis=1), lines)
        return best if self.steps.worth is None else best * self.steps.worth[which][:, None]

    def _ranked(self, gradients: tuple[Floats, Floats]) -> list[npt.NDArray[np.int64]]:
        """For each bag, the active candidates with the largest gains, best first."""
        assert self.sums is not None
        gains = self._gains(self.sums, self.active, gradients)
        order = np.argsort(-gains, axis=0, kind="stable")[:AT_ONCE]
        return [self.active[order[gains[order[:, bag], bag] > 0, bag]] for bag in range(gains.shape[1])]

    def _step(self, bag: int, candidate: int) -> None:
        """Add to the curve of a candidate in one bag, with the gradients as they are now."""
        bins = self.bins[candidate]
        first, second = self.loss.gradients(self.targets, self.score[:, bag])
        size = int(bins.max()) + 1
        weights = self.weights[:, bag]
        g = np.bincount(bins, np.rint(first * UNIT) * weights, minlength=size)[None, :, None] / UNIT
        h = np.bincount(bins, np.rint(second * UNIT) * weights, minlength=size)[None, :, None] / UNIT
        cuts, levels = cut_gains(g, h, self.steps.l2)
        score = self.scores[candidate : candidate + 1, :size]
        line, slope = line_gains(g, h, score, self.steps.line_l2)
        if line[0, 0] >= cuts.max():
            change = slope[0, 0] * score[0]
        else:
            at = int(cuts[0, :, 0].argmax())
            change = np.where(np.arange(size) <= at, levels[0][0, at, 0], levels[1][0, at, 0])
            change[0] = levels[2][0, 0, 0]
        change = self.steps.rate * change
        self.score[:, bag] += change[bins]
        self._centre(bag)
        self.bags.additions[bag].append(Addition(candidate, change, self.intercepts[bag]))

    def _centre(self, bag: int) -> None:
        """Move the intercept by one Newton step."""
        first, second = self.loss.gradients(self.targets, self.score[:, bag])
        weights = self.weights[:, bag]
        # Not a product of BLAS, whose threads cost more than they do.
        g, h = (float((np.rint(each * UNIT) * weights).sum()) / UNIT for each in (first, second))
        if h > 0:
            self.score[:, bag] += g / h
            self.intercepts[bag] += g / h

    def _record(self) -> None:
        """Keep the loss of the examples that are held out."""
        each = self.loss.each(self.targets[:, None], self.score)
        total = self.held_out.sum()
        held = (each * self.held_out).sum(axis=1)
        self.bags.mean_losses.append(float(held.sum() / total) if total else float("nan"))


def cut_gains(first: Floats, second: Floats, l2: float) -> tuple[Floats, tuple[Floats, Floats, Floats]]:
    """The gain of a cut after each bin, and the levels below, above, and for missing values."""
    below_g, below_h = np.cumsum(first, axis=1), np.cumsum(second, axis=1)
    none_g, none_h = first[:, :1], second[:, :1]
    above_g, above_h = below_g[:, -1:] - below_g, below_h[:, -1:] - below_h
    below_g, below_h = below_g - none_g, below_h - none_h
    gains = (
        below_g * below_g / (below_h + l2)
        + above_g * above_g / (above_h + l2)
        + none_g * none_g / (none_h + l2)
    )
    return gains, (below_g / (below_h + l2), above_g / (above_h + l2), none_g / (none_h + l2))


def line_gains(first: Floats, second: Floats, scores: Floats, l2: float) -> tuple[Floats, Floats]:
    """The gain of a line over the scores of the bins, and its slope."""
    g = np.einsum("clb,cl->cb", first, scores)
    h = np.einsum("clb,cl->cb", second, scores * scores)
    return g * g / (h + l2), g / (h + l2)
