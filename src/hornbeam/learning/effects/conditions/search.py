"""What steps may take besides the candidates of paths, and how much its gain counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.learning.effects.bodies import n_conditions
from hornbeam.learning.effects.candidates import FeatureCandidate
from hornbeam.learning.effects.steps.pairs import NEVER, PairRules
from hornbeam.learning.numbers import Floats

WORTH_OF_SECOND = 0.7
"""The share of its gain that counts if a candidate has a second condition."""


class Search(NamedTuple):
    """Pairs of candidates, and candidates that are not for all bags."""

    pairs: PairRules | None = None
    """the pairs of candidates that are allowed; None for none"""
    bags: Mapping[int, frozenset[int]] = {}
    """the bags that may use a candidate; all bags may use the candidates that are not named"""

    def worth(self, candidates: Sequence[FeatureCandidate], n_bags: int) -> Floats:
        """For each candidate and bag, the share of the gain that counts.

        Candidates with a second condition are the best of many, so their gains count less.
        """
        conditions = np.array([n_conditions(each.request.body) for each in candidates])
        worth = np.repeat(np.where(conditions > 1, WORTH_OF_SECOND, 1.0)[:, None], n_bags, axis=1)
        for candidate, bags in self.bags.items():
            worth[candidate, [bag for bag in range(n_bags) if bag not in bags]] = 0.0
        return worth

    def without_conditions(self, which: npt.NDArray[np.bool_]) -> Search:
        """The same without some candidates as conditions of pairs."""
        if self.pairs is None or not which.any():
            return self
        sides = np.where(which, NEVER, self.pairs.sides)
        return self._replace(pairs=self.pairs._replace(sides=sides))


NO_SEARCH = Search()
