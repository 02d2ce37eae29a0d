"""The groundings behind the counts of the examples that a report shows, found for many at once."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hornbeam.clauses import Clause
from hornbeam.database import Codes, Database
from hornbeam.groundings import groundings
from hornbeam.report.measured import Measured

PER_EXAMPLE = 6
"""Clauses of an example whose groundings are given: those that add or take most, and are true."""
PER_CLAUSE = 4
"""Groundings given for each."""
MOST = 3_000
"""Pairs of an example and a clause, in all."""
_PATIENCE = 200


@dataclass(frozen=True, slots=True)
class Evidence:
    """Some true groundings: of each clause, by the place of the shown example."""

    by_part: dict[int, dict[int, list[tuple[int, ...]]]] = field(default_factory=dict)
    complete: bool = True
    """whether every shown example has its groundings"""


def evidence(measured: Measured, database: Database) -> Evidence:
    """Groundings for the strongest true clauses of the shown examples, the most interesting first."""
    shown = measured.shown
    if not shown.counts:
        return Evidence()
    wanted = _wanted(measured)
    by_part: dict[int, dict[int, list[tuple[int, ...]]]] = {}
    for row, part in wanted[:MOST]:
        clause = measured.parts[part].clause
        assert clause is not None
        found = _found(database, clause, measured.examples.keys[shown.rows[row]])
        if found:
            by_part.setdefault(part, {})[row] = found
    return Evidence(by_part, len(wanted) <= MOST)


def _found(database: Database, clause: Clause, key: Codes) -> list[tuple[int, ...]]:
    return groundings(database, clause, key.tolist(), PER_CLAUSE, _PATIENCE)


def _wanted(measured: Measured) -> list[tuple[int, int]]:
    """Pairs of a shown example and a part, for one example after another."""
    shown = measured.shown
    true = np.column_stack([counts.true > 0 for counts in shown.counts])
    countable = np.array([bool(part.clause and part.clause.free_variables()) for part in measured.parts])
    strength = np.where(true & countable, np.abs(shown.contributions), -1.0)
    best = np.argsort(-strength, axis=1, kind="stable")[:, :PER_EXAMPLE]
    return [
        (row, part) for row in range(len(best)) for part in best[row].tolist() if strength[row, part] >= 0
    ]
