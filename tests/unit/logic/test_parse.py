"""Clauses and facts from text; every problem with its line and column."""

import pytest

from hornbeam.errors import ParseError, Place, SchemaError
from hornbeam.logic.clauses import Atom, Clause, Not
from hornbeam.logic.parse import parse_clause, parse_fact
from hornbeam.logic.schema import Schema

SCHEMA = Schema(
    {"cancer": ("person",), "friends": ("person", "person"), "lives": ("person", "city"), "t": ("day", "day")}
)


def test_variables_are_numbered_by_first_use_the_head_first() -> None:
    clause = parse_clause("t(Y, X) :- p(X, Z, Y, W), not q(W).")
    assert clause == Clause(Atom("t", (0, 1)), (Atom("p", (1, 2, 0, 3)), Not(Atom("q", (3,)))))


def test_upper_case_and_underscore_begin_variables_all_else_is_a_constant() -> None:
    clause = parse_clause("t(A) :- p(A, bob, 'Bob', \"Ann\", _x, 7, -1.5, 'a', Été, été).")
    (atom,) = clause.body
    assert atom == Atom("p", (0, "bob", "Bob", "Ann", 1, "7", "-1.5", "a", 2, "été"))


def test_each_lone_underscore_is_a_variable_of_its_own() -> None:
    assert str(parse_clause("t(A) :- p(A,_), p(_,A).")) == "t(A) :- p(A,B), p(C,A)."
    assert str(parse_clause("t(_,_) :- p(_).")) == "t(A,B) :- p(C)."


@pytest.mark.parametrize(
    "text",
    [
        "cancer(A) :- friends(A,B), not smokes(B).",
        "cancer(A) :- friends(A,B), not smokes(B)",
        "Cancer(P) <- FRIENDS(P,Friend),NOT Smokes(Friend)",
        "cancer(A) :- % a comment\n  friends(A, B), // another\n  not 'smokes'(B).//end",
        "cancer(A):-friends(A,B),not smokes(B).%end",
    ],
)
def test_spelling_does_not_matter(text: str) -> None:
    assert str(parse_clause(text)) == "cancer(A) :- friends(A,B), not smokes(B)."


def test_the_empty_body_has_three_spellings() -> None:
    empty = Clause(Atom("cancer", (0,)), ())
    assert [parse_clause(f"cancer(A){rest}") for rest in (" :- true.", ".", "")] == [empty] * 3


def test_quotes_make_any_name() -> None:
    assert parse_clause("t(A) :- 'not'(A), 'true'(A), 'Two Words'(A).").body == (
        Atom("not", (0,)),
        Atom("true", (0,)),
        Atom("two words", (0,)),
    )
    assert parse_fact(r"p('it\'s', 'a\\b', 'x\ny', '', '_').").args == ("it's", "a\\b", "x\ny", "", "_")


def test_in_facts_every_word_is_a_constant() -> None:
    fact = parse_fact("Friends(Ann, bob, _x, 1.5, A.B, 'Ann').")
    assert fact == Atom("friends", ("Ann", "bob", "_x", "1.5", "A.B", "Ann"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "clause:1:1: expected a predicate name, found the end of the text."),
        ("  ", "clause:1:3: expected a predicate name, found the end of the text."),
        (":- p(A).", 'clause:1:1: expected a predicate name, found ":-".'),
        ("t :- p(A).", 'clause:1:3: expected "(" after the predicate name, found ":-".'),
        ("t() :- p(A).", 'clause:1:3: expected a variable or a constant, found ")".'),
        ("t(A) p(A).", 'clause:1:6: expected ":-" or the end of the text, found "p".'),
        ("t(A) - p(A).", 'clause:1:6: expected ":-" or the end of the text, found "-".'),
        ("t(A) :- true p(A).", 'clause:1:14: expected the end of the text, found "p".'),
        ("t(A) :- .", 'clause:1:9: expected a predicate name, found ".".'),
        ("t(A) :- p(A),", "clause:1:14: expected a predicate name, found the end of the text."),
        ("t(A) :- p(A) q(A).", 'clause:1:14: expected "," or the end of the text, found "q".'),
        ("t(A) :- p(A). q(A).", 'clause:1:15: expected the end of the text, found "q".'),
        ("t(A) :- p(A, q(A)).", 'clause:1:15: nested term "q(...)": arguments must be plain names.'),
        ("t(A) :- p(A", 'clause:1:10: this "(" is not closed.'),
        ("t(A) :- p(A,", 'clause:1:10: this "(" is not closed.'),
        ("t(A) :- p(A.", 'clause:1:10: this "(" is not closed.'),
        ("t(A) :- p(A\nq(A).", 'clause:1:10: this "(" is not closed.'),
        ("t(A) :- p(A)).", 'clause:1:13: expected "," or the end of the text, found ")".'),
        ("t(A) :-\n  p(A),\n  q A.", 'clause:3:5: expected "(" after the predicate name, found "A".'),
        ("t(A) :- p('A).", "clause:1:11: this ' quote is not closed on its line."),
        ('t(A) :- p("A\n").', 'clause:1:11: this " quote is not closed on its line.'),
        ("t(A) :- not.", 'clause:1:12: expected a predicate name, found ".".'),
        ("t(A) :- p(A), !.", 'clause:1:15: expected a predicate name, found "!".'),
        ("t(A) :- ''(A).", 'clause:1:9: expected a predicate name, found "".'),
    ],
)
def test_what_is_wrong_in_a_clause_is_said_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_clause(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("head", ["t(ann)", "t(A,A)", "t(A,'B')", "t(7)"])
def test_the_arguments_of_the_head_are_distinct_variables(head: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_clause(f"{head} :- p(A).")
    assert str(caught.value) == (
        'clause:1:1: the arguments of the head "t" must be distinct variables '
        "(words that start with an upper-case letter)."
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "cancer(P) :- frends(P,Q).",
            'model.txt:1:14: no predicate "frends". Predicates are: cancer, friends, lives, t. '
            'Did you mean "friends"?',
        ),
        (
            "cancre(P) :- friends(P,Q).",
            'model.txt:1:1: no predicate "cancre". Predicates are: cancer, friends, lives, t. '
            'Did you mean "cancer"?',
        ),
        (
            "cancer(P) :-\n  not friends(P).",
            'model.txt:2:7: "friends" has 1 argument here, but takes 2: friends(person,person).',
        ),
        (
            "cancer(P, Q).",
            'model.txt:1:1: "cancer" has 2 arguments here, but takes 1: cancer(person).',
        ),
        (
            "cancer(P) :- lives(P,Where), not lives(Where,_).",
            "model.txt:1:40: variable Where is used as city and here as person; use two variables.",
        ),
        (
            "cancer(P) :- lives(Q,P).",
            "model.txt:1:22: variable P is used as person and here as city; use two variables.",
        ),
    ],
)
def test_what_does_not_fit_the_schema_is_said_in_the_words_of_the_clause(text: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse_clause(text, SCHEMA, source="model.txt")
    assert str(caught.value) == message


def test_a_constant_that_no_fact_has_is_no_error() -> None:
    text = "cancer(A) :- lives(A,'Atlantis')."
    assert str(parse_clause(text, SCHEMA)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p(_).", 'facts.txt:7:3: "_" in a fact: every argument must be a constant.'),
        ("p(f(a)).", 'facts.txt:7:4: nested term "f(...)": arguments must be plain names.'),
        ("p(a", 'facts.txt:7:2: this "(" is not closed.'),
        ("p(a,).", 'facts.txt:7:5: expected a variable or a constant, found ")".'),
        ("p a.", 'facts.txt:7:3: expected "(" after the predicate name, found "a".'),
        (
            "p(two words).",
            'facts.txt:7:7: expected "," or ")" (a name with a space or a special character needs quotes), '
            'found "words".',
        ),
        ("\np(a) :- q(a).", 'facts.txt:8:6: expected the end of the text, found ":-".'),
    ],
)
def test_what_is_wrong_in_a_fact_is_said_with_file_line_and_column(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_fact(text, source="facts.txt", line=7)
    assert str(caught.value) == message


def test_an_error_carries_its_place_and_its_bare_message() -> None:
    with pytest.raises(ParseError) as caught:
        parse_fact("p(_).", source="facts.txt", line=7)
    assert caught.value.place == Place("facts.txt", 7, 3)
    assert caught.value.message == '"_" in a fact: every argument must be a constant.'
