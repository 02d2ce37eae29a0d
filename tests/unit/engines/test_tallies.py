"""One small world in which every kind of step matters: the same tallies in every engine, by hand."""

from __future__ import annotations

from math import inf
from pathlib import Path

import numpy as np
import pytest

from effect_bodies import groups
from every_engine import every_engine
from folders import write
from hornbeam.data.build import build
from hornbeam.data.database import Codes, Database
from hornbeam.engines import tally as tallies
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.tally import Tally, TallyRequest
from hornbeam.loading import load
from hornbeam.logic.clauses import Atom, Comparison, Not, head_atom
from hornbeam.logic.effects import Body, Equals, NumberOf, Recent
from hornbeam.logic.schema import NUMBER, Schema

SCHEMA = Schema(
    {
        "bad": ("driver",),
        "result": ("driver", "race"),
        "place": ("race", "points"),
        "in": ("race", "country"),
        "friends": ("driver", "driver"),
    },
    {"points": NUMBER},
)
HEAD = Atom("bad", (0,))
RESULT, IN = Atom("result", (0, 1)), Atom("in", (1, 2))
MISSING = "missing"


def world() -> tuple[Database, Codes]:
    """Two drivers and a stranger. The cut-offs are times of facts, so they see the facts before these."""
    facts = {
        "result": [["ann"] * 5 + ["bob"], ["r1", "r2", "r3", "r4", "r5", "r2"]],
        "place": [["r1", "r2", "r3", "r4"], ["10", "10", "10.0", "-2.5"]],
        "in": [["r1", "r2", "r3"], ["it", "fr", "it"]],
        "friends": [["ann", "bob"], ["bob", "bob"]],
    }
    times = {"result": [1.0, 2.0, 2.0, 3.0, inf, 2.0], "place": [1.0, 2.0, 2.0, -inf]}
    database = build(SCHEMA, (), facts, {}, times=times)
    ann, bob = database.population("driver").encode(["ann", "bob"]).tolist()
    keys = np.array([[ann], [bob], [-1], [ann], [ann]], dtype=np.int32)
    cutoffs = np.array([3.0, 3.0, 3.0, 1.0, inf])
    return database, np.column_stack([keys, database.cutoff_codes(cutoffs)])


CASES: dict[str, tuple[Body, tuple[int, ...], bool, dict[tuple[object, ...], int]]] = {
    "facts before the cut-off": ((RESULT,), (), False, {(0,): 3, (1,): 1, (4,): 5}),
    "no steps": ((), (), False, {(0,): 1, (1,): 1, (2,): 1, (3,): 1, (4,): 1}),
    "values are equal, names are not": (
        (RESULT, Atom("place", (1, 2))),
        (2,),
        False,
        {(0, 10.0): 3, (1, 10.0): 1, (4, 10.0): 3, (4, -2.5): 1},
    ),
    "times": (
        (RESULT,),
        (),
        True,
        {(0, 1.0): 1, (0, 2.0): 2, (1, 2.0): 1, (4, 1.0): 1, (4, 2.0): 2, (4, 3.0): 1, (4, inf): 1},
    ),
    "the time of the last step with times": (
        (RESULT, Atom("place", (1, 2)), Atom("in", (1, 3))),
        (),
        True,
        {(0, 1.0): 1, (0, 2.0): 2, (1, 2.0): 1, (4, 1.0): 1, (4, 2.0): 2},
    ),
    "ties are taken": ((Recent(RESULT, last=1),), (), True, {(0, 2.0): 2, (1, 2.0): 1, (4, inf): 1}),
    "the last three": ((Recent(RESULT, last=3),), (), False, {(0,): 3, (1,): 1, (4,): 4}),
    "within": ((Recent(RESULT, within=1.0),), (), False, {(0,): 2, (1,): 1, (4,): 5}),
    "both": ((Recent(RESULT, last=5, within=1.5),), (), False, {(0,): 2, (1,): 1, (4,): 5}),
    "the last of a link": (
        (
            RESULT,
            Atom("in", (1, 2)),
            Recent(Atom("in", (3, 2)), last=1),
            Recent(Atom("result", (4, 3)), last=1),
        ),
        (),
        False,
        {(0,): 6, (1,): 2, (4,): 6},
    ),
    "negation": ((RESULT, Not(Atom("in", (1, "it")))), (), False, {(0,): 1, (1,): 1, (4,): 3}),
    "negation of every value": ((RESULT, Not(IN)), (), False, {(4,): 2}),
    "a comparison": ((RESULT, Atom("place", (1, 2)), Comparison(2, "<", 10.0)), (), False, {(4,): 1}),
    "an equality": ((RESULT, IN, Equals(2, "it")), (), False, {(0,): 2, (4,): 2}),
    "a number of facts": (
        (RESULT, NumberOf(2, Atom("result", (3, 1)))),
        (2,),
        False,
        {(0, 1.0): 2, (0, 2.0): 1, (1, 2.0): 1, (4, 1.0): 4, (4, 2.0): 1},
    ),
    "a number that may be 0": (
        (NumberOf(1, RESULT._replace(args=(0, 2))), Comparison(1, "<", 4.0)),
        (1,),
        False,
        {(0, 3.0): 1, (1, 1.0): 1, (2, 0.0): 1, (3, 0.0): 1},
    ),
    "a number of all facts": (
        (NumberOf(1, Atom("friends", (2, 2))),),
        (1,),
        False,
        {(row, 1.0): 1 for row in range(5)},
    ),
    "a constant that is not there": ((Atom("in", (1, "nowhere")),), (), False, {}),
}


@every_engine
def test_every_kind_of_step(engine: type[Engine]) -> None:
    database, keys = world()
    requests = [TallyRequest(HEAD, body, wanted, times) for body, wanted, times, _ in CASES.values()]
    answers = engine(database).tally(requests, keys)
    for name, answer in zip(CASES, answers, strict=True):
        assert isinstance(answer, Tally), answer
        assert groups(answer) == CASES[name][3], name


@every_engine
def test_the_value_of_a_key_may_be_unknown(engine: type[Engine]) -> None:
    schema = Schema({"old": ("years",), "age": ("person", "years")}, {"years": NUMBER})
    database = build(schema, (), {"age": [["ann"], ["35"]]})
    keys = np.array([[0], [-1], [0]], dtype=np.int32)
    head = Atom("old", (0,))
    requests = [TallyRequest(head, (), (0,)), TallyRequest(head, (Comparison(0, ">=", -1e300),), (0,))]
    found = [groups(tally) for tally in engine(database).tally(requests, keys) if isinstance(tally, Tally)]
    assert found == [{(0, 35.0): 1, (1, MISSING): 1, (2, 35.0): 1}, {(0, 35.0): 1, (2, 35.0): 1}]


@every_engine
def test_no_examples_and_no_requests(engine: type[Engine]) -> None:
    database, keys = world()
    (tally,) = engine(database).tally([TallyRequest(HEAD, (RESULT,), (0, 1), True)], keys[:0])
    assert isinstance(tally, Tally) and len(tally.row) == len(tally.number) == 0
    assert [column.dtype for column in tally.columns] == [np.int32, np.int32]
    assert engine(database).tally([], keys) == []


@pytest.mark.parametrize("name", ["memory", "duckdb"])
def test_a_tally_that_is_too_large_is_skipped_with_the_same_words(name: str) -> None:
    from every_engine import ENGINES

    size = 400
    people = [f"p{number}" for number in range(size)]
    schema = Schema({"bad": ("person",), "likes": ("person", "thing")})
    database = build(schema, (), {"likes": [people, ["tea"] * size]})
    body = (Atom("likes", (0, 1)), Atom("likes", (2, 1)), Atom("likes", (2, 3)), Atom("likes", (4, 3)))
    request = TallyRequest(Atom("bad", (0,)), body, (0, 2))
    keys = np.arange(size, dtype=np.int32).reshape(-1, 1)
    (skipped,) = ENGINES[name](database, 1_000_000).tally([request], keys)
    assert isinstance(skipped, Skipped)
    assert str(skipped) == (
        "bad(A) :- likes(A,B), likes(C,B), likes(C,D), likes(E,D). skipped: its groundings may exceed the "
        "memory budget (estimate 448,000,000, limit 125,000)"
    )


def test_all_that_tallies_keep_is_within_the_budget_and_changes_no_answer(tmp_path: Path) -> None:
    """An atom with a constant has facts of its own; a hundred of them do not stay for ever."""
    persons, cities = 300, 100
    facts = [f"friends(p{n},p{n * 7 % persons}).\n" for n in range(persons)]
    facts += [f"visits(p{n},c{(n * n + k) % cities}).\n" for n in range(persons) for k in range(20)]
    write(
        tmp_path,
        {
            "facts.txt": "".join(facts),
            "pos.txt": "".join(f"sick(p{n}).\n" for n in range(0, persons, 2)),
            "neg.txt": "".join(f"sick(p{n}).\n" for n in range(1, persons, 2)),
        },
    )
    database = load(tmp_path)
    keys = database.examples_of("sick").keys
    head = head_atom("sick", 1)
    requests = [
        TallyRequest(head, (Atom("friends", (0, 1)), Atom("visits", (1, f"c{city}"))), (1,))
        for city in range(cities)
    ]
    budget = 200_000
    small, large = MemoryEngine(database, budget), MemoryEngine(database, 10**9)
    for request in requests:
        (one,), (other,) = small.tally([request], keys), large.tally([request], keys)
        assert isinstance(one, Tally) and isinstance(other, Tally)
        assert one.row.tolist() == other.row.tolist() and one.number.tolist() == other.number.tolist()
        assert small.cache.used <= budget
    assert large.cache.used > budget, "what is kept counts against the budget"


def test_a_hub_that_the_estimate_does_not_foresee_is_stopped_by_its_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One driver has 500 of 999 results: the table has 500 rows of four cells, 8 bytes each."""
    monkeypatch.setattr(tallies, "LEAST_CELLS", 0)
    drivers = [f"d{number:03}" for number in range(500)]
    facts = {"result": [[*drivers, *["d499"] * 499], [f"r{number}" for number in range(999)]]}
    database = build(SCHEMA, (), facts)
    key = database.encode_keys("bad", np.array([["d499"]], dtype=object))
    request = TallyRequest(HEAD, (RESULT,), (1,))
    cells = 500 * 4
    (tally,) = MemoryEngine(database, 8 * cells).tally([request], key)
    assert isinstance(tally, Tally) and len(tally.row) == 500
    (skipped,) = MemoryEngine(database, 8 * cells - 8).tally([request], key)
    assert isinstance(skipped, Skipped) and (skipped.estimate, skipped.budget) == (cells, cells - 1)
