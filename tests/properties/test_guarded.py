"""False counts inside guards, on all engines: the guard holds, and the last literal does not."""

from __future__ import annotations

from hypothesis import given, settings

from every_engine import both_counters
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.counting.guarded import count_guarded
from hornbeam.engines.contract import Engine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.logic.canonical import canonical
from hornbeam.logic.clauses import Atom, Clause, Comparison, Literal, Not
from hornbeam.logic.guards import guard_of, guarded_orders, share_orders, with_guard
from strategies import CASES, Case, cases


def opposite(literal: Atom | Not) -> Literal:
    """The literal that holds exactly if this one does not."""
    return literal.atom if isinstance(literal, Not) else Not(literal)


@both_counters
@given(case=cases())
@settings(max_examples=max(CASES // 2, 1))
def test_false_counts_are_true_counts_of_the_opposite(engine: type[Engine], case: Case) -> None:
    naive = NaiveEngine(case.database)
    clauses = [clause for clause in case.clauses if clause.body]
    counted = count_guarded(counter_of(engine(case.database)), clauses, case.keys)
    defined = count_guarded(counter_of(naive), clauses, case.keys)
    for clause, counts, expected in zip(clauses, counted, defined, strict=True):
        found = [counts.false_of(place) for place in range(len(case.keys))]
        assert counts.true.tolist() == expected.true.tolist(), clause
        assert found == [expected.false_of(place) for place in range(len(case.keys))], clause
        *guard, last = clause.body
        # An unknown key is neither above nor below a threshold.
        if not isinstance(last, Comparison):
            (right,) = counter_of(naive).count([Clause(clause.head, (*guard, opposite(last)))], case.keys)
            assert found == right.true.tolist(), clause


@given(case=cases())
def test_an_order_says_the_same(case: Case) -> None:
    for clause in case.clauses:
        for order in (*guarded_orders(clause), *share_orders(clause), with_guard(clause)):
            assert canonical(order) == canonical(clause)
        for order in share_orders(clause):
            (counts,) = count_guarded(counter_of(NaiveEngine(case.database)), [order], case.keys)
            assert counts.total == 1
            (guard,) = counter_of(NaiveEngine(case.database)).count([guard_of(order)], case.keys)
            assert counts.within is not None
            assert counts.within.tolist() == guard.true.tolist()
