"""Tables of the examples: distinct bindings of head variables, with their weights and gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from hornbeam.data.database import Codes
from hornbeam.data.rows import distinct_rows
from hornbeam.engines.sql.connection import Connection, Values

Integers = npt.NDArray[np.int64]
Head = tuple[int, ...]
"""Head variables, in ascending order."""


@dataclass(slots=True, eq=False)
class BoundKeys:
    """The distinct bindings of some head variables, in a table, and the binding of each example.

    The table's columns are ``example`` (the binding's number), ``k0 k1 ...`` (its values) and
    ``weight`` (the number of examples with it). A second table has its ``gradient``, the sum over
    these examples.
    """

    table: str
    gradient_table: str
    of_example: Integers
    weights: Integers
    values: Values
    """the value of the first head variable in each binding"""
    largest_gradient: int = 0
    round: int = -1
    """which gradients the second table has: how many times they had been set; -1 if it has none yet"""

    def __len__(self) -> int:
        return len(self.weights)

    def spread(self, numbers: Integers, counts: Integers) -> Integers:
        """The counts of all examples from counts of numbered bindings; a missing binding has the count 0."""
        of_binding = np.zeros(len(self), dtype=np.int64)
        of_binding[numbers] = counts
        return of_binding[self.of_example]

    def gather(self, codes: Integers, counts: Integers) -> Integers:
        """The counts of all examples from counts of codes of the only head variable."""
        largest = max(int(codes.max(initial=-1)), int(self.values.max(initial=-1)))
        # One more element at the end, so that the code -1 selects it.
        of_code = np.zeros(largest + 2, dtype=np.int64)
        of_code[codes] = counts
        return of_code[self.values][self.of_example]

    @property
    def heaviest(self) -> int:
        return int(self.weights.max(initial=0))


class SqlExamples:
    """The bindings for each set of head variables that clauses use, loaded at first use."""

    def __init__(
        self,
        connection: Connection,
        keys: Codes,
        values: Callable[[int, Codes], Values],
        bound: Callable[[str, Head], exp.Select | None],
    ) -> None:
        self._connection = connection
        self._keys = keys
        self._values = values
        self._bound = bound
        self._gradients = np.zeros(len(keys), dtype=np.int64)
        self._known: dict[Head, BoundKeys] = {}
        self.round = 0
        """how many times the gradients were set"""

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def columns(self) -> int:
        """The columns of the keys: one per head argument, and one more if the examples have cut-offs."""
        return int(self._keys.shape[1])

    def set_gradients(self, gradients: Integers) -> None:
        self._gradients = gradients
        self.round += 1

    def bindings(self, head: Head) -> BoundKeys:
        """The distinct bindings of these head variables."""
        known = self._known.get(head)
        if known is None:
            known = self._known[head] = self._load(head)
        return known

    def with_gradients(self, head: Head) -> BoundKeys:
        """The distinct bindings of these head variables, with the current gradients in their table."""
        known = self.bindings(head)
        if known.round != self.round:
            sums = self.gradient_sums(head)
            self._connection.drop(known.gradient_table)
            numbers = np.arange(len(sums), dtype=np.int64)
            self._connection.load(known.gradient_table, {"example": numbers, "gradient": sums})
            known.largest_gradient = int(np.abs(sums).max(initial=0))
            known.round = self.round
        return known

    def gradient_sums(self, head: Head) -> Integers:
        """The sum of the gradients of the examples with each binding of these head variables."""
        known = self.bindings(head)
        sums = np.zeros(len(known), dtype=np.int64)
        np.add.at(sums, known.of_example, self._gradients)
        return sums

    def close(self) -> None:
        for known in self._known.values():
            self._connection.drop_all((known.table, known.gradient_table))
        self._known.clear()

    def _load(self, head: Head) -> BoundKeys:
        first, of_example = distinct_rows([self._keys[:, variable] for variable in head], len(self._keys))
        weights = np.bincount(of_example, minlength=len(first)).astype(np.int64)
        columns: dict[str, Values] = {"example": np.arange(len(first), dtype=np.int64)}
        for number, variable in enumerate(head):
            columns[f"k{number}"] = self._values(variable, self._keys[first, variable])
        columns["weight"] = weights
        name, gradient_name = self._connection.new_name(), self._connection.new_name()
        self._connection.load(name, columns)
        query = self._bound(name, head)
        if query is not None:
            given, name = name, self._connection.new_name()
            self._connection.create(name, query)
            self._connection.drop(given)
        return BoundKeys(name, gradient_name, of_example, weights, columns.get("k0", weights))
