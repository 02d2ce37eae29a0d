"""What a step gains: the gain of a cut after each bin, or of a line over the scores of the bins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.learning.numbers import GRADIENT_BITS, Floats

UNIT = 2.0**GRADIENT_BITS


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


def score_table(scores: Sequence[tuple[float, ...]], size: int) -> Floats:
    """The scores of the bins of each candidate, of which there are ``size`` at most."""
    table = np.zeros((len(scores), size))
    for row, own in zip(table, scores, strict=True):
        row[: len(own)] = own[:size]
    return table
