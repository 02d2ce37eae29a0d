"""The same data give the same model file, byte for byte, whatever engine counts."""

from __future__ import annotations

from functools import cache

import pytest

from every_engine import ENGINES
from hornbeam.data.database import Database
from hornbeam.datasets.worlds import smokers, university
from hornbeam.engines.contract import Engine
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.learning.learners import learn
from hornbeam.learning.options import Options, effect_options, paper_options
from hornbeam.loading import load
from hornbeam.model.files import model_text
from plain_options import joint, plain
from public_data import DATA, needs

OTHERS = {name: engine for name, engine in ENGINES.items() if name not in ("naive", "memory")}
others = pytest.mark.parametrize("engine", OTHERS.values(), ids=OTHERS.keys())
features = pytest.mark.parametrize("feature", ["count", "log"])


def learned(engine: Engine, target: str, options: Options) -> str:
    examples = engine.database.examples_of(target)
    return model_text(learn("rlr", engine, examples, options).model)


@cache
def in_memory(database: Database, target: str, options: Options) -> str:
    return learned(MemoryEngine(database), target, options)


@cache
def uwcse() -> Database:
    return load(DATA / "uwcse" / "fold1", split="train")


@needs()
@others
@features
def test_on_uwcse(engine: type[Engine], feature: str) -> None:
    # Spark takes its time for each of a hundred small tables: short bodies must do there.
    if engine.name == "spark":
        options = plain(n_steps=2, max_literals=1, neg_pos_ratio=2.0, feature=feature)
    else:
        options = plain(n_steps=3, max_literals=2, neg_pos_ratio=2.0, feature=feature)
    expected = in_memory(uwcse(), "advisedby", options)
    assert learned(engine(uwcse()), "advisedby", options) == expected
    assert expected.count('"clause"') == options.n_steps


@cache
def world(name: str) -> Database:
    return university(n_departments=2, seed=1) if name == "university" else smokers(n_persons=300, seed=5)


@others
@features
@pytest.mark.parametrize(("name", "target"), [("smokers", "cancer"), ("university", "advisedby")])
def test_on_generated_worlds(engine: type[Engine], feature: str, name: str, target: str) -> None:
    # On Spark, one feature of one world has longer bodies.
    few = 2 if (feature, name) == ("count", "smokers") else 1
    most = few if engine.name == "spark" else 3
    options = plain(n_steps=2, max_literals=most, neg_pos_ratio=None, feature=feature)
    assert learned(engine(world(name)), target, options) == in_memory(world(name), target, options)


@others
@pytest.mark.parametrize("refit", [False, True], ids=["one by one", "jointly"])
def test_with_guarded_false_counts(engine: type[Engine], refit: bool) -> None:
    options = (joint if refit else paper_options)(n_steps=2, max_literals=2, false_counts="guarded")
    expected = in_memory(world("smokers"), "cancer", options)
    assert learned(engine(world("smokers")), "cancer", options) == expected


@others
def test_with_all_that_the_default_does(engine: type[Engine]) -> None:
    # Spark takes its time for each small table: short bodies must do there.
    options = effect_options(n_bags=3, max_literals=1 if engine.name == "spark" else None)
    for name, target in (("smokers", "cancer"), ("university", "advisedby")):
        expected = in_memory(world(name), target, options)
        assert learned(engine(world(name)), target, options) == expected
        assert '"effects": [' in expected
