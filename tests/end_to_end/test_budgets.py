"""Clauses that would take a machine down, under a limit of 1 GB for the whole process.

Nothing crashes; what is counted is right; what is skipped is on record with its cost and the budget.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from folders import write

LIMIT = 1 << 30
ENVIRONMENT = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


def under_limit(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, env=ENVIRONMENT, preexec_fn=limit
    )


COUNT = """
import json, sys
import numpy as np
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.data.build import build
from hornbeam.data.database import Coded
from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.registry import open_engine
from hornbeam.logic.schema import schema_of
from hornbeam.logic.parse import parse_clause, parse_mode

modes = tuple(map(parse_mode, ["t(+x).", "e(+x,-x).", "q(+x).", "left(-y).", "right(-z)."]))
size, hubs = 20_000, 30
names = [f"n{number}" for number in range(size)]
everybody, each_hub = np.arange(size), np.arange(hubs)
# Every hub is linked to everybody, both ways.
first = np.concatenate([np.repeat(each_hub, size), np.tile(everybody, hubs)]).astype(np.int32)
second = np.concatenate([np.tile(everybody, hubs), np.repeat(each_hub, size)]).astype(np.int32)
many = 100_000
facts = {
    "e": [Coded(names, first), Coded(names, second)],
    "q": [names[::2]],
    "left": [[f"l{number}" for number in range(many)]],
    "right": [[f"r{number}" for number in range(many)]],
}
examples = ([[name] for name in names[:400]], [number % 2 for number in range(400)])
database = build(schema_of(modes), modes, facts, {"t": examples})
engine = open_engine("memory", database, int(sys.argv[1]))
found = {}
for text in json.loads(sys.argv[2]):
    clause, keys = parse_clause(text, database.schema), database.examples_of("t").keys
    (counts,) = counter_of(engine).count([clause], keys)
    found[text] = (
        [int(counts.true[0]), int(counts.true[-1]), counts.total]
        if isinstance(counts, Counts)
        else [counts.reason, counts.estimate, counts.budget]
    )
print(json.dumps(found))
"""
MANY, SIZE, HUBS = 100_000, 20_000, 30
COUNTED = {
    # A hub has links to everybody; somebody else has links to the hubs only.
    "t(A) :- e(A,B), q(B).": [SIZE // 2, HUBS // 2, SIZE],
    "t(A) :- left(B), right(C).": [MANY**2, MANY**2, MANY**2],
    "t(A) :- e(A,B), left(C), right(D).": [SIZE * MANY**2, HUBS * MANY**2, SIZE * MANY**2],
    # Triangles: a hub with a hub and anybody, either way round, each once; anybody else with two hubs.
    "t(A) :- e(A,B), e(B,C), e(C,A).": [
        HUBS * SIZE + (SIZE - HUBS) * HUBS,
        HUBS * HUBS,
        SIZE**2,
    ],
}
TOO_MANY = {
    "t(A) :- e(A,B), e(A,C), e(A,D), e(B,C), e(B,D), e(C,D).": "joining it would visit more partial bindings",
    "t(A) :- left(B), right(C), left(D), right(E).": "its true count may exceed int64",
    "t(A) :- e(B,C), e(C,D), e(D,B), e(B,E), e(E,F), e(F,B).": "joining it would visit more partial bindings",
}


@pytest.mark.parametrize("budget", [100_000_000, 400_000_000])
def test_cliques_on_a_hub_graph_and_cross_products_of_a_hundred_thousand(budget: int) -> None:
    done = under_limit("-c", COUNT, budget, json.dumps([*COUNTED, *TOO_MANY]))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for clause, counts in COUNTED.items():
        if isinstance(found[clause][0], str):
            assert "partial bindings" in found[clause][0]
            assert found[clause][1] > found[clause][2]
        else:
            assert found[clause] == counts
    for clause, reason in TOO_MANY.items():
        said, estimate, stated = found[clause]
        assert reason in said
        assert estimate > stated
    assert sum(isinstance(counts[0], int) for counts in found.values()) >= 3


def test_a_fit_skips_what_its_budget_does_not_allow_and_says_so(tmp_path: Path) -> None:
    hubs, size = range(12), range(3000)
    pairs = [(hub, each) for hub in hubs for each in size] + [(each, hub) for hub in hubs for each in size]
    facts = "".join(f"e(n{one},n{two}).\n" for one, two in pairs) + "".join(f"q(n{n}).\n" for n in size[::3])
    background = "mode: e(+x,-x).\nmode: q(+x).\nmode: t(+x).\n"
    positives = "".join(f"t(n{number}).\n" for number in range(0, 600, 3))
    negatives = "".join(f"t(n{number}).\n" for number in range(1, 600, 3))
    folder = write(
        tmp_path / "data",
        {"facts.txt": facts, "pos.txt": positives, "neg.txt": negatives, "background.txt": background},
    )
    model, history = tmp_path / "m.json", tmp_path / "h.json"
    words = ["fit", folder, "--target", "t", "--bags", 2, "--steps", 40]
    done = under_limit(
        "-m", "hornbeam", *words, "--memory", "3MB", "--time", "10m", "--model", model, "--history", history
    )
    assert done.returncode == 0, done.stderr
    assert "skipped" in done.stderr
    record = json.loads(history.read_text())
    assert record["skipped"]
    for each in record["skipped"]:
        assert each["estimate"] > each["budget"]
        assert each["reason"]
    assert json.loads(model.read_text())["effects"]
    # The same budget skips the same candidates: the model is the same byte for byte.
    again = under_limit("-m", "hornbeam", *words, "--memory", "3MB", "--model", tmp_path / "again.json")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again.json").read_bytes() == model.read_bytes()


def test_a_time_limit_bounds_loading_too(tmp_path: Path) -> None:
    """Many tables take longer to load than a moment, loaded and in place."""
    (tmp_path / "users.csv").write_text("id,bad\n" + "".join(f"{n},{n % 2}\n" for n in range(50)))
    rows = "".join(f"{n},{n},{n % 7}\n" for n in range(40))
    for number in range(150):
        (tmp_path / f"visits{number}.csv").write_text(f"id,user_id,x\n{rows}")
    for engine in ("memory", "duckdb"):
        words = ["fit", str(tmp_path), "--target", "users.bad", "--time", "0.05s", "--engine", engine]
        ran = subprocess.run([sys.executable, "-m", "hornbeam", *words], capture_output=True, text=True)
        assert ran.returncode == 2
        assert ran.stderr.startswith("hornbeam: loading was not done after --time 0.05s, so nothing")
        assert ran.stdout == ""
