"""The tests that a node of a tree may have, and the examples for which they hold.

A test is extended by an addition that shares variables with it (*linked*), or by an addition that could be
a test alone (*apart*). The latter needs no counting: the longer test holds where both hold. Most
candidates are of this kind, so their literals are made only on request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.engines.clauses.counting.holding import Body, CanonicalParts, Holding, Truth
from hornbeam.logic.clauses import (
    Clause,
    Comparison,
    Component,
    Literal,
    cut,
    extended,
    known,
    literal_variables,
    rename,
)
from hornbeam.logic.refine import Language, additions
from hornbeam.rivals.trees.trees import body_text

Rows = npt.NDArray[np.intp]
"""Positions of examples, ascending."""


class Candidate(NamedTuple):
    """A test of a node, and the independent parts of the conjunction of path and test."""

    test: Body
    parts: tuple[Component[Literal], ...]
    asked: frozenset[Clause]
    """the canonical clauses that must all hold for the test to hold"""

    @property
    def text(self) -> str:
        return body_text(self.test)


class Grammar:
    """How tests are extended: additions and canonical forms, cached because every step needs them."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.parts = CanonicalParts(language.head)
        self._linked: dict[tuple[Body, Body], list[Candidate]] = {}

    def start(self, body: Body) -> Candidate:
        """The empty test below a path."""
        return Candidate((), known(cut(body, self.language.head.args)), frozenset())

    def linked(self, body: Body, start: Candidate) -> Sequence[Candidate]:
        """The test with each addition that shares variables with it; the empty test takes all additions."""
        place = (body, start.test)
        candidates = self._linked.get(place)
        if candidates is None:
            candidates = self._linked[place] = list(self._additions(body, start))
        return candidates

    def _additions(self, body: Body, start: Candidate) -> Iterator[Candidate]:
        present = {*body, *start.test}
        first = self._first_new(body)
        for addition in additions(Clause(self.language.head, body + start.test), self.language):
            if addition[0] in present:
                continue
            own = {v for v in _variables(start.test) if v >= first}
            if not start.test or not own.isdisjoint(_variables(addition)) or _compares(addition):
                yield self._with(start, addition)

    def apart(self, body: Body, start: Candidate, alone: Candidate) -> Candidate:
        """The test extended by another test that shares no new variables with it."""
        first = self._first_new(body)
        taken = len({v for v in _variables(start.test) if v >= first})
        names = {v: v + taken for v in _variables(alone.test) if v >= first}
        return self._with(start, tuple(rename(literal, names) for literal in alone.test))

    def may_stand_apart(self, body: Body, start: Candidate, alone: Candidate) -> bool:
        """Whether ``apart`` would add more than a literal that the test already has."""
        return alone.test[0] not in start.test or max(_variables(alone.test), default=-1) >= self._first_new(
            body
        )

    def _with(self, start: Candidate, addition: Body) -> Candidate:
        parts = extended(start.parts, addition, self.language.head.args)
        return Candidate(start.test + addition, parts, self.parts.new(parts))

    def _first_new(self, body: Body) -> int:
        return max(_variables(body), default=self.parts.arity - 1) + 1 if body else self.parts.arity


def _variables(body: Body) -> set[int]:
    return {variable for literal in body for variable in literal_variables(literal)}


def _compares(addition: Body) -> bool:
    """Whether an addition has a comparison; the comparisons in the body limit which ones are possible."""
    return isinstance(addition[0], Comparison)


class NodeTest:
    """A test whose literals are made on request: for most tests only the gain is needed."""

    __slots__ = ("_alone", "_body", "_candidate", "_grammar", "_start")

    def __init__(
        self,
        candidate: Candidate | None,
        grammar: Grammar | None = None,
        body: Body = (),
        start: Candidate | None = None,
        alone: Candidate | None = None,
    ) -> None:
        self._candidate = candidate
        self._grammar, self._body, self._start, self._alone = grammar, body, start, alone

    @property
    def candidate(self) -> Candidate:
        if self._candidate is None:
            assert self._grammar is not None and self._start is not None and self._alone is not None
            self._candidate = self._grammar.apart(self._body, self._start, self._alone)
        return self._candidate


class Level(NamedTuple):
    """Tests of one length, and a table of the examples for which each holds."""

    tests: list[NodeTest]
    table: Truth

    def only(self, positions: list[int]) -> Level:
        return Level([self.tests[at] for at in positions], self.table[positions])

    def without_comparisons(self) -> Level:
        return self.only([at for at, test in enumerate(self.tests) if not _compares(test.candidate.test)])

    def distinct(self) -> Level:
        """One test of each group of equivalent tests: the one whose text comes first."""
        positions: dict[frozenset[Clause], int] = {}
        for at, test in enumerate(self.tests):
            first = positions.setdefault(test.candidate.asked, at)
            if first != at and test.candidate.text < self.tests[first].candidate.text:
                positions[test.candidate.asked] = at
        return self.only(sorted(positions.values()))


class NodeTests:
    """Tests of nodes for the examples of a fit."""

    def __init__(self, language: Language, holding: Holding) -> None:
        self.grammar = Grammar(language)
        self.holding = holding

    def alone(self, body: Body, rows: Rows) -> Level:
        """The tests of one addition below a path, evaluated for some examples."""
        candidates = self.grammar.linked(body, self.grammar.start(body))
        return self._counted([NodeTest(each) for each in candidates], rows)

    def longer(self, body: Body, rows: Rows, beam: Level, alone: Level, last: bool) -> Level:
        """The tests of a beam with one more addition, linked or apart."""
        starts = [test.candidate for test in beam.tests]
        linked = [NodeTest(each) for start in starts for each in self.grammar.linked(body, start)]
        tests, table = self._counted(linked, rows)
        tables = [table]
        apart = alone.without_comparisons()
        for start, truth in zip(starts, beam.table, strict=True):
            others = [
                at
                for at, test in enumerate(apart.tests)
                if self.grammar.may_stand_apart(body, start, test.candidate)
            ]
            tests += [NodeTest(None, self.grammar, body, start, apart.tests[at].candidate) for at in others]
            tables.append(apart.table[others] & truth)
        level = Level(tests, np.concatenate(tables))
        # At the last length only the best test is needed, and ties are broken by text anyway.
        return level if last else level.distinct()

    def _counted(self, tests: list[NodeTest], rows: Rows) -> Level:
        """The tests that could be counted, and the examples for which they hold."""
        clauses = list(dict.fromkeys(chain.from_iterable(test.candidate.asked for test in tests)))
        truths = {
            clause: truth[rows]
            for clause, truth in zip(clauses, self.holding.hold(clauses), strict=True)
            if truth is not None
        }
        counted = [test for test in tests if all(each in truths for each in test.candidate.asked)]
        table = np.empty((len(counted), len(rows)), dtype=np.bool_)
        for row, test in zip(table, counted, strict=True):
            first, *others = test.candidate.asked
            row[:] = truths[first]
            for each in others:
                row &= truths[each]
        return Level(counted, table)
