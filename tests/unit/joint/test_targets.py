"""The examples of a joint target: those of the data, or made of its facts."""

import pytest

from hornbeam.data.build import build
from hornbeam.errors import DataError, SchemaError
from hornbeam.joint.targets import examples_in, names_in, task_of
from hornbeam.logic.schema import NUMBER, Schema

SCHEMA = Schema(
    {
        "smokes": ("person",),
        "phase": ("person", "phase"),
        "friends": ("person", "person"),
        "age": ("person", "years"),
        "rich": ("person",),
    },
    {"years": NUMBER},
)
FACTS = {
    "smokes": (["bob", "cat"],),
    "phase": (["bob", "ann"], ["post", "early"]),
    "friends": (["ann", "ann"], ["bob", "cat"]),
    "age": (["ann"], ["31"]),
}
DATABASE = build(SCHEMA, (), FACTS, {"rich": ((["ann"],), [-1])})


def test_every_constant_is_an_example_of_a_predicate_of_one_argument():
    examples = examples_in(DATABASE, "smokes")
    named = {
        name: int(label) for (name,), label in zip(names_in(DATABASE, examples), examples.labels, strict=True)
    }
    assert named == {"ann": 0, "bob": 1, "cat": 1}


def test_the_value_of_an_attribute_is_the_class():
    examples = examples_in(DATABASE, "phase")
    assert examples.classes == ("early", "post")
    named = {
        name: examples.classes[label]
        for (name,), label in zip(names_in(DATABASE, examples), examples.labels, strict=True)
    }
    assert named == {"ann": "early", "bob": "post"}


@pytest.mark.parametrize("predicate", ["friends", "age"])
def test_facts_that_do_not_say_what_is_false_are_refused(predicate):
    with pytest.raises(SchemaError, match=f'no examples of "{predicate}", and its facts do not say what is'):
        examples_in(DATABASE, predicate)


def test_a_target_without_labels_is_refused():
    with pytest.raises(DataError, match='no example of "rich" has a label; name a column that has labels'):
        task_of(DATABASE, "rich")
