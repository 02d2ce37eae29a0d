"""A database under the schema of a model learned elsewhere."""

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.data.under_schema import under
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.naive import NaiveEngine
from hornbeam.errors import SchemaError
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema

PERSONS = Schema({"friends": ("person", "person"), "smokes": ("person",), "cancer": ("person",)})


def counts(database: Database, text: str, names: list[str]) -> tuple[list[int], int]:
    clause = parse_clause(text, database.schema)
    keys = database.encode_keys("cancer", np.array([[name] for name in names], dtype=object))
    (counted,) = counter_of(NaiveEngine(database)).count([clause], keys)
    return counted.true.tolist(), counted.total


def test_the_same_schema_gives_the_same_database():
    database = build(PERSONS, (), {"smokes": [["ann"]]})
    assert under(database, Schema(dict(PERSONS.predicates))) is database


def test_other_names_of_types_share_the_columns():
    own = Schema({"friends": ("t1", "t1"), "smokes": ("t1",), "cancer": ("t1",)})
    database = build(own, (), {"friends": [["ann"], ["bob"]]}, {"cancer": ([["ann"], ["cat"]], [1, 0])})
    seen = under(database, PERSONS)
    assert seen.relation("friends") is database.relation("friends")
    assert seen.population("person") is database.population("t1")
    assert seen.examples("cancer")[0].tolist() == [["ann"], ["cat"]]
    assert counts(seen, "cancer(A) :- friends(A,B)", ["ann", "cat"]) == ([1, 0], 3)


def test_types_that_the_data_keep_apart_are_one_where_the_schema_says_so():
    own = Schema({"friends": ("t1", "t2"), "smokes": ("t3",), "cancer": ("t4",)})
    facts = {"friends": [["ann", "ann"], ["bob", "cat"]], "smokes": [["cat"]]}
    database = build(own, (), facts, {"cancer": ([["ann"], ["dan"]], [1, 0])})
    seen = under(database, PERSONS)
    assert sorted(seen.population("person").names) == ["ann", "bob", "cat", "dan"]
    assert counts(seen, "cancer(A) :- friends(A,B), smokes(B)", ["ann", "dan"]) == ([1, 0], 4)


def test_a_type_the_data_join_is_taken_apart_where_the_schema_says_so():
    own = Schema({"wrote": ("t", "t"), "cancer": ("t",)})
    facts = {"wrote": [["1", "2", "1"], ["1", "2", "3"]]}
    database = build(own, (), facts, {"cancer": ([["1"], ["7"]], [1, 0])})
    wanted = Schema({"wrote": ("person", "paper"), "cancer": ("person",)})
    seen = under(database, wanted)
    assert sorted(seen.population("person").names) == ["1", "2", "7"]
    assert sorted(seen.population("paper").names) == ["1", "2", "3"]
    assert counts(seen, "cancer(A) :- wrote(A,B)", ["1", "2", "7"]) == ([2, 1, 0], 3)


def test_what_the_data_lack_is_empty_and_what_the_schema_lacks_is_left_out():
    own = Schema({"smokes": ("person",), "drinks": ("person",)})
    database = build(own, (), {"smokes": [["ann"]], "drinks": [["bob"]]})
    seen = under(database, PERSONS)
    assert len(seen.relation("friends")) == 0
    assert set(seen.relations) == {"smokes"}
    # bob is a person of these data, whatever else is known of him
    assert sorted(seen.population("person").names) == ["ann", "bob"]


def test_another_arity_is_refused():
    database = build(Schema({"friends": ("person",)}), (), {"friends": [["ann"]]})
    with pytest.raises(SchemaError, match=r'"friends" has 1 arguments in the data, but 2 were expected'):
        under(database, PERSONS)
