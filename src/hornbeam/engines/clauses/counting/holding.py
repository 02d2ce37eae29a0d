"""Whether bodies hold for examples: whether their counts are above 0.

A body holds for an example if its free variables have values that make it true. Parts of a body that
share no free variable hold independently. So each part is counted once, and not again when
literals are added to another part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes
from hornbeam.engines.clauses.contract import ClauseCounter
from hornbeam.engines.contract import Skipped
from hornbeam.logic.canonical import canonical
from hornbeam.logic.clauses import Atom, Clause, Component, Literal, literal_variables, rename

Body = tuple[Literal, ...]
Truth = npt.NDArray[np.bool_]
"""For each example, whether a body holds."""


BYTES_PER_CLAUSE = 500
"""About the bytes that a clause takes."""


class CanonicalParts:
    """The canonical clauses of parts, cached because learners need them in every step."""

    def __init__(self, head: Atom) -> None:
        self.head = head
        self.arity = len(head.args)
        self._known: dict[Body, Clause] = {}

    def new(self, parts: Iterable[Component[Literal]]) -> frozenset[Clause]:
        """The clauses of a body's new parts; if its other parts hold, the body holds if all of these do."""
        return frozenset([self.clause(part.literals) for part in parts if part.new])

    def clause(self, literals: Body) -> Clause:
        """The canonical clause with these literals."""
        clause = self._known.get(literals)
        if clause is None:
            # Parts often differ only in the numbers of variables; renaming is cheaper than ``canonical``.
            names = {variable: variable for variable in range(self.arity)}
            for literal in literals:
                for variable in literal_variables(literal):
                    names.setdefault(variable, len(names))
            body = tuple(rename(literal, names) for literal in literals)
            clause = self._known.get(body)
            if clause is None:
                clause = self._known[body] = canonical(Clause(self.head, body))
            self._known[literals] = clause
        return clause


class Holding:
    """Which bodies hold for the examples of a fit; each is counted once and cached as truth values."""

    def __init__(self, counter: ClauseCounter, keys: Codes) -> None:
        self._counter = counter
        self.keys = keys
        self.counted = 0
        self.skipped: dict[Clause, Skipped] = {}
        self._truths = counter.cache.part(counter.memory // 2)
        self._most = max(1, counter.memory // 16 // max(1, len(keys)))

    def hold(self, clauses: Sequence[Clause]) -> list[Truth | None]:
        """For each clause, whether its body holds for each example; ``None`` if it was skipped."""
        known = {clause: None if clause in self.skipped else self._truths.get(clause) for clause in clauses}
        new = [clause for clause, truth in known.items() if truth is None and clause not in self.skipped]
        # A count takes up to eight bytes until it becomes a truth value.
        for start in range(0, len(new), self._most):
            batch = new[start : start + self._most]
            for clause, counts in zip(batch, self._counter.count(batch, self.keys), strict=True):
                if isinstance(counts, Skipped):
                    self.skipped[clause] = counts
                else:
                    known[clause] = truth = counts.true > 0
                    self._truths.put(clause, truth, truth.nbytes + BYTES_PER_CLAUSE)
        self.counted += len(new)
        return [known[clause] for clause in clauses]

    def holds(self, clause: Clause) -> Truth:
        """Whether the body of a clause that was counted holds for each example."""
        (truth,) = self.hold([clause])
        assert truth is not None
        return truth
