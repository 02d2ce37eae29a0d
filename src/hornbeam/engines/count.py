"""Counts or an error: for those who need every clause counted, not the best of many.

An engine skips a clause whose cost for the given examples exceeds its budget. A learner goes on
without it; a prediction cannot. The cost grows with the examples, so they are counted in parts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.engines.contract import Counts, Engine, Skipped
from hornbeam.errors import LimitError
from hornbeam.logic.clauses import Clause

LEAST_KEYS = 64
"""Examples are not cut into parts smaller than this: a clause too large for these is refused."""


def count_all(engine: Engine, clauses: Sequence[Clause], keys: Codes) -> list[Counts]:
    """The counts of every clause; one that cannot be counted within the budget is a ``LimitError``."""
    return [
        counts if isinstance(counts, Counts) else _in_parts(engine, counts, keys)
        for counts in engine.count(clauses, keys)
    ]


def _in_parts(engine: Engine, skipped: Skipped, keys: Codes) -> Counts:
    if len(keys) <= LEAST_KEYS:
        raise LimitError(
            f"{skipped.clause} cannot be counted: {skipped.reason} "
            f"(estimate {skipped.estimate:,}, limit {skipped.budget:,})."
        )
    middle = len(keys) // 2
    halves = [count_all(engine, [skipped.clause], part)[0] for part in (keys[:middle], keys[middle:])]
    # Counts fit int64, but the halves may be of types whose common type is a float.
    return Counts(np.concatenate([half.true.astype(np.int64) for half in halves]), halves[0].total)
