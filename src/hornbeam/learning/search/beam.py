"""Beam search for the clause that fits the gradients best.

Ranking is exact. Gains are compared in floats first; those within 1e-9 of the place in question
are compared as rational numbers, and only equal ones are a tie, which goes to the shorter clause,
then to the smaller text.
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

from hornbeam.engines.contract import Session, Skipped, Sums
from hornbeam.learning.search.ridge import ClauseSums, clause_sums
from hornbeam.logic.clauses import Clause, atoms_of, literal_variables

NEAR = 1e-9
"""Gains nearer than this, relative, are compared exactly; their floats are far more accurate."""

Refine = Callable[[Clause], Sequence[Clause]]


class Fitting(Protocol):
    """How a clause is fitted to the gradients: by how much it lowers their squared error."""

    def gains(self, sums: Sums) -> npt.NDArray[np.float64]:
        """The gain of each clause, to about 1e-14 relative; never negative."""
        ...

    def exact_gain(self, sums: ClauseSums) -> Fraction:
        """The gain of one clause as a rational number."""
        ...

    def weights(self, sums: ClauseSums) -> tuple[float, float, float]:
        """The weight vector of one clause, rounded to 12 significant digits."""
        ...


class SearchOptions(Protocol):
    """The options of a learner that a search heeds."""

    @property
    def max_literals(self) -> int: ...
    @property
    def beam_width(self) -> int: ...
    @property
    def stop(self) -> str: ...


class Scored(NamedTuple):
    """A clause with its sums, and its gain to float precision."""

    clause: Clause
    sums: ClauseSums
    gain: float


@dataclass(slots=True)
class Found:
    """What one search gives: the best clause, if any, and how many candidates it looked at."""

    best: Scored | None = None
    leaders: list[Scored] = field(default_factory=list)
    """the first in rank of each length, the best among them"""
    counted: int = 0
    reused: int = 0
    skipped: list[Skipped] = field(default_factory=list)


def search(
    session: Session,
    refine: Refine,
    empty: Clause,
    fitting: Fitting,
    options: SearchOptions,
    pause: Callable[[], None] = lambda: None,
    length_penalty: float = 0.0,
    barred: Collection[Clause] = (),
    links_from: int | None = None,
) -> Found:
    """The best clause for the session's gradients; ``pause`` is called before each length.

    A longer clause must gain more than the best so far by the length penalty; clauses that are
    ``barred``, and others with the same sums, may be extended but are not chosen. With ``links_from``,
    the sum of true of a clause without a body, links are extended along with the clauses that gain most.
    """
    found = Found()
    shut = set(_keys(session.sums(list(barred)))) if barred else set()
    beam: Sequence[Clause] = (empty,)
    early: set[Clause] = set()
    above = {} if links_from is None else {empty: links_from}
    for length in range(1, options.max_literals + 1):
        pause()
        candidates = list(dict.fromkeys(chain.from_iterable(map(refine, beam))))
        if early:
            candidates = [clause for clause in candidates if clause not in early]
        # An atom that brings a comparison along is one addition; the same body comes again when the
        # comparison is added to the atom, and would take a place in the beam twice.
        early.update(clause for clause in candidates if len(clause.body) > length)
        sums = session.sums(candidates)
        found.counted += sums.counted
        found.reused += len(candidates) - sums.counted
        found.skipped.extend(sums.skipped)
        level = _Level(sums, fitting.gains(sums), fitting)
        if not len(level.gains):
            break
        challenger = level.best(shut)
        if challenger is not None and (
            found.best is None
            or options.stop == "full"
            or level.beats(challenger, found.best, 1 - Fraction(length_penalty))
        ):
            found.best = challenger
        first = level.first(options.beam_width)
        found.leaders += level.leaders(first, shut)
        parents, beam = beam, [sums.clauses[position] for position in first]
        if above and length < options.max_literals:
            origins = {clause: parent for parent in reversed(parents) for clause in refine(parent)}
            beam = list(dict.fromkeys([*beam, *level.links(origins, above, options.beam_width)]))
            above = dict(zip(sums.clauses, sums.true, strict=True))
    return found


class _Level(NamedTuple):
    """All candidates of one length."""

    sums: Sums
    gains: npt.NDArray[np.float64]
    fitting: Fitting

    def best(self, shut: Collection[Key] = ()) -> Scored | None:
        """The first in rank of those whose sums are not shut out."""
        level = self
        if shut:
            out = [key in shut for key in _keys(self.sums)]
            if all(out):
                return None
            level = self._replace(gains=np.where(out, -1.0, self.gains))
        (position,) = level.first(1)
        return self._scored(position)

    def leaders(self, positions: Iterable[int], shut: Collection[Key]) -> list[Scored]:
        """Those at some positions whose sums are not shut out."""
        found = [self._scored(position) for position in positions]
        return [each for each in found if each.sums[1:] not in shut]

    def _scored(self, position: int) -> Scored:
        return Scored(
            self.sums.clauses[position], clause_sums(self.sums, position), float(self.gains[position])
        )

    def links(
        self, origins: Mapping[Clause, Clause], above: Mapping[Clause, int], width: int
    ) -> list[Clause]:
        """Clauses whose last addition leads to a new value for most of what was there, and to few more.

        Such a link says little itself: ``lastinitial(B,D)`` holds for every B. What can be said with the
        D that it leads to may say much.
        """
        found = []
        for clause, true in zip(self.sums.clauses, self.sums.true, strict=True):
            before = above[origins[clause]]
            if true <= before <= 2 * true and _leads_on(clause):
                found.append((before - true, *_shorter_first(clause), clause))
        return [clause for *_, clause in sorted(found)[:width]]

    def beats(self, challenger: Scored, best: Scored, kept: Fraction = Fraction(1)) -> bool:
        """Whether a clause ranks before the best so far; of its gain, ``kept`` counts per literal more."""
        share = kept ** (length_of(challenger.clause) - length_of(best.clause))
        found = challenger.gain * float(share)
        if abs(found - best.gain) > NEAR * best.gain:
            return found > best.gain
        if challenger.sums != best.sums or share != 1:
            gain, bar = self.fitting.exact_gain(challenger.sums), self.fitting.exact_gain(best.sums)
            gain *= share
            if gain != bar:
                return gain > bar
        return _shorter_first(challenger.clause) < _shorter_first(best.clause)

    def first(self, width: int) -> list[int]:
        """Positions of the first ``width`` in rank, in no order."""
        return first_in_rank(
            self.gains,
            width,
            lambda position: clause_sums(self.sums, position),
            self.fitting.exact_gain,
            lambda position: _shorter_first(self.sums.clauses[position]),
        )


@lru_cache(maxsize=65536)
def length_of(clause: Clause) -> int:
    """What a clause pays for: its atoms. A comparison comes with the atom whose value it compares."""
    return sum(1 for _ in atoms_of(clause.body))


def _leads_on(clause: Clause) -> bool:
    """Whether a free variable of the body occurs but once, so that more can be said of it."""
    times = Counter(variable for literal in clause.body for variable in literal_variables(literal))
    return any(times[variable] == 1 for variable in clause.free_variables())


Key = tuple[int, int, int]


def _keys(sums: Sums) -> Iterable[Key]:
    """What tells the counts of clauses apart, near enough: their sums, alone and with the gradients."""
    return zip(sums.true, sums.true_squared, sums.true_gradient, strict=True)


@lru_cache(maxsize=65536)
def _shorter_first(clause: Clause) -> tuple[int, str]:
    """The order of clauses with equal gains; the same ties come up in every step."""
    return len(clause.body), str(clause)


Alike = TypeVar("Alike", bound=Hashable)


def first_in_rank(
    gains: npt.NDArray[np.float64],
    width: int,
    key: Callable[[int], Alike],
    exact_gain: Callable[[Alike], Fraction],
    order: Callable[[int], str | tuple[int, str]],
) -> list[int]:
    """Positions of the ``width`` greatest gains, in no order; of equal gains the first in ``order``.

    Gains that floats cannot tell apart are compared exactly; positions of one key have one gain.
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
    for alike, members in by_key.items():
        gain = exact_gain(alike) if len(by_key) > 1 else None
        by_gain.setdefault(gain, []).extend(members)
    chosen: list[int] = []
    for _, members in sorted(by_gain.items(), key=lambda item: item[0] or 0, reverse=True):
        if len(chosen) + len(members) > places:
            members.sort(key=order)
        chosen.extend(members[: places - len(chosen)])
        if len(chosen) == places:
            break
    return sure + chosen
