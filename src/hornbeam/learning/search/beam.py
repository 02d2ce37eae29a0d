"""Beam search for the clause that fits the gradients best.

Ranking is exact. Gains are compared as floats first; gains within 1e-9 of the last gain that
enters the beam are compared as rational numbers. Only exactly equal gains are a tie: then the shorter
clause wins, then the clause whose text comes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from hornbeam.engines.clauses.contract import Sums
from hornbeam.engines.clauses.counting.count_cache import CountCache
from hornbeam.engines.contract import Skipped
from hornbeam.learning.search.ridge import ClauseSums, clause_sums
from hornbeam.logic.clauses import Clause, atoms_of, literal_variables

NEAR = 1e-9
"""Gains with a smaller relative difference are compared exactly; float errors are far smaller still."""

Refine = Callable[[Clause], Sequence[Clause]]


class SearchSpace(NamedTuple):
    """The clauses of a search: the empty clause, and the function that extends a clause."""

    empty: Clause
    refine: Refine
    extend: Callable[[Sequence[Clause]], Sequence[Clause] | None] | None = None
    """the distinct refinements of several clauses, if they can be had at less cost"""

    def candidates(self, clauses: Sequence[Clause]) -> Sequence[Clause]:
        """The distinct refinements of several clauses."""
        extended = None if self.extend is None else self.extend(clauses)
        return (
            list(dict.fromkeys(chain.from_iterable(map(self.refine, clauses))))
            if extended is None
            else extended
        )


class SearchLimits(NamedTuple):
    """How far a search goes, and what a longer clause must gain."""

    max_literals: int
    beam_width: int
    stop: str
    """``best`` takes the best clause of any length, ``full`` always extends to the greatest length"""
    length_penalty: float = 0.0
    """share of its gain that a clause loses for each additional atom"""


class Fitting(Protocol):
    """How clauses are fitted to the gradients; the gain is the decrease of their squared error."""

    def gains(self, sums: Sums) -> npt.NDArray[np.float64]:
        """The gain of each clause, to about 1e-14 relative; never negative."""
        ...

    def exact_gain(self, sums: ClauseSums) -> Fraction:
        """The gain of one clause as a rational number."""
        ...

    def weights(self, sums: ClauseSums) -> tuple[float, float, float]:
        """The weight vector of one clause, rounded to 12 significant digits."""
        ...


class Scored(NamedTuple):
    """A clause with its sums, and its gain to float precision."""

    clause: Clause
    sums: ClauseSums
    gain: float


@dataclass(slots=True)
class SearchResult:
    """The best clause of a search, if any, and the number of candidates examined."""

    best: Scored | None = None
    leaders: list[Scored] = field(default_factory=list)
    """the clauses of the beam at each length"""
    counted: int = 0
    reused: int = 0
    skipped: list[Skipped] = field(default_factory=list)


def search(
    session: CountCache,
    space: SearchSpace,
    fitting: Fitting,
    limits: SearchLimits,
    pause: Callable[[], None] = lambda: None,
    barred: Collection[Clause] = (),
    links_from: int | None = None,
) -> SearchResult:
    """Find the best clause for the session's gradients; ``pause`` is called before each length.

    ``barred`` clauses, and other clauses with the same sums, may be extended but are not chosen. If
    ``links_from``, the sum of the true counts of the empty clause, is given, links are extended as well as
    the clauses that gain most.
    """
    result = SearchResult()
    barred_keys = set(_keys(session.sums(list(barred)))) if barred else set()
    beam: Sequence[Clause] = (space.empty,)
    early: set[Clause] = set()
    above = {} if links_from is None else {space.empty: links_from}
    for length in range(1, limits.max_literals + 1):
        pause()
        candidates = space.candidates(beam)
        if isinstance(candidates, list):
            if early:
                candidates = [clause for clause in candidates if clause not in early]
            # An atom together with a comparison is one addition. The same body appears again when the
            # comparison is added to the atom, and would then be in the beam twice.
            early.update(clause for clause in candidates if len(clause.body) > length)
        sums = session.sums(candidates)
        result.counted += sums.counted
        result.reused += len(candidates) - sums.counted
        result.skipped.extend(sums.skipped)
        level = _Level(sums, fitting.gains(sums), fitting)
        if not len(level.gains):
            break
        challenger = level.best(barred_keys)
        if challenger is not None and (
            result.best is None
            or limits.stop == "full"
            or level.beats(challenger, result.best, 1 - Fraction(limits.length_penalty))
        ):
            result.best = challenger
        first = level.first(limits.beam_width)
        result.leaders += level.leaders(first, barred_keys)
        parents, beam = beam, [sums.clauses[position] for position in first]
        if above and length < limits.max_literals:
            origins = {clause: parent for parent in reversed(parents) for clause in space.refine(parent)}
            beam = list(dict.fromkeys([*beam, *level.links(origins, above, limits.beam_width)]))
            above = dict(zip(sums.clauses, sums.true, strict=True))
    return result


class _Level(NamedTuple):
    """All candidates of one length."""

    sums: Sums
    gains: npt.NDArray[np.float64]
    fitting: Fitting

    def best(self, barred: Collection[Key] = ()) -> Scored | None:
        """The first clause in rank whose sums are not barred."""
        level = self
        if barred:
            is_barred = [key in barred for key in _keys(self.sums)]
            if all(is_barred):
                return None
            level = self._replace(gains=np.where(is_barred, -1.0, self.gains))
        (position,) = level.first(1)
        return self._scored(position)

    def leaders(self, positions: Iterable[int], barred: Collection[Key]) -> list[Scored]:
        """The clauses at some positions whose sums are not barred."""
        scored = [self._scored(position) for position in positions]
        return [each for each in scored if each.sums[1:] not in barred]

    def _scored(self, position: int) -> Scored:
        return Scored(
            self.sums.clauses[position], clause_sums(self.sums, position), float(self.gains[position])
        )

    def links(
        self, origins: Mapping[Clause, Clause], above: Mapping[Clause, int], width: int
    ) -> list[Clause]:
        """Clauses whose last addition is a link: it gives most groundings of the clause one new value.

        Such a link gains little itself: ``lastinitial(B,D)`` holds for every B. A literal about the new
        variable D may gain much.
        """
        links = []
        for clause, true in zip(self.sums.clauses, self.sums.true, strict=True):
            before = above[origins[clause]]
            if true <= before <= 2 * true and _leads_on(clause):
                links.append((before - true, *_shorter_first(clause), clause))
        return [clause for *_, clause in sorted(links)[:width]]

    def beats(self, challenger: Scored, best: Scored, kept: Fraction = Fraction(1)) -> bool:
        """Whether a clause ranks before the best so far; each extra atom multiplies its gain by ``kept``."""
        share = kept ** (length_of(challenger.clause) - length_of(best.clause))
        penalised = challenger.gain * float(share)
        if abs(penalised - best.gain) > NEAR * best.gain:
            return penalised > best.gain
        if challenger.sums != best.sums or share != 1:
            gain, bar = self.fitting.exact_gain(challenger.sums), self.fitting.exact_gain(best.sums)
            gain *= share
            if gain != bar:
                return gain > bar
        return _shorter_first(challenger.clause) < _shorter_first(best.clause)

    def first(self, width: int) -> list[int]:
        """Positions of the ``width`` best clauses, in any order."""
        return first_in_rank(
            self.gains,
            width,
            lambda position: clause_sums(self.sums, position),
            self.fitting.exact_gain,
            lambda position: _shorter_first(self.sums.clauses[position]),
        )


@lru_cache(maxsize=65536)
def length_of(clause: Clause) -> int:
    """Number of atoms in the body; a comparison belongs to the atom whose value it compares."""
    return sum(1 for _ in atoms_of(clause.body))


def _leads_on(clause: Clause) -> bool:
    """Whether a free variable of the body occurs only once, so that another literal can use it."""
    times = Counter(variable for literal in clause.body for variable in literal_variables(literal))
    return any(times[variable] == 1 for variable in clause.free_variables())


Key = tuple[int, int, int]


def _keys(sums: Sums) -> Iterable[Key]:
    """Sums of the counts, alone and with the gradients; equal keys almost always mean equal counts."""
    columns = (np.asarray(each, dtype=object) for each in (sums.true, sums.true_squared, sums.true_gradient))
    return zip(*columns, strict=True)


@lru_cache(maxsize=65536)
def _shorter_first(clause: Clause) -> tuple[int, str]:
    """Sort key for clauses with equal gains; cached because the same ties occur in every step."""
    return len(clause.body), str(clause)


Alike = TypeVar("Alike", bound=Hashable)


def first_in_rank(
    gains: npt.NDArray[np.float64],
    width: int,
    key: Callable[[int], Alike],
    exact_gain: Callable[[Alike], Fraction],
    order: Callable[[int], str | tuple[int, str]],
) -> list[int]:
    """Positions of the ``width`` greatest gains, in any order; ``order`` decides between equal gains.

    Gains that floats cannot tell apart are compared exactly; positions with equal keys have equal gains.
    """
    count = len(gains)
    if count <= width:
        return list(range(count))
    bar = np.partition(gains, count - width)[count - width]
    margin = NEAR * bar
    sure: list[int] = np.flatnonzero(gains > bar + margin).tolist()
    near: list[int] = np.flatnonzero(np.abs(gains - bar) <= margin).tolist()
    places = width - len(sure)
    if len(near) == places:
        return sure + near
    by_key: dict[Alike, list[int]] = {}
    for position in near:
        by_key.setdefault(key(position), []).append(position)
    by_gain: dict[Fraction | None, list[int]] = {}
    for group_key, members in by_key.items():
        gain = exact_gain(group_key) if len(by_key) > 1 else None
        by_gain.setdefault(gain, []).extend(members)
    chosen: list[int] = []
    for _, members in sorted(by_gain.items(), key=lambda item: item[0] or 0, reverse=True):
        if len(chosen) + len(members) > places:
            members.sort(key=order)
        chosen.extend(members[: places - len(chosen)])
        if len(chosen) == places:
            break
    return sure + chosen
