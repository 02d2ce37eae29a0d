"""Search: ranks exactly, breaks ties as stated, stops as told, and records what it skipped."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.data.database import Codes
from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.clauses.counting.count_cache import CountCache
from hornbeam.engines.clauses.naive import NaiveCounter
from hornbeam.engines.contract import Skipped
from hornbeam.engines.naive import NaiveEngine
from hornbeam.learning.search.beam import SearchLimits, SearchResult, SearchSpace, first_in_rank, search
from hornbeam.learning.search.ridge import Ridge, clause_sums, exact_gain, gains, response
from hornbeam.logic.clauses import Atom, Clause
from hornbeam.logic.schema import Schema

HEAD = Atom("h", (0,))
EMPTY = Clause(HEAD, ())
LIMITS = SearchLimits(max_literals=4, beam_width=30, stop="best")
GRADIENTS = np.array([2**29, -(2**29), 2**28, -(2**27)], dtype=np.int64)


def clause(*names: str) -> Clause:
    return Clause(HEAD, tuple(Atom(name, (0,)) for name in names))


class TableCounter(NaiveCounter):
    """Counts by the names in a body; a body that is not written down is skipped."""

    name = "table"

    def __init__(self, counts: dict[str, list[int]], total: int) -> None:
        super().__init__(NaiveEngine(build(Schema({}), (), {})))
        self.counts = counts
        self.total_of_all = total

    def count(self, clauses: Sequence[Clause], keys: Codes) -> list[Counts | Skipped]:
        found: list[Counts | Skipped] = []
        for each in clauses:
            row = self.counts.get(" ".join(literal.predicate for literal in each.body))
            if row is None:
                found.append(Skipped(each, "too large", 2, 1))
            else:
                found.append(Counts(np.array(row, dtype=np.int64), self.total_of_all))
        return found


def find(
    counts: dict[str, list[int]],
    grow: dict[str, list[str]],
    gradients: np.ndarray = GRADIENTS,
    total: int = 1000,
    **options: object,
) -> SearchResult:
    """Search where ``grow`` says which bodies a body grows into; the empty body is ``""``."""
    session = CountCache(TableCounter(counts, total), np.zeros((len(gradients), 1), dtype=np.int32))
    session.set_gradients(gradients)

    def refine(each: Clause) -> Sequence[Clause]:
        key = " ".join(literal.predicate for literal in each.body)
        return [clause(*names.split()) for names in grow.get(key, [])]

    return search(
        session, SearchSpace(EMPTY, refine), Ridge(response(gradients), 1.0), LIMITS._replace(**options)
    )  # type: ignore[arg-type]


def text(found: SearchResult) -> str:
    assert found.best is not None
    return " ".join(literal.predicate for literal in found.best.clause.body)


USELESS, WEAK, GOOD, BEST = [1, 1, 1, 1], [1, 1, 2, 1], [2, 0, 1, 1], [2, 0, 2, 1]


def test_best_takes_any_length_and_full_the_greatest() -> None:
    counts = {"a": BEST, "b": WEAK, "a b": GOOD, "a b c": USELESS}
    grow = {"": ["a", "b"], "a": ["a b"], "b": ["a b"], "a b": ["a b c"]}
    assert text(find(counts, grow)) == "a"
    assert text(find(counts, grow, stop="full")) == "a b c"
    assert text(find(counts, grow, stop="full", max_literals=2)) == "a b"


def test_full_returns_the_best_of_the_longest_length_reached() -> None:
    counts = {"a": BEST, "b": WEAK, "a b": WEAK, "a c": GOOD}
    grow = {"": ["a", "b"], "a": ["a b", "a c"]}
    assert text(find(counts, grow, stop="full", max_literals=4)) == "a c"


def test_greedy_follows_only_the_best_and_a_beam_follows_more() -> None:
    counts = {"a": GOOD, "b": WEAK, "a a": WEAK, "b b": BEST}
    grow = {"": ["a", "b"], "a": ["a a"], "b": ["b b"]}
    assert text(find(counts, grow, beam_width=1)) == "a"
    assert text(find(counts, grow, beam_width=2)) == "b b"


def test_ties_go_to_the_shorter_clause_then_to_the_smaller_text() -> None:
    counts = {"b": GOOD, "c": GOOD, "a b": GOOD}
    grow = {"": ["c", "b"], "b": ["a b"], "c": ["a b"]}
    assert text(find(counts, grow)) == "b"
    # By code point: "1" comes before "9", and "(" before "1".
    assert text(find({"p9": GOOD, "p10": GOOD}, {"": ["p9", "p10"]})) == "p10"
    assert text(find({"p01": GOOD, "p0": GOOD}, {"": ["p01", "p0"]})) == "p0"


def test_the_last_place_in_the_beam_goes_to_the_smaller_text() -> None:
    counts = {"a": BEST, "b": WEAK, "c": WEAK, "d": WEAK, "b x": BEST, "c x": [4, 0, 3, 2], "a x": USELESS}
    grow = {"": ["d", "c", "b", "a"], "a": ["a x"], "b": ["b x"], "c": ["c x"]}
    found = find(counts, grow, beam_width=2, max_literals=2, stop="full")
    assert text(found) == "b x"


def test_gains_that_floats_cannot_tell_apart_are_ranked_exactly() -> None:
    # Counts that differ in their 58th binary digit; a float holds 53.
    gradients = np.array([2**29, -(2**29), 2**28, -(2**27)], dtype=np.int64)
    counts = {name: [2**58 + more, 0, 2**57, 3] for name, more in (("a", 2), ("b", 0), ("c", 3), ("d", 1))}
    session = CountCache(TableCounter(counts, 2**62), np.zeros((4, 1), dtype=np.int32))
    session.set_gradients(gradients)
    sums = session.sums([clause(name) for name in counts])
    whole = response(gradients)
    exact = {
        name: exact_gain(clause_sums(sums, position), whole, 1.0) for position, name in enumerate(counts)
    }
    order = sorted(exact, key=lambda name: (-exact[name], name))
    assert len(set(exact.values())) == 4
    assert order[0] != "a"
    approximate = gains(sums, whole, 1.0)
    assert np.ptp(approximate) < 1e-14 * approximate.max()
    assert text(find(counts, {"": ["a", "b", "c", "d"]}, gradients, total=2**62)) == order[0]


def test_a_longer_clause_wins_by_a_gain_that_floats_cannot_tell() -> None:
    gradients = np.array([2**29, -(2**29), 2**28, -(2**27)], dtype=np.int64)
    less, more = [2**58, 0, 2**57, 3], [2**58 + 1, 0, 2**57, 3]
    session = CountCache(TableCounter({"a": less, "b": more}, 2**62), np.zeros((4, 1), dtype=np.int32))
    session.set_gradients(gradients)
    sums = session.sums([clause("a"), clause("b")])
    first, second = (exact_gain(clause_sums(sums, at), response(gradients), 1.0) for at in (0, 1))
    better, worse = (less, more) if first > second else (more, less)
    grow = {"": ["a"], "a": ["a b"]}
    assert text(find({"a": worse, "a b": better}, grow, gradients, total=2**62)) == "a b"
    assert text(find({"a": better, "a b": worse}, grow, gradients, total=2**62)) == "a"


def test_the_order_of_near_gains_is_that_of_the_exact_ones() -> None:
    floats = np.array([1.0, 1.0 + 1e-12, 1.0 - 1e-12, 0.5, 2.0])
    exact = [Fraction(5), Fraction(4), Fraction(6), Fraction(1), Fraction(9)]
    found = [
        sorted(first_in_rank(floats, width, lambda at: at, exact.__getitem__, str)) for width in (1, 2, 3, 4)
    ]
    assert found == [[4], [2, 4], [0, 2, 4], [0, 1, 2, 4]]


def test_skipped_candidates_are_recorded_and_never_chosen_or_grown() -> None:
    found = find({"a": WEAK}, {"": ["huge", "a"], "huge": ["a"], "a": ["a huge"]})
    assert text(found) == "a"
    assert [str(each.clause) for each in found.skipped] == ["h(A) :- huge(A).", "h(A) :- a(A), huge(A)."]
    assert (found.counted, found.reused) == (3, 0)


@pytest.mark.parametrize("grow", [{}, {"": ["huge"]}])
def test_without_a_candidate_that_can_be_counted_there_is_no_best(grow: dict[str, list[str]]) -> None:
    assert find({}, grow).best is None


def test_of_bodies_that_came_in_one_addition_the_shorter_wins_a_tie() -> None:
    assert text(find({"a b": GOOD, "z": GOOD}, {"": ["a b", "z"]})) == "z"
    # A body of the same length that is found later wins by its text.
    counts = {"c d": GOOD, "x": WEAK, "a x": GOOD}
    assert text(find(counts, {"": ["c d", "x"], "x": ["a x"]})) == "a x"
