"""The tallies of a path from one query: its groundings are fetched once, and grouped here for each request.

The requests of a path begin alike: their common steps are the path. The query returns its groundings, with
the variables that the requests need. The other steps of a request say what the things reached are like; they
are followed here, over facts that are fetched once for all paths. A path or relation that is too large is
left to the system, with a query for each request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes
from hornbeam.data.numbers import Floats
from hornbeam.data.rows import Integers, fold, row_numbers, unfold
from hornbeam.data.sparse import summed
from hornbeam.engines.fact_slices import FactLimits
from hornbeam.engines.sql.tallies.fetched_facts import FetchedFacts
from hornbeam.engines.sql.tallies.grounding_tables import (
    GroundingTables,
    bound_in,
    common_to,
    needed_after,
)
from hornbeam.engines.sql.tallies.queries import Bindings
from hornbeam.engines.sql.tallies.whole_queries import PathQuery
from hornbeam.engines.tally import Tally, TallyRequest, TallySizes
from hornbeam.logic.effects import (
    NUMBER_OF_FACTS,
    Body,
    NumberOf,
    Step,
    atom_in,
    new_variables_of,
    variable_types,
)

SHARE = 4
"""The groundings that are fetched have at most one cell in this many of the budget."""
MOST_COLUMNS = 1 << 31
"""Groups are entries of a matrix with fewer columns than this."""


@dataclass(slots=True, eq=False)
class FetchedGroundings:
    """Groundings with numbers in place of values and times."""

    row: Integers
    columns: dict[int, Integers]
    times: Integers | None
    """numbers of the times of the last step with times"""
    moments: Floats
    """what these numbers stand for"""
    number: Integers | None
    """how many groundings a row stands for; None: one"""


@dataclass(eq=False)
class _FetchedPath:
    bindings: Bindings
    request: TallyRequest
    tables: dict[Body, FetchedGroundings] = field(default_factory=dict)
    """groundings by the steps after those of the path"""


class PathTallies:
    """Answers the requests of one path after the other."""

    def __init__(self, facts: FetchedFacts, sizes: TallySizes, tables: GroundingTables, keys: Codes) -> None:
        self._facts = facts
        self._schema = facts.database.schema
        self._sizes = sizes
        self._tables = tables
        self._keys = keys
        self._expected: dict[Bindings, TallyRequest] = {}
        self._path: _FetchedPath | None = None

    def expect(self, requests: Mapping[Bindings, Sequence[TallyRequest]]) -> None:
        """Replace the expected requests, given for each table of keys that they start from."""
        self._expected = {}
        for bindings, each in requests.items():
            common = common_to(each)
            if len(each) > 1 and self._is_small(common):
                follows = sum(self._can_follow(common, request) for request in each)
                if 2 * follows > len(each):
                    self._expected[bindings] = common

    def tally(self, request: TallyRequest, bindings: Bindings, cutoffs: Floats | None) -> Tally | None:
        """The tally of the distinct keys; None if the request does not belong to an expected path."""
        common = self._expected.get(bindings)
        if common is None or not _begins(common, request) or not self._can_follow(common, request):
            return None
        if self._path is None or self._path.request != common or self._path.bindings != bindings:
            self._path = _FetchedPath(bindings, common)
            self._path.tables[()] = self._fetch(common, bindings)
        steps = request.body[len(common.body) :]
        table = self._path.tables.get(steps)
        if table is None:
            # Only what longer bodies begin with is kept.
            table = self._next(self._follow(self._path, steps[:-1], cutoffs), steps[-1], cutoffs)
        return self._grouped(table, request)

    # --- which paths -------------------------------------------------------------------------------

    def _is_small(self, common: TallyRequest) -> bool:
        cells = self._sizes.groundings(common, self._keys) * (len(common.variables) + 3)
        return cells <= self._sizes.most / SHARE

    def _can_follow(self, common: TallyRequest, request: TallyRequest) -> bool:
        """Whether the steps after those of the path can be followed here."""
        known = set(range(len(common.head.args))) | bound_in(common.body)
        groundings = self._sizes.groundings(common, self._keys)
        for step in request.body[len(common.body) :]:
            if not self._facts.has(step, known, groundings):
                return False
            known.update(new_variables_of(step, known))
        return True

    # --- groundings --------------------------------------------------------------------------------

    def _fetch(self, common: TallyRequest, bindings: Bindings) -> FetchedGroundings:
        types = variable_types(self._schema, common.head, common.body)
        writer = PathQuery(self._facts.source, common, types, bindings)
        connection = self._facts.connection
        start = self._tables.start_of_path(common, bindings, self._keys)
        query = writer.write_numbers(connection.dialect, self._facts.numbers, start)
        n_columns = len(query.selects)
        row, *columns = connection.integers(connection.dialect.text(query), n_columns)
        number = columns.pop() if writer.has_number else None
        times, moments = None, np.array([-np.inf])
        if writer.timed is not None:
            times, moments = columns.pop(), self._facts.numbers.times(writer.timed)
        named = dict(zip(common.variables, columns, strict=True))
        return FetchedGroundings(row, named, times, moments, number)

    def _follow(self, path: _FetchedPath, steps: Body, cutoffs: Floats | None) -> FetchedGroundings:
        """The groundings of a path and of more steps."""
        known = path.tables.get(steps)
        if known is None:
            before = self._follow(path, steps[:-1], cutoffs)
            known = self._next(before, steps[-1], cutoffs)
            path.tables[steps] = known
        return known

    def _next(self, table: FetchedGroundings, step: Step, cutoffs: Floats | None) -> FetchedGroundings:
        """The groundings for which a step is true."""
        atom = atom_in(step)
        assert atom is not None
        bound = [term for term in dict.fromkeys(atom.args) if isinstance(term, int) and term in table.columns]
        slices = self._facts.slices(atom, bound)
        at = None if cutoffs is None else cutoffs[table.row]
        values = [table.columns[variable] for variable in bound]
        first, end = slices.find(values, at, len(table.row), FactLimits())
        if isinstance(step, NumberOf):
            columns = {**table.columns, step.variable: end - first}
            return FetchedGroundings(table.row, columns, table.times, table.moments, table.number)
        there = end > first
        kept = None if there.all() else np.flatnonzero(there)
        facts = _taken(first, kept)
        columns = {variable: _taken(column, kept) for variable, column in table.columns.items()}
        new = new_variables_of(step, set(table.columns))
        columns |= {v: column[facts] for v, column in zip(new, slices.columns, strict=True)}
        times, moments = table.times, table.moments
        times = None if times is None else _taken(times, kept)
        if slices.times is not None:
            times, moments = np.searchsorted(slices.moments, slices.times)[facts], slices.moments
        number = None if table.number is None else _taken(table.number, kept)
        return FetchedGroundings(_taken(table.row, kept), columns, times, moments, number)

    # --- groups ------------------------------------------------------------------------------------

    def _grouped(self, table: FetchedGroundings, request: TallyRequest) -> Tally:
        """The groundings in groups of equal key, wanted values and (if asked for) time."""
        types = variable_types(self._schema, request.head, request.body)
        columns: list[Integers] = []
        values: list[npt.NDArray[Any]] = []
        for variable in request.variables:
            if variable >= len(request.head.args):
                column, stands_for = self._numbered(table.columns[variable], types[variable])
                columns.append(column)
                values.append(stands_for)
        if request.times:
            columns.append(np.zeros_like(table.row) if table.times is None else table.times)
            values.append(table.moments)
        number = np.ones(len(table.row), dtype=np.int64) if table.number is None else table.number
        rows, numbers, groups = _groups(table.row, columns, [len(each) for each in values], number)
        found = [stands_for[each] for stands_for, each in zip(values, numbers, strict=True)]
        times = found.pop() if request.times else None
        return Tally(rows, tuple(found), groups, times)

    def _numbered(self, column: Integers, type_name: str) -> tuple[Integers, npt.NDArray[Any]]:
        """A column of numbers in which equal values have one number, and what the numbers stand for."""
        if type_name == NUMBER_OF_FACTS:
            return column, np.arange(int(column.max(initial=0)) + 1, dtype=np.float64)
        values, first = self._facts.numbers.values(type_name)
        return column if first is None else first[column], values


def _groups(
    row: Integers, columns: Sequence[Integers], sizes: Sequence[int], number: Integers
) -> tuple[Integers, list[Integers], Integers]:
    """The distinct rows, sorted, the columns of each, and the sum of its numbers."""
    n_rows = int(row.max(initial=-1)) + 1
    span = prod(sizes)
    if span < MOST_COLUMNS:
        codes = fold(columns, sizes)[0] if columns else np.zeros(len(row), dtype=np.int64)
        matrix = summed(row, codes, number, (n_rows, span))
        found: list[npt.NDArray[Any]] = list(unfold(matrix.ends, sizes)) if columns else []
    else:
        distinct, first, which = np.unique(
            row_numbers(columns, len(row)), return_index=True, return_inverse=True
        )
        matrix = summed(row, which.ravel(), number, (n_rows, len(distinct)))
        found = [column[first][matrix.ends] for column in columns]
    return np.repeat(np.arange(n_rows), np.diff(matrix.starts)), found, matrix.entries


def _taken(array: npt.NDArray[Any], places: Integers | None) -> npt.NDArray[Any]:
    """The elements at some places; all of them if there are no places."""
    return array if places is None else array[places]


def _begins(common: TallyRequest, request: TallyRequest) -> bool:
    """Whether a request has the steps of a path, and the path has what it needs."""
    done = len(common.body)
    if request.body[:done] != common.body or request.times > common.times:
        return False
    head = set(range(len(common.head.args)))
    # The key of an example has the values of the variables of the head.
    needed = needed_after(request, done) - (head & set(request.variables) - bound_in(request.body[done:]))
    return (needed & (head | bound_in(common.body))).issubset(common.variables)
