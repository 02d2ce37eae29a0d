"""The reference engine: it tries every assignment of the free variables. For tests only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import inf, nan
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import UNKNOWN, Codes, Database
from hornbeam.engines.contract import DEFAULT_MEMORY, INT64_MAX, Counts, Engine, Session, Skipped
from hornbeam.engines.counting.count_cache import CountCache
from hornbeam.engines.estimate import ArgumentSizes, Estimates
from hornbeam.engines.plan import Planner
from hornbeam.engines.tally import DAY, Tally, TallyRequest
from hornbeam.logic.clauses import AT_LEAST, Atom, Clause, Comparison, Literal, Not
from hornbeam.logic.effect_types import NUMBER_OF_FACTS, variable_types
from hornbeam.logic.effects import Equals, NumberOf, Recent, Step, atom_in, new_variables_of
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

    def count(self, clauses: Sequence[Clause], keys: Codes) -> list[Counts | Skipped]:
        return [self._count(clause, keys) for clause in clauses]

    def session(self, keys: Codes, logarithm: bool = False) -> Session:
        return CountCache(self, keys, logarithm=logarithm)

    def tally(self, requests: Sequence[TallyRequest], keys: Codes) -> list[Tally | Skipped]:
        return [self._tally(request, keys) for request in requests]

    def _count(self, clause: Clause, keys: Codes) -> Counts | Skipped:
        arity = len(clause.head.args)
        estimates = Estimates(ArgumentSizes(self.database), keys, arity, self.database.times, self.memory)
        refused = estimates.refused(clause, Planner(self.database.schema).plan(clause))
        if refused is not None:
            return refused
        total = self.total(clause)
        if total > INT64_MAX:
            return Skipped(clause, "its true count may exceed int64", total, INT64_MAX)
        schema = self.database.schema
        types = schema.variable_types(clause)
        facts = {
            literal: self._facts(literal.atom if isinstance(literal, Not) else literal)
            for literal in clause.body
            if not isinstance(literal, Comparison)
        }
        free = clause.free_variables()
        ranges = [range(len(self.database.population(types[variable]))) for variable in free]
        true = []
        cutoffs = self.database.cutoffs_of(clause.head.predicate, keys)
        last_times = [inf] * len(keys) if cutoffs is None else cutoffs.tolist()
        for key, last in zip(keys.tolist(), last_times, strict=True):
            binding = dict(zip(clause.head.args, key[: len(clause.head.args)], strict=True))
            count = 0
            for values in product(*ranges):
                binding.update(zip(free, values, strict=True))
                count += all(self._is_true(literal, binding, types, facts, last) for literal in clause.body)
            true.append(count)
        return Counts(np.array(true, dtype=np.int64), total)

    def _is_true(
        self,
        literal: Literal,
        binding: dict[int | str, int],
        types: dict[int, str],
        facts: dict[Atom | Not, dict[tuple[int, ...], float]],
        last: float,
    ) -> bool:
        if isinstance(literal, Comparison):
            code = binding[literal.variable]
            if code == UNKNOWN:  # it has no value, so it is on neither side of a threshold
                return False
            number = self.database.numbers[types[literal.variable]][code]
            threshold = number_of(literal.value)
            return bool(number >= threshold if literal.operator == AT_LEAST else number < threshold)
        time = facts[literal].get(self._ground(literal, binding))
        is_fact = time is not None and time <= last
        return is_fact != isinstance(literal, Not)

    def _facts(self, atom: Atom) -> dict[tuple[int, ...], float]:
        """The facts of a predicate with their times; a fact without a time has always existed."""
        known = self._known_facts.get(atom.predicate)
        if known is None:
            columns = self.database.relation(atom.predicate).columns
            rows = list(zip(*(column.tolist() for column in columns), strict=True))
            times = self.database.times.get(atom.predicate)
            known = dict(zip(rows, [-inf] * len(rows) if times is None else times.tolist(), strict=True))
            self._known_facts[atom.predicate] = known
        return known

    def _ground(self, literal: Atom | Not, binding: dict[int | str, int]) -> tuple[int, ...]:
        atom = literal.atom if isinstance(literal, Not) else literal
        types = self.database.schema.types_of(atom.predicate)
        return tuple(
            binding[term] if isinstance(term, int) else self._code(term, type_name)
            for term, type_name in zip(atom.args, types, strict=True)
        )

    def _code(self, name: str, type_name: str) -> int:
        # An unknown constant (-1) matches no fact, nor does an unknown key (-1).
        return self.database.population(type_name).code(name)

    # --- tallies ---------------------------------------------------------------------------------

    def _tally(self, request: TallyRequest, keys: Codes) -> Tally:
        types = variable_types(self.database.schema, request.head, request.body)
        cutoffs = self.database.last_times_of(request.head.predicate, keys)
        ends = [inf] * len(keys) if cutoffs is None else cutoffs.tolist()
        numbers: Counter[tuple[float, ...]] = Counter()
        for place, (key, cutoff) in enumerate(zip(keys.tolist(), ends, strict=True)):
            groundings = [_Grounding(dict(enumerate(key[: len(request.head.args)])))]
            for step in request.body:
                groundings = [new for each in groundings for new in self._extended(each, step, types, cutoff)]
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
            code = self._code(step.constant, types[step.variable])
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
        for row, since in self._facts(atom).items():
            terms = dict(binding)
            same = all(
                code == (self._code(term, name) if isinstance(term, str) else terms.setdefault(term, code))
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
