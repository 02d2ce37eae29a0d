"""The bottom clause of an example: everything that is true about it and near it, under the modes.

Each constant of the example, and each constant reached from it, becomes a variable. In each round, every mode
contributes the facts whose bound arguments are constants known before the round; the other arguments of these
facts are known in the next round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import UNKNOWN, Database
from hornbeam.data.fact_index import FactIndex
from hornbeam.logic.clauses import AT_LEAST, BELOW, Atom, Comparison, Literal, Term, literal_variables, rename
from hornbeam.logic.refine import Language
from hornbeam.logic.schema import Kind, Mode, number_of

Constant = tuple[str, int]
"""A constant: its type and its code."""


class BottomLiteral(NamedTuple):
    """A literal of a bottom clause, and the variables that literals before it must have."""

    literal: Literal
    needs: frozenset[int]


class Saturation:
    """Makes the bottom clauses of the examples of one target."""

    def __init__(self, database: Database, language: Language, rounds: int, recall: int) -> None:
        self.database = database
        self.language = language
        self.rounds = rounds
        self.recall = recall
        self._index = FactIndex(database)

    def bottom(self, key: Sequence[int]) -> list[BottomLiteral]:
        """The bottom clause of an example with this key, from facts up to the example's cut-off."""
        head = self.language.head
        types = self.language.schema.types_of(head.predicate)
        cutoffs = self.database.cutoffs_of(head.predicate, np.array([key], dtype=np.int32))
        last = None if cutoffs is None else float(cutoffs[0])
        key = key[: len(types)]
        variables: dict[Constant, list[int]] = {}
        for number, constant in enumerate(zip(types, key, strict=True)):
            variables.setdefault(constant, []).append(number)
        size = len(types)
        needs_of: dict[Literal, frozenset[int]] = {}
        for comparison in self._compared(head, key):
            needs_of.setdefault(comparison, frozenset([comparison.variable]))
        for _ in range(self.rounds):
            start = {constant: tuple(numbers) for constant, numbers in variables.items()}
            for mode in self.language.modes:
                if mode.predicate == head.predicate:
                    continue
                for row in self._rows(mode, start, last):
                    for constant in self._reached(mode, row):
                        if constant not in variables:
                            variables[constant] = [size]
                            size += 1
                    for atom, needs in self._atoms(mode, row, start, variables):
                        if atom not in needs_of:
                            needs_of[atom] = needs
                            for comparison in self._compared(atom, row):
                                needs_of.setdefault(comparison, frozenset([comparison.variable]))
        return [BottomLiteral(literal, needs) for literal, needs in needs_of.items()]

    def _rows(
        self, mode: Mode, known: dict[Constant, tuple[int, ...]], last: float | None
    ) -> Iterator[tuple[int, ...]]:
        """Facts whose bound arguments are known, at most ``recall`` for each combination of them.

        They are sorted by name, because the order of codes depends on the order of the files.
        """
        bound = [at for at, argument in enumerate(mode.args) if argument.kind is Kind.BOUND]
        columns = self.database.relation(mode.predicate).columns
        if not bound or not len(columns[0]):
            return
        types = [argument.type for argument in mode.args]
        first = bound[0]
        codes = [code for type_name, code in known if type_name == types[first] and code != UNKNOWN]
        rows: list[tuple[int, ...]] = []
        for code in codes:
            chosen = self._index.until(mode.predicate, self._index.rows(mode.predicate, first, code), last)
            rows += zip(*(column[chosen].tolist() for column in columns), strict=True)
        rows = [row for row in rows if all((types[at], row[at]) in known for at in bound[1:])]
        populations = [self.database.population(type_name).names for type_name in types]
        rows.sort(key=lambda row: [names[code] for names, code in zip(populations, row, strict=True)])
        taken: dict[tuple[int, ...], int] = {}
        for row in rows:
            given = tuple(row[at] for at in bound)
            taken[given] = taken.get(given, 0) + 1
            if taken[given] <= self.recall:
                yield row

    def _reached(self, mode: Mode, row: tuple[int, ...]) -> Iterator[Constant]:
        for argument, code in zip(mode.args, row, strict=True):
            if argument.kind in (Kind.OPEN, Kind.NEW):
                yield argument.type, code

    def _atoms(
        self,
        mode: Mode,
        row: tuple[int, ...],
        known: dict[Constant, tuple[int, ...]],
        variables: dict[Constant, list[int]],
    ) -> Iterator[tuple[Atom, frozenset[int]]]:
        """The atoms of a fact: several if one of its constants is more than one argument of the example."""
        terms: list[Sequence[Term]] = []
        for argument, code in zip(mode.args, row, strict=True):
            if argument.kind is Kind.CONSTANT:
                terms.append([self.database.population(argument.type).names[code]])
            elif argument.kind is Kind.BOUND:
                terms.append(known[argument.type, code])
            else:
                terms.append(variables[argument.type, code])
        for args in product(*terms):
            needs = frozenset(
                term
                for term, argument in zip(args, mode.args, strict=True)
                if argument.kind is Kind.BOUND and isinstance(term, int)
            )
            yield Atom(mode.predicate, args), needs

    def _compared(self, atom: Atom, row: Sequence[int]) -> Iterator[Comparison]:
        """Comparisons of the numeric arguments of a fact with each threshold."""
        types = self.language.schema.types_of(atom.predicate)
        for position, (term, type_name, code) in enumerate(zip(atom.args, types, row, strict=True)):
            if isinstance(term, int) and code != UNKNOWN:
                for value in self.language.thresholds.get((atom.predicate, position), ()):
                    above = self.database.numbers[type_name][code] >= number_of(value)
                    yield Comparison(term, AT_LEAST if above else BELOW, value)


def reduced(bottom: Sequence[BottomLiteral], arity: int) -> list[BottomLiteral]:
    """The bottom clause without twins: variables with exactly the same literals as another variable.

    Distinct variables may take the same value, so a body with a twin holds for the same examples without it.
    """
    literals = list(bottom)
    while True:
        literals_of: dict[int, set[tuple[Literal, frozenset[int]]]] = {}
        for literal, needs in literals:
            for variable in literal_variables(literal):
                if variable >= arity:
                    about = rename(literal, {variable: -1})
                    blank = frozenset(-1 if each == variable else each for each in needs)
                    literals_of.setdefault(variable, set()).add((about, blank))
        first: dict[frozenset[tuple[Literal, frozenset[int]]], int] = {}
        twins = set()
        for variable in sorted(literals_of):
            if first.setdefault(frozenset(literals_of[variable]), variable) != variable:
                twins.add(variable)
        if not twins:
            return literals
        literals = [each for each in literals if twins.isdisjoint(literal_variables(each.literal))]
