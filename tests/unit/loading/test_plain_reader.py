"""Long runs of plain facts, read by array operations."""

import random
from pathlib import Path

import numpy as np
import pytest

from hornbeam.loading.facts import plain_reader as plain
from hornbeam.loading.facts import reader as facts
from hornbeam.loading.facts.plain_reader import NotPlainError, read_plain
from hornbeam.loading.facts.reader import read_carefully, read_contents

FILE = Path("facts.txt")


def names_of(columns):
    return [[column.names[code] for code in column.codes] for column in columns]


def rows_of(contents):
    return {signature: names_of(columns) for signature, columns in contents.facts.items()}


def plain_text(number: int, newline: str) -> str:
    """Lines of three predicates, with words of 1 to 40 characters."""
    random.seed(0)
    words = ["".join(random.choices("abcXYZ019_.+-", k=random.randint(0, 39))) + "z" for _ in range(200)]
    words = [word.replace("..", "._") for word in words]
    lines = []
    for _ in range(number):
        predicate, arity = random.choice([("p", 1), ("Friends", 2), ("friends", 2), ("has_part", 3)])
        lines.append(
            f"{predicate}({random.choice([',', ', ']).join(random.choices(words, k=arity))}).{newline}"
        )
    return "".join(lines)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\n\n"])
def test_a_long_plain_text_is_taken_whole(newline):
    text = plain_text(3_000, newline)
    found, taken = read_plain(text)
    assert taken == len(text)
    expected = rows_of(read_carefully(FILE, text, bare_modes=False))
    assert {(name, len(columns)): names_of(columns) for name, columns in found} == expected
    assert rows_of(read_contents(FILE, text, bare_modes=False)) == expected


def test_columns_say_each_name_once_and_predicates_come_in_file_order():
    found, _ = read_plain("q(b,a).\np(a).\nq(a,a).\np(a).\n")
    assert [(name, [sorted(column.names) for column in columns]) for name, columns in found] == [
        ("q", [["a", "b"], ["a"]]),
        ("p", [["a"]]),
    ]


@pytest.mark.parametrize(
    "line",
    [
        *(" p(a).\n", "p(a). \n", "p(a) .\n", "p (a).\n", "p(a).q(b).\n", "p(a ).\n", "p( a).\n"),
        *("p('a').\n", "p(a). % c\n", "% c\n", "//c\n", "p(a):-q(b).\n", "p().\n", "p(a,).\n", "p(,a).\n"),
        *("p(a b).\n", "p(a,b\n", "p(a))\n", "p((a).\n", "(a).\n", "a.\n", "p(a)x\n", "p(a).x\n", "p(a)..\n"),
        *("mode: p(+a).\n", "p([a]).\n", "p(a\tb).\n", "p(a)\r.\n", "p(a).\r\r\n", "p(a).", "p(a"),
    ],
)
def test_reading_stops_before_a_line_that_is_not_plain(line):
    before = "r(x,y).\nr(x,z).\n"
    found, taken = read_plain(before + line + "r(q,q).\n")
    assert taken == len(before)
    assert [(name, names_of(columns)) for name, columns in found] == [("r", [["x", "x"], ["y", "z"]])]
    assert read_plain(line) == ([], 0)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\n\n"])
def test_full_stops_may_be_missing_where_a_plain_line_follows(newline):
    lines = ["p(a)", "p(b)", "p(c).", "p(d)"]
    text = newline.join([*lines, ""])
    last = len(lines[-1] + newline)
    assert read_plain(text)[1] == len(text) - last
    assert read_plain(text + ":- q(X).\n")[1] == len(text) - last
    assert read_plain(text + "p(e).\n")[1] == len(text) + 6
    assert read_plain("p(a)\n") == ([], 0)


@pytest.mark.parametrize("line", ["p(_).\n", "p(a.).\n", "p(a.,b).\n", "p(a..b).\n", "1p(a).\n", ".p(a).\n"])
def test_words_that_need_judgement_are_refused(line):
    with pytest.raises(NotPlainError):
        read_plain("p(a).\n" + line)


def test_signs_are_refused_where_they_may_be_marks_of_modes():
    with pytest.raises(NotPlainError):
        read_plain("p(a,-b).\n", signs=False)
    assert read_plain("p(a,-b).\n")[1] == 9
    assert read_plain("p(a-b).\n", signs=False)[1] == 8


def test_words_with_one_hash_are_told_apart(monkeypatch):
    # Without a factor the hash is that of the last eight characters.
    monkeypatch.setattr(plain, "_FACTOR", np.uint64(0))
    text = "p(aaaaaaaa11111111).\np(bbbbbbbb11111111).\n" * 100
    with pytest.raises(NotPlainError):
        read_plain(text)
    assert rows_of(read_contents(FILE, text, bare_modes=False)) == {
        ("p", 1): [["aaaaaaaa11111111", "bbbbbbbb11111111"] * 100]
    }


def test_plain_and_other_lines_may_alternate(monkeypatch):
    monkeypatch.setattr(facts, "_SHORT", 0)
    parts = [
        plain_text(20, "\n"),
        "p('a b'). % c\n",
        plain_text(5, "\r\n"),
        "p('x, y')\n% c\n",
        "Friends(é,z).\n",
    ]
    text = "".join(parts * 4)
    assert rows_of(read_contents(FILE, text, False)) == rows_of(read_carefully(FILE, text, False))
