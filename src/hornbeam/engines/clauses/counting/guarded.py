"""Guarded false counts: groundings for which the guard is true but the last literal is not.

Let t(guard) be the number of true groundings of the guard, and N the number of combinations of values
for the variables that only the last literal has. Then ``t(guard) * N`` groundings of the clause have a
true guard, and the false count is this number minus the true count of the clause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.engines.clauses.contract import ClauseCounter, Column, Counts
from hornbeam.engines.clauses.counting.count import count_all
from hornbeam.engines.contract import INT64_MAX
from hornbeam.logic.clauses import Clause
from hornbeam.logic.guards import guard_of, new_variables


def count_guarded(
    counter: ClauseCounter, clauses: Sequence[Clause], keys: Codes, new: Sequence[int] | None = None
) -> list[Counts]:
    """Count every clause, with false counts inside its guard.

    ``new`` has the number N of each clause (see the module's docstring); by default it is computed from
    the data. A body of one literal has an empty guard.
    """
    needed = dict.fromkeys([*clauses, *(guard_of(clause) for clause in clauses if len(clause.body) > 1)])
    counts_of = dict(zip(needed, count_all(counter, list(needed), keys), strict=True))
    sizes = [new_total(counter, clause) for clause in clauses] if new is None else new
    counted = []
    for clause, size in zip(clauses, sizes, strict=True):
        counts = counts_of[clause]
        if len(clause.body) > 1:
            counts = replace(counts, within=_times(counts_of[guard_of(clause)].true, size))
        counted.append(replace(counts, total=size))
    return counted


def new_total(counter: ClauseCounter, clause: Clause) -> int:
    """The product of the populations of the variables that only the last literal has."""
    types = counter.database.schema.variable_types(clause)
    return prod(len(counter.database.population(types[variable])) for variable in new_variables(clause))


def _times(true: Column, size: int) -> Column:
    """Exact products: Python integers if int64 is too narrow."""
    fits = int(true.max(initial=0)) * size <= INT64_MAX
    within: Column = true.astype(np.int64 if fits else object) * size
    return within
