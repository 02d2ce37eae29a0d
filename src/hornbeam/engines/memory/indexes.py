"""Indexes over the facts, made at first use and cached: facts of atoms, links, lookups.

The *facts of an atom* match its constants and repeated variables; they have a column per variable.
*Links* lead from the values of one variable to those of another (a sparse matrix). A *lookup* finds
the facts of an atom by the values of several variables.

Codes run from 0 to size-1; the code ``size`` stands for a constant without facts, so every index
has one more, empty, element at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNKNOWN, Codes, Database
from hornbeam.data.numbers import Floats
from hornbeam.data.rows import Folds, Integers, count_rows, fold, probe, run_starts, unfold
from hornbeam.data.sparse import Matrix, by_row
from hornbeam.logic.clauses import Atom, literal_variables

DENSE_KEYS = 1 << 22
"""A lookup is an array over all possible keys if there are at most this many."""


@dataclass(frozen=True, slots=True, eq=False)
class AtomFacts:
    """Facts that match an atom's constants and repeated variables; rows distinct and sorted."""

    columns: tuple[Codes, ...]
    sizes: tuple[int, ...]
    rows: int
    times: Integers | None = None
    """how often each row counts (None: once); only a product of links has it"""
    since: Floats | None = None
    """the time from which each row is a fact; None: always"""


@dataclass(slots=True, eq=False)
class Links:
    """Links from values of one variable to values of another; ``times`` is the number of ways (None: 1)."""

    starts: Codes
    ends: Codes
    times: Integers | None
    shape: tuple[int, int]
    _matrices: dict[type[np.generic], Matrix]
    _widest: int = -1

    @property
    def widest(self) -> int:
        """The largest number of ways from any value."""
        if self._widest < 0:
            if self.times is None:
                self._widest = int(np.diff(self.starts).max(initial=0))
            else:
                self._widest = int((self.matrix(np.int64) @ np.ones(self.shape[1], dtype=np.int64)).max())
        return self._widest

    def degrees(self, codes: Integers) -> Integers:
        """The number of links of each of these values."""
        degrees: Integers = self.starts[codes + 1] - self.starts[codes]
        return degrees

    def matrix(self, dtype: type[np.generic]) -> Matrix:
        """The links as a matrix; matrices without multiplicities share one array of ones."""
        matrix = self._matrices.get(dtype)
        if matrix is None:
            entries = _ones(dtype, len(self.ends)) if self.times is None else self.times.astype(dtype)
            matrix = self._matrices[dtype] = Matrix(self.starts, self.ends, entries, self.shape)
        return matrix


_ONES: dict[type[np.generic], npt.NDArray[Any]] = {}


def _ones(dtype: type[np.generic], length: int) -> npt.NDArray[Any]:
    ones = _ONES.get(dtype)
    if ones is None or len(ones) < length:
        ones = _ONES[dtype] = np.ones(length, dtype=dtype)
    return ones[:length]


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """The facts of an atom by the values of key variables: the other columns, and multiplicities."""

    folds: Folds
    keys: Integers | None
    """the distinct keys, sorted; None if ``starts`` has an element for every possible key"""
    starts: Integers
    columns: tuple[Codes, ...]
    times: Integers | None

    def find(self, values: Sequence[Integers]) -> tuple[Integers, Integers]:
        """The first row and the number of rows for each tuple of key values."""
        keys = probe(values, self.folds)
        if self.keys is None:
            place = keys
        elif len(self.keys) == 0:
            return np.zeros_like(keys), np.zeros_like(keys)
        else:
            place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        first = self.starts[place]
        number = self.starts[place + 1] - first
        if self.keys is not None:
            number[self.keys[place] != keys] = 0
        return first, number


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The distinct values of an atom's first variables, and the group of each of its facts."""

    folds: Folds
    keys: Integers
    of_row: Integers

    def codes(self, values: Sequence[Integers]) -> Integers:
        """The group of each tuple of values; ``len(keys)`` if the tuple is in no group."""
        if len(self.keys) == 0:
            return np.zeros(len(values[0]), dtype=np.int32)
        keys = probe(values, self.folds)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, place, len(self.keys)).astype(np.int32)


class FactIndexes:
    """The indexes of one database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._of_atoms: dict[tuple[object, ...], AtomFacts] = {}
        self._links: dict[tuple[object, ...], Links] = {}
        self._degrees: dict[tuple[object, ...], Integers] = {}
        self._lookups: dict[tuple[object, ...], Lookup] = {}
        self._groups: dict[tuple[object, ...], Groups] = {}
        self._matches: dict[tuple[object, ...], Integers] = {}
        self._stand_ins: dict[object, str] = {}
        self.computed = 0
        """bytes of the facts of stand-in predicates"""
        self._orders: dict[tuple[str, int], tuple[Integers, Integers]] = {}

    def size(self, atom: Atom, variable: int) -> int:
        """The population of the variable's type."""
        matching, order = self.of_atom(atom)
        return matching.sizes[order.index(variable)]

    def of_atom(self, atom: Atom) -> tuple[AtomFacts, tuple[int, ...]]:
        """The facts of an atom, and the variable of each of their columns."""
        order = literal_variables(atom)
        key = _pattern(atom, order)
        matching = self._of_atoms.get(key)
        if matching is None:
            matching = self._of_atoms[key] = self._select(atom, order)
        return matching, order

    def column(self, atom: Atom, variable: int) -> Codes:
        matching, order = self.of_atom(atom)
        return matching.columns[order.index(variable)]

    def degrees(self, atom: Atom, variable: int) -> Integers:
        """The number of facts of an atom with each value of a variable; the last, for no constant, is 0."""
        matching, order = self.of_atom(atom)
        place = order.index(variable)
        key = (_pattern(atom, order), place)
        degrees = self._degrees.get(key)
        if degrees is None:
            degrees = np.bincount(matching.columns[place], minlength=matching.sizes[place] + 1).astype(
                np.int32
            )
            self._degrees[key] = degrees
        return degrees

    def links(self, atom: Atom, source: int, target: int) -> Links:
        """Links from one variable of an atom to another; the other variables are summed out."""
        matching, order = self.of_atom(atom)
        i, j = order.index(source), order.index(target)
        key = (_pattern(atom, order), i, j)
        links = self._links.get(key)
        if links is None:
            links = self._links[key] = _make_links(matching, i, j)
        return links

    def lookup(self, atom: Atom, keys: tuple[int, ...], others: tuple[int, ...]) -> Lookup:
        """The facts of an atom by key variables; variables in neither list are summed out."""
        matching, order = self.of_atom(atom)
        by = tuple(order.index(variable) for variable in keys)
        rest = tuple(order.index(variable) for variable in others)
        key = (_pattern(atom, order), by, rest)
        lookup = self._lookups.get(key)
        if lookup is None:
            lookup = self._lookups[key] = _make_lookup(matching, by, rest)
        return lookup

    def groups(self, atom: Atom, roots: int) -> Groups:
        """The distinct values of variables 0 .. roots-1 of an atom."""
        matching, order = self.of_atom(atom)
        places = tuple(order.index(variable) for variable in range(roots))
        key = (_pattern(atom, order), places)
        groups = self._groups.get(key)
        if groups is None:
            columns = [matching.columns[place] for place in places]
            keys, folds = fold(columns, [matching.sizes[place] + 1 for place in places])
            distinct, of_row = np.unique(keys, return_inverse=True)
            groups = self._groups[key] = Groups(folds, distinct, of_row.ravel().astype(np.int32))
        return groups

    def matches(self, atom: Atom, variables: tuple[int, ...], other: Atom) -> Integers:
        """For each fact of an atom, the group of the other atom with the same values of these variables."""
        matching, order = self.of_atom(atom)
        places = tuple(order.index(variable) for variable in variables)
        other_order = literal_variables(other)
        roots = tuple(other_order.index(variable) for variable in range(len(variables)))
        key = (_pattern(atom, order), places, _pattern(other, other_order), roots)
        codes = self._matches.get(key)
        if codes is None:
            groups = self.groups(other, len(variables))
            codes = self._matches[key] = groups.codes([matching.columns[place] for place in places])
        return codes

    def pattern(self, atom: Atom, *variables: int) -> tuple[object, ...]:
        """A key that identifies the facts of an atom, and the columns of variables in them."""
        order = literal_variables(atom)
        return (_pattern(atom, order), *map(order.index, variables))

    def add_stand_in(self, key: object, computed: AtomFacts) -> str:
        """A new stand-in predicate for computed facts; it is valid until ``tidy`` removes them."""
        name = self._stand_ins.setdefault(key, f"*{len(self._stand_ins)}")
        self._of_atoms[name, tuple(range(len(computed.columns)))] = computed
        self.computed += computed.rows * 16
        return name

    def stand_in(self, key: object) -> str | None:
        """The stand-in predicate for facts computed earlier, if they still exist."""
        name = self._stand_ins.get(key)
        return name if name and (name, (0, 1)) in self._of_atoms else None

    def tidy(self, budget: int) -> None:
        """Remove the facts of stand-in predicates, and the indexes over them, if they exceed a budget."""
        if self.computed <= budget:
            return
        self.computed = 0
        stand_ins = set(self._stand_ins.values())
        for pattern in [p for p in self._of_atoms if p[0] in stand_ins]:
            del self._of_atoms[pattern]
        for index in (self._links, self._lookups):
            for key in [k for k in index if k[0][0] in stand_ins]:  # type: ignore[index]
                del index[key]

    def _select(self, atom: Atom, order: tuple[int, ...]) -> AtomFacts:
        types = self.database.schema.types_of(atom.predicate)
        columns = self._columns(atom.predicate)
        codes = [
            (place, self.database.population(types[place]).code(term))
            for place, term in enumerate(atom.args)
            if isinstance(term, str)
        ]
        if any(code == UNKNOWN for _, code in codes):
            columns = [column[:0] for column in columns]
        elif codes:
            place, code = codes[0]
            columns = self._rows_with(atom.predicate, place, code)
            for place, code in codes[1:]:
                keep = columns[place] == code
                columns = [column[keep] for column in columns]
        for place, term in enumerate(atom.args):
            first = atom.args.index(term)
            if isinstance(term, int) and first < place:
                keep = columns[first] == columns[place]
                columns = [column[keep] for column in columns]
        places = [atom.args.index(variable) for variable in order]
        sizes = tuple(len(self.database.population(types[place])) for place in places)
        since = columns[-1] if atom.predicate in self.database.times else None
        return AtomFacts(tuple(columns[place] for place in places), sizes, len(columns[0]), None, since)

    def _columns(self, predicate: str) -> list[npt.NDArray[Any]]:
        """The columns of a relation; if its facts have times, these are the last column."""
        columns: list[npt.NDArray[Any]] = list(self.database.relation(predicate).columns)
        return columns + ([self.database.times[predicate]] if predicate in self.database.times else [])

    def _rows_with(self, predicate: str, place: int, code: int) -> list[npt.NDArray[Any]]:
        """The rows with a constant in one column, in their order."""
        columns = self._columns(predicate)
        if place == 0:  # rows are sorted by their first column
            first, last = np.searchsorted(columns[0], [code, code + 1])
            return [column[first:last] for column in columns]
        if (predicate, place) not in self._orders:
            order = np.argsort(columns[place], kind="stable").astype(np.int32)
            self._orders[predicate, place] = order, columns[place][order]
        order, values = self._orders[predicate, place]
        first, last = np.searchsorted(values, [code, code + 1])
        rows = order[first:last]
        return [column[rows] for column in columns]


def _pattern(atom: Atom, order: tuple[int, ...]) -> tuple[object, ...]:
    args = tuple(order.index(term) if isinstance(term, int) else term for term in atom.args)
    return (atom.predicate, args)


def _make_links(matching: AtomFacts, i: int, j: int) -> Links:
    shape = (matching.sizes[i] + 1, matching.sizes[j] + 1)
    source, target, ways = matching.columns[i], matching.columns[j], matching.times
    if len(matching.columns) > 2:
        keys, times = np.unique(fold((source, target), shape)[0], return_counts=True)
        source, target = unfold(keys, shape)
        ways = None if times.max(initial=1) == 1 else times
    elif i > j:
        # The rows are sorted by the target; the counting sort by the source keeps that order.
        matrix = by_row(source, target, _ones(np.int8, len(source)) if ways is None else ways, shape)
        return Links(matrix.starts, matrix.ends, None if ways is None else matrix.entries, shape, {})
    starts = np.zeros(shape[0] + 1, dtype=np.int32)
    np.cumsum(np.bincount(source, minlength=shape[0]), out=starts[1:])
    return Links(starts, target, ways, shape, {})


def _make_lookup(matching: AtomFacts, by: tuple[int, ...], rest: tuple[int, ...]) -> Lookup:
    columns = [matching.columns[place] for place in (*by, *rest)]
    sizes = [matching.sizes[place] + 1 for place in (*by, *rest)]
    times = matching.times
    if len(columns) < len(matching.columns):
        first, times = count_rows(columns, sizes, times)
        columns = [column[first] for column in columns]
        times = None if times.max(initial=1) == 1 else times
    keys, folds = fold(columns[: len(by)], sizes[: len(by)])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    others = tuple(column[order] for column in columns[len(by) :])
    times = None if times is None else times[order]
    span = prod(sizes[: len(by)])
    if span <= max(DENSE_KEYS, 4 * len(keys)):
        starts = np.zeros(span + 1, dtype=np.int32)
        np.cumsum(np.bincount(keys, minlength=span), out=starts[1:])
        return Lookup(folds, None, starts, others, times)
    starts = np.append(run_starts(keys), len(keys))
    return Lookup(folds, keys[starts[:-1]], starts, others, times)
