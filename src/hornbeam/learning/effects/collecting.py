"""The candidates of paths, path by path, in this process or in several.

Each process has its own candidates; they are put together in the order of the paths, so they are the same for
any number of processes. Limits on all paths together are checked there: once one is reached, the paths that
are left are followed one after the other.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import Condition, Thread
from typing import NamedTuple

from hornbeam.data.database import Codes, Database
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.learning.effects.bins import Bins
from hornbeam.learning.effects.bodies import BodyLimits, LimitedPool
from hornbeam.learning.effects.candidates import MOST_WORK, FeatureCandidate, Offers, Pool
from hornbeam.learning.effects.links.paths import Path
from hornbeam.learning.workers import Jobs, Worker
from hornbeam.logic.clauses import Atom
from hornbeam.logic.effects import Body

NAME = "paths"
SHARES = 8
"""Paths are handed out in this many shares for each process, or one by one."""
MOST_BYTES = 1 << 62


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
    """Follows paths in one process; candidates that it had before are left out."""

    def __init__(self, engine: Engine, settings: PathSettings) -> None:
        self._offers = settings.offers(engine, MOST_BYTES)

    def of_paths(self, paths: Sequence[Path]) -> list[PathOffers]:
        """The candidates of each path."""
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
    """Shares of paths, of which each process takes the next one, and the candidates found so far."""

    shares: Sequence[Sequence[Path]]
    found: dict[int, list[PathOffers]] = field(default_factory=dict)
    error: BaseException | None = None
    changed: Condition = field(default_factory=Condition)
    taken: int = 0

    def take(self) -> int | None:
        """The number of the next share; None if no share is left."""
        with self.changed:
            if self.taken == len(self.shares):
                return None
            self.taken += 1
            return self.taken - 1

    def put(self, number: int, found: list[PathOffers]) -> None:
        with self.changed:
            self.found[number] = found
            self.changed.notify()

    def stop(self, error: BaseException | None = None) -> None:
        """Hand out no more shares."""
        with self.changed:
            self.taken, self.error = len(self.shares), error or self.error
            self.changed.notify()

    def by(self, worker: Worker) -> None:
        """Have a worker follow paths until no share is left."""
        try:
            while (number := self.take()) is not None:
                worker.ask(NAME, "of_paths", self.shares[number])
                self.put(number, worker.answer())
        except BaseException as error:
            self.stop(error)


class Collecting:
    """Adds the candidates of paths to ``offers``."""

    def __init__(self, offers: Offers, settings: PathSettings, jobs: Jobs) -> None:
        self.offers, self.jobs = offers, jobs
        engine = offers.engine
        # Other engines count with threads of their own.
        self.workers = jobs.workers if engine.keeps_keys else []
        self.own = PathFollower(engine, settings)
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
        shares = _Shares([paths[start : start + size] for start in range(0, len(paths), size)])
        threads = [Thread(target=shares.by, args=(worker,), daemon=True) for worker in self.workers]
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
            own = shares.take()
            if own is not None:
                shares.put(own, self.own.of_paths(shares.shares[own]))
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
