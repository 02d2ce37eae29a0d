"""Bodies are cut into messages and cores by their form alone, without data."""

from hornbeam.engines.clauses.plan import (
    Compared,
    Core,
    CoreFactor,
    CountTerm,
    Factor,
    MessageFactor,
    Planner,
)
from hornbeam.logic.clauses import Atom
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import NUMBER, Schema

SCHEMA = Schema(
    {
        "t": ("x",),
        "pair": ("x", "x"),
        "q": ("x",),
        "e": ("x", "x"),
        "r": ("x", "x", "x"),
        "age": ("x", "n"),
    },
    {"n": NUMBER},
)


def planned(text: str) -> tuple[CountTerm, ...]:
    return tuple(Planner(SCHEMA).plan(parse_clause(text, SCHEMA)))


def only_factor(text: str) -> Factor:
    (term,) = planned(text)
    assert (term.sign, term.vanished) == (1, ())
    (factor,) = term.factors
    return factor


def test_a_path_is_a_message_of_messages() -> None:
    factor = only_factor("t(A) :- e(A,B), q(B), e(B,C), q(C).")
    assert isinstance(factor, MessageFactor)
    assert factor.head == 0
    (message,) = factor.messages
    assert (message.form, message.roots) == (Atom("e", (0, 1)), 1)
    # The depth follows the deepest message below: q is a leaf, e(B,C) has a message below it.
    assert message.depth == 2
    ((variables, below),) = message.below
    assert variables == (1,)
    assert sorted((each.form.predicate, each.depth) for each in below) == [("e", 1), ("q", 0)]


def test_what_touches_no_head_variable_ends_at_one_of_its_own() -> None:
    factor = only_factor("t(A) :- e(B,C).")
    assert isinstance(factor, MessageFactor)
    assert factor.head is None
    assert [each.roots for each in factor.messages] == [1]


def test_a_comparison_is_a_message_at_its_variable() -> None:
    factor = only_factor("t(A) :- age(A,B), B >= 3.")
    assert isinstance(factor, MessageFactor)
    (message,) = factor.messages
    ((_, (compared,)),) = message.below
    assert (compared.form, compared.roots, compared.depth) == (Compared("n", ">=", 3.0), 1, 0)


def test_a_link_between_two_head_variables_is_a_core() -> None:
    factor = only_factor("pair(A,B) :- e(C,A), e(C,B).")
    assert isinstance(factor, CoreFactor)
    assert (factor.heads, factor.core.anchors) == ((0, 1), 2)


def test_a_literal_within_another_is_summed_into_it() -> None:
    factor = only_factor("t(A) :- r(A,B,C), e(B,C).")
    assert isinstance(factor, MessageFactor)


def test_a_cycle_that_hangs_at_one_variable_is_a_message() -> None:
    factor = only_factor("t(A) :- e(A,B), e(B,C), e(C,D), e(D,B).")
    assert isinstance(factor, MessageFactor)
    (message,) = factor.messages
    ((_, (knot,)),) = message.below
    assert isinstance(knot.form, Core)
    assert knot.roots == 1


def test_a_cycle_apart_from_the_head_is_joined_from_its_first_variable() -> None:
    factor = only_factor("t(A) :- e(B,C), e(C,D), e(D,B).")
    assert isinstance(factor, CoreFactor)
    assert factor.heads == ()
    assert factor.core == Core((Atom("e", (0, 1)), Atom("e", (1, 2)), Atom("e", (2, 0))), 1)


def test_a_negated_literal_of_one_variable_is_a_message_and_of_two_a_difference() -> None:
    assert len(planned("t(A) :- e(A,B), not q(B).")) == 1
    with_all, without = planned("t(A) :- q(B), not e(A,B).")
    assert (with_all.sign, without.sign) == (1, -1)
    vanishing, _ = planned("t(A) :- not e(A,B).")
    assert vanishing.vanished == (1,)
