"""Refinement: every literal that the modes allow to be added to a body."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from hornbeam.clauses import Atom, Clause, Literal, Not, canonical_body
from hornbeam.modes import Kind, Mode
from hornbeam.schema import Schema

Constants = Mapping[tuple[str, int], Sequence[str]]
"""The constants that occur at an argument: ``("genre", 1) -> ("comedy", "drama")``."""


@dataclass(frozen=True, slots=True)
class Language:
    """What a search may say: the target's head, the modes, the constants, and whether to negate."""

    head: Atom
    schema: Schema
    modes: tuple[Mode, ...]
    constants: Constants = field(default_factory=dict)
    negation: bool = False

    def empty(self) -> Clause:
        """The clause without a body, where every search starts."""
        return Clause(self.head, ())


def refinements(clause: Clause, language: Language) -> tuple[Clause, ...]:
    """Canonical clauses with one literal more, no two alike, none that repeats a body literal.

    The target is never in its own body. Two new variables in one literal are distinct.
    """
    arity = len(clause.head.args)
    present = set(clause.body)
    found: dict[tuple[Literal, ...], None] = {}
    for literal in new_literals(clause, language):
        if literal not in present:
            found[canonical_body((*clause.body, literal), arity)] = None
    # A new literal may repeat a body literal up to the name of a new variable; that is allowed and
    # is longer than the body. One that collapses to the body itself cannot arise.
    return tuple(Clause(clause.head, body) for body in found)


def new_literals(clause: Clause, language: Language) -> Iterator[Literal]:
    """Each literal a mode allows, its new variables numbered after those of the clause."""
    types = language.schema.variable_types(clause)
    by_type: dict[str, list[int]] = {}
    for variable, type_name in types.items():
        by_type.setdefault(type_name, []).append(variable)
    first_new = max(types, default=-1) + 1
    seen: set[Atom] = set()
    for mode in language.modes:
        if mode.predicate == language.head.predicate:
            continue
        for atom in _atoms(mode, by_type, first_new, language.constants):
            if atom not in seen:
                seen.add(atom)
                yield atom
                if language.negation:
                    yield Not(atom)


def _atoms(mode: Mode, by_type: dict[str, list[int]], first_new: int, constants: Constants) -> Iterator[Atom]:
    choices: list[Sequence[int | str]] = []
    for position, (kind, type_name) in enumerate(mode.args):
        fresh = first_new + position
        bound = by_type.get(type_name, [])
        if kind is Kind.BOUND:
            choices.append(bound)
        elif kind is Kind.OPEN:
            choices.append([*bound, fresh])
        elif kind is Kind.NEW:
            choices.append([fresh])
        else:
            choices.append(constants.get((mode.predicate, position), ()))
    for args in product(*choices):
        yield Atom(mode.predicate, _consecutive(args, first_new))


def _consecutive(args: tuple[int | str, ...], first_new: int) -> tuple[int | str, ...]:
    """New variables renumbered without gaps, so that equal literals of two modes are equal."""
    names: dict[int, int] = {}
    return tuple(
        names.setdefault(term, first_new + len(names))
        if isinstance(term, int) and term >= first_new
        else term
        for term in args
    )


def memoised(language: Language) -> Callable[[Clause], tuple[Clause, ...]]:
    """``refinements`` for one language that remembers its answers: a search asks again each step."""
    known: dict[Clause, tuple[Clause, ...]] = {}

    def refine(clause: Clause) -> tuple[Clause, ...]:
        answer = known.get(clause)
        if answer is None:
            answer = known[clause] = refinements(clause, language)
        return answer

    return refine
