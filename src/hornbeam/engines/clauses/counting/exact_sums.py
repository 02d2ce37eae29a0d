"""Exact sums of counts, and of logarithms of counts rounded to whole numbers.

Floats are used only where every partial sum is a whole number below 2**53.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.engines.clauses.contract import LOG_UNIT, Column

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]

EXACT_FLOAT = 2**53
EXACT_INT64 = 2**63
_CHUNK_BYTES = 4_000_000
"""Rows are converted to floats in chunks that fit a core's cache: twice as fast as all at once."""
_PIECE = 8192
"""Products of longer rows start the threads of BLAS, which may cost a hundred times what they save."""


class RowSum(NamedTuple):
    """A sum over each row of counts."""

    bound: int
    """an upper bound of the absolute value of every partial sum"""
    of_rows: Callable[[Floats], Floats]
    """computes the sums of several rows of floats at once"""
    of_row: Callable[[Any], Any]
    """computes the sum of one row of int64 or Python integers"""
    of_entries: Callable[[Integers, Integers], Integers]
    """computes the terms of the sum from counts and their positions"""


def plain_sum(largest: int, size: int) -> RowSum:
    """The sum of t, for ``size`` counts up to ``largest``."""
    return RowSum(
        largest * size, lambda rows: rows.sum(axis=1), lambda row: row.sum(), lambda values, _: values
    )


def square_sum(largest: int, size: int) -> RowSum:
    """The sum of t*t."""
    return RowSum(
        largest * largest * size,
        lambda rows: row_products(rows, rows),
        lambda row: np.dot(row, row),
        lambda values, _: values * values,
    )


def weighted_sum(largest: int, weights: Integers, mass: int) -> RowSum:
    """The sum of t*w; ``mass`` is the sum of the absolute weights."""
    floats = weights.astype(np.float64)
    return RowSum(
        largest * mass,
        lambda rows: row_products(rows, floats),
        lambda row: np.dot(row, weights),
        lambda values, positions: values * weights[positions],
    )


def row_products(rows: Numbers, others: Numbers) -> Numbers:
    """The sum of the products of each row with another row, or with the same one for all."""
    result = np.zeros(len(rows), dtype=rows.dtype)
    for start in range(0, rows.shape[1], _PIECE):
        piece = slice(start, start + _PIECE)
        # A product of 1 x n by n x 1 for each row: four times as fast as einsum.
        result += np.matmul(rows[:, None, piece], others[..., piece, None])[:, 0, 0]
    return result


def exact_row_sums(block: Column, rows: Integers, sums: Sequence[RowSum]) -> list[list[int]]:
    """Compute each kind of sum for some rows of a block, as Python integers; ``rows`` must be ascending."""
    fast = [each for each in sums if each.bound < EXACT_FLOAT]
    chunks: list[list[Floats]] = [[] for _ in fast]
    if fast:
        for floats in _float_chunks(block, rows):
            for of_sum, each in zip(chunks, fast, strict=True):
                of_sum.append(each.of_rows(floats))
    fast_results = iter(chunks)
    results: list[list[int]] = []
    for each in sums:
        if each.bound < EXACT_FLOAT:
            results.append(_whole_numbers(next(fast_results)))
        else:
            exact = np.int64 if each.bound < EXACT_INT64 else object
            results.append([int(each.of_row(block[row].astype(exact))) for row in rows.tolist()])
    return results


def _float_chunks(block: Column, rows: Integers) -> Iterator[Floats]:
    """The rows as floats, a few at a time."""
    size = max(1, _CHUNK_BYTES // (8 * max(1, block.shape[1])))
    whole = len(rows) == len(block)
    for start in range(0, len(rows), size):
        chunk = block[start : start + size] if whole else block[rows[start : start + size]]
        yield chunk.astype(np.float64)


def _whole_numbers(chunks: list[Floats]) -> list[int]:
    numbers: list[int] = np.concatenate(chunks).astype(np.int64).tolist() if chunks else []
    return numbers


# --- logarithms ----------------------------------------------------------------------------------

_TABLE_SIZE = 2**16
"""The logarithms of counts below this are read from a table, which stays in a core's cache."""


def whole_logarithms(counts: Column) -> Column:
    """ln(1 + count) in units of 1/LOG_UNIT, rounded to whole numbers; all of them fit 16 bits."""
    largest = int(counts.max(initial=0))
    if largest >= _TABLE_SIZE:
        return _logarithms(counts)
    logarithms: Column = _logarithm_table(1 << largest.bit_length())[counts]
    return logarithms


def _logarithms(counts: Column) -> Column:
    logarithms: Column = np.rint(np.log1p(counts.astype(np.float64)) * LOG_UNIT).astype(np.uint16)
    return logarithms


@lru_cache
def _logarithm_table(size: int) -> Column:
    return _logarithms(np.arange(size))
