"""Cached counts: sums are exact, and the memory budget changes nothing but the work."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.data.build import build
from hornbeam.data.database import Codes
from hornbeam.engines.cache import ENTRY
from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.clauses.counting.count_cache import CountCache
from hornbeam.engines.clauses.naive import NaiveCounter
from hornbeam.engines.contract import Skipped
from hornbeam.engines.naive import NaiveEngine
from hornbeam.logic.clauses import Atom, Clause
from hornbeam.logic.schema import Schema

CLAUSES = [Clause(Atom("risk", (0,)), (Atom(f"p{number}", (0,)),)) for number in range(12)]


class TableCounter(NaiveCounter):
    """Returns given counts: one row per clause, ``None`` for a skipped clause."""

    name = "table"

    def __init__(self, rows: Sequence[Sequence[int] | None]) -> None:
        super().__init__(NaiveEngine(build(Schema({}), (), {})))
        self.rows = dict(zip(CLAUSES, rows, strict=False))
        self.asked: list[Clause] = []

    def count(self, clauses: Sequence[Clause], keys: Codes) -> list[Counts | Skipped]:
        self.asked += clauses
        return [self._count(clause) for clause in clauses]

    def _count(self, clause: Clause) -> Counts | Skipped:
        row = self.rows[clause]
        if row is None:
            return Skipped(clause, "too large", 10, 5)
        return Counts(np.array(row, dtype=np.int64), 2**70)


class SigningCounter(TableCounter):
    """The same, with signatures for some of the clauses that have equal counts."""

    def signatures(self, clauses: Sequence[Clause], keys: Codes) -> Sequence[Hashable]:
        rows = [self.rows[clause] for clause in clauses]
        return [None if row is None or sum(row) % 7 == 0 else tuple(row) for row in rows]

    def total(self, clause: Clause) -> int:
        return 2**70


def session(
    rows: Sequence[Sequence[int] | None], memory: int | None = None, signing: bool = False
) -> tuple[CountCache, TableCounter]:
    engine = SigningCounter(rows) if signing else TableCounter(rows)
    size = next(len(row) for row in rows if row is not None)
    return CountCache(engine, np.zeros((size, 1), dtype=np.int32), memory), engine


COUNTS = st.one_of(st.integers(0, 3), st.integers(0, 300), st.integers(0, 2**33), st.integers(0, 2**63 - 1))


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[int] | None], list[list[int]], list[list[int]]]:
    """Counts of clauses, the gradients of some rounds, and the clauses that each round needs."""
    size = draw(st.integers(1, 5))
    rows = draw(
        st.lists(
            st.one_of(st.none(), *[st.lists(COUNTS, min_size=size, max_size=size)] * 4),
            min_size=1,
            max_size=12,
        )
    )
    if all(row is None for row in rows):
        rows[0] = [0] * size
    gradient = st.one_of(st.integers(-3, 3), st.integers(-(2**30), 2**30))
    rounds = draw(st.lists(st.lists(gradient, min_size=size, max_size=size), min_size=1, max_size=4))
    asked = [draw(st.permutations(range(len(rows))))[: draw(st.integers(1, len(rows)))] for _ in rounds]
    return rows, rounds, asked


@given(tables(), st.sampled_from([None, 1, 300, 500, 1500]), st.booleans())
def test_sums_are_exact_in_any_integer_type_order_and_budget(
    table: tuple[list[list[int] | None], list[list[int]], list[list[int]]], memory: int | None, signing: bool
) -> None:
    rows, rounds, asked = table
    cache, _ = session(rows, memory, signing)
    for gradients, numbers in zip(rounds, asked, strict=True):
        cache.set_gradients(np.array(gradients, dtype=np.int64))
        sums = cache.sums([CLAUSES[number] for number in numbers])
        counted = [(CLAUSES[n], rows[n]) for n in numbers if rows[n] is not None]
        assert sums.clauses == [clause for clause, _ in counted]
        assert sums.true == [sum(row) for _, row in counted if row]
        assert sums.true_squared == [sum(t * t for t in row) for _, row in counted if row]
        assert sums.true_gradient == [
            sum(t * d for t, d in zip(row, gradients, strict=True)) for _, row in counted if row
        ]
        assert sums.total == [2**70] * len(counted)
        assert [each.clause for each in sums.skipped] == [CLAUSES[n] for n in numbers if rows[n] is None]
        for clause, row in counted:
            assert cache.column(clause).tolist() == row


def test_every_clause_is_counted_once_while_there_is_room() -> None:
    cache, engine = session([[1, 2], None, [3, 300]])
    for gradient in (1, 2, 3):
        cache.set_gradients(np.array([gradient, 0], dtype=np.int64))
        sums = cache.sums(CLAUSES[:3])
        assert sums.counted == (3 if gradient == 1 else 0)
        assert sums.true_gradient == [gradient, 3 * gradient]
    assert engine.asked == CLAUSES[:3]


def test_clauses_with_equal_signatures_are_counted_once() -> None:
    cache, engine = session([[1, 2], [1, 2], [3, 300], [1, 2]], signing=True)
    for gradient in (1, 2):
        cache.set_gradients(np.array([gradient, 0], dtype=np.int64))
        assert cache.sums(CLAUSES[:2]).true_gradient == [gradient, gradient]
    assert cache.sums(CLAUSES[:4]).true_gradient == [2, 2, 6, 2]
    assert engine.asked == [CLAUSES[0], CLAUSES[2]]


@pytest.mark.parametrize("memory", [1, 300, 500])
def test_past_the_budget_the_least_recently_used_blocks_are_dropped_and_counted_again(memory: int) -> None:
    rows = [[number, number + 1, 0, 1] for number in range(12)]
    cache, engine = session(rows, memory)
    for gradient in range(3):
        cache.set_gradients(np.full(4, gradient, dtype=np.int64))
        assert cache.sums(CLAUSES).true_gradient == [gradient * sum(row) for row in rows]
        assert cache._blocks.used <= max(memory, ENTRY + 4)
    assert len(engine.asked) > len(CLAUSES)


def test_columns_counted_again_together_keep_their_places() -> None:
    # Two wide columns are counted at a time, and eight fit.
    rows = [[2**40 + number] for number in range(12)]
    cache, engine = session(rows, memory=64)
    for gradient in (1, 2):
        cache.set_gradients(np.array([gradient], dtype=np.int64))
        for _ in range(2):
            assert cache.sums(CLAUSES).true_gradient == [gradient * row[0] for row in rows]
            assert [cache.column(clause).tolist() for clause in CLAUSES] == rows
    assert len(engine.asked) > 12


def test_known_products_are_not_counted_again_for_the_same_gradients() -> None:
    cache, engine = session([[number] for number in range(12)], memory=1)
    cache.set_gradients(np.array([5], dtype=np.int64))
    cache.sums(CLAUSES)
    cache.sums(CLAUSES)
    assert engine.asked == CLAUSES


def test_equal_columns_are_stored_once_and_told_apart_from_those_with_equal_sums() -> None:
    rows = [[1, 0, 2, 0], [1, 0, 2, 0], [2, 0, 1, 0], [0, 1, 0, 2], [1, 0, 2, 0], [2, 0, 1, 0]]
    cache, _ = session(rows)
    cache.set_gradients(np.array([1, 2, 4, 8], dtype=np.int64))
    assert cache.sums(CLAUSES[:4]).true_gradient == [9, 9, 6, 18]
    assert cache.sums(CLAUSES[2:6]).true_gradient == [6, 18, 9, 6]
    assert cache._blocks.used == ENTRY + 3 * 4  # three columns in one block
    cache.set_gradients(np.array([0, 0, 0, 1], dtype=np.int64))
    assert cache.sums(CLAUSES[:6]).true_gradient == [0, 0, 0, 2, 0, 0]
    assert [cache.column(clause).tolist() for clause in CLAUSES[:6]] == rows
