"""Relational aggregates: one number for each example, made of the facts along a path of literals.

A path is a body whose literals hang together: the first touches the example, each further one a free
variable of those before it. Of a path we count the groundings; where it has several free variables, the
distinct values of each; and of a free variable of a numeric type the mean, least and greatest value
over the groundings. Counts come from the engine. Values of one variable are not counts: they come from
joining the facts, each path within a budget of memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import UNKNOWN, Codes, Database
from hornbeam.data.rows import Integers, distinct_rows, fold, row_numbers, unfold
from hornbeam.engines.holding import Truth
from hornbeam.learning.trees.trees import body_text
from hornbeam.logic.canonical import canonical
from hornbeam.logic.clauses import Atom, Clause, atoms_of, literal_variables
from hornbeam.logic.refine import Language, additions
from hornbeam.logic.text import variable_name
from hornbeam.model.clause_model import Floats
from hornbeam.model.explain import about

COUNT, DISTINCT, MEAN, LEAST, GREATEST = "count", "distinct", "mean", "min", "max"
OF_NUMBERS = (MEAN, LEAST, GREATEST)
KINDS = (COUNT, DISTINCT, *OF_NUMBERS)
BYTES_PER_ROW = 64
"""Of a join: its columns, their order, and the copies made on the way."""


class Aggregate(NamedTuple):
    """What is made of the groundings of a path, and for all but counts, of which variable.

    >>> path = Clause(Atom("happy", (0,)), (Atom("rated", (0, 1, 2)),))
    >>> print(Aggregate(COUNT, path), "/", Aggregate(MEAN, path, 2))
    count rated(A,B,C) / mean C of rated(A,B,C)
    """

    kind: str
    path: Clause
    variable: int | None = None

    def __str__(self) -> str:
        of = "" if self.variable is None else f" {variable_name(self.variable)} of"
        return f"{self.kind}{of} {body_text(self.path.body)}"

    def about(self, key: tuple[str, ...]) -> str:
        """The same with an example's names in place of the head's variables."""
        of = "" if self.variable is None else f" {variable_name(self.variable)} of"
        return f"{self.kind}{of} {about(self.path.body, key)}"


def paths(language: Language, longest: int) -> list[Clause]:
    """Every path of up to so many literals that the modes allow, the shorter first."""
    arity = len(language.head.args)
    found: dict[Clause, None] = {}
    grown = [language.empty()]
    for _ in range(longest):
        longer: dict[Clause, None] = {}
        for path in grown:
            start = set(path.free_variables()) if path.body else set(range(arity))
            present = set(path.body)
            for addition in additions(path, language):
                (literal, *more) = addition
                if not more and literal not in present and not start.isdisjoint(literal_variables(literal)):
                    longer[canonical(Clause(path.head, (*path.body, literal)))] = None
        found |= longer
        grown = list(longer)
    return list(found)


def aggregates(path: Clause, language: Language) -> Iterator[Aggregate]:
    """Everything that is made of a path."""
    yield Aggregate(COUNT, path)
    free = path.free_variables()
    types = language.schema.variable_types(path)
    for variable in free:
        if len(free) > 1:
            yield Aggregate(DISTINCT, path, variable)
        if types[variable] in language.schema.numeric:
            for kind in OF_NUMBERS:
                yield Aggregate(kind, path, variable)


# --- values ---------------------------------------------------------------------------------------


class TooLargeError(Exception):
    """A join for one example that would take more rows than the budget allows."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.rows = rows


class Joiner:
    """Values of the variables of paths for fixed examples, by joining the facts."""

    def __init__(self, database: Database, keys: Codes, memory: int) -> None:
        self.database = database
        self.keys = keys
        self.most_rows = max(1, memory // BYTES_PER_ROW)
        self._bindings: dict[tuple[int, ...], tuple[Codes, Integers]] = {}

    def columns(self, path: Clause, wanted: Sequence[Aggregate]) -> list[Floats]:
        """Aggregates of one path that are no counts, for each example; NaN where there is no value."""
        heads = tuple(sorted(v for v in _variables(path) if v < len(path.head.args)))
        # A cut-off is one more column of keys: examples that differ in it have other facts.
        cut = self.database.cutoffs_of(path.head.predicate, self.keys) is not None
        bindings, inverse = self._distinct_bindings((*heads, len(path.head.args)) if cut else heads)
        parts = [
            self._aggregated(path, wanted, heads, bindings[start : start + _BINDINGS])
            for start in range(0, len(bindings), _BINDINGS)
        ]
        found = np.concatenate(parts, axis=1) if parts else np.empty((len(wanted), 0))
        return list(found[:, inverse])

    def _distinct_bindings(self, places: tuple[int, ...]) -> tuple[Codes, Integers]:
        """What examples have in some columns of their keys, each once, and which example has which."""
        if places not in self._bindings:
            columns = [self.keys[:, place] for place in places]
            first, inverse = distinct_rows(columns, len(self.keys))
            self._bindings[places] = (self.keys[first][:, list(places)], inverse)
        return self._bindings[places]

    def _aggregated(
        self, path: Clause, wanted: Sequence[Aggregate], heads: Sequence[int], bindings: Codes
    ) -> Floats:
        """One row for each aggregate, one column for each binding."""
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
        """The groundings of a path: for each the binding it belongs to, and the values of its variables."""
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
        """The facts that agree with an atom's constants and repeated variables, a column per variable."""
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
    """Mean, least or greatest of the numbers of each owner; owners come in order."""
    result = np.full(size, np.nan)
    present, first = np.unique(owner, return_index=True)
    if len(present) and kind == MEAN:
        sums = np.add.reduceat(numbers * groundings, first)
        result[present] = sums / np.add.reduceat(groundings, first)
    elif len(present):
        result[present] = (np.minimum if kind == LEAST else np.maximum).reduceat(numbers, first)
    return result


def _matches(left: dict[int, Integers], right: dict[int, Integers], most: int) -> tuple[Integers, Integers]:
    """Positions of the pairs of rows that agree in the variables that both have."""
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
