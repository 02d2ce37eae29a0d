"""False counts inside the guard: how many of the guard's groundings the last literal does not hold for.

With t(guard) true groundings of the guard and N combinations of values for the variables that the last
literal brings, ``t(guard) * N`` groundings of the clause have a true guard; those that are not true are
false. Any engine that counts clauses so counts these, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.engines.contract import INT64_MAX, Column, Counts, Engine
from hornbeam.engines.count import count_all
from hornbeam.logic.clauses import Clause
from hornbeam.logic.guards import guard_of, new_variables


def count_guarded(
    engine: Engine, clauses: Sequence[Clause], keys: Codes, new: Sequence[int] | None = None
) -> list[Counts]:
    """The counts of every clause, false ones inside its guard.

    ``new`` says for each clause how many combinations of values the variables have that its last literal
    brings; without it the populations of the data do. A body of one literal has an empty guard.
    """
    asked = dict.fromkeys([*clauses, *(guard_of(clause) for clause in clauses if len(clause.body) > 1)])
    found = dict(zip(asked, count_all(engine, list(asked), keys), strict=True))
    sizes = [new_total(engine, clause) for clause in clauses] if new is None else new
    counted = []
    for clause, size in zip(clauses, sizes, strict=True):
        counts = found[clause]
        if len(clause.body) > 1:
            counts = replace(counts, within=_times(found[guard_of(clause)].true, size))
        counted.append(replace(counts, total=size))
    return counted


def new_total(engine: Engine, clause: Clause) -> int:
    """The product of the populations of the variables that the last literal alone has."""
    types = engine.database.schema.variable_types(clause)
    return prod(len(engine.database.population(types[variable])) for variable in new_variables(clause))


def _times(true: Column, size: int) -> Column:
    """Exact products: Python's integers where int64 is too narrow."""
    fits = int(true.max(initial=0)) * size <= INT64_MAX
    within: Column = true.astype(np.int64 if fits else object) * size
    return within
