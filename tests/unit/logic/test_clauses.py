"""Clauses as trees, their text and their one canonical form."""

from itertools import permutations

import pytest

from hornbeam.logic.canonical import canonical, canonical_body
from hornbeam.logic.clauses import Atom, Clause, Not, atom_of, head_atom, literal_variables, rename
from hornbeam.logic.text import format_constant, format_name, variable_name

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


def test_variables_go_on_after_z() -> None:
    assert [variable_name(n) for n in (0, 25, 26, 51, 52, 2600)] == ["A", "Z", "A1", "Z1", "A2", "A100"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bob", "bob"),
        ("7", "7"),
        ("1.5", "1.5"),
        ("a_B-c+d", "a_B-c+d"),
        ("Bob", "'Bob'"),
        ("_x", "'_x'"),
        ("-1", "'-1'"),
        ("", "''"),
        ("two words", "'two words'"),
        ("O'Neill", r"'O\'Neill'"),
        ("back\\slash", r"'back\\slash'"),
        ("line\nend", r"'line\nend'"),
        ("été", "'été'"),
        ("etc.", "'etc.'"),
        ("a..b", "'a..b'"),
    ],
)
def test_a_constant_is_quoted_where_bare_it_would_not_read_back(name: str, text: str) -> None:
    assert format_constant(name) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [("friends", "friends"), ("not", "'not'"), ("true", "'true'"), ("2d", "'2d'"), ("a\tb", r"'a\tb'")],
)
def test_a_predicate_is_quoted_unless_it_is_a_plain_word(name: str, text: str) -> None:
    assert format_name(name) == text


def test_text_of_clauses() -> None:
    assert str(Clause(CANCER, (FRIENDS, Not(SMOKES)))) == "cancer(A) :- friends(A,B), not smokes(B)."
    assert str(Clause(CANCER, ())) == "cancer(A) :- true."
    assert str(Atom("p", (0, "Bob", 30))) == "p(A,'Bob',E1)"


def test_canonical_form_orders_literals_and_names_variables() -> None:
    clause = Clause(CANCER, (Atom("smokes", (9,)), Atom("friends", (0, 9))))
    assert str(canonical(clause)) == "cancer(A) :- friends(A,B), smokes(B)."


def test_a_literal_said_twice_is_said_once() -> None:
    assert canonical_body((FRIENDS, SMOKES, FRIENDS), 1) == (FRIENDS, SMOKES)


def test_literals_that_differ_in_a_free_variable_both_stay() -> None:
    assert canonical_body((FRIENDS, Atom("friends", (0, 2))), 1) == (FRIENDS, Atom("friends", (0, 2)))


def test_where_two_literals_could_come_first_the_rest_decides() -> None:
    # e(A,B) is the first literal either way; which variable is B shows in the last.
    body = (Atom("e", (0, 1)), Atom("e", (0, 2)), Atom("e", (2, 1)))
    found = {str(Clause(CANCER, canonical_body(order, 1))) for order in permutations(body)}
    assert found == {"cancer(A) :- e(A,B), e(A,C), e(B,C)."}


def test_negation_is_part_of_the_form() -> None:
    assert canonical_body((Not(SMOKES), FRIENDS), 1) != canonical_body((SMOKES, FRIENDS), 1)


def test_head_variables_keep_their_names() -> None:
    body = (Atom("p", (1, 0)),)
    assert canonical_body(body, 2) == body
    assert canonical_body((Atom("p", (5, 0)),), 1) == (Atom("p", (1, 0)),)


def test_a_body_of_many_equal_parts_is_put_in_form_at_once() -> None:
    """Without seeing that the parts are alike, 20! orders would have to be tried."""
    parts = [(Atom("p", (0, n)), Atom("q", (n,))) for n in range(1, 21)]
    body = [literal for part in parts for literal in part]
    assert canonical_body(body, 1) == canonical_body(body[::-1], 1)
