"""Answers to the questions about bodies, from tallies: for engines that group groundings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Database
from hornbeam.data.numbers import Floats, weighted_quantiles
from hornbeam.data.relations import Population
from hornbeam.engines.contract import DEFAULT_MEMORY, Engine, Skipped
from hornbeam.engines.features.values import (
    at_edge,
    at_rows,
    counts_of,
    counts_of_sides,
    share_of,
    tallies_for,
    value_of_request,
)
from hornbeam.engines.questions import (
    CountsByConstant,
    FeatureRequest,
    FrequentConstant,
    GroundingRows,
    ValueRequest,
)
from hornbeam.engines.tally import Tally, TallyRequest
from hornbeam.logic import features as kinds
from hornbeam.logic.clauses import BELOW, Atom, Comparison
from hornbeam.logic.effects import Body, Equals, variable_types
from hornbeam.logic.schema import number_of

Answers = dict[TallyRequest, Tally | Skipped]


@dataclass(eq=False)
class _Expected:
    """Tallies that several questions about some keys share, each kept once it is found."""

    keys: Codes | None = None
    by_body: dict[tuple[Atom, Body], TallyRequest] = field(default_factory=dict)
    found: Answers = field(default_factory=dict)
    requests: frozenset[TallyRequest] = frozenset()

    @staticmethod
    def of(requests: Sequence[TallyRequest], keys: Codes) -> _Expected:
        by_body = {(each.head, each.body): each for each in reversed(requests)}
        return _Expected(keys, by_body, {}, frozenset(requests))


class TallyEngine(Engine):
    """An engine that groups groundings by example and by values of variables."""

    def __init__(self, database: Database, memory: int = DEFAULT_MEMORY) -> None:
        super().__init__(database, memory)
        self._expected = _Expected()

    @abstractmethod
    def tally(self, requests: Sequence[TallyRequest], keys: Codes) -> list[Tally | Skipped]:
        """The groundings of bodies, grouped by example and by the values of some variables (see ``tally``).

        Keys are as in ``count``. ``docs/effects.md`` defines when a step is true.
        """

    def expect_tallies(self, requests: Sequence[TallyRequest], keys: Codes) -> None:
        """Tell which tallies will probably be asked for next, so that what they share is computed once."""

    def expect(self, requests: Sequence[FeatureRequest], keys: Codes) -> None:
        asked = list(dict.fromkeys(tally for request in requests for tally in tallies_for(request)))
        self._expected = _Expected.of(asked, keys)
        if asked:
            self.expect_tallies(asked, keys)

    def features(self, requests: Sequence[FeatureRequest], keys: Codes) -> Iterator[Floats | Skipped]:
        expected = self._expected if self._expected.keys is keys else _Expected()
        needed = [_tallies_of(request, expected) for request in requests]
        tallies = self._answers([each for own in needed for each in own], keys)
        by_step = _ByLastStep(self.database, requests, needed, len(keys))
        for request, own in zip(requests, needed, strict=True):
            found = [tallies[each] for each in own]
            skipped = [each for each in found if isinstance(each, Skipped)]
            known = [each for each in found if isinstance(each, Tally)]
            if skipped:
                yield skipped[0]
            elif own and own[0].body != request.body:
                yield by_step.value(request, own[0], known[0])
            else:
                yield value_of_request(self.database, request, known, keys)

    def thresholds(
        self, requests: Sequence[ValueRequest], number: int, keys: Codes, sizes: Floats | None = None
    ) -> list[tuple[float, ...] | Skipped]:
        return [
            tally if isinstance(tally, Skipped) else _thresholds(tally, number, sizes)
            for tally in self._of_values(requests, keys)
        ]

    def constants(
        self, requests: Sequence[ValueRequest], number: int, keys: Codes, sizes: Floats | None = None
    ) -> list[tuple[FrequentConstant, ...] | Skipped]:
        return [
            tally
            if isinstance(tally, Skipped)
            else _frequent(tally, number, sizes, self._population(request))
            for request, tally in zip(requests, self._of_values(requests, keys), strict=True)
        ]

    def counts_by_constant(self, request: ValueRequest, keys: Codes) -> list[CountsByConstant] | Skipped:
        (tally,) = self._of_values([request], keys)
        if isinstance(tally, Skipped):
            return tally
        return [CountsByConstant(tally.row, tally.columns[0], tally.number)]

    def groundings(self, request: FeatureRequest, variables: tuple[int, ...], key: Codes) -> GroundingRows:
        head, body, (kind, variable) = request
        row = kinds.KINDS[kind]
        whole = TallyRequest(head, body, variables, bool(row.edge))
        few = TallyRequest(head, body, () if variable is None else (variable,), bool(row.edge))
        for asked in (whole, few):
            (tally,) = self.tally([asked], key)
            if isinstance(tally, Tally):
                column = asked.variables.index(variable) if variable in asked.variables else None
                made = _making(tally, kind, column)
                return GroundingRows(int(made.number.sum()), made.columns if asked is whole else None)
        return GroundingRows(0, None)

    def _of_values(self, requests: Sequence[ValueRequest], keys: Codes) -> list[Tally | Skipped]:
        """The tallies by the values of the variables that are asked for."""
        asked = [TallyRequest(head, body, (variable,)) for head, body, variable in requests]
        tallies = self._answers(asked, keys)
        return [tallies[each] for each in asked]

    def _answers(self, requests: Sequence[TallyRequest], keys: Codes) -> Answers:
        """The tallies of some requests; expected ones are kept."""
        expected = self._expected if self._expected.keys is keys else _Expected()
        fresh = list(dict.fromkeys(each for each in requests if each not in expected.found))
        found = dict(zip(fresh, self.tally(fresh, keys), strict=True)) if fresh else {}
        expected.found |= {each: answer for each, answer in found.items() if each in expected.requests}
        return expected.found | found

    def _population(self, request: ValueRequest) -> Population:
        head, body, variable = request
        return self.database.population(variable_types(self.database.schema, head, body)[variable])


def _tallies_of(request: FeatureRequest, expected: _Expected) -> tuple[TallyRequest, ...]:
    """The tallies from which a feature is computed: expected ones that hold it, if there are any.

    The count of a body that ends with a condition on a variable is known from the tally by that variable.
    """
    head, body, (kind, _) = request
    if kind not in (kinds.COUNT, kinds.SHARE):
        return tallies_for(request)
    if body and isinstance(body[-1], Comparison | Equals):
        by_value = TallyRequest(head, body[:-1], (body[-1].variable,))
        if by_value in expected.requests:
            return (by_value,)
    return tuple(expected.by_body.get((each.head, each.body), each) for each in tallies_for(request))


class _ByLastStep:
    """Counts and shares of bodies that end with a condition, from tallies by its variable."""

    def __init__(
        self,
        database: Database,
        requests: Sequence[FeatureRequest],
        needed: Sequence[tuple[TallyRequest, ...]],
        size: int,
    ) -> None:
        self._database, self._size = database, size
        self._steps: dict[TallyRequest, set[Comparison | Equals]] = {}
        for (_, body, _), own in zip(requests, needed, strict=True):
            if own and own[0].body != body:
                step = body[-1]
                assert isinstance(step, Comparison | Equals)
                self._steps.setdefault(own[0], set()).add(step)
        self._last: TallyRequest | None = None
        self._total: Floats = np.zeros(0)
        self._counts: Mapping[Comparison | Equals, Floats] = {}
        self._rows: _RowsByCode | None = None

    def value(self, request: FeatureRequest, base: TallyRequest, tally: Tally) -> Floats:
        """The feature of a body from the tally of the body without its last step."""
        step = request.body[-1]
        assert isinstance(step, Comparison | Equals)
        if base != self._last:
            self._last, self._total = base, counts_of(tally, self._size)
            self._counts, self._rows = self._sides(base, tally), None
        true = self._true(step, base, tally) if isinstance(step, Equals) else self._counts[step]
        return share_of(true, self._total) if request.feature.kind == kinds.SHARE else true

    def _sides(self, base: TallyRequest, tally: Tally) -> Mapping[Comparison | Equals, Floats]:
        steps = [each for each in self._steps[base] if isinstance(each, Comparison)]
        thresholds = sorted({number_of(each.value) for each in steps})
        sides = dict(zip(thresholds, counts_of_sides(tally, thresholds, self._size), strict=True))
        return {each: sides[number_of(each.value)][each.operator != BELOW] for each in steps}

    def _true(self, step: Equals, base: TallyRequest, tally: Tally) -> Floats:
        if self._rows is None:
            self._rows = _RowsByCode(tally.columns[0])
        types = variable_types(self._database.schema, base.head, base.body)
        rows = self._rows.of(self._database.population(types[step.variable]).code(step.constant))
        true = np.zeros(self._size)
        true[tally.row[rows]] = tally.number[rows]
        return true


class _RowsByCode:
    """The rows of a tally in order of their codes."""

    def __init__(self, codes: npt.NDArray[Any]) -> None:
        self.order = np.argsort(codes, kind="stable")
        self.distinct, starts = np.unique(codes[self.order], return_index=True)
        self.starts = starts
        self.ends = np.append(starts[1:], len(codes))

    def of(self, code: int) -> npt.NDArray[np.intp]:
        """The rows that have a code; none for an unknown one."""
        place = int(np.searchsorted(self.distinct, code))
        if code < 0 or place == len(self.distinct) or self.distinct[place] != code:
            return self.order[:0]
        return self.order[self.starts[place] : self.ends[place]]


def _thresholds(tally: Tally, number: int, sizes: Floats | None) -> tuple[float, ...]:
    """Quantiles of the values in the groundings of all examples."""
    weight = tally.number if sizes is None else tally.number * sizes[tally.row].astype(np.int64)
    distinct, inverse = np.unique(tally.columns[0], return_inverse=True)
    found = weighted_quantiles(distinct, np.bincount(inverse.ravel(), weight), number, "number")
    return tuple(each for each in found if isinstance(each, float) and each == each)


def _frequent(
    tally: Tally, number: int, sizes: Floats | None, population: Population
) -> tuple[FrequentConstant, ...]:
    """The constants that most examples have; names decide between equally frequent ones, as codes differ."""
    rows = _RowsByCode(tally.columns[0])
    examples = rows.ends - rows.starts
    if sizes is not None and len(rows.starts):
        examples = np.add.reduceat(sizes[tally.row[rows.order]], rows.starts).astype(np.int64)
    places = np.flatnonzero(rows.distinct >= 0)
    if len(places) > number:
        places = places[examples[places] >= np.sort(examples[places])[-number]]
    names = population.decode(rows.distinct[places].astype(np.int32))
    ranked = sorted(zip((-examples[places]).tolist(), names, strict=True))[:number]
    return tuple(FrequentConstant(name, -negative) for negative, name in ranked)


def _making(tally: Tally, kind: str, column: int | None) -> Tally:
    """The rows that made the value: for a minimum, those with the smallest value, and so on."""
    _, needs, measure, *_ = row = kinds.KINDS[kind]
    if needs in (kinds.NUMBERS, kinds.DATES) and column is not None:
        tally = at_rows(tally, ~np.isnan(tally.columns[column]))
    if row.edge:
        return at_edge(tally, last=row.edge == kinds.LAST)
    if column is None or not len(tally.row):
        return tally
    values = tally.columns[column]
    if measure == kinds.MINIMUM:
        return at_rows(tally, values == values.min())
    return at_rows(tally, values == values.max()) if measure == kinds.MAXIMUM else tally
