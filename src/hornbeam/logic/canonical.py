"""The one canonical form of a clause: equal for clauses that differ only in order and names of variables."""

from __future__ import annotations

from collections.abc import Sequence

from hornbeam.logic.clauses import (
    Atom,
    Clause,
    Comparison,
    Literal,
    Not,
    Term,
    atom_of,
    cut,
    format_constant,
    format_name,
    literal_variables,
    variable_name,
)


def canonical(clause: Clause) -> Clause:
    """The clause whose text is smallest over all orders of the body and names of free variables.

    Atoms are compared first: among the orders whose atoms have the smallest text, the one with the smallest
    comparisons is chosen. Each comparison is then moved behind the first literal that contains its variable.
    Bodies that are equal up to order and names have the same canonical form. A repeated literal is kept once:
    repetition does not change a conjunction.
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
            assert literal.variable != variable, "only a variable that is not compared can become a constant"
            body.append(literal)
        else:
            body.append(Not(put(literal.atom)) if isinstance(literal, Not) else put(literal))
    return canonical(Clause(clause.head, tuple(body)))


def canonical_body(body: Sequence[Literal], bound: int) -> tuple[Literal, ...]:
    """Canonical form of a body whose variables 0 .. bound-1 keep their numbers.

    No literal's text is a prefix of another's, so the smallest text of the body starts with the literal
    whose own text is smallest if it comes first; only ties between literals must be explored. (The texts
    of comparisons, where 35 is a prefix of 351, are compared one by one, not joined.)
    """
    distinct = tuple(dict.fromkeys(body))
    names = {number: number for number in range(bound)}
    literals = _smallest(distinct, names)[1]
    if literals and isinstance(literals[-1], Comparison):
        return _comparisons_moved_up(literals)
    return literals


def _comparisons_moved_up(literals: tuple[Literal, ...]) -> tuple[Literal, ...]:
    """The literals, with each comparison moved from the end to behind the first literal of its variable."""
    waiting = [literal for literal in literals if isinstance(literal, Comparison)]
    ordered: list[Literal] = []
    for literal in literals[: -len(waiting)]:
        ordered.append(literal)
        its_variables = literal_variables(literal)
        ordered += [comparison for comparison in waiting if comparison.variable in its_variables]
        waiting = [comparison for comparison in waiting if comparison.variable not in its_variables]
    return (*ordered, *waiting)


_Tie = tuple[Literal, Literal, dict[int, int]]
"""A literal, the same literal with its new variables named, and those names."""


def _smallest(
    rest: tuple[Literal, ...], names: dict[int, int]
) -> tuple[tuple[str, ...], tuple[Literal, ...]]:
    """The texts and literals of ``rest`` in the order with the smallest text, given the ``names`` so far."""
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
            ties = _one_of_each_kind(ties, rest, names)
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


def _one_of_each_kind(ties: list[_Tie], rest: tuple[Literal, ...], names: dict[int, int]) -> list[_Tie]:
    """The tied literals without those that can be swapped for another one without changing the body.

    Two can be swapped if their components, under the given names, have the same text when each starts
    with the tied literal itself.
    """
    component_of = {
        literal: component.literals for component in cut(rest, names) for literal in component.literals
    }
    kinds: dict[tuple[str, ...], _Tie] = {}
    for tie in ties:
        literal, _, added = tie
        others = tuple(other for other in component_of[literal] if other is not literal)
        texts, _ = _smallest(others, {**names, **added}) if others else ((), ())
        kinds.setdefault(texts, tie)
    return list(kinds.values())


def _named(literal: Literal, names: dict[int, int]) -> tuple[Literal, str, dict[int, int]]:
    """The literal with its new variables named by first use, its text, and those new names.

    The text of a comparison starts with a character that sorts it after every atom.
    """
    if isinstance(literal, Comparison):
        number = names.get(literal.variable)
        fresh = {} if number is not None else {literal.variable: len(names)}
        comparison = literal._replace(variable=len(names) if number is None else number)
        return comparison, f"~{comparison}", fresh
    # The text is put together here, not by ``str``: a search spends much of its time in this loop.
    atom = atom_of(literal)
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
            words.append(variable_name(number))
        else:
            args.append(term)
            words.append(format_constant(term))
    named = Atom(atom.predicate, tuple(args))
    text = f"{format_name(atom.predicate)}({','.join(words)})"
    if literal is not atom:
        return Not(named), "not " + text, added
    return named, text, added
