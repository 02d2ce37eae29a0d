"""How variables, constants and names are written in clauses."""

import pytest

from hornbeam.logic.clauses import format_constant, format_name, variable_name


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
