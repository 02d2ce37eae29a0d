"""Clauses for people: what a clause says, as an English sentence.

A sentence is a list of pieces: strings, and variables as numbers. The caller can show variables in another
style, or replace them with the names of an example.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hornbeam.logic.clauses import (
    AT_LEAST,
    Clause,
    Comparison,
    Literal,
    Not,
    format_constant,
    format_name,
    format_value,
    variable_name,
)
from hornbeam.logic.english.nouns import noun_of, plural_of
from hornbeam.logic.schema import Schema

Pieces = list[str | int]


def text_of(pieces: Sequence[str | int]) -> str:
    """The pieces as plain text."""
    return "".join(variable_name(piece) if isinstance(piece, int) else piece for piece in pieces)


def literal_pieces(literal: Literal) -> Pieces:
    """A literal as people read it: with a space after each comma and a sign for "at least".

    >>> from hornbeam.logic.clauses import Atom
    >>> literal_pieces(Atom("friends", (0, "bob")))
    ['friends(', 0, ', ', 'bob', ')']
    """
    if isinstance(literal, Comparison):
        sign = "≥" if literal.operator == AT_LEAST else "<"
        return [literal.variable, f" {sign} {format_value(literal.value)}"]
    if isinstance(literal, Not):
        return ["not ", *literal_pieces(literal.atom)]
    terms: list[Pieces] = [
        [format_constant(term) if isinstance(term, str) else term] for term in literal.args
    ]
    return [f"{format_name(literal.predicate)}(", *joined(terms, ", ", ", "), ")"]


def body_pieces(body: Sequence[Literal]) -> Pieces:
    """A body in logic notation: its literals, separated by commas."""
    return joined([literal_pieces(literal) for literal in body], ", ", ", ") if body else ["true"]


def clause_pieces(clause: Clause) -> Pieces:
    """A clause in logic notation."""
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
    """How the body of a clause affects the probability of its head.

    ``rises`` is the effect of more true groundings: True raises the probability, False lowers it, None if the
    effect is mixed or zero. The other arguments describe the feature that a model computes from the clause.
    ``single``: there is never more than one grounding. ``at_least``: the feature is whether there are at
    least this many groundings. ``each``: each constant of this variable has its own weight. ``share``: the
    feature is the share of the guard's groundings for which the last literal holds.

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
    head = literal_pieces(clause.head)
    conditions = _all_of(clause.body) or ["always"]
    free = clause.free_variables()
    if not free:
        return [*head, _IF[rises], *conditions, "."]
    nouns = {variable: noun_of(name) for variable, name in schema.variable_types(clause).items()}
    several = _several(free, nouns)
    if share:
        last, guard = literal_pieces(clause.body[-1]), _all_of(clause.body[:-1])
        return [*head, _LARGER[rises], "the share with ", *last, " of the ", *several, " with ", *guard, "."]
    if each is not None:
        how: Pieces = [" depends on which ", f"{plural_of(nouns[each])} ", each, " there are with "]
    elif at_least is not None and at_least > 1:
        how = [_IF[rises], f"there are at least {at_least:,} ", *several, " with "]
    elif single or at_least is not None:
        some = joined([[f"some {nouns[variable]} ", variable] for variable in free], ", ", " and ")
        how = [_IF[rises], "there is " if len(free) == 1 else "there are ", *some, " with "]
    else:
        how = [_MORE[rises], *several, " there are with "]
    return [*head, *how, *conditions, "."]


_IF = {True: " is likelier if ", False: " is less likely if ", None: " depends on whether "}
_MORE = {True: " is likelier the more ", False: " is less likely the more ", None: " depends on how many "}
_LARGER = {True: " is likelier the larger ", False: " is less likely the larger ", None: " depends on "}


def _all_of(body: Sequence[Literal]) -> Pieces:
    """``friends(A, B) and smokes(B)``."""
    return joined([literal_pieces(literal) for literal in body], ", ", " and ")


def _several(free: Sequence[int], types: Mapping[int, str]) -> Pieces:
    """``persons B``, or ``combinations of person B and film C``."""
    if len(free) == 1:
        return [f"{plural_of(types[free[0]])} ", free[0]]
    return [
        "combinations of ",
        *joined([[f"{types[variable]} ", variable] for variable in free], ", ", " and "),
    ]


def joined(items: Sequence[Pieces], between: str, before_last: str) -> Pieces:
    pieces: Pieces = []
    for position, item in enumerate(items):
        if position:
            pieces.append(before_last if position == len(items) - 1 else between)
        pieces += item
    return pieces
