"""Messages as vectors over a population, many at a time.

A message whose literal leads to one weighted variable is a sparse matrix-vector product. Messages
over the same literal differ only in the vector; they are pushed through together: small counts
are packed side by side into one 64-bit integer, whose sum is then four sums (or two) at once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hornbeam.clauses import Atom, Not, atom_of
from hornbeam.engines.contract import INT64_MAX
from hornbeam.engines.plan import Message
from hornbeam.engines.views import Facts, Integers, Links

PACK_FROM = 1 << 14
"""Facts from which packing pays; below, the cost is in the calls, and one matrix product is one call."""


class RefusedError(Exception):
    """A count that may pass int64, or a join past the budget: the clause is skipped."""

    def __init__(self, reason: str, estimate: int, budget: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.estimate = estimate
        self.budget = budget


def too_large(estimate: int) -> RefusedError:
    return RefusedError("its true count may exceed int64", estimate, INT64_MAX)


@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """A number for each constant of a type, and last for a constant without facts."""

    values: Integers
    largest: int

    @classmethod
    def of(cls, values: Integers) -> Vector:
        """Stored in the narrowest integer type that holds it."""
        largest = int(values.max(initial=0))
        return cls(values.astype(narrowest(largest), copy=False), largest)


def narrowest(largest: int) -> type[np.signedinteger[Any]]:
    if largest < 2**7:
        return np.int8
    if largest < 2**15:
        return np.int16
    return np.int32 if largest < 2**31 else np.int64


def product(vectors: Sequence[Vector]) -> Vector:
    """The product, value by value; refused where it may pass int64."""
    result = vectors[0]
    for vector in vectors[1:]:
        bound = result.largest * vector.largest
        if bound > INT64_MAX:
            bound = float_bound(result.values.astype(np.float64) * vector.values)
        values = np.multiply(result.values, vector.values, dtype=narrowest(bound))
        result = Vector.of(values)
    return result


def float_bound(values: Any) -> int:
    """A safe bound from float arithmetic; refused where it passes int64."""
    bound = int(values.max(initial=0.0) * (1 + 1e-9))
    if bound > INT64_MAX:
        raise too_large(bound)
    return bound


class Kept:
    """Arrays under a budget of bytes; the least recently used go first."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.used = 0
        self._entries: OrderedDict[object, tuple[Any, int]] = OrderedDict()

    def get(self, key: object) -> Any:
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: object, value: Any, size: int) -> None:
        self._entries[key] = value, size
        self.used += size
        while self.used > self.budget and len(self._entries) > 1:
            _, (_, freed) = self._entries.popitem(last=False)
            self.used -= freed


class Messages:
    """The vectors of messages over one database, each computed once and kept under a budget."""

    def __init__(self, facts: Facts, budget: int) -> None:
        self.facts = facts
        self._kept = Kept(budget)

    def prepare(self, messages: Iterable[Message]) -> None:
        """Compute what is not kept yet, level by level, equal literals together."""
        levels: list[dict[Message, None]] = []
        self._collect(messages, levels)
        for level in levels:
            groups: dict[object, list[Message]] = {}
            for message in level:
                key = (message.literal, message.below[0][0]) if len(message.below) == 1 else message
                groups.setdefault(key, []).append(message)
            for group in groups.values():
                if len(group) > 1:
                    self._push_together(group)
                else:
                    self._keep(group[0], self._compute(group[0]))

    def vector(self, message: Message) -> Vector:
        """The vector of a message; raises ``RefusedError`` where it may pass int64."""
        found = self._kept.get(message)
        if found is None:
            found = self._compute(message)
            self._keep(message, found)
        if isinstance(found, RefusedError):
            raise found
        assert isinstance(found, Vector)
        return found

    def weights(self, messages: Sequence[Message]) -> Vector:
        """The product of the messages at one variable."""
        if len(messages) == 1:
            return self.vector(messages[0])
        return product([self.vector(message) for message in messages])

    def _collect(self, messages: Iterable[Message], levels: list[dict[Message, None]]) -> None:
        for message in messages:
            while len(levels) <= message.depth:
                levels.append({})
            if message not in levels[message.depth] and self._kept.get(message) is None:
                levels[message.depth][message] = None
                for _, below in message.below:
                    self._collect(below, levels)

    def _keep(self, message: Message, found: Vector | RefusedError) -> None:
        size = found.values.nbytes + 200 if isinstance(found, Vector) else 200
        self._kept.put(message, found, size)

    def _compute(self, message: Message) -> Vector | RefusedError:
        try:
            return self._sum(message)
        except RefusedError as refused:
            return refused

    def _sum(self, message: Message) -> Vector:
        literal = message.literal
        if isinstance(literal, Not):
            facts = self._counts(literal.atom)
            return Vector.of(1 - facts)
        weighted = [(variable, self.weights(below)) for variable, below in message.below]
        if not weighted:
            return Vector.of(self._counts(literal))
        if len(weighted) == 1:
            variable, vector = weighted[0]
            return push(self.facts.links(literal, 0, variable), vector)
        return self._sum_rows(literal, weighted)

    def _counts(self, atom: Atom) -> Integers:
        """Facts per value of variable 0; an atom without variables counts as if it had one value."""
        if 0 not in atom.args:
            return np.array([self.facts.view(atom)[0].rows, 0])
        size = self.facts.size(atom, 0)
        return np.bincount(self.facts.column(atom, 0), minlength=size + 1)

    def _sum_rows(self, atom: Atom, weighted: Sequence[tuple[int, Vector]]) -> Vector:
        """Two or more weighted variables: multiply along the facts, then sum by variable 0."""
        row_weights = product(
            [Vector(vector.values[self.facts.column(atom, v)], vector.largest) for v, vector in weighted]
        )
        column = self.facts.column(atom, 0)
        size = self.facts.size(atom, 0) + 1
        bound = row_weights.largest * len(column)
        if bound >= 2**53:
            float_bound(np.bincount(column, weights=row_weights.values, minlength=size))
            values = np.zeros(size, dtype=np.int64)
            np.add.at(values, column, row_weights.values.astype(np.int64))
            return Vector.of(values)
        # Floats are exact here: every partial sum is a whole number below 2**53.
        return Vector.of(np.bincount(column, weights=row_weights.values, minlength=size).astype(np.int64))

    def _push_together(self, group: Sequence[Message]) -> None:
        atom = atom_of(group[0].literal)
        variable = group[0].below[0][0]
        links = self.facts.links(atom, 0, variable)
        vectors: list[tuple[Message, Vector]] = []
        for message in group:
            try:
                vectors.append((message, self.weights(message.below[0][1])))
            except RefusedError as refused:
                self._keep(message, refused)
        for message, found in zip(
            [message for message, _ in vectors], push_many(links, [v for _, v in vectors]), strict=True
        ):
            self._keep(message, found)


def push(links: Links, vector: Vector) -> Vector:
    """For each source value, the sum of the vector over its links."""
    bound = links.widest * vector.largest
    if bound < 2**31:
        return Vector.of(links.matrix(np.int32) @ vector.values.astype(np.int32))
    if bound > INT64_MAX:
        float_bound(links.matrix(np.float64) @ vector.values.astype(np.float64))
    return Vector.of(links.matrix(np.int64) @ vector.values.astype(np.int64))


def push_many(links: Links, vectors: Sequence[Vector]) -> list[Vector | RefusedError]:
    """``push`` for several vectors over the same links, in few passes over them."""
    results: list[Vector | RefusedError | None] = [None] * len(vectors)
    lanes: dict[int, list[int]] = {16: [], 32: [], 64: []}
    for place, vector in enumerate(vectors):
        bound = links.widest * vector.largest
        lanes[16 if bound < 2**16 else 32 if bound < 2**32 else 64].append(place)
    if len(links.ends) < PACK_FROM:
        small = lanes[16] + lanes[32]
        if small:
            stacked = np.stack([vectors[place].values for place in small], axis=1).astype(np.int64)
            pushed = np.ascontiguousarray((links.matrix(np.int64) @ stacked).T)
            for place, values in zip(small, pushed, strict=True):
                results[place] = Vector.of(values)
    else:
        for bits in (16, 32):
            width = 64 // bits
            for first in range(0, len(lanes[bits]), width):
                places = lanes[bits][first : first + width]
                packed = _push_packed(links, [vectors[place] for place in places], bits)
                for place, values in zip(places, packed, strict=True):
                    results[place] = Vector.of(values)
    for place in lanes[64]:
        try:
            results[place] = push(links, vectors[place])
        except RefusedError as refused:
            results[place] = refused
    return [result for result in results if result is not None]


def _push_packed(links: Links, vectors: Sequence[Vector], bits: int) -> list[Integers]:
    """Counts below 2**bits side by side in 64-bit integers: no sum carries into its neighbour."""
    if len(vectors) == 1:
        return [push(links, vectors[0]).values]
    lane = np.uint16 if bits == 16 else np.uint32
    lanes = np.zeros((links.shape[1], 64 // bits), dtype=lane)
    for place, vector in enumerate(vectors):
        lanes[:, place] = vector.values
    pushed = links.matrix(np.int64) @ lanes.view(np.int64).ravel()
    unpacked = pushed.view(lane).reshape(-1, 64 // bits)
    return [unpacked[:, place].astype(np.int64 if bits == 32 else np.int32) for place in range(len(vectors))]
