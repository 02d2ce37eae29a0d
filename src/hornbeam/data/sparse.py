"""Sparse matrices with the compiled kernels of SciPy, but without importing ``scipy.sparse``.

Importing ``scipy.sparse`` takes longer than importing NumPy, and longer than many fits; the kernels are one
extension module that needs NumPy alone. Direct calls also avoid the checks of ``scipy.sparse`` around each
call, which take longer than a product of small matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.rows import mixed

Numbers = npt.NDArray[Any]


def _kernels() -> Any:
    """The extension module, imported alone or, where that fails, through ``scipy.sparse``."""
    scipy = find_spec("scipy")
    folders = (scipy and scipy.submodule_search_locations) or ()
    # The module gets a name in this package: scipy.sparse may later import its own copy.
    name = f"{__package__}._sparsetools"
    spec = PathFinder.find_spec(name, [str(Path(folder, "sparse")) for folder in folders])
    if spec is not None and spec.loader is not None:
        try:
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
        except ImportError:  # it needs libraries that only the package itself can find
            pass
    from scipy.sparse import _sparsetools

    return _sparsetools


_kernel = _kernels()
_MOST_UNUSED = 1 << 22
"""A product with at most this many entries is not counted before it is made."""


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """A sparse matrix by rows, with columns in rising order within each row.

    ``starts`` has the position of the first entry of each row, ``ends`` the column of each entry; both are
    32-bit.
    """

    starts: Numbers
    ends: Numbers
    entries: Numbers
    shape: tuple[int, int]

    def __matmul__(self, right: Numbers) -> Numbers:
        """The product with a vector or a full matrix, whose type is that of the entries.

        >>> Matrix(np.array([0, 2, 2], dtype=np.int32), np.array([0, 2], dtype=np.int32),
        ...     np.array([5, 7]), (2, 3)) @ np.array([1, 10, 100])
        array([705,   0])
        """
        rows, columns = self.shape
        own = self.starts, self.ends, self.entries
        if right.ndim == 1:
            result = np.zeros(rows, dtype=self.entries.dtype)
            _kernel.csr_matvec(rows, columns, *own, right, result)
            return result
        result = np.zeros((rows, right.shape[1]), dtype=self.entries.dtype)
        _kernel.csr_matvecs(rows, columns, right.shape[1], *own, right.ravel(), result.ravel())
        return result

    def transposed_times(self, vector: Numbers) -> Numbers:
        """The product of the transposed matrix with a vector or a full matrix of floats."""
        rows, columns = self.shape
        if vector.ndim == 2:
            several = np.zeros((columns, vector.shape[1]), dtype=self.entries.dtype)
            own = self.starts, self.ends, self.entries
            _kernel.csc_matvecs(columns, rows, vector.shape[1], *own, vector.ravel(), several.ravel())
            return several
        result = np.zeros(columns, dtype=self.entries.dtype)
        _kernel.csc_matvec(columns, rows, self.starts, self.ends, self.entries, vector, result)
        return result

    def take(self, rows: Numbers) -> Matrix:
        """The given rows, in the given order."""
        rows = rows.astype(np.int32, copy=False)
        starts = np.zeros(len(rows) + 1, dtype=np.int32)
        np.cumsum(self.starts[rows + 1] - self.starts[rows], out=starts[1:])
        ends = np.empty(starts[-1], dtype=np.int32)
        entries = np.empty(starts[-1], dtype=self.entries.dtype)
        _kernel.csr_row_index(len(rows), rows, self.starts, self.ends, self.entries, ends, entries)
        return Matrix(starts, ends, entries, (len(rows), self.shape[1]))

    def distinct(self) -> tuple[Matrix, Numbers]:
        """The distinct rows, and for each row the index of its distinct row."""
        # A row's hash is the sum, modulo 2**64, of hashes of its entries and their columns.
        hashes = mixed(self.entries.view(np.uint64) ^ mixed(self.ends.astype(np.uint64) + np.uint64(1)))
        sums = np.append(np.uint64(0), np.cumsum(hashes))[self.starts]
        _, first, which = np.unique(np.diff(sums), return_index=True, return_inverse=True)
        again = self.take(first[which])
        if not all(
            map(
                np.array_equal,
                (again.starts, again.ends, again.entries),
                (self.starts, self.ends, self.entries),
            )
        ):
            # Two different rows had the same hash, which hardly ever happens.
            return self, np.arange(self.shape[0])
        return self.take(first), which

    def times_each(self, other: Matrix) -> Matrix:
        """The product entry by entry."""
        size = min(len(self.ends), len(other.ends))
        starts = np.empty(len(self.starts), dtype=np.int32)
        ends = np.empty(size, dtype=np.int32)
        entries = np.empty(size, dtype=self.entries.dtype)
        sides = self.starts, self.ends, self.entries, other.starts, other.ends, other.entries
        _kernel.csr_elmul_csr(*self.shape, *sides, starts, ends, entries)
        return Matrix(starts, ends[: starts[-1]], entries[: starts[-1]], self.shape)

    def product(self, other: Matrix) -> Matrix:
        """The matrix product, which must have fewer than 2**31 entries."""
        work = int(np.diff(other.starts)[self.ends].sum())
        if work < max(len(other.ends), other.shape[1]):
            # Few of the other's rows are needed: sorting costs less than transposing all of them.
            found = self._product(other, work)
            _kernel.csr_sort_indices(self.shape[0], found.starts, found.ends, found.entries)
            return found
        return other.transposed()._product(self.transposed(), work).transposed()

    def _product(self, other: Matrix, work: int) -> Matrix:
        """The product with columns in any order; ``work`` is the number of products of two entries."""
        shape = self.shape[0], other.shape[1]
        size = min(work, shape[0] * shape[1])
        if size > _MOST_UNUSED:
            size = _kernel.csr_matmat_maxnnz(*shape, self.starts, self.ends, other.starts, other.ends)
        starts = np.empty(shape[0] + 1, dtype=np.int32)
        ends = np.empty(size, dtype=np.int32)
        entries = np.empty(size, dtype=self.entries.dtype)
        one, two = (self.starts, self.ends, self.entries), (other.starts, other.ends, other.entries)
        _kernel.csr_matmat(*shape, *one, *two, starts, ends, entries)
        return Matrix(starts, ends[: starts[-1]], entries[: starts[-1]], shape)

    def transposed(self) -> Matrix:
        """The transposed matrix; columns come out in order, whatever their order is here."""
        rows, columns = self.shape
        starts = np.empty(columns + 1, dtype=np.int32)
        ends = np.empty(len(self.ends), dtype=np.int32)
        entries = np.empty(len(self.ends), dtype=self.entries.dtype)
        _kernel.csr_tocsc(rows, columns, self.starts, self.ends, self.entries, starts, ends, entries)
        return Matrix(starts, ends, entries, (columns, rows))

    def full(self, dtype: type[np.generic]) -> Numbers:
        """The matrix as a full array of the given type."""
        cells = np.zeros(self.shape, dtype=dtype)
        _kernel.csr_todense(*self.shape, self.starts, self.ends, self.entries.astype(dtype), cells)
        return cells


def by_row(rows: Numbers, columns: Numbers, entries: Numbers, shape: tuple[int, int]) -> Matrix:
    """A matrix from entries with their rows and columns, sorted by column and without repetitions."""
    starts = np.empty(shape[0] + 1, dtype=np.int32)
    ends = np.empty(len(columns), dtype=np.int32)
    ordered = np.empty(len(columns), dtype=entries.dtype)
    _kernel.coo_tocsr(*shape, len(columns), rows, columns, entries, starts, ends, ordered)
    return Matrix(starts, ends, ordered, shape)


def summed(rows: Numbers, columns: Numbers, entries: Numbers, shape: tuple[int, int]) -> Matrix:
    """A matrix from entries with their rows and columns in any order; repeated entries are added.

    >>> matrix = summed(np.array([1, 0, 1]), np.array([2, 0, 2]), np.array([5, 1, 7]), (2, 3))
    >>> matrix.full(np.int64).tolist()
    [[1, 0, 0], [0, 0, 12]]
    """
    rows, columns = rows.astype(np.int32, copy=False), columns.astype(np.int32, copy=False)
    if len(rows) < shape[1]:
        matrix = by_row(rows, columns, entries, shape)
        _kernel.csr_sort_indices(shape[0], matrix.starts, matrix.ends, matrix.entries)
    else:
        # Entries in order of columns and then of rows: this takes less time than sorting them within rows.
        matrix = by_row(columns, rows, entries, shape[::-1]).transposed()
    own = matrix.starts, matrix.ends, matrix.entries
    _kernel.csr_sum_duplicates(*shape, *own)
    size = int(matrix.starts[-1])
    return Matrix(matrix.starts, matrix.ends[:size], matrix.entries[:size], shape)
