"""Fits of several labels of the same examples collect candidates once, and learn what they learn alone."""

from dataclasses import replace

import numpy as np
import pytest

import hornbeam as hb
from citations import tables
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.learning.effects.candidates import Offers
from hornbeam.learning.learners import learn
from hornbeam.learning.loop import Control, Shared
from hornbeam.learning.options import EffectOptions

FAST = EffectOptions(n_bags=2, n_steps=30)


@pytest.fixture(scope="module")
def engine():
    return MemoryEngine(hb.load(tables(), target="papers.topic"))


def test_paths_are_followed_once(engine, monkeypatch):
    followed = []
    follow = Offers.of_path

    def of_path(self, path):
        followed.append(path)
        follow(self, path)

    monkeypatch.setattr(Offers, "of_path", of_path)
    examples = replace(engine.database.examples_of("topic"), classes=())
    shared = Shared()
    numbers = []
    for number, rows in enumerate((slice(None), slice(None), slice(100))):
        labels = (examples.labels == number).astype(np.int8)
        followed.clear()
        some = replace(examples, labels=labels).at(np.arange(len(labels))[rows])
        learn("rlr", engine, some, replace(FAST, max_conditions=1), Control(shared=shared))
        numbers.append(len(followed))
    assert numbers[0] > 0
    assert numbers[1] == 0
    assert numbers[2] > 0  # other examples have other values


def test_options_that_do_not_change_candidates_share_them(engine):
    examples = replace(engine.database.examples_of("topic"), classes=())
    examples = replace(examples, labels=(examples.labels == 1).astype(np.int8))
    shared = Control(shared=Shared())
    for options in (
        FAST,
        replace(FAST, l2=1.0, n_steps=10),
        replace(FAST, n_cuts=3),
        replace(FAST, max_links=1),
    ):
        found = learn("rlr", engine, examples, options, shared).model
        assert found == learn("rlr", engine, examples, options).model


def test_the_last_two_are_shared():
    shared = Shared()
    for key in "abc":
        shared.put(key, key.upper())
    assert [shared.get(key) for key in "abc"] == [None, "B", "C"]
