"""Modes as values and as text."""

import pytest

from hornbeam.errors import ParseError, SchemaError
from hornbeam.logic.parse import parse_mode
from hornbeam.logic.schema import Argument, Kind, Mode, schema_of


def test_a_mode_says_how_each_argument_is_filled() -> None:
    mode = parse_mode("genre(+Movie, -person, #Kind, `day).")
    assert mode == Mode(
        "genre",
        (
            Argument(Kind.BOUND, "movie"),
            Argument(Kind.OPEN, "person"),
            Argument(Kind.CONSTANT, "kind"),
            Argument(Kind.NEW, "day"),
        ),
    )
    assert str(mode) == "genre(+movie,-person,#kind,`day)."


@pytest.mark.parametrize(
    "text", ["mode: smokes(+person).", "smokes(+person)", "Smokes( + person )", "mode:smokes(+PERSON) % x"]
)
def test_a_mode_reads_with_or_without_its_word_full_stop_and_spaces(text: str) -> None:
    assert str(parse_mode(text)) == "smokes(+person)."


def test_a_predicate_may_be_called_mode() -> None:
    assert str(parse_mode("mode(+x).")) == str(parse_mode("mode: mode(+x).")) == "mode(+x)."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("smokes(person).", 'mode:1:8: expected +type, -type, #type or `type, found "person".'),
        ("smokes(+).", 'mode:1:9: expected a type name after +, found ")".'),
        ("smokes(`).", 'mode:1:9: expected a type name after `, found ")".'),
        ("smokes().", 'mode:1:8: expected +type, -type, #type or `type, found ")".'),
        ("smokes.", 'mode:1:7: expected "(" after the predicate name, found ".".'),
        ("smokes(+person", 'mode:1:7: this "(" is not closed.'),
        ("smokes(+person.", 'mode:1:7: this "(" is not closed.'),
        ("smokes(+person -person).", 'mode:1:16: expected "," or ")", found "-person".'),
        ("smokes(+person) smokes.", 'mode:1:17: expected the end of the text, found "smokes".'),
        ("", "mode:1:1: expected a predicate name, found the end of the text."),
        ("mode: (+person).", 'mode:1:7: expected a predicate name, found "(".'),
        ("smokes(+person!).", 'mode:1:16: expected a number after !, found ")".'),
    ],
)
def test_what_is_wrong_in_a_mode_is_said_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_mode(text)
    assert str(caught.value) == message


def test_modes_state_the_schema() -> None:
    modes = [parse_mode("e(+x,-y)"), parse_mode("e(-x,+y)"), parse_mode("v(+x)")]
    assert schema_of(modes).predicates == {"e": ("x", "y"), "v": ("x",)}


@pytest.mark.parametrize("other", ["e(+x)", "e(+x,-x)"])
def test_two_modes_of_a_predicate_must_agree(other: str) -> None:
    with pytest.raises(SchemaError) as caught:
        schema_of([parse_mode("e(+x,-y)"), parse_mode(other)])
    types = other.replace("+", "").replace("-", "")
    assert str(caught.value) == (
        f'two modes of "e" disagree: e(x,y) and {types}; give both the same number and types of arguments.'
    )
