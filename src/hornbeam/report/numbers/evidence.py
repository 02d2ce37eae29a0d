"""The groundings behind the counts of the examples that a report shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hornbeam.data.database import Codes, Database
from hornbeam.logic.clauses import Clause, atoms_of, variables
from hornbeam.model.groundings import groundings
from hornbeam.report.numbers.lookups import Lookups
from hornbeam.report.numbers.measured import Measured

PER_EXAMPLE = 8
"""Clauses of an example whose groundings are given: of those that are true, those that weigh most."""
PER_CLAUSE = 4
"""Groundings given for each."""
STEPS = 300
"""Facts that are followed for one of them, at most."""
MOST_STEPS = 200_000
"""Facts that are followed in all, at most: what has none for it depends on model and data only."""
PASSES = 300_000_000
"""Values looked at in all by passing over the facts, where following them led nowhere."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Some true groundings: of each part, by the place of the shown example."""

    by_part: dict[int, dict[int, list[tuple[int, ...]]]] = field(default_factory=dict)
    complete: bool = True
    """whether no example had to go without, for want of time or of facts that are here"""


def evidence(measured: Measured, database: Database) -> Evidence:
    """Groundings for the strongest true clauses of the shown examples."""
    shown = measured.shown
    if not shown.counts:
        return Evidence()
    if database.is_in_place:
        return Evidence(complete=False)  # a query for each example and clause would take too long
    touched = [[] if part.clause is None else _touched(part.clause) for part in measured.parts]
    keys = measured.examples.keys[shown.rows]
    search = _Search(database)
    # What a clause says of one professor is the same for all of his students.
    known: dict[tuple[int, bytes], list[tuple[int, ...]] | None] = {}
    by_part: dict[int, dict[int, list[tuple[int, ...]]]] = {}
    complete = True
    for row, number in _wanted(measured):
        clause = measured.parts[number].clause
        assert clause is not None
        about = (number, _about(keys[row], touched[number], len(clause.head.args)))
        if about not in known:
            known[about] = search.found(clause, keys[row].tolist())
        found = known[about]
        if found is None:
            complete = False
        elif found:
            by_part.setdefault(number, {})[row] = found
    return Evidence(by_part, complete)


class _Search:
    """Groundings of clauses, as long as there is time for it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lookups = Lookups(database)
        self._passed = 0

    def found(self, clause: Clause, key: list[int]) -> list[tuple[int, ...]] | None:
        """Some groundings of a clause that has some; None where there was no time to find them."""
        if self._lookups.can(clause):
            if self._lookups.taken > MOST_STEPS:
                return None
            found = self._lookups.find(clause, key, PER_CLAUSE, STEPS)
            if found:
                return found
        self._passed += _cost(self._database, clause)
        if self._passed > PASSES:
            return None
        return groundings(self._database, clause, key, PER_CLAUSE, STEPS)


def _wanted(measured: Measured) -> Iterator[tuple[int, int]]:
    """Pairs of a shown example and a part: positives first, then by probability."""
    shown = measured.shown
    true = np.column_stack([counts.true > 0 for counts in shown.counts])
    # Where constants have weights of their own, they are told, not the groundings.
    countable = np.array(
        [bool(part.each is None and part.clause and part.clause.free_variables()) for part in measured.parts]
    )
    strength = np.where(true & countable, np.abs(shown.contributions), -1.0)
    best = np.argsort(-strength, axis=1, kind="stable")[:, :PER_EXAMPLE]
    positive = measured.examples.labels[shown.rows] == 1
    for row in np.lexsort((-measured.probabilities[shown.rows], ~positive)).tolist():
        for number in best[row].tolist():
            if strength[row, number] >= 0:
                yield row, number


def _cost(database: Database, clause: Clause) -> int:
    """About how many values one pass over the facts of a clause looks at."""
    facts = sum(len(database.relation(atom.predicate)) for atom in atoms_of(clause.body))
    types = database.schema.variable_types(clause)
    return facts + sum(len(database.population(types[each])) for each in clause.free_variables())


def _touched(clause: Clause) -> list[int]:
    """Those of the head's variables that the body uses."""
    return sorted({each for each in variables(clause.body) if each < len(clause.head.args)})


def _about(key: Codes, touched: list[int], arity: int) -> bytes:
    """What of a key the groundings depend on: the arguments used, and its cut-off if it has one."""
    return bytes(key[[*touched, *range(arity, len(key))]].tobytes())
