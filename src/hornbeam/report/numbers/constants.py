"""Clauses with a weight for each constant of one variable: the constants that add most to an example."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.engines.contract import Engine
from hornbeam.model.clause_model import WeightedClause
from hornbeam.model.groundings.constants import counts_by_constant

MOST_CONSTANTS = 5
"""Maximum number of constants per example; those with the largest absolute contribution are given."""


class ConstantContribution(NamedTuple):
    """A constant and what it adds for an example."""

    constant: str
    adds: float


def strongest_constants(
    weighted: WeightedClause, engine: Engine, keys: Codes, most: int = MOST_CONSTANTS
) -> dict[int, list[ConstantContribution]]:
    """The constants that add most, the strongest first, by row of the keys; rows without any are left out."""
    rows, numbers, values = [], [], []
    for number, (single, true) in enumerate(counts_by_constant(weighted, engine, keys)):
        reached = np.flatnonzero(true)
        rows.append(reached)
        numbers.append(np.full(len(reached), number))
        values.append(single.contribution(true[reached], 1))
    if not rows:
        return {}
    row, place, value = np.concatenate(rows), np.concatenate(numbers), np.concatenate(values)
    order = np.lexsort((place, -np.abs(value), row))
    row, place, value = row[order], place[order], value[order]
    # Entries are sorted by row, the strongest first, so this is the rank of each entry within its row.
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    strongest: dict[int, list[ConstantContribution]] = {}
    for at in np.flatnonzero((rank < most) & (value != 0.0)).tolist():
        name = str(weighted.constants[place[at]][0])
        strongest.setdefault(int(row[at]), []).append(ConstantContribution(name, float(value[at])))
    return strongest
