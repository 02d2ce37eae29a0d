"""What cannot be read is one sentence with its place, whichever file it stands in."""

import pytest

from folders import flat
from hornbeam.errors import InputError, ParseError, SchemaError
from hornbeam.loading import load

MODES = "friends(+person,-person).\ncancer(+person).\n"


def message(folder, error=ParseError):
    with pytest.raises(error) as caught:
        load(folder)
    text = str(caught.value)
    assert "\n" not in text
    assert caught.value.place is not None
    return text.replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ("friends(ann,_).", 'facts.txt:3:13: "_" in a fact: every argument must be a constant.'),
        ("friends(f(ann),bob).", 'facts.txt:3:10: nested term "f(...)": arguments must be plain names.'),
        (
            "friends(ann,[bob,cat]).",
            "facts.txt:3:13: nested term: a list cannot be an argument of a fact; "
            "arguments must be plain names.",
        ),
        ("friends(ann,bob.", 'facts.txt:3:8: this "(" is not closed.'),
        ("friends(ann,bob", 'facts.txt:3:8: this "(" is not closed.'),
        ("friends(ann,bob\nsmokes(cat).", 'facts.txt:3:8: this "(" is not closed.'),
        ("friends(ann,bob)).", 'facts.txt:3:17: this ")" has no "(" before it.'),
        ("friends(ann,bob). )", 'facts.txt:3:19: this ")" has no "(" before it.'),
        ("friends('ann,bob).", "facts.txt:3:9: this ' quote is not closed on its line."),
        ("friends(ann,).", 'facts.txt:3:13: expected a constant, found ")".'),
        ("friends().", 'facts.txt:3:9: expected a constant, found ")".'),
        ("friends.", 'facts.txt:3:8: expected "(" after the predicate name, found ".".'),
        ("friends(ann,bob) smokes(cat).", 'facts.txt:3:18: expected "." and a new line, found "smokes".'),
        (
            "at(ann,10:30).",
            'facts.txt:3:10: expected "," or ")" (a name with a space or a special character needs quotes), '
            'found ":".',
        ),
        (
            "friends(ann lee,bob).",
            'facts.txt:3:13: expected "," or ")" (a name with a space or a special character needs quotes), '
            'found "lee".',
        ),
        ("!friends(ann,bob).", 'facts.txt:3:1: expected a predicate name, found "!".'),
        ("import: .", 'facts.txt:3:1: expected a file name in quotes after "import:".'),
    ],
)
def test_facts_that_cannot_be_read(tmp_path, facts, expected):
    flat(tmp_path, f"friends(ann,bob).\n% a comment\n{facts}\n")
    assert message(tmp_path) == expected


def test_the_place_is_the_same_far_down_in_a_long_file(tmp_path):
    lines = [f"friends(p{number},p{number + 1})." for number in range(50_000)]
    lines[40_000] = "  friends(_,p1)."
    flat(tmp_path, "\r\n".join(lines))
    assert message(tmp_path) == 'facts.txt:40001:11: "_" in a fact: every argument must be a constant.'


def test_bytes_that_are_not_utf8(tmp_path):
    flat(tmp_path, "friends(ann,josé).\nfriends(ann,".encode() + b"jos\xe9).\n")
    assert message(tmp_path) == (
        "facts.txt:2:16: byte 36 of the file, 0xe9, is not UTF-8 text; save the file as UTF-8."
    )


def test_bytes_that_are_not_utf8_behind_a_byte_order_mark(tmp_path):
    flat(tmp_path, "friends(ann,".encode("utf-8-sig") + b"\xe9).\n")
    assert message(tmp_path) == (
        "facts.txt:1:13: byte 16 of the file, 0xe9, is not UTF-8 text; save the file as UTF-8."
    )


def test_a_file_in_utf16_is_named_as_such(tmp_path):
    flat(tmp_path, "friends(ann,bob).".encode("utf-16"))
    assert message(tmp_path) == "facts.txt:1:1: the file is UTF-16, not UTF-8 text; save it as UTF-8."


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    flat(tmp_path, "friends(ann,_).".encode("utf-8-sig"))
    assert message(tmp_path).startswith("facts.txt:1:13:")


def test_more_arguments_than_the_mode_has(tmp_path):
    flat(tmp_path, "friends(ann,bob).\n friends(ann,bob,cat).", MODES)
    assert message(tmp_path, SchemaError) == (
        'facts.txt:2:2: "friends" has 3 arguments here, but takes 2 by its mode at background.txt:1:1: '
        "friends(person,person)."
    )


def test_an_example_with_other_arguments_than_the_mode(tmp_path):
    flat(tmp_path, "friends(ann,bob).", MODES, neg="cancer(bob).\ncancer(bob,cat).")
    assert message(tmp_path, SchemaError) == (
        'neg.txt:2:1: "cancer" has 2 arguments here, but takes 1 by its mode at background.txt:2:1: '
        "cancer(person)."
    )


def test_an_arity_that_differs_within_one_predicate(tmp_path):
    flat(tmp_path, "% people\nAge(ann,7).\nfriends(ann,bob).\nage(bob).")
    assert message(tmp_path, SchemaError) == (
        'facts.txt:4:1: "age" has 1 argument here, but 2 at facts.txt:2:1; '
        "give it the same number everywhere."
    )


def test_an_arity_that_differs_between_files(tmp_path):
    flat(tmp_path, "friends(ann,bob).", pos="cancer(ann).", neg="cancer(bob,now).")
    assert message(tmp_path, SchemaError) == (
        'neg.txt:1:1: "cancer" has 2 arguments here, but 1 at pos.txt:1:1; '
        "give it the same number everywhere."
    )


@pytest.mark.parametrize(
    ("line", "error", "expected"),
    [
        (
            "friends(+person,person).",
            ParseError,
            'background.txt:3:17: expected +type, -type, #type or `type, found "person".',
        ),
        (
            "friends(person,-person).",
            ParseError,
            'background.txt:3:9: expected +type, -type, #type or `type, found "person".',
        ),
        ("mode: friends(+person.", ParseError, 'background.txt:3:14: this "(" is not closed.'),
        (
            "friends(+person,-other).",
            SchemaError,
            "background.txt:3:1: this mode says friends(person,other), but the one at background.txt:1:1 "
            "says friends(person,person); make number and types of arguments the same.",
        ),
        (
            "friends(+person).",
            SchemaError,
            "background.txt:3:1: this mode says friends(person), but the one at background.txt:1:1 says "
            "friends(person,person); make number and types of arguments the same.",
        ),
        ("range: person={ann,bob", ParseError, 'background.txt:3:15: this "{" is not closed.'),
        ("range: person={ann bob}.", ParseError, 'background.txt:3:20: expected "," or "}", found "bob".'),
        (
            "range: age={1, ..., 9}.",
            ParseError,
            'background.txt:3:16: a range cannot hold "..."; write out every constant.',
        ),
        (
            "range: person={ann,_}.",
            ParseError,
            'background.txt:3:20: "_" in a fact: every argument must be a constant.',
        ),
    ],
)
def test_background_that_cannot_be_read(tmp_path, line, error, expected):
    flat(tmp_path, "friends(ann,bob).", MODES + line)
    assert message(tmp_path, error) == expected


def test_a_target_whose_types_cannot_be_told(tmp_path):
    flat(tmp_path, "friends(cat,dan).", "friends(+person,-person).", pos="\ncancer(ann).")
    assert message(tmp_path, SchemaError) == (
        'pos.txt:2:1: "cancer" has examples but no mode, and its argument 1 shares no constant with a type '
        'of the other modes; add a mode such as "mode: cancer(+type1)." to the background.'
    )


def test_a_target_whose_constants_are_of_two_types(tmp_path):
    flat(tmp_path, "friends(ann,bob).\nnamed(ann,bob).", "friends(+person,-person).\nnamed(+word,-word).")
    assert message(tmp_path, SchemaError) == (
        'pos.txt:1:1: "cancer" has examples but no mode, and its argument 1 shares as many constants with '
        'person as with word; add a mode such as "mode: cancer(+type1)." to the background.'
    )


def test_every_error_of_input_is_one_class(tmp_path):
    flat(tmp_path, "friends(ann,_).")
    with pytest.raises(InputError):
        load(tmp_path)
