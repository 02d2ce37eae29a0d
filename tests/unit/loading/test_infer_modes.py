"""Types and modes of data that state none."""

from itertools import pairwise

from folders import flat, said
from hornbeam.loading import load, modes_text

INFERRED = (
    "the data state no modes, so types and modes were inferred from shared constants; "
    "run `hornbeam modes` to see them."
)


def lines(folder):
    return modes_text(load(folder)).splitlines()


def test_arguments_that_share_a_constant_share_a_type_transitively(tmp_path):
    flat(tmp_path, "a(x,y). b(y,z). c(z,w). d(v,u).", pos="cancer(x).", neg="")
    types = load(tmp_path).schema.types_of
    assert types("a")[0] == types("cancer")[0] == "a_1"
    assert types("a")[1] == types("b")[0] == "a_2"
    assert types("b")[1] == types("c")[0] == "b_2"
    assert types("c")[1] == "c_2"
    assert types("d") == ("d_1", "d_2")


def test_inferred_modes(tmp_path):
    people = [f"p{number}" for number in range(60)]
    facts = "".join(f"friends({one},{other}). " for one, other in pairwise(people))
    facts += "".join(f"lives({one},town{number % 3},h{number}). " for number, one in enumerate(people))
    flat(tmp_path, facts + "smokes(p1).", pos="cancer(p1).", neg="cancer(p2).")
    # Persons are what the target is about, and there are 60 houses: neither becomes a constant.
    assert lines(tmp_path) == [
        "mode: cancer(+cancer_1).",
        "mode: friends(+cancer_1,-cancer_1).",
        "mode: friends(-cancer_1,+cancer_1).",
        "mode: lives(+cancer_1,-lives_2,-lives_3).",
        "mode: lives(-cancer_1,+lives_2,-lives_3).",
        "mode: lives(-cancer_1,-lives_2,+lives_3).",
        "mode: lives(+cancer_1,#lives_2,-lives_3).",
        "mode: lives(-cancer_1,#lives_2,+lives_3).",
        "mode: smokes(+cancer_1).",
    ]


def test_fifty_constants_are_few_and_fifty_one_are_not(tmp_path):
    def with_constants(number):
        facts = "".join(f"at(p{i},x{i % number})." for i in range(100))
        return [line for line in lines(flat(tmp_path, facts, pos="cancer(p1).", neg="")) if "#" in line]

    assert with_constants(50) == ["mode: at(+at_1,#at_2)."]
    assert with_constants(51) == []


def test_one_name_in_two_spellings_is_one_constant(tmp_path):
    facts = "".join(f"at(p{i},x{i % 50}).at(p{i}, 'x{i % 50}')." for i in range(60))
    flat(tmp_path, facts, pos="cancer(p1).", neg="")
    assert "mode: at(+at_1,#at_2)." in lines(tmp_path)


def test_a_join_by_numbers_only_is_made_and_said(tmp_path):
    flat(tmp_path, "age(ann,7). score(bob,7). score(bob,-2.5). temperature(-2.5,red). friends(ann,bob).")
    database = load(tmp_path)
    assert database.schema.types_of("age")[1] == database.schema.types_of("temperature")[0]
    assert said(database, tmp_path) == [
        INFERRED,
        "arguments were given the same type only because they share numbers: "
        "argument 2 of score with argument 2 of age (both have 7), "
        "argument 1 of temperature with argument 2 of score (both have -2.5); "
        "if they mean different things, write modes with types of your own.",
    ]


def test_a_join_that_also_rests_on_names_is_not_doubted(tmp_path):
    flat(tmp_path, "age(ann,7). age(bob,old). score(bob,7). score(ann,old).")
    assert said(load(tmp_path), tmp_path) == [INFERRED]


def test_facts_of_the_target_join_nothing(tmp_path):
    flat(tmp_path, "cancer(red). colour(red,blue). smokes(ann).")
    assert load(tmp_path).schema.types_of("colour")[0] != load(tmp_path).schema.types_of("cancer")[0]


def test_background_without_modes_leaves_them_to_be_inferred(tmp_path):
    flat(tmp_path, "friends(ann,bob).", "setParam: treeDepth=3.\nsmokes(ann).")
    database = load(tmp_path)
    assert {mode.predicate for mode in database.modes} == {"cancer", "friends", "smokes"}
    assert said(database, tmp_path)[-1] == INFERRED


def test_the_order_of_facts_changes_nothing(tmp_path):
    facts = ["friends(ann,bob).", "age(ann,7).", "score(7,x).", "likes(bob,x)."]
    flat(tmp_path / "one", "\n".join(facts))
    flat(tmp_path / "other", "\n".join(reversed(facts)))
    assert load(tmp_path / "one").modes == load(tmp_path / "other").modes
    assert load(tmp_path / "one").notices == load(tmp_path / "other").notices


def test_inferred_modes_saved_as_background_are_read_back(tmp_path):
    flat(tmp_path, "friends(ann,bob). age(ann,7). 'lives in'(bob,'New York'). 'not'(x,y,z).")
    database = load(tmp_path)
    (tmp_path / "background.txt").write_text(modes_text(database))
    again = load(tmp_path)
    assert again.modes == database.modes
    assert again.schema.predicates == database.schema.predicates
    assert again.notices == ()
