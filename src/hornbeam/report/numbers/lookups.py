"""True groundings of clauses for many examples of one database, found by looking facts up.

``groundings`` passes over the facts for every example, which is right for one; for thousands the facts
are sorted once by each argument, and a search follows them from the example outwards. It may run into
dead ends, so it stops after some steps; what it has found by then is true all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNKNOWN, Codes, Database
from hornbeam.logic.clauses import (
    AT_LEAST,
    Atom,
    Clause,
    Comparison,
    Literal,
    Not,
    atom_of,
    literal_variables,
)
from hornbeam.logic.schema import number_of

Rows = npt.NDArray[np.int64]
Binding = dict[int, int]


class Lookups:
    """The facts of a database by argument, and the searches that use them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sorted: dict[tuple[str, int], tuple[Rows, Codes]] = {}
        self._steps = 0
        """that the search at hand may still take"""
        self.taken = 0
        """steps of all searches so far"""

    def can(self, clause: Clause) -> bool:
        """Whether facts lead to every variable: one that only negated literals use has none."""
        atoms = [literal for literal in clause.body if isinstance(literal, Atom)]
        led = {variable for atom in atoms for variable in literal_variables(atom)}
        return led.issuperset(clause.free_variables())

    def find(self, clause: Clause, key: Sequence[int], limit: int, steps: int) -> list[tuple[int, ...]]:
        """Codes of the free variables for some true groundings, at most ``limit``.

        ``key`` as for ``groundings``. After so many steps the search ends with what it has.
        """
        arity = len(clause.head.args)
        cutoffs = self._database.cutoffs_of(clause.head.predicate, np.array([key], dtype=np.int32))
        binding: Binding = dict(enumerate(key[:arity]))
        self._steps = steps
        search = self._search(
            list(clause.body),
            binding,
            None if cutoffs is None else float(cutoffs[0]),
            self._database.schema.variable_types(clause),
        )
        free = clause.free_variables()
        result = [tuple(found[variable] for variable in free) for found in islice(search, limit)]
        self.taken += steps - max(self._steps, 0) + 1
        return result

    def _search(
        self, rest: list[Literal], binding: Binding, cutoff: float | None, types: Mapping[int, str]
    ) -> Iterator[Binding]:
        rest = list(rest)
        for literal in tuple(rest):
            if all(variable in binding for variable in literal_variables(literal)):
                if not self._holds(literal, binding, cutoff, types):
                    return
                rest.remove(literal)
        if not rest:
            yield binding
            return
        atom, rows = self._next(rest, binding, cutoff)
        rest.remove(atom)
        columns = self._database.relation(atom.predicate).columns
        for row in rows[: self._steps + 1].tolist():
            self._steps -= 1
            if self._steps < 0:
                return
            values = dict(binding)
            if all(
                values.setdefault(term, int(column[row])) == column[row]
                for term, column in zip(atom.args, columns, strict=True)
                if isinstance(term, int)
            ):
                yield from self._search(rest, values, cutoff, types)

    def _next(self, rest: Sequence[Literal], binding: Binding, cutoff: float | None) -> tuple[Atom, Rows]:
        """The atom that decides most, having the fewest facts, and their places.

        One that nothing leads to yet comes last: all of its facts agree.
        """
        atoms = [literal for literal in rest if isinstance(literal, Atom)]
        led = [atom for atom in atoms if any(isinstance(t, str) or t in binding for t in atom.args)]
        if not led:
            atom = min(atoms, key=lambda each: len(self._database.relation(each.predicate)))
            return atom, self._rows(atom, binding, cutoff)
        found = [(atom, self._rows(atom, binding, cutoff)) for atom in led]
        return min(found, key=lambda each: len(each[1]))

    def _holds(
        self, literal: Literal, binding: Binding, cutoff: float | None, types: Mapping[int, str]
    ) -> bool:
        """Whether a literal is true, all its variables having values."""
        if isinstance(literal, Comparison):
            code = binding[literal.variable]
            if code == UNKNOWN:
                return False
            number = float(self._database.numbers[types[literal.variable]][code])
            threshold = number_of(literal.value)
            return number >= threshold if literal.operator == AT_LEAST else number < threshold
        return bool(len(self._rows(atom_of(literal), binding, cutoff))) != isinstance(literal, Not)

    def _rows(self, atom: Atom, binding: Binding, cutoff: float | None) -> Rows:
        """The places of the facts that agree with an atom's constants and with what is bound."""
        relation = self._database.relation(atom.predicate)
        fixed: dict[int, int] = {}
        for position, (term, type_name) in enumerate(
            zip(atom.args, self._database.schema.types_of(atom.predicate), strict=True)
        ):
            if isinstance(term, str):
                fixed[position] = self._database.population(type_name).code(term)
            elif term in binding:
                fixed[position] = binding[term]
        if UNKNOWN in fixed.values():
            return np.zeros(0, dtype=np.int64)
        slices = {position: self._slice(atom.predicate, position, code) for position, code in fixed.items()}
        position = -1
        if slices:
            position = min(slices, key=lambda each: slices[each][1] - slices[each][0])
            first, last = slices[position]
            rows = self._order(atom.predicate, position)[0][first:last]
        else:
            rows = np.arange(len(relation), dtype=np.int64)
        for other, code in fixed.items():
            if other != position:
                rows = rows[relation.columns[other][rows] == code]
        if cutoff is not None and atom.predicate in self._database.times:
            rows = rows[self._database.times[atom.predicate][rows] <= cutoff]
        return rows

    def _slice(self, predicate: str, position: int, code: int) -> tuple[int, int]:
        """Where the facts with a code at an argument stand, in the order of that argument."""
        # In the column's own type: in another, NumPy would copy the column for each question.
        ends = np.array([code, code + 1], dtype=np.int32)
        first, last = np.searchsorted(self._order(predicate, position)[1], ends).tolist()
        return first, last

    def _order(self, predicate: str, position: int) -> tuple[Rows, Codes]:
        """The places of the facts in the order of an argument, and that argument in this order."""
        if (predicate, position) not in self._sorted:
            column = self._database.relation(predicate).columns[position]
            order = np.argsort(column, kind="stable")
            self._sorted[predicate, position] = order, column[order]
        return self._sorted[predicate, position]
