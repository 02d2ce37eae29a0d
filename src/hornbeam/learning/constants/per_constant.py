"""Clauses with a weight for each constant: ``female(A) :- rated(A,B).``, and a weight for every film B.

Which film it is matters more than how many there are, and no clause with a constant in it alone says
much. So all constants of one variable are weighed at once, by logistic regression under a ridge
penalty on ln(1 + count) of each. Such a clause is then one feature like any other: the sum of what its
constants say. For the examples that are learned from, that sum comes from weights that did not see
them, nor others about the same things (cross-fitting): what constants only remember is worth nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Database
from hornbeam.data.sampling import HeldOutPart, part_numbers, part_of
from hornbeam.data.sparse import Matrix, by_row
from hornbeam.engines.contract import LOG_UNIT, Engine, Skipped
from hornbeam.learning.constants.logistic import logistic_weights
from hornbeam.logic.canonical import with_constant
from hornbeam.logic.clauses import Atom, Clause, Literal, Term, literal_variables
from hornbeam.logic.refine import Language, additions

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LONGEST = 2
"""Literals to the variable, at most; one where examples are pairs, as clauses say what the two share."""
LEAST_FACTS = 5
"""A constant has a weight of its own if it is in at least so many facts."""
LEAST_REACHED = 5
"""... and is reached from at least so many examples."""
MOST_CONSTANTS = 5000
"""A variable with more constants gets no weights: they would be no knowledge but a copy of the data."""
FOLDS = 5
FOLDS_OF_PAIRS = 3
"""Parts of each argument's constants: nine parts of the pairs."""
PENALTIES = (30.0, 10.0, 3.0)
"""What is tried, from strong to weak."""
AT_A_TIME = 256
"""Clauses counted together."""


@dataclass(frozen=True, eq=False)
class Family:
    """A clause, one of its variables, and the weight of each of that variable's constants."""

    clause: Clause
    variable: int
    weights: tuple[tuple[str, float], ...]
    crossed: Floats
    """for each example the sum of its constants' weights, as fitted without it"""

    @cached_property
    def units(self) -> Integers:
        """The sums as whole numbers, LOG_UNIT of them to one."""
        return np.rint(self.crossed * LOG_UNIT).astype(np.int64)


def families(
    engine: Engine, language: Language, keys: Codes, labels: npt.NDArray[Any], seed: int
) -> Iterator[Family | Skipped]:
    """All clauses that can have a weight for each constant, fitted; or what of one cannot be counted."""
    parts = _parts(engine.database, language.head.predicate, keys, seed)
    sizes: dict[tuple[Clause, int], int] = {}
    for clause, variable in _clauses(language):
        names = _constants(engine.database, clause, variable)
        sizes[clause, variable] = len(names)
        if not 2 <= len(names) < _through(clause, sizes):
            continue
        features = _features(engine, clause, variable, names, keys)
        if isinstance(features, Skipped):
            yield features
        elif len(features.names) > 1:
            crossed, weights = _fitted(features.matrix(), labels, parts)
            yield Family(clause, variable, tuple(zip(features.names, weights.tolist(), strict=True)), crossed)


def _through(clause: Clause, sizes: dict[tuple[Clause, int], int]) -> int:
    """How many constants the one variable has that the last literal is reached through, if weighed.

    A longer chain to no fewer constants would say nothing that theirs do not.
    """
    *shorter, last = clause.body
    before = Clause(clause.head, tuple(shorter))
    links = [variable for variable in literal_variables(last) if variable in before.free_variables()]
    found = sizes.get((before, links[0]), 0) if len(links) == 1 else 0
    return found or MOST_CONSTANTS + 1


def _clauses(language: Language) -> Iterator[tuple[Clause, int]]:
    """Chains of atoms from the head to a new variable of another type, which alone can be weighed.

    Where examples are pairs a chain is one atom about one of the two, alone and with an atom about the
    other: ``advisedby(A,B) :- professor(B), inphase(A,C).``
    """
    pairs = len(language.head.args) > 1
    grown = [language.empty()]
    for _ in range(1 if pairs else LONGEST):
        longer = []
        for clause in grown:
            for found, variables in _extended(clause, language):
                longer.append(found)
                conditions = _of_others(found.body[-1], language) if pairs else ()
                for variable in variables:
                    yield found, variable
                    for condition in conditions:
                        yield Clause(found.head, (condition, *found.body)), variable
        grown = longer


def _extended(clause: Clause, language: Language) -> Iterator[tuple[Clause, list[int]]]:
    """The clause with one more atom that goes on from it, and the new variables that can be weighed."""
    schema = language.schema
    never = set(schema.types_of(language.head.predicate)) | set(schema.numeric)
    known = set(schema.variable_types(clause))
    newest = set(clause.free_variables()) or known
    atoms = (
        literal for literal, *more in additions(clause, language) if isinstance(literal, Atom) and not more
    )
    for atom in dict.fromkeys(_opened(atom, max(known) + 1) for atom in atoms):
        if atom is None or not newest & set(atom.args) or known.issuperset(atom.args):
            continue
        found = Clause(clause.head, (*clause.body, atom))
        types = schema.variable_types(found)
        new = sorted(set(literal_variables(atom)) - known)
        yield found, [variable for variable in new if types[variable] not in never]


def _opened(atom: Atom, first_new: int) -> Atom | None:
    """The atom with a variable where modes ask for a constant: each has a weight. None if for several.

    New variables are numbered as they come, which is how they are numbered where the text is read again.

    >>> _opened(Atom("rated", (0, "good", 1)), 1)
    Atom(predicate='rated', args=(0, 1, 2))
    """
    if sum(isinstance(term, str) for term in atom.args) > 1:
        return None
    names: dict[Term, int] = {}
    return Atom(
        atom.predicate,
        tuple(
            term
            if isinstance(term, int) and term < first_new
            else names.setdefault(term, first_new + len(names))
            for term in atom.args
        ),
    )


def _of_others(literal: Literal, language: Language) -> list[Atom]:
    """The atoms of head variables that are not in a literal: no constants, no variable twice."""
    others = set(language.head.args) - set(literal_variables(literal))
    return [
        atom
        for atom, *more in additions(language.empty(), language)
        if isinstance(atom, Atom)
        and not more
        and others.issuperset(atom.args)
        and len(set(atom.args)) == len(atom.args)
    ]


def _constants(database: Database, clause: Clause, variable: int) -> Sequence[str]:
    """The constants with enough facts at the place where the clause reaches the variable."""
    last = clause.body[-1]
    assert isinstance(last, Atom)
    if not database.has_facts(last.predicate):
        return ()
    names = database.frequent(last.predicate, last.args.index(variable), LEAST_FACTS)
    return names if len(names) <= MOST_CONSTANTS else ()


class _Reached(NamedTuple):
    """Constants that enough examples reach, in sorted order, and which examples, with ln(1 + count)."""

    names: list[str]
    examples: list[Codes]
    logarithms: list[Floats]
    number: int
    """of all examples"""

    def matrix(self) -> Matrix:
        """A row per example, a column per constant."""
        columns = [np.full(len(some), place, dtype=np.int32) for place, some in enumerate(self.examples)]
        places = np.concatenate(self.examples), np.concatenate(columns)
        return by_row(*places, np.concatenate(self.logarithms), (self.number, len(self.names)))


def _features(
    engine: Engine, clause: Clause, variable: int, names: Sequence[str], keys: Codes
) -> _Reached | Skipped:
    """What each constant is weighed by; or the first that cannot be counted."""
    found = _Reached([], [], [], len(keys))
    for at in range(0, len(names), AT_A_TIME):
        part = names[at : at + AT_A_TIME]
        counted = engine.count([with_constant(clause, variable, name) for name in part], keys)
        for name, counts in zip(part, counted, strict=True):
            if isinstance(counts, Skipped):
                return counts
            reached = np.flatnonzero(counts.true)
            if len(reached) >= LEAST_REACHED:
                found.names.append(name)
                found.examples.append(reached.astype(np.int32))
                found.logarithms.append(np.log1p(counts.true[reached].astype(np.float64)))
    return found


def _parts(database: Database, target: str, keys: Codes, seed: int) -> list[HeldOutPart]:
    """Examples in parts by the constants of their keys, place by place."""
    number = FOLDS if database.schema.arity(target) == 1 else FOLDS_OF_PAIRS
    columns = part_numbers(database, target, keys, number, str(seed))
    return [part_of(columns, numbers) for numbers in product(range(number), repeat=len(columns))]


def _fitted(
    features: Matrix, labels: npt.NDArray[Any], parts: Sequence[HeldOutPart]
) -> tuple[Floats, Floats]:
    """The sums for examples from weights fitted without them, and the weights from all examples.

    The penalty is the one whose weights predict the examples that they have not seen best. Examples
    that reach the same constants equally often are fitted as one, for as many as they are.
    """
    rows, which = features.distinct()
    parts = [part for part in parts if part.outside.any()]
    sizes = [_sizes(which[part.inside], labels[part.inside], rows.shape[0]) for part in parts]
    starts: list[Floats | None] = [None] * len(parts)
    best: tuple[float, float, Floats] | None = None
    for l2 in PENALTIES:
        crossed, scores = np.zeros(len(labels)), np.zeros(len(labels))
        for number, (_, outside) in enumerate(parts):
            weights = starts[number] = logistic_weights(rows, *sizes[number], l2, starts[number])
            crossed[outside] = (rows @ weights[:-1])[which[outside]]
            scores[outside] = crossed[outside] + weights[-1]
        loss = float(np.logaddexp(0.0, np.where(labels == 1, -scores, scores)).sum())
        if best is None or loss < best[0]:
            best = loss, l2, crossed
        else:
            break
    assert best is not None
    return best[2], logistic_weights(rows, *_sizes(which, labels, rows.shape[0]), best[1])[:-1]


def _sizes(which: Integers, labels: npt.NDArray[Any], rows: int) -> tuple[Floats, Floats]:
    """How many positives, and how many negatives, each distinct row stands for."""
    found = np.bincount(which[labels == 1], minlength=rows), np.bincount(which[labels != 1], minlength=rows)
    return found[0].astype(np.float64), found[1].astype(np.float64)
