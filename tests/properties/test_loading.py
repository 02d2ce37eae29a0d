"""Facts in every style of writing read back as they are, and the fast way reads as the careful one."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hornbeam.errors import InputError
from hornbeam.loading.facts import reader as reading
from hornbeam.loading.facts.reader import Contents, read_carefully, read_contents
from hornbeam.logic.clauses import Atom
from strategies import CASES

FILE = Path("facts.txt")

# --- facts in many styles --------------------------------------------------------------------

PLAIN = re.compile(r"[A-Za-z0-9][\w+-]*(\.\w+)*")
PLAIN_NAMES = st.from_regex(r"[a-zA-Z0-9][a-zA-Z0-9_]{0,6}", fullmatch=True)
ODD_NAMES = st.text(st.sampled_from("aB1 _.,;:()[]{}'\"\\%/#+-!=`\n\r\té世"), max_size=6)
NAMES = st.one_of(
    PLAIN_NAMES, PLAIN_NAMES, st.sampled_from(["1.5", "-3", "x.y", "b_1", "-x", "#y"]), ODD_NAMES
)
PREDICATES = st.one_of(
    st.sampled_from(["p", "q", "has_part", "is-a"]), st.sampled_from(["two words", "not", "a.b"])
)
SPACES = st.sampled_from(["", "", "", " ", "  ", "\t"])
COMMENTS = st.sampled_from(["", "", "% note\n", "// p(a,b).\n", " %(\r\n", "//'\n"])


@st.composite
def facts(draw: st.DrawFn) -> list[Atom]:
    arities = draw(st.dictionaries(PREDICATES, st.integers(1, 3), min_size=1, max_size=3))
    rows = st.sampled_from(sorted(arities)).flatmap(
        lambda name: st.lists(NAMES, min_size=arities[name], max_size=arities[name]).map(
            lambda args: Atom(name, tuple(args))
        )
    )
    return draw(st.lists(rows, max_size=12))


def quoted(name: str, quote: str) -> str:
    for character, escape in (
        ("\\", "\\\\"),
        (quote, "\\" + quote),
        ("\n", "\\n"),
        ("\r", "\\r"),
        ("\t", "\\t"),
    ):
        name = name.replace(character, escape)
    return quote + name + quote


@st.composite
def written(draw: st.DrawFn, atoms: list[Atom]) -> str:
    """The text of facts, each in a style of its own."""

    def word(name: str) -> str:
        style = draw(st.sampled_from(["bare", "bare", "'", '"']))
        return (
            name
            if style == "bare" and PLAIN.fullmatch(name)
            else quoted(name, "'" if style == "bare" else style)
        )

    newline = draw(st.sampled_from(["\n", "\r\n"]))
    text = draw(COMMENTS)
    for atom in atoms:
        predicate = atom.predicate
        if re.fullmatch(r"[\w-]+", predicate):
            predicate = draw(st.sampled_from([predicate, predicate.upper(), predicate.title()]))
        else:
            predicate = quoted(predicate, "'")
        args = draw(SPACES) + f"{draw(SPACES)},{draw(SPACES)}".join(map(word, atom.args)) + draw(SPACES)
        stop = draw(
            st.sampled_from(
                [".", ".", ".", ". ", f" .{newline}", f".{newline}", newline, f" {newline}{newline}"]
            )
        )
        text += f"{draw(SPACES)}{predicate}{draw(st.sampled_from(['', '', ' ']))}({args}){stop}"
        text += draw(COMMENTS)
    return text


def rows_of(contents: Contents) -> Iterator[Atom]:
    for (predicate, _), columns in contents.facts.items():
        names = [[column.names[code] for code in column.codes] for column in columns]
        for row in zip(*names, strict=True):
            yield Atom(predicate, row)


@contextmanager
def pieces_of(size: int) -> Iterator[None]:
    """Let the quick readers take pieces of so many characters, however short the text is."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_LARGEST_CHUNK", "_LARGEST_BLOCK", "_SMALLEST_BLOCK"):
            patch.setattr(reading, name, size)
        patch.setattr(reading, "_SHORT", 0)
        yield


@given(st.data())
@settings(max_examples=max(CASES // 4, 1))
def test_facts_in_every_style_read_back(data):
    atoms = data.draw(facts())
    text = data.draw(written(atoms))
    chunk = data.draw(st.sampled_from([1, 7, 40, 1 << 17]))
    # Within a predicate the order of the file is kept.
    expected = sorted(atoms, key=lambda atom: atom.predicate)
    with pieces_of(chunk):
        fast = read_contents(FILE, text, bare_modes=False)
    careful = read_carefully(FILE, text, bare_modes=False)
    for contents in (fast, careful):
        assert sorted(rows_of(contents), key=lambda atom: atom.predicate) == expected
        assert contents.others == ()


# --- any text --------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        *"abX1_ (),.:'\"%/\\-+#`!=[]{}\n",
        *(
            "p(a,b).",
            "p(a,b)",
            "p(c,d).\n",
            "p(c, d).\r\n",
            "P(e,f).\n",
            "q('x y').",
            "q(",
            ").",
            "\n",
            "\r\n",
            "//",
            "% c\n",
            ":-",
            "<-",
        ),
        *("mode: ", "p(+t,-t).\n", "range: t={a,b}.", "range: ", "setParam: x=1.\n", "precompute:\n", "!1"),
        *(
            " r(X) :- p(X,Y),\n q(Y).\n",
            "import: 'f.txt'.",
            "_",
            "p(-5,+2.5).",
            "p(a, 'b', \"c\").",
            "..",
            "é",
        ),
    ]
)


def outcome(read, text: str, bare_modes: bool):
    try:
        contents = read(FILE, text, bare_modes)
    except InputError as error:
        return str(error)
    return {
        key: [row for row in rows_of(contents) if (row.predicate, len(row.args)) == key]
        for key in contents.facts
    }, (contents.others)


@given(st.lists(PIECES, max_size=25).map("".join), st.booleans(), st.sampled_from([1, 9, 1 << 17]))
@example("p(a. b).", False, 9)
@example("p(a,b)\n:- q(c).", False, 1)
@example("p(a.).", False, 1)
@example("p(a//b,c).", False, 1)
@example("p(//b,c).", False, 1)
@example("p(_).\n", False, 9)
@example("p(a..b).\n", False, 9)
@example("p(a.b).\np(c.).\n", False, 99)
@example("p(a).\n.b(c).\n", False, 99)
@example("p(-a,b).\n", True, 99)
@example("p(a).\n\n\r\nP(b).\np(c).\n", False, 99)
@example("p(abcdefgh).\np(abcdefghi).\np(abcdefghijklmnopqrs).\np(abcdefgh).\n", False, 99)
@example("p(a)\n q (b)\np('c,d')", True, 1)
@settings(max_examples=CASES)
def test_any_text_means_the_same_read_fast_or_carefully(text, bare_modes, chunk):
    with pieces_of(chunk):
        fast = outcome(read_contents, text, bare_modes)
    assert fast == outcome(read_carefully, text, bare_modes)


@given(st.lists(PIECES, max_size=40).map("".join), st.booleans())
@settings(max_examples=max(CASES // 4, 1))
def test_a_place_found_again_is_that_of_a_fact(text, bare_modes):
    try:
        contents = read_contents(FILE, text, bare_modes)
    except InputError:
        return
    lines = text.split("\n")
    for predicate, arity in contents.facts:
        place = contents.first_place((predicate, arity))
        assert lines[place.line - 1][place.column - 1 :].strip("'\"").lower().startswith(predicate[:1])
