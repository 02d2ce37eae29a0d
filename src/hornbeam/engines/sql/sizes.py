"""Upper bounds of counts and of the sizes of partial results, from a few statistics per relation."""

from __future__ import annotations

from collections.abc import Callable

from hornbeam.engines.estimate import Statistics
from hornbeam.engines.sql.plan import (
    Attached,
    ComparisonRange,
    Formula,
    Guard,
    HeadBindings,
    Projection,
    Shape,
    SqlMessage,
)
from hornbeam.logic.schema import Schema

WIDE_MAX = 10**37
"""The largest integer allowed in wide types; a sum of a few such integers still fits each of them."""

MOST_MESSAGES = 10_000
"""A store of bounds with this many entries is emptied before the next one is added."""

FEW_EXAMPLES = 4
"""If the rows of a message are this many times the examples, only rows of their keys are computed."""


class Sizes:
    """Bounds for messages, guards and formulas over one database."""

    def __init__(
        self, schema: Schema, statistics: Statistics, bindings: Callable[[HeadBindings], int]
    ) -> None:
        self._schema = schema
        self._statistics = statistics
        self._bindings = bindings
        self._largest: dict[SqlMessage, int] = {}

    def population(self, range_: ComparisonRange) -> int:
        return self._statistics.population(*range_)

    def largest(self, message: SqlMessage) -> int:
        """An upper bound of the message's numbers; at least 1, so that bounds can be multiplied."""
        known = self._largest.get(message)
        if known is None:
            known = self._fan_out(message.shape)
            for child in message.children:
                known *= self.largest(child.message)
            if len(self._largest) >= MOST_MESSAGES:
                self._largest.clear()
            self._largest[message] = known
        return known

    def formula(self, formula: Formula) -> int:
        """An upper bound of every number that occurs in computing the formula."""
        result = 0
        for term in formula.terms:
            size = abs(term.coefficient)
            for range_ in term.populations:
                size *= self.population(range_)
            for factor in term.factors:
                size *= self.largest(factor.message)
            result += size
        return result

    def rows(self, shape: Shape) -> int:
        """An upper bound of the number of rows of a message of this shape."""
        if shape.guard is not None:
            return self.guard(shape.guard)
        if shape.anchors == 0:
            return 1
        predicate, args, _ = shape.roots[0]
        if shape.anchors == 1:
            return self._statistics.sizes(predicate, args.index(0)).distinct
        return self._statistics.rows(predicate)

    def restricted(self, formula: Formula, examples: int) -> Formula:
        """The formula with messages for the keys of the examples only, where those are few."""
        terms = tuple(
            term._replace(factors=tuple(self._restricted(factor, examples) for factor in term.factors))
            for term in formula.terms
        )
        return formula._replace(terms=terms)

    def _restricted(self, factor: Attached, examples: int) -> Attached:
        message, at = factor
        if not at or message.is_relation or message.shape.guard is not None:
            return factor
        if examples * FEW_EXAMPLES > self.rows(message.shape):
            return factor
        shape = message.shape._replace(guard=HeadBindings(at))
        return factor._replace(message=message._replace(shape=shape))

    def distinct(self, predicate: str, position: int) -> int:
        """The number of distinct values of an argument."""
        return self._statistics.sizes(predicate, position).distinct

    def rows_per_key(self, shape: Shape) -> float:
        """The average number of facts of the root for each value of the first anchor."""
        predicate, args, _ = shape.roots[0]
        return self._statistics.rows(predicate) / max(1, self.distinct(predicate, args.index(0)))

    def guard(self, guard: Guard) -> int:
        """The rows of a guard: exact for bindings of examples, estimated by average fan-out for others."""
        if isinstance(guard, HeadBindings):
            return self._bindings(guard)
        return self._joined(guard)

    def widest_guard(self, message: SqlMessage) -> int:
        """The rows of the largest guard that the message or its descendants need."""
        own = 0 if message.shape.guard is None else self.guard(message.shape.guard)
        return max([own, *(self.widest_guard(child.message) for child in message.children)])

    def _joined(self, projection: Projection) -> int:
        shape = projection.of
        joined = 1 if shape.guard is None else self.guard(shape.guard)
        known = set() if shape.guard is None else set(range(shape.anchors))
        for predicate, args, _ in shape.roots:
            rows = self._statistics.rows(predicate)
            averages = [
                -(-rows // max(self._statistics.sizes(predicate, position).distinct, 1))
                for position, arg in enumerate(args)
                if arg in known
            ]
            joined *= max(1, min(averages, default=rows))
            known.update(arg for arg in args if arg is not None)
        return joined

    def _fan_out(self, shape: Shape) -> int:
        """An upper bound of the rows in the join of the roots that share the values of the anchors."""
        known = set(range(shape.anchors))
        joined = 1
        for predicate, args, _ in shape.roots:
            types = self._schema.types_of(predicate)
            new: set[int] = set()
            facts = [self._statistics.rows(predicate)]
            possible = 1
            for position, arg in enumerate(args):
                if arg is None or arg in known:
                    facts.append(self._statistics.sizes(predicate, position).largest)
                elif arg not in new:
                    new.add(arg)
                    possible *= max(1, self._statistics.population(types[position]))
            known |= new
            joined *= max(1, min(possible, *facts))
        return joined
