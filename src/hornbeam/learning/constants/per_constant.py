"""Clauses with a weight for each constant: ``female(A) :- rated(A,B).``, and a weight for every film B.

Which films a person rated can matter more than how many, while a clause about a single film gains little.
So all constants of one variable get weights together, by logistic regression under a ridge penalty; the
feature of a constant is ln(1 + count). Such a clause is then one feature like any other: the sum over its
constants. For a training example that sum uses weights that were fitted without it and without other
examples of the same things (cross-fitting), so that memorised constants gain nothing.
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
from hornbeam.learning.losses.logistic import losses
from hornbeam.learning.losses.sparse import fit_sparse_weights
from hornbeam.learning.numbers import Floats, Integers
from hornbeam.logic.canonical import with_constant
from hornbeam.logic.clauses import Atom, Clause, Literal, Term, literal_variables
from hornbeam.logic.refine import Language, additions

LONGEST = 2
"""Maximum number of literals that lead to the variable; 1 if examples are pairs (see ``_clauses``)."""
LEAST_FACTS = 5
"""Minimum number of facts that mention a constant with a weight."""
LEAST_REACHED = 5
"""Minimum number of examples from which the clause reaches a constant with a weight."""
MOST_CONSTANTS = 5000
"""A variable with more constants gets no weights: they would only copy the data."""
FOLDS = 5
FOLDS_OF_PAIRS = 3
"""Number of folds for each argument's constants; pairs then have nine folds."""
PENALTIES = (30.0, 10.0, 3.0)
"""Penalties to try, from strong to weak."""
AT_A_TIME = 256
"""Number of clauses counted together."""


@dataclass(frozen=True, eq=False)
class Family:
    """A clause, one of its variables, and the weight of each of that variable's constants."""

    clause: Clause
    variable: int
    weights: tuple[tuple[str, float], ...]
    crossed: Floats
    """for each example the sum of its constants' weights, fitted without that example"""

    @cached_property
    def units(self) -> Integers:
        """The sums ``crossed`` in whole units of 1/LOG_UNIT."""
        return np.rint(self.crossed * LOG_UNIT).astype(np.int64)


class Families(NamedTuple):
    """The clauses with a weight for each constant, and the clauses that could not be counted."""

    fitted: tuple[Family, ...] = ()
    skipped: tuple[Skipped, ...] = ()


def no_families() -> Families:
    """For a fit without weights for constants."""
    return Families()


def families(
    engine: Engine, language: Language, keys: Codes, labels: npt.NDArray[Any], seed: int
) -> Families:
    """Fit all clauses that can have a weight for each constant."""
    fitted: list[Family] = []
    skipped: list[Skipped] = []
    parts = _parts(engine.database, language.head.predicate, keys, seed)
    sizes: dict[tuple[Clause, int], int] = {}
    for clause, variable in _clauses(language):
        names = _constants(engine.database, clause, variable, keys)
        sizes[clause, variable] = len(names)
        if not 2 <= len(names) < _through(clause, sizes):
            continue
        features = _features(engine, clause, variable, names, keys)
        if isinstance(features, Skipped):
            skipped.append(features)
        elif len(features.names) > 1:
            crossed, weights = _fitted(features.matrix(), labels, parts)
            named = tuple(zip(features.names, weights.tolist(), strict=True))
            fitted.append(Family(clause, variable, named, crossed))
    return Families(tuple(fitted), tuple(skipped))


def _through(clause: Clause, sizes: dict[tuple[Clause, int], int]) -> int:
    """Number of weighted constants of the variable that links the last literal to the others.

    If there is not exactly one such variable, the result is above the maximum for any variable. A chain
    that leads on to as many constants or more would add nothing to the weights of the shorter chain.
    """
    *shorter, last = clause.body
    before = Clause(clause.head, tuple(shorter))
    links = [variable for variable in literal_variables(last) if variable in before.free_variables()]
    size = sizes.get((before, links[0]), 0) if len(links) == 1 else 0
    return size or MOST_CONSTANTS + 1


def _clauses(language: Language) -> Iterator[tuple[Clause, int]]:
    """Chains of atoms from the head to a new variable of another type, whose constants can have weights.

    If examples are pairs, a chain is one atom about one of the two, alone or together with an atom about
    the other: ``advisedby(A,B) :- professor(B), inphase(A,C).``
    """
    pairs = len(language.head.args) > 1
    grown = [language.empty()]
    for _ in range(1 if pairs else LONGEST):
        longer = []
        for clause in grown:
            for extended, variables in _extended(clause, language):
                longer.append(extended)
                conditions = _of_others(extended.body[-1], language) if pairs else ()
                for variable in variables:
                    yield extended, variable
                    for condition in conditions:
                        yield Clause(extended.head, (condition, *extended.body)), variable
        grown = longer


def _extended(clause: Clause, language: Language) -> Iterator[tuple[Clause, list[int]]]:
    """The clause with one more linked atom, and the new variables whose constants can have weights."""
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
        extended = Clause(clause.head, (*clause.body, atom))
        types = schema.variable_types(extended)
        new = sorted(set(literal_variables(atom)) - known)
        yield extended, [variable for variable in new if types[variable] not in never]


def _opened(atom: Atom, first_new: int) -> Atom | None:
    """The atom with a variable in place of the constant that a mode asks for; None if there are several.

    New variables are numbered in order of appearance, as they are when the text is parsed again.

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
    """Atoms about the head variables that the literal does not have: no constants, no variable twice."""
    others = set(language.head.args) - set(literal_variables(literal))
    return [
        atom
        for atom, *more in additions(language.empty(), language)
        if isinstance(atom, Atom)
        and not more
        and others.issuperset(atom.args)
        and len(set(atom.args)) == len(atom.args)
    ]


def _constants(database: Database, clause: Clause, variable: int, keys: Codes) -> Sequence[str]:
    """The constants with enough facts at the argument where the clause reaches the variable.

    Facts that exist for none of the examples do not count.
    """
    last = clause.body[-1]
    assert isinstance(last, Atom)
    if not database.has_facts(last.predicate):
        return ()
    until = database.last_cutoff(clause.head.predicate, keys)
    names = database.frequent(last.predicate, last.args.index(variable), LEAST_FACTS, until)
    return names if len(names) <= MOST_CONSTANTS else ()


class _Reached(NamedTuple):
    """Sorted constants that enough examples reach; for each, those examples and their ln(1 + count)."""

    names: list[str]
    examples: list[Codes]
    logarithms: list[Floats]
    number: int
    """number of all examples"""

    def matrix(self) -> Matrix:
        """A row per example, a column per constant."""
        columns = [np.full(len(some), place, dtype=np.int32) for place, some in enumerate(self.examples)]
        places = np.concatenate(self.examples), np.concatenate(columns)
        return by_row(*places, np.concatenate(self.logarithms), (self.number, len(self.names)))


def _features(
    engine: Engine, clause: Clause, variable: int, names: Sequence[str], keys: Codes
) -> _Reached | Skipped:
    """The feature of each constant; or the first clause that cannot be counted."""
    reached = _Reached([], [], [], len(keys))
    for at in range(0, len(names), AT_A_TIME):
        part = names[at : at + AT_A_TIME]
        counted = engine.count([with_constant(clause, variable, name) for name in part], keys)
        for name, counts in zip(part, counted, strict=True):
            if isinstance(counts, Skipped):
                return counts
            rows = np.flatnonzero(counts.true)
            if len(rows) >= LEAST_REACHED:
                reached.names.append(name)
                reached.examples.append(rows.astype(np.int32))
                reached.logarithms.append(np.log1p(counts.true[rows].astype(np.float64)))
    return reached


def _parts(database: Database, target: str, keys: Codes, seed: int) -> list[HeldOutPart]:
    """Split the examples into parts by the constants of their keys, argument by argument."""
    number = FOLDS if database.schema.arity(target) == 1 else FOLDS_OF_PAIRS
    columns = part_numbers(database, target, keys, number, str(seed))
    return [part_of(columns, numbers) for numbers in product(range(number), repeat=len(columns))]


def _fitted(
    features: Matrix, labels: npt.NDArray[Any], parts: Sequence[HeldOutPart]
) -> tuple[Floats, Floats]:
    """Each example's sum from weights fitted without it, and the weights fitted to all examples.

    The penalty is the one whose weights predict held-out examples best. Examples that reach the same
    constants equally often are grouped into one row.
    """
    rows, which = features.distinct()
    parts = [part for part in parts if part.outside.any()]
    sizes = [_sizes(which[part.inside], labels[part.inside], rows.shape[0]) for part in parts]
    starts: list[Floats | None] = [None] * len(parts)
    best: tuple[float, float, Floats] | None = None
    for l2 in PENALTIES:
        crossed, scores = np.zeros(len(labels)), np.zeros(len(labels))
        for number, (_, outside) in enumerate(parts):
            weights = starts[number] = fit_sparse_weights(rows, *sizes[number], l2, starts[number])
            crossed[outside] = (rows @ weights[:-1])[which[outside]]
            scores[outside] = crossed[outside] + weights[-1]
        loss = float(losses(labels, scores).sum())
        if best is None or loss < best[0]:
            best = loss, l2, crossed
        else:
            break
    assert best is not None
    return best[2], fit_sparse_weights(rows, *_sizes(which, labels, rows.shape[0]), best[1])[:-1]


def _sizes(which: Integers, labels: npt.NDArray[Any], rows: int) -> tuple[Floats, Floats]:
    """Number of positives and of negatives in each group."""
    positives = np.bincount(which[labels == 1], minlength=rows)
    negatives = np.bincount(which[labels != 1], minlength=rows)
    return positives.astype(np.float64), negatives.astype(np.float64)
