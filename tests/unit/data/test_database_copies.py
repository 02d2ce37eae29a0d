"""A database is shared by copies of what holds it, and survives pickling."""

import copy
import pickle

import pytest

from hornbeam.data.build import build
from hornbeam.logic.schema import Schema

DATABASE = build(
    Schema({"smokes": ("person",), "cancer": ("person",)}),
    (),
    {"smokes": [["ann", "bob"]]},
    {"cancer": ([["ann"], ["cat"]], [1, 0])},
)


def test_a_deep_copy_is_the_database_itself():
    assert copy.deepcopy({"database": DATABASE})["database"] is DATABASE


def test_pickling_keeps_facts_examples_and_immutability():
    again = pickle.loads(pickle.dumps(DATABASE))
    assert repr(again) == repr(DATABASE)
    assert again.examples("cancer")[0].tolist() == [["ann"], ["cat"]]
    assert again.relation("smokes").columns[0].tolist() == DATABASE.relation("smokes").columns[0].tolist()
    with pytest.raises(TypeError):
        again.relations["smokes"] = None
