"""Vectors of exact counts: narrow integers with a known largest value; overflow is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hornbeam.data.rows import Integers
from hornbeam.engines.clauses.contract import narrowest
from hornbeam.engines.contract import INT64_MAX
from hornbeam.engines.memory.indexes import Groups, Links

PACK_FROM = 1 << 14
"""Vectors are packed only for at least this many links; with fewer, the calls cost more than the work."""

FEW = 5
"""A vector with at most one nonzero value in this many is pushed from the nonzero values only."""
TIGHTER_FROM = 8
"""For at least this many vectors, one more product is computed to get a tighter bound of their counts."""


class RefusedError(Exception):
    """A count may exceed int64, or a join may exceed the budget, so the clause is skipped."""

    def __init__(self, reason: str, estimate: int, budget: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.estimate = estimate
        self.budget = budget


def too_large(estimate: int) -> RefusedError:
    return RefusedError("its true count may exceed int64", estimate, INT64_MAX)


@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """A number for each constant of a type (or each group); the last one stands for an unknown constant."""

    values: Integers
    largest: int

    @classmethod
    def of(cls, values: Integers) -> Vector:
        """A vector in the narrowest integer type that holds the values."""
        largest = int(values.max(initial=0))
        return cls(values.astype(narrowest(largest), copy=False), largest)


@dataclass(frozen=True, slots=True, eq=False)
class Weight:
    """A vector as weights of bindings of variables; bindings of several variables are looked up as groups."""

    variables: tuple[int, ...]
    vector: Vector
    groups: Groups | None

    def of(self, columns: dict[int, Integers]) -> Integers:
        """The weight of each binding."""
        values = [columns[variable] for variable in self.variables]
        codes = values[0] if self.groups is None else self.groups.codes(values)
        weights: Integers = self.vector.values[codes]
        return weights


def product(vectors: Sequence[Vector]) -> Vector:
    """The elementwise product; refused if it may exceed int64."""
    result = vectors[0]
    for vector in vectors[1:]:
        bound = result.largest * vector.largest
        if bound > INT64_MAX:
            bound = float_bound(result.values.astype(np.float64) * vector.values)
            values = result.values.astype(np.int64) * vector.values
        else:
            values = np.multiply(result.values, vector.values, dtype=narrowest(bound))
        result = Vector.of(values)
    return result


def float_bound(values: Any) -> int:
    """A safe upper bound of float values; refused if it exceeds int64."""
    bound = int(values.max(initial=0.0) * (1 + 1e-9))
    if bound > INT64_MAX:
        raise too_large(bound)
    return bound


def grouped_sum(groups: Integers, weights: Vector, size: int) -> Vector:
    """The sum of the weights of each of ``size`` groups of rows."""
    if weights.largest * len(groups) < 2**53:
        # Floats are exact here, because every partial sum is a whole number below 2**53.
        return Vector.of(np.bincount(groups, weights=weights.values, minlength=size).astype(np.int64))
    float_bound(np.bincount(groups, weights=weights.values, minlength=size))
    values = np.zeros(size, dtype=np.int64)
    np.add.at(values, groups, weights.values.astype(np.int64))
    return Vector.of(values)


def push(links: Links, vector: Vector) -> Vector:
    """For each source value, the sum of the vector over its links."""
    bound = links.widest * vector.largest
    if bound < 2**31:
        return Vector.of(links.matrix(np.int32) @ vector.values.astype(np.int32))
    if bound > INT64_MAX:
        float_bound(links.matrix(np.float64) @ vector.values.astype(np.float64))
    return Vector.of(links.matrix(np.int64) @ vector.values.astype(np.int64))


def push_few(back: Links, vector: Vector, reached: Integers) -> Vector:
    """``push`` of a vector that is nonzero only at ``reached``, along the reverse links ``back``.

    The number of these links times the largest value must be below 2**31.
    """
    rows = back.matrix(np.int32).take(reached)
    return Vector.of(rows.transposed_times(vector.values[reached].astype(np.int32)))


def push_many(links: Links, vectors: Sequence[Vector]) -> list[Vector | RefusedError]:
    """``push`` of several vectors along the same links, in few passes over the links."""
    results: dict[int, Vector | RefusedError] = {}
    lanes: dict[int, list[int]] = {16: [], 32: [], 64: []}
    for place, bound in enumerate(_bounds(links, vectors)):
        lanes[16 if bound < 2**16 else 32 if bound < 2**32 else 64].append(place)
    if len(links.ends) < PACK_FROM:
        small = lanes[16] + lanes[32]
        if small:
            stacked = np.stack([vectors[place].values for place in small], axis=1).astype(np.int64)
            pushed = np.ascontiguousarray((links.matrix(np.int64) @ stacked).T)
            results.update((place, Vector.of(row)) for place, row in zip(small, pushed, strict=True))
    else:
        for bits in (16, 32):
            width = 64 // bits
            for first in range(0, len(lanes[bits]), width):
                places = lanes[bits][first : first + width]
                packed = _push_packed(links, [vectors[place] for place in places], bits)
                results.update(zip(places, packed, strict=True))
    for place in lanes[64]:
        try:
            results[place] = push(links, vectors[place])
        except RefusedError as refused:
            results[place] = refused
    return [results[place] for place in range(len(vectors))]


def _bounds(links: Links, vectors: Sequence[Vector]) -> list[int]:
    """For each vector an upper bound of its pushed counts."""
    bounds = [links.widest * vector.largest for vector in vectors]
    if len(vectors) < TIGHTER_FROM or len(links.ends) < PACK_FROM or max(bounds) < 2**16:
        return bounds
    # Pushing the elementwise maximum bounds all vectors; often it allows narrower lanes.
    largest = Vector.of(np.maximum.reduce([vector.values for vector in vectors]))
    try:
        shared = push(links, largest).largest
    except RefusedError:
        return bounds
    return [min(bound, shared) for bound in bounds]


def _push_packed(links: Links, vectors: Sequence[Vector], bits: int) -> list[Vector]:
    """Push several vectors packed into 64-bit integers: counts below 2**bits never carry over."""
    if len(vectors) == 1:
        return [push(links, vectors[0])]
    lane = np.uint16 if bits == 16 else np.uint32
    lanes = np.zeros((links.shape[1], 64 // bits), dtype=lane)
    for place, vector in enumerate(vectors):
        lanes[:, place] = vector.values
    pushed = links.matrix(np.int64) @ lanes.view(np.int64).ravel()
    unpacked = np.ascontiguousarray(pushed.view(lane).reshape(-1, 64 // bits).T)
    return [Vector.of(unpacked[place]) for place in range(len(vectors))]
