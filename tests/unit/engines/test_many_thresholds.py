"""Many thresholds of one argument are counted in one pass over its facts, and exactly."""

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.vectors import messages
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema

SCHEMA = Schema(
    {"busy": ("person",), "paid": ("person", "shop", "price"), "knows": ("person", "person")},
    {"price": "number"},
)
CUTS = [-1, 0, 1.5, 2, 2.5, 4, 7, 9, 30]
BODIES = [
    "paid(A,B,X), X {} {}",
    "paid(A,s1,X), X {} {}",
    "paid(A,B,X), X {} {}, knows(A,C)",
    "knows(A,C), paid(C,B,X), X {} {}",
]


def world(n_persons=6, n_facts=120):
    draw = np.random.default_rng(2)
    persons = [f"p{n}" for n in range(n_persons)]
    names = [
        [str(draw.choice(persons)) for _ in range(n_facts)],
        [f"s{n}" for n in draw.integers(0, 3, n_facts)],
    ]
    prices = [f"{n / 2:g}" for n in draw.integers(-3, 20, n_facts)]
    knows = [[str(draw.choice(persons)) for _ in range(20)] for _ in range(2)]
    examples = {
        "busy": ([[person] for person in [*persons, "nobody"]], [n % 2 for n in range(n_persons + 1)])
    }
    return build(SCHEMA, (), {"paid": [*names, prices], "knows": knows}, examples)


@pytest.mark.parametrize("body", BODIES)
def test_all_thresholds_together_are_what_each_is_alone(body, monkeypatch):
    database = world()
    keys = database.examples_of("busy").keys
    clauses = [
        parse_clause(f"busy(A) :- {body.format(side, cut)}.", SCHEMA) for cut in CUTS for side in (">=", "<")
    ]
    passes = []
    cut_together = messages.Messages._cut_together

    def noted(self, atom, variable, group):
        passes.append(len(group))
        cut_together(self, atom, variable, group)

    monkeypatch.setattr(messages.Messages, "_cut_together", noted)
    together = counter_of(MemoryEngine(database)).count(clauses, keys)
    assert passes == [len(clauses)]
    for clause, counts, right in zip(
        clauses, together, counter_of(NaiveEngine(database)).count(clauses, keys), strict=True
    ):
        assert counts.true.tolist() == right.true.tolist(), clause
        assert counts.total == right.total
    alone = [counter_of(MemoryEngine(database)).count([clause], keys)[0].true.tolist() for clause in clauses]
    assert [counts.true.tolist() for counts in together] == alone


@pytest.mark.parametrize("size", [3, 40])
def test_few_thresholds_and_few_facts_are_counted_alike(size):
    database = world(n_persons=size, n_facts=60)
    keys = database.examples_of("busy").keys
    clauses = [parse_clause(f"busy(A) :- {BODIES[0].format('>=', cut)}.", SCHEMA) for cut in CUTS[:size]]
    for counts, right in zip(
        counter_of(MemoryEngine(database)).count(clauses, keys),
        counter_of(NaiveEngine(database)).count(clauses, keys),
        strict=True,
    ):
        assert counts.true.tolist() == right.true.tolist()
