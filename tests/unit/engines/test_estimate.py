"""One estimate decides on every engine which clauses a budget skips."""

from __future__ import annotations

from functools import cache

import numpy as np

from every_engine import both_counters, counter_in_memory
from hornbeam.data.build import build
from hornbeam.data.database import Coded, Database
from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema

PEOPLE, EACH = 2_000, 60
BUDGET = 20_000_000
SCHEMA = Schema({"risk": ("person",), "friends": ("person", "person")})
TRIANGLE = parse_clause("risk(A) :- friends(A,B), friends(B,C), friends(C,A).", SCHEMA)
PATH = parse_clause("risk(A) :- friends(A,B), friends(B,C), friends(C,D).", SCHEMA)


@cache
def world(hub: bool = False) -> Database:
    """People with 60 friends each; with a hub, everybody is also a friend of one of them, both ways."""
    names = [f"p{number}" for number in range(PEOPLE)]
    first = np.repeat(np.arange(PEOPLE), EACH)
    second = (first * 7 + np.tile(np.arange(1, EACH + 1), PEOPLE) ** 2) % PEOPLE
    if hub:
        everybody, one = np.arange(PEOPLE), np.zeros(PEOPLE, dtype=np.int64)
        first, second = np.concatenate([everybody, one]), np.concatenate([one, everybody])
    columns = [Coded(names, first.astype(np.int32)), Coded(names, second.astype(np.int32))]
    return build(SCHEMA, (), {"friends": columns})


def keys_of(number: int) -> np.ndarray:
    return np.arange(number, dtype=np.int32)[:, None]


@both_counters
def test_a_triangle_at_20_mb_is_skipped_on_every_engine(engine: type[Engine]) -> None:
    (skipped,) = counter_of(engine(world(), BUDGET)).count([TRIANGLE], keys_of(400))
    assert isinstance(skipped, Skipped)
    assert skipped == counter_of(MemoryEngine(world(), BUDGET)).count([TRIANGLE], keys_of(400))[0]
    assert skipped.estimate > BUDGET == skipped.budget


@counter_in_memory
def test_a_path_is_summed_out_and_counted_whatever_the_budget(engine: type[Engine]) -> None:
    (counts,) = counter_of(engine(world(), 1_000_000)).count([PATH], keys_of(5))
    assert isinstance(counts, Counts)
    right = counter_of(MemoryEngine(world())).count([PATH], keys_of(5))[0]
    assert isinstance(right, Counts)
    assert counts.true.tolist() == right.true.tolist()


@counter_in_memory
def test_the_triangle_is_counted_for_few_examples(engine: type[Engine]) -> None:
    (counts,) = counter_of(engine(world(), BUDGET)).count([TRIANGLE], keys_of(40))
    right = counter_of(MemoryEngine(world())).count([TRIANGLE], keys_of(40))[0]
    assert isinstance(counts, Counts) and isinstance(right, Counts)
    assert counts.true.tolist() == right.true.tolist()


def test_a_hub_is_not_hidden_by_an_average() -> None:
    # On average a person has two friends, but most friends of friends are reached through the hub.
    (skipped,) = counter_of(MemoryEngine(world(hub=True), BUDGET)).count([TRIANGLE], keys_of(PEOPLE))
    assert isinstance(skipped, Skipped)
