"""Joins of cores, the literals that cannot be summed out, on the bindings of the examples.

A table of partial bindings grows by one variable (or one atom) at a time, always by the cheapest
step; two atoms that lead to the same new variable are intersected row by row. Variables that are no
longer needed are summed out, which keeps the table small. A step that would make more rows than fit
the budget is done in pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hornbeam.data.rows import Integers, count_rows, run_starts
from hornbeam.engines.clauses.contract import narrowest
from hornbeam.engines.clauses.plan import Core
from hornbeam.engines.clauses.vectors.products import multiplied_through
from hornbeam.engines.clauses.vectors.vectors import RefusedError, Weight, float_bound
from hornbeam.engines.contract import INT64_MAX
from hornbeam.engines.memory.indexes import FactIndexes
from hornbeam.logic.clauses import Atom, literal_variables

CHUNK_SHARE = 128
CHUNK_ROWS = 1 << 18
"""A step visits at most budget / CHUNK_SHARE facts at a time, and at most CHUNK_ROWS, which fit the cache."""
AGGREGATE_FROM = 1 << 10
"""Unneeded variables are summed out only in tables of at least this many rows: it needs a sort."""


@dataclass(frozen=True, slots=True, eq=False)
class BindingTable:
    """Partial bindings: the original row of each, the values of its variables, its number of ways."""

    row: Integers
    columns: dict[int, Integers]
    times: Integers | None

    def __len__(self) -> int:
        return len(self.row)

    def take(self, places: Integers) -> BindingTable:
        return BindingTable(
            self.row[places],
            {variable: column[places] for variable, column in self.columns.items()},
            None if self.times is None else self.times[places],
        )

    def scaled(self, factor: Integers | None) -> BindingTable:
        """The same bindings with their ways multiplied by ``factor``; refused beyond int64."""
        if factor is None:
            return self
        if self.times is None:
            return replace(self, times=factor.astype(np.int64))
        bound = int(self.times.max(initial=0)) * int(factor.max(initial=0))
        if bound > INT64_MAX:
            float_bound(self.times.astype(np.float64) * factor)
        return replace(self, times=self.times * factor.astype(np.int64))


@dataclass(frozen=True, slots=True)
class _Step:
    """A possible next step: bind the ``new`` variables by ``atoms``, visiting ``cost`` facts."""

    cost: int
    atoms: tuple[Atom, ...]
    new: tuple[int, ...]
    degrees: Integers


class Join:
    """Joins one core for given bindings; counts the partial bindings it visits."""

    def __init__(
        self,
        facts: FactIndexes,
        core: Core,
        weights: tuple[Weight, ...],
        keep: frozenset[int],
        memory: int,
        most: int | None = None,
    ) -> None:
        """A join that visits more than ``most`` partial bindings is refused; None: there is no such limit."""
        self.facts = facts
        self.atoms, self.weights = multiplied_through(facts, core, weights, keep)
        self.keep = keep
        self.memory = memory
        self.most = most
        self.visited = 0
        self.chunk = max(min(memory // CHUNK_SHARE, CHUNK_ROWS), 1)
        self.sizes = {
            variable: facts.size(atom, variable) + 1
            for atom in self.atoms
            for variable in literal_variables(atom)
        }

    def run(self, bindings: Sequence[Integers]) -> BindingTable:
        """The distinct bindings of the variables to keep, sorted by original row, with multiplicities."""
        columns = dict(enumerate(bindings))
        rows = self._possible(columns, len(bindings[0]))
        if len(rows) < len(bindings[0]):
            columns = {variable: column[rows] for variable, column in columns.items()}
        return self._grow(BindingTable(rows, columns, None), self.atoms, self.weights)

    def _possible(self, columns: Mapping[int, Integers], length: int) -> Integers:
        """The rows of bindings each of whose values is in some fact of every atom with its variable."""
        there = np.ones(length, dtype=bool)
        for variable, column in columns.items():
            degrees = [self.facts.degrees(atom, variable) for atom in self.atoms if variable in atom.args]
            if degrees:
                there &= np.logical_and.reduce([each != 0 for each in degrees])[column]
        return np.flatnonzero(there)

    def _grow(
        self, table: BindingTable, atoms: tuple[Atom, ...], weights: tuple[Weight, ...]
    ) -> BindingTable:
        while True:
            table, atoms, weights = self._settle(table, atoms, weights)
            if not atoms:
                return table
            step = self._cheapest(table, atoms, weights)
            self._visit(step.cost)
            atoms = tuple(atom for atom in atoms if atom not in step.atoms)
            if step.cost > self.chunk and len(table) > 1:
                pieces = [
                    self._grow(self._extend(part, cut), atoms, weights)
                    for part, cut in self._pieces(table, step)
                ]
                return self._dropped(_concatenated(pieces), (), ())
            table = self._extend(table, step)

    def _settle(
        self, table: BindingTable, atoms: tuple[Atom, ...], weights: tuple[Weight, ...]
    ) -> tuple[BindingTable, tuple[Atom, ...], tuple[Weight, ...]]:
        """Apply every weight and atom whose variables are bound; drop variables that are no longer needed."""
        later = []
        for weight in weights:
            if all(variable in table.columns for variable in weight.variables):
                factor = weight.of(table.columns)
                there = np.flatnonzero(factor != 0)
                table = table.take(there).scaled(factor[there])
            else:
                later.append(weight)
        weights = tuple(later)
        unbound = []
        for atom in atoms:
            bound, new = self._needed(table, atom, atoms, weights)
            if new:
                unbound.append(atom)
            else:
                lookup = self.facts.lookup(atom, bound, ())
                first, matches = lookup.find([table.columns[variable] for variable in bound])
                places = np.flatnonzero(matches != 0)
                table = table.take(places)
                if lookup.times is not None:
                    table = table.scaled(lookup.times[first[places]])
        return self._dropped(table, tuple(unbound), weights), tuple(unbound), weights

    def _visit(self, cost: int) -> None:
        self.visited += cost
        if self.most is not None and self.visited > self.most:
            raise RefusedError("its table is too large to cache", self.visited, self.most)

    def _pieces(self, table: BindingTable, step: _Step) -> Iterator[tuple[BindingTable, _Step]]:
        """Split the table and a step into pieces that each visit about as many facts as fit the budget."""
        piece = np.cumsum(step.degrees, dtype=np.int64) // self.chunk
        edges = np.flatnonzero(np.diff(piece, prepend=-1, append=piece[-1] + 1))
        for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            yield table.take(np.arange(first, last)), replace(step, degrees=step.degrees[first:last])

    def _needed(
        self, table: BindingTable, atom: Atom, atoms: tuple[Atom, ...], weights: tuple[Weight, ...]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The bound variables of an atom, and its new variables that are needed elsewhere."""
        own = literal_variables(atom)
        bound = tuple(variable for variable in own if variable in table.columns)
        new = tuple(
            variable
            for variable in own
            if variable not in table.columns
            and (
                variable in self.keep
                or any(variable in weight.variables for weight in weights)
                or any(variable in other.args for other in atoms if other is not atom)
            )
        )
        return bound, new

    def _cheapest(self, table: BindingTable, atoms: tuple[Atom, ...], weights: tuple[Weight, ...]) -> _Step:
        steps: list[_Step] = []
        by_new: dict[int, list[tuple[Atom, int, Integers]]] = {}
        for atom in atoms:
            bound, new = self._needed(table, atom, atoms, weights)
            if not bound:
                continue
            if len(bound) == 1 and len(new) == 1:
                degrees = self.facts.links(atom, bound[0], new[0]).degrees(table.columns[bound[0]])
                by_new.setdefault(new[0], []).append((atom, bound[0], degrees))
            else:
                lookup = self.facts.lookup(atom, bound, new)
                degrees = lookup.find([table.columns[variable] for variable in bound])[1]
            steps.append(_Step(int(degrees.sum(dtype=np.int64)), (atom,), new, degrees))
        for new_variable, ways in by_new.items():
            if len(ways) > 1:
                ways.sort(key=lambda way: int(way[2].sum(dtype=np.int64)))
                (one, _, few), (two, _, more) = ways[:2]
                both = few.astype(np.int64) + more
                steps.append(_Step(int(both.sum()), (one, two), (new_variable,), both))
        # An intersection reads both sides but leaves few rows, so it is preferred to one side alone.
        return min(steps, key=lambda step: step.cost if len(step.atoms) == 1 else step.cost / 8)

    def _extend(self, table: BindingTable, step: _Step) -> BindingTable:
        if len(step.atoms) == 2:
            return self._intersect(table, step)
        (atom,) = step.atoms
        own = literal_variables(atom)
        bound = tuple(variable for variable in own if variable in table.columns)
        repeat = np.repeat(np.arange(len(table)), step.degrees)
        within = np.arange(len(repeat)) - np.repeat(np.cumsum(step.degrees) - step.degrees, step.degrees)
        if len(bound) == 1 and len(step.new) == 1:
            links = self.facts.links(atom, bound[0], step.new[0])
            places = links.starts[table.columns[bound[0]]][repeat] + within
            columns: tuple[Integers, ...] = (links.ends[places],)
            times = links.times
        else:
            lookup = self.facts.lookup(atom, bound, step.new)
            first, _ = lookup.find([table.columns[variable] for variable in bound])
            places = first[repeat] + within
            columns = tuple(column[places] for column in lookup.columns)
            times = lookup.times
        longer = table.take(repeat)
        longer.columns.update(zip(step.new, columns, strict=True))
        return longer.scaled(None if times is None else times[places])

    def _intersect(self, table: BindingTable, step: _Step) -> BindingTable:
        """For each binding, the values of the new variable that both atoms have."""
        (new,) = step.new
        sides = []
        plain = True
        for atom in step.atoms:
            (bound,) = (v for v in literal_variables(atom) if v in table.columns)
            links = self.facts.links(atom, bound, new)
            plain = plain and links.times is None
            sides.append((links, table.columns[bound]))
        dtype = np.int8 if plain else np.int64
        one, two = (links.matrix(dtype).take(codes) for links, codes in sides)
        common = one.times_each(two)
        longer = table.take(np.repeat(np.arange(len(table)), np.diff(common.starts)))
        longer.columns[new] = common.ends
        return longer if plain else longer.scaled(common.entries)

    def _dropped(
        self, table: BindingTable, atoms: tuple[Atom, ...], weights: tuple[Weight, ...]
    ) -> BindingTable:
        """The table without variables that are no longer needed, and with equal bindings merged."""
        needed = self.keep.union(*(atom.args for atom in atoms), *(weight.variables for weight in weights))
        columns = {v: column for v, column in table.columns.items() if v in needed}
        if len(columns) == len(table.columns) and atoms:
            return table
        table = replace(table, columns=columns)
        return table if atoms and len(table) < AGGREGATE_FROM else self._merged(table)

    def _merged(self, table: BindingTable) -> BindingTable:
        """Merge equal bindings of a row and add up their ways."""
        if len(table) == 0:
            return table
        variables = list(table.columns)
        if not variables and bool(np.all(np.diff(table.row) > 0)):
            return table
        keys = [table.row, *(table.columns[variable] for variable in variables)]
        spans = [int(table.row[-1]) + 1, *(self.sizes[variable] for variable in variables)]
        if table.times is not None and int(table.times.max()) * len(table) > INT64_MAX:
            float_bound(np.bincount(table.row, weights=table.times))
        first, times = count_rows(keys, spans, table.times)
        return replace(replace(table, times=None).take(first), times=None if times.max() == 1 else times)


def _concatenated(tables: Sequence[BindingTable]) -> BindingTable:
    row = np.concatenate([table.row for table in tables])
    columns = {
        variable: np.concatenate([table.columns[variable] for table in tables])
        for variable in tables[0].columns
    }
    if all(table.times is None for table in tables):
        return BindingTable(row, columns, None)
    times = np.concatenate(
        [np.ones(len(table), dtype=np.int64) if table.times is None else table.times for table in tables]
    )
    return BindingTable(row, columns, times)


def row_sums(table: BindingTable, rows: int, weights: Sequence[Weight]) -> Integers:
    """For each original row, the sum over its bindings of ways times weights."""
    for weight in weights:
        table = table.scaled(weight.of(table.columns))
    starts = run_starts(table.row)
    if table.times is None:
        sums: Integers = np.diff(starts, append=len(table))
    else:
        bound = int(table.times.max(initial=0)) * len(table)
        if bound > INT64_MAX:
            float_bound(np.bincount(table.row, weights=table.times, minlength=rows))
        sums = np.add.reduceat(table.times, starts) if len(table) else starts
    values = np.zeros(rows, dtype=narrowest(int(sums.max(initial=0))))
    values[table.row[starts]] = sums
    return values
