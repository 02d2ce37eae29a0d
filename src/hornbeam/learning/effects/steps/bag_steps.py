"""The steps of some bags: each bag has scores of its own, and shares the candidates with the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.learning.effects.steps.bin_sums import BinSums, Places, bin_sums
from hornbeam.learning.effects.steps.gains import UNIT, cut_gains, line_gains
from hornbeam.learning.effects.steps.looking import Looked, looked_at
from hornbeam.learning.losses.loss import Loss
from hornbeam.learning.numbers import Floats

ACTIVE = 40
"""Number of candidates that are active for each bag."""
AT_ONCE = 4
"""Number of steps between two rankings of the active candidates."""
MOST_CELLS = 100_000_000
"""Sums of all candidates are prepared once if there are at most this many bins, else piece by piece."""
PIECE = 1 << 14
"""Gradients are computed for this many examples at once: more would not stay in the processor's cache."""


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


class Taken(NamedTuple):
    """A step of some bags, and for each bag the loss of its held-out examples after it."""

    additions: list[Addition]
    losses: list[float]


class StepData(NamedTuple):
    """What all bags share."""

    bins: npt.NDArray[np.uint8]
    """the bin of each example for each candidate"""
    scores: Floats
    """the score of each bin of each candidate"""
    targets: Floats
    sizes: Floats
    """how much each example counts"""
    loss: Loss
    steps: Steps
    offset: Floats | None = None
    """what is added to the score of each example"""


class BagSteps:
    """Boosted models for some bags; column k of ``weights`` has the weight of each example in bag k."""

    def __init__(self, data: StepData, weights: Floats) -> None:
        self.data, self.loss, self.steps, self.targets = data, data.loss, data.steps, data.targets
        self.weights = np.ascontiguousarray(weights.T)
        held_out = data.sizes - self.weights
        self.outside = [np.flatnonzero(row) for row in held_out]
        self.held_out = [row[places] for row, places in zip(held_out, self.outside, strict=True)]
        given, offset = self.steps.start, data.offset
        self.intercepts = [
            self.loss.start(self.targets, row) if given is None else given for row in self.weights
        ]
        before = np.zeros(len(self.targets)) if offset is None else offset
        self.score = [start + before for start in self.intercepts]
        self.tops = data.bins.max(axis=1, initial=0).astype(np.int64) + 1
        self.pieces = [slice(a, a + PIECE) for a in range(0, len(self.targets), PIECE)]
        self.looked = looked_at(data.sizes, self.weights, len(data.bins))
        """the examples on which the gains of all candidates are compared..."""
        self.looked_of_active = looked_at(data.sizes, self.weights, min(len(data.bins), 4 * ACTIVE))
        """... and those of the active ones, whose number must not depend on how many bags are here"""
        self.all: BinSums | None = None
        self.active: Places = np.empty(0, dtype=np.int64)
        self.own: npt.NDArray[np.bool_] = np.empty((0, len(self.score)), dtype=bool)
        """whether an active candidate is one of each bag"""
        self.recent: list[deque[int]] = [deque(maxlen=2 * AT_ONCE) for _ in self.score]
        """the candidates of the last steps of each bag"""
        self.sums: BinSums | None = None
        if given is None:
            for bag in range(len(self.score)):
                self._centre(bag)

    def start(self) -> tuple[list[float], list[float]]:
        """The intercept of each bag and the loss of its held-out examples."""
        return list(self.intercepts), self._losses()

    def renew(self) -> None:
        """Choose the active candidates of each bag: those that gain most, and those of its last steps.

        A bag never sees the choice of another one, which the examples outside the bag had a part in.
        """
        number = len(self.data.bins)
        own = np.ones((number, len(self.score)), dtype=bool)
        if number > 2 * ACTIVE:
            own[:] = False
            best = np.argpartition(-self._gains_of_all(), ACTIVE, axis=0)[:ACTIVE]
            for bag, recent in enumerate(self.recent):
                own[best[:, bag], bag] = True
                own[list(recent), bag] = True
        self.active = np.flatnonzero(own.any(axis=1))
        self.own = own[self.active]
        if self.all is None or not self.looked.is_same(self.looked_of_active):
            self.sums = self._sums_of(self.active, self.looked_of_active)
        else:
            self.sums = self.all.take(self.active, int(self.tops[self.active].max()))

    def _gains_of_all(self) -> Floats:
        """The largest gain of every candidate in each bag."""
        looked, number = self.looked, len(self.data.bins)
        gradients = self._gradients(looked)
        piece = max(1, MOST_CELLS // looked.number)
        if self.all is None and number <= piece:
            self.all = self._sums_of(np.arange(number), looked)
        if self.all is not None:
            return self._gains(self.all, np.arange(number), gradients)
        parts = [np.arange(a, min(a + piece, number)) for a in range(0, number, piece)]
        return np.vstack([self._gains(self._sums_of(part, looked), part, gradients) for part in parts])

    def go_on(self, number: int) -> list[Taken]:
        """Take a few steps with the candidates that gain most now, one after the other."""
        choices = self._ranked(self._gradients(self.looked_of_active))
        chosen = ([int(each[k]) if k < len(each) else -1 for each in choices] for k in range(number))
        return [self._step_of_all(step) for step in chosen]

    def replay(self, chosen: Sequence[Sequence[int]]) -> list[Taken]:
        """Take steps that were chosen earlier, with the candidate of each bag or -1, to the same result."""
        return [self._step_of_all(step) for step in chosen]

    def _sums_of(self, which: Places, looked: Looked) -> BinSums:
        bins = self.data.bins[which]
        own = bins if looked.places is None else bins[:, looked.places]
        return bin_sums(own, int(self.tops[which].max()))

    def _step_of_all(self, chosen: Sequence[int]) -> Taken:
        additions = [
            self._step(bag, candidate) if candidate >= 0 else Addition(-1, np.zeros(1), self.intercepts[bag])
            for bag, candidate in enumerate(chosen)
        ]
        return Taken(additions, self._losses())

    def _whole(self, bag: int, piece: slice) -> tuple[Floats, Floats]:
        """Gradients and curvatures of some examples in a bag, in whole units."""
        return self._in_units(self.targets[piece], self.score[bag][piece], self.weights[bag, piece])

    def _in_units(self, targets: Floats, score: Floats, weights: Floats) -> tuple[Floats, Floats]:
        first, second = self.loss.gradients(targets, score)
        return np.rint(first * UNIT) * weights, np.rint(second * UNIT) * weights

    def _gradients(self, looked: Looked) -> Floats:
        """A column of gradients for each bag, then a column of curvatures for each bag."""
        number = len(self.score)
        columns = np.empty((looked.number, 2 * number))
        for bag in range(number):
            own = looked.of(self.targets), looked.of(self.score[bag]), looked.weights[bag]
            columns[:, bag], columns[:, number + bag] = self._in_units(*own)
        return columns

    def _gains(self, sums: BinSums, which: Places, gradients: Floats) -> Floats:
        """The largest gain of each candidate in each bag."""
        number = len(self.score)
        best = np.empty((len(which), number))
        for block, both in sums.of(gradients):
            both /= UNIT
            first, second = both[..., :number], both[..., number:]
            cuts, _ = cut_gains(first, second, self.steps.l2)
            scores = self.data.scores[which[block]][:, : sums.size]
            lines, _ = line_gains(first, second, scores, self.steps.line_l2)
            best[block] = np.maximum(cuts.max(axis=1), lines)
        return best if self.steps.worth is None else best * self.steps.worth[which][:, None]

    def _ranked(self, gradients: Floats) -> list[Places]:
        """For each bag, its active candidates with the largest gains, best first."""
        assert self.sums is not None
        gains = np.where(self.own, self._gains(self.sums, self.active, gradients), -1.0)
        order = np.argsort(-gains, axis=0, kind="stable")[:AT_ONCE]
        return [self.active[order[gains[order[:, bag], bag] > 0, bag]] for bag in range(gains.shape[1])]

    def _step(self, bag: int, candidate: int) -> Addition:
        """Add to the curve of a candidate in one bag, with the gradients as they are now."""
        self.recent[bag].append(candidate)
        bins, size = self.data.bins[candidate], int(self.tops[candidate])
        g, h = np.zeros((2, 1, size, 1))
        for piece in self.pieces:
            first, second = self._whole(bag, piece)
            g[0, :, 0] += np.bincount(bins[piece], first, minlength=size)
            h[0, :, 0] += np.bincount(bins[piece], second, minlength=size)
        g, h = g / UNIT, h / UNIT
        cuts, levels = cut_gains(g, h, self.steps.l2)
        score = self.data.scores[candidate : candidate + 1, :size]
        line, slope = line_gains(g, h, score, self.steps.line_l2)
        if line[0, 0] >= cuts.max():
            change = slope[0, 0] * score[0]
        else:
            at = int(cuts[0, :, 0].argmax())
            change = np.where(np.arange(size) <= at, levels[0][0, at, 0], levels[1][0, at, 0])
            change[0] = levels[2][0, 0, 0]
        change = self.steps.rate * change
        for piece in self.pieces:
            self.score[bag][piece] += change[bins[piece]]
        self._centre(bag)
        return Addition(candidate, change, self.intercepts[bag])

    def _centre(self, bag: int) -> None:
        """Move the intercept by one Newton step."""
        # Not a product of BLAS, whose threads cost more than they do.
        sums = np.array([[each.sum() for each in self._whole(bag, piece)] for piece in self.pieces])
        g, h = (float(each) / UNIT for each in sums.sum(axis=0))
        if h > 0:
            self.score[bag] += g / h
            self.intercepts[bag] += g / h

    def _losses(self) -> list[float]:
        """For each bag, the loss of the examples that are held out."""
        return [
            float((self.loss.each(self.targets[places], score[places]) * held).sum())
            for score, places, held in zip(self.score, self.outside, self.held_out, strict=True)
        ]
