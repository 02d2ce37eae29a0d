"""Facts in columns: codes, populations, duplicates, examples."""

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.data.database import UNKNOWN, Database, Notice, Population, Relation
from hornbeam.errors import DataError, Place, SchemaError
from hornbeam.logic.parse import parse_mode
from hornbeam.logic.schema import Schema

SCHEMA = Schema(
    {
        "cancer": ("person",),
        "friends": ("person", "person"),
        "lives": ("person", "city"),
        "smokes": ("person",),
    }
)


def facts_of(database: Database, predicate: str) -> set[tuple[str, ...]]:
    """The facts of a predicate by name."""
    types = database.schema.types_of(predicate)
    columns = database.relation(predicate).columns
    names = [database.population(t).decode(column) for t, column in zip(types, columns, strict=True)]
    return set(zip(*names, strict=True))


def test_facts_come_back_by_name_each_once() -> None:
    database = build(SCHEMA, (), {"friends": [["ann", "bob", "ann"], ["bob", "ann", "bob"]]})
    assert facts_of(database, "friends") == {("ann", "bob"), ("bob", "ann")}
    assert len(database.relation("friends")) == 2


def test_constants_keep_their_case() -> None:
    database = build(SCHEMA, (), {"smokes": [["Ann", "ann", "ANN"]]})
    assert len(database.population("person")) == 3


def test_a_population_is_every_constant_of_facts_examples_and_ranges() -> None:
    database = build(
        SCHEMA,
        (),
        {"friends": [["ann"], ["bob"]], "lives": [["cat"], ["rome"]]},
        examples={"cancer": ([["dan"], ["ann"]], [0, 1])},
        ranges={"person": ["eve", "ann"], "city": ["oslo"]},
    )
    assert sorted(database.population("person").names) == ["ann", "bob", "cat", "dan", "eve"]
    assert sorted(database.population("city").names) == ["oslo", "rome"]


def test_the_same_name_at_two_types_is_two_constants() -> None:
    database = build(SCHEMA, (), {"lives": [["paris", "ann"], ["rome", "paris"]]})
    assert sorted(database.population("person").names) == ["ann", "paris"]
    assert sorted(database.population("city").names) == ["paris", "rome"]


def test_a_predicate_without_facts_is_an_empty_relation() -> None:
    database = build(SCHEMA, (), {"smokes": [[]]})
    assert len(database.relation("smokes")) == len(database.relation("friends")) == 0
    assert len(database.relation("friends").columns) == 2
    assert len(database.population("city")) == len(database.population("nothing")) == 0


def test_codes_of_names_and_names_of_codes() -> None:
    people = Population(["ann", "bob"])
    assert people.code("bob") == 1
    assert people.code("zoe") == UNKNOWN
    assert people.encode(["bob", "zoe", "ann"]).tolist() == [1, UNKNOWN, 0]
    assert people.decode(np.array([1, 0, 1], dtype=np.int32)) == ["bob", "ann", "bob"]


def test_rows_are_sorted_and_distinct_whatever_the_sizes() -> None:
    rows = [(2, 0, 1), (0, 1, 1), (2, 0, 1), (0, 0, 2)]
    columns = [np.array(column, dtype=np.int32) for column in zip(*rows, strict=True)]
    # With sizes of 2**30 a row no longer fits one 64-bit number.
    for sizes in ([3, 3, 3], [2**30] * 3):
        found = Relation.of(columns, sizes)
        assert list(zip(*(c.tolist() for c in found.columns), strict=True)) == [
            (0, 0, 2),
            (0, 1, 1),
            (2, 0, 1),
        ]
        assert {column.dtype for column in found.columns} == {np.dtype(np.int32)}
    assert columns[0].tolist() == [2, 0, 2, 0], "the columns given stay as they are"


def test_examples_have_the_order_in_which_they_are_given() -> None:
    rows = [["cat"], ["ann"], ["bob"], ["dan"]]
    database = build(SCHEMA, (), {}, examples={"cancer": (rows, [0, 1, 0, 1])})
    keys, labels = database.examples("cancer")
    assert keys.tolist() == rows
    assert labels.tolist() == [0, 1, 0, 1]
    assert database.notices == ()


def test_repeated_examples_count_once_and_are_said() -> None:
    rows = [["ann"], ["bob"], ["ann"], ["ann"], ["bob"]]
    database = build(SCHEMA, (), {}, examples={"cancer": (rows, [1, 0, 1, 0, 0])})
    keys, labels = database.examples("cancer")
    assert (keys.tolist(), labels.tolist()) == ([["ann"], ["bob"]], [1, 0])
    assert list(map(str, database.notices)) == [
        '1 example of "cancer" given with both labels, counted as positive (first: cancer(ann)).',
        '2 examples of "cancer" given more than once, counted once (first: cancer(ann)).',
    ]


def test_a_target_may_have_no_examples_left_and_none_at_all() -> None:
    database = build(SCHEMA, (), {}, examples={"friends": ([], [])})
    assert database.examples_of("friends").keys.shape == (0, 2)
    with pytest.raises(DataError) as caught:
        database.examples_of("Cancer")
    assert str(caught.value) == 'no examples of "Cancer". Targets are: friends.'


def test_keys_by_name_become_codes_and_unknown_ones_are_marked() -> None:
    database = build(SCHEMA, (), {"friends": [["ann"], ["bob"]]})
    names = np.array([["bob", "ann"], ["ann", "zoe"]], dtype=object)
    codes = database.encode_keys("friends", names)
    assert codes.tolist() == [[1, 0], [0, UNKNOWN]]
    assert database.names_of("friends", codes[:1]).tolist() == [["bob", "ann"]]


def test_keys_of_the_wrong_width_are_refused() -> None:
    database = build(SCHEMA, (), {})
    with pytest.raises(DataError) as caught:
        database.encode_keys("friends", np.array([["ann"]], dtype=object))
    assert str(caught.value) == (
        'X has 1 columns, but "friends" takes 2: one column per argument (person, person).'
    )


def test_constants_for_refinement_are_those_that_occur_there_sorted() -> None:
    modes = (parse_mode("lives(+person,#city)"), parse_mode("smokes(+person)"))
    database = build(
        SCHEMA, modes, {"lives": [["ann", "bob"], ["rome", "Oslo"]]}, ranges={"city": ["nowhere"]}
    )
    assert dict(database.constants) == {("lives", 1): ("Oslo", "rome")}


def test_facts_that_do_not_fit_the_schema_are_refused() -> None:
    with pytest.raises(SchemaError) as caught:
        build(SCHEMA, (), {"friends": [["ann"]]})
    assert str(caught.value) == (
        'facts of "friends" have 1 arguments, but the schema says friends(person,person).'
    )
    with pytest.raises(SchemaError, match='no predicate "frends"'):
        build(SCHEMA, (), {"frends": [["ann"], ["bob"]]})


def test_a_database_says_what_it_holds_and_cannot_be_changed() -> None:
    database = build(SCHEMA, (), {"smokes": [["ann"]]}, examples={"cancer": ([["ann"]], [1])})
    assert repr(database) == "Database(1 fact, 1 predicate, 2 types, examples: cancer (1))"
    with pytest.raises(TypeError):
        database.relations["smokes"] = database.relation("friends")
    with pytest.raises(AttributeError):
        database.relations = {}


def test_a_notice_says_where() -> None:
    assert str(Notice("rule ignored.", Place("bk.txt", 3, 1))) == "bk.txt:3:1: rule ignored."
    assert str(Notice("nothing there.")) == "nothing there."


def test_facts_in_memory_answer_how_many_and_how_frequent() -> None:
    facts = {"lives": [["ann", "bob", "cat"], ["rome", "rome", "oslo"]]}
    with build(SCHEMA, (), facts) as database:
        assert not database.is_in_place
        assert (database.n_facts("lives"), database.n_facts("smokes")) == (3, 0)
        assert database.has_facts("lives") and not database.has_facts("smokes")
        assert database.frequent("lives", 1, 2) == ("rome",)
    assert database.n_facts("lives") == 3, "closing facts in memory does nothing"
