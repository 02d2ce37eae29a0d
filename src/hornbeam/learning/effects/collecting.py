"""The candidates of paths, path by path, in this process or in several.

Each process has its own candidates; they are put together in the order of the paths, so they are the same for
any number of processes. Limits on all paths together are checked there: once one is reached, the paths that
are left are followed one after the other.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from threading import Condition, Thread
from typing import NamedTuple

from hornbeam.data.database import Codes, Database
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.learning.effects.bins import Bins
from hornbeam.learning.effects.bodies import BodyLimits, LimitedPool
from hornbeam.learning.effects.candidates import MOST_WORK, FeatureCandidate, Offers, Pool
from hornbeam.learning.effects.links import Path
from hornbeam.learning.workers import Jobs, Worker
from hornbeam.logic.clauses import Atom
from hornbeam.logic.effects import Body

NAME = "paths"
SHARES = 8
"""Paths are handed out in this many shares for each process, or one by one."""
MOST_BYTES = 1 << 62
ENOUGH_FACTS, ENOUGH_VALUES = 200_000, 50_000
"""Workers are started for at least this many facts, or values of attributes: less takes about a second."""


def is_worth_workers(database: Database, paths: Sequence[Path], n_examples: int) -> bool:
    """Whether a fit is long enough that workers gain more than it costs to start them."""
    if database.is_in_place or sum(map(len, database.relations.values())) >= ENOUGH_FACTS:
        return True
    return n_examples * sum(1 + len(path.attributes) for path in paths) >= ENOUGH_VALUES


class PathSettings(NamedTuple):
    """What all paths of a fit share."""

    head: Atom
    keys: Codes
    n_cuts: int
    min_support: int
    n_thresholds: int
    limits: BodyLimits
    cut: bool
    """whether the examples have cut-offs"""

    def offers(self, engine: Engine, most_bytes: int) -> Offers:
        """Candidates so far: none."""
        pool = LimitedPool(self.n_cuts, self.min_support, most_bytes, limits=self.limits)
        return Offers(engine, self.head, self.keys, pool, self.n_thresholds, self.cut)


class PathOffers(NamedTuple):
    """The candidates of one path, and what was skipped and done for it."""

    candidates: list[FeatureCandidate]
    rows: list[Bins]
    keys: list[bytes]
    skipped: list[Skipped]
    work: int
    left_out: set[Body]


class PathFollower:
    """Follows paths in one process; candidates that an earlier path had are left out."""

    def __init__(self, engine: Engine, settings: PathSettings) -> None:
        self._offers = settings.offers(engine, MOST_BYTES)
        self._number = 0

    def of_paths(self, number: int, paths: Sequence[Path]) -> list[PathOffers]:
        """The candidates of each path of the share with this number."""
        if number < self._number:
            # Paths that come later were followed before: what they had must not be left out here.
            self._offers.pool.seen.clear()
        self._number = number
        return [self._of_path(path) for path in paths]

    def _of_path(self, path: Path) -> PathOffers:
        offers = self._offers
        offers.work, offers.skipped, offers.left_out = 0, [], set()
        offers.of_path(path)
        return PathOffers(*offers.pool.taken(), offers.skipped, offers.work, offers.left_out)


def follower(engine: type[Engine], database: Database, memory: int, settings: PathSettings) -> PathFollower:
    """A follower with an engine of its own, for a worker."""
    return PathFollower(engine(database, memory), settings)


@dataclass(eq=False)
class _Shares:
    """Shares of paths that several processes take, and the candidates found so far.

    Neighbouring paths begin alike, and a process computes their beginning once. So each process has a range
    of shares; one that is done with its own takes the last share of the range with most left.
    """

    shares: Sequence[Sequence[Path]]
    n_processes: int
    first: int
    """the number of shares before these"""
    found: dict[int, list[PathOffers]] = field(default_factory=dict)
    error: BaseException | None = None
    changed: Condition = field(default_factory=Condition)
    left: list[range] = field(init=False)
    """the shares of each process that nobody has taken"""

    def __post_init__(self) -> None:
        edges = [len(self.shares) * part // self.n_processes for part in range(self.n_processes + 1)]
        self.left = [range(start, end) for start, end in pairwise(edges)]

    def take(self, process: int) -> int | None:
        """The number of the next share of a process; None if no share is left."""
        with self.changed:
            own = self.left[process]
            if own:
                self.left[process] = own[1:]
                return own[0]
            most = max(range(self.n_processes), key=lambda each: len(self.left[each]))
            if not self.left[most]:
                return None
            last = self.left[most][-1]
            self.left[most] = self.left[most][:-1]
            return last

    def put(self, number: int, found: list[PathOffers]) -> None:
        with self.changed:
            self.found[number] = found
            self.changed.notify()

    def stop(self, error: BaseException | None = None) -> None:
        """Hand out no more shares."""
        with self.changed:
            self.left, self.error = [range(0)] * self.n_processes, error or self.error
            self.changed.notify()

    def by(self, worker: Worker, process: int) -> None:
        """Have a worker follow paths until no share is left."""
        try:
            while (number := self.take(process)) is not None:
                worker.ask(NAME, "of_paths", self.first + number, self.shares[number])
                self.put(number, worker.answer())
        except BaseException as error:
            self.stop(error)


class Collecting:
    """Adds the candidates of paths to ``offers``."""

    def __init__(self, offers: Offers, settings: PathSettings, jobs: Jobs) -> None:
        self.offers, self.jobs = offers, jobs
        engine = offers.engine
        self.workers = jobs.workers if engine.has_copies else []
        self.own = PathFollower(engine, settings)
        self._n_shares = 0
        with jobs.together():
            for worker in self.workers:
                worker.make(NAME, follower, type(engine), engine.database, engine.memory, settings)
            for worker in self.workers:
                worker.answer()

    def of_paths(self, paths: Sequence[Path]) -> Generator[int, None, None]:
        """Add the candidates of each path, in order, and yield how many they are."""
        done = 0
        if self.workers:
            for added in self._together(paths):
                done += 1
                yield added
        for path in paths[done:]:
            before = len(self.offers.pool.candidates)
            self.offers.of_path(path)
            yield len(self.offers.pool.candidates) - before

    def _together(self, paths: Sequence[Path]) -> Iterator[int]:
        """The same by all processes, until a limit on all paths is reached."""
        size = max(1, len(paths) // (SHARES * (len(self.workers) + 1)))
        n_processes = len(self.workers) + 1
        parts = [paths[start : start + size] for start in range(0, len(paths), size)]
        shares = _Shares(parts, n_processes, self._n_shares)
        self._n_shares += len(parts)
        threads = [
            Thread(target=shares.by, args=(worker, process), daemon=True)
            for process, worker in enumerate(self.workers, start=1)
        ]
        with self.jobs.together():
            for thread in threads:
                thread.start()
            for number in range(len(shares.shares)):
                for each in self._found(shares, number):
                    if not self._has_room(each):
                        shares.stop()
                        self.workers = []
                        break
                    yield self._added(each)
                if not self.workers:
                    break
            for thread in threads:
                thread.join()

    def _found(self, shares: _Shares, number: int) -> list[PathOffers]:
        """The candidates of a share; while others find them, other shares are done here."""
        while number not in shares.found:
            own = shares.take(0)
            if own is not None:
                shares.put(own, self.own.of_paths(shares.first + own, shares.shares[own]))
                continue
            with shares.changed:
                if shares.error is not None:
                    raise shares.error
                if number not in shares.found:
                    shares.changed.wait(1.0)
        return shares.found.pop(number)

    def _has_room(self, found: PathOffers) -> bool:
        pool, rows = self.offers.pool, len(found.rows)
        if self.offers.work + found.work > MOST_WORK:
            return False
        return (len(pool.rows) + rows) * len(self.offers.keys) <= pool.most_bytes

    def _added(self, found: PathOffers) -> int:
        offers, before = self.offers, len(self.offers.pool.candidates)
        offers.work += found.work
        offers.skipped += found.skipped
        offers.left_out |= found.left_out
        for candidate, row, key in zip(found.candidates, found.rows, found.keys, strict=True):
            offers.pool.keep(candidate, row, key)
        return len(offers.pool.candidates) - before


class KeptCandidates(NamedTuple):
    """The candidates of paths, as a fit of other labels of the same examples collected them.

    Labels do not matter before conditions narrow the paths.
    """

    pool: Pool
    path_of: tuple[Path, ...]
    skipped: tuple[Skipped, ...]
    work: int
    left_out: frozenset[Body]

    @staticmethod
    def of(offers: Offers, path_of: Sequence[Path]) -> KeptCandidates:
        """Copies of the candidates so far."""
        pool = offers.pool.copied(offers.head)
        return KeptCandidates(
            pool, tuple(path_of), tuple(offers.skipped), offers.work, frozenset(offers.left_out)
        )

    def give(self, offers: Offers) -> list[Path]:
        """Put copies of the candidates into the pool of a fit; returns the path of each."""
        own, head = self.pool.copied(offers.head), offers.head
        offers.pool.candidates, offers.pool.rows = own.candidates, own.rows
        offers.pool.left_out, offers.pool.seen = own.left_out, own.seen
        offers.work, offers.left_out = self.work, set(self.left_out)
        offers.skipped += [replace(each, clause=each.clause._replace(head=head)) for each in self.skipped]
        return list(self.path_of)
