"""Tallies in memory: a body is followed step by step from the examples, over tables of groundings.

Tables of the same steps are shared by all requests for the same examples. If a link would make a table much
larger, and what follows depends only on the thing reached, the rest is tallied once for each distinct thing
and cut-off, and joined to the examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNKNOWN, Codes, Database
from hornbeam.data.numbers import Floats
from hornbeam.data.rows import Integers, distinct_rows, row_numbers, run_starts
from hornbeam.engines.cache import Cache
from hornbeam.engines.contract import Skipped
from hornbeam.engines.memory.fact_slices import FactSlices, Limits, slices_of
from hornbeam.engines.memory.indexes import FactIndexes
from hornbeam.engines.tally import Tally, TallyRequest
from hornbeam.logic.clauses import AT_LEAST, Atom, Comparison, Not
from hornbeam.logic.effect_types import NUMBER_OF_FACTS, variable_types
from hornbeam.logic.effects import (
    Body,
    Equals,
    NumberOf,
    Recent,
    Step,
    atom_in,
    new_variables_of,
    step_variables,
)
from hornbeam.logic.schema import number_of

SPLIT_ROWS = 300_000
"""Tables larger than this are avoided by tallying the rest of a body for distinct things."""
BYTES_PER_CELL = 8
DAY = 86_400_000_000.0
"""Microseconds in a day."""


class TooLargeError(Exception):
    """A table would exceed the memory budget; ``rows`` is its number of rows."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.rows = rows


@dataclass(slots=True, eq=False)
class Table:
    """Groundings of some steps: the key of each, and the values of variables."""

    row: Integers
    columns: dict[int, npt.NDArray[Any]]
    times: Floats | None = None
    """the time of the fact of the last step that has times"""
    number: Integers | None = None
    """how many groundings a row stands for; None: one"""

    @property
    def nbytes(self) -> int:
        arrays = (self.row, self.times, self.number, *self.columns.values())
        return sum(array.nbytes for array in arrays if array is not None)


class Asked(NamedTuple):
    """What a request asks of the groundings of its body."""

    variables: tuple[int, ...]
    times: bool
    types: Mapping[int, str]
    """the type of each variable; ``NUMBER_OF_FACTS`` for a number of facts"""


@dataclass(slots=True, eq=False)
class KeySet:
    """Distinct values of some variables, with cut-offs."""

    serial: int
    columns: dict[int, Integers]
    cutoffs: Floats | None
    size: int
    parts: dict[tuple[object, ...], tuple[KeySet, Table]] = field(default_factory=dict)
    """the keys of parts that were split off, and the table that leads to them"""


class Tallies:
    """Answers requests for one set of examples; tables are kept while the examples stay the same."""

    def __init__(self, database: Database, facts: FactIndexes, memory: int) -> None:
        self.database = database
        self.facts = facts
        self.most_rows = max(1000, memory // (BYTES_PER_CELL * 8))
        self.days = database.origin.get("times") == "date"
        self._slices: dict[tuple[object, ...], FactSlices] = {}
        self._tables = Cache(memory // 4)
        self._serials = count()
        self._keys: Codes | None = None
        self._sets: dict[tuple[int, ...], tuple[KeySet, Integers]] = {}

    def tally(self, requests: Sequence[TallyRequest], keys: Codes) -> list[Tally | Skipped]:
        """The tally of each request, for rows of keys."""
        if self._keys is None or keys is not self._keys:
            self._keys, self._sets = keys, {}
        return [self._answer(request, keys) for request in requests]

    def _answer(self, request: TallyRequest, keys: Codes) -> Tally | Skipped:
        arity = len(request.head.args)
        used = sorted({v for step in request.body for v in step_variables(step) if v < arity})
        keyset, which = self._keyset(request, keys, tuple(used))
        types = variable_types(self.database.schema, request.head, request.body)
        asked = Asked(request.variables, request.times, types)
        try:
            table = self._groups(keyset, request.body, asked)
        except TooLargeError as error:
            return Skipped(request, "its groundings exceed the memory budget", error.rows, self.most_rows)
        return self._spread(table, asked, which)

    def _keyset(self, request: TallyRequest, keys: Codes, used: tuple[int, ...]) -> tuple[KeySet, Integers]:
        """The distinct values of the head variables that a body uses, and which of them each example has."""
        known = self._sets.get(used)
        if known is None:
            cutoffs = self.database.cutoffs_of(request.head.predicate, keys)
            columns = [keys[:, variable] for variable in used]
            ranks = [] if cutoffs is None else [np.unique(cutoffs, return_inverse=True)[1].ravel()]
            first, which = distinct_rows([*columns, *ranks], len(keys))
            keyset = KeySet(
                next(self._serials),
                {variable: keys[first, variable] for variable in used},
                None if cutoffs is None else cutoffs[first],
                len(first),
            )
            known = self._sets[used] = keyset, which
        return known

    # --- tables ----------------------------------------------------------------------------------

    def _groups(self, keyset: KeySet, body: Body, asked: Asked) -> Table:
        """The groundings of a body in groups of equal key, wanted values and (if asked for) time."""
        table = Table(np.arange(keyset.size), dict(keyset.columns))
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
                    if rows > SPLIT_ROWS and followed and rows > 2 * len(table.row):
                        x = _single_source(body[place:], asked.variables, known)
                        if x is not None:
                            return self._split(keyset, (table, x), body, place, asked)
                    self._check(rows, len(table.columns) + 3)
                    table = self._expand(table, step, known, (first, end, slices), asked.times)
                    self._tables.put(prefix, table, table.nbytes)
                else:
                    table = self._filter(table, step, known, (keyset.cutoffs, asked.types))
            if isinstance(step, Atom | Recent) and new_variables_of(step, known):
                followed += 1
            known |= set(new_variables_of(step, known))
        return _grouped(table, asked.variables, asked.times)

    def _split(
        self, keyset: KeySet, source: tuple[Table, int], body: Body, place: int, asked: Asked
    ) -> Table:
        """Tally the rest of a body for the distinct things reached, and join that to the keys."""
        table, x = source
        key = (body[:place], x)
        known = keyset.parts.get(key)
        if known is None:
            lead = _grouped(Table(table.row, {x: table.columns[x]}, None, table.number), (x,), False)
            things = lead.columns[x]
            cutoffs = None if keyset.cutoffs is None else keyset.cutoffs[lead.row]
            ranks = [] if cutoffs is None else [np.unique(cutoffs, return_inverse=True)[1].ravel()]
            first, which = distinct_rows([things, *ranks], len(things))
            part = KeySet(
                next(self._serials),
                {x: things[first]},
                None if cutoffs is None else cutoffs[first],
                len(first),
            )
            known = keyset.parts[key] = part, Table(lead.row, {x: which}, None, lead.number)
        part, lead = known
        groups = self._groups(part, body[place:], asked)
        starts = np.searchsorted(groups.row, np.arange(part.size + 1))
        first, end = starts[lead.columns[x]], starts[lead.columns[x] + 1]
        self._check(int((end - first).sum()), len(asked.variables) + 3)
        rows, facts = _ranges(first, end)
        numbers = None
        for number in (None if lead.number is None else lead.number[rows], _at(groups.number, facts)):
            if number is not None:
                numbers = number if numbers is None else numbers * number
        columns = {variable: groups.columns[variable][facts] for variable in asked.variables}
        joined = Table(lead.row[rows], columns, _at(groups.times, facts), numbers)
        return _grouped(joined, asked.variables, asked.times)

    def _find(
        self, table: Table, step: Step, known: set[int], cutoffs: Floats | None
    ) -> tuple[Integers, Integers, FactSlices] | None:
        """The slice of facts of a step's atom for each row; None for a comparison."""
        atom = atom_in(step)
        if atom is None:
            return None
        bound = [term for term in dict.fromkeys(atom.args) if isinstance(term, int) and term in known]
        slices = self._slices_of(atom, bound)
        limits = Limits()
        if isinstance(step, Recent):
            unit = DAY if self.days else 1.0
            limits = Limits(step.last, None if step.within is None else step.within * unit)
        at = None if cutoffs is None else cutoffs[table.row]
        values = [table.columns[variable] for variable in bound]
        return *slices.find(values, at, len(table.row), limits), slices

    def _slices_of(self, atom: Atom, bound: list[int]) -> FactSlices:
        names = {
            term: place
            for place, term in enumerate(t for t in dict.fromkeys(atom.args) if isinstance(t, int))
        }
        key = (
            atom.predicate,
            tuple(names[t] if isinstance(t, int) else t for t in atom.args),
            tuple(names[v] for v in bound),
        )
        slices = self._slices.get(key)
        if slices is None:
            slices = self._slices[key] = slices_of(self.facts, atom, bound)
        return slices

    def _expand(
        self,
        table: Table,
        step: Step,
        known: set[int],
        found: tuple[Integers, Integers, FactSlices],
        times: bool,
    ) -> Table:
        first, end, slices = found
        rows, facts = _ranges(first, end)
        new = new_variables_of(step, known)
        columns = {variable: column[rows] for variable, column in table.columns.items()}
        columns |= {v: column[facts] for v, column in zip(new, slices.columns, strict=True)}
        kept = None
        if times:
            kept = slices.times[facts] if slices.times is not None else _at(table.times, rows)
        return Table(table.row[rows], columns, kept, _at(table.number, rows))

    def _filter(
        self, table: Table, step: Step, known: set[int], given: tuple[Floats | None, Mapping[int, str]]
    ) -> Table:
        """Apply a step that adds no rows: a comparison, a negated atom, or a number of facts."""
        cutoffs, types = given
        if isinstance(step, NumberOf):
            found = self._find(table, step, known, cutoffs)
            assert found is not None
            return Table(
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
        return Table(table.row[keep], columns, _at(table.times, keep), _at(table.number, keep))

    def _check(self, rows: int, columns: int) -> None:
        if rows * columns > self.most_rows * 8:
            raise TooLargeError(rows)

    # --- answers ---------------------------------------------------------------------------------

    def _spread(self, table: Table, asked: Asked, which: Integers) -> Tally:
        """The tally of the examples, from the groups of their distinct keys."""
        size = int(which.max(initial=-1)) + 1
        starts = np.searchsorted(table.row, np.arange(size + 1))
        rows, groups = _ranges(starts[which], starts[which + 1])
        columns = [
            self._values(asked.types[variable], table.columns[variable][groups])
            for variable in asked.variables
        ]
        assert table.number is not None
        return Tally(rows, tuple(columns), table.number[groups].astype(np.int64), _at(table.times, groups))

    def _values(self, type_name: str, codes: Integers) -> npt.NDArray[Any]:
        """The values of numeric constants or of numbers of facts; the codes of other constants."""
        if type_name == NUMBER_OF_FACTS:
            return codes.astype(np.float64)
        if type_name in self.database.schema.numeric:
            # An unknown constant has no value, so it is on neither side of a threshold.
            return np.where(codes < 0, np.nan, np.append(self.database.numbers[type_name], np.nan)[codes])
        return codes


def _single_source(rest: Body, wanted: tuple[int, ...], known: set[int]) -> int | None:
    """The only known variable that the rest of a body and the wanted variables need, if there is one."""
    needed = {variable for step in rest for variable in step_variables(step) if variable in known}
    needed |= {variable for variable in wanted if variable in known}
    return needed.pop() if len(needed) == 1 else None


def _grouped(table: Table, wanted: tuple[int, ...], times: bool) -> Table:
    """The table with one row for each distinct key and wanted values, sorted."""
    columns: list[Integers] = [table.row, *(table.columns[variable] for variable in wanted)]
    moments = None
    if times:
        at = table.times if table.times is not None else np.full(len(table.row), -np.inf)
        moments, ranks = np.unique(at, return_inverse=True)
        columns.append(ranks.ravel())
    numbers = row_numbers(columns, len(table.row))
    order = np.argsort(numbers, kind="stable")
    starts = run_starts(numbers[order])
    first = order[starts]
    if table.number is None:
        number: Integers = np.diff(starts, append=len(order))
    else:
        number = np.add.reduceat(table.number[order], starts) if len(starts) else table.number[:0]
    return Table(
        table.row[first],
        {variable: table.columns[variable][first] for variable in wanted},
        None if moments is None else moments[columns[-1][first]],
        number,
    )


def _ranges(first: Integers, end: Integers) -> tuple[Integers, Integers]:
    """For slices from ``first`` to ``end``: the number of the slice, and each position in it."""
    lengths = end - first
    rows = np.repeat(np.arange(len(first)), lengths)
    before = np.cumsum(lengths) - lengths
    return rows, np.arange(len(rows)) + np.repeat(first - before, lengths)


def _at(array: npt.NDArray[Any] | None, places: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    return None if array is None else array[places]
