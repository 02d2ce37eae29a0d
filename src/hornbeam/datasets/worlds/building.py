"""Building generated worlds: a database from columns of codes, a planted clause, labels drawn from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Database, Examples, Population, Relation
from hornbeam.data.numbers import numbers_of
from hornbeam.errors import OptionError
from hornbeam.logic.clauses import Clause
from hornbeam.logic.schema import Argument, Kind, Mode, Schema, schema_of
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.scales import sigmoid

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def modes_of(text: Sequence[str]) -> tuple[Mode, ...]:
    """Modes from a compact notation: ``"friends +person -person"``."""
    return tuple(
        Mode(predicate, tuple(Argument(Kind(word[0]), word[1:]) for word in words))
        for predicate, *words in map(str.split, text)
    )


def check_limits(name: str, value: float, low: float, high: float = float("inf")) -> None:
    """Refuse an argument outside its limits."""
    if not low <= value <= high:
        limits = f"at least {low:g}" if high == float("inf") else f"between {low:g} and {high:g}"
        raise OptionError(f"{name} is {value:g}, but must be {limits}.")


def labelled(rng: np.random.Generator, target: str, keys: Codes, probability: Floats) -> Examples:
    """Examples whose labels are drawn with these probabilities: positives first, then negatives."""
    label = rng.random(len(keys)) < probability
    ordered = np.concatenate([keys[label], keys[~label]])
    labels = np.zeros(len(keys), dtype=np.int8)
    labels[: np.count_nonzero(label)] = 1
    return Examples(target, ordered, labels)


def database_of(
    modes: tuple[Mode, ...],
    populations: Mapping[str, Population],
    facts: Mapping[str, Sequence[npt.NDArray[Any]]],
    numeric: Mapping[str, str] = MappingProxyType({}),
) -> Database:
    """A database without examples, from a column of codes for each argument of each predicate."""
    schema = Schema(schema_of(modes).predicates, dict(numeric))
    relations = {
        predicate: Relation.of(columns, [len(populations[t]) for t in schema.types_of(predicate)])
        for predicate, columns in facts.items()
    }
    numbers = {name: numbers_of(populations[name].names, kind, name) for name, kind in numeric.items()}
    return Database(
        schema,
        modes,
        MappingProxyType(dict(populations)),
        MappingProxyType(relations),
        numbers=MappingProxyType(numbers),
    )


def with_examples(database: Database, examples: Examples) -> Database:
    """The database with these examples and no others."""
    return replace(database, example_sets=MappingProxyType({examples.target: examples}))


def truth_of(
    weights: tuple[float, float],
    clause: Clause,
    modes: tuple[Mode, ...],
    numeric: Mapping[str, str] = MappingProxyType({}),
) -> Model:
    """The true model of a world: one clause with the weights w0 and w1."""
    # w2 is 0, so the total has no effect and the truth is the same for worlds of every size.
    weighted = WeightedClause(clause, (weights[0], weights[1], 0.0), total=1)
    schema = Schema(schema_of(modes).predicates, dict(numeric))
    return Model(clause.head.predicate, schema, prior=0.0, clauses=(weighted,))


def probability_of(truth: Model, counts: Integers) -> Floats:
    """The true probabilities of examples with these true counts."""
    (weighted,) = truth.clauses
    return sigmoid(truth.prior + weighted.contribution(counts, weighted.total))
