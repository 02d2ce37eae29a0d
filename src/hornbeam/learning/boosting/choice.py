"""The choice of a clause whose false groundings are counted inside its guard.

A search ranks clauses by counts over all combinations of constants. Its best few are fitted again, with each
of their literals as the last one, to the counts inside the guard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from hornbeam.engines.contract import INT64_MAX
from hornbeam.learning.boosting.columns import Columns
from hornbeam.learning.numbers import Integers
from hornbeam.learning.search.ridge import Fitted, guarded_fit
from hornbeam.logic.clauses import Clause
from hornbeam.logic.guards import guard_of, guarded_orders


def best_guarded(
    clauses: Iterable[Clause],
    columns: Columns,
    total: Callable[[Clause], int],
    gradients: Integers,
    l2: float,
) -> tuple[Clause, Fitted] | None:
    """The clause, with the order of its literals, whose counts inside its guard fit best.

    ``total`` gives the number of values of the variables that only the last literal of a clause has.
    """
    best: tuple[Clause, Fitted] | None = None
    # Equal gains: the shorter clause wins, then the one whose text comes first.
    for clause in sorted(clauses, key=lambda clause: (len(clause.body), str(clause))):
        true = columns[clause].astype(object)
        for order in columns.with_guards(guarded_orders(clause) or (clause,)):
            new = total(order)
            within = columns[guard_of(order)].astype(object) * new if len(order.body) > 1 else new
            if len(order.body) > 1 and np.max(within) > INT64_MAX:
                continue  # the scores of a step are computed in int64
            fitted = guarded_fit(true, within - true, gradients, l2)
            if best is None or fitted.gain > best[1].gain:
                best = order, fitted
    return best
