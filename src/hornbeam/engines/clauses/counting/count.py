"""Count every clause or raise an error: a prediction needs the counts of all its clauses.

A counter skips a clause whose cost for the given examples exceeds its budget. A learner can go on
without the clause; a prediction cannot. The cost grows with the number of examples, so a skipped
clause is counted again, separately for each half of the examples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.engines.clauses.contract import ClauseCounter, Counts
from hornbeam.engines.contract import LEAST_KEYS, Skipped
from hornbeam.errors import LimitError
from hornbeam.logic.clauses import Clause


def count_all(counter: ClauseCounter, clauses: Sequence[Clause], keys: Codes) -> list[Counts]:
    """The counts of every clause; raises ``LimitError`` if one cannot be counted within the budget."""
    return [
        counts if isinstance(counts, Counts) else _in_halves(counter, (clause, counts), keys)
        for clause, counts in zip(clauses, counter.count(clauses, keys), strict=True)
    ]


def _in_halves(counter: ClauseCounter, refused: tuple[Clause, Skipped], keys: Codes) -> Counts:
    clause, skipped = refused
    if len(keys) <= LEAST_KEYS:
        raise LimitError(
            f"{skipped.clause} cannot be counted: {skipped.reason} "
            f"(estimate {skipped.estimate:,}, limit {skipped.budget:,})."
        )
    middle = len(keys) // 2
    halves = [count_all(counter, [clause], half)[0] for half in (keys[:middle], keys[middle:])]
    # The common type of two integer types may be a float, so both halves become int64.
    return Counts(np.concatenate([half.true.astype(np.int64) for half in halves]), halves[0].total)
