"""Indexes over the facts, made at first use and kept in the engine's cache: facts of atoms, links, lookups.

The *facts of an atom* match its constants and repeated variables; they have a column per variable.
*Links* lead from the values of one variable to those of another (a sparse matrix). A *lookup* finds
the facts of an atom by the values of several variables.

Codes run from 0 to size-1; the code ``size`` stands for a constant without facts, so every index
has one more, empty, element at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from math import prod
from typing import Any
from weakref import ref

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNKNOWN, Codes, Database
from hornbeam.data.rows import Folds, Integers, count_rows, fold, probe, run_starts, unfold
from hornbeam.data.sparse import Matrix, by_row
from hornbeam.engines.cache import CachePart
from hornbeam.engines.fact_slices import AtomFacts
from hornbeam.logic.clauses import Atom, literal_variables

DENSE_KEYS = 1 << 22
"""A lookup is an array over all possible keys if there are at most this many."""

ORDER_BYTES, ORDER_SHARE = 8, 8
"""The order of a column takes 8 bytes per fact. It is made if it takes at most this share of the budget."""


class Ones:
    """Arrays of ones, shared by all links of a database."""

    def __init__(self, cache: CachePart) -> None:
        # Links in the cache refer to this object: a reference back would keep all of them alive.
        self._cache = ref(cache)

    def __call__(self, dtype: type[np.generic], length: int) -> npt.NDArray[Any]:
        cache = self._cache()
        ones: npt.NDArray[Any] | None = None if cache is None else cache.get(dtype)
        if ones is None or len(ones) < length:
            ones = np.ones(length, dtype=dtype)
            if cache is not None:
                cache.put(dtype, ones, ones.nbytes)
        return ones[:length]


@dataclass(slots=True, eq=False)
class Links:
    """Links from values of one variable to values of another; ``times`` is the number of ways (None: 1)."""

    starts: Codes
    ends: Codes
    times: Integers | None
    shape: tuple[int, int]
    _ones: Ones
    _matrices: dict[type[np.generic], Matrix] = field(default_factory=dict)
    _widest: int = -1

    @property
    def nbytes(self) -> int:
        """The size with the multiplicities as matrices of three types."""
        return _nbytes(self.starts, self.ends, self.times, self.times, self.times, self.times)

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
        if self.times is None:
            return Matrix(self.starts, self.ends, self._ones(dtype, len(self.ends)), self.shape)
        matrix = self._matrices.get(dtype)
        if matrix is None:
            matrix = Matrix(self.starts, self.ends, self.times.astype(dtype), self.shape)
            self._matrices[dtype] = matrix
        return matrix


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """The facts of an atom by the values of key variables: the other columns, and multiplicities."""

    folds: Folds
    keys: Integers | None
    """the distinct keys, sorted; None if ``starts`` has an element for every possible key"""
    starts: Integers
    columns: tuple[Codes, ...]
    times: Integers | None

    @property
    def nbytes(self) -> int:
        return _nbytes(self.keys, self.starts, *self.columns, self.times)

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

    @property
    def nbytes(self) -> int:
        return _nbytes(self.keys, self.of_row)

    def codes(self, values: Sequence[Integers]) -> Integers:
        """The group of each tuple of values; ``len(keys)`` if the tuple is in no group."""
        if len(self.keys) == 0:
            return np.zeros(len(values[0]), dtype=np.int32)
        keys = probe(values, self.folds)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, place, len(self.keys)).astype(np.int32)


class FactIndexes:
    """The indexes of one database, in a part of the engine's cache."""

    def __init__(self, database: Database, cache: CachePart) -> None:
        self.database = database
        self._cache = cache
        self._ones = Ones(cache)
        self._stand_ins = count()
        self._in_use: dict[str, AtomFacts] = {}
        """the facts of stand-in predicates that the current join reads; no cache may drop them"""

    def size(self, atom: Atom, variable: int) -> int:
        """The population of the variable's type."""
        matching, order = self.of_atom(atom)
        return matching.sizes[order.index(variable)]

    def of_atom(self, atom: Atom) -> tuple[AtomFacts, tuple[int, ...]]:
        """The facts of an atom, and the variable of each of their columns."""
        order = literal_variables(atom)
        computed = self._in_use.get(atom.predicate)
        if computed is not None:
            return computed, order
        key = ("facts", _pattern(atom, order))
        matching = self._cache.get(key)
        if matching is None:
            matching, size = self._select(atom, order)
            self._cache.put(key, matching, size)
        return matching, order

    def column(self, atom: Atom, variable: int) -> Codes:
        matching, order = self.of_atom(atom)
        return matching.columns[order.index(variable)]

    def degrees(self, atom: Atom, variable: int) -> Integers:
        """The number of facts of an atom with each value of a variable; the last, for no constant, is 0."""
        matching, order = self.of_atom(atom)
        place = order.index(variable)

        def make() -> Integers:
            size = matching.sizes[place] + 1
            return np.bincount(matching.columns[place], minlength=size).astype(np.int32)

        return self._cache.made(("degrees", _pattern(atom, order), place), make, _nbytes)

    def links(self, atom: Atom, source: int, target: int) -> Links:
        """Links from one variable of an atom to another; the other variables are summed out."""
        matching, order = self.of_atom(atom)
        i, j = order.index(source), order.index(target)
        key = ("links", _pattern(atom, order), i, j)
        return self._cache.made(key, lambda: _make_links(matching, i, j, self._ones), _size)

    def lookup(self, atom: Atom, keys: tuple[int, ...], others: tuple[int, ...]) -> Lookup:
        """The facts of an atom by key variables; variables in neither list are summed out."""
        matching, order = self.of_atom(atom)
        by = tuple(order.index(variable) for variable in keys)
        rest = tuple(order.index(variable) for variable in others)
        key = ("lookup", _pattern(atom, order), by, rest)
        return self._cache.made(key, lambda: _make_lookup(matching, by, rest), _size)

    def groups(self, atom: Atom, roots: int) -> Groups:
        """The distinct values of variables 0 .. roots-1 of an atom."""
        matching, order = self.of_atom(atom)
        places = tuple(order.index(variable) for variable in range(roots))

        def make() -> Groups:
            columns = [matching.columns[place] for place in places]
            keys, folds = fold(columns, [matching.sizes[place] + 1 for place in places])
            distinct, of_row = np.unique(keys, return_inverse=True)
            return Groups(folds, distinct, of_row.ravel().astype(np.int32))

        return self._cache.made(("groups", _pattern(atom, order), places), make, _size)

    def matches(self, atom: Atom, variables: tuple[int, ...], other: Atom) -> Integers:
        """For each fact of an atom, the group of the other atom with the same values of these variables."""
        matching, order = self.of_atom(atom)
        places = tuple(order.index(variable) for variable in variables)
        other_order = literal_variables(other)
        roots = tuple(other_order.index(variable) for variable in range(len(variables)))
        key = ("matches", _pattern(atom, order), places, _pattern(other, other_order), roots)

        def make() -> Integers:
            groups = self.groups(other, len(variables))
            return groups.codes([matching.columns[place] for place in places])

        return self._cache.made(key, make, _nbytes)

    def pattern(self, atom: Atom, *variables: int) -> tuple[object, ...]:
        """A key that identifies the facts of an atom, and the columns of variables in them."""
        order = literal_variables(atom)
        return (_pattern(atom, order), *map(order.index, variables))

    def start_join(self) -> None:
        """Forget the stand-in predicates of the join before: a join refers only to its own."""
        self._in_use.clear()

    def add_stand_in(self, key: object, computed: AtomFacts, size: int) -> str:
        """A new stand-in predicate for computed facts; it is valid until the next join starts.

        ``size`` is the bytes of what the key refers to.
        """
        # A name is never given twice: the cache may still have indexes over the facts of an old one.
        name = f"*{next(self._stand_ins)}"
        self._cache.put(("product", key), (name, computed), computed.nbytes + size)
        self._in_use[name] = computed
        return name

    def stand_in(self, key: object) -> str | None:
        """The stand-in predicate for facts computed earlier, if they are still in the cache."""
        known = self._cache.get(("product", key))
        if known is None:
            return None
        name, computed = known
        self._in_use[name] = computed
        return str(name)

    def _select(self, atom: Atom, order: tuple[int, ...]) -> tuple[AtomFacts, int]:
        """The facts of an atom, and their bytes; columns of the database itself take none."""
        types = self.database.schema.types_of(atom.predicate)
        columns = whole = self._columns(atom.predicate)
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
        matching = AtomFacts(tuple(columns[place] for place in places), sizes, len(columns[0]), None, since)
        return matching, 0 if columns is whole else matching.nbytes

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
        if ORDER_BYTES * len(columns[0]) > self._cache.budget // ORDER_SHARE:
            # The order would soon be dropped; one pass over the column is cheaper than making it again.
            found = np.flatnonzero(columns[place] == code)
            return [column[found] for column in columns]

        def make() -> tuple[Integers, Integers]:
            order = np.argsort(columns[place], kind="stable").astype(np.int32)
            return order, columns[place][order]

        order, values = self._cache.made(("order", predicate, place), make, lambda made: _nbytes(*made))
        first, last = np.searchsorted(values, [code, code + 1])
        rows = order[first:last]
        return [column[rows] for column in columns]


def _pattern(atom: Atom, order: tuple[int, ...]) -> tuple[object, ...]:
    args = tuple(order.index(term) if isinstance(term, int) else term for term in atom.args)
    return (atom.predicate, args)


def _nbytes(*arrays: npt.NDArray[Any] | None) -> int:
    return sum(array.nbytes for array in arrays if array is not None)


def _size(index: Links | Lookup | Groups) -> int:
    return index.nbytes


def _make_links(matching: AtomFacts, i: int, j: int, ones: Ones) -> Links:
    shape = (matching.sizes[i] + 1, matching.sizes[j] + 1)
    source, target, ways = matching.columns[i], matching.columns[j], matching.times
    if len(matching.columns) > 2:
        keys, times = np.unique(fold((source, target), shape)[0], return_counts=True)
        source, target = unfold(keys, shape)
        ways = None if times.max(initial=1) == 1 else times
    elif i > j:
        # The rows are sorted by the target; the counting sort by the source keeps that order.
        matrix = by_row(source, target, ones(np.int8, len(source)) if ways is None else ways, shape)
        return Links(matrix.starts, matrix.ends, None if ways is None else matrix.entries, shape, ones)
    starts = np.zeros(shape[0] + 1, dtype=np.int32)
    np.cumsum(np.bincount(source, minlength=shape[0]), out=starts[1:])
    return Links(starts, target, ways, shape, ones)


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
