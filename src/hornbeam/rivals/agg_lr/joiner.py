"""Aggregates of the values of a variable, from joins of the facts along a path.

Counts come from the engine. The values of one variable do not: here the facts along the path are joined,
within a budget of memory for each path.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.data.database import UNKNOWN, Codes, Database
from hornbeam.data.rows import Integers, distinct_rows, fold, row_numbers, unfold
from hornbeam.engines.clauses.counting.holding import Truth
from hornbeam.logic.clauses import Atom, Clause, atoms_of, literal_variables
from hornbeam.model.clause_model import Floats
from hornbeam.rivals.agg_lr.aggregates import DISTINCT, LEAST, MEAN, Aggregate

BYTES_PER_ROW = 64
"""Memory for one row of a join: its columns, their order, and temporary copies."""


class TooLargeError(Exception):
    """The join for a single example has more rows than the budget allows."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.rows = rows


class Joiner:
    """Computes aggregates of values for a fixed list of examples."""

    def __init__(self, database: Database, keys: Codes, memory: int) -> None:
        self.database = database
        self.keys = keys
        self.most_rows = max(1, memory // BYTES_PER_ROW)
        self._bindings: dict[tuple[int, ...], tuple[Codes, Integers]] = {}

    def columns(self, path: Clause, wanted: Sequence[Aggregate]) -> list[Floats]:
        """The values of aggregates of one path, other than counts, for each example; NaN means no value."""
        heads = tuple(sorted(v for v in _variables(path) if v < len(path.head.args)))
        # A cut-off is one more column of the keys: examples with different cut-offs have different facts.
        cut = self.database.cutoffs_of(path.head.predicate, self.keys) is not None
        bindings, inverse = self._distinct_bindings((*heads, len(path.head.args)) if cut else heads)
        parts = [
            self._aggregated(path, wanted, heads, bindings[start : start + _BINDINGS])
            for start in range(0, len(bindings), _BINDINGS)
        ]
        values = np.concatenate(parts, axis=1) if parts else np.empty((len(wanted), 0))
        return list(values[:, inverse])

    def _distinct_bindings(self, places: tuple[int, ...]) -> tuple[Codes, Integers]:
        """The distinct rows of some columns of the keys, and for each example the row it has."""
        if places not in self._bindings:
            columns = [self.keys[:, place] for place in places]
            first, inverse = distinct_rows(columns, len(self.keys))
            self._bindings[places] = (self.keys[first][:, list(places)], inverse)
        return self._bindings[places]

    def _aggregated(
        self, path: Clause, wanted: Sequence[Aggregate], heads: Sequence[int], bindings: Codes
    ) -> Floats:
        """A matrix with a row for each aggregate and a column for each binding."""
        try:
            binding, columns = self._joined(path, heads, bindings)
        except TooLargeError:
            if len(bindings) == 1:
                raise
            halves = np.array_split(bindings, 2)
            return np.concatenate([self._aggregated(path, wanted, heads, half) for half in halves], axis=1)
        types = self.database.schema.variable_types(path)
        result = np.empty((len(wanted), len(bindings)))
        for row, (kind, _, variable) in zip(result, wanted, strict=True):
            assert variable is not None
            size = len(self.database.population(types[variable])) + 1
            sizes = (len(bindings), size)
            pairs, groundings = np.unique(fold((binding, columns[variable]), sizes)[0], return_counts=True)
            owner, value = unfold(pairs, sizes)
            if kind == DISTINCT:
                row[:] = np.bincount(owner, minlength=len(bindings))
            else:
                numbers = self.database.numbers[types[variable]][value]
                row[:] = _of_numbers(kind, owner, numbers, groundings, len(bindings))
        return result

    def _joined(
        self, path: Clause, heads: Sequence[int], bindings: Codes
    ) -> tuple[Integers, dict[int, Integers]]:
        """The groundings of a path: the binding that each belongs to, and the values of their variables."""
        binding = np.flatnonzero((bindings[:, : len(heads)] != UNKNOWN).all(axis=1))
        columns = {head: bindings[binding, at].astype(np.int64) for at, head in enumerate(heads)}
        last = None
        if bindings.shape[1] > len(heads):
            last = np.concatenate(([-np.inf], self.database.moments))[bindings[:, -1]]
        for atom in atoms_of(path.body):
            chosen, rows = self._rows(atom)
            left, right = _matches(columns, rows, self.most_rows)
            if last is not None and atom.predicate in self.database.times:
                there = self.database.times[atom.predicate][chosen][right] <= last[binding[left]]
                left, right = left[there], right[there]
            added = {v: column[right] for v, column in rows.items() if v not in columns}
            columns = {v: column[left] for v, column in columns.items()} | added
            binding = binding[left]
        return binding, columns

    def _rows(self, atom: Atom) -> tuple[Truth, dict[int, Integers]]:
        """The facts that match an atom's constants and repeated variables, with a column per variable."""
        columns = self.database.relation(atom.predicate).columns
        types = self.database.schema.types_of(atom.predicate)
        rows = np.ones(len(columns[0]), dtype=np.bool_)
        places: dict[int, int] = {}
        for position, (term, type_name) in enumerate(zip(atom.args, types, strict=True)):
            if isinstance(term, str):
                rows &= columns[position] == self.database.population(type_name).code(term)
            elif places.setdefault(term, position) != position:
                rows &= columns[position] == columns[places[term]]
        return rows, {variable: columns[at][rows].astype(np.int64) for variable, at in places.items()}


_BINDINGS = 1 << 16
"""Bindings joined at a time."""


def _variables(path: Clause) -> set[int]:
    return {variable for literal in path.body for variable in literal_variables(literal)}


def _of_numbers(kind: str, owner: Integers, numbers: Floats, groundings: Integers, size: int) -> Floats:
    """The mean, least or greatest number of each owner; owners are sorted."""
    result = np.full(size, np.nan)
    present, first = np.unique(owner, return_index=True)
    if len(present) and kind == MEAN:
        sums = np.add.reduceat(numbers * groundings, first)
        result[present] = sums / np.add.reduceat(groundings, first)
    elif len(present):
        result[present] = (np.minimum if kind == LEAST else np.maximum).reduceat(numbers, first)
    return result


def _matches(left: dict[int, Integers], right: dict[int, Integers], most: int) -> tuple[Integers, Integers]:
    """The places of all pairs of rows that agree in the variables that both sides have."""
    size = len(next(iter(left.values())))
    shared = sorted(left.keys() & right.keys())
    both = [np.concatenate([left[variable], right[variable]]) for variable in shared]
    keys = row_numbers(both, size + len(next(iter(right.values()))))
    order = np.argsort(keys[size:], kind="stable")
    ordered = keys[size:][order]
    start = np.searchsorted(ordered, keys[:size], side="left")
    lengths = np.searchsorted(ordered, keys[:size], side="right") - start
    rows = int(lengths.sum())
    if rows > most:
        raise TooLargeError(rows)
    at_left = np.repeat(np.arange(size), lengths)
    within = np.arange(rows) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return at_left, order[np.repeat(start, lengths) + within]
