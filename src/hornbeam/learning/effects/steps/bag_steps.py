"""The steps of some bags: each bag has scores of its own, and shares the candidates with the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.rows import mixed
from hornbeam.learning.effects.steps.bin_sums import BinSums, Places, bin_sums, summed_by
from hornbeam.learning.effects.steps.gains import UNIT, cut_gains, line_gains
from hornbeam.learning.effects.steps.looking import Looked, looked_at
from hornbeam.learning.effects.steps.pairs import (
    Bins,
    PairRules,
    best_pairs,
    bin_totals,
    noise_of,
    row_of,
    useful,
)
from hornbeam.learning.losses.loss import Loss, Score
from hornbeam.learning.numbers import Floats

ACTIVE = 200
"""Number of candidates that are active for each bag."""
NEARLY = 0.9
"""Candidates that gain at least this share of the largest gain take turns."""
AT_ONCE = 4
"""Number of steps between two rankings of the active candidates."""
PAIR_STEPS = (8, 16, 32, 48, 64, 96, 192, 384, 768)
"""The steps before which pairs are chosen, of candidates that were chosen before the first step."""
WORTH_OF_PAIR = 0.7
"""The share of its gain that counts for a pair."""
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


class Addition(NamedTuple):
    """What a step added to the curve of a candidate: a change for each bin, and the intercept after it."""

    candidate: int
    change: Floats
    intercept: Score


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
    worth: Floats | None = None
    """what the gain of each candidate in each bag is multiplied by before gains are compared; None for 1"""
    pairs: PairRules | None = None
    """which pairs of candidates may be candidates themselves; None for none"""
    first_bag: int = 0
    """the number of the first bag"""
    directions: Floats | None = None
    """for each candidate 1 if its curve may only rise, -1 if it may only fall, else 0; None for 0"""

    def of_bags(self, bags: slice) -> StepData:
        """What some of the bags share."""
        worth = None if self.worth is None else self.worth[:, bags]
        return self._replace(worth=worth, first_bag=self.first_bag + bags.start)

    def directions_of(self, which: Places) -> Floats | None:
        """The directions of some candidates and pairs; that of a pair is that of what it narrows."""
        return None if self.directions is None else self.directions[which % len(self.bins)]


class BagSteps:
    """Boosted models for some bags; column k of ``weights`` has the weight of each example in bag k.

    Column k of ``judged`` has its weight where the bag is judged; None for all examples outside the bag.
    """

    def __init__(self, data: StepData, weights: Floats, judged: Floats | None = None) -> None:
        self.data, self.loss, self.steps, self.targets = data, data.loss, data.steps, data.targets
        self.weights = np.ascontiguousarray(weights.T)
        held_out = data.sizes - self.weights if judged is None else judged.T
        self.outside = [np.flatnonzero(row != 0) for row in held_out]
        self.held_out = [row[places] for row, places in zip(held_out, self.outside, strict=True)]
        given, offset = self.steps.start, data.offset
        self.intercepts = [
            self.loss.start(self.targets, row) if given is None else given for row in self.weights
        ]
        self.shape, self.width = self.loss.shape, int(np.prod(self.loss.shape, dtype=int))
        """the shape of a score, and how many numbers it has"""
        before = np.zeros((len(self.targets), *self.shape)) if offset is None else offset
        self.score = [start + before for start in self.intercepts]
        self.tops = data.bins.max(axis=1, initial=0).astype(np.int64) + 1
        self.size = int(self.tops.max(initial=1))
        """number of bins of the candidate with most; the same for every part, as sums of floats need it"""
        piece = max(1, len(self.targets)) if self.loss.together else PIECE
        self.pieces = [slice(a, a + piece) for a in range(0, len(self.targets), piece)]
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
        self.taken = 0
        """number of steps"""
        self.useful: list[tuple[Places, Places]] = []
        """the candidates of each bag that may be in pairs"""
        self.pairs: list[list[int]] = [[] for _ in self.score]
        """the active pairs of each bag"""
        self.pair_rows: dict[int, Bins] = {}
        """the bins of these pairs in the examples on which active candidates are compared"""
        if given is None:
            for bag in range(len(self.score)):
                self._centre(bag)

    def start(self) -> tuple[list[Score], list[float]]:
        """The intercept of each bag and the loss of its held-out examples."""
        return list(self.intercepts), self._losses()

    def gradients(self) -> Floats:
        """Gradients and curvatures of the examples on which all candidates are compared, for ``gains``."""
        return self._gradients(self.looked)

    def gains(self, gradients: Floats, first: int, end: int) -> Floats:
        """The largest gain of some candidates in each of the bags that have these gradients.

        The range of candidates must always be the same: their sums are prepared once, if there are few.
        """
        which = np.arange(first, end)
        piece = max(1, MOST_CELLS // self.looked.number)
        if self.all is None and end - first <= piece:
            self.all = self._sums_of(which, self.looked, self.size)
        if self.all is not None:
            return self._gains(self.all, which, gradients)
        parts = [which[a : a + piece] for a in range(0, len(which), piece)]
        sums = (self._sums_of(part, self.looked, self.size) for part in parts)
        return np.vstack([self._gains(own, part, gradients) for own, part in zip(sums, parts, strict=True)])

    def renew(self, gains: Floats | None = None) -> None:
        """Choose the active candidates of each bag: those that gain most, and those of its last steps.

        A bag never sees the choice of another one, which the examples outside the bag had a part in. Gains
        may be given if they are known. Before the first step, the candidates for pairs are chosen too.
        """
        number, rules = len(self.data.bins), self.data.pairs
        own = np.ones((number, len(self.score)), dtype=bool)
        if number > 2 * ACTIVE or (rules is not None and self.taken == 0):
            counted = self.gains_of_all() if gains is None else self._counted(gains)
            if rules is not None and self.taken == 0:
                self.useful = [useful(of_bag, rules) for of_bag in counted.T]
            if number > 2 * ACTIVE:
                own = self._most_gaining(counted)
        self.active = np.flatnonzero(own.any(axis=1))
        self.own = own[self.active]
        size = int(self.tops[self.active].max())
        if self.all is None or len(self.all) < number or not self.looked.is_same(self.looked_of_active):
            self.sums = self._sums_of(self.active, self.looked_of_active, size)
        else:
            self.sums = self.all.take(self.active, size)

    def _most_gaining(self, gains: Floats) -> npt.NDArray[np.bool_]:
        """Whether each candidate is one of those that gain most in each bag, or of its last steps."""
        own = np.zeros(gains.shape, dtype=bool)
        best = np.argpartition(-gains, ACTIVE, axis=0)[:ACTIVE]
        for bag, recent in enumerate(self.recent):
            own[best[:, bag], bag] = True
            own[[each for each in recent if each < len(gains)], bag] = True
        return own

    def gains_of_all(self) -> Floats:
        """The largest gain of every candidate in each bag, as far as it counts."""
        return self._counted(self.gains(self.gradients(), 0, len(self.data.bins)))

    def _counted(self, gains: Floats) -> Floats:
        """Gains of all candidates, as far as they count."""
        return gains if self.data.worth is None else gains * self.data.worth

    def _choose_pairs(self) -> None:
        """Before some steps, choose the active pairs of each bag by what its effects leave unexplained."""
        rules, number = self.data.pairs, len(self.data.bins)
        if rules is None or self.taken not in PAIR_STEPS:
            return
        looked = self.looked_of_active
        bins, gradients = looked.of_bins(self.data.bins), self._gradients(looked)
        for bag, candidates in enumerate(self.useful):
            own = self._of_bag(gradients, bag)
            noise = noise_of(own, looked.weights[bag])
            found = best_pairs(bins, candidates, own, rules, self.steps.l2, noise)
            recent = [each for each in self.recent[bag] if each >= number]
            self.pairs[bag] = sorted({*recent, *(pair.number(number) for pair in found)})
        active = {pair for own in self.pairs for pair in own}
        self.pair_rows = {pair: row_of(pair, bins, rules) for pair in active}

    def go_on(self, number: int) -> list[Taken]:
        """Take a few steps with the candidates that gain most now, one after the other."""
        self._choose_pairs()
        choices = self._ranked(self._gradients(self.looked_of_active))
        chosen = ([int(each[k]) if k < len(each) else -1 for each in choices] for k in range(number))
        return [self._step_of_all(step) for step in chosen]

    def replay(self, chosen: Sequence[Sequence[int]]) -> list[Taken]:
        """Take steps that were chosen earlier, with the candidate of each bag or -1, to the same result."""
        taken = []
        for step in chosen:
            self._choose_pairs()
            taken.append(self._step_of_all(step))
        return taken

    def _sums_of(self, which: Places, looked: Looked, size: int) -> BinSums:
        return bin_sums(looked.of_bins(self.data.bins[which]), size)

    def _step_of_all(self, chosen: Sequence[int]) -> Taken:
        self.taken += 1
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
        weights = weights.reshape(-1, *(1 for _ in self.shape))
        return _weighted(first, weights), _weighted(second, weights)

    def _gradients(self, looked: Looked) -> Floats:
        """The gradients of each bag, then the curvatures of each bag; a column for each number of a score."""
        number, width = len(self.score), self.width
        columns = np.empty((2, looked.number, number, width))
        for bag in range(number):
            weights = looked.weights[bag]
            if self.loss.together:
                both = self.loss.gradients(self.targets, self.score[bag])
                first, second = (_weighted(looked.of(each), weights) for each in both)
            else:
                first, second = self._in_units(looked.of(self.targets), looked.of(self.score[bag]), weights)
            columns[:, :, bag] = np.stack([first, second]).reshape(2, -1, width)
        first, second = columns.reshape(2, looked.number, -1)
        return np.hstack([first, second])

    def _gains(self, sums: BinSums, which: Places, gradients: Floats) -> Floats:
        """The largest gain of each candidate in each bag."""
        number = gradients.shape[1] // 2
        best = np.empty((len(which), number // self.width))
        for block, both in sums.of(gradients):
            both /= UNIT
            first, second = both[..., :number], both[..., number:]
            directions = self.data.directions_of(which[block])
            cuts, _ = cut_gains(first, second, self.steps.l2, directions)
            scores = self.data.scores[which[block]][:, : sums.size]
            lines, _ = line_gains(first, second, scores, self.steps.line_l2, directions)
            cuts, lines = self._added_up(cuts), self._added_up(lines)
            best[block] = np.maximum(cuts.max(axis=1), lines)
        return best

    def _added_up(self, gains: Floats) -> Floats:
        """The gains of each bag, from those of each number of its scores, which are the last axis."""
        if self.width == 1:
            return gains
        total: Floats = gains.reshape(*gains.shape[:-1], -1, self.width).sum(axis=-1)
        return total

    def _ranked(self, gradients: Floats) -> list[Places]:
        """For each bag, its active candidates with the largest gains, best first."""
        assert self.sums is not None
        gains = self._gains(self.sums, self.active, gradients)
        if self.data.worth is not None:
            gains = gains * self.data.worth[self.active]
        gains = np.where(self.own, gains, -1.0)
        ranked = []
        for bag in range(gains.shape[1]):
            which, own = self.active, gains[:, bag]
            if self.pairs[bag]:
                which = np.append(which, self.pairs[bag])
                own = np.append(own, self._pair_gains(bag, gradients))
            order = self._in_turns(bag, which, own)[:AT_ONCE]
            ranked.append(which[order[own[order] > 0]])
        return ranked

    def _in_turns(self, bag: int, which: Places, gains: Floats) -> Places:
        """Places of candidates in the order in which they take steps: by gain, but the best in random order.

        Candidates that say nearly the same take turns, so that a model does not depend on one of them.
        """
        order = np.argsort(-gains, kind="stable")
        nearly = int(np.count_nonzero(gains >= NEARLY * gains[order[0]])) if gains[order[0]] > 0 else 0
        draw = np.array([1000 * self.taken + self.data.first_bag + bag + 1], dtype=np.uint64)
        hashes = mixed(mixed(which[order[:nearly]].astype(np.uint64)) + mixed(draw))
        order[:nearly] = order[:nearly][np.argsort(hashes, kind="stable")]
        return order

    def _pair_gains(self, bag: int, gradients: Floats) -> Floats:
        """The largest gain of each active pair of a bag, as far as it counts."""
        number = len(self.data.bins)
        rows = np.array([self.pair_rows[pair] for pair in self.pairs[bag]])
        totals = bin_totals(rows, self._of_bag(gradients, bag))
        first, second = (np.moveaxis(each, 0, -1) for each in np.split(totals, 2))
        narrowed = np.array([each % number for each in self.pairs[bag]])
        scores, directions = (
            self.data.scores[narrowed][:, : first.shape[1]],
            self.data.directions_of(narrowed),
        )
        lines, _ = line_gains(first, second, scores, self.steps.line_l2, directions)
        cuts, _ = cut_gains(first, second, self.steps.l2, directions)
        best: Floats = np.maximum(cuts.sum(axis=2).max(axis=1), lines.sum(axis=1))
        return WORTH_OF_PAIR * best

    def _of_bag(self, gradients: Floats, bag: int) -> Floats:
        """The gradients of one bag, then its curvatures; a column for each number of a score."""
        own = gradients.reshape(len(gradients), 2, len(self.score), self.width)[:, :, bag]
        result: Floats = own.reshape(len(gradients), -1) / UNIT
        return result

    def _step(self, bag: int, candidate: int) -> Addition:
        """Add to the curve of a candidate in one bag, with the gradients as they are now."""
        self.recent[bag].append(candidate)
        bins = row_of(candidate, self.data.bins, self.data.pairs)
        narrowed = candidate % len(self.data.bins)
        size = int(self.tops[narrowed])
        sums = np.zeros((2, size, self.width))
        for piece in self.pieces:
            for own, each in zip(sums, self._whole(bag, piece), strict=True):
                own += summed_by(bins[piece], each, size).reshape(size, -1)
        g, h = sums[:, None] / UNIT
        directions = self.data.directions_of(np.array([narrowed]))
        cuts, levels = cut_gains(g, h, self.steps.l2, directions)
        score = self.data.scores[narrowed : narrowed + 1, :size]
        line, slope = line_gains(g, h, score, self.steps.line_l2, directions)
        of_cuts = cuts[0].sum(axis=1)
        if line[0].sum() >= of_cuts.max():
            change = slope[0] * score[0][:, None]
        else:
            at = int(of_cuts.argmax())
            change = np.where(np.arange(size)[:, None] <= at, levels[0][0, at], levels[1][0, at])
            change[0] = levels[2][0, 0]
        if self.shape:
            # A number that is added to all classes changes nothing.
            change -= change.mean(axis=1, keepdims=True)
        change = self.steps.rate * self.loss.pace * change.reshape(size, *self.shape)
        for piece in self.pieces:
            self.score[bag][piece] += change[bins[piece]]
        self._centre(bag)
        return Addition(candidate, change, self.intercepts[bag])

    def _centre(self, bag: int) -> None:
        """Move the intercept by one Newton step."""
        # Not a product of BLAS, whose threads cost more than they do.
        sums = np.array([[each.sum(axis=0) for each in self._whole(bag, piece)] for piece in self.pieces])
        g, h = sums.sum(axis=0) / UNIT
        move = self.loss.pace * np.where(h > 0, g / np.where(h > 0, h, 1.0), 0.0)
        if self.shape:
            move -= move.mean()
        self.score[bag] += move
        # Not in place: what was added before keeps the intercept of its time.
        self.intercepts[bag] = self.intercepts[bag] + (move if self.shape else float(move))

    def _losses(self) -> list[float]:
        """For each bag, the loss of the examples that are held out."""
        return [
            float((self.loss.each(self.targets[places], score[places]) * held).sum())
            for score, places, held in zip(self.score, self.outside, self.held_out, strict=True)
        ]


def _weighted(values: Floats, weights: Floats) -> Floats:
    """Values in whole units, times weights."""
    weighted: Floats = np.rint(values * UNIT) * weights
    return weighted
