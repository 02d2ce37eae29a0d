"""Clauses, modes and facts from text; every error has its line and column.

In clause text, a word that starts with an upper-case letter or ``_`` is a variable, any other word is a
constant, and quotes make any text a constant. In facts and examples every word is a constant. ``<`` and
``>`` are operators in clauses only; elsewhere they are part of a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from hornbeam.errors import ParseError, Place, SchemaError, did_you_mean, plural
from hornbeam.logic.clauses import AT_LEAST, BELOW, Atom, Clause, Comparison, Literal, Not, Term
from hornbeam.logic.schema import Argument, Kind, Mode, Schema, read_value

WORD = r"""(?: [^\s(),:'"%{}=!`.] | (?<!\))\.(?!//)(?=[^\s).,%"']) )++"""
"""A word, as a verbose regular expression: a full stop is part of it only if more of the word follows."""
BEGINNING = r"""
    (?P<space>   \s+ | %[^\n]* | //[^\n]* )
  | (?P<quoted>  '(?:[^'\\\n]|\\.)*+' | "(?:[^"\\\n]|\\.)*+" )
"""
_TOKEN = re.compile(
    rf"""
    {BEGINNING}
  | (?P<arrow>   :- | <- )
  | (?P<mark>    [(),:{{}}=!`] )
  | (?P<word>    {WORD} )
  | (?P<stop>    \. )
    """,
    re.VERBOSE,
)
CLAUSE_TOKEN = re.compile(
    rf"""
    {BEGINNING}
  | (?P<arrow>   :- | <-(?![0-9.]) )
  | (?P<compare> [<>]=? )
  | (?P<mark>    [(),:{{}}=!`] )
  | (?P<word>    {WORD.replace("%{}", "%<>{}")} )
  | (?P<stop>    \. )
    """,
    re.VERBOSE,
)
MOST_ARGUMENTS = 1000
"""The most arguments of a predicate: the number of inferred modes grows with the square of this number."""
MOST_LITERALS = 200
"""The most literals of a body. No learner makes longer ones, and putting them into words would take long."""
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


class Token(NamedTuple):
    """A piece of text: its kind (``word quoted mark compare arrow stop end``), its value, its offset."""

    kind: str
    value: str
    offset: int


@dataclass(frozen=True, slots=True)
class Text:
    """A text, the name of its source for messages, and the line of the source where it starts."""

    text: str
    source: str = "clause"
    first_line: int = 1

    def place(self, offset: int) -> Place:
        """File, line and column of a character."""
        before = self.text[:offset]
        line = self.first_line + before.count("\n")
        return Place(self.source, line, offset - (before.rfind("\n") + 1) + 1)


def tokens(text: Text, position: int = 0, pattern: re.Pattern[str] = _TOKEN) -> Iterator[Token]:
    """The tokens of a text from a position on; the last has the kind ``end``."""
    while position < len(text.text):
        match = pattern.match(text.text, position)
        if match is None:
            # Any character but an open quote is a token or part of a word.
            quote = text.text[position]
            raise ParseError(f"this {quote} quote is not closed on its line.", text.place(position))
        kind = match.lastgroup or ""
        if kind == "quoted":
            yield Token(kind, unquote(match.group()), position)
        elif kind != "space":
            yield Token(kind, match.group(), position)
        position = match.end()
    yield Token("end", "", len(text.text))


def unquote(quoted: str) -> str:
    r"""The name inside quotes; ``\'`` ``\\`` ``\n`` ``\r`` ``\t`` are escapes."""
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), quoted[1:-1], flags=re.DOTALL)


class Parser:
    """Reads one construct after another from a text, starting at a position."""

    def __init__(self, text: Text, position: int = 0, pattern: re.Pattern[str] = _TOKEN) -> None:
        self.text = text
        self._tokens = tokens(text, position, pattern)
        self.token = next(self._tokens)

    def fail(self, expected: str, token: Token | None = None) -> ParseError:
        token = token or self.token
        actual = "the end of the text" if token.kind == "end" else f'"{token.value}"'
        return ParseError(f"expected {expected}, found {actual}.", self.text.place(token.offset))

    def next(self) -> Token:
        token = self.token
        if token.kind != "end":
            self.token = next(self._tokens)
        return token

    def at(self, value: str) -> bool:
        return self.token.value == value and self.token.kind in ("mark", "arrow", "stop")

    def take(self, value: str, expected: str | None = None) -> Token:
        if not self.at(value):
            raise self.fail(expected or f'"{value}"')
        return self.next()

    def name(self, expected: str) -> str:
        """A predicate or type name, in lower case."""
        if self.token.kind not in ("word", "quoted") or not self.token.value:
            raise self.fail(expected)
        return self.next().value.lower()

    def arguments(self, expected: str = "a variable or a constant") -> list[Token]:
        """The words between parentheses, at least one."""
        opening = self.take("(", '"(" after the predicate name')
        words: list[Token] = []
        while True:
            if self.token.kind not in ("word", "quoted"):
                if self.token.kind in ("end", "stop"):
                    place = self.text.place(opening.offset)
                    raise ParseError('this "(" is not closed.', place)
                raise self.fail(expected)
            words.append(self.next())
            self.check_number(len(words), opening)
            if self.at("("):
                raise ParseError(
                    f'nested term "{words[-1].value}(...)": arguments must be plain names.',
                    self.text.place(self.token.offset),
                )
            if self.at(")"):
                self.next()
                return words
            if self.token.kind in ("end", "stop") or (not self.at(",") and self.on_new_line(opening)):
                raise ParseError('this "(" is not closed.', self.text.place(opening.offset))
            self.take(",", '"," or ")" (a name with a space or a special character needs quotes)')

    def check_number(self, arguments: int, opening: Token) -> None:
        """Refuse more than ``MOST_ARGUMENTS`` arguments."""
        if arguments > MOST_ARGUMENTS:
            raise ParseError(
                f"more than {MOST_ARGUMENTS:,} arguments; split the predicate into several.",
                self.text.place(opening.offset),
            )

    def check_length(self, literals: int) -> None:
        """Refuse a body that goes on after ``MOST_LITERALS`` literals."""
        if literals >= MOST_LITERALS:
            place = self.text.place(self.token.offset)
            raise ParseError(f"more than {MOST_LITERALS:,} literals in one body; shorten it.", place)

    def on_new_line(self, token: Token) -> bool:
        """Whether the current token is on a later line than the given one."""
        return "\n" in self.text.text[token.offset : self.token.offset]

    def end(self, instead: str = "") -> None:
        """Expect the end of the text after an optional full stop.

        The error names ``instead`` as the other text that could follow.
        """
        if self.token.kind == "stop":
            self.next()
            instead = ""
        if self.token.kind != "end":
            raise self.fail(f'"{instead}" or the end of the text' if instead else "the end of the text")


def constant(token: Token, text: Text) -> str:
    """The constant that a word of a fact or example stands for; ``_`` alone is refused."""
    if token.kind == "word" and token.value == "_":
        raise ParseError('"_" in a fact: every argument must be a constant.', text.place(token.offset))
    return token.value


def parse_fact(text: str, source: str = "fact", line: int = 1) -> Atom:
    """One ground atom: ``friends(Ann, bob).`` Every argument is a constant, whatever its case."""
    parser = Parser(Text(text, source, line))
    predicate = parser.name("a predicate name")
    args = tuple(constant(token, parser.text) for token in parser.arguments())
    parser.end()
    return Atom(predicate, args)


def parse_mode(text: str, source: str = "mode", line: int = 1) -> Mode:
    """``friends(+person,-person).``, with or without ``mode:`` before it."""
    parser = Parser(Text(text, source, line))
    mode, _ = read_mode(parser)
    parser.end()
    return mode


def read_mode(parser: Parser) -> tuple[Mode, list[Token]]:
    """A mode, and the tokens of its ``!k`` suffixes, which are ignored."""
    predicate = parser.name("a predicate name")
    if predicate == "mode" and parser.at(":"):
        parser.next()
        predicate = parser.name("a predicate name")
    opening = parser.take("(", '"(" after the predicate name')
    args: list[Argument] = []
    ignored: list[Token] = []
    while True:
        args.append(_mode_argument(parser))
        parser.check_number(len(args), opening)
        if parser.at("!"):
            ignored.append(parser.next())
            parser.name("a number after !")
        if parser.at(")"):
            parser.next()
            return Mode(predicate, tuple(args)), ignored
        if parser.token.kind in ("end", "stop"):
            raise ParseError('this "(" is not closed.', parser.text.place(opening.offset))
        parser.take(",", '"," or ")"')


def _mode_argument(parser: Parser) -> Argument:
    token = parser.token
    if parser.at("`"):
        parser.next()
        return Argument(Kind.NEW, parser.name("a type name after `"))
    if token.kind == "word" and token.value[0] in "+-#":
        kind = Kind(token.value[0])
        parser.next()
        type_name = token.value[1:].lower() or parser.name(f"a type name after {kind.value}")
        return Argument(kind, type_name)
    raise parser.fail("+type, -type, #type or `type")


def parse_clause(text: str, schema: Schema | None = None, source: str = "clause") -> Clause:
    """A clause from text. If a schema is given, names, arities and types are checked against it.

    >>> print(parse_clause("cancer(P) :- friends(P, F), not smokes(F)"))
    cancer(A) :- friends(A,B), not smokes(B).
    >>> print(parse_clause("cancer(P) :- age(P, X), not X < 35, X<40"))
    cancer(A) :- age(A,B), B >= 35, B < 40.
    """
    parser = Parser(Text(text, source), pattern=CLAUSE_TOKEN)
    reader = ClauseReader(parser, schema)
    head = reader.head()
    body: list[Literal] = []
    instead = ":-"
    if parser.token.kind == "arrow":
        parser.next()
        instead = ""
        if parser.token.kind == "word" and parser.token.value == "true":
            parser.next()
        else:
            body.append(reader.literal())
            while parser.at(","):
                parser.check_length(len(body))
                parser.next()
                body.append(reader.literal())
    parser.end("," if body else instead)
    reader.check_comparisons()
    return Clause(head, tuple(body))


class ClauseReader:
    """Reads literals of a clause, numbers variables by first use, and checks both against a schema."""

    def __init__(self, parser: Parser, schema: Schema | None) -> None:
        self.parser = parser
        self.schema = schema
        self.numbers: dict[str, int] = {}
        self.types: dict[int, tuple[str, str]] = {}
        self.comparisons: list[tuple[Comparison, Token]] = []

    def head(self) -> Atom:
        token = self.parser.token
        head = self.atom()
        if any(isinstance(term, str) for term in head.args) or len(set(head.args)) != len(head.args):
            raise ParseError(
                f'the arguments of the head "{head.predicate}" must be distinct variables '
                "(words that start with an upper-case letter).",
                self.parser.text.place(token.offset),
            )
        return head

    def literal(self) -> Literal:
        first = self.parser.token
        negated = first.kind == "word" and first.value.lower() == "not"
        if negated:
            self.parser.next()
        token = self.parser.token
        if token.kind in ("word", "quoted") and token.value:
            self.parser.next()
            if self.parser.token.kind == "compare" and is_variable(token):
                return self.comparison(token, negated)
            atom = self.atom_named(token)
            return Not(atom) if negated else atom
        raise self.parser.fail("a predicate name")

    def atom(self) -> Atom:
        token = self.parser.token
        self.parser.name("a predicate name")
        return self.atom_named(token)

    def comparison(self, variable: Token, negated: bool) -> Comparison:
        """A comparison such as ``X >= 35`` whose variable was just read; negation swaps the two operators."""
        operator = self.parser.token
        if operator.value not in (AT_LEAST, BELOW):
            raise self.parser.fail(f'"{AT_LEAST}" or "{BELOW}"')
        self.parser.next()
        token = self.parser.token
        value = read_value(token.value) if token.kind in ("word", "quoted") else None
        if value is None:
            raise self.parser.fail("a number, or a date such as 2001-12-31")
        self.parser.next()
        number = self.term(variable)
        assert isinstance(number, int)
        comparison = Comparison(number, operator.value, value)
        comparison = comparison.negated() if negated else comparison
        self.comparisons.append((comparison, variable))
        return comparison

    def check_comparisons(self) -> None:
        """Refuse comparisons of variables without a numeric type; types are known once the clause is read."""
        for comparison, token in self.comparisons if self.schema is not None else ():
            assert self.schema is not None
            _, type_name = self.types.get(comparison.variable, (None, None))
            problem = self.schema.misfit(comparison, type_name, token.value)
            if problem is not None:
                raise SchemaError(problem, self.parser.text.place(token.offset))

    def atom_named(self, token: Token) -> Atom:
        """An atom whose name was just read."""
        predicate = token.value.lower()
        arguments = self.parser.arguments()
        atom = Atom(predicate, tuple(map(self.term, arguments)))
        if self.schema is not None:
            self._check(atom, token, arguments)
        return atom

    def term(self, token: Token) -> Term:
        if not is_variable(token):
            return token.value
        if token.value == "_":
            return self.numbers.setdefault(f"_ {token.offset}", len(self.numbers))
        return self.numbers.setdefault(token.value, len(self.numbers))

    def _check(self, atom: Atom, token: Token, arguments: list[Token]) -> None:
        assert self.schema is not None
        place = self.parser.text.place
        known = self.schema.predicates
        if atom.predicate not in known:
            hint = did_you_mean(atom.predicate, known, "Predicates")
            raise SchemaError(f'no predicate "{atom.predicate}". {hint}', place(token.offset))
        types = known[atom.predicate]
        if len(types) != len(arguments):
            raise SchemaError(
                f'"{atom.predicate}" has {plural(len(arguments), "argument")} here, but takes '
                f"{len(types)}: {atom.predicate}({','.join(types)}).",
                place(token.offset),
            )
        for term, type_name, argument in zip(atom.args, types, arguments, strict=True):
            if isinstance(term, int):
                name, first = self.types.setdefault(term, (argument.value, type_name))
                if first != type_name:
                    raise SchemaError(
                        f"variable {name} is used as {first} and here as {type_name}; use two variables.",
                        place(argument.offset),
                    )


def is_variable(token: Token) -> bool:
    return token.kind == "word" and (token.value[0].isupper() or token.value[0] == "_")
