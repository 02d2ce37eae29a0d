"""The groundings behind the counts of the examples that a report shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hornbeam.clauses import Clause, atoms_of, variables
from hornbeam.database import Codes, Database
from hornbeam.groundings import groundings
from hornbeam.report.measured import Measured

PER_EXAMPLE = 5
"""Clauses of an example whose groundings are given: of those that are true, those that weigh most."""
PER_CLAUSE = 4
"""Groundings given for each."""
BUDGET = 2_500_000_000
"""Values that may be looked at in all; what is decided by it depends on model and data only."""
_AT_LEAST = 100_000
"""What a search costs at least, in values looked at."""
_PATIENCE = 200


@dataclass(frozen=True, slots=True)
class Evidence:
    """Some true groundings: of each part, by the place of the shown example."""

    by_part: dict[int, dict[int, list[tuple[int, ...]]]] = field(default_factory=dict)
    complete: bool = True
    """whether no example had to go without for want of time"""


def evidence(measured: Measured, database: Database) -> Evidence:
    """Groundings for the strongest true clauses of the shown examples."""
    shown = measured.shown
    if not shown.counts:
        return Evidence()
    costs = [0 if part.clause is None else _cost(database, part.clause) for part in measured.parts]
    touched = [[] if part.clause is None else _touched(part.clause) for part in measured.parts]
    keys = measured.examples.keys[shown.rows]
    # What a clause says of one professor is the same for all of his students.
    known: dict[tuple[int, bytes], list[tuple[int, ...]]] = {}
    by_part: dict[int, dict[int, list[tuple[int, ...]]]] = {}
    spent, complete = 0, True
    for row, number in _wanted(measured):
        clause = measured.parts[number].clause
        assert clause is not None
        about = (number, _about(keys[row], touched[number], len(clause.head.args)))
        if about not in known:
            if spent + costs[number] > BUDGET:
                complete = False
                continue
            spent += costs[number]
            known[about] = groundings(database, clause, keys[row].tolist(), PER_CLAUSE, _PATIENCE)
        if known[about]:
            by_part.setdefault(number, {})[row] = known[about]
    return Evidence(by_part, complete)


def _wanted(measured: Measured) -> Iterator[tuple[int, int]]:
    """Pairs of a shown example and a part: positives first, then by probability."""
    shown = measured.shown
    true = np.column_stack([counts.true > 0 for counts in shown.counts])
    countable = np.array([bool(part.clause and part.clause.free_variables()) for part in measured.parts])
    strength = np.where(true & countable, np.abs(shown.contributions), -1.0)
    best = np.argsort(-strength, axis=1, kind="stable")[:, :PER_EXAMPLE]
    positive = measured.examples.labels[shown.rows] == 1
    for row in np.lexsort((-measured.probabilities[shown.rows], ~positive)).tolist():
        for number in best[row].tolist():
            if strength[row, number] >= 0:
                yield row, number


def _cost(database: Database, clause: Clause) -> int:
    """About how many values a search for a clause's groundings looks at."""
    facts = sum(len(database.relation(atom.predicate)) for atom in atoms_of(clause.body))
    types = database.schema.variable_types(clause)
    return _AT_LEAST + facts + sum(len(database.population(types[each])) for each in clause.free_variables())


def _touched(clause: Clause) -> list[int]:
    """Those of the head's variables that the body uses."""
    return sorted({each for each in variables(clause.body) if each < len(clause.head.args)})


def _about(key: Codes, touched: list[int], arity: int) -> bytes:
    """What of a key the groundings depend on: the arguments used, and its cut-off if it has one."""
    return bytes(key[[*touched, *range(arity, len(key))]].tobytes())
