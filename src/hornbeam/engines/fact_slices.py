"""Facts of an atom in order of the values of its bound variables, and then of time.

The facts that exist for given values before a cut-off are then one slice of the order, and so are the last
ones and those within some time of the cut-off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.data.numbers import Floats
from hornbeam.data.rows import Folds, Integers, RowNumbers, fold, probe, run_starts
from hornbeam.data.sparse import by_row

DENSE_KEYS = 1 << 22
"""A slice is found through an array over all possible values if there are at most this many."""


@dataclass(frozen=True, slots=True, eq=False)
class AtomFacts:
    """Facts that match an atom's constants and repeated variables; rows distinct and sorted."""

    columns: tuple[Codes, ...]
    sizes: tuple[int, ...]
    rows: int
    times: Integers | None = None
    """how often each row counts (None: once); only a product of links has it"""
    since: Floats | None = None
    """the time from which each row is a fact; None: always"""

    @property
    def nbytes(self) -> int:
        arrays = (*self.columns, self.times, self.since)
        return sum(array.nbytes for array in arrays if array is not None)


class FactLimits(NamedTuple):
    """Which of the facts before a cut-off are taken; ``None`` sets no limit."""

    last: int | None = None
    within: float | None = None
    """in the unit of times"""


@dataclass(frozen=True, slots=True, eq=False)
class FactSlices:
    """The facts of an atom, sorted by the values of its bound variables and by time."""

    columns: tuple[Codes, ...]
    """the columns of the variables that are not bound"""
    sizes: tuple[int, ...]
    """the sizes of the types of these variables"""
    times: Floats | None
    moments: Floats
    folds: Folds | None
    """how the bound values are folded into one number; None if no variable is bound"""
    bound_sizes: tuple[int, ...]
    keys: RowNumbers | None
    """the distinct numbers of bound values, sorted; None if ``starts`` has an element for every number"""
    starts: Integers
    order: RowNumbers | None
    """place of the key times the number of moments, plus the rank of the time: sorted; None if the facts of
    a key are in no order of time"""

    is_single: bool = False
    """whether no slice has more than one fact"""

    @property
    def nbytes(self) -> int:
        arrays = (*self.columns, self.times, self.keys, self.starts, self.order)
        return sum(array.nbytes for array in arrays if array is not None)

    def find(
        self, values: Sequence[Integers], cutoffs: Floats | None, length: int, limits: FactLimits
    ) -> tuple[Integers, Integers]:
        """The start and the end of the slice for each of ``length`` rows of bound values and cut-offs."""
        place, first, end = self._places(values, length)
        if self.order is None or self.times is None or (cutoffs is None and limits == FactLimits()):
            return first, end
        if cutoffs is not None and self.is_single:
            return first, first + self._is_there(first, end, cutoffs, limits.within)
        step = len(self.moments) + 1
        if cutoffs is not None:
            # Nothing is too long before an infinite cut-off.
            endless = cutoffs == np.inf
            before = np.searchsorted(self.moments, cutoffs, side="right")
            end = self._search(place * step + before, first, end)
            if limits.within is not None:
                edge = np.where(endless, 0, np.searchsorted(self.moments, cutoffs - limits.within))
                first = self._search(place * step + edge, first, end)
        if limits.last is not None:
            many = end - first > limits.last
            rows = np.flatnonzero(many)
            ties = np.searchsorted(self.moments, self.times[end[rows] - limits.last])
            first = first.copy()
            first[rows] = self._search(place[rows] * step + ties, first[rows], end[rows])
        return first, end

    def _is_there(self, first: Integers, end: Integers, cutoffs: Floats, within: float | None) -> Integers:
        """Whether the only fact of each slice is within the limits."""
        assert self.times is not None
        there: Integers = first != end
        if not len(self.times):
            return there
        # The last slice, of no fact, begins behind the last fact.
        times = self.times[np.minimum(first, len(self.times) - 1)]
        there &= times <= cutoffs
        if within is not None:
            there &= (times >= cutoffs - within) | (cutoffs == np.inf)
        return there

    def _search(self, wanted: RowNumbers, first: Integers, end: Integers) -> Integers:
        assert self.order is not None
        found = np.searchsorted(self.order, wanted)
        return np.clip(found, first, np.maximum(end, first))

    def _places(self, values: Sequence[Integers], length: int) -> tuple[Integers, Integers, Integers]:
        if self.folds is None:
            place = np.zeros(length, dtype=np.int64)
        else:
            place = probe(
                [_known(column, size) for column, size in zip(values, self.bound_sizes, strict=True)],
                self.folds,
            )
            if self.keys is not None:
                found = np.minimum(np.searchsorted(self.keys, place), max(len(self.keys) - 1, 0))
                known = self.keys[found] == place if len(self.keys) else np.zeros(length, dtype=bool)
                place = np.where(known, found, len(self.starts) - 2)
        return place, self.starts.take(place), self.starts[1:].take(place)


def _known(codes: Integers, size: int) -> Integers:
    """Codes in which an unknown constant has a code that no fact has."""
    return np.where(codes < 0, size, codes) if codes.min(initial=0) < 0 else codes


def slices_of(
    matching: AtomFacts, order: Sequence[int], bound: Sequence[int], by_time: bool = True
) -> FactSlices:
    """The slices of an atom's facts, whose columns have the variables of ``order``, by some variables.

    If they are not ``by_time``, they cannot be limited by cut-offs.
    """
    others = [place for place, variable in enumerate(order) if variable not in bound]
    by = [order.index(variable) for variable in bound]
    times = matching.since
    sorting, moments, ranks = _in_time(times if by_time else None, matching.rows)
    sizes = [matching.sizes[place] + 1 for place in by]
    numbers, folds = np.zeros(matching.rows, dtype=np.int64), None
    if by:
        numbers, folds = fold([matching.columns[place] for place in by], sizes)
    place: Integers = numbers[sorting]
    keys, span = None, math.prod(sizes)
    if span > max(DENSE_KEYS, 4 * matching.rows) or (
        folds and any(ranked is not None for _, ranked in folds)
    ):
        keys, place = np.unique(place, return_inverse=True)
        place = place.ravel()
        span = len(keys) + 1
    grouped = by_row(place.astype(np.int32), np.arange(len(place), dtype=np.int32), sorting, (span, 0))
    sorting = grouped.entries
    in_order = None
    if ranks is not None:
        in_order = place[grouped.ends].astype(np.int64) * (len(moments) + 1) + ranks[grouped.ends]
    return FactSlices(
        tuple(matching.columns[place][sorting] for place in others),
        tuple(matching.sizes[place] for place in others),
        None if times is None else times[sorting],
        moments,
        folds,
        tuple(matching.sizes[place] for place in by),
        keys,
        grouped.starts.astype(np.int64),
        in_order,
        bool((np.diff(grouped.starts) <= 1).all()),
    )


def _in_time(times: Floats | None, rows: int) -> tuple[Integers, Floats, Integers | None]:
    """The facts in order of time, the distinct times, and which of these each fact in order has."""
    if times is None:
        return np.arange(rows), np.empty(0), None
    sorting = np.argsort(times, kind="stable")
    ordered = times[sorting]
    starts = run_starts(ordered)
    return sorting, ordered[starts], np.repeat(np.arange(len(starts)), np.diff(starts, append=rows))
