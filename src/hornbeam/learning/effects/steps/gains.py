"""What a step gains: the gain of a cut after each bin, or of a line over the scores of the bins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.learning.numbers import GRADIENT_BITS, Floats

UNIT = 2.0**GRADIENT_BITS


def cut_gains(
    first: Floats, second: Floats, l2: float, directions: Floats | None = None
) -> tuple[Floats, tuple[Floats, Floats, Floats]]:
    """The gain of a cut after each bin, and the levels below, above, and for missing values.

    A candidate with a direction of 1 may only rise, with -1 only fall: where the levels of a cut would go the
    other way they are 0, and missing values alone gain.
    """
    below_g, below_h = np.cumsum(first, axis=1), np.cumsum(second, axis=1)
    none_g, none_h = first[:, :1], second[:, :1]
    above_g, above_h = below_g[:, -1:] - below_g, below_h[:, -1:] - below_h
    below_g, below_h = below_g - none_g, below_h - none_h
    gains = (
        below_g * below_g / (below_h + l2)
        + above_g * above_g / (above_h + l2)
        + none_g * none_g / (none_h + l2)
    )
    below, above, none = below_g / (below_h + l2), above_g / (above_h + l2), none_g / (none_h + l2)
    if directions is not None:
        wrong = (above - below) * directions[:, None, None] < 0
        gains = np.where(wrong, none_g * none, gains)
        below, above = np.where(wrong, 0.0, below), np.where(wrong, 0.0, above)
    return gains, (below, above, none)


def line_gains(
    first: Floats, second: Floats, scores: Floats, l2: float, directions: Floats | None = None
) -> tuple[Floats, Floats]:
    """The gain of a line over the scores of the bins, and its slope; both are 0 in a wrong direction."""
    g, h = np.zeros((2, len(first), first.shape[2]))
    # Bin by bin: the order in which einsum adds floats depends on where arrays are in memory.
    for place in range(first.shape[1]):
        score = scores[:, place, None]
        g += first[:, place] * score
        h += second[:, place] * (score * score)
    if directions is not None:
        g = np.where(g * directions[:, None] < 0, 0.0, g)
    return g * g / (h + l2), g / (h + l2)


def score_table(scores: Sequence[tuple[float, ...]], size: int) -> Floats:
    """The scores of the bins of each candidate, of which there are ``size`` at most."""
    table = np.zeros((len(scores), size))
    for row, own in zip(table, scores, strict=True):
        row[: len(own)] = own[:size]
    return table
