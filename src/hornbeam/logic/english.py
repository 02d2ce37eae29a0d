"""Clauses for people: what a clause says, as an English sentence.

A text is a list of pieces: strings, and the numbers of variables, so that whoever shows it can set
the variables apart, or put the names of an example in their place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hornbeam.logic.clauses import AT_LEAST, Atom, Clause, Comparison, Literal, Not
from hornbeam.logic.schema import Schema
from hornbeam.logic.text import format_constant, format_name, format_value, variable_name

Pieces = list[str | int]


def text_of(pieces: Sequence[str | int]) -> str:
    """The pieces as plain text."""
    return "".join(variable_name(piece) if isinstance(piece, int) else piece for piece in pieces)


def literal_pieces(literal: Literal) -> Pieces:
    """A literal as its text has it.

    >>> literal_pieces(Atom("friends", (0, "bob")))
    ['friends(', 0, ', ', 'bob', ')']
    """
    if isinstance(literal, Comparison):
        sign = "≥" if literal.operator == AT_LEAST else "<"
        return [literal.variable, f" {sign} {format_value(literal.value)}"]
    if isinstance(literal, Not):
        return ["not ", *literal_pieces(literal.atom)]
    found: Pieces = [f"{format_name(literal.predicate)}("]
    for place, term in enumerate(literal.args):
        if place:
            found.append(", ")
        found.append(format_constant(term) if isinstance(term, str) else term)
    return [*found, ")"]


def body_pieces(body: Sequence[Literal]) -> Pieces:
    """A body as logic writes it: its literals with commas between."""
    return _joined([literal_pieces(literal) for literal in body], ", ", ", ") if body else ["true"]


def clause_pieces(clause: Clause) -> Pieces:
    """A clause as logic writes it."""
    return [*literal_pieces(clause.head), " :- ", *body_pieces(clause.body), "."]


def sentence(
    clause: Clause,
    schema: Schema,
    rises: bool | None,
    single: bool = False,
    at_least: int | None = None,
    each: int | None = None,
    share: bool = False,
) -> Pieces:
    """What a clause says of its head.

    ``rises``: whether true groundings make the head likelier; None where they make no difference, or not
    the same one for all. ``single``: whether there is never more than one. ``at_least``: how many there
    must be, where that alone counts. ``each``: the variable of which it counts which constant it is.
    ``share``: whether it counts for what part of the groundings of its guard the last literal holds.

    >>> from hornbeam.logic.parse import parse_clause
    >>> schema = Schema({"cancer": ("person",), "friends": ("person", "person"), "smokes": ("person",)})
    >>> friends = parse_clause("cancer(A) :- friends(A,B), smokes(B).")
    >>> text_of(sentence(friends, schema, True))
    'cancer(A) is likelier the more persons B there are with friends(A, B) and smokes(B).'
    >>> text_of(sentence(friends, schema, False, single=True))
    'cancer(A) is less likely if there is some person B with friends(A, B) and smokes(B).'
    >>> text_of(sentence(friends, schema, True, at_least=3))
    'cancer(A) is likelier if there are at least 3 persons B with friends(A, B) and smokes(B).'
    >>> text_of(sentence(friends, schema, None, each=1))
    'cancer(A) depends on which persons B there are with friends(A, B) and smokes(B).'
    >>> text_of(sentence(friends, schema, True, share=True))
    'cancer(A) is likelier the larger the share with smokes(B) of the persons B with friends(A, B).'
    >>> text_of(sentence(parse_clause("cancer(A) :- smokes(A)."), schema, False))
    'cancer(A) is less likely if smokes(A).'
    """
    free = clause.free_variables()
    types = {variable: _noun(name) for variable, name in schema.variable_types(clause).items()}
    conditions = _joined([literal_pieces(literal) for literal in clause.body], ", ", " and ") or ["always"]
    whether = {True: " is likelier if ", False: " is less likely if ", None: " depends on whether "}[rises]
    more = {
        True: " is likelier the more ",
        False: " is less likely the more ",
        None: " depends on how many ",
    }[rises]
    head = literal_pieces(clause.head)
    if not free:
        return [*head, whether, *conditions, "."]
    several = _several(free, types)
    if share:
        much = {True: " is likelier the larger ", False: " is less likely the larger ", None: " depends on "}
        guard = _joined([literal_pieces(literal) for literal in clause.body[:-1]], ", ", " and ")
        last = literal_pieces(clause.body[-1])
        return [*head, much[rises], "the share with ", *last, " of the ", *several, " with ", *guard, "."]
    if each is not None:
        how: Pieces = [" depends on which ", f"{_plural(types[each])} ", each, " there are with "]
    elif at_least is not None and at_least > 1:
        how = [whether, f"there are at least {at_least:,} ", *several, " with "]
    elif single or at_least is not None:
        some = _joined([[f"some {types[variable]} ", variable] for variable in free], ", ", " and ")
        how = [whether, "there is " if len(free) == 1 else "there are ", *some, " with "]
    else:
        how = [more, *several, " there are with "]
    return [*head, *how, *conditions, "."]


def _several(free: Sequence[int], types: Mapping[int, str]) -> Pieces:
    """``persons B``, or ``combinations of person B and film C``."""
    if len(free) == 1:
        return [f"{_plural(types[free[0]])} ", free[0]]
    return [
        "combinations of ",
        *_joined([[f"{types[variable]} ", variable] for variable in free], ", ", " and "),
    ]


def _noun(type_name: str) -> str:
    """A type's name as a word: the values of a column ``age`` are of the type ``age_value``."""
    return type_name.removesuffix("_value") or type_name


def _plural(noun: str) -> str:
    """A type's name for several of them; names that are no plain word are left alone."""
    if not noun.isascii() or not noun.isalpha() or noun.endswith("s"):
        return noun
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("x", "ch", "sh")) else f"{noun}s"


def _joined(parts: Sequence[Pieces], between: str, last: str) -> Pieces:
    found: Pieces = []
    for place, part in enumerate(parts):
        if place:
            found.append(last if place == len(parts) - 1 else between)
        found += part
    return found


def atom_text(atom: Atom) -> str:
    """An atom as people read it: a space after each comma."""
    return text_of(literal_pieces(atom))
