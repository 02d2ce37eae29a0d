"""Candidates: the features that a path and its attributes offer, with the bin of each training example."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes
from hornbeam.data.numbers import Floats, weighted_quantiles
from hornbeam.data.relations import Population
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.engines.features.values import (
    FeatureRequest,
    counts_of,
    counts_of_sides,
    cutoffs_for,
    is_dated,
    months_of,
    share_of,
    since,
    value_of_request,
    value_of_tally,
)
from hornbeam.engines.tally import Tally, TallyRequest
from hornbeam.learning.effects.bins import BinBlocks, Bins, bins_of, cuts_of, scores_of
from hornbeam.learning.effects.examples.groups import BinHashes, EqualExamples, KeyTallies, key_tallies
from hornbeam.learning.effects.links import paths as kinds
from hornbeam.learning.effects.links.paths import Attribute, Path
from hornbeam.logic.clauses import AT_LEAST, BELOW, Atom, Comparison
from hornbeam.logic.effects import (
    COUNT,
    DISTINCT,
    FIRST,
    LAST,
    MAXIMUM,
    MEAN,
    MINIMUM,
    MONTH,
    SHARE,
    SINCE,
    SINCE_FIRST,
    SINCE_LAST,
    SPREAD,
    SUM,
    VALUE,
    Body,
    Equals,
    Feature,
    Recent,
    atom_in,
    step_variables,
)

FEW_THRESHOLDS = 4
"""Maximum number of thresholds for numbers of facts, and on links limited in time."""
MOST_CONSTANTS = 60
"""Maximum number of constants of a category that are tried, the most frequent first."""
MOST_WORK, MOST_OF_PATH = 2_000_000_000, 200_000_000
"""The most groundings, each times the number of attributes, that all paths may have together, and one path;
beyond, the attributes of a path are left out. The same number on every engine."""
MOST_OF_GENERAL = 10_000_000
"""The same for a path of all things before a cut-off, whose groundings grow with the square of the data."""
TOO_MUCH = "what its groundings lead to would take too long"


class FeatureCandidate(NamedTuple):
    """A feature, its cuts, and a score for each bin by which the feature is seen as a line."""

    request: FeatureRequest
    cuts: tuple[float, ...]
    scores: tuple[float, ...]


@dataclass(eq=False)
class Pool:
    """The candidates for one fit; two with equal bins for all training examples are one."""

    n_cuts: int
    min_support: int
    most_bytes: int
    candidates: list[FeatureCandidate] = field(default_factory=list)
    rows: list[Bins] = field(default_factory=list)
    left_out: int = 0
    """number of candidates for which there was no memory"""
    seen: dict[bytes, None] = field(default_factory=dict)
    """hashes of the bins of all candidates"""
    _blocks: BinBlocks = field(default_factory=BinBlocks)
    hashes: BinHashes = field(default_factory=BinHashes)

    def copied(self, head: Atom) -> Pool:
        """The same candidates for another target with the same arguments; bins are shared."""
        candidates = [each._replace(request=each.request._replace(head=head)) for each in self.candidates]
        return Pool(
            self.n_cuts,
            self.min_support,
            self.most_bytes,
            candidates,
            list(self.rows),
            self.left_out,
            dict(self.seen),
        )

    def add(self, request: FeatureRequest, values: Floats, equal: EqualExamples | None = None) -> None:
        """Add a candidate, unless it does not vary or equals another one.

        Values are those of the examples, or of groups of examples with equal values.
        """
        counts = request.feature.kind in (COUNT, DISTINCT)
        sizes = None if equal is None else equal.counts
        cuts = cuts_of(values, self.n_cuts, self.min_support, counts, sizes)
        number = len(values) if equal is None else len(equal.which)
        if not cuts:
            missing = np.isnan(values)
            n_missing = int(missing.sum() if sizes is None else sizes[missing].sum())
            if not self.min_support <= n_missing <= number - self.min_support:
                return
        bins = bins_of(values, cuts)
        if (bins == bins[0]).all():
            return
        key = _fingerprint(bins, len(cuts) + 2, equal)
        if key in self.seen:
            return
        if (len(self.rows) + 1) * number > self.most_bytes:
            self.left_out += 1
            return
        scores = scores_of(values, bins, len(cuts), counts, sizes)
        row = bins if equal is None else bins[equal.which]
        self.keep(FeatureCandidate(request, cuts, scores), row, key)

    def keep(self, candidate: FeatureCandidate, row: Bins, key: bytes) -> None:
        """Add a candidate and the bins of all examples, unless one with the same key is there."""
        if key not in self.seen:
            self.seen[key] = None
            self.rows.append(self._blocks.copied(row))
            self.candidates.append(candidate)

    def taken(self) -> tuple[list[FeatureCandidate], list[Bins], list[bytes]]:
        """Take all candidates with their bins and keys out; they are not added again."""
        candidates, rows = self.candidates, self.rows
        keys = list(islice(reversed(self.seen), len(rows)))[::-1]
        self.candidates, self.rows = [], []
        return candidates, rows, keys


def _fingerprint(bins: Bins, number: int, equal: EqualExamples | None) -> bytes:
    """A hash that is equal for mirror images: bins are numbered in order of first use."""
    rank = np.full(number, number, dtype=np.uint8)
    present = np.flatnonzero(np.bincount(bins, minlength=number))
    first = [int((bins == level).argmax()) for level in present]
    rank[present[np.argsort(first)]] = np.arange(len(present))
    ranks = rank[bins] if equal is None else rank[bins][equal.which]
    return blake2b(ranks.tobytes(), digest_size=16).digest()


@dataclass(eq=False)
class Offers:
    """Asks an engine for tallies, and makes candidates of them."""

    engine: Engine
    head: Atom
    keys: Codes
    pool: Pool
    n_thresholds: int
    cut: bool
    """whether the examples have cut-offs"""
    skipped: list[Skipped] = field(default_factory=list)
    work: int = 0
    """the groundings of all paths so far, each times the number of attributes"""
    left_out: set[Body] = field(default_factory=set)
    """the bodies of paths whose attributes were left out"""
    _at: KeyTallies = field(init=False)
    """the keys for which the present path is tallied"""
    _known: dict[tuple[int, ...], KeyTallies] = field(default_factory=dict)

    def of_path(self, path: Path) -> None:
        """Add the candidates of a path and of its attributes."""
        self._at = self._keys_for(path)
        timed = self.cut and not path.general and _is_timed(self, path.body)
        request = TallyRequest(self.head, path.body, (), timed)
        requests = [TallyRequest(self.head, (*path.body, *a.steps), _wanted(a)) for a in path.attributes]
        self._at.expect([request, *requests])
        whole = self._at.tally([request])[0]
        if isinstance(whole, Skipped):
            self.skipped.append(whole)
            self.left_out.add(path.body)
            return
        counts = counts_of(whole, len(self._at))
        if path.body:
            self._of_groundings(path, whole, counts)
        work = int((counts if self._at.sizes is None else counts * self._at.sizes).sum())
        work *= len(path.attributes)
        most = min(MOST_OF_GENERAL if path.general else MOST_OF_PATH, MOST_WORK - self.work)
        if work > most:
            self.skipped.append(Skipped(request, TOO_MUCH, work, most))
            self.left_out.add(path.body)
            return
        self.work += work
        answers = self._at.tally(requests)
        self.skipped += [answer for answer in answers if isinstance(answer, Skipped)]
        for attribute, answer in zip(path.attributes, answers, strict=True):
            if isinstance(answer, Tally):
                self._of_attribute(path, attribute, answer, counts)

    def _keys_for(self, path: Path) -> KeyTallies:
        """The keys without the variables that a path does not use."""
        arity = len(self.head.args)
        used = tuple(range(arity, self.keys.shape[1])) if path.general else tuple(range(arity))
        if not self.cut:
            bodies = (path.body, *(attribute.steps for attribute in path.attributes))
            found = {variable for body in bodies for step in body for variable in step_variables(step)}
            found |= {attribute.node.variable for attribute in path.attributes}
            used = tuple(sorted(variable for variable in found if variable < arity))
        if used not in self._known:
            self._known[used] = key_tallies(self.engine, self.keys, used, arity)
        return self._known[used]

    def of_cutoffs(self) -> None:
        """Add the month of the cut-off, if times are dates."""
        self._at = KeyTallies(self.engine, self.keys)
        if self.cut and is_dated(self.engine):
            cutoffs = cutoffs_for(self.engine, self.head.predicate, self.keys)
            self._add((), Feature(MONTH), months_of(cutoffs))

    def _of_groundings(self, path: Path, tally: Tally, counts: Floats) -> None:
        self._add(path.body, Feature(COUNT), counts)
        if path.meets and len(path.body) > 1:
            guard = self._at.tally([TallyRequest(self.head, path.body[:-1])])[0]
            if isinstance(guard, Tally):
                share = share_of(counts, counts_of(guard, len(self._at)))
                self._add(path.body, Feature(SHARE), share)
        if tally.times is not None:
            cutoffs = cutoffs_for(self.engine, self.head.predicate, self.keys)
            for kind in (SINCE_FIRST, SINCE_LAST):
                self._add(path.body, Feature(kind), since(tally, kind, cutoffs, is_dated(self.engine)))

    def _of_attribute(self, path: Path, attribute: Attribute, tally: Tally, counts: Floats) -> None:
        body = (*path.body, *attribute.steps)
        if attribute.kind == kinds.FLAG:
            true = counts_of(tally, len(self._at))
            self._add(body, Feature(COUNT), true)
            if not path.single and len(attribute.steps) == 1:
                self._add(body, Feature(SHARE), share_of(true, counts))
        elif attribute.kind == kinds.CATEGORY:
            self._of_category(path, attribute, tally)
        elif attribute.kind == kinds.THING:
            if not path.single:
                number = value_of_tally(tally, DISTINCT, len(self._at))
                self._add(body, Feature(DISTINCT, attribute.node.variable), number)
        elif attribute.kind == kinds.DATE:
            kind = SINCE if self.cut else VALUE if path.single else MINIMUM
            self._add(body, Feature(kind, attribute.node.variable), self._of_date(tally, kind))
        else:
            self._of_number(path, attribute, tally)

    def _of_date(self, tally: Tally, kind: str) -> Floats:
        if kind != SINCE:
            return value_of_tally(tally, kind, len(self._at))
        cutoffs = cutoffs_for(self.engine, self.head.predicate, self._at.own)
        return since(tally, kind, cutoffs, is_dated(self.engine))

    def _of_number(self, path: Path, attribute: Attribute, tally: Tally) -> None:
        body, variable = (*path.body, *attribute.steps), attribute.node.variable
        if path.single:
            self._add_value(body, Feature(VALUE, variable), tally)
            return
        limited = _is_limited(path.body)
        offered: tuple[str, ...] = (MEAN, SUM, MINIMUM, MAXIMUM, SPREAD)
        if limited:
            offered = (MEAN, MINIMUM, MAXIMUM) if path.links == 1 and not path.general else (MEAN,)
        for kind in offered:
            self._add_value(body, Feature(kind, variable), tally)
        if self.cut and _is_timed(self, path.body) and not limited:
            timed = self._at.tally([TallyRequest(self.head, body, (variable,), True)])[0]
            if isinstance(timed, Tally):
                for kind in (FIRST, LAST):
                    self._add_value(body, Feature(kind, variable), timed)
        self._of_thresholds(body, variable, tally, few=limited or attribute.kind == kinds.FACTS)

    def _of_thresholds(self, body: Body, variable: int, tally: Tally, few: bool) -> None:
        """Counts and shares of the groundings on one side of a threshold."""
        values, total, size = tally.columns[0], counts_of(tally, len(self._at)), len(self._at)
        distinct, inverse = np.unique(values, return_inverse=True)
        facts = np.bincount(inverse.ravel(), self._at.weighted(tally))
        number = min(self.n_thresholds, FEW_THRESHOLDS) if few else self.n_thresholds
        found = weighted_quantiles(distinct, facts, number, "number")
        thresholds = [each for each in found if isinstance(each, float) and each == each]
        for threshold, (below, above) in zip(
            thresholds, counts_of_sides(tally, thresholds, size), strict=True
        ):
            for operator, true in ((AT_LEAST, above), (BELOW, below)):
                steps = (*body, Comparison(variable, operator, threshold))
                if not _is_limited(body):
                    self._add(steps, Feature(COUNT), true)
                if operator == AT_LEAST:
                    self._add(steps, Feature(SHARE), share_of(true, total))

    def _of_category(self, path: Path, attribute: Attribute, tally: Tally) -> None:
        size = len(self._at)
        if not path.single:
            feature = Feature(DISTINCT, attribute.node.variable)
            self._add((*path.body, *attribute.steps), feature, value_of_tally(tally, DISTINCT, size))
        total = counts_of(tally, size)
        population = self.engine.database.population(attribute.node.type)
        for name, rows, number in _by_constant(tally, self._at.sizes, self.pool.min_support, population):
            body = (*path.body, *attribute.steps, Equals(attribute.node.variable, name))
            true = np.zeros(size)
            true[rows] = number
            if not _is_limited(body):
                self._add(body, Feature(COUNT), true)
            if not path.single:
                self._add(body, Feature(SHARE), share_of(true, total))
            elif _is_limited(body):
                self._add(body, Feature(COUNT), true)

    def _add_value(self, body: Body, feature: Feature, tally: Tally) -> None:
        values = value_of_request(FeatureRequest(self.head, body, feature), tally, len(self._at))
        self._add(body, feature, values)

    def _add(self, body: Body, feature: Feature, values: Floats) -> None:
        self.pool.add(FeatureRequest(self.head, body, feature), values, self._at.equal)


def _by_constant(
    tally: Tally, of_key: Floats | None, least: int, population: Population
) -> Iterator[tuple[str, npt.NDArray[Any], npt.NDArray[Any]]]:
    """For each frequent constant: its name, the rows that have it, and how often.

    ``of_key`` has how many examples each row stands for; None for one.
    Names decide between equally frequent constants: codes depend on where the facts are.
    """
    codes = tally.columns[0]
    order = np.argsort(codes, kind="stable")
    distinct, starts, sizes = np.unique(codes[order], return_index=True, return_counts=True)
    ends = starts + sizes
    if of_key is not None and len(starts):
        sizes = np.add.reduceat(of_key[tally.row[order]], starts).astype(np.int64)
    if len(sizes) > MOST_CONSTANTS:
        least = max(least, int(np.sort(sizes)[-MOST_CONSTANTS]))
    frequent = np.flatnonzero(sizes >= least)
    names = population.decode(distinct[frequent].astype(np.int32))
    ranked = sorted(zip((-sizes[frequent]).tolist(), names, frequent.tolist(), strict=True))
    for _, name, place in ranked[:MOST_CONSTANTS]:
        rows = order[starts[place] : ends[place]]
        yield name, tally.row[rows], tally.number[rows]


def _wanted(attribute: Attribute) -> tuple[int, ...]:
    return () if attribute.kind == kinds.FLAG else (attribute.node.variable,)


def _is_timed(offers: Offers, body: Body) -> bool:
    timed = offers.engine.database.facts.timed()
    return any((atom := atom_in(step)) is not None and atom.predicate in timed for step in body)


def _is_limited(body: Body) -> bool:
    return any(isinstance(step, Recent) for step in body)
