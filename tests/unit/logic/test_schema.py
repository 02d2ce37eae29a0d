"""Names, arities and types that must fit each other."""

import pytest

from hornbeam.errors import SchemaError
from hornbeam.logic.clauses import Atom, Clause, Not, head_atom
from hornbeam.logic.schema import Schema

SCHEMA = Schema({"cancer": ("person",), "friends": ("person", "person"), "lives": ("person", "city")})
CANCER = head_atom("cancer", 1)


def test_what_a_schema_knows() -> None:
    assert SCHEMA.arity("lives") == 2
    assert SCHEMA.types_of("lives") == ("person", "city")
    assert SCHEMA.types() == ("city", "person")


def test_an_unknown_predicate_is_answered_with_the_nearest() -> None:
    with pytest.raises(SchemaError) as caught:
        SCHEMA.types_of("lifes")
    assert str(caught.value) == (
        'no predicate "lifes". Predicates are: cancer, friends, lives. Did you mean "lives"?'
    )


def test_types_of_the_variables_of_a_clause() -> None:
    clause = Clause(CANCER, (Atom("lives", (0, 1)), Not(Atom("lives", (2, "rome")))))
    assert SCHEMA.variable_types(clause) == {0: "person", 1: "city", 2: "person"}


def test_a_variable_at_two_types_is_refused() -> None:
    with pytest.raises(SchemaError) as caught:
        SCHEMA.variable_types(Clause(CANCER, (Atom("lives", (0, 1)), Not(Atom("friends", (0, 1))))))
    assert str(caught.value) == (
        "variable B is used as city and as person in friends(A,B); use two variables."
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((0,), 'friends(A) has 1 argument, but "friends" takes 2: friends(person,person).'),
        ((0, 1, 2), 'friends(A,B,C) has 3 arguments, but "friends" takes 2: friends(person,person).'),
    ],
)
def test_a_wrong_number_of_arguments_is_refused(args: tuple[int, ...], message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        SCHEMA.variable_types(Clause(CANCER, (Atom("friends", args),)))
    assert str(caught.value) == message
