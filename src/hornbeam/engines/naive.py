"""The reference engine: it tries every assignment of the free variables. For tests only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import frexp, fsum, inf, isfinite, isnan, ldexp, nan, sqrt
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import UNKNOWN, Codes, Database
from hornbeam.data.numbers import Floats, weighted_quantiles
from hornbeam.engines.contract import DEFAULT_MEMORY, Engine, Skipped
from hornbeam.engines.features.values import about_numbers, cutoffs_for, months_of
from hornbeam.engines.questions import (
    CountsByConstant,
    FeatureRequest,
    FrequentConstant,
    GroundingRows,
    ValueRequest,
)
from hornbeam.engines.tally import DAY, Tally, TallyRequest
from hornbeam.errors import DataError
from hornbeam.logic import features as kinds
from hornbeam.logic.clauses import AT_LEAST, Atom, Comparison, Not
from hornbeam.logic.effects import (
    NUMBER_OF_FACTS,
    Body,
    Equals,
    NumberOf,
    Recent,
    Step,
    atom_in,
    new_variables_of,
    variable_types,
)
from hornbeam.logic.schema import number_of


class _Grounding(NamedTuple):
    """Values of variables (codes, or numbers of facts) and the time of the last fact with a time."""

    binding: dict[int, int]
    time: float = -inf


class _Match(NamedTuple):
    """A fact that matches an atom: its arguments and its time."""

    row: tuple[int, ...]
    time: float


class NaiveEngine(Engine):
    """Nested loops over populations, without a planner or an index."""

    name = "naive"

    def __init__(self, database: Database, memory: int = DEFAULT_MEMORY) -> None:
        super().__init__(database, memory)
        self._known_facts: dict[str, dict[tuple[int, ...], float]] = {}

    def tally(self, requests: Sequence[TallyRequest], keys: Codes) -> list[Tally | Skipped]:
        """The groundings of bodies, grouped by example and by the values of some variables."""
        return [self._tally(request, keys) for request in requests]

    def features(self, requests: Sequence[FeatureRequest], keys: Codes) -> Iterator[Floats | Skipped]:
        for request in requests:
            yield np.array(self._feature(request, keys), dtype=np.float64)

    def thresholds(
        self, requests: Sequence[ValueRequest], number: int, keys: Codes, sizes: Floats | None = None
    ) -> list[tuple[float, ...] | Skipped]:
        return [self._thresholds(request, number, keys, _sizes(sizes, keys)) for request in requests]

    def constants(
        self, requests: Sequence[ValueRequest], number: int, keys: Codes, sizes: Floats | None = None
    ) -> list[tuple[FrequentConstant, ...] | Skipped]:
        return [self._constants(request, number, keys, _sizes(sizes, keys)) for request in requests]

    def counts_by_constant(self, request: ValueRequest, keys: Codes) -> list[CountsByConstant]:
        counts = [
            (row, code, number)
            for row, values in enumerate(self._values(*request, keys))
            for code, number in sorted(Counter(values).items())
        ]
        row, code, number = np.array(counts, dtype=np.int64).reshape(-1, 3).T
        return [CountsByConstant(row, code.astype(np.int32), number)]

    def groundings(self, request: FeatureRequest, variables: tuple[int, ...], key: Codes) -> GroundingRows:
        head, body, (kind, variable) = request
        types = variable_types(self.database.schema, head, body)
        (found,) = self._groundings(head, body, key)
        if variable is not None:
            values = [self._value(each.binding[variable], types[variable]) for each in found]
            found = [found[place] for place in _making(kind, values, [each.time for each in found])]
        elif kinds.KINDS[kind].edge:
            found = [
                found[place] for place in _making(kind, [0.0] * len(found), [each.time for each in found])
            ]
        rows = {tuple(self._value(each.binding[one], types[one]) for one in variables) for each in found}
        columns = tuple(
            np.array([row[place] for row in rows]).astype(
                np.float64 if self._is_numeric(types[one]) else np.int32
            )
            for place, one in enumerate(variables)
        )
        return GroundingRows(len(found), columns)

    def facts_of(self, atom: Atom) -> dict[tuple[int, ...], float]:
        """The facts of a predicate with their times; a fact without a time has always existed."""
        known = self._known_facts.get(atom.predicate)
        if known is None:
            columns = self.database.relation(atom.predicate).columns
            rows = list(zip(*(column.tolist() for column in columns), strict=True))
            times = self.database.times.get(atom.predicate)
            known = dict(zip(rows, [-inf] * len(rows) if times is None else times.tolist(), strict=True))
            self._known_facts[atom.predicate] = known
        return known

    def code(self, name: str, type_name: str) -> int:
        """The code of a constant."""
        # An unknown constant (-1) matches no fact, nor does an unknown key (-1).
        return self.database.population(type_name).code(name)

    # --- groundings ------------------------------------------------------------------------------

    def _feature(self, request: FeatureRequest, keys: Codes) -> list[float]:
        """The value of a feature for each key."""
        head, body, (kind, variable) = request
        needs, measure = kinds.KINDS[kind].needs, kinds.KINDS[kind].measure
        cutoffs = cutoffs_for(self.database, head.predicate, keys)
        if needs == kinds.CUTOFF:
            months: list[float] = months_of(cutoffs).tolist()
            return months
        groundings = self._groundings(head, body, keys)
        if needs == kinds.GUARD:
            guards = self._groundings(head, body[:-1], keys)
            return [
                len(own) / len(guard) if guard else nan for own, guard in zip(groundings, guards, strict=True)
            ]
        if kind == kinds.COUNT:
            return [len(own) for own in groundings]
        times = [[each.time for each in own] for own in groundings]
        values = times if variable is None else self._values(head, body, variable, keys)
        if kind == kinds.DISTINCT:
            return [len({None if isnan(value) else value for value in own}) for own in values]
        if needs in (kinds.DATES, kinds.TIMES):
            unit = DAY if self.database.origin.get("times") == "date" else 1.0
            edges = [_measured(measure, own) if own else nan for own in values]
            return [
                (cutoff - edge) / unit if isfinite(edge) else nan
                for cutoff, edge in zip(cutoffs.tolist(), edges, strict=True)
            ]
        made = [
            [own[place] for place in _making(kind, own, at)] for own, at in zip(values, times, strict=True)
        ]
        if measure in (kinds.SUM, kinds.MEAN):
            most = max(map(len, made), default=0)
            if not isfinite(most * max((abs(value) for own in made for value in own), default=0.0)):
                text = "a sum of numbers exceeds the largest float; scale the column, or leave it out."
                raise DataError(about_numbers(request, DataError(text)))
        return [_measured(measure, own) if own else nan for own in made]

    def _thresholds(
        self, request: ValueRequest, number: int, keys: Codes, sizes: list[int]
    ) -> tuple[float, ...]:
        numbers: Counter[float] = Counter()
        for size, values in zip(sizes, self._values(*request, keys), strict=True):
            for value in values:
                numbers[inf if isnan(value) else value + 0.0] += size
        distinct = sorted(numbers)
        counts = np.array([numbers[value] for value in distinct], dtype=np.int64)
        quantiles = weighted_quantiles(np.array(distinct, dtype=np.float64), counts, number, "number")
        return tuple(each for each in quantiles if isinstance(each, float) and each < inf)

    def _constants(
        self, request: ValueRequest, number: int, keys: Codes, sizes: list[int]
    ) -> tuple[FrequentConstant, ...]:
        types = variable_types(self.database.schema, request.head, request.body)
        names = self.database.population(types[request.variable]).names
        examples: Counter[str] = Counter()
        for size, values in zip(sizes, self._values(*request, keys), strict=True):
            examples.update({names[int(code)]: size for code in set(values) if code != UNKNOWN})
        frequent = sorted(examples.items(), key=lambda each: (-each[1], each[0]))
        return tuple(FrequentConstant(*each) for each in frequent[:number])

    def _values(self, head: Atom, body: Body, variable: int, keys: Codes) -> list[list[float]]:
        """The values of a variable in the groundings of each key."""
        name = variable_types(self.database.schema, head, body)[variable]
        groundings = self._groundings(head, body, keys)
        return [[self._value(each.binding[variable], name) for each in own] for own in groundings]

    def _groundings(self, head: Atom, body: Body, keys: Codes) -> list[list[_Grounding]]:
        """The groundings of a body for each key."""
        types = variable_types(self.database.schema, head, body)
        cutoffs = self.database.last_times_of(head.predicate, keys)
        ends = [inf] * len(keys) if cutoffs is None else cutoffs.tolist()
        found = []
        for key, cutoff in zip(keys.tolist(), ends, strict=True):
            groundings = [_Grounding(dict(enumerate(key[: len(head.args)])))]
            for step in body:
                groundings = [new for each in groundings for new in self._extended(each, step, types, cutoff)]
            found.append(groundings)
        return found

    def _tally(self, request: TallyRequest, keys: Codes) -> Tally:
        types = variable_types(self.database.schema, request.head, request.body)
        numbers: Counter[tuple[float, ...]] = Counter()
        for place, groundings in enumerate(self._groundings(request.head, request.body, keys)):
            for binding, time in groundings:
                values = [self._value(binding[variable], types[variable]) for variable in request.variables]
                numbers[place, *values, *([time] if request.times else [])] += 1
        rows = sorted(numbers, key=repr)
        rows.sort(key=lambda row: row[0])
        columns = [np.array([row[number] for row in rows]) for number in range(1 + len(request.variables))]
        return Tally(
            columns[0].astype(np.int64),
            tuple(
                column.astype(np.float64 if self._is_numeric(types[variable]) else np.int32)
                for column, variable in zip(columns[1:], request.variables, strict=True)
            ),
            np.array([numbers[row] for row in rows], dtype=np.int64),
            np.array([row[-1] for row in rows], dtype=np.float64) if request.times else None,
        )

    def _extended(
        self, grounding: _Grounding, step: Step, types: Mapping[int, str], cutoff: float
    ) -> Iterator[_Grounding]:
        """The groundings that a step makes of one."""
        binding, time = grounding
        if isinstance(step, Comparison):
            value = self._value(binding[step.variable], types[step.variable])
            threshold = number_of(step.value)
            if value >= threshold if step.operator == AT_LEAST else value < threshold:
                yield grounding
            return
        if isinstance(step, Equals):
            code = self.code(step.constant, types[step.variable])
            if binding[step.variable] == code != UNKNOWN:
                yield grounding
            return
        atom = atom_in(step)
        assert atom is not None
        matches = list(self._matches(atom, binding, cutoff))
        if isinstance(step, Not):
            if not matches:
                yield grounding
            return
        if isinstance(step, NumberOf):
            yield _Grounding({**binding, step.variable: len(matches)}, time)
            return
        timed = atom.predicate in self.database.times
        if isinstance(step, Recent) and timed:
            matches = self._recent(step, matches, cutoff)
        for row, since in matches:
            new = {term: row[atom.args.index(term)] for term in new_variables_of(step, set(binding))}
            yield _Grounding({**binding, **new}, since if timed else time)

    def _matches(self, atom: Atom, binding: Mapping[int, int], cutoff: float) -> Iterator[_Match]:
        """The facts of an atom before a cut-off, given the values of some of its variables."""
        types = self.database.schema.types_of(atom.predicate)
        for row, since in self.facts_of(atom).items():
            terms = dict(binding)
            same = all(
                code == (self.code(term, name) if isinstance(term, str) else terms.setdefault(term, code))
                for term, name, code in zip(atom.args, types, row, strict=True)
            )
            if same and (since <= cutoff or atom.predicate not in self.database.times):
                yield _Match(row, since)

    def _recent(self, step: Recent, matches: list[_Match], cutoff: float) -> list[_Match]:
        if step.within is not None and cutoff < inf:
            unit = DAY if self.database.origin.get("times") == "date" else 1.0
            matches = [match for match in matches if match.time >= cutoff - step.within * unit]
        if step.last is None:
            return matches
        return [match for match in matches if sum(other.time > match.time for other in matches) < step.last]

    def _value(self, number: int, type_name: str) -> float:
        """The value of a numeric constant; a number of facts or a code as it is."""
        if type_name not in self.database.schema.numeric or type_name == NUMBER_OF_FACTS:
            return number
        return nan if number == UNKNOWN else float(self.database.numbers[type_name][number])

    def _is_numeric(self, type_name: str) -> bool:
        return type_name == NUMBER_OF_FACTS or type_name in self.database.schema.numeric


def _sizes(sizes: Floats | None, keys: Codes) -> list[int]:
    """How many examples each row of keys stands for."""
    return [1] * len(keys) if sizes is None else [int(size) for size in sizes.tolist()]


def _making(kind: str, values: Sequence[float], times: Sequence[float]) -> list[int]:
    """The places of the groundings that make the value of a feature.

    Their values are known, but for a feature of constants: it counts an unknown key, too.
    """
    row = kinds.KINDS[kind]
    known = [place for place, value in enumerate(values) if row.needs == kinds.CONSTANTS or not isnan(value)]
    if row.edge and known:
        edge = (max if row.edge == kinds.LAST else min)(times[place] for place in known)
        known = [place for place in known if times[place] == edge]
    elif known and row.measure in (kinds.MINIMUM, kinds.MAXIMUM):
        best = _measured(row.measure, [values[place] for place in known])
        known = [place for place in known if values[place] == best]
    return known


def _measured(measure: str, values: Sequence[float]) -> float:
    """A measure of at least one value."""
    if measure == kinds.MINIMUM:
        return min(values)
    if measure == kinds.MAXIMUM:
        return max(values)
    if measure == kinds.SPREAD:
        scale = frexp(max(map(abs, values)))[1]
        scaled = [ldexp(value, -scale) for value in values]
        above = [value - min(scaled) for value in scaled]
        first, second = fsum(above), fsum(each * each for each in above)
        return ldexp(sqrt(max(second - first * first / len(above), 0.0) / len(above)), scale)
    total = fsum(values)
    return total / len(values) if measure == kinds.MEAN else total
