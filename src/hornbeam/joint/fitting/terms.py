"""The terms that a joint model may use: chains found by the paths of effects, ending at a target.

Chains are offered one by one and pooled: chains with the same predicates, such as a link in both directions,
are then read together. Which terms are used is chosen by cross-validation (``learner``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hornbeam.data.database import Database
from hornbeam.joint.neighbours import READINGS, SHARE, Term, chain_of
from hornbeam.joint.things import JointTarget
from hornbeam.learning.effects.links import THING, Path, PathFinder, Vocabulary
from hornbeam.logic.clauses import Atom, Clause, head_atom, rename_atom, variables
from hornbeam.logic.effects import is_clause

MOST_TERMS = 40
"""Maximum number of terms that are tried together; those with fewer links come first."""


class Offered(NamedTuple):
    """A clause whose body is a chain to a target, and its number of links to many."""

    clause: Clause
    target: str
    links: int


def offered(
    database: Database, target: JointTarget, targets: Sequence[JointTarget], max_links: int
) -> list[Offered]:
    """The chains from the things of a target to things of all targets."""
    head = head_atom(target.name, database.schema.arity(target.name))
    finder = PathFinder(Vocabulary(database, target.name), head, {}, max_links)
    found: dict[Clause, Offered] = {}
    for path in finder.paths():
        if path.meets or not is_clause(path.body):
            continue
        for body, variable, type_name in _ends(path):
            for other in targets:
                for place, place_type in enumerate(database.schema.types_of(other.name)):
                    if place_type == type_name:
                        clause = _clause(head, body, other.name, (variable, place, database))
                        if chain_of(clause) is not None and not _is_own(clause):
                            found.setdefault(clause, Offered(clause, other.name, path.links))
    return list(found.values())


def _ends(path: Path) -> Iterator[tuple[tuple[Atom, ...], int, str]]:
    """The bodies of a path and the variables of things at their ends."""
    body = tuple(step for step in path.body if isinstance(step, Atom))
    for node in path.nodes:
        yield body, node.variable, node.type
    for attribute in path.attributes:
        if attribute.kind == THING and attribute.steps and is_clause(attribute.steps):
            steps = tuple(step for step in attribute.steps if isinstance(step, Atom))
            yield (*body, *steps), attribute.node.variable, attribute.node.type


def _clause(head: Atom, body: tuple[Atom, ...], target: str, end: tuple[int, int, Database]) -> Clause:
    """The clause with an atom of the target at its end."""
    variable, place, database = end
    free = 1 + max([len(head.args), variable, *variables(body)])
    args = [free + number for number in range(database.schema.arity(target))]
    args[place] = variable
    return numbered(head, (*body, Atom(target, tuple(args))))


def numbered(head: Atom, atoms: tuple[Atom, ...]) -> Clause:
    """The clause with its variables numbered by first use."""
    names = {term: term for term in head.args if isinstance(term, int)}
    for used in variables(atoms):
        names.setdefault(used, len(names))
    return Clause(head, tuple(rename_atom(atom, names) for atom in atoms))


def _is_own(clause: Clause) -> bool:
    """Whether the body asks for the label of the example itself."""
    return clause.body == (clause.head,)


def choices(found: Sequence[Offered]) -> list[tuple[Term, ...]]:
    """The sets of terms to choose from: how far they reach, one by one or pooled, and how they are read."""
    sets: dict[tuple[Term, ...], None] = {}
    for most in sorted({max(1, each.links) for each in found}):
        within = sorted((each for each in found if each.links <= most), key=lambda each: each.links)
        for reading in reversed(READINGS):
            for pooled in (True, False):
                sets[_terms(within, reading, pooled)] = None
    return [terms for terms in sets if terms]


def _terms(found: Sequence[Offered], reading: str, pooled: bool) -> tuple[Term, ...]:
    groups: dict[object, list[Offered]] = {}
    for each in found:
        chain = chain_of(each.clause)
        assert chain is not None
        kind = (tuple(sorted(link.predicate for link in chain.links)), chain.start, chain.place, chain.target)
        groups.setdefault(kind if pooled else each.clause, []).append(each)
    terms = [
        Term(group[0].target, _reading(group[0].clause, reading), tuple(each.clause for each in group))
        for group in groups.values()
    ]
    return tuple(terms[:MOST_TERMS])


def _reading(clause: Clause, reading: str) -> str:
    """How a chain is read: what is said of the example's own thing is from 0 to 1 in both readings."""
    (*links, last) = clause.body
    assert isinstance(last, Atom)
    return SHARE if not links and len(last.args) == 1 else reading
