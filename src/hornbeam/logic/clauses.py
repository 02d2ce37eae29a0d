"""Clauses as immutable, hashable trees, and their one canonical form.

A *term* is a variable or a constant. A variable is its number (an ``int``): the head's variables
are 0, 1, ..., the free variables follow. A constant is its name (a ``str``). Names of variables
exist in text only; ``syntax`` reads and writes them.

A literal is an atom, a negated atom, or a comparison of a variable with a number or a date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

Term = int | str
Value = float | datetime
"""What a variable is compared with: a finite number, or a point in time without a time zone."""


class Atom(NamedTuple):
    """A predicate applied to terms: ``friends(A,B)`` is ``Atom("friends", (0, 1))``."""

    predicate: str
    args: tuple[Term, ...]


class Not(NamedTuple):
    """A negated atom: true where the atom is not a fact."""

    atom: Atom


AT_LEAST = ">="
BELOW = "<"


class Comparison(NamedTuple):
    """A variable's value against a threshold: ``B >= 35`` is ``Comparison(1, ">=", 35.0)``.

    The operator is ``>=`` or ``<``; each is the other's negation. The variable is of a numeric type.
    """

    variable: int
    operator: str
    value: Value

    def negated(self) -> Comparison:
        return self._replace(operator=BELOW if self.operator == AT_LEAST else AT_LEAST)


Literal = Atom | Not | Comparison


class _HeadAndBody(NamedTuple):
    head: Atom
    body: tuple[Literal, ...]


class Clause(_HeadAndBody):
    """A head whose arguments are distinct variables, and a body: a conjunction of literals.

    What others find out about a clause they may keep in its ``vars``; that is no part of its value.
    """

    def __getstate__(self) -> None:
        """Copies and pickles hold the value alone."""

    def free_variables(self) -> tuple[int, ...]:
        """Variables of the body that are not in the head, in order of first use."""
        arity = len(self.head.args)
        return tuple(dict.fromkeys(v for v in variables(self.body) if v >= arity))

    def touches_head(self) -> bool:
        """Whether the body uses a variable of the head; if not, all examples have the same counts."""
        return any(variable in self.head.args for variable in variables(self.body))

    def __str__(self) -> str:
        return format_clause(self)


def head_atom(predicate: str, arity: int) -> Atom:
    """The head of every clause for a target: ``head_atom("advisedby", 2)`` is ``advisedby(A,B)``."""
    return Atom(predicate, tuple(range(arity)))


def atom_of(literal: Atom | Not) -> Atom:
    """The atom of a literal, negated or not."""
    return literal if isinstance(literal, Atom) else literal.atom


def atoms_of(body: Iterable[Literal]) -> Iterator[Atom]:
    """The atoms of a body, negated or not, in order; comparisons have none."""
    for literal in body:
        if not isinstance(literal, Comparison):
            yield atom_of(literal)


@lru_cache(maxsize=65536)
def literal_variables(literal: Literal) -> tuple[int, ...]:
    """The distinct variables of a literal in order of first use."""
    if isinstance(literal, Comparison):
        return (literal.variable,)
    return tuple(dict.fromkeys(term for term in atom_of(literal).args if isinstance(term, int)))


def variables(body: Iterable[Literal]) -> Iterator[int]:
    """Every use of a variable in a body, in order, with repetitions."""
    for literal in body:
        terms = (literal.variable,) if isinstance(literal, Comparison) else atom_of(literal).args
        for term in terms:
            if isinstance(term, int):
                yield term


def rename(literal: Literal, names: dict[int, int]) -> Literal:
    """The literal with each variable replaced; variables not in ``names`` stay."""
    if isinstance(literal, Comparison):
        return literal._replace(variable=names.get(literal.variable, literal.variable))
    if isinstance(literal, Not):
        return Not(rename_atom(literal.atom, names))
    return rename_atom(literal, names)


def rename_atom(atom: Atom, names: dict[int, int]) -> Atom:
    return Atom(
        atom.predicate,
        tuple(names.get(term, term) if isinstance(term, int) else term for term in atom.args),
    )


# --- text ------------------------------------------------------------------------------------


def variable_name(number: int) -> str:
    """A, B, ..., Z, A1, B1, ...

    >>> variable_name(0), variable_name(25), variable_name(26)
    ('A', 'Z', 'A1')
    """
    letter = chr(ord("A") + number % 26)
    return letter if number < 26 else f"{letter}{number // 26}"


# A full stop inside a word must be followed by more of the word: at its end it would end the clause.
_BARE_CONSTANT = re.compile(r"[a-z0-9](?:[A-Za-z0-9_+-]|\.(?=[A-Za-z0-9_+-]))*")
_BARE_NAME = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED = frozenset(["not", "true"])
"""words that begin a negated literal or are the empty body"""
_NAMES = tuple(variable_name(number) for number in range(104))


def _name(number: int) -> str:
    return _NAMES[number] if number < len(_NAMES) else variable_name(number)


@lru_cache(maxsize=65536)
def format_constant(name: str) -> str:
    """A constant as clause text shows it: bare where that reads back, else quoted.

    >>> format_constant("bob"), format_constant("Bob"), format_constant("it's")
    ('bob', "'Bob'", "'it\\\\'s'")
    """
    return name if _BARE_CONSTANT.fullmatch(name) else _quoted(name)


@lru_cache(maxsize=4096)
def format_name(name: str) -> str:
    """A predicate or a type as text shows it: quoted unless it is a plain word.

    >>> format_name("friends"), format_name("has space"), format_name("not")
    ('friends', "'has space'", "'not'")
    """
    return name if name not in _RESERVED and _BARE_NAME.fullmatch(name) else _quoted(name)


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    escaped = escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f"'{escaped}'"


def format_value(value: Value) -> str:
    """The shortest text that reads back as the very same value; midnight is a date.

    >>> [format_value(value) for value in (35.0, -0.1, 1e300, 2.0**53)]
    ['35', '-0.1', '1e+300', '9007199254740992']
    >>> format_value(datetime(1998, 3, 1)), format_value(datetime(1998, 3, 1, 12, 30))
    ('1998-03-01', '1998-03-01T12:30:00')
    """
    if isinstance(value, datetime):
        at_midnight = (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0)
        return value.date().isoformat() if at_midnight else value.isoformat()
    return str(int(value)) if value == int(value) and abs(value) < 1e16 else repr(float(value))


def _format_comparison(comparison: Comparison) -> str:
    text = format_value(comparison.value)
    # A time of day has marks in it that are no part of a word.
    shown = _quoted(text) if ":" in text else text
    return f"{_name(comparison.variable)} {comparison.operator} {shown}"


def format_literal(literal: Literal) -> str:
    """``friends(A,B)``, ``not friends(A,B)`` or ``B >= 35``."""
    if isinstance(literal, Comparison):
        return _format_comparison(literal)
    if isinstance(literal, Not):
        return "not " + format_literal(literal.atom)
    args = ",".join(_name(term) if isinstance(term, int) else format_constant(term) for term in literal.args)
    return f"{format_name(literal.predicate)}({args})"


def format_clause(clause: Clause) -> str:
    """Clause text: ``cancer(A) :- friends(A,B), smokes(B).``; an empty body is ``true``."""
    body = ", ".join(map(format_literal, clause.body)) if clause.body else "true"
    return f"{format_literal(clause.head)} :- {body}."


# --- canonical form --------------------------------------------------------------------------


def canonical(clause: Clause) -> Clause:
    """The clause whose text is smallest over all orders of the body and names of free variables.

    Comparisons come into it after the atoms: of the orders in which the atoms read smallest, that
    with the smallest comparisons. Each then stands right behind the first literal of its variable.
    Bodies equal up to order and names have one canonical form. Literals that stand twice count
    once: a conjunction does not change by saying a thing again.
    """
    return Clause(clause.head, canonical_body(clause.body, len(clause.head.args)))


def with_constant(clause: Clause, variable: int, name: str) -> Clause:
    """The clause with a constant in place of a free variable, in canonical form.

    >>> str(with_constant(Clause(Atom("female", (0,)), (Atom("rated", (0, 1)),)), 1, "alien"))
    'female(A) :- rated(A,alien).'
    """

    def put(atom: Atom) -> Atom:
        return atom._replace(args=tuple(name if term == variable else term for term in atom.args))

    body: list[Literal] = []
    for literal in clause.body:
        if isinstance(literal, Comparison):
            assert literal.variable != variable, "what is compared is a number, not a constant"
            body.append(literal)
        else:
            body.append(Not(put(literal.atom)) if isinstance(literal, Not) else put(literal))
    return canonical(Clause(clause.head, tuple(body)))


def canonical_body(body: Sequence[Literal], bound: int) -> tuple[Literal, ...]:
    """Canonical form of a body whose variables 0 .. bound-1 keep their numbers.

    No literal's text is a prefix of another's, so the smallest text of the whole starts with the
    literal that is smallest when it comes first; only ties between literals must be explored.
    (The texts of comparisons, where 35 is a prefix of 351, are compared one by one, not joined.)
    """
    distinct = tuple(dict.fromkeys(body))
    names = {number: number for number in range(bound)}
    literals = _smallest(distinct, names)[1]
    return _placed(literals) if literals and isinstance(literals[-1], Comparison) else literals


def _placed(literals: tuple[Literal, ...]) -> tuple[Literal, ...]:
    """Comparisons, which stand last, moved behind the first literal of their variable."""
    waiting = [literal for literal in literals if isinstance(literal, Comparison)]
    placed: list[Literal] = []
    for literal in literals[: -len(waiting)]:
        placed.append(literal)
        named = literal_variables(literal)
        placed += [comparison for comparison in waiting if comparison.variable in named]
        waiting = [comparison for comparison in waiting if comparison.variable not in named]
    return (*placed, *waiting)


_Tie = tuple[Literal, Literal, dict[int, int]]
"""A literal, the same with its new variables named, and those names."""


def _smallest(
    rest: tuple[Literal, ...], names: dict[int, int]
) -> tuple[tuple[str, ...], tuple[Literal, ...]]:
    """Texts and literals of the smallest order of ``rest`` when ``names`` are already given."""
    texts: list[str] = []
    literals: list[Literal] = []
    while rest:
        best_text: str | None = None
        ties: list[_Tie] = []
        for literal in rest:
            named, text, added = _named(literal, names)
            if best_text is None or text < best_text:
                best_text, ties = text, [(literal, named, added)]
            elif text == best_text:
                ties.append((literal, named, added))
        assert best_text is not None
        texts.append(best_text)
        if len(ties) > 1:
            ties = _not_alike(ties, rest, names)
        if len(ties) > 1:
            options = []
            for literal, named, added in ties:
                others = tuple(other for other in rest if other is not literal)
                tail_texts, tail = _smallest(others, {**names, **added})
                options.append((tail_texts, (named, *tail)))
            tail_texts, tail = min(options)
            return (*texts, *tail_texts), (*literals, *tail)
        literal, named, added = ties[0]
        literals.append(named)
        if added:
            names = {**names, **added}
        rest = tuple(other for other in rest if other is not literal)
    return tuple(texts), tuple(literals)


def _not_alike(ties: list[_Tie], rest: tuple[Literal, ...], names: dict[int, int]) -> list[_Tie]:
    """One of each kind of tied literals.

    A literal's part is every literal that unnamed variables link to it. Two whose parts read the
    same, each starting with the literal itself, can be swapped without changing the body.
    """
    kinds: dict[tuple[str, ...], _Tie] = {}
    for tie in ties:
        literal, _, added = tie
        part = _part(literal, rest, names)
        texts, _ = _smallest(part, {**names, **added}) if part else ((), ())
        kinds.setdefault(texts, tie)
    return list(kinds.values())


def _part(literal: Literal, rest: tuple[Literal, ...], names: dict[int, int]) -> tuple[Literal, ...]:
    """The other literals of ``rest`` that unnamed variables link to this one, directly or not."""
    reached = {variable for variable in literal_variables(literal) if variable not in names}
    part: list[Literal] = []
    outside = [other for other in rest if other is not literal]
    growing = True
    while growing:
        growing = False
        for other in tuple(outside):
            found = [variable for variable in literal_variables(other) if variable not in names]
            if not reached.isdisjoint(found):
                reached.update(found)
                outside.remove(other)
                part.append(other)
                growing = True
    return tuple(part)


def _named(literal: Literal, names: dict[int, int]) -> tuple[Literal, str, dict[int, int]]:
    """The literal with its new variables named by first use, its text, and those new names.

    The text of a comparison starts with a mark that puts it after every atom.
    """
    if isinstance(literal, Comparison):
        number = names.get(literal.variable)
        fresh = {} if number is not None else {literal.variable: len(names)}
        compared = literal._replace(variable=len(names) if number is None else number)
        return compared, "~" + _format_comparison(compared), fresh
    atom = literal if isinstance(literal, Atom) else literal.atom
    added: dict[int, int] = {}
    args: list[Term] = []
    words: list[str] = []
    for term in atom.args:
        if isinstance(term, int):
            number = names.get(term)
            if number is None:
                number = added.get(term)
                if number is None:
                    number = added[term] = len(names) + len(added)
            args.append(number)
            words.append(_NAMES[number] if number < 104 else variable_name(number))
        else:
            args.append(term)
            words.append(format_constant(term))
    named = Atom(atom.predicate, tuple(args))
    text = f"{format_name(atom.predicate)}({','.join(words)})"
    if literal is not atom:
        return Not(named), "not " + text, added
    return named, text, added
