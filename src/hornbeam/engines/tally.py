"""Tallies: the groundings of a body, grouped by example and by the values of some variables.

Features are computed from tallies by the same code for all engines (``engines/features``), so all give the
same values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Database
from hornbeam.data.numbers import Floats
from hornbeam.data.rows import Integers, grouped, row_numbers
from hornbeam.logic.clauses import Atom
from hornbeam.logic.effects import (
    NUMBER_OF_FACTS,
    Body,
    Recent,
    body_text,
    new_variables_of,
    step_variables,
    variable_types,
)

Rows = npt.NDArray[np.int64]
DAY = 86_400_000_000.0
"""Microseconds in a day."""
BYTES_PER_CELL = 8
LEAST_CELLS = 8_000
"""Tables with at most this many cells are allowed whatever the budget."""
SPLIT_ROWS = 300_000
"""Tables larger than this are avoided by tallying the rest of a body for distinct things..."""
SPLIT_GROWTH = 2
"""... but only where the next link makes the table more than this many times larger."""
WORK_PER_CELL = 16
"""Numbers that may be multiplied and added, when parts are joined, for each cell of the budget."""
MOST_GROUNDINGS = 2.0**62
MOST_KEYS = 8
"""What is known about keys is kept for this many different sets of examples."""
TOO_LARGE = "its groundings may exceed the memory budget"
"""The reason why a tally is skipped."""


class TallyRequest(NamedTuple):
    """A body, the variables whose values are asked for, and whether times are asked for.

    ``times`` asks for the time of the fact that makes the last step with times true: minus infinity for a
    fact without a time.
    """

    head: Atom
    body: Body
    variables: tuple[int, ...] = ()
    times: bool = False

    def __str__(self) -> str:
        return body_text(self.head, self.body)


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """The groundings of a body for some examples, in groups; rows are distinct, and sorted by ``row``.

    Examples without groundings have no row.
    """

    row: Rows
    """position of the example"""
    columns: tuple[npt.NDArray[Any], ...]
    """one column for each variable asked for: values (float64) if its type is numeric or if it is a number of
    facts, else codes (int32)"""
    number: Rows
    """number of groundings in the group"""
    times: Floats | None = None


class TallySizes:
    """Estimates of the tables that tallies need, from the numbers of facts: the same for every engine."""

    def __init__(self, database: Database, memory: int) -> None:
        self._database = database
        self.most = max(LEAST_CELLS, memory // BYTES_PER_CELL)
        """the most cells that a table may have"""
        self._average: dict[tuple[str, tuple[int, ...]], float] = {}
        self._recent: dict[int, tuple[Codes, dict[int, int]]] = {}
        """the numbers of distinct codes in the columns of the last keys, by identity"""
        self._distinct: dict[int, int] = {}
        self._last: tuple[TallyRequest, tuple[int, ...], Mapping[int, str]] | None = None

    def cells(self, request: TallyRequest, keys: Codes) -> int:
        """An estimate of the cells of the largest table."""
        own = self._recent.pop(id(keys), None) or (keys, {})
        self._recent[id(keys)] = own
        if len(self._recent) > MOST_KEYS:
            del self._recent[next(iter(self._recent))]
        self._distinct = own[1]
        arity = len(request.head.args)
        used, types = self.variables(request)
        n_cutoffs = self._different(keys, arity) if keys.shape[1] > arity else 1
        n_keys = float(n_cutoffs)
        for variable in used:
            n_keys *= self._different(keys, variable)
        search = _Estimating(request, types, n_cutoffs)
        if self._groundings(used, request.body) > MOST_GROUNDINGS:
            return int(MOST_GROUNDINGS)
        cells = self._follow(search, min(n_keys, len(keys)), set(used), request.body)[0]
        return int(min(cells, MOST_GROUNDINGS))

    def groundings(self, request: TallyRequest, keys: Codes) -> float:
        """An estimate of the number of groundings of all examples."""
        return len(keys) * self._groundings(self.variables(request)[0], request.body)

    def variables(self, request: TallyRequest) -> tuple[tuple[int, ...], Mapping[int, str]]:
        """The head variables that a request uses, and the types of all its variables."""
        last = self._last
        if last is None or last[0] is not request:
            types = variable_types(self._database.schema, request.head, request.body)
            self._last = last = request, head_variables(request), types
        return last[1:]

    def _groundings(self, used: tuple[int, ...], body: Body) -> float:
        """An estimate of the number of groundings of one key."""
        known, number = set(used), 1.0
        for step in body:
            if isinstance(step, Atom | Recent):
                number *= self._fan_out(step, known)
            known.update(new_variables_of(step, known))
        return number

    def _different(self, keys: Codes, column: int) -> int:
        """The number of distinct codes in a column of keys."""
        if column not in self._distinct:
            self._distinct[column] = len(np.unique(keys[:, column]))
        return self._distinct[column]

    def _follow(self, search: _Estimating, keys: float, known: set[int], body: Body) -> tuple[float, float]:
        """The cells of the largest table for a body from some keys, and the number of groups at its end."""
        known, rows, cells, followed = set(known), keys, 0.0, False
        for place, step in enumerate(body):
            new = new_variables_of(step, known)
            if isinstance(step, Atom | Recent):
                after = rows * self._fan_out(step, known)
                if followed and after > SPLIT_ROWS and after > SPLIT_GROWTH * rows:
                    source = single_source(body[place:], search.request.variables, known)
                    if source is not None:
                        size = len(self._database.population(search.types[source]))
                        things = max(1.0, min(rows, size * search.cutoffs))
                        most, groups = self._follow(search, things, {source}, body[place:])
                        joined = min(rows, keys * size) * groups / things
                        result = self._groups(search, keys, joined)
                        width = len(search.request.variables) + 3
                        return max(cells, most, result * width, joined / WORK_PER_CELL), result
                rows = after
                cells = max(cells, rows * (len(known) + 3))
                followed = followed or bool(new)
            known.update(new)
        return cells, self._groups(search, keys, rows)

    def _groups(self, search: _Estimating, keys: float, groundings: float) -> float:
        """The number of groups, at most, of some groundings for some keys."""
        request, types = search.request, search.types
        free = [types[variable] for variable in request.variables if variable >= len(request.head.args)]
        if request.times or NUMBER_OF_FACTS in free:
            return groundings
        for type_name in free:
            keys *= len(self._database.population(type_name))
        return min(groundings, keys)

    def _fan_out(self, step: Atom | Recent, known: set[int]) -> float:
        """The average number of facts that match an atom, given constants and known variables."""
        atom = step.atom if isinstance(step, Recent) else step
        places = tuple(
            place for place, term in enumerate(atom.args) if isinstance(term, str) or term in known
        )
        key = (atom.predicate, places)
        if key not in self._average:
            _, distinct = self._database.facts.shape_at(*key)
            self._average[key] = self._database.n_facts(atom.predicate) / max(distinct, 1)
        average = self._average[key]
        return min(average, step.last) if isinstance(step, Recent) and step.last is not None else average


class _Estimating(NamedTuple):
    request: TallyRequest
    types: Mapping[int, str]
    cutoffs: int
    """number of distinct cut-offs"""


def head_variables(request: TallyRequest) -> tuple[int, ...]:
    """The head variables that a request uses, in ascending order."""
    in_body = (variable for step in request.body for variable in step_variables(step))
    arity = len(request.head.args)
    return tuple(sorted({each for each in (*in_body, *request.variables) if each < arity}))


def single_source(rest: Body, wanted: tuple[int, ...], known: set[int]) -> int | None:
    """The only known variable that the rest of a body and the wanted variables need, if there is one."""
    needed = needed_of(rest, wanted, known)
    return next(iter(needed)) if len(needed) == 1 else None


def needed_of(rest: Body, wanted: tuple[int, ...], known: set[int]) -> frozenset[int]:
    """The known variables that the rest of a body and the wanted variables need."""
    in_rest = (variable for step in rest for variable in step_variables(step))
    return frozenset(variable for variable in (*in_rest, *wanted) if variable in known)


def own_steps_of(requests: Sequence[TallyRequest]) -> list[int]:
    """For each request the number of last steps that no other one begins with; 0 for a single request."""
    if len(requests) == 1:
        return [0]
    times = Counter(each.body[:end] for each in requests for end in range(1, len(each.body) + 1))
    return [sum(times[each.body[:end]] == 1 for end in range(1, len(each.body) + 1)) for each in requests]


def spread(tally: Tally, of_example: Integers) -> Tally:
    """``to_examples`` for a tally whose rows are in any order and may repeat groups."""
    ranked = [np.unique(values, return_inverse=True)[1].ravel() for values in _values_of(tally)]
    order, starts = grouped(row_numbers([tally.row, *ranked], len(tally.row)))
    first = order[starts]
    number = np.add.reduceat(tally.number[order], starts) if len(starts) else tally.number[:0]
    times = None if tally.times is None else tally.times[first]
    columns = tuple(column[first] for column in tally.columns)
    return to_examples(Tally(tally.row[first], columns, number, times), of_example)


def to_examples(tally: Tally, of_example: Integers) -> Tally:
    """The tally of examples from a tally of their distinct keys, of which each example has one."""
    edges = np.searchsorted(tally.row, np.arange(int(of_example.max(initial=-1)) + 2))
    begin, lengths = edges[of_example], edges[of_example + 1] - edges[of_example]
    examples = np.repeat(np.arange(len(of_example)), lengths)
    places = np.arange(len(examples)) + np.repeat(begin - (np.cumsum(lengths) - lengths), lengths)
    return Tally(
        examples,
        tuple(column[places] for column in tally.columns),
        tally.number[places],
        None if tally.times is None else tally.times[places],
    )


def _values_of(tally: Tally) -> list[npt.NDArray[Any]]:
    return [*tally.columns, *([] if tally.times is None else [tally.times])]
