"""The facts of a database by the value of one argument, for searches that go from fact to fact."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Database

Rows = npt.NDArray[np.intp]


class FactIndex:
    """The rows of relations, sorted by each argument when it is first asked for."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sorted: dict[tuple[str, int], tuple[Rows, Codes]] = {}

    def rows(self, predicate: str, position: int, code: int) -> Rows:
        """The rows of a relation that have a code at one argument, in the order of the relation.

        >>> from hornbeam.data.build import build
        >>> from hornbeam.logic.schema import Schema
        >>> schema = Schema({"friends": ("who", "who")})
        >>> db = build(schema, (), {"friends": [["a", "b", "c"], ["b", "c", "b"]]})
        >>> FactIndex(db).rows("friends", 1, db.population("who").code("b")).tolist()
        [0, 2]
        """
        if (predicate, position) not in self._sorted:
            column = self._database.relation(predicate).columns[position]
            order = np.argsort(column, kind="stable")
            self._sorted[predicate, position] = order, column[order]
        order, codes = self._sorted[predicate, position]
        # The bounds have the type of the column: otherwise NumPy would copy the column at each call.
        first, last = np.searchsorted(codes, np.array([code, code + 1], dtype=np.int32))
        return order[first:last]

    def until(self, predicate: str, rows: Rows, cutoff: float | None) -> Rows:
        """The rows whose facts exist at a cut-off; all rows if there is no cut-off."""
        if cutoff is None or predicate not in self._database.times:
            return rows
        return rows[self._database.times[predicate][rows] <= cutoff]
