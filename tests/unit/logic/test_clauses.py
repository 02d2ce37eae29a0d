"""Clauses as trees, and their text."""

import pytest

from hornbeam.logic.clauses import Atom, Clause, Not, atom_of, head_atom, literal_variables, rename

CANCER = head_atom("cancer", 1)
FRIENDS = Atom("friends", (0, 1))
SMOKES = Atom("smokes", (1,))


def test_equal_clauses_are_one_key_of_a_dictionary() -> None:
    first = Clause(CANCER, (FRIENDS, Not(SMOKES)))
    second = Clause(head_atom("cancer", 1), (Atom("friends", (0, 1)), Not(Atom("smokes", (1,)))))
    assert {first: "here"}[second] == "here"
    assert first != Clause(CANCER, (FRIENDS, SMOKES))


def test_a_clause_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Clause(CANCER, ()).body = (FRIENDS,)


def test_free_variables_are_those_of_the_body_only_in_order_of_use() -> None:
    clause = Clause(head_atom("t", 2), (Atom("p", (5, 0)), Not(Atom("q", (3, "c", 5, 1)))))
    assert clause.free_variables() == (5, 3)
    assert Clause(CANCER, (Atom("smokes", (0,)),)).free_variables() == ()


def test_parts_of_literals() -> None:
    assert atom_of(Not(SMOKES)) == atom_of(SMOKES) == SMOKES
    assert literal_variables(Not(Atom("p", (3, "a", 0, 3)))) == (3, 0)
    assert rename(Not(Atom("p", (3, "a", 0))), {3: 7}) == Not(Atom("p", (7, "a", 0)))


def test_text_of_clauses() -> None:
    assert str(Clause(CANCER, (FRIENDS, Not(SMOKES)))) == "cancer(A) :- friends(A,B), not smokes(B)."
    assert str(Clause(CANCER, ())) == "cancer(A) :- true."
    assert str(Atom("p", (0, "Bob", 30))) == "p(A,'Bob',E1)"
