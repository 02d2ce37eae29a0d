"""Reads the statements of data and background files one at a time, each with its place.

A statement is a fact ``friends(ann,bob).``, a mode ``friends(+person,-person).``, a directive
``range: part={gear, wheel}.`` or a rule ``p(X) :- q(X).`` Comments begin with ``%`` or ``//``.
A full stop may be missing at the end of a line. This is the careful reader, which also finds the place
of every problem; ``reader`` has the fast ones for long runs of facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from hornbeam.errors import ParseError
from hornbeam.logic.clauses import Atom
from hornbeam.logic.parse import Parser, Text, Token, constant, read_mode
from hornbeam.logic.schema import Mode


@dataclass(frozen=True, slots=True)
class Fact:
    """A ground atom."""

    atom: Atom
    offset: int


@dataclass(frozen=True, slots=True)
class ModeStatement:
    """A mode, and the kinds of unused settings that it has."""

    mode: Mode
    offset: int
    extras: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RangeStatement:
    """``range: part={gear, wheel}.``: constants of a type, which may have no facts."""

    type: str
    names: tuple[str, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Import:
    """``import: "other.txt".``"""

    file: str
    offset: int


@dataclass(frozen=True, slots=True)
class Directive:
    """Any other ``word: value.``, as spelled in the file."""

    word: str
    value: str
    offset: int


@dataclass(frozen=True, slots=True)
class Rule:
    """``head :- body.``; only the predicate of the head is kept.

    ``word`` is the directive before it, such as ``precompute1``, or empty.
    """

    name: str
    offset: int
    word: str = field(default="")


Statement = Fact | ModeStatement | RangeStatement | Import | Directive | Rule

_SPACE = re.compile(r"(?:\s++|%[^\n]*+|//[^\n]*+)*+")
_DIRECTIVE = re.compile(r"([A-Za-z]\w*)[ \t]*+:(?!-)")
_FILE = re.compile(r"""[ \t]*+(?:"([^"\n]*+)"|'([^'\n]*+)'|([^\s"']++))""")
_QUOTED = r"""'(?:[^'\\\n]|\\.)*+'|"(?:[^"\\\n]|\\.)*+\""""
_NUMBER = r"(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?\s*+[,)]"
_MARKED = re.compile(
    rf"""(?: [^\s('"]++ | {_QUOTED} ) \s*+ \( (?: [^()'"%:{{}}]*? , )? \s*+
         (?: [+-](?!{_NUMBER}) | \# | ` ) \s*+ [^\s,)]""",
    re.X,
)
"""An atom with an argument marked as in a mode; the sign of a number is not a mark."""
_ENDING_STOP = r"\.(?=\s|\Z|%|//)"
_STOPS = re.compile(rf"{_ENDING_STOP}|//|%|\n")
_QUOTE = re.compile(_QUOTED)
_UNREMARKABLE = re.compile(r"""[^\n'"\[{(.%/]++""")
_CLOSING = {"[": "]", "{": "}", "(": ")"}
_RULE = re.compile(
    rf"""(?: %[^\n]*+ | //[^\n]*+ | {_QUOTED}
           | \n\s*+(?![A-Za-z]\w*+[ \t]*+:(?!-))
           | \\[^\n]
           | \)(?![ \t\r]*+\n\s*+\w++[ \t]*+\()
           | (?!{_ENDING_STOP})[^\n)] )*+
         \)?+\.?+""",
    re.X,
)
"""A rule up to its full stop, or up to a line that begins another statement."""
_STOP = re.compile(r"[ \t]*+\.?+")


def skip_space(text: str, position: int, end: int | None = None) -> int:
    """The position after white space and comments."""
    match = _SPACE.match(text, position) if end is None else _SPACE.match(text, position, end)
    assert match is not None
    return match.end()


def statements(
    text: Text, bare_modes: bool, position: int = 0, end: int | None = None
) -> Iterator[Statement]:
    """The statements of a text that begin between two positions."""
    limit = len(text.text) if end is None else end
    position = skip_space(text.text, position)
    while position < limit:
        statement, position = read_statement(text, position, bare_modes)
        yield statement
        position = skip_space(text.text, position)


def read_statement(text: Text, position: int, bare_modes: bool) -> tuple[Statement, int]:
    """The statement at a position, and the position after it.

    With ``bare_modes``, as in background files, an atom with a marked argument is a mode, also
    without ``mode:`` before it.
    """
    directive = _DIRECTIVE.match(text.text, position)
    if directive is not None:
        return _directive(text, directive)
    if bare_modes and _MARKED.match(text.text, position):
        return _mode(text, position, position)
    try:
        return _fact_or_rule(text, position)
    except ParseError:
        # The head of a rule may hold terms that a fact may not; rules are not used anyway.
        rule = _RULE.match(text.text, position)
        if rule is None or not _has_arrow(rule.group()):
            raise
        return Rule(_first_word(text.text, position), position), rule.end()


def _directive(text: Text, match: re.Match[str]) -> tuple[Statement, int]:
    word, offset, after = match[1], match.start(), match.end()
    kind = word.lower()
    if kind == "mode":
        return _mode(text, after, offset)
    if kind == "range":
        members = _range(text, after, offset)
        if members is not None:
            return members
    if kind == "import":
        return _import(text, after, offset)
    if kind.startswith("precompute"):
        rule_start = skip_space(text.text, after)
        rule = _RULE.match(text.text, rule_start)
        if rule is not None and _has_arrow(rule.group()):
            return Rule(_first_word(text.text, rule_start), offset, word), rule.end()
    end = _value_end(text.text, after)
    return Directive(word, text.text[after:end].strip(), offset), _after_stop(text.text, end)


def _mode(text: Text, position: int, offset: int) -> tuple[Statement, int]:
    parser = Parser(text, position)
    mode, marks = read_mode(parser)
    extras: tuple[str, ...] = ("! in a mode",) if marks else ()
    if parser.at(","):
        # "mode: p(+x), target=q, ...": settings for the search of another program
        extras = (*extras, "settings after a mode")
        end = _value_end(text.text, parser.token.offset)
        return ModeStatement(mode, offset, extras), _after_stop(text.text, end)
    return ModeStatement(mode, offset, extras), _end(parser, offset)


def _range(text: Text, position: int, offset: int) -> tuple[Statement, int] | None:
    """A range that lists its members; another form, such as an interval, gives None."""
    parser = Parser(text, position)
    type_name = parser.name("a type name")
    parser.take("=")
    if not parser.at("{"):
        return None
    opening = parser.next()
    names: list[str] = []
    while not parser.at("}"):
        if names:
            parser.take(",", '"," or "}"')
        if text.text.startswith("...", parser.token.offset):
            raise ParseError(
                'a range cannot hold "..."; write out every constant.', text.place(parser.token.offset)
            )
        if parser.token.kind not in ("word", "quoted"):
            raise parser.fail("a constant")
        names.append(constant(parser.next(), text))
        if parser.token.kind in ("end", "stop"):
            raise ParseError('this "{" is not closed.', text.place(opening.offset))
    parser.next()
    return RangeStatement(type_name, tuple(names), offset), _end(parser, offset)


def _import(text: Text, position: int, offset: int) -> tuple[Statement, int]:
    match = _FILE.match(text.text, position)
    if match is None:
        raise ParseError('expected a file name in quotes after "import:".', text.place(offset))
    name = match[1] or match[2] or (match[3] or "").removesuffix(".")
    if not name:
        raise ParseError('expected a file name in quotes after "import:".', text.place(offset))
    return Import(name, offset), _after_stop(text.text, match.end())


def _fact_or_rule(text: Text, position: int) -> tuple[Statement, int]:
    parser = Parser(text, position)
    if parser.at(")"):
        raise ParseError('this ")" has no "(" before it.', text.place(position))
    predicate = parser.name("a predicate name")
    arguments = parser.arguments("a constant")
    if parser.token.kind == "arrow":
        rule = _RULE.match(text.text, parser.token.offset)
        assert rule is not None
        return Rule(predicate, position), rule.end()
    names = tuple(_constant(token, text) for token in arguments)
    return Fact(Atom(predicate, names), position), _end(parser, arguments[-1].offset)


def _constant(token: Token, text: Text) -> str:
    if token.kind == "word" and token.value[0] == "[":
        raise ParseError(
            "nested term: a list cannot be an argument of a fact; arguments must be plain names.",
            text.place(token.offset),
        )
    return constant(token, text)


def _end(parser: Parser, offset: int) -> int:
    """The position after a statement that ends with a full stop, or with its line."""
    text = parser.text
    token = parser.token
    if token.kind == "stop":
        return token.offset + 1
    if token.kind == "end" or "\n" in text.text[offset : token.offset]:
        return token.offset
    if parser.at(")"):
        raise ParseError('this ")" has no "(" before it.', text.place(token.offset))
    raise parser.fail('"." and a new line')


def _value_end(text: str, position: int) -> int:
    """Where the value of a directive ends: at a full stop or a line end that is not inside brackets.

    This is a loop because a regular expression would search to the end of the text for every open bracket.
    """
    unclosed = set()
    while position < len(text):
        run = _UNREMARKABLE.match(text, position)
        if run is not None:
            position = run.end()
            continue
        if _STOPS.match(text, position):
            break
        mark = text[position]
        after = position + 1
        if mark in _CLOSING and mark not in unclosed:
            after = text.find(_CLOSING[mark], position) + 1
        elif mark in "'\"" and mark not in unclosed:
            quoted = _QUOTE.match(text, position)
            after = 0 if quoted is None else quoted.end()
        if not after:
            # If this bracket or quote is never closed, later ones of the same kind are not closed either.
            unclosed.add(mark)
            after = position + 1
        position = after
    return position


def _after_stop(text: str, position: int) -> int:
    match = _STOP.match(text, position)
    assert match is not None
    return match.end()


def _has_arrow(rule: str) -> bool:
    without_quotes = re.sub(rf"{_QUOTED}|\\.|%[^\n]*|//[^\n]*", "", rule)
    return ":-" in without_quotes or "<-" in without_quotes


def _first_word(text: str, position: int) -> str:
    match = re.compile(r"[^\s(]+").match(text, position)
    return match.group().lower() if match else "?"
