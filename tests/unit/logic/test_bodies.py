"""Canonical components, and canonical bodies composed from them."""

import pickle

import pytest

from hornbeam.logic.bodies import MOST_VARIABLES, Bodies, components_of
from hornbeam.logic.canonical import canonical
from hornbeam.logic.clauses import Atom, Clause
from hornbeam.logic.parse import parse_clause, parse_mode
from hornbeam.logic.refine import Language, memoised, refinements
from hornbeam.logic.schema import schema_of


def texts(text: str) -> list[str]:
    clause = parse_clause(text)
    return [str(Clause(clause.head, each.literals)) for each in components_of(clause)]


def test_a_body_is_cut_where_no_free_variable_links_it() -> None:
    assert texts("t(A,B) :- p(A,D), q(B), r(C,A), s(D,C), p(B,E).") == [
        "t(A,B) :- q(B).",
        "t(A,B) :- p(A,C), r(D,A), s(C,D).",
        "t(A,B) :- p(B,C).",
    ]


def test_components_tell_their_heads_and_variables() -> None:
    first, second = components_of(parse_clause("t(A,B) :- p(B,C), q(D,C), r(a)."))
    assert (first.heads, first.free, first.fresh) == ((1,), 2, (1, 2))
    assert (second.heads, second.free, second.fresh) == ((), 0, (0,))


def test_stored_components_are_not_part_of_the_value_of_a_clause() -> None:
    clause = parse_clause("t(A) :- p(A,B).")
    other = parse_clause("t(A) :- p(A,B).")
    components_of(clause)
    assert clause == other
    assert hash(clause) == hash(other)
    assert not vars(pickle.loads(pickle.dumps(clause)))


@pytest.mark.parametrize(
    "body",
    [
        "p(A,B), p(A,C)",  # one component twice
        "p(A,B), p(A,C), a(B)",  # ties that what follows resolves
        "p(A,B), p(A,C), a(C), r(B)",
        "a(B), a(C), p(B,C), a(D), q(D,A)",  # a component that begins with two new variables apart
        "p(B,C), q(A,C), a(D)",
        "c(A,d), p(A,B), p(A,C), r(C)",  # literals without free variables before, between and behind others
    ],
)
def test_an_extended_body_is_canonical(body: str) -> None:
    clause = canonical(parse_clause(f"t(A) :- {body}."))
    texts = ("t(+x)", "p(+x,-x)", "p(-x,+x)", "q(-x,-x)", "a(+x)", "a(-x)", "r(+x)", "c(+x,#k)", "z(+x,#k)")
    modes = tuple(map(parse_mode, texts))
    constants = {("c", 1): ("b", "d", "f"), ("z", 1): ("b",)}
    language = Language(clause.head, schema_of(modes), modes, constants, negation=True)
    refine = memoised(language)
    assert refine(clause) == refinements(clause, language)
    for longer in refine(clause)[::7]:
        assert refine(longer) == refinements(longer, language)


def test_bodies_with_names_beyond_z_are_not_composed() -> None:
    literals = tuple(Atom("p", (0, number)) for number in range(1, MOST_VARIABLES + 3))
    clause = canonical(Clause(Atom("t", (0,)), literals))
    bodies = Bodies(clause.head)
    assert bodies.owners(clause) is None
