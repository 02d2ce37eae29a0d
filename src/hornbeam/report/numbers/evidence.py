"""Some groundings behind the counts of the examples that a report shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hornbeam.data.database import Codes, Database
from hornbeam.logic.clauses import Clause, atoms_of, variables
from hornbeam.model.groundings.lookup import GroundingLookup
from hornbeam.model.groundings.search import groundings
from hornbeam.report.numbers.measurements import Measurements

PER_EXAMPLE = 8
"""Number of clauses per example to find groundings for: the strongest that have a true grounding."""
PER_CLAUSE = 4
"""Number of groundings to find for each of these clauses."""
STEPS = 300
"""Maximum number of facts that one search may follow."""
MOST_STEPS = 200_000
"""Maximum for all searches together. It is not a time limit, so equal models give equal pages."""
PASSES = 300_000_000
"""Maximum number of values to scan in all passes over the facts, after following facts found nothing."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Some true groundings of the clauses, for the examples that a report shows."""

    by_part: dict[int, dict[int, list[tuple[int, ...]]]] = field(default_factory=dict)
    """the groundings by number of the part, then by row of the table of examples"""
    complete: bool = True
    """False if some groundings are left out: the search was too long, or the facts are in place"""


def find_evidence(measurements: Measurements, database: Database) -> Evidence:
    """Groundings for the strongest true clauses of the shown examples."""
    shown = measurements.shown
    if not shown.counts:
        return Evidence()
    if database.is_in_place:
        return Evidence(complete=False)  # a query for each example and clause would take too long
    used = [[] if part.clause is None else _head_variables(part.clause) for part in measurements.parts]
    keys = measurements.examples.keys[shown.rows]
    search = _Search(database)
    # Groundings about one professor are the same for all of the professor's students: search them once.
    known: dict[tuple[int, bytes], list[tuple[int, ...]] | None] = {}
    by_part: dict[int, dict[int, list[tuple[int, ...]]]] = {}
    complete = True
    for row, number in _wanted(measurements):
        clause = measurements.parts[number].clause
        assert clause is not None
        question = (number, _key_bytes(keys[row], used[number], len(clause.head.args)))
        if question not in known:
            known[question] = search.find(clause, keys[row].tolist())
        groundings_of_row = known[question]
        if groundings_of_row is None:
            complete = False
        elif groundings_of_row:
            by_part.setdefault(number, {})[row] = groundings_of_row
    return Evidence(by_part, complete)


class _Search:
    """Searches for groundings within one budget: first by following facts, then by passing over them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lookup = GroundingLookup(database)
        self._passed = 0

    def find(self, clause: Clause, key: list[int]) -> list[tuple[int, ...]] | None:
        """Some groundings of a clause that has some; None if the budget is used up."""
        if self._lookup.can_search(clause):
            if self._lookup.steps_taken > MOST_STEPS:
                return None
            looked_up = self._lookup.find(clause, key, PER_CLAUSE, STEPS)
            if looked_up:
                return looked_up
        self._passed += _cost(self._database, clause)
        if self._passed > PASSES:
            return None
        return groundings(self._database, clause, key, PER_CLAUSE, STEPS)


def _wanted(measurements: Measurements) -> Iterator[tuple[int, int]]:
    """Pairs of a row and a part to find groundings for: positives first, then by probability."""
    shown = measurements.shown
    true = np.column_stack([counts.true > 0 for counts in shown.counts])
    # Where constants have weights of their own, the page shows the constants instead of groundings.
    countable = np.array(
        [
            bool(part.each is None and part.clause and part.clause.free_variables())
            # Effects come after the clauses, and have no counts.
            for part in measurements.parts[: len(shown.counts)]
        ]
    )
    strength = np.where(true & countable, np.abs(shown.contributions[:, : len(shown.counts)]), -1.0)
    best = np.argsort(-strength, axis=1, kind="stable")[:, :PER_EXAMPLE]
    positive = measurements.examples.labels[shown.rows] == 1
    for row in np.lexsort((-measurements.probabilities[shown.rows], ~positive)).tolist():
        for number in best[row].tolist():
            if strength[row, number] >= 0:
                yield row, number


def _cost(database: Database, clause: Clause) -> int:
    """Roughly how many values one pass over the facts of a clause looks at."""
    facts = sum(len(database.relation(atom.predicate)) for atom in atoms_of(clause.body))
    types = database.schema.variable_types(clause)
    return facts + sum(len(database.population(types[each])) for each in clause.free_variables())


def _head_variables(clause: Clause) -> list[int]:
    """The variables of the head that the body uses."""
    return sorted({variable for variable in variables(clause.body) if variable < len(clause.head.args)})


def _key_bytes(key: Codes, used: list[int], arity: int) -> bytes:
    """The parts of a key that groundings depend on: the arguments used, and the cut-off if there is one."""
    return bytes(key[[*used, *range(arity, len(key))]].tobytes())
