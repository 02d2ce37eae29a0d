"""Whether bodies hold for examples, and no more of their counts.

A body holds for an example if its free variables have values that make it true. Parts of a body that
share no free variable hold or fail each on its own: so only parts are counted, each once, and a body
that is known to hold need not be counted again for what is added to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.logic.canonical import canonical
from hornbeam.logic.clauses import Atom, Clause, Literal, literal_variables, rename
from hornbeam.logic.components import Component

Body = tuple[Literal, ...]
Truth = npt.NDArray[np.bool_]
"""For each example, whether a body holds."""


class CanonicalParts:
    """Canonical clauses of parts, remembered: learners ask again in every step."""

    def __init__(self, head: Atom) -> None:
        self.head = head
        self.arity = len(head.args)
        self._known: dict[Body, Clause] = {}

    def new(self, parts: Iterable[Component[Literal]]) -> frozenset[Clause]:
        """What must hold for a body to hold: the clauses of its new parts."""
        return frozenset([self.clause(part.literals) for part in parts if part.new])

    def clause(self, literals: Body) -> Clause:
        """The canonical clause with these literals."""
        found = self._known.get(literals)
        if found is None:
            # Parts that differ in the numbers of their variables only are common, and quickly made one.
            names = {variable: variable for variable in range(self.arity)}
            for literal in literals:
                for variable in literal_variables(literal):
                    names.setdefault(variable, len(names))
            body = tuple(rename(literal, names) for literal in literals)
            found = self._known.get(body)
            if found is None:
                found = self._known[body] = canonical(Clause(self.head, body))
            self._known[literals] = found
        return found


class Holding:
    """Which bodies hold for the examples of a fit: each counted once, and a bit of each count kept."""

    def __init__(self, engine: Engine, keys: Codes) -> None:
        self.engine = engine
        self.keys = keys
        self.counted = 0
        self.skipped: dict[Clause, Skipped] = {}
        self._known: dict[Clause, Truth | None] = {}
        self._most = max(1, engine.memory // 2 // max(1, len(keys)))

    def hold(self, clauses: Sequence[Clause]) -> list[Truth | None]:
        """For each clause whether its body holds for each example; ``None`` where it was skipped."""
        new = [clause for clause in clauses if clause not in self._known]
        if len(self._known) + len(new) > self._most:
            self._known.clear()
            new = list(clauses)
        # Counts take up to eight bytes each until they are bits.
        size = max(1, self._most // 8)
        for start in range(0, len(new), size):
            batch = new[start : start + size]
            for clause, counts in zip(batch, self.engine.count(batch, self.keys), strict=True):
                if isinstance(counts, Skipped):
                    self.skipped[clause] = counts
                    self._known[clause] = None
                else:
                    self._known[clause] = counts.true > 0
        self.counted += len(new)
        return [self._known[clause] for clause in clauses]

    def holds(self, clause: Clause) -> Truth:
        """Whether the body of a clause that was chosen holds for each example."""
        (found,) = self.hold([clause])
        assert found is not None
        return found
