"""Refinement: everything that the modes allow to be added to a body.

An addition is a literal; an atom with a new variable of a numeric type may bring a comparison of
that variable along, as one addition: ``age(A,B), B >= 35``, because having an age alone seldom says
anything. A second comparison that makes an interval is an addition of its own.
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
"""What variables at a numeric argument may be compared with: ``("age", 1) -> (18.0, 35.0, 60.0)``."""
Addition = tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Language:
    """What a search may say: the target's head, the modes, constants, thresholds, and whether to negate."""

    head: Atom
    schema: Schema
    modes: tuple[Mode, ...]
    constants: Constants = field(default_factory=dict)
    negation: bool = False
    thresholds: Thresholds = field(default_factory=dict)

    def empty(self) -> Clause:
        """The clause without a body, where every search starts."""
        return Clause(self.head, ())


def refinements(clause: Clause, language: Language) -> tuple[Clause, ...]:
    """Canonical clauses with one addition more, no two alike, none that repeats a body literal.

    The target is never in its own body. Two new variables in one literal are distinct.
    """
    arity = len(clause.head.args)
    present = set(clause.body)
    found: dict[tuple[Literal, ...], None] = {}
    for addition in additions(clause, language):
        if addition[0] not in present:
            found[canonical_body((*clause.body, *addition), arity)] = None
    # A new literal may repeat a body literal up to the name of a new variable; that is allowed and
    # is longer than the body. One that collapses to the body itself cannot arise.
    return tuple(Clause(clause.head, body) for body in found)


def additions(clause: Clause, language: Language) -> Iterator[Addition]:
    """Each addition that modes and thresholds allow, new variables numbered after those of the clause."""
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
    """Comparisons that cut what a variable may be: on a side that has none yet, within the other."""
    places: dict[int, list[tuple[str, int]]] = {}
    for atom in (clause.head, *atoms_of(clause.body)):
        for position, term in enumerate(atom.args):
            if isinstance(term, int) and (atom.predicate, position) in thresholds:
                places.setdefault(term, []).append((atom.predicate, position))
    for variable, found in places.items():
        known = {
            literal.operator: number_of(literal.value)
            for literal in clause.body
            if isinstance(literal, Comparison) and literal.variable == variable
        }
        for value in dict.fromkeys(value for place in found for value in thresholds[place]):
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
    """New variables renumbered without gaps, so that equal literals of two modes are equal."""
    names: dict[int, int] = {}
    return tuple(
        names.setdefault(term, first_new + len(names))
        if isinstance(term, int) and term >= first_new
        else term
        for term in args
    )


def memoised(language: Language) -> Callable[[Clause], tuple[Clause, ...]]:
    """``refinements`` for one language that remembers its answers: a search asks again each step.

    It also puts them together from components, in less time; the answers are the same.
    """
    known: dict[Clause, tuple[Clause, ...]] = {}
    bodies = Bodies(language.head)

    def refine(clause: Clause) -> tuple[Clause, ...]:
        answer = known.get(clause)
        if answer is None:
            answer = known[clause] = _composed(clause, language, bodies)
        return answer

    return refine


def _composed(clause: Clause, language: Language, bodies: Bodies) -> tuple[Clause, ...]:
    """``refinements`` by way of components."""
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
