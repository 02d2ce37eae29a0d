"""Effects from text; every problem with its line and column."""

import pytest

from hornbeam.errors import ParseError, SchemaError
from hornbeam.logic.clauses import Atom
from hornbeam.logic.effects import Curve, Effect, Equals, Feature, NumberOf, Recent
from hornbeam.logic.parse_effect import parse_effect, parse_feature
from hornbeam.logic.schema import DATE, NUMBER, Schema

SCHEMA = Schema(
    {
        "bad": ("person",),
        "orders": ("person", "order"),
        "amount": ("order", "amount_value"),
        "born": ("person", "day"),
    },
    {"amount_value": NUMBER, "day": DATE},
)
BODY = "bad(P) :- orders(P,O), amount(O,D)."


def test_all_parts_are_read() -> None:
    text = "mean V [missing:-0.2;<3:-.11;else:+0.42] : bad(P) :- last 5 within 30 orders(P,O), amount(O,V)"
    assert parse_effect(text, SCHEMA) == Effect(
        Atom("bad", (0,)),
        (Recent(Atom("orders", (0, 1)), 5, 30.0), Atom("amount", (1, 2))),
        Feature("mean", 2),
        Curve((3.0,), (-0.11, 0.42), -0.2),
    )


def test_a_number_of_facts_is_a_number() -> None:
    text = "value B [else: 1] : bad(A) :- B = number of orders(A,C), B >= 2."
    effect = parse_effect(text, SCHEMA)
    assert effect.body[0] == NumberOf(1, Atom("orders", (0, 2)))
    assert str(effect) == text


def test_an_equality_names_a_constant() -> None:
    text = "count [else: 1] : bad(A) :- orders(A,B), B = number, B = 'of', B = 'A B'."
    assert parse_effect(text, SCHEMA).body[1:] == (Equals(1, "number"), Equals(1, "of"), Equals(1, "A B"))
    assert str(parse_effect(text)) == text.replace("'of'", "of")


def test_the_feature_may_come_apart_from_the_clause() -> None:
    assert parse_feature("max D", BODY, SCHEMA)[2] == Feature("max", 2)
    with pytest.raises(ParseError, match=r'^feature:1:7: expected the end of the text, found "O"\.$'):
        parse_feature("max D O", BODY)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("maen D [else: 0] : " + BODY, '1:1: no feature "maen". Features are: '),
        ("maen D [else: 0] : " + BODY, 'Did you mean "mean"?'),
        ("mean [else: 0] : " + BODY, '1:6: expected a variable after "mean", found "[".'),
        ("mean amount [else: 0] : " + BODY, '1:6: expected a variable after "mean", found "amount".'),
        (
            "mean X [else: 0] : " + BODY,
            "1:6: variable X has no value in the body. Variables with a value are: D, O, P.",
        ),
        ("count < 3", '1:7: expected "[" and a curve after the feature, found "<".'),
        (
            "count [< x: 1; else: 0] : " + BODY,
            '1:10: expected a number, or a date such as 2001-12-31, found "x".',
        ),
        (
            "count [< 3: 1; < 2: 0; else: 0] : " + BODY,
            '1:18: expected a cut above the one before it, found "2".',
        ),
        (
            "count [< 3: 1; < 3: 0; else: 0] : " + BODY,
            '1:18: expected a cut above the one before it, found "3".',
        ),
        (
            "count [< 3: 1; < 2000-01-01: 0; else: 0] : " + BODY,
            "1:18: expected a number like the cut before it",
        ),
        ("count [< 3: 1; else: x] : " + BODY, '1:22: expected a level, which is a number, found "x".'),
        ("count [else: 1e999] : " + BODY, '1:14: expected a level, which is a number, found "1e999".'),
        ("count [< 3: 1] : " + BODY, '1:14: expected ";" and the next level, found "]".'),
        ("count [< 3: 1; ] : " + BODY, '1:16: expected "<" and a cut, or "else", found "]".'),
        ("count [else: 1; < 3: 2] : " + BODY, '1:15: expected "]" after the level of "else", found ";".'),
        ("count [else: 1] " + BODY, '1:17: expected ":" and a clause after the curve, found "bad".'),
        ("count [else: 1] : bad(A).", '1:25: expected ":-" after the head, found ".".'),
        ("count [else: 1] : bad(ann) :- true.", '1:19: the arguments of the head "bad" must be distinct'),
        (
            "count [else: 1] : bad(A) :- last 0 orders(A,B).",
            '1:34: expected a whole number of facts, at least 1, after "last", found "0".',
        ),
        ("count [else: 1] : bad(A) :- last 1.5 orders(A,B).", "1:34: expected a whole number of facts"),
        (
            "count [else: 1] : bad(A) :- within -1 orders(A,B).",
            '1:36: expected a length of time above 0 after "within", found "-1".',
        ),
        (
            "count [else: 1] : bad(A) :- last 1 last 2 orders(A,B).",
            '1:36: expected a predicate name; "last" is already there, found "last".',
        ),
        (
            "count [else: 1] : bad(A) :- V >= 3, amount(A,V).",
            "1:29: variable V is compared but has no value yet; "
            "move the comparison after the step that contains the variable.",
        ),
        (
            "count [else: 1] : bad(A) :- V = amount(A,B).",
            '1:33: expected a constant, or "number of" and an atom, found "amount".',
        ),
        (
            "count [else: 1] : bad(A) :- orders(A,B), B = C.",
            '1:46: expected a constant, or "number of" and an atom, found "C".',
        ),
        ("count [else: 1] : bad(A) :- B = drama.", "1:29: variable B is compared but has no value yet; "),
        (
            "count [else: 1] : bad(A) :- A = number of amount(A,B).",
            "1:29: variable A already has a value; use a new variable for a number of facts.",
        ),
        (
            "count [else: 1] : bad(A) :- N = number of orders(A,B), amount(B,C).",
            "1:56: variable B belongs to a number of facts in an earlier step; use another variable.",
        ),
        (
            "value B [else: 1] : bad(A) :- N = number of orders(A,B).",
            "1:7: variable B has no value in the body.",
        ),
        ("share [else: 1] : bad(A) :- true.", "1:1: a share needs a body with at least one step."),
        ("count [else: 1] : bad(A) :- orders(A,'B).", "1:38: this ' quote is not closed on its line."),
    ],
)
def test_what_is_wrong_in_an_effect_is_said_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_effect(text)
    assert str(caught.value).startswith("effect:1:")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "mean O [else: 0] : " + BODY,
            'effect:1:6: "mean" needs a number, but variable O is of type order, which is not numeric.',
        ),
        (
            "since D [else: 0] : " + BODY,
            'effect:1:7: "since" needs a date, but variable D is of type amount_value, which is not a date.',
        ),
        (
            "mean D [< 2001-01-01: 1; else: 0] : " + BODY,
            'effect:1:11: the feature "mean C" is a number, so its cuts must be numbers, not dates.',
        ),
        ("count [else: 0] : bad(A) :- within 3 ordes(A,B).", 'effect:1:38: no predicate "ordes". '),
        ("count [else: 0] : bad(A) :- N = number of orders(A).", 'effect:1:43: "orders" has 1 argument here'),
        (
            "count [else: 0] : bad(A) :- N = number of orders(A,B), N >= 2001-01-01.",
            "effect:1:56: variable N is a number of facts; compare it with a number.",
        ),
        (
            "count [else: 0] : bad(A) :- N = number of orders(A,B), N = 2.",
            'effect:1:56: variable N is a number of facts, not a constant; compare it by ">=" or "<".',
        ),
        (
            "count [else: 0] : bad(A) :- orders(A,B), B >= 3.",
            "effect:1:42: variable B is of type order, which is not numeric.",
        ),
    ],
)
def test_what_does_not_fit_the_schema_is_said_with_its_place(text: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse_effect(text, SCHEMA)
    assert str(caught.value).startswith(message)


def test_cuts_of_dates_are_dates_or_numbers() -> None:
    for cut in ("2001-01-01", "978307200000000"):
        text = f"min B [< {cut}: 1; else: 0] : bad(A) :- born(A,B)."
        assert str(parse_effect(text, SCHEMA)) == text
