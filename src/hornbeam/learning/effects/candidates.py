"""Candidates: the features that a path and its attributes offer, with the bin of each training example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.data.numbers import Floats
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.engines.features.values import is_dated
from hornbeam.engines.questions import FeatureRequest, FrequentConstant, ValueRequest
from hornbeam.learning.effects import links as kinds
from hornbeam.learning.effects.bins import BinBlocks, Bins, bins_of, cuts_of, scores_of
from hornbeam.learning.effects.examples.groups import (
    BinHashes,
    DistinctKeys,
    EqualExamples,
    distinct_keys,
)
from hornbeam.learning.effects.links import Attribute, Path
from hornbeam.logic.clauses import AT_LEAST, BELOW, Atom, Comparison
from hornbeam.logic.effects import Body, Equals, Feature, Recent, atom_in, step_variables
from hornbeam.logic.features import (
    COUNT,
    DISTINCT,
    FAR_RECENT,
    IN_ORDER,
    KINDS,
    MANY,
    MINIMUM,
    MONTH,
    OF_TIMES,
    RECENT,
    SHARE,
    SINCE,
    VALUE,
    offered_for,
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
        counts = KINDS[request.feature.kind].whole
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


class _AskedOfAttribute(NamedTuple):
    """The features that are asked about an attribute, or why its constants are not known."""

    features: tuple[FeatureRequest, ...]
    skipped: Skipped | None = None


@dataclass(eq=False)
class Offers:
    """Asks an engine about paths, and makes candidates of the answers."""

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
    _at: DistinctKeys = field(init=False)
    """the keys about which the present path is asked"""
    _known: dict[tuple[int, ...], DistinctKeys] = field(default_factory=dict)

    def of_path(self, path: Path) -> None:
        """Add the candidates of a path and of its attributes."""
        self._at = self._keys_for(path)
        groundings = self._of_groundings(path)
        count = groundings[0]
        # Times of groundings are asked for with their number.
        edge = next(each for each in reversed(groundings) if each.feature.kind != SHARE)
        self._at.expect([edge, *(self._first_of(path, attribute) for attribute in path.attributes)])
        counts, *others = self._at.features(groundings)
        if isinstance(counts, Skipped):
            self._leave_out(path, counts)
            return
        for request, values in zip(groundings, (counts, *others), strict=True):
            if path.body and not isinstance(values, Skipped):
                self._add(request, values)
        work = int((counts if self._at.sizes is None else counts * self._at.sizes).sum())
        work *= len(path.attributes)
        most = min(MOST_OF_GENERAL if path.general else MOST_OF_PATH, MOST_WORK - self.work)
        if work > most:
            self._leave_out(path, Skipped(count, TOO_MUCH, work, most))
            return
        self.work += work
        self._add_attributes(path)
        self._at.expect([])

    def _leave_out(self, path: Path, why: Skipped) -> None:
        self.skipped.append(why)
        self.left_out.add(path.body)

    def _add_attributes(self, path: Path) -> None:
        """Add what is asked about the attributes of a path, in their order."""
        asked = self._asked(path)
        values = self._at.features([request for each in asked for request in each.features])
        for each in asked:
            # The first feature is of the values alone; if it is known, others may need too much memory.
            skipped = each.skipped
            for place, (request, found) in enumerate(zip(each.features, values, strict=False)):
                if not isinstance(found, Skipped):
                    self._add(request, found)
                elif place == 0:
                    skipped = found
            if skipped is not None:
                self.skipped.append(skipped)

    def _keys_for(self, path: Path) -> DistinctKeys:
        """The keys without the variables that a path does not use."""
        arity = len(self.head.args)
        used = tuple(range(arity, self.keys.shape[1])) if path.general else tuple(range(arity))
        if not self.cut:
            bodies = (path.body, *(attribute.steps for attribute in path.attributes))
            found = {variable for body in bodies for step in body for variable in step_variables(step)}
            found |= {attribute.node.variable for attribute in path.attributes}
            used = tuple(sorted(variable for variable in found if variable < arity))
        if used not in self._known:
            self._known[used] = distinct_keys(self.engine, self.keys, used, arity)
        return self._known[used]

    def of_cutoffs(self) -> None:
        """Add the month of the cut-off, if times are dates."""
        self._at = DistinctKeys(self.engine, self.keys)
        if self.cut and is_dated(self.engine.database):
            month = self._request((), MONTH)
            (values,) = self._at.features([month])
            if not isinstance(values, Skipped):
                self._add(month, values)

    # --- what is asked ---------------------------------------------------------------------------

    def _request(self, body: Body, kind: str, variable: int | None = None) -> FeatureRequest:
        return FeatureRequest(self.head, body, Feature(kind, variable))

    def _of_groundings(self, path: Path) -> list[FeatureRequest]:
        """The features of the groundings of a path, their number first."""
        asked = [COUNT]
        if path.meets and len(path.body) > 1:
            asked.append(SHARE)
        if self.cut and not path.general and _is_timed(self, path.body):
            asked += OF_TIMES
        return [self._request(path.body, kind) for kind in asked]

    def _first_of(self, path: Path, attribute: Attribute) -> FeatureRequest:
        """A feature of the values of an attribute, whichever follow."""
        body = (*path.body, *attribute.steps)
        if attribute.kind == kinds.FLAG:
            return self._request(body, COUNT)
        named = attribute.kind in (kinds.CATEGORY, kinds.THING)
        return self._request(body, DISTINCT if named else MINIMUM, attribute.node.variable)

    def _asked(self, path: Path) -> list[_AskedOfAttribute]:
        """What is asked about each attribute of a path."""
        thresholds, constants = self._thresholds(path), self._constants(path)
        asked = []
        for attribute in path.attributes:
            body = (*path.body, *attribute.steps)
            if attribute.kind == kinds.FLAG:
                share = not path.single and len(attribute.steps) == 1
                own = [self._request(body, kind) for kind in ((COUNT, SHARE) if share else (COUNT,))]
            elif attribute.kind == kinds.CATEGORY:
                found = constants[attribute]
                if isinstance(found, Skipped):
                    asked.append(_AskedOfAttribute((), found))
                    continue
                own = self._of_category(path, attribute, found)
            elif attribute.kind == kinds.THING:
                own = [] if path.single else [self._first_of(path, attribute)]
            elif attribute.kind == kinds.DATE:
                since = self.cut and is_dated(self.engine.database)
                kind = SINCE if since else VALUE if path.single else MINIMUM
                own = [self._request(body, kind, attribute.node.variable)]
            else:
                own = self._of_number(path, attribute, thresholds.get(attribute, ()))
            asked.append(_AskedOfAttribute(tuple(own)))
        return asked

    def _thresholds(self, path: Path) -> dict[Attribute, tuple[float, ...]]:
        """The thresholds of the attributes that are numbers of several rows."""
        found: dict[Attribute, tuple[float, ...]] = {}
        numbers = [each for each in path.attributes if each.kind in (kinds.NUMBER, kinds.FACTS)]
        for few in (False, True):
            own = [each for each in numbers if (_is_limited(path.body) or each.kind == kinds.FACTS) == few]
            number = min(self.n_thresholds, FEW_THRESHOLDS) if few else self.n_thresholds
            if own and not path.single:
                answers = self._at.thresholds([self._values(path, each) for each in own], number)
                found |= {
                    each: answer
                    for each, answer in zip(own, answers, strict=True)
                    if not isinstance(answer, Skipped)
                }
        return found

    def _constants(self, path: Path) -> dict[Attribute, tuple[FrequentConstant, ...] | Skipped]:
        """The constants of the attributes that are categories."""
        own = [each for each in path.attributes if each.kind == kinds.CATEGORY]
        answers = (
            self._at.constants([self._values(path, each) for each in own], MOST_CONSTANTS) if own else []
        )
        return dict(zip(own, answers, strict=True))

    def _values(self, path: Path, attribute: Attribute) -> ValueRequest:
        return ValueRequest(self.head, (*path.body, *attribute.steps), attribute.node.variable)

    def _of_number(
        self, path: Path, attribute: Attribute, thresholds: Sequence[float]
    ) -> list[FeatureRequest]:
        body, variable = (*path.body, *attribute.steps), attribute.node.variable
        if path.single:
            return [self._request(body, VALUE, variable)]
        limited = _is_limited(path.body)
        what = MANY
        if limited:
            what = RECENT if path.links == 1 and not path.general else FAR_RECENT
        own = [self._request(body, kind, variable) for kind in offered_for(what)]
        if self.cut and _is_timed(self, path.body) and not limited:
            own += [self._request(body, kind, variable) for kind in offered_for(IN_ORDER)]
        for threshold in thresholds:
            for operator in (AT_LEAST, BELOW):
                steps = (*body, Comparison(variable, operator, threshold))
                if not _is_limited(body):
                    own.append(self._request(steps, COUNT))
                if operator == AT_LEAST:
                    own.append(self._request(steps, SHARE))
        return own

    def _of_category(
        self, path: Path, attribute: Attribute, constants: Sequence[FrequentConstant]
    ) -> list[FeatureRequest]:
        body, variable = (*path.body, *attribute.steps), attribute.node.variable
        own = [] if path.single else [self._request(body, DISTINCT, variable)]
        names = [name for name, examples in constants if examples >= self.pool.min_support]
        if path.single and len(names) == 2:
            # The second one says the same as the first, and a condition says what is unusual.
            names.reverse()
        for name in names:
            steps = (*body, Equals(variable, name))
            if path.single or not _is_limited(steps):
                own.append(self._request(steps, COUNT))
            if not path.single:
                own.append(self._request(steps, SHARE))
        return own

    def _add(self, request: FeatureRequest, values: Floats) -> None:
        self.pool.add(request, values, self._at.equal)


def _is_timed(offers: Offers, body: Body) -> bool:
    timed = offers.engine.database.facts.timed()
    return any((atom := atom_in(step)) is not None and atom.predicate in timed for step in body)


def _is_limited(body: Body) -> bool:
    return any(isinstance(step, Recent) for step in body)
