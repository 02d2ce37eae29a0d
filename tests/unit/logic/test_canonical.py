"""The one canonical form of a clause."""

from itertools import permutations

from hornbeam.logic.canonical import canonical, canonical_body
from hornbeam.logic.clauses import Atom, Clause, Not, head_atom

CANCER = head_atom("cancer", 1)
FRIENDS = Atom("friends", (0, 1))
SMOKES = Atom("smokes", (1,))


def test_canonical_form_orders_literals_and_names_variables() -> None:
    clause = Clause(CANCER, (Atom("smokes", (9,)), Atom("friends", (0, 9))))
    assert str(canonical(clause)) == "cancer(A) :- friends(A,B), smokes(B)."


def test_a_repeated_literal_is_kept_once() -> None:
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


def test_a_body_of_many_equal_components_takes_no_time() -> None:
    """Without recognising equal components, 20! orders would have to be tried."""
    components = [(Atom("p", (0, n)), Atom("q", (n,))) for n in range(1, 21)]
    body = [literal for component in components for literal in component]
    assert canonical_body(body, 1) == canonical_body(body[::-1], 1)
