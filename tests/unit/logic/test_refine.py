"""Which literals may be added to a body."""

from hornbeam.logic.clauses import head_atom
from hornbeam.logic.parse import parse_clause, parse_mode
from hornbeam.logic.refine import Language, memoised, refinements
from hornbeam.logic.schema import NUMBER, Kind, Schema, schema_of


def language(
    *modes: str, constants: dict[str, tuple[str, ...]] | None = None, negation: bool = False
) -> Language:
    """A language for the first mode's predicate; constants by predicate, at its # argument."""
    found = tuple(map(parse_mode, modes))
    places = {}
    for mode in found:
        for place, arg in enumerate(mode.args):
            if arg.kind is Kind.CONSTANT:
                places[mode.predicate, place] = (constants or {})[mode.predicate]
    head = head_atom(found[0].predicate, len(found[0].args))
    return Language(head, schema_of(found), found, places, negation)


def bodies(text: str, words: Language) -> list[str]:
    """The bodies that refinement makes of a clause, sorted."""
    found = [str(clause).split(" :- ")[1] for clause in refinements(parse_clause(text), words)]
    return sorted(found)


def test_a_bound_argument_takes_every_variable_of_its_type() -> None:
    words = language("t(+x,+y,+x)", "p(+x)")
    assert bodies("t(A,B,C)", words) == ["p(A).", "p(C)."]


def test_an_open_argument_takes_old_variables_or_a_new_one() -> None:
    words = language("t(+x)", "e(+x,-x)")
    assert bodies("t(A)", words) == ["e(A,A).", "e(A,B)."]
    assert bodies("t(A) :- e(A,B)", words) == [
        "e(A,A), e(A,B).",
        "e(A,B), e(A,C).",
        "e(A,B), e(B,A).",
        "e(A,B), e(B,B).",
        "e(A,B), e(B,C).",
    ]


def test_a_new_argument_takes_a_new_variable_only_and_two_are_distinct() -> None:
    assert bodies("t(A)", language("t(+x)", "e(+x,`x)")) == ["e(A,B)."]
    assert bodies("t(A)", language("t(+x)", "e(`x,`x)")) == ["e(B,C)."]
    assert bodies("t(A)", language("t(+x)", "e(-x,-x)")) == ["e(A,A).", "e(A,B).", "e(B,A).", "e(B,C)."]


def test_a_constant_argument_takes_each_constant_that_occurs() -> None:
    words = language("t(+x)", "g(+x,#k)", constants={"g": ("drama", "Sea")})
    assert bodies("t(A)", words) == ["g(A,'Sea').", "g(A,drama)."]
    assert bodies("t(A)", language("t(+x)", "g(+x,#k)", constants={"g": ()})) == []


def test_without_a_variable_of_the_type_nothing_can_be_bound() -> None:
    assert bodies("t(A)", language("t(+x)", "p(+y)")) == []


def test_the_target_is_never_in_its_own_body() -> None:
    assert bodies("t(A)", language("t(+x)")) == []
    assert bodies("t(A)", language("t(+x)", "t(-x)", "p(+x)")) == ["p(A)."]


def test_what_is_in_the_body_is_not_added_again() -> None:
    assert bodies("t(A) :- p(A)", language("t(+x)", "p(+x)")) == []


def test_the_same_with_a_new_variable_may_be_added() -> None:
    assert bodies("t(A) :- e(A,B)", language("t(+x)", "e(+x,`y)")) == ["e(A,B), e(A,C)."]


def test_two_modes_that_allow_the_same_give_it_once() -> None:
    words = language("t(+x)", "e(+x,-x)", "e(-x,+x)", "e(+x,+x)")
    assert bodies("t(A)", words) == ["e(A,A).", "e(A,B).", "e(B,A)."]


def test_two_literals_that_make_equal_bodies_give_one() -> None:
    words = language("t(+x)", "e(+x,`y)", "p(+y)")
    assert bodies("t(A) :- e(A,B), e(A,C)", words) == ["e(A,B), e(A,C), e(A,D).", "e(A,B), e(A,C), p(B)."]


def test_negation_doubles_the_choices_also_with_new_variables() -> None:
    words = language("t(+x)", "e(+x,`y)", negation=True)
    assert bodies("t(A)", words) == ["e(A,B).", "not e(A,B)."]


def test_refinements_come_in_canonical_form_in_an_order_that_repeats() -> None:
    words = language("t(+x)", "e(+x,-x)", "b(+x)", negation=True)
    clause = parse_clause("t(A) :- e(A,B)")
    assert refinements(clause, words) == refinements(clause, words)
    assert "t(A) :- b(B), e(A,B)." in map(str, refinements(clause, words))
    assert "t(A) :- e(A,B), b(B)." not in map(str, refinements(clause, words))


def test_remembered_refinements_are_the_same() -> None:
    words = language("t(+x)", "e(+x,-x)")
    refine = memoised(words)
    clause = words.empty()
    assert refine(clause) == refinements(clause, words)
    assert refine(clause) is refine(clause)


def with_thresholds(**more: bool) -> Language:
    """Ages of persons, with two thresholds."""
    found = tuple(map(parse_mode, ["t(+x)", "age(+x,-y)", "friends(+x,-x)"]))
    schema = Schema(schema_of(found).predicates, {"y": NUMBER})
    thresholds = {("age", 1): (30.0, 60.0)}
    return Language(head_atom("t", 1), schema, found, {}, more.get("negation", False), thresholds)


def test_a_new_variable_comes_alone_or_with_each_threshold_on_either_side() -> None:
    found = bodies("t(A) :- true.", with_thresholds())
    ages = [f"age(A,B), B {sign} {value}." for value in (30, 60) for sign in ("<", ">=")]
    assert found == sorted(["age(A,B).", *ages, "friends(A,A).", "friends(A,B)."])


def test_a_variable_that_was_there_is_compared_within_the_bounds_it_has() -> None:
    def compared(body: str) -> list[str]:
        found = bodies(f"t(A) :- {body}.", with_thresholds())
        return [each for each in found if each.count("age") == 1 and "friends" not in each]

    both = ["age(A,B), B < 30.", "age(A,B), B < 60.", "age(A,B), B >= 30.", "age(A,B), B >= 60."]
    assert compared("age(A,B)") == both
    # Not below 30 as well, not below what it must reach, and not a second time on the same side.
    assert compared("age(A,B), B >= 30") == ["age(A,B), B < 60, B >= 30."]
    assert compared("age(A,B), B < 60") == ["age(A,B), B < 60, B >= 30."]
    assert compared("age(A,B), B >= 60") == []
    assert compared("age(A,B), B < 30") == []


def test_remembered_refinements_are_the_same_whatever_the_language() -> None:
    for words in (
        with_thresholds(),
        with_thresholds(negation=True),
        language("t(+x,+x)", "p(+x,-x)", "q(+x)", negation=True),
        language("t(+x)", "p(+x,-x)", "c(+x,#k)", constants={"c": ("one", "two")}),
    ):
        refine = memoised(words)
        level = [parse_clause(f"t({','.join('AB'[: len(words.head.args)])}) :- true.")]
        for _ in range(2):
            following = [refine(clause) for clause in level]
            assert following == [refinements(clause, words) for clause in level]
            assert [refine(clause) for clause in level] == following
            level = list(dict.fromkeys(clause for found in following for clause in found))


def test_an_old_number_in_a_new_atom_is_not_compared_by_the_way() -> None:
    found = bodies("t(A) :- age(A,B), friends(A,C).", with_thresholds())
    of_one_number = [each for each in found if "age(A,B)" in each and "age(C,B)" in each]
    assert of_one_number == ["age(A,B), age(C,B), friends(A,C)."]


def test_unless_asked_nothing_is_negated_or_compared() -> None:
    modes = (parse_mode("t(+x)"), parse_mode("p(+x)"))
    plain = Language(head_atom("t", 1), schema_of(modes), modes)
    assert [str(clause) for clause in refinements(plain.empty(), plain)] == ["t(A) :- p(A)."]
