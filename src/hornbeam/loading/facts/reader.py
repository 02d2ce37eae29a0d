"""Reads one file: its facts in columns, and its other statements with their places.

Three readers take turns: ``plain_reader`` for long runs of plain lines, a regular expression for facts
with comments and quotes, and ``statements`` for one statement of any kind. The fast readers take only
text that has one meaning, so the result is that of ``statements`` alone.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

import numpy as np

from hornbeam.data.database import Coded, Codes
from hornbeam.errors import Place
from hornbeam.loading.facts.plain_reader import NotPlainError, read_plain
from hornbeam.loading.facts.statements import Fact, Statement, read_statement, skip_space, statements
from hornbeam.logic.clauses import Atom
from hornbeam.logic.parse import MOST_ARGUMENTS, WORD, Text

Signature = tuple[str, int]
"""A predicate and the number of its arguments."""


@dataclass(frozen=True, slots=True)
class Contents:
    """A file's facts, as columns by predicate and arity in file order, and its other statements."""

    path: Path
    text: Text
    bare_modes: bool
    facts: dict[Signature, tuple[Coded, ...]]
    others: tuple[Statement, ...]

    def place(self, statement: Statement) -> Place:
        return self.text.place(statement.offset)

    def first_place(self, signature: Signature) -> Place:
        """The place of the first fact with this predicate and number of arguments."""
        for each, offset in _signatures(self.text, self.bare_modes):
            if each == signature:
                return self.text.place(offset)
        return Place(self.text.source)


def read_contents(path: Path, text: str, bare_modes: bool) -> Contents:
    """The facts and statements of a file; ``bare_modes`` is explained at ``read_statement``."""
    named = Text(text, str(path))
    try:
        return _fast(path, named, bare_modes)
    except _DoubtfulWordError as doubt:
        # Almost always an error: reading the text near the word reports it. Otherwise, read the whole file.
        for _ in statements(named, bare_modes, doubt.start, doubt.end):
            pass
        return read_carefully(path, text, bare_modes)


def read_carefully(path: Path, text: str, bare_modes: bool) -> Contents:
    """The same as ``read_contents``, one statement at a time: this defines what a file means."""
    named = Text(text, str(path))
    table = _FactTable()
    others = []
    for statement in statements(named, bare_modes):
        if isinstance(statement, Fact):
            table.add(statement.atom)
        else:
            others.append(statement)
    return Contents(path, named, bare_modes, table.columns(), tuple(others))


# --- the fast way ----------------------------------------------------------------------------

_UNQUOTED = r"""[^()'"%:=!`{}]*+"""
_ARGUMENTS = rf"""{_UNQUOTED} (?: '[^'\\\n,]*+' {_UNQUOTED} | "[^"\\\n,]*+" {_UNQUOTED} )*+"""
_AFTER = r"""(?: \. | (?= [ \t]*+ \r?\n \s*+ [\w-]+[ ]*+\( ) ) \s*+ (?: (?:%|//)[^\n]*+ \s*+ )*+"""
"""A full stop, which may be missing if the next line begins with another fact; then comments."""
_UNMARKED = r"(?! \s*+[-+\#`] | [^()]*?,\s*+[-+\#`] )"
"""No argument begins like one of a mode."""


def _expressions(guard: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """One pattern for a plain fact, and one for a fact or else the remaining text."""
    fact = rf"([\w-]+)[ ]*+ \( {guard} ({_ARGUMENTS}) \) {_AFTER}"
    return re.compile(fact, re.VERBOSE), re.compile(rf"{fact} | ([\s\S]+)", re.VERBOSE)


_FACT, _FACTS = _expressions("")
_UNMARKED_FACT, _UNMARKED_FACTS = _expressions(_UNMARKED)
_PLAIN_WORD = re.compile(rf"(?! // | <- | \[ | _\Z ) {WORD}", re.VERBOSE)
_SMALLEST_CHUNK, _LARGEST_CHUNK = 1 << 12, 1 << 17
_SMALLEST_BLOCK, _LARGEST_BLOCK = 1 << 14, 1 << 24
_SHORT = 1 << 11
"""for shorter texts, setting up arrays costs more than it saves"""


class _DoubtfulWordError(Exception):
    """A word between two positions is not a plain constant."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__()
        self.start = start
        self.end = end


def _fast(path: Path, named: Text, bare_modes: bool) -> Contents:
    text = named.text
    find_facts = (_UNMARKED_FACTS if bare_modes else _FACTS).findall
    plain_fact = _UNMARKED_FACT if bare_modes else _FACT
    table = _FactTable()
    others: list[Statement] = []
    block, chunk = _LARGEST_BLOCK, _LARGEST_CHUNK
    line_ends = _LineEnds(text)
    position = skip_space(text, 0)
    while position < len(text):
        end = line_ends.after(position + block)
        # A line of many megabytes is not plain, and its arrays would be many times larger.
        taken = 0 if end - position > 2 * block else table.add_plain(text[position:end], not bare_modes)
        block = (
            min(4 * block, _LARGEST_BLOCK) if position + taken == end else max(block // 4, _SMALLEST_BLOCK)
        )
        position = skip_space(text, position + taken)
        if taken:
            continue
        end = line_ends.after(position + chunk)
        if end - position > 2 * chunk:
            facts, after = _few_facts(plain_fact, text, position, chunk)
            stopped = after == position
        else:
            facts = find_facts(text, position, end)
            after = end - len(facts[-1][2])
            stopped = after < end
        try:
            table.add_run(facts[:-1] if facts and facts[-1][2] else facts)
        except ValueError:
            raise _DoubtfulWordError(position, end) from None
        position = after
        chunk = min(4 * chunk, _LARGEST_CHUNK)
        if stopped:
            statement, position = read_statement(named, position, bare_modes)
            if isinstance(statement, Fact):
                table.add(statement.atom)
            else:
                others.append(statement)
            chunk = _SMALLEST_CHUNK
        position = skip_space(text, position)
    return Contents(path, named, bare_modes, table.columns(), tuple(others))


class _LineEnds:
    """Finds the ends of lines; a long line is searched only once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._start = self._end = 0

    def after(self, position: int) -> int:
        """The position after the line that holds a position."""
        if not self._start <= position < self._end:
            self._start = position
            self._end = self._text.find("\n", position) + 1 or len(self._text)
        return self._end


def _few_facts(
    plain_fact: re.Pattern[str], text: str, position: int, most: int
) -> tuple[list[tuple[str, str, str]], int]:
    """Facts at the start of a long line, as ``findall`` gives them, and the position after them.

    The line may be the whole file, so only a part of it is read at a time.
    """
    facts = []
    end = position + most
    while position < end and (match := plain_fact.match(text, position)) is not None:
        facts.append((match[1], match[2], ""))
        position = match.end()
    return facts, position


class _NameColumn:
    """One argument of a predicate: its words, the names that they stand for, and a code for each row."""

    def __init__(self) -> None:
        # A new word gets the next number.
        self.codes: defaultdict[str, int] = defaultdict(count().__next__)
        self.names: list[str] = []
        self.parts: list[Codes] = []
        self.single: list[int] = []

    def add_words(self, words: list[str]) -> None:
        """Add rows of words as written in the text, with spaces and quotes."""
        self._close()
        self.parts.append(self._coded(words))
        self.names.extend(map(_name, self._new_words()))

    def add_coded(self, column: Coded) -> None:
        """Add rows whose words are plain names."""
        self._close()
        self.parts.append(self._coded(column.names)[column.codes])
        self.names.extend(self._new_words())

    def add_name(self, name: str) -> None:
        # No word of a text begins with a parenthesis, so a name never gets the code of a word.
        code = self.codes["(" + name]
        if code == len(self.names):
            self.names.append(name)
        self.single.append(code)

    def _coded(self, words: Sequence[str]) -> Codes:
        return np.fromiter(map(self.codes.__getitem__, words), dtype=np.int32, count=len(words))

    def _new_words(self) -> list[str]:
        """The words that have no name yet, in the order of their codes."""
        return [*islice(reversed(self.codes), len(self.codes) - len(self.names))][::-1]

    def _close(self) -> None:
        if self.single:
            self.parts.append(np.array(self.single, dtype=np.int32))
            self.single.clear()

    def coded(self) -> Coded:
        self._close()
        return Coded(self.names, np.concatenate(self.parts))


class _FactTable:
    """Collects facts in columns."""

    def __init__(self) -> None:
        self._columns: dict[Signature, tuple[_NameColumn, ...]] = {}

    def _of(self, predicate: str, arity: int) -> tuple[_NameColumn, ...]:
        if arity > MOST_ARGUMENTS:
            raise ValueError
        signature = (predicate.lower(), arity)
        columns = self._columns.get(signature)
        if columns is None:
            columns = self._columns[signature] = tuple(_NameColumn() for _ in range(arity))
        return columns

    def add(self, atom: Atom) -> None:
        for column, name in zip(self._of(atom.predicate, len(atom.args)), atom.args, strict=True):
            assert isinstance(name, str)
            column.add_name(name)

    def add_plain(self, text: str, signs: bool) -> int:
        """Add the plain facts at the start of a text; returns the number of characters read."""
        if len(text) < _SHORT or not text.isascii():
            return 0
        try:
            facts, taken = read_plain(text, signs)
        except NotPlainError:
            return 0
        for predicate, columns in facts:
            for column, coded in zip(self._of(predicate, len(columns)), columns, strict=True):
                column.add_coded(coded)
        return taken

    def add_run(self, facts: list[tuple[str, str, str]]) -> None:
        """Add facts as matched: predicate and argument text; ValueError if a word is not a plain constant."""
        for predicate, rows in _by_predicate(facts).items():
            commas = dict.fromkeys(arguments.count(",") for arguments in rows)
            for number in commas:
                same = rows if len(commas) == 1 else [row for row in rows if row.count(",") == number]
                words = ",".join(same).split(",")
                for position, column in enumerate(self._of(predicate, number + 1)):
                    column.add_words(words[position :: number + 1])

    def columns(self) -> dict[Signature, tuple[Coded, ...]]:
        return {
            signature: tuple(column.coded() for column in columns)
            for signature, columns in self._columns.items()
        }


def _by_predicate(facts: list[tuple[str, str, str]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for predicate, arguments, _ in facts:
        try:
            groups[predicate].append(arguments)
        except KeyError:
            groups[predicate] = [arguments]
    if len(set(map(str.lower, groups))) < len(groups):
        # Some predicate is spelled in two cases. In lower case, its facts are one group and keep their order.
        return _by_predicate([(predicate.lower(), arguments, rest) for predicate, arguments, rest in facts])
    return groups


def _name(word: str) -> str:
    """The constant that a word stands for, without surrounding spaces and quotes."""
    word = word.strip()
    if _PLAIN_WORD.fullmatch(word):
        return word
    if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" and word[0] not in word[1:-1]:
        return word[1:-1]
    raise ValueError


def _signatures(text: Text, bare_modes: bool) -> Iterator[tuple[Signature, int]]:
    """Predicate, number of arguments and position of each fact of a text that was read before."""
    plain = _UNMARKED_FACT if bare_modes else _FACT
    position = skip_space(text.text, 0)
    while position < len(text.text):
        match = plain.match(text.text, position)
        if match is not None:
            yield (match[1].lower(), match[2].count(",") + 1), position
            position = match.end()
        else:
            offset = position
            statement, position = read_statement(text, position, bare_modes)
            if isinstance(statement, Fact):
                yield (statement.atom.predicate, len(statement.atom.args)), offset
        position = skip_space(text.text, position)
