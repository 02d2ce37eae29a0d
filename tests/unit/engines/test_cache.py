"""The cache of an engine: a model of it in plain lists, and what a fit keeps under a budget."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import weakref
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.engines.cache import ENTRY, Cache

ACTIONS = st.lists(
    st.tuples(st.sampled_from(["get", "put"]), st.integers(0, 2), st.integers(0, 5), st.integers(0, 900)),
    max_size=60,
)


@given(ACTIONS, st.integers(1, 4000))
def test_the_least_recently_used_value_of_all_parts_is_dropped_first(
    actions: list[tuple[str, int, int, int]], budget: int
) -> None:
    cache = Cache(budget)
    dropped: list[tuple[int, int]] = []
    parts = [cache.part(dropped=dropped.append) for _ in range(3)]
    model: OrderedDict[tuple[int, int], tuple[int, int]] = OrderedDict()
    for number, (action, place, key, size) in enumerate(actions):
        if action == "get":
            known = model.get((place, key))
            assert parts[place].get(key) == (None if known is None else (number_of(known), key))
            if known is not None:
                model.move_to_end((place, key))
            continue
        parts[place].put(key, (number, key), size)
        model.pop((place, key), None)
        model[place, key] = number, size + ENTRY
        expected = []
        while sum(size for _, size in model.values()) > budget and len(model) > 1:
            (_, gone), (stored, _) = model.popitem(last=False)
            expected.append((stored, gone))
        assert dropped == expected
        dropped.clear()
        assert cache.used == sum(size for _, size in model.values())


def number_of(stored: tuple[int, int]) -> int:
    return stored[0]


def test_a_part_has_its_own_limit_and_gives_its_bytes_back_when_it_is_gone() -> None:
    cache = Cache(100_000)
    limited, other = cache.part(limit=2 * ENTRY + 100), cache.part()
    other.put("key", "value", 5_000)
    for number in range(10):
        limited.put(number, number, 50)
    assert [limited.get(number) for number in range(10)] == [None] * 8 + [8, 9]
    assert other.get("key") == "value"
    assert cache.used == 5_000 + ENTRY + 2 * (50 + ENTRY)
    gone = weakref.ref(limited)
    del limited
    gc.collect()
    assert gone() is None
    assert cache.used == 5_000 + ENTRY


FIT = """
import json, resource, sys
import numpy as np
from hornbeam.data.build import build
from hornbeam.data.database import Coded
from hornbeam.engines.registry import engine_module, open_engine
from hornbeam.learning.learners import learn, options_for
from hornbeam.logic.schema import schema_of
from hornbeam.logic.parse import parse_mode

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

memory, users, films, chosen = map(int, sys.argv[1:])
modes = "t(+user). rated(+user,#film). rated(+user,-film). genre(+film,#genre). age(+user,#age)."
modes = tuple(map(parse_mode, modes.split()))
numbers = np.random.default_rng(1)
who = np.repeat(np.arange(users), 3).astype(np.int32)
what = (films * numbers.random(3 * users) ** 2).astype(np.int32)
names, titles = [f"u{n}" for n in range(users)], [f"f{n}" for n in range(films)]
ten = [f"c{n}" for n in range(10)]
facts = {
    "rated": [Coded(names, who), Coded(titles, what)],
    "genre": [titles, [ten[n % 10] for n in range(films)]],
    "age": [names, [ten[n % 7] for n in range(users)]],
}
liked = np.zeros(users, dtype=np.int64)
liked[who[what < films // 30]] = 1
examples = [[name] for name in names[:chosen]], liked[:chosen].tolist()
database = build(schema_of(modes), modes, facts, {"t": examples})
engine_module("memory")
options = options_for("rlr", "paper", n_steps=1, max_literals=2)
loaded = peak()
engine = open_engine("memory", database, memory)
fitted = learn("rlr", engine, database.examples_of("t"), options)
clauses = [str(each.clause) for each in fitted.model.clauses]
print(json.dumps([peak() - loaded, engine.cache.used, clauses, len(fitted.history.skipped)]))
"""


@pytest.mark.parametrize("chosen", [1_000, 20_000])
def test_a_fit_keeps_no_more_than_its_budget(chosen: int) -> None:
    budget = 20_000_000
    words = [sys.executable, "-c", FIT, *map(str, (budget, 200_000, 600, chosen))]
    done = subprocess.run(
        words, capture_output=True, text=True, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}, check=False
    )
    assert done.returncode == 0, done.stderr
    added, kept, clauses, skipped = json.loads(done.stdout)
    assert kept <= budget
    assert added <= budget + 150_000_000
    assert clauses
    assert skipped == 0
