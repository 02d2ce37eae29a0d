"""Boosting of several classes at once by shared effects, to be measured beside one model for each class.

A step takes one candidate for all classes: two levels for each class on either side of one cut and one for
missing values, or a line for each class, whichever lowers the quadratic approximation of the softmax loss
more, summed over the classes. Bags, active candidates, the learning rate, the penalty and the number of steps
are those of the default learner.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.learning.effects.steps.bag_steps import ACTIVE, AT_ONCE
from hornbeam.learning.effects.steps.bin_sums import BinSums, bin_sums
from hornbeam.learning.effects.steps.boosting import PATIENCE, RENEWALS
from hornbeam.learning.effects.steps.gains import cut_gains, line_gains
from hornbeam.learning.losses.softmax import log_softmax
from hornbeam.learning.options import EffectOptions

Floats = npt.NDArray[np.float64]
LEAST_CURVATURE = 1e-9


class SharedSteps:
    """The steps of all bags; ``scores`` has the mean over the bags after the best number of steps."""

    def __init__(
        self,
        bins: npt.NDArray[np.uint8],
        lines: Floats,
        labels: npt.NDArray[Any],
        bags: Floats,
        offset: Floats,
    ) -> None:
        """``bags`` has a column for each bag: 1 inside, 0 outside, NaN for examples that are not known."""
        self.bins, self.lines, self.n_classes = bins, lines, offset.shape[1]
        self.labels, self.truth = labels, np.eye(self.n_classes)[labels]
        self.inside = np.nan_to_num(bags).T
        self.outside = (bags == 0.0).T
        self.tops = bins.max(axis=1).astype(np.int64) + 1
        self.all = bin_sums(bins, int(self.tops.max()))
        self.each = [offset + np.log(self._shares(inside)) for inside in self.inside]
        for bag in range(len(self.each)):
            self._centre(bag)
        self.losses = [self._loss()]
        self.best = np.mean(self.each, axis=0)
        self._run(EffectOptions())

    @property
    def steps(self) -> int:
        return int(np.argmin(self.losses))

    def _run(self, options: EffectOptions) -> None:
        self.rate, self.l2 = options.learning_rate, options.l2
        while len(self.losses) <= options.n_steps and len(self.losses) - 1 - self.steps < PATIENCE:
            if len(self.losses) - 1 in RENEWALS:
                self._renew()
            ranked = np.argsort(-self._gains(self.sums, self.active), axis=0, kind="stable")[:AT_ONCE]
            for places in ranked:
                for bag, place in enumerate(places):
                    self._step(bag, int(self.active[place]))
                self.losses.append(self._loss())
                if self.steps == len(self.losses) - 1:
                    self.best = np.mean(self.each, axis=0)

    def _shares(self, inside: Floats) -> Floats:
        shares: Floats = np.maximum((self.truth * inside[:, None]).sum(axis=0), 0.5)
        return shares / shares.sum()

    def _gradients(self, bag: int) -> tuple[Floats, Floats]:
        chances = np.exp(log_softmax(self.each[bag]))
        inside = self.inside[bag][:, None]
        return (self.truth - chances) * inside, np.maximum(chances * (1 - chances), LEAST_CURVATURE) * inside

    def _centre(self, bag: int) -> None:
        first, second = self._gradients(bag)
        self.each[bag] = self.each[bag] + first.sum(axis=0) / np.maximum(second.sum(axis=0), LEAST_CURVATURE)

    def _loss(self) -> float:
        rows = np.arange(len(self.labels))
        losses = [
            -log_softmax(each)[rows, self.labels] * out
            for each, out in zip(self.each, self.outside, strict=True)
        ]
        return float(np.sum(losses) / self.outside.sum())

    def _gains(self, sums: BinSums, which: npt.NDArray[np.int64]) -> Floats:
        """The largest gain of each candidate in each bag, summed over the classes."""
        both = [self._gradients(bag) for bag in range(len(self.each))]
        columns = np.concatenate([first for first, _ in both] + [second for _, second in both], axis=1)
        best = np.empty((len(which), len(both)))
        for block, found in sums.of(columns):
            first, second = np.split(found, 2, axis=2)
            shape = (*first.shape[:2], len(both), self.n_classes)
            cuts = cut_gains(first, second, self.l2)[0].reshape(shape).sum(axis=3)
            lines, _ = line_gains(first, second, self.lines[which[block]][:, : sums.size], self.l2)
            best[block] = np.maximum(cuts.max(axis=1), lines.reshape(shape[:1] + shape[2:]).sum(axis=2))
        return best

    def _renew(self) -> None:
        self.active = np.arange(len(self.bins))
        if len(self.bins) > 2 * ACTIVE:
            gains = self._gains(self.all, self.active)
            self.active = np.unique(np.argpartition(-gains, ACTIVE, axis=0)[:ACTIVE])
        self.sums = self.all.take(self.active, int(self.tops[self.active].max()))

    def _step(self, bag: int, candidate: int) -> None:
        row, size = self.bins[candidate], int(self.tops[candidate])
        first, second = (
            np.stack([np.bincount(row, column, minlength=size) for column in each.T], axis=-1)[None]
            for each in self._gradients(bag)
        )
        cuts, (below, above, missing) = cut_gains(first, second, self.l2)
        line = self.lines[candidate : candidate + 1, :size]
        gains, slopes = line_gains(first, second, line, self.l2)
        by_cut = cuts[0].sum(axis=1)
        if gains.sum() >= by_cut.max():
            change = line[0][:, None] * slopes[0]
        else:
            at = int(by_cut.argmax())
            change = np.where(np.arange(size)[:, None] <= at, below[0, at], above[0, at])
            change[0] = missing[0, 0]
        self.each[bag] += self.rate * change[row]
        self._centre(bag)
