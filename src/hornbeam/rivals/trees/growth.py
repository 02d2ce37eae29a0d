"""Growing a relational regression tree on gradients; the split that gains most comes first.

The gain of a split is the decrease of the squared error when each side gets its own mean,

    gain = S1^2/n1 + S0^2/n0 - S^2/n = (n*S1 - n1*S)^2 / (n*n1*n0),

where S and n are the sum and the number of gradients: for the examples for which the test holds (1), for
those for which it fails (0), and for all of them (no index). Gradients are whole multiples of 2**-30, so
sums are exact. Gains that are nearly equal are compared as rational numbers. On a tie the shorter test
wins, then the test whose text comes first.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np

from hornbeam.engines.clauses.counting.exact_sums import EXACT_FLOAT, row_products
from hornbeam.engines.clauses.counting.holding import Body, Truth
from hornbeam.learning.numbers import GRADIENT_BITS, Integers, round_weight
from hornbeam.learning.search.beam import NEAR, first_in_rank
from hornbeam.rivals.trees.tests import NodeTest, NodeTests, Rows
from hornbeam.rivals.trees.trees import Leaf, Node, Tree


class TreeOptions(Protocol):
    """The options of a learner that limit the growth of a tree."""

    @property
    def max_depth(self) -> int: ...
    @property
    def max_leaves(self) -> int: ...
    @property
    def min_examples(self) -> int: ...
    @property
    def max_literals(self) -> int: ...
    @property
    def beam_width(self) -> int: ...


class Split(NamedTuple):
    """A test of a node, the examples for which it holds and those for which it fails."""

    test: Body
    gain: Fraction
    holds: Rows
    fails: Rows


@dataclass(slots=True, eq=False)
class _Place:
    """A leaf of a growing tree; once split, a node."""

    body: Body
    rows: Rows
    depth: int
    split: Split | None = None
    below: tuple[_Place, _Place] | None = field(default=None)


class Growth(NamedTuple):
    """Everything that stays the same for all trees of a fit."""

    tests: NodeTests
    options: TreeOptions
    pause: Callable[[], None]

    def tree(self, gradients: Integers, rows: Rows) -> Tree:
        """Grow a tree on the gradients of some examples."""
        top = _Place((), rows, 0)
        waiting: list[tuple[Fraction, int, _Place]] = []
        number = 0

        def consider(place: _Place) -> None:
            nonlocal number
            if place.depth < self.options.max_depth:
                place.split = self.split(place.body, gradients, place.rows)
                if place.split is not None:
                    number += 1
                    heapq.heappush(waiting, (-place.split.gain, number, place))

        consider(top)
        leaves = 1
        while waiting and leaves < self.options.max_leaves:
            _, _, place = heapq.heappop(waiting)
            split = place.split
            assert split is not None
            place.below = (
                _Place(place.body + split.test, split.holds, place.depth + 1),
                _Place(place.body, split.fails, place.depth + 1),
            )
            leaves += 1
            for each in place.below:
                consider(each)
        return _finished(top, gradients)

    def split(self, body: Body, gradients: Integers, rows: Rows) -> Split | None:
        """The best test for the examples at a place of the tree; None if no test gains."""
        here = gradients[rows]
        scale = _Scale(len(rows), int(here.sum()), self.options.min_examples)
        exact_sums = int(np.abs(here).sum()) < EXACT_FLOAT
        weights = here.astype(np.float64) if exact_sums else here
        best: tuple[NodeTest, _Side, Truth] | None = None
        self.pause()
        level = alone = self.tests.alone(body, rows)
        for length in range(1, self.options.max_literals + 1):
            sizes = np.count_nonzero(level.table, axis=1).tolist()
            sums = row_products(level.table.astype(weights.dtype), weights).astype(np.int64).tolist()
            sides = [_Side(n, s) for n, s in zip(sizes, sums, strict=True)]
            # A longer test holds for no more examples, so tests that hold for too few are dropped.
            alive = [at for at, side in enumerate(sides) if side.examples >= scale.least]
            allowed = [at for at in alive if scale.examples - sides[at].examples >= scale.least]
            for at in _first(allowed, 1, sides, level.tests, scale):
                if best is None or scale.beats(sides[at], best[1]):
                    best = (level.tests[at], sides[at], level.table[at])
            if length < self.options.max_literals:
                self.pause()
                beam = level.only(_first(alive, self.options.beam_width, sides, level.tests, scale))
                last = length + 1 == self.options.max_literals
                level = self.tests.longer(body, rows, beam, alone, last)
        if best is None or scale.exact_gain(best[1]) == 0:
            return None
        chosen, side, truth = best
        return Split(chosen.candidate.test, scale.exact_gain(side), rows[truth], rows[~truth])


class _Side(NamedTuple):
    """The examples for which a test holds, and the sum of their gradients."""

    examples: int
    gradient: int


class _Scale(NamedTuple):
    """The examples at a place, for computing the gains of tests."""

    examples: int
    gradient: int
    least: int

    def exact_gain(self, side: _Side) -> Fraction:
        n, n1 = self.examples, side.examples
        if n1 in (0, n):
            return Fraction(0)
        return Fraction((n * side.gradient - n1 * self.gradient) ** 2, n * n1 * (n - n1))

    def gain(self, side: _Side) -> float:
        n, n1 = self.examples, side.examples
        if n1 in (0, n):
            return 0.0
        # Python divides integers of any size to the nearest float.
        return (n * side.gradient - n1 * self.gradient) ** 2 / (n * n1 * (n - n1))

    def beats(self, challenger: _Side, best: _Side) -> bool:
        """Whether a longer test is strictly better than the best so far."""
        one, other = self.gain(challenger), self.gain(best)
        if abs(one - other) > NEAR * other:
            return one > other
        return self.exact_gain(challenger) > self.exact_gain(best)


def _first(
    positions: Sequence[int], width: int, sides: Sequence[_Side], tests: Sequence[NodeTest], scale: _Scale
) -> list[int]:
    """The positions of the ``width`` best tests, in any order."""
    gains = np.array([scale.gain(sides[at]) for at in positions])
    chosen = first_in_rank(
        gains,
        width,
        lambda at: sides[positions[at]],
        scale.exact_gain,
        lambda at: tests[positions[at]].candidate.text,
    )
    return [positions[at] for at in chosen]


def _finished(place: _Place, gradients: Integers) -> Tree:
    if place.below is None:
        size = len(place.rows)
        mean = Fraction(int(gradients[place.rows].sum()), size) / 2**GRADIENT_BITS
        return Leaf(round_weight(mean), size)
    assert place.split is not None
    holds, fails = (_finished(below, gradients) for below in place.below)
    return Node(place.split.test, holds, fails)
