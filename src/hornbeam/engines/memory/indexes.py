"""Indexes over the facts, made when first asked for and kept: views, links, lookups.

A *view* of an atom holds the facts that match its constants and repeated variables, a column per
variable. *Links* lead from the values of one variable to those of another (a sparse matrix).
A *lookup* finds the rows of a view by the values of several variables.

Codes run from 0 to size-1; code ``size`` stands for a constant that no fact has, so every index
has one more, empty, place at its end.
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
"""A lookup has a place for every possible key while there are no more than these."""


@dataclass(frozen=True, slots=True, eq=False)
class RelationView:
    """Facts that match an atom's constants and repeated variables; rows distinct and sorted."""

    columns: tuple[Codes, ...]
    sizes: tuple[int, ...]
    rows: int
    times: Integers | None = None
    """how often each row counts, where not once: only in views that stand for a product of links"""
    since: Floats | None = None
    """from which time on each row is a fact; None: always"""


@dataclass(slots=True, eq=False)
class Links:
    """From each value of one variable to values of another, with the number of ways (None: 1)."""

    starts: Codes
    ends: Codes
    times: Integers | None
    shape: tuple[int, int]
    _matrices: dict[type[np.generic], Matrix]
    _widest: int = -1

    @property
    def widest(self) -> int:
        """The most ways that any one value has."""
        if self._widest < 0:
            if self.times is None:
                self._widest = int(np.diff(self.starts).max(initial=0))
            else:
                self._widest = int((self.matrix(np.int64) @ np.ones(self.shape[1], dtype=np.int64)).max())
        return self._widest

    def degrees(self, codes: Integers) -> Integers:
        """How many links each of these values has."""
        degrees: Integers = self.starts[codes + 1] - self.starts[codes]
        return degrees

    def matrix(self, dtype: type[np.generic]) -> Matrix:
        """The links as a matrix; matrices without multiplicities share one array of ones."""
        found = self._matrices.get(dtype)
        if found is None:
            entries = _ones(dtype, len(self.ends)) if self.times is None else self.times.astype(dtype)
            found = self._matrices[dtype] = Matrix(self.starts, self.ends, entries, self.shape)
        return found


_ONES: dict[type[np.generic], npt.NDArray[Any]] = {}


def _ones(dtype: type[np.generic], length: int) -> npt.NDArray[Any]:
    ones = _ONES.get(dtype)
    if ones is None or len(ones) < length:
        ones = _ONES[dtype] = np.ones(length, dtype=dtype)
    return ones[:length]


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """Rows of a view by the values of its key variables: the other columns, and multiplicities."""

    folds: Folds
    keys: Integers | None
    """the distinct keys, sorted; None where ``starts`` has a place for every possible key"""
    starts: Integers
    columns: tuple[Codes, ...]
    times: Integers | None

    def find(self, values: Sequence[Integers]) -> tuple[Integers, Integers]:
        """First row and number of rows for each tuple of key values."""
        keys = probe(values, self.folds)
        if self.keys is None:
            place = keys
        elif len(self.keys) == 0:
            return np.zeros_like(keys), np.zeros_like(keys)
        else:
            place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        first = self.starts[place]
        found = self.starts[place + 1] - first
        if self.keys is not None:
            found[self.keys[place] != keys] = 0
        return first, found


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The distinct values of an atom's first variables, and which of them each row of its view has."""

    folds: Folds
    keys: Integers
    of_row: Integers

    def codes(self, values: Sequence[Integers]) -> Integers:
        """The group of each tuple of values; ``len(keys)``, the place after the last, for none."""
        if len(self.keys) == 0:
            return np.zeros(len(values[0]), dtype=np.int32)
        keys = probe(values, self.folds)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, place, len(self.keys)).astype(np.int32)


class FactIndexes:
    """All indexes of one database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._views: dict[tuple[object, ...], RelationView] = {}
        self._links: dict[tuple[object, ...], Links] = {}
        self._degrees: dict[tuple[object, ...], Integers] = {}
        self._lookups: dict[tuple[object, ...], Lookup] = {}
        self._groups: dict[tuple[object, ...], Groups] = {}
        self._matches: dict[tuple[object, ...], Integers] = {}
        self._names: dict[object, str] = {}
        self.computed = 0
        """bytes of computed views"""
        self._orders: dict[tuple[str, int], tuple[Integers, Integers]] = {}

    def size(self, atom: Atom, variable: int) -> int:
        """The population of the variable's type."""
        view, order = self.view(atom)
        return view.sizes[order.index(variable)]

    def view(self, atom: Atom) -> tuple[RelationView, tuple[int, ...]]:
        """The view of an atom, and the variable of each of its columns."""
        order = literal_variables(atom)
        key = _pattern(atom, order)
        view = self._views.get(key)
        if view is None:
            view = self._views[key] = self._make_view(atom, order)
        return view, order

    def column(self, atom: Atom, variable: int) -> Codes:
        view, order = self.view(atom)
        return view.columns[order.index(variable)]

    def degrees(self, atom: Atom, variable: int) -> Integers:
        """How many facts of an atom have each value of a variable; last, 0 for a constant without facts."""
        view, order = self.view(atom)
        place = order.index(variable)
        key = (_pattern(atom, order), place)
        degrees = self._degrees.get(key)
        if degrees is None:
            degrees = np.bincount(view.columns[place], minlength=view.sizes[place] + 1).astype(np.int32)
            self._degrees[key] = degrees
        return degrees

    def links(self, atom: Atom, source: int, target: int) -> Links:
        """Links from one variable of an atom to another; its other variables are counted out."""
        view, order = self.view(atom)
        i, j = order.index(source), order.index(target)
        key = (_pattern(atom, order), i, j)
        links = self._links.get(key)
        if links is None:
            links = self._links[key] = _make_links(view, i, j)
        return links

    def lookup(self, atom: Atom, keys: tuple[int, ...], others: tuple[int, ...]) -> Lookup:
        """Rows of an atom by its key variables; variables in neither list are counted out."""
        view, order = self.view(atom)
        by = tuple(order.index(variable) for variable in keys)
        rest = tuple(order.index(variable) for variable in others)
        key = (_pattern(atom, order), by, rest)
        lookup = self._lookups.get(key)
        if lookup is None:
            lookup = self._lookups[key] = _make_lookup(view, by, rest)
        return lookup

    def groups(self, atom: Atom, roots: int) -> Groups:
        """The distinct values of variables 0 .. roots-1 of an atom."""
        view, order = self.view(atom)
        places = tuple(order.index(variable) for variable in range(roots))
        key = (_pattern(atom, order), places)
        groups = self._groups.get(key)
        if groups is None:
            columns = [view.columns[place] for place in places]
            keys, folds = fold(columns, [view.sizes[place] + 1 for place in places])
            distinct, of_row = np.unique(keys, return_inverse=True)
            groups = self._groups[key] = Groups(folds, distinct, of_row.ravel().astype(np.int32))
        return groups

    def matches(self, atom: Atom, variables: tuple[int, ...], other: Atom) -> Integers:
        """For each row of an atom's view, the group of the other atom that its variables lead to."""
        view, order = self.view(atom)
        places = tuple(order.index(variable) for variable in variables)
        other_order = literal_variables(other)
        roots = tuple(other_order.index(variable) for variable in range(len(variables)))
        key = (_pattern(atom, order), places, _pattern(other, other_order), roots)
        codes = self._matches.get(key)
        if codes is None:
            groups = self.groups(other, len(variables))
            codes = self._matches[key] = groups.codes([view.columns[place] for place in places])
        return codes

    def pattern(self, atom: Atom, *variables: int) -> tuple[object, ...]:
        """What tells the view of an atom, and places of variables in it, from all others."""
        order = literal_variables(atom)
        return (_pattern(atom, order), *map(order.index, variables))

    def stand_in(self, key: object, view: RelationView) -> str:
        """A predicate that stands for a computed view, for as long as ``tidy`` leaves it."""
        name = self._names.setdefault(key, f"*{len(self._names)}")
        self._views[name, tuple(range(len(view.columns)))] = view
        self.computed += view.rows * 16
        return name

    def standing(self, key: object) -> str | None:
        """The predicate that stands for an earlier computed view, if it still does."""
        name = self._names.get(key)
        return name if name and (name, (0, 1)) in self._views else None

    def tidy(self, budget: int) -> None:
        """Forget computed views, and all indexes over them, once they take more than a budget."""
        if self.computed <= budget:
            return
        self.computed = 0
        for pattern in [p for p in self._views if str(p[0]).startswith("*")]:
            del self._views[pattern]
        for index in (self._links, self._lookups):
            for key in [k for k in index if str(k[0][0]).startswith("*")]:  # type: ignore[index]
                del index[key]

    def _make_view(self, atom: Atom, order: tuple[int, ...]) -> RelationView:
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
        return RelationView(tuple(columns[place] for place in places), sizes, len(columns[0]), None, since)

    def _columns(self, predicate: str) -> list[npt.NDArray[Any]]:
        """The columns of a relation and, where its rows have times, those last."""
        columns: list[npt.NDArray[Any]] = list(self.database.relation(predicate).columns)
        return columns + ([self.database.times[predicate]] if predicate in self.database.times else [])

    def _rows_with(self, predicate: str, place: int, code: int) -> list[npt.NDArray[Any]]:
        """The rows that have a constant at a place, in their order."""
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


def _make_links(view: RelationView, i: int, j: int) -> Links:
    shape = (view.sizes[i] + 1, view.sizes[j] + 1)
    source, target, ways = view.columns[i], view.columns[j], view.times
    if len(view.columns) > 2:
        keys, times = np.unique(fold((source, target), shape)[0], return_counts=True)
        source, target = unfold(keys, shape)
        ways = None if times.max(initial=1) == 1 else times
    elif i > j:
        # Rows are sorted by the target here; the counting sort keeps that order in each row.
        found = by_row(source, target, _ones(np.int8, len(source)) if ways is None else ways, shape)
        return Links(found.starts, found.ends, None if ways is None else found.entries, shape, {})
    starts = np.zeros(shape[0] + 1, dtype=np.int32)
    np.cumsum(np.bincount(source, minlength=shape[0]), out=starts[1:])
    return Links(starts, target, ways, shape, {})


def _make_lookup(view: RelationView, by: tuple[int, ...], rest: tuple[int, ...]) -> Lookup:
    columns = [view.columns[place] for place in (*by, *rest)]
    sizes = [view.sizes[place] + 1 for place in (*by, *rest)]
    times = view.times
    if len(columns) < len(view.columns):
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
