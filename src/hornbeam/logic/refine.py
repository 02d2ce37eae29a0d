"""Refinement: everything that the modes allow to be added to a body.

An addition is a literal, or an atom together with a comparison of its new variable of a numeric type:
``age(A,B), B >= 35`` is one addition, because having an age is seldom informative by itself. A second
comparison, which makes an interval, is another addition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf

from hornbeam.logic.bodies import Bodies
from hornbeam.logic.canonical import canonical_body
from hornbeam.logic.clauses import AT_LEAST, BELOW, Atom, Clause, Comparison, Literal, Not, Value, atoms_of
from hornbeam.logic.modes import Kind, Mode
from hornbeam.logic.schema import Schema, number_of

Constants = Mapping[tuple[str, int], Sequence[str]]
"""The constants that occur at an argument: ``("genre", 1) -> ("comedy", "drama")``."""
Thresholds = Mapping[tuple[str, int], Sequence[Value]]
"""The values that variables at a numeric argument may be compared with: ``("age", 1) -> (18.0, 35.0)``."""
Addition = tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Language:
    """The clauses that a search may reach: their head, modes, constants, thresholds, and use of negation."""

    head: Atom
    schema: Schema
    modes: tuple[Mode, ...]
    constants: Constants = field(default_factory=dict)
    negation: bool = False
    thresholds: Thresholds = field(default_factory=dict)

    def empty(self) -> Clause:
        """The clause with an empty body, at which every search starts."""
        return Clause(self.head, ())


def refinements(clause: Clause, language: Language) -> tuple[Clause, ...]:
    """Distinct canonical clauses with one more addition, which does not repeat a literal of the body.

    The target is never in its own body. New variables of one literal are distinct.
    """
    arity = len(clause.head.args)
    present = set(clause.body)
    bodies: dict[tuple[Literal, ...], None] = {}
    for addition in additions(clause, language):
        if addition[0] not in present:
            bodies[canonical_body((*clause.body, *addition), arity)] = None
    # A new literal may equal a body literal up to the name of its new variable. That is allowed: it makes
    # the body longer. No addition gives the same body again.
    return tuple(Clause(clause.head, body) for body in bodies)


def additions(clause: Clause, language: Language) -> Iterator[Addition]:
    """Each addition that modes and thresholds allow; new variables are numbered after those of the clause."""
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
                yield (atom,)
                if language.negation:
                    yield (Not(atom),)
                if language.thresholds:
                    for comparison in _of_new_variables(atom, first_new, language.thresholds):
                        yield atom, comparison
    if language.thresholds:
        for comparison in _of_old_variables(clause, language.thresholds):
            yield (comparison,)


def _of_new_variables(atom: Atom, first_new: int, thresholds: Thresholds) -> Iterator[Comparison]:
    for position, term in enumerate(atom.args):
        if isinstance(term, int) and term >= first_new:
            for value in thresholds.get((atom.predicate, position), ()):
                yield Comparison(term, AT_LEAST, value)
                yield Comparison(term, BELOW, value)


def _of_old_variables(clause: Clause, thresholds: Thresholds) -> Iterator[Comparison]:
    """Comparisons that narrow the range of a variable on a side that has no bound yet."""
    places: dict[int, list[tuple[str, int]]] = {}
    for atom in (clause.head, *atoms_of(clause.body)):
        for position, term in enumerate(atom.args):
            if isinstance(term, int) and (atom.predicate, position) in thresholds:
                places.setdefault(term, []).append((atom.predicate, position))
    for variable, its_places in places.items():
        known = {
            literal.operator: number_of(literal.value)
            for literal in clause.body
            if isinstance(literal, Comparison) and literal.variable == variable
        }
        for value in dict.fromkeys(value for place in its_places for value in thresholds[place]):
            number = number_of(value)
            if AT_LEAST not in known and number < known.get(BELOW, inf):
                yield Comparison(variable, AT_LEAST, value)
            if BELOW not in known and number > known.get(AT_LEAST, -inf):
                yield Comparison(variable, BELOW, value)


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
    """New variables renumbered without gaps, so that two modes give equal literals for the same meaning."""
    names: dict[int, int] = {}
    return tuple(
        names.setdefault(term, first_new + len(names))
        if isinstance(term, int) and term >= first_new
        else term
        for term in args
    )


def memoised(language: Language) -> Callable[[Clause], tuple[Clause, ...]]:
    """``refinements`` for one language, with cached results: a search refines the same clauses in each step.

    Bodies are composed from components, which takes less time and gives the same result.
    """
    known: dict[Clause, tuple[Clause, ...]] = {}
    bodies = Bodies(language.head)

    def refine(clause: Clause) -> tuple[Clause, ...]:
        finer = known.get(clause)
        if finer is None:
            finer = known[clause] = _composed(clause, language, bodies)
        return finer

    return refine


def _composed(clause: Clause, language: Language, bodies: Bodies) -> tuple[Clause, ...]:
    """``refinements`` with bodies that are composed from components."""
    owners = bodies.owners(clause)
    if owners is None or language.thresholds:
        return refinements(clause, language)
    first_new = len(clause.head.args) + len(owners)
    present = set(clause.body)
    return tuple(
        dict.fromkeys(
            bodies.extended(clause, owners, literal, first_new)
            for (literal,) in additions(clause, language)
            if literal not in present and not isinstance(literal, Comparison)
        )
    )
