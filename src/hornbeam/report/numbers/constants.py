"""Clauses with a weight for each constant of one variable: which constants made an example's contribution."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.engines.contract import Engine
from hornbeam.engines.count import count_all

TOLD = 5
"""Constants that are told for an example, at most: those that add or take most."""
AT_A_TIME = 256
"""Clauses that are counted together."""


class ConstantContribution(NamedTuple):
    """A constant and what it adds for an example."""

    constant: str
    adds: float


def strongest_constants(
    weighted: Any, engine: Engine, keys: Codes, most: int = TOLD
) -> dict[int, list[ConstantContribution]]:
    """For each row of keys that some constant says something of, the constants that say most.

    ``weighted`` is a weighted clause whose ``parts()`` are one clause for each of its ``constants``.
    """
    rows, numbers, values = [], [], []
    parts = weighted.parts()
    for start in range(0, len(parts), AT_A_TIME):
        some = parts[start : start + AT_A_TIME]
        for number, (part, counts) in enumerate(
            zip(some, count_all(engine, [each.clause for each in some], keys), strict=True), start=start
        ):
            reached = np.flatnonzero(counts.true)
            added = part.contribution(counts.true[reached], 1)
            rows.append(reached)
            numbers.append(np.full(len(reached), number))
            values.append(added)
    if not rows:
        return {}
    row, place, value = np.concatenate(rows), np.concatenate(numbers), np.concatenate(values)
    order = np.lexsort((place, -np.abs(value), row))
    row, place, value = row[order], place[order], value[order]
    # How many of the same row stand before each.
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    found: dict[int, list[ConstantContribution]] = {}
    for at in np.flatnonzero((rank < most) & (value != 0.0)).tolist():
        name = str(weighted.constants[place[at]][0])
        found.setdefault(int(row[at]), []).append(ConstantContribution(name, float(value[at])))
    return found
