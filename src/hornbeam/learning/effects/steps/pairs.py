"""Pairs: a condition on the example itself narrows another candidate.

The narrowed candidate has the bins of the other one where the condition is true. All other examples have one
bin: that of missing values, or of 0 if the feature counts. A pair is a number like that of a candidate, from
which its bins can be made whenever they are needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.learning.effects.steps.bin_sums import Places
from hornbeam.learning.effects.steps.gains import cut_gains
from hornbeam.learning.numbers import Floats

MOST_CONDITIONS = 40
"""Maximum number of candidates of each bag whose cuts are tried as conditions."""
MOST_NARROWED = 40
"""Maximum number of candidates of each bag that conditions are tried on."""
MOST_CUTS = 8
"""Maximum number of cuts of a candidate that are tried as conditions."""
PRICE = 1.5
"""A pair must gain this many times the noise, times the logarithm of the number of cuts that were tried."""
KEPT = 10
"""Maximum number of pairs of each bag that are chosen at once."""
CELLS = 2_000_000
"""About this many bins are counted at once."""
LEVELS = 256
"""A bin is a byte."""
NEVER, AT_LEAST, EITHER = 0, 1, 2

Bins = npt.NDArray[np.uint8]


class PairRules(NamedTuple):
    """Which candidates may be conditions, and which may be narrowed by them."""

    sides: npt.NDArray[np.int64]
    """whether a candidate may be a condition: never, above a cut, or on either side of a cut"""
    outside: npt.NDArray[np.int64]
    """the bin of the examples that do not meet a condition; -1 if the candidate may not be narrowed"""
    about: npt.NDArray[np.int64]
    """candidates with equal numbers are about the same attribute, and make no pair"""
    sizes: npt.NDArray[np.int64]
    """for each candidate: conditions and literals if it is a condition, and if it is narrowed"""
    limits: tuple[int, int]
    """the most conditions and literals that a pair may have"""

    def allow(self, condition: int, narrowed: Places) -> npt.NDArray[np.bool_]:
        """Whether a condition may narrow each of some candidates."""
        size = self.sizes[condition, :2] + self.sizes[narrowed, 2:]
        is_other = self.about[narrowed] != self.about[condition]
        allowed: npt.NDArray[np.bool_] = is_other & (size <= np.array(self.limits)).all(axis=1)
        return allowed


class Pair(NamedTuple):
    """A candidate and a cut that make a condition, and the candidate that it narrows."""

    condition: int
    cut: int
    """the bin below the cut"""
    is_below: bool
    narrowed: int

    def number(self, n_candidates: int) -> int:
        """The number of the pair, which is above those of all candidates."""
        condition = (self.condition * LEVELS + self.cut) * 2 + self.is_below
        return (condition + 1) * n_candidates + self.narrowed

    @staticmethod
    def of(number: int, n_candidates: int) -> Pair:
        """The pair with a number.

        >>> Pair.of(Pair(3, 2, True, 7).number(10), 10)
        Pair(condition=3, cut=2, is_below=True, narrowed=7)
        """
        condition, narrowed = divmod(number, n_candidates)
        candidate, cut = divmod(condition - 1, 2 * LEVELS)
        return Pair(candidate, cut // 2, bool(cut % 2), narrowed)


def row_of(number: int, bins: Bins, rules: PairRules | None) -> Bins:
    """The bins of a candidate or a pair with a number, from those of all candidates."""
    if number < len(bins):
        own: Bins = bins[number]
        return own
    assert rules is not None
    return pair_row(Pair.of(number, len(bins)), bins, rules)


def pair_row(pair: Pair, bins: Bins, rules: PairRules) -> Bins:
    """The bins of a pair, from those of all candidates."""
    own = bins[pair.condition]
    inside = (own > 0) & (own <= pair.cut) if pair.is_below else own > pair.cut
    outside = np.uint8(rules.outside[pair.narrowed])
    row: Bins = np.where(inside, bins[pair.narrowed], outside)
    return row


def useful(gains: Floats, rules: PairRules) -> tuple[Places, Places]:
    """The candidates with the largest gains that may be conditions, and that may be narrowed."""
    order = np.argsort(-np.round(gains, 9), kind="stable")
    order = order[gains[order] > 0]
    conditions = order[rules.sides[order] > NEVER][:MOST_CONDITIONS]
    return np.sort(conditions), np.sort(order[rules.outside[order] >= 0][:MOST_NARROWED])


def noise_of(gradients: Floats, weights: Floats) -> float:
    """The mean square of the gradients of a bag in units of the curvature: 1 if a loss fits the targets."""
    inside = weights > 0
    first, second = np.split(gradients, 2, axis=1)
    curvature = float(second.sum())
    squares = first[inside] ** 2 / weights[inside, None]
    return float(squares.sum()) / curvature if curvature > 0 else 0.0


class Crossing(NamedTuple):
    """Two candidates with a cut each, and what the four parts of the examples gain beyond each cut alone."""

    gain: float
    one: int
    cut: int
    other: int
    other_cut: int


def best_pairs(
    bins: Bins,
    candidates: tuple[Places, Places],
    gradients: Floats,
    rules: PairRules,
    l2: float,
    noise: float,
) -> list[Pair]:
    """The pairs of candidates that depend on each other most, if that is hardly by chance, best first.

    ``bins`` are those of all candidates. ``gradients`` has columns of gradients, then of curvatures, both
    times the weights of the examples; ``noise`` is the mean square of gradients in units of the curvature.
    """
    found, tried = _found(bins, candidates, gradients, rules, l2)
    # Each free score of several classes gains once the noise by chance.
    free = max(1, gradients.shape[1] // 2 - 1)
    least = (free - 1 + PRICE * float(np.log(max(1, tried)))) * noise
    ranked = sorted((each for each in found if each.gain > least), key=lambda each: (-each.gain, each[1:]))
    best: dict[frozenset[int], Pair] = {}
    for each in ranked:
        if len(best) == KEPT:
            break
        about = frozenset(rules.about[[each.one, each.other]].tolist())
        if about not in best:
            best[about] = _with_side(each, bins, gradients, rules, l2)
    return list(best.values())


def _found(
    bins: Bins, candidates: tuple[Places, Places], gradients: Floats, rules: PairRules, l2: float
) -> tuple[list[Crossing], int]:
    """For each two candidates the cuts that gain most, and how many cuts were tried."""
    conditions, narrowed = candidates
    if not len(conditions) or not len(narrowed):
        return [], 0
    inner = bins[narrowed]
    totals = bin_totals(inner, gradients)
    found: list[Crossing] = []
    done: set[tuple[int, int]] = set()
    tried = 0
    for condition in conditions.tolist():
        # Two candidates that may both narrow each other are looked at once.
        is_new = [(other, condition) not in done for other in narrowed.tolist()]
        which = np.flatnonzero(np.array(is_new) & rules.allow(condition, narrowed))
        if len(which):
            cuts, gains = cell_gains(bins[condition], inner[which], gradients, totals[:, which], l2)
            tried += gains.size
            flat = gains.reshape(len(which), -1)
            best = flat.argmax(axis=1)
            rounded = np.round(flat[np.arange(len(which)), best], 9).tolist()
            places, other_cuts = np.divmod(best, gains.shape[2])
            others = narrowed[which].tolist()
            done.update((condition, other) for other in others)
            numbers = zip(rounded, cuts[places].tolist(), others, (other_cuts + 1).tolist(), strict=True)
            found += [Crossing(gain, condition, cut, other, at) for gain, cut, other, at in numbers]
    return found, tried


def _with_side(found: Crossing, bins: Bins, gradients: Floats, rules: PairRules, l2: float) -> Pair:
    """The pair that gains most: either candidate may be the condition, on either side of its cut."""
    ways = [(found.one, found.cut, found.other)]
    other_way = rules.sides[found.other] > NEVER and rules.outside[found.one] >= 0
    if other_way and rules.allow(found.other, np.array([found.one]))[0]:
        ways.append((found.other, found.other_cut, found.one))
    pairs = [
        Pair(condition, cut, is_below, narrowed)
        for condition, cut, narrowed in ways
        for is_below in ((False, True) if rules.sides[condition] == EITHER else (False,))
    ]
    gains = [_gain(pair_row(pair, bins, rules), gradients, l2) for pair in pairs]
    return pairs[int(np.argmax(np.round(gains, 9)))]


def _gain(row: Bins, gradients: Floats, l2: float) -> float:
    """The gain of the best cut of a candidate."""
    first, second = (np.moveaxis(each, 0, -1) for each in np.split(bin_totals(row[None], gradients), 2))
    return float(cut_gains(first, second, l2)[0].sum(axis=2).max())


def bin_totals(bins: Bins, gradients: Floats) -> Floats:
    """Sums of each column of gradients over the examples in each bin of each candidate."""
    size = max(2, int(bins.max())) + 1
    return np.array([[np.bincount(row, column, size) for row in bins] for column in gradients.T])


def cell_gains(
    row: Bins, others: Bins, gradients: Floats, totals: Floats, l2: float
) -> tuple[Places, Floats]:
    """Some cuts of a candidate; and for each other candidate, each of these cuts and each cut of the other:

    what is gained by a level for each of the four parts into which the two cuts divide the known values,
    beyond what the sum of two levels for each cut gains.
    """
    top = max(2, int(row.max()))
    cuts = np.arange(1, top)
    if len(cuts) > MOST_CUTS:
        cuts = cuts[len(cuts) * np.arange(MOST_CUTS) // MOST_CUTS]
    table = _table(row, top + 1, others, gradients, totals)[:, :, 1:, 1:]
    upto = table.cumsum(axis=2).cumsum(axis=3)
    below, total = upto[:, :, cuts - 1, -1:], upto[:, :, -1:, -1:]
    other_below, both_below = upto[:, :, -1:, :-1], upto[:, :, cuts - 1, :-1]
    one_below = below - both_below
    parts = (both_below, one_below, other_below - both_below, total - other_below - one_below)
    width = len(table) // 2
    g, h = [part[:width] for part in parts], [1 / (part[width:] + l2) for part in parts]
    contrast = g[0] * h[0] - g[1] * h[1] - g[2] * h[2] + g[3] * h[3]
    return cuts, (contrast * contrast / (h[0] + h[1] + h[2] + h[3])).sum(axis=0)


def _table(row: Bins, n_rows: int, others: Bins, gradients: Floats, totals: Floats) -> Floats:
    """Sums of the columns of gradients over the examples in each bin of a candidate and of each other one.

    The most frequent bin of the candidate has what the other bins leave of the totals.
    """
    number, size = totals.shape[1:]
    usual = int(np.bincount(row).argmax())
    rare = np.flatnonzero(row != usual)
    table = np.empty((len(totals), number, n_rows, size))
    step = max(1, CELLS // max(1, len(rare)))
    base, values = row[rare].astype(np.intp) * size, gradients[rare].T
    for first in range(0, number, step):
        own = others[first : first + step, rare]
        codes = (np.arange(len(own))[:, None] * (n_rows * size) + base + own).ravel()
        for column, each in enumerate(values):
            sums = np.bincount(codes, np.tile(each, len(own)), len(own) * n_rows * size)
            table[column, first : first + step] = sums.reshape(len(own), n_rows, size)
    table[:, :, usual] = totals - table.sum(axis=2)
    return table
