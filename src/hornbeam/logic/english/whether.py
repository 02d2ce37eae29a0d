"""Conditions on columns of the example itself as clauses: ``its occupation is engineer``."""

from __future__ import annotations

from hornbeam.logic.clauses import AT_LEAST, Atom, Comparison, Not
from hornbeam.logic.effects import Body, Equals
from hornbeam.logic.english.clauses import Pieces, joined
from hornbeam.logic.english.nouns import flag_phrase
from hornbeam.logic.english.wording import Wording
from hornbeam.logic.text import format_constant, format_value


def whether_pieces(head: Atom, body: Body, wording: Wording) -> Pieces:
    """Conditions on columns of the example itself; empty for any other body.

    ``its occupation is engineer`` is true if the example has a fact ``occupation(A,engineer)``.
    """
    if len(head.args) > 1 or not body:
        return []
    starts = [place for place, step in enumerate(body) if not isinstance(step, Comparison | Equals)]
    ends = [*starts[1:], len(body)]
    parts = [_own_condition(body[start:end], wording) for start, end in zip(starts, ends, strict=True)]
    return joined([[part] for part in parts], ", ", " and ") if starts[:1] == [0] and all(parts) else []


def _own_condition(body: Body, wording: Wording) -> str:
    """A condition on one column of the example itself; empty for any other body."""
    negated = "not " if isinstance(body[0], Not) else ""
    atom = body[0].atom if isinstance(body[0], Not) else body[0]
    if not isinstance(atom, Atom) or not atom.args or atom.args[0] != 0:
        return ""
    words = wording.column(atom.predicate)
    if len(body) == 1 and len(atom.args) == 1 and wording.example:
        return f"the {wording.example} {flag_phrase(words, negated=bool(negated))}"
    if len(body) == 1 and len(atom.args) == 2 and isinstance(atom.args[1], str) and wording.example:
        return f"{wording.owner} {words} is {negated}{format_constant(atom.args[1])}"
    last = body[-1]
    if len(body) != 2 or len(atom.args) != 2 or negated:
        return ""
    if isinstance(last, Equals) and last.variable == atom.args[1]:
        return f"{wording.owner} {words} is {format_constant(last.constant)}"
    if isinstance(last, Comparison) and last.variable == atom.args[1]:
        sign = "at least" if last.operator == AT_LEAST else "below"
        return f"{wording.owner} {words} is {sign} {format_value(last.value)}"
    return ""
