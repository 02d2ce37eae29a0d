"""Tallies in memory: a body is followed step by step from the examples, over tables of groundings.

Tables of the same steps are shared by all requests for the same examples. If a link would make a table much
larger, and what follows depends only on the thing reached, the rest is tallied once for each distinct thing
and cut-off, and joined to the examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNKNOWN, Codes, Database
from hornbeam.data.numbers import Floats
from hornbeam.data.rows import Integers, distinct_rows
from hornbeam.data.sparse import summed
from hornbeam.engines.cache import Cache, CachePart
from hornbeam.engines.contract import INT64_MAX, Skipped
from hornbeam.engines.fact_slices import FactLimits, FactSlices, slices_of
from hornbeam.engines.memory.grounding_tables import (
    GroundingTable,
    as_matrix,
    from_matrix,
    grouped,
    is_in_order,
    ranges,
    taken,
    taken_or_none,
)
from hornbeam.engines.memory.indexes import FactIndexes
from hornbeam.engines.tally import (
    DAY,
    MOST_KEYS,
    SPLIT_GROWTH,
    SPLIT_ROWS,
    TOO_LARGE,
    WORK_PER_CELL,
    Tally,
    TallyRequest,
    TallySizes,
    needed_of,
    own_steps_of,
)
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
    predicates_in,
)
from hornbeam.logic.schema import number_of

WORTHWHILE = 2
"""The rest of a body is tallied for distinct values of several variables if this divides their number."""


class TableTooLargeError(Exception):
    """A table would exceed the memory budget; ``cells`` is its number of cells, or of groundings."""

    def __init__(self, cells: int) -> None:
        super().__init__(cells)
        self.cells = cells


class Asked(NamedTuple):
    """What a request asks of the groundings of its body."""

    variables: tuple[int, ...]
    times: bool
    types: Mapping[int, str]
    """the type of each variable; ``NUMBER_OF_FACTS`` for a number of facts"""
    own_steps: int
    """the number of last steps that no other request has; their tables are not kept"""


@dataclass(slots=True, eq=False)
class KeySet:
    """Distinct values of some variables, with cut-offs."""

    serial: int
    columns: dict[int, Integers]
    cutoffs: Floats | None
    size: int

    @property
    def nbytes(self) -> int:
        arrays = (*self.columns.values(), self.cutoffs)
        return sum(array.nbytes for array in arrays if array is not None)


class DistinctValues(NamedTuple):
    """The distinct values of some variables among groundings, and how often each key has which of them."""

    keys: KeySet
    row: Integers
    which: Integers
    number: Integers

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + self.row.nbytes + self.which.nbytes + self.number.nbytes


class _OfKeys(NamedTuple):
    """What is kept for some keys: their distinct values, and tables of groundings."""

    keys: Codes
    sets: dict[tuple[int, ...], tuple[KeySet, Integers]]
    tables: CachePart


class Tallies:
    """Answers requests for some sets of examples; tables are kept for the last few of them."""

    def __init__(self, database: Database, facts: FactIndexes, memory: int, cache: Cache) -> None:
        self.database = database
        self.facts = facts
        self._sizes = TallySizes(database, memory)
        self.days = database.origin.get("times") == "date"
        self._cache = cache
        self._slices = cache.part()
        self._serials = count()
        self._recent: dict[int, _OfKeys] = {}
        """what is kept for each of the last keys, by identity"""
        self._tables = cache.part()
        self._sets: dict[tuple[int, ...], tuple[KeySet, Integers]] = {}
        self._alike: dict[str, Integers | None] = {}

    def tally(self, requests: Sequence[TallyRequest], keys: Codes) -> list[Tally | Skipped]:
        """The tally of each request, for rows of keys."""
        own = self._recent.pop(id(keys), None) or _OfKeys(keys, {}, self._cache.part())
        self._recent[id(keys)] = own
        if len(self._recent) > MOST_KEYS:
            del self._recent[next(iter(self._recent))]
        _, self._sets, self._tables = own
        return [
            self._answer(request, keys, own)
            for request, own in zip(requests, own_steps_of(requests), strict=True)
        ]

    def _answer(self, request: TallyRequest, keys: Codes, own_steps: int) -> Tally | Skipped:
        cells = self._sizes.cells(request, keys)
        if cells > self._sizes.most:
            return Skipped(request, TOO_LARGE, cells, self._sizes.most)
        used, types = self._sizes.variables(request)
        keyset, which = self._keyset(request, keys, used)
        asked = Asked(request.variables, request.times, types, own_steps)
        try:
            table = self._groups(keyset, request.body, asked)
        except TableTooLargeError as error:
            return Skipped(request, TOO_LARGE, error.cells, self._sizes.most)
        return self._spread(table, asked, which)

    def _keyset(self, request: TallyRequest, keys: Codes, used: tuple[int, ...]) -> tuple[KeySet, Integers]:
        """The distinct values of the head variables that a body uses, and which of them each example has."""
        arity = len(request.head.args)
        known = self._sets.get((arity, *used))
        if known is None:
            cutoffs = self.database.last_times_of(request.head.predicate, keys)
            columns = [keys[:, variable] for variable in used]
            ranks = [] if cutoffs is None else [np.unique(cutoffs, return_inverse=True)[1].ravel()]
            first, which = distinct_rows([*columns, *ranks], len(keys))
            if len(first) == len(keys):
                first = which = np.arange(len(keys))
            keyset = KeySet(
                next(self._serials),
                {variable: keys[first, variable] for variable in used},
                None if cutoffs is None else cutoffs[first],
                len(first),
            )
            known = self._sets[arity, *used] = keyset, which
        return known

    # --- tables ----------------------------------------------------------------------------------

    def _groups(self, keyset: KeySet, body: Body, asked: Asked) -> GroundingTable:
        """The groundings of a body in groups of equal key, wanted values and (if asked for) time."""
        table = GroundingTable(np.arange(keyset.size, dtype=np.int32), dict(keyset.columns))
        known = set(keyset.columns)
        followed = 0
        for place, step in enumerate(body):
            prefix = (keyset.serial, asked.times, *body[: place + 1])
            done = self._tables.get(prefix)
            if done is not None:
                table = done
            else:
                found = self._find(table, step, known, keyset.cutoffs)
                if found is not None and isinstance(step, Atom | Recent):
                    first, end, slices = found
                    rows = int((end - first).sum())
                    if rows > SPLIT_ROWS and followed and rows > SPLIT_GROWTH * len(table.row):
                        part = self._part(
                            keyset, table, body, place, needed_of(body[place:], asked.variables, known)
                        )
                        if part is not None:
                            return self._joined(keyset, part, body[place:], asked)
                    self._check(rows, len(table.columns) + 3)
                    table = self._expand(table, step, known, (first, end, slices), asked.times)
                    if len(body) - place > asked.own_steps:
                        self._tables.put(prefix, table, table.nbytes)
                else:
                    table = self._filter(table, step, known, (keyset.cutoffs, asked.types))
            if isinstance(step, Atom | Recent) and new_variables_of(step, known):
                followed += 1
            known |= set(new_variables_of(step, known))
        for variable in asked.variables:
            alike = self._same_value(asked.types[variable])
            if alike is not None:
                table = replace(table, columns={**table.columns, variable: alike[table.columns[variable]]})
        return grouped(table, asked.variables, asked.times, keyset.size)

    def _has_times(self, body: Body) -> bool:
        """Whether a step of a body that has facts of its own has times."""
        return any(
            isinstance(step, Atom | Recent) and predicate in self.database.times
            for step in body
            for predicate in predicates_in((step,))
        )

    def _same_value(self, type_name: str) -> Integers | None:
        """For each code of a numeric type the first code with the same value; None if values differ."""
        if type_name not in self.database.schema.numeric:
            return None
        if type_name not in self._alike:
            _, first, which = np.unique(
                self.database.numbers[type_name], return_index=True, return_inverse=True
            )
            # One more element at the end, so that the code -1 selects it.
            codes = np.append(first[which.ravel()], UNKNOWN).astype(np.int32)
            self._alike[type_name] = codes if len(first) < len(which) else None
        return self._alike[type_name]

    def _part(
        self, keyset: KeySet, table: GroundingTable, body: Body, place: int, needed: frozenset[int]
    ) -> DistinctValues | None:
        """The distinct values that the rest of a body needs; None if it is followed from the table itself."""
        if not needed or (table.times is not None and not self._has_times(body[place:])):
            return None
        key = ("part", keyset.serial, body[:place], needed)
        part: DistinctValues | None = self._tables.get(key)
        if part is None:
            sources = tuple(sorted(needed))
            columns = {variable: table.columns[variable] for variable in sources}
            leads = GroundingTable(table.row, columns, None, table.number)
            lead = grouped(leads, sources, False, keyset.size)
            cutoffs = None if keyset.cutoffs is None else keyset.cutoffs[lead.row]
            ranks = [] if cutoffs is None else [np.unique(cutoffs, return_inverse=True)[1].ravel()]
            first, which = distinct_rows([*lead.columns.values(), *ranks], len(lead.row))
            keys = KeySet(
                next(self._serials),
                {variable: column[first] for variable, column in lead.columns.items()},
                None if cutoffs is None else cutoffs[first],
                len(first),
            )
            assert lead.number is not None
            part = DistinctValues(keys, lead.row, which, lead.number)
            self._tables.put(key, part, part.nbytes)
        few = len(needed) == 1 or part.keys.size * WORTHWHILE <= len(table.row)
        return part if few else None

    def _joined(self, keyset: KeySet, part: DistinctValues, rest: Body, asked: Asked) -> GroundingTable:
        """Tally the rest of a body for the distinct values that it needs, and join that to the keys."""
        groups, size = self._groups(part.keys, rest, asked), part.keys.size
        assert groups.number is not None
        rows = int(np.bincount(groups.row, minlength=size)[part.which].sum())
        self._check(rows // WORK_PER_CELL, 1)
        largest = int(part.number.max(initial=0)) * int(groups.number.max(initial=0)) * rows
        if largest > INT64_MAX:
            raise TableTooLargeError(largest)
        if not rows:
            return grouped(replace(groups, row=groups.row[:0]), asked.variables, asked.times, 0)
        to_part = summed(part.row, part.which, part.number, (keyset.size, size))
        to_values, (columns, moments) = as_matrix(groups, asked.variables, asked.times, size)
        self._check(min(rows, keyset.size * to_values.shape[1]), len(asked.variables) + 3)
        return from_matrix(to_part.product(to_values), asked.variables, columns, moments)

    def _find(
        self, table: GroundingTable, step: Step, known: set[int], cutoffs: Floats | None
    ) -> tuple[Integers, Integers, FactSlices] | None:
        """The slice of facts of a step's atom for each row; None for a comparison."""
        atom = atom_in(step)
        if atom is None:
            return None
        bound = [term for term in dict.fromkeys(atom.args) if isinstance(term, int) and term in known]
        limits = FactLimits()
        if isinstance(step, Recent):
            unit = DAY if self.days else 1.0
            limits = FactLimits(step.last, None if step.within is None else step.within * unit)
        slices = self._slices_of(atom, bound, cutoffs is not None or limits != FactLimits())
        at = None if cutoffs is None else cutoffs[table.row]
        values = [table.columns[variable] for variable in bound]
        return *slices.find(values, at, len(table.row), limits), slices

    def _slices_of(self, atom: Atom, bound: list[int], by_time: bool) -> FactSlices:
        names = {
            term: place
            for place, term in enumerate(t for t in dict.fromkeys(atom.args) if isinstance(t, int))
        }
        key = (
            atom.predicate,
            tuple(names[t] if isinstance(t, int) else t for t in atom.args),
            tuple(names[v] for v in bound),
            by_time,
        )
        return self._slices.made(
            key, lambda: slices_of(*self.facts.of_atom(atom), bound, by_time), lambda made: made.nbytes
        )

    def _expand(
        self,
        table: GroundingTable,
        step: Step,
        known: set[int],
        found: tuple[Integers, Integers, FactSlices],
        times: bool,
    ) -> GroundingTable:
        first, end, slices = found
        rows, facts = ranges(first, end)
        new = new_variables_of(step, known)
        columns = {variable: taken(column, rows) for variable, column in table.columns.items()}
        columns |= {v: column[facts] for v, column in zip(new, slices.columns, strict=True)}
        kept = None
        if times:
            kept = slices.times[facts] if slices.times is not None else taken_or_none(table.times, rows)
        return GroundingTable(taken(table.row, rows), columns, kept, taken_or_none(table.number, rows))

    def _filter(
        self,
        table: GroundingTable,
        step: Step,
        known: set[int],
        given: tuple[Floats | None, Mapping[int, str]],
    ) -> GroundingTable:
        """Apply a step that adds no rows: a comparison, a negated atom, or a number of facts."""
        cutoffs, types = given
        if isinstance(step, NumberOf):
            found = self._find(table, step, known, cutoffs)
            assert found is not None
            return GroundingTable(
                table.row, {**table.columns, step.variable: found[1] - found[0]}, table.times, table.number
            )
        if isinstance(step, Comparison):
            values = self._values(types[step.variable], table.columns[step.variable])
            threshold = number_of(step.value)
            keep = values >= threshold if step.operator == AT_LEAST else values < threshold
        elif isinstance(step, Equals):
            code = self.database.population(types[step.variable]).code(step.constant)
            keep = (table.columns[step.variable] == code) & (code != UNKNOWN)
        else:
            assert isinstance(step, Not)
            found = self._find(table, step, known, cutoffs)
            assert found is not None
            keep = found[1] == found[0]
        columns = {variable: column[keep] for variable, column in table.columns.items()}
        times, number = taken_or_none(table.times, keep), taken_or_none(table.number, keep)
        return GroundingTable(table.row[keep], columns, times, number)

    def _check(self, rows: int, columns: int) -> None:
        # Matrices of groups have fewer than 2**31 entries.
        if rows * columns > self._sizes.most or rows >= 2**31:
            raise TableTooLargeError(rows * columns)

    # --- answers ---------------------------------------------------------------------------------

    def _spread(self, table: GroundingTable, asked: Asked, which: Integers) -> Tally:
        """The tally of the examples, from the groups of their distinct keys."""
        rows, groups = table.row, None
        if not is_in_order(which):
            size = int(which.max(initial=-1)) + 1
            starts = np.searchsorted(table.row, np.arange(size + 1))
            of_row, groups = ranges(starts[which], starts[which + 1])
            rows = np.arange(len(which)) if of_row is None else of_row
        columns = [
            self._values(asked.types[variable], taken(table.columns[variable], groups))
            for variable in asked.variables
        ]
        assert table.number is not None
        number = taken(table.number, groups).astype(np.int64, copy=False)
        return Tally(rows, tuple(columns), number, taken_or_none(table.times, groups))

    def _values(self, type_name: str, codes: Integers) -> npt.NDArray[Any]:
        """The values of numeric constants or of numbers of facts; the codes of other constants."""
        if type_name == NUMBER_OF_FACTS:
            return codes.astype(np.float64)
        if type_name in self.database.schema.numeric:
            # An unknown constant has no value, so it is on neither side of a threshold.
            return np.where(codes < 0, np.nan, np.append(self.database.numbers[type_name], np.nan)[codes])
        return codes
