"""Worlds: objects are private to a world, and the schema does not depend on the rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.naive import NaiveEngine
from hornbeam.errors import InputError
from hornbeam.logic.parse import parse_clause

PREDICATES = {"on": ("block", "block"), "clear": ("block",), "hand-empty": (), "age": ("block", "number")}
TOWER = [("on", "a", "b"), ("on", "b", "c"), ("clear", "a"), ("hand-empty",)]


def blocks(*facts, **more):
    return hb.worlds(facts, predicates=PREDICATES, targets={"move": ("block", "block")}, **more)


def counts(database, text, keys):
    engine = NaiveEngine(database)
    codes = database.encode_keys("move", np.array(keys, dtype=object))
    (counted,) = counter_of(engine).count([parse_clause(text)], codes)
    return counted.true.tolist()


def test_objects_of_different_worlds_are_different():
    database = blocks(TOWER, TOWER)
    assert list(database.population("block").names) == ["0:a", "0:b", "0:c", "1:a", "1:b", "1:c"]
    assert counts(database, "move(A,B) :- on(A,B).", [["0:a", "0:b"], ["0:a", "1:b"]]) == [1, 0]


def test_counts_of_all_objects_stay_in_a_world():
    database = blocks(TOWER, [("block", "a"), ("block", "b")])
    clause = "move(A,B) :- block_in(A,W), block_in(C,W)."
    assert counts(database, clause, [["0:a", "0:b"], ["1:a", "1:b"]]) == [3, 2]


def test_a_fact_without_objects_is_about_its_world():
    database = blocks(TOWER, [("block", "a")])
    clause = "move(A,B) :- block_in(A,W), hand_empty(W)."
    assert counts(database, clause, [["0:a", "0:b"], ["1:a", "1:a"]]) == [1, 0]


def test_a_closure_holds_chains_of_links():
    database = blocks(TOWER, closures={"above": "on"})
    pairs = [["0:a", "0:b"], ["0:a", "0:c"], ["0:c", "0:a"]]
    assert counts(database, "move(A,B) :- above(A,B).", pairs) == [1, 1, 0]


def test_the_schema_does_not_depend_on_the_rows():
    assert blocks(TOWER).schema == blocks([("block", "a")]).schema
    assert blocks([("block", "a")]).n_facts("on") == 0


def test_the_three_forms_of_facts_give_the_same_world():
    tuples = [("on", "a", 1), ("clear", "a"), ("age", "a", 2.5)]
    mapping = {("on", "a", 1): True, ("clear", "a"): True, ("clear", "1"): False, ("age", "a"): 2.5}
    frames = {
        "on": pd.DataFrame({"upper": ["a"], "lower": [1]}),
        "clear": pd.DataFrame({"block": ["a"]}),
        "age": pd.DataFrame({"block": ["a"], "years": [2.5]}),
    }
    databases = [blocks(each) for each in (tuples, mapping, frames)]
    for predicate in ("on", "clear", "age"):
        columns = [database.relation(predicate).columns for database in databases]
        assert all(np.array_equal(columns[0], other) for other in columns[1:])
    assert databases[0].numbers["age_value"].tolist() == [2.5]


def test_a_category_is_the_same_value_in_all_worlds():
    database = hb.worlds(
        [[("colour", "a", "red")], [("colour", "a", "red")]], predicates={"colour": ("block", "category")}
    )
    assert list(database.population("colour_value").names) == ["red"]


def test_a_model_learned_on_small_worlds_predicts_in_a_large_one():
    worlds = [[*TOWER, ("clear", "d")], [("clear", "a"), ("clear", "b"), ("on", "a", "c")]] * 20
    keys = [[f"{n}:{a}", f"{n}:{b}"] for n in range(len(worlds)) for a in "abc" for b in "abc" if a != b]
    clear = {f"{n}:{fact[1]}" for n, world in enumerate(worlds) for fact in world if fact[0] == "clear"}
    labels = [int(key[1] in clear) for key in keys]
    model = hb.RLRClassifier(database=blocks(*worlds), target="move", n_bags=1, max_effects=1).fit(
        keys, labels
    )
    large = blocks([("on", f"b{n}", f"b{n + 1}") for n in range(30)] + [("clear", "b0")])
    chances = model.predict_proba([["0:b5", "0:b0"], ["0:b5", "0:b7"]], database=large)[:, 1]
    assert chances[0] > 0.5 > chances[1]


names = st.sampled_from("abcd")
small_worlds = st.lists(st.tuples(st.just("on"), names, names), min_size=1, max_size=6)


@given(st.lists(small_worlds, min_size=1, max_size=3))
def test_each_world_counts_as_if_it_were_alone(several):
    together = blocks(*several, closures={"above": "on"})
    clause = "move(A,B) :- above(A,C), block_in(C,W), block_in(D,W), on(D,B)."
    for number, facts in enumerate(several):
        own = sorted({name for fact in facts for name in fact[1:]})
        alone = blocks(facts, closures={"above": "on"})
        pairs = [(a, b) for a in own for b in own]
        expected = counts(alone, clause, [[f"0:{a}", f"0:{b}"] for a, b in pairs])
        assert counts(together, clause, [[f"{number}:{a}", f"{number}:{b}"] for a, b in pairs]) == expected


BAD = [
    (lambda: blocks(), "the list of worlds is empty"),
    (lambda: blocks(TOWER, []), "world 1 has no facts"),
    (lambda: blocks([("under", "a", "b")]), 'world 0 has a fact of "under", which is no predicate'),
    (lambda: blocks([("on", "a")]), 'world 0 has a fact of "on" with 1 argument, but it takes 2'),
    (lambda: blocks([("age", "a", "old")]), "where a number must be"),
    (lambda: blocks(["on(a,b)"]), "write it as a tuple"),
    (lambda: blocks(TOWER, closures={"above": "over"}), 'the closure "above" is of "over"'),
    (lambda: blocks(TOWER, closures={"above": "clear"}), "does not link objects of one type"),
    (lambda: hb.worlds([TOWER], predicates={}), "predicates is empty"),
    (lambda: hb.worlds([TOWER], predicates={"on": ("number", "block")}), "may only be the last argument"),
    (lambda: hb.worlds(TOWER[0], predicates=PREDICATES), "world 0 is 'on'; give facts"),
    (lambda: hb.worlds([TOWER], predicates=PREDICATES, targets={"on": ("block",)}), "name of a predicate"),
]


@pytest.mark.parametrize("bad, sentence", BAD)
def test_bad_worlds_get_a_sentence(bad, sentence):
    with pytest.raises(InputError, match=sentence):
        bad()
