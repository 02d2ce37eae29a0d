"""Bodies cut into components that share no free variable."""

from itertools import permutations

import pytest

from hornbeam.logic.clauses import Component, Literal, cut, extended, known, touched
from hornbeam.logic.parse import parse_clause


def body(text: str) -> tuple[Literal, ...]:
    return parse_clause(f"t(A,B) :- {text}.").body


def sets(components: tuple[Component[Literal], ...]) -> set[frozenset[str]]:
    return {frozenset(map(str, component.literals)) for component in components}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(A,B)", [{"p(A,B)"}]),
        ("p(A), q(A,B), r(a)", [{"p(A)"}, {"q(A,B)"}, {"r(a)"}]),
        ("p(A,C), q(B,D), r(C,E), s(E)", [{"p(A,C)", "r(C,E)", "s(E)"}, {"q(B,D)"}]),
        ("p(A,C), q(B,D), not r(C,D), E >= 3", [{"p(A,C)", "q(B,D)", "not r(C,D)"}, {"E >= 3"}]),
    ],
)
def test_components_share_no_free_variable_in_any_order(text: str, expected: list[set[str]]) -> None:
    for order in permutations(body(text)):
        assert sets(cut(order, range(2))) == set(map(frozenset, expected))


def test_bound_variables_link_nothing() -> None:
    literals = body("p(A,C), q(C,D), r(D)")
    assert len(cut(literals, range(2))) == 1
    assert sets(cut(literals, {0, 1, 2})) == {frozenset(["p(A,C)"]), frozenset(["q(C,D)", "r(D)"])}
    assert touched(literals, {0, 1, 3}) == (0, 3)


def test_what_is_added_to_known_components_is_new() -> None:
    components = known(cut(body("p(A,C), q(B,D), r(A)"), range(2)))
    assert not any(component.new for component in components)
    longer = extended(components, body("p(A,C), q(B,D), s(C)")[2:], range(2))
    assert sets(longer) == {frozenset(["q(B,D)"]), frozenset(["r(A)"]), frozenset(["p(A,C)", "s(C)"])}
    assert [component.new for component in longer] == [False, False, True]


def test_literals_added_at_once_are_one_component() -> None:
    components = cut(body("p(A,C)"), range(2))
    assert len(extended(components, body("p(A,C), q(D), r(E)")[1:], range(2))) == 2
