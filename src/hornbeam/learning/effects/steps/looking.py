"""Which examples are looked at when candidates are compared: a sample, if there are very many examples.

The levels of a curve are fitted to all examples of a bag, whatever is looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.learning.effects.steps.bin_sums import Places
from hornbeam.learning.numbers import Floats

ENOUGH_CELLS = 40_000_000
"""About this many bins are looked at: with more candidates, in fewer examples..."""
ENOUGH_EXAMPLES = 20_000
"""... but in at least this many."""


class Looked(NamedTuple):
    """The places of the examples that are looked at, and the weight of each in each bag."""

    places: Places | None
    """None for all examples"""
    weights: Floats

    @property
    def number(self) -> int:
        return int(self.weights.shape[1])

    def is_same(self, other: Looked) -> bool:
        """Whether the same examples are looked at."""
        if self.places is None or other.places is None:
            return self.places is other.places
        return np.array_equal(self.places, other.places)

    def of(self, values: Floats) -> Floats:
        """The values of the examples that are looked at."""
        return values if self.places is None else values[self.places]

    def of_bins(self, bins: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """The bins of the examples that are looked at; examples are the last axis."""
        return bins if self.places is None else bins[..., self.places]


def looked_at(sizes: Floats, weights: Floats, n_candidates: int) -> Looked:
    """The examples in which some candidates are compared.

    ``sizes`` says how much each example counts, and row k of ``weights`` how much of it bag k has.
    """
    return drawn(sizes, weights, max(ENOUGH_EXAMPLES, ENOUGH_CELLS // max(1, n_candidates)))


def drawn(sizes: Floats, weights: Floats, most: int) -> Looked:
    """At most so many examples, drawn by size at equal distances; they are in the order of their hashes."""
    if len(sizes) <= most:
        return Looked(None, weights)
    upto = np.cumsum(sizes)
    distance = upto[-1] / most
    times = np.diff(np.floor(upto / distance + 0.5).astype(np.int64), prepend=0)
    places = np.flatnonzero(times)
    drawn_weights = distance * times[places] * weights[:, places] / sizes[places]
    # Whole numbers, so that sums of whole weights stay exact.
    is_whole = bool((sizes == np.rint(sizes)).all())
    return Looked(places, np.rint(drawn_weights) if is_whole else drawn_weights)
