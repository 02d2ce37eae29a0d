"""Windows: the lengths of time before the cut-off that are offered for links with times."""

from __future__ import annotations

import numpy as np

from hornbeam.data.database import Database
from hornbeam.data.relations import Examples
from hornbeam.learning.effects.bins import shortest_between

DAYS = (30.0, 90.0, 365.0)
"""Windows if times are dates."""
PARTS = (64.0, 16.0, 4.0)
"""Windows if times are numbers: the span of times divided by these."""
DAY = 86_400_000_000.0


def windows_of(database: Database, examples: Examples) -> dict[str, tuple[float, ...]]:
    """For each predicate with times, the windows that are shorter than the span of its times.

    They may be none. A predicate whose facts all have the same time is not among them. Times end at the last
    cut-off, if all examples have one: what comes later has no part in the choice.
    """
    windows: dict[str, tuple[float, ...]] = {}
    dated = database.origin.get("times") == "date"
    cutoffs = database.real_cutoffs_of(examples.target, examples.keys)
    end = np.inf if cutoffs is None else float(cutoffs.max(initial=-np.inf))
    for predicate in database.facts.timed():
        first, last = database.facts.span_of(predicate)
        span = (end if np.isfinite(end) else last) - first
        if not np.isfinite(span) or span <= 0:
            continue
        if dated:
            windows[predicate] = tuple(days for days in DAYS if days * DAY < span)
        else:
            windows[predicate] = tuple(shortest_between(span / part / 2, span / part) for part in PARTS)
    return windows
