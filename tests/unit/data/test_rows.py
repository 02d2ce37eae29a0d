"""Rows as integers, against sorted tuples; hashes of rows, whatever their order."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.data.relations import Relation
from hornbeam.data.rows import (
    by_first,
    count_rows,
    distinct_rows,
    fold,
    grouped,
    hash_of_rows,
    mixed,
    name_hashes,
    probe,
    row_numbers,
    sorted_distinct,
)

SMALL = [4, 3, 5]
WIDE = [2**30] * 3
"""so wide that three columns do not fit into 64 bits without ranks"""


def some_rows(sizes: list[int], seed: int = 0) -> list[np.ndarray]:
    """Few distinct codes in each column, so that rows repeat, up to the largest that the sizes allow."""
    generator = np.random.default_rng(seed)
    choices = [np.unique([0, size // 2, size - 1]) for size in sizes]
    return [generator.choice(codes, 60).astype(np.int32) for codes in choices]


def tuples(columns: Sequence[np.ndarray]) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("sizes", [SMALL, WIDE])
def test_numbers_are_equal_and_in_order_like_rows(sizes: list[int]) -> None:
    columns = some_rows(sizes)
    rows = tuples(columns)
    numbers, _ = fold(columns, sizes)
    ranks = {row: rank for rank, row in enumerate(sorted(set(rows)))}
    distinct = sorted(set(numbers.tolist()))
    assert [distinct.index(number) for number in numbers.tolist()] == [ranks[row] for row in rows]


@pytest.mark.parametrize("sizes", [SMALL, WIDE])
def test_other_rows_get_the_number_of_an_equal_row_and_no_other(sizes: list[int]) -> None:
    columns, others = some_rows(sizes), some_rows(sizes, seed=1)
    numbers, folds = fold([column[:9] for column in columns], sizes)
    known = dict(zip(tuples([column[:9] for column in columns]), numbers, strict=True))
    for row, number in zip(tuples(others), probe(others, folds).tolist(), strict=True):
        assert known.get(row) == number if row in known else number not in known.values()


def test_no_row_is_found_among_none() -> None:
    none = [np.empty(0, dtype=np.int32)] * 3
    _, folds = fold(none, WIDE)
    assert probe([np.array([1])] * 3, folds).tolist() == [-1]


@pytest.mark.parametrize("sizes", [SMALL, WIDE])
def test_distinct_rows_are_sorted(sizes: list[int]) -> None:
    columns = some_rows(sizes)
    rows = tuples(columns)
    expected = sorted(set(rows))
    assert tuples(sorted_distinct(columns, sizes)) == expected
    assert tuples(Relation.of(columns, sizes).columns) == expected
    first, which = distinct_rows(columns, len(rows))
    assert [rows[at] for at in first] == expected
    assert [expected[at] for at in which] == rows
    first, times = count_rows(columns, sizes)
    assert [rows[at] for at in first] == expected
    assert times.tolist() == [rows.count(row) for row in expected]
    _, weighted = count_rows(columns, sizes, np.full(len(rows), 3))
    assert weighted.tolist() == (3 * times).tolist()


@pytest.mark.parametrize("sizes", [SMALL, WIDE])
def test_a_fact_given_at_several_times_has_the_earliest(sizes: list[int]) -> None:
    columns = some_rows(sizes)
    times = np.random.default_rng(2).random(60)
    rows = tuples(columns)
    relation, earliest = Relation.timed(columns, times)
    assert tuples(relation.columns) == sorted(set(rows))
    for row, time in zip(sorted(set(rows)), earliest, strict=True):
        assert time == min(t for other, t in zip(rows, times, strict=True) if other == row)


def test_codes_of_unknown_constants_are_told_apart() -> None:
    numbers = row_numbers([np.array([1, 0, -1]), np.array([-1, 1, 1])], 3)
    assert len(set(numbers.tolist())) == 3


def test_without_columns_all_rows_are_equal() -> None:
    first, which = distinct_rows([], 3)
    assert (first.tolist(), which.tolist()) == ([0], [0, 0, 0])
    first, which = distinct_rows([], 0)
    assert (first.tolist(), which.tolist()) == ([], [])


def test_groups_keep_the_order_of_equal_numbers() -> None:
    order, starts = grouped(np.array([5, 1, 5, 1, 5]))
    assert (order.tolist(), starts.tolist()) == ([1, 3, 0, 2, 4], [0, 2])
    order, starts = grouped(np.empty(0, dtype=np.int64))
    assert (order.tolist(), starts.tolist()) == ([], [])


def test_mixing_is_one_to_one_and_the_same_on_every_machine() -> None:
    values = np.arange(5000, dtype=np.uint64)
    assert len(np.unique(mixed(values))) == len(np.unique(mixed(values, (32, 29)))) == 5000
    # Samples, models and checkpoints depend on these very numbers.
    assert mixed(values[1:3]).tolist() == [4717996019076358352, 2060787363917578834]
    assert mixed(values[1:3], (32, 29)).tolist() == [15485907414219098192, 12525070720368906400]


def test_the_hash_of_rows_depends_on_names_and_not_on_order() -> None:
    names = name_hashes(["ann", "bob", "cat"])
    one, other = np.array([0, 1, 2], dtype=np.int32), np.array([1, 1, 0], dtype=np.int32)
    here = hash_of_rows([names, names], [one, other])
    assert hash_of_rows([names, names], [one[::-1], other[::-1]]) == here
    assert hash_of_rows([names, names], [other, one]) != here
    renumbered = name_hashes(["cat", "ann", "bob"])
    assert hash_of_rows([renumbered, renumbered], [(one + 1) % 3, (other + 1) % 3]) == here
    assert hash_of_rows([names, names], [one, other], np.zeros(3)) != here


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), max_size=12))
def test_rows_in_order_of_the_first_column(rows: list[tuple[int, int]]) -> None:
    columns = [np.array([row[place] for row in rows], dtype=np.int32) for place in (0, 1)]
    expected = [list(column) for column in zip(*sorted(set(rows)), strict=True)] or [[], []]
    if rows:
        assert [column.tolist() for column in sorted_distinct(columns, [13, 4])] == expected
    found = by_first(columns)
    if found is not None:
        assert [column.tolist() for column in found] == [[*map(int, column)] for column in expected]
    repeat, wide = len({row[0] for row in rows}) < len(rows), max(rows, default=(0,))[0] >= 8 * len(rows)
    assert repeat or wide or found is not None
