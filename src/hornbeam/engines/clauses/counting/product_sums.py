"""Sums of many clauses by sparse products, from the counts of their components.

The count of a clause is the product of the counts of its components. The clauses that a search compares have
all but one component in common with many others. So their sums are one product: of a sparse matrix, with a
row for each example and a column for each component, and of the counts that they have in common, most of
which are 0. Examples with equal rows share one row of the matrix.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes
from hornbeam.data.sparse import Matrix, by_row, summed
from hornbeam.engines.clauses.contract import ClauseCounter, Counts, Sums
from hornbeam.engines.clauses.counting.candidates import Candidates, ComponentNumbers, Group
from hornbeam.logic.bodies import CanonicalComponent
from hornbeam.logic.clauses import Atom, Clause

Integers = npt.NDArray[np.int64]
Positions = npt.NDArray[np.int32]

LIMIT = 2**62
"""Sums whose bound is smaller are exact in 64 bits."""
FEW = 0.5
"""Examples with equal rows share one if at most this share of the rows is distinct."""
BYTES_PER_ENTRY = 40
"""Bytes that a count other than 0 takes while matrices are made."""
LEAST_ATOMS = 8
"""At least this many atoms that differ in one constant are counted together."""
MOST_SEEN = 4_000_000
"""With more clauses than this, those that were summed before are forgotten and count as new."""


class _ImpossibleError(Exception):
    """A component is refused, or a sum may exceed 64 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """The counts of a component that are not 0, the positions of their examples, and the largest count."""

    positions: Positions
    values: Integers
    largest: int

    @property
    def nbytes(self) -> int:
        return self.positions.nbytes + self.values.nbytes


@dataclass(frozen=True, slots=True, eq=False)
class _Common:
    """What candidates have in common: the counts that are not 0, and the product of the totals."""

    positions: Positions
    values: Integers
    largest: int
    sum: int
    total: int


@dataclass(frozen=True, slots=True, eq=False)
class _Beside:
    """The counts of the components that may be added to any clause: a row for each distinct example."""

    matrix: Matrix
    row_of: Positions | None
    """the row of each example; None if each example has its own"""
    largest: int


@dataclass(frozen=True, slots=True, eq=False)
class _GroupSums:
    """The sums of candidates that do not depend on gradients, and the way to those that do.

    The sum with gradients is that of the ``rows``, each times the gradients of its examples, which are
    multiplied by the counts that all candidates have in common.
    """

    totals: Integers
    true: Integers
    true_squared: Integers
    rows: Matrix
    common: Matrix
    """for each row the counts that all candidates have in common, in the columns of its examples"""
    bound: int
    """sums with gradients are at most this number times the largest gradient"""

    @property
    def nbytes(self) -> int:
        sums = self.totals.nbytes + self.true.nbytes + self.true_squared.nbytes
        return sums + 12 * (len(self.rows.ends) + len(self.common.ends))

    def with_gradients(self, gradients: Integers, largest: int) -> Integers:
        """The sums with gradients, none of which is above ``largest``."""
        _check(self.bound * largest)
        sums: Integers = self.rows.transposed_times(self.common @ gradients)
        return sums


class ProductSums:
    """Sums of candidates for fixed examples."""

    def __init__(self, counter: ClauseCounter, keys: Codes) -> None:
        self._counter = counter
        self._keys = keys
        self._columns = counter.cache.part(counter.memory // 8)
        self._sums_made = counter.cache.part(counter.memory // 8)
        self._totals: dict[CanonicalComponent, int] = {}
        self._seen: set[int] = set()
        self._has_room = True

    def clear(self) -> None:
        """Forget everything."""
        self._columns.clear()
        self._sums_made.clear()
        self._totals.clear()
        self._seen.clear()

    def sums(self, candidates: Candidates, gradients: Integers) -> Sums | None:
        """The sums of all candidates.

        None if one must be skipped, if 64 bits may not hold its sums, or if there are too many counts.
        """
        if not self._has_room:
            return None
        try:
            return self._sums(candidates, gradients)
        except _ImpossibleError:
            return None

    def _sums(self, candidates: Candidates, gradients: Integers) -> Sums:
        largest = int(np.abs(gradients).max(initial=0))
        self._prepare(candidates)
        true, squared, products = np.zeros((3, len(candidates)), dtype=np.int64)
        totals = []
        for group in candidates.groups:
            sums = self._of_group(candidates.numbers, group)
            own = group.added if group.is_beside else slice(None)
            totals.append(sums.totals[own])
            true[group.places], squared[group.places] = sums.true[own], sums.true_squared[own]
            products[group.places] = sums.with_gradients(gradients, largest)[own]
        return Sums(candidates, np.concatenate(totals), true, squared, products, (), self._new(candidates))

    def _new(self, candidates: Candidates) -> int:
        """How many candidates were not summed before."""
        if len(self._seen) + len(candidates) > MOST_SEEN:
            self._seen.clear()
        before = len(self._seen)
        self._seen.update(candidates.keys.tolist())
        return len(self._seen) - before

    def _prepare(self, candidates: Candidates) -> None:
        """Count the components that are new, all together."""
        numbers = candidates.numbers
        wanted: dict[CanonicalComponent, None] = {}
        for group in candidates.groups:
            wanted.update(dict.fromkeys(group.stay))
            if not group.is_beside:
                wanted.update((numbers.components[number], None) for number in group.added.tolist())
        self._count(numbers, wanted)

    def _count(self, numbers: ComponentNumbers, components: Iterable[CanonicalComponent]) -> list[_Column]:
        """The counts of components, from the cache or new."""
        components = list(components)
        columns = {each: column for each in components if (column := self._columns.get(each)) is not None}
        missing = [each for each in components if each not in columns]
        # Counts take up to eight bytes each until zeros are left out.
        size = max(1, self._counter.memory // 4 // (8 * max(1, len(self._keys))))
        for start in range(0, len(missing), size):
            batch = missing[start : start + size]
            clauses = [Clause(numbers.head, component.literals) for component in batch]
            for component, counts in zip(batch, self._counter.count(clauses, self._keys), strict=True):
                if not isinstance(counts, Counts):
                    raise _ImpossibleError
                column = columns[component] = _column(counts)
                self._columns.put(component, column, column.nbytes)
            self._check_entries(sum(len(column.positions) for column in columns.values()))
        return [columns[component] for component in components]

    def _check_entries(self, number: int) -> None:
        """Very many counts that are not 0 are better kept in narrow integers, with the zeros."""
        if number * BYTES_PER_ENTRY > self._counter.memory // 4:
            self._has_room = False
            raise _ImpossibleError

    def _of_group(self, numbers: ComponentNumbers, group: Group) -> _GroupSums:
        """The sums of a group; for components beside those that stay, of all of them."""
        key = (group.stay, None if group.is_beside else group.added.tobytes())
        sums: _GroupSums | None = self._sums_made.get(key)
        if sums is None:
            common = self._common(numbers, group.stay)
            if group.is_beside:
                components = numbers.beside
                beside = self._beside(numbers)
                rows, row_of = _rows_at(beside, common.positions)
                largest = beside.largest
            else:
                components = tuple(numbers.components[number] for number in group.added.tolist())
                columns = self._count(numbers, components)
                rows = _matrix(columns, len(self._keys)).take(common.positions)
                row_of = np.arange(len(common.positions), dtype=np.int32)
                largest = max((column.largest for column in columns), default=0)
            totals = [common.total * self._total(numbers, component) for component in components]
            of_row = by_row(row_of, common.positions, common.values, (rows.shape[0], len(self._keys)))
            sums = _group_sums(common, rows, of_row, largest, totals)
            self._sums_made.put(key, sums, sums.nbytes)
        return sums

    def _common(self, numbers: ComponentNumbers, stay: tuple[CanonicalComponent, ...]) -> _Common:
        size, largest, total = len(self._keys), 1, 1
        columns = self._count(numbers, stay)
        for component, column in zip(stay, columns, strict=True):
            largest *= column.largest
            total *= self._total(numbers, component)
            _check(largest * size)
        columns.sort(key=lambda column: len(column.positions))
        if columns:
            positions, values = columns[0].positions, columns[0].values
        else:
            positions, values = np.arange(size, dtype=np.int32), np.ones(size, dtype=np.int64)
        for column in columns[1:]:
            places = np.minimum(np.searchsorted(column.positions, positions), len(column.positions) - 1)
            both = np.flatnonzero(column.positions[places] == positions)
            positions, values = positions[both], values[both] * column.values[places[both]]
        return _Common(positions, values, largest, int(values.sum()), total)

    def _beside(self, numbers: ComponentNumbers) -> _Beside:
        beside: _Beside | None = self._sums_made.get(numbers.beside)
        if beside is None:
            matrix = self._beside_matrix(numbers)
            largest = int(matrix.entries.max(initial=0))
            distinct, row_of = matrix.distinct()
            if distinct.shape[0] <= FEW * len(self._keys):
                beside = _Beside(distinct, row_of.astype(np.int32), largest)
            else:
                beside = _Beside(matrix, None, largest)
            self._sums_made.put(numbers.beside, beside, 12 * len(matrix.ends) + 4 * len(self._keys))
        return beside

    def _beside_matrix(self, numbers: ComponentNumbers) -> Matrix:
        """The counts of the components that may be added to any clause; those with many constants at once."""
        others: list[int] = []
        parts: list[tuple[Positions, Positions, Integers]] = []
        for own, atoms in _families(numbers.beside):
            matrix = None
            if len(atoms) >= LEAST_ATOMS:
                matrix = self._counter.incidence(numbers.head, atoms, self._keys)
            if matrix is None:
                others += own
                continue
            self._check_entries(sum(len(part[0]) for part in parts) + len(matrix.ends))
            examples = np.repeat(np.arange(len(self._keys), dtype=np.int32), np.diff(matrix.starts))
            parts.append((examples, np.array(own, dtype=np.int32)[matrix.ends], matrix.entries))
        counted = self._count(numbers, [numbers.beside[place] for place in others])
        for place, column in zip(others, counted, strict=True):
            where = np.full(len(column.positions), place, dtype=np.int32)
            parts.append((column.positions, where, column.values))
        nothing = np.empty(0, dtype=np.int32)
        rows, columns = (np.concatenate([nothing, *(part[k] for part in parts)]) for k in (0, 1))
        entries = np.concatenate([np.empty(0, dtype=np.int64), *(part[2] for part in parts)])
        return summed(rows, columns, entries, (len(self._keys), len(numbers.beside)))

    def _total(self, numbers: ComponentNumbers, component: CanonicalComponent) -> int:
        total = self._totals.get(component) if component.free else 1
        if total is None:
            total = self._totals[component] = self._counter.total(Clause(numbers.head, component.literals))
        return total


def _families(components: Sequence[CanonicalComponent]) -> Iterable[tuple[list[int], list[Atom]]]:
    """Places of components; together those of atoms that differ in constants only, with these atoms."""
    families: dict[object, tuple[list[int], list[Atom]]] = {}
    for place, component in enumerate(components):
        atom = component.literals[0]
        if isinstance(atom, Atom) and len(component.literals) == 1:
            key = atom.predicate, tuple([None if isinstance(term, str) else term for term in atom.args])
            own, atoms = families.setdefault(key, ([], []))
            own.append(place)
            atoms.append(atom)
        else:
            families[component] = [place], []
    return families.values()


def _check(bound: int) -> None:
    if bound >= LIMIT:
        raise _ImpossibleError


def _column(counts: Counts) -> _Column:
    # Numpy finds what is true ten times as fast as what is not 0.
    positions = np.flatnonzero(counts.true != 0).astype(np.int32)
    return _Column(positions, counts.true[positions].astype(np.int64), int(counts.true.max(initial=0)))


def _matrix(columns: list[_Column], size: int) -> Matrix:
    """The counts of components: a row for each example, a column for each component."""
    numbers = np.repeat(np.arange(len(columns), dtype=np.int32), [len(each.positions) for each in columns])
    positions = np.concatenate([np.empty(0, dtype=np.int32), *(each.positions for each in columns)])
    values = np.concatenate([np.empty(0, dtype=np.int64), *(each.values for each in columns)])
    return by_row(positions, numbers, values, (size, len(columns)))


def _rows_at(beside: _Beside, positions: Positions) -> tuple[Matrix, Positions]:
    """The rows of some examples, and which of them each example has."""
    if beside.row_of is None:
        return beside.matrix.take(positions), np.arange(len(positions), dtype=np.int32)
    used, row_of = np.unique(beside.row_of[positions], return_inverse=True)
    return beside.matrix.take(used), row_of.astype(np.int32)


def _group_sums(common: _Common, rows: Matrix, of_row: Matrix, largest: int, totals: list[int]) -> _GroupSums:
    _check((common.largest * largest) ** 2 * max(1, len(common.positions)))
    squares = Matrix(rows.starts, rows.ends, rows.entries * rows.entries, rows.shape)
    weights, squared_weights = of_row.entries, of_row.entries * of_row.entries
    if len(of_row.entries) > rows.shape[0]:
        # Every row has examples, and some have several.
        weights, squared_weights = (
            np.add.reduceat(values, of_row.starts[:-1]) for values in (weights, squared_weights)
        )
    return _GroupSums(
        np.array(totals, dtype=np.int64 if max(totals, default=0) < LIMIT else object),
        rows.transposed_times(weights),
        squares.transposed_times(squared_weights),
        rows,
        of_row,
        common.sum * max(1, largest),
    )
