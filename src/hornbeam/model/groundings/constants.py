"""What the weights of constants add: the counts of a clause for each of its constants.

All constants are counted in one pass (``at_once``). Where that is not possible, each constant is counted as a
clause of its own (``counts_by_constant``), to the same result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import UNKNOWN, Codes
from hornbeam.data.numbers import Floats
from hornbeam.data.rows import Integers
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.engines.questions import CountsByConstant, ValueRequest
from hornbeam.logic.clauses import Atom
from hornbeam.model.features import Column, WeightedClause, feature_values

AT_A_TIME = 256
"""Number of constants that are counted together where each is a clause of its own."""


class ConstantCounts(NamedTuple):
    """For some examples and constants the number of groundings, in the order of constants."""

    row: Integers
    place: Integers
    """which constant of the clause"""
    number: Integers


def contribution_of_constants(weighted: WeightedClause, engine: Engine, keys: Codes) -> Floats:
    """The sum that the weights of constants add to the log-odds of each example."""
    counts = at_once(weighted, engine, keys)
    result = np.zeros(len(keys))
    if counts is None:
        for single, true in counts_by_constant(weighted, engine, keys):
            result += single.weights[1] * feature_values(true.astype(np.float64), single.feature)
        return result
    weights = np.array([weight for _, weight in weighted.constants])
    added = weights[counts.place] * feature_values(counts.number.astype(np.float64), weighted.feature)
    # Rows repeat, so the sum of an example is made in the order of constants, as above.
    np.add.at(result, counts.row, added)
    return result


def counts_by_constant(
    weighted: WeightedClause, engine: Engine, keys: Codes
) -> Iterator[tuple[WeightedClause, Column]]:
    """For each constant with a weight, the clause with that constant filled in, and its true counts."""
    from hornbeam.engines.clauses.counters import counter_of
    from hornbeam.engines.clauses.counting.count import count_all

    clauses = weighted.by_constant()
    for start in range(0, len(clauses), AT_A_TIME):
        batch = clauses[start : start + AT_A_TIME]
        counted = count_all(counter_of(engine), [single.clause for single in batch], keys)
        for single, counts in zip(batch, counted, strict=True):
            yield single, counts.true


def at_once(weighted: WeightedClause, engine: Engine, keys: Codes) -> ConstantCounts | None:
    """The counts of all constants at once; None if the clause is not made of links, or takes too much memory.

    A feature that is not 0 for a count of 0 needs the counts of every example.
    """
    clause, each, database = weighted.clause, weighted.each, engine.database
    body = [literal for literal in clause.body if isinstance(literal, Atom)]
    type_name = next(
        (
            name
            for atom in body
            for term, name in zip(atom.args, database.schema.types_of(atom.predicate), strict=True)
            if term == each
        ),
        None,
    )
    is_zero = float(feature_values(np.zeros(1), weighted.feature)[0]) == 0.0
    if len(body) < len(clause.body) or each is None or type_name is None or not is_zero:
        return None
    if type_name in database.schema.numeric:
        return None
    answer = engine.counts_by_constant(ValueRequest(clause.head, tuple(body), each), keys)
    if isinstance(answer, Skipped):
        return None
    counts = CountsByConstant(*(np.concatenate(column) for column in zip(*answer, strict=True)))
    codes = database.population(type_name).encode([name for name, _ in weighted.constants])
    place_of = np.full(max(len(database.population(type_name)), 1), -1)
    place_of[codes[codes != UNKNOWN]] = np.flatnonzero(codes != UNKNOWN)
    known = counts.code != UNKNOWN
    place = np.where(known, place_of[np.where(known, counts.code, 0)], -1)
    order = np.argsort(place, kind="stable")
    order = order[place[order] >= 0]
    return ConstantCounts(counts.row[order], place[order], counts.number[order])
