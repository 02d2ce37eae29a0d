"""Refinement: everything that the modes allow to be added to a body.

An addition is a literal, or an atom together with a comparison of its new variable of a numeric type:
``age(A,B), B >= 35`` is one addition, because having an age is seldom informative by itself. A second
comparison, which makes an interval, is another addition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf

from hornbeam.logic.bodies import Bodies, CanonicalComponent
from hornbeam.logic.canonical import canonical_body
from hornbeam.logic.clauses import AT_LEAST, BELOW, Atom, Clause, Comparison, Literal, Not, Value, atoms_of
from hornbeam.logic.schema import Kind, Mode, Schema, number_of

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


def _linked_atoms(clause: Clause, language: Language) -> Iterator[Atom]:
    """The atoms that may be added to a clause and have a free variable of its body."""
    free = set(clause.free_variables())
    if not free:
        return
    types = language.schema.variable_types(clause)
    by_type: dict[str, list[int]] = {}
    for variable, type_name in types.items():
        by_type.setdefault(type_name, []).append(variable)
    linking = {types[variable] for variable in free}
    for mode in language.modes:
        uses = any(kind in (Kind.BOUND, Kind.OPEN) and name in linking for kind, name in mode.args)
        if uses and mode.predicate != language.head.predicate:
            for atom in _atoms(mode, by_type, max(types) + 1, language.constants):
                if not free.isdisjoint(atom.args):
                    yield atom


def _consecutive(args: tuple[int | str, ...], first_new: int) -> tuple[int | str, ...]:
    """New variables renumbered without gaps, so that two modes give equal literals for the same meaning."""
    names: dict[int, int] = {}
    return tuple(
        names.setdefault(term, first_new + len(names))
        if isinstance(term, int) and term >= first_new
        else term
        for term in args
    )


@dataclass(frozen=True, slots=True, eq=False)
class Extensions:
    """Canonical clauses with one literal more than a clause, as components: those that stay and a new one."""

    components: tuple[CanonicalComponent, ...]
    """the components of the clause"""
    beside: tuple[CanonicalComponent, ...]
    """new components that leave all others as they are; for all clauses of a language the same tuple"""
    linked: tuple[tuple[tuple[CanonicalComponent, ...], CanonicalComponent], ...]
    """new components that take the place of others, each after the components that stay"""


class Refiner:
    """``refinements`` for one language, with cached results: a search refines the same clauses in each step.

    Bodies are composed from components, which takes less time and gives the same result.
    """

    def __init__(self, language: Language) -> None:
        self.language = language
        self.bodies = Bodies(language.head)
        self._finer: dict[Clause, tuple[Clause, ...]] = {}
        self._extensions: dict[Clause, Extensions | None] = {}
        self._beside: tuple[CanonicalComponent, ...] | None = None

    def __call__(self, clause: Clause) -> tuple[Clause, ...]:
        """``refinements`` of a clause."""
        finer = self._finer.get(clause)
        if finer is None:
            finer = self._finer[clause] = _composed(clause, self.language, self.bodies)
        return finer

    def extensions(self, clause: Clause) -> Extensions | None:
        """The same clauses as components; None if they cannot be composed, or if some are not plain."""
        if self.language.thresholds or self.language.negation:
            return None
        if clause not in self._extensions:
            self._extensions[clause] = self._new_extensions(clause)
        return self._extensions[clause]

    def _new_extensions(self, clause: Clause) -> Extensions | None:
        owners = self.bodies.owners(clause)
        if owners is None:
            return None
        if self._beside is None:
            empty = self.language.empty()
            found = self._components(empty, (atom for (atom,) in additions(empty, self.language)))
            self._beside = tuple(dict.fromkeys(component for _, component in found))
        present = set(clause.body)
        atoms = (atom for atom in _linked_atoms(clause, self.language) if atom not in present)
        return Extensions(vars(clause)["components"], self._beside, tuple(self._components(clause, atoms)))

    def _components(
        self, clause: Clause, new: Iterable[Literal]
    ) -> list[tuple[tuple[CanonicalComponent, ...], CanonicalComponent]]:
        """For each new atom the components that stay, and the one that it is in."""
        owners = self.bodies.owners(clause)
        assert owners is not None
        first_new = len(clause.head.args) + len(owners)
        return [self.bodies.joined(clause, owners, atom, first_new) for atom in new if isinstance(atom, Atom)]


def memoised(language: Language) -> Refiner:
    """``refinements`` for one language, with cached results."""
    return Refiner(language)


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
