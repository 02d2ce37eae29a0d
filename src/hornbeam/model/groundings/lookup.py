"""True groundings of clauses for many examples of one database, found by following indexed facts.

``groundings`` passes over all facts for each example and never runs into a dead end, which suits a single
example. For thousands of examples, this module sorts the facts once by each argument and follows them
from the example outwards. It may run into dead ends, so a search stops after a number of steps and
returns the groundings found by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from hornbeam.data.database import UNKNOWN, Database
from hornbeam.data.fact_index import FactIndex, Rows
from hornbeam.logic.clauses import Atom, Clause, Comparison, Literal, Not, atom_of, literal_variables
from hornbeam.model.groundings.search import compare, cutoff_of, fixed_codes

Binding = dict[int, int]


class GroundingLookup:
    """Searches for groundings that share one index of the facts."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._index = FactIndex(database)
        self._steps_left = 0
        """steps that the current search may still take"""
        self.steps_taken = 0
        """steps of all searches so far"""

    def can_search(self, clause: Clause) -> bool:
        """Whether facts lead to every free variable: each must occur in a literal that is not negated."""
        atoms = [literal for literal in clause.body if isinstance(literal, Atom)]
        reached = {variable for atom in atoms for variable in literal_variables(atom)}
        return reached.issuperset(clause.free_variables())

    def find(self, clause: Clause, key: Sequence[int], limit: int, steps: int) -> list[tuple[int, ...]]:
        """Codes of the free variables for some true groundings, at most ``limit``.

        ``key`` is as for ``groundings``. After ``steps`` facts the search ends with what it has found.
        """
        self._steps_left = steps
        bindings = self._search(
            list(clause.body),
            dict(enumerate(key[: len(clause.head.args)])),
            cutoff_of(self._database, clause, key),
            self._database.schema.variable_types(clause),
        )
        free = clause.free_variables()
        groundings = [tuple(binding[variable] for variable in free) for binding in islice(bindings, limit)]
        self.steps_taken += steps - max(self._steps_left, 0) + 1
        return groundings

    def _search(
        self, literals: list[Literal], binding: Binding, cutoff: float | None, types: Mapping[int, str]
    ) -> Iterator[Binding]:
        """Every extension of a binding that makes the literals true, while there are steps left."""
        undecided = []
        for literal in literals:
            if not all(variable in binding for variable in literal_variables(literal)):
                undecided.append(literal)
            elif not self._holds(literal, binding, cutoff, types):
                return
        if not undecided:
            yield binding
            return
        atom, rows = self._next_atom(undecided, binding, cutoff)
        undecided.remove(atom)
        columns = self._database.relation(atom.predicate).columns
        for row in rows[: self._steps_left + 1].tolist():
            self._steps_left -= 1
            if self._steps_left < 0:
                return
            values = dict(binding)
            if all(
                values.setdefault(term, int(column[row])) == column[row]
                for term, column in zip(atom.args, columns, strict=True)
                if isinstance(term, int)
            ):
                yield from self._search(undecided, values, cutoff, types)

    def _next_atom(
        self, literals: Sequence[Literal], binding: Binding, cutoff: float | None
    ) -> tuple[Atom, Rows]:
        """The atom with the fewest facts that agree with the binding, and their rows.

        An atom without a constant or a bound variable comes last: all of its facts agree.
        """
        atoms = [literal for literal in literals if isinstance(literal, Atom)]
        reached = [atom for atom in atoms if any(isinstance(t, str) or t in binding for t in atom.args)]
        if not reached:
            atom = min(atoms, key=lambda each: len(self._database.relation(each.predicate)))
            return atom, self._rows(atom, binding, cutoff)
        candidates = [(atom, self._rows(atom, binding, cutoff)) for atom in reached]
        return min(candidates, key=lambda candidate: len(candidate[1]))

    def _holds(
        self, literal: Literal, binding: Binding, cutoff: float | None, types: Mapping[int, str]
    ) -> bool:
        """Whether a literal is true, given values of all its variables."""
        if isinstance(literal, Comparison):
            code = binding[literal.variable]
            numbers = self._database.numbers[types[literal.variable]]
            return code != UNKNOWN and bool(compare(literal, numbers[code : code + 1])[0])
        return bool(len(self._rows(atom_of(literal), binding, cutoff))) != isinstance(literal, Not)

    def _rows(self, atom: Atom, binding: Binding, cutoff: float | None) -> Rows:
        """The rows of the facts that agree with an atom's constants and with the binding."""
        relation = self._database.relation(atom.predicate)
        fixed = fixed_codes(self._database, atom, binding)
        if UNKNOWN in fixed.values():
            return np.zeros(0, dtype=np.intp)
        if not fixed:
            return self._index.until(atom.predicate, np.arange(len(relation), dtype=np.intp), cutoff)
        matches = {place: self._index.rows(atom.predicate, place, code) for place, code in fixed.items()}
        fewest = min(matches, key=lambda position: len(matches[position]))
        rows = matches[fewest]
        for position, code in fixed.items():
            if position != fewest:
                rows = rows[relation.columns[position][rows] == code]
        return self._index.until(atom.predicate, rows, cutoff)
