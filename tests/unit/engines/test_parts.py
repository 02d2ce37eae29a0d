"""A body becomes tests and links by its form, and by where one fact at most can match."""

import pytest

from hornbeam.engines.plan.compiling import Compiler
from hornbeam.engines.plan.parts import (
    HERE,
    Absent,
    Cell,
    Compare,
    Exists,
    FactNumber,
    Found,
    Input,
    IsConstant,
    New,
    RowPart,
)
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.logic.schema import NUMBER, Schema

SCHEMA = Schema(
    {
        "bad": ("user",),
        "pair": ("user", "user"),
        "age": ("user", "years"),
        "event": ("user", "event"),
        "amount": ("event", "money"),
        "shop": ("event", "shop"),
        "vip": ("user",),
        "friend": ("user", "user"),
    },
    {"years": NUMBER, "money": NUMBER},
)
KEYS = {"age", "amount", "shop", "vip"}


def compiler() -> Compiler:
    def single(predicate: str, places: tuple[int, ...]) -> bool:
        return (predicate in KEYS and 0 in places) or (predicate == "event" and 1 in places)

    return Compiler(SCHEMA, single, {"event", "amount"})


def part_of(text: str, made: Compiler | None = None, times: bool = False) -> RowPart:
    """The part of an effect that is written without its curve."""
    feature, _, clause = text.partition(" : ")
    effect = parse_effect(f"{feature} [else: 1] : {clause}.", SCHEMA)
    return (made or compiler()).part_of(effect.head, effect.body, effect.feature.variable, times)


def test_columns_of_one_row_are_lookups() -> None:
    part = part_of("mean V : bad(A) :- event(A,B), shop(B,S), S = mill, amount(B,V), V >= 3")
    (link,) = part.links
    assert (part.tests, part.value, part.has_value) == ((), None, True)
    assert (link.facts.predicate, link.facts.args) == ("event", (Input(0, "user"), New(1)))
    assert link.keys == (Input(0, "user"),) and link.carried == ()
    shop, is_mill, amount, at_least = link.below.tests
    assert isinstance(shop, Exists) and isinstance(amount, Exists)
    assert shop.facts.args == amount.facts.args == (Cell(1, "event"), New(1))
    assert is_mill == IsConstant(Found(shop.facts, 1, "shop"), "mill")
    value = Found(amount.facts, 1, "money")
    assert at_least == Compare(value, ">=", 3.0)
    assert link.below.value == value and link.below.links == ()
    assert part.predicates == {"event", "shop", "amount"}


def test_parts_do_not_depend_on_names_of_variables_and_are_made_once() -> None:
    made = compiler()
    one = part_of("count : bad(A) :- friend(A,B), event(B,C), shop(C,D), D = mill", made)
    other = part_of("count : bad(A) :- friend(A,X), event(X,Z), shop(Z,Y), Y = mill", made)
    assert one is other
    without = part_of("count : bad(A) :- friend(A,B), event(B,C)", made)
    assert without.links[0].facts is one.links[0].facts


def test_links_that_share_no_variable_are_side_by_side() -> None:
    part = part_of("mean V : bad(A) :- friend(A,B), event(A,C), age(B,V), event(B,D)")
    friend, event = part.links
    assert (friend.below.has_value, event.below.has_value) == (True, False)
    assert [link.facts.predicate for link in friend.below.links] == ["event"]


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        ("count : bad(A) :- friend(A,B), friend(B,C), friend(C,A)", (Input(0, "user"),)),
        ("count : pair(A,B) :- friend(A,C), friend(C,B)", (Input(1, "user"),)),
    ],
)
def test_what_closes_a_cycle_or_meets_the_other_argument_is_carried(
    text: str, carried: tuple[Input, ...]
) -> None:
    part = part_of(text)
    (link,) = part.links
    assert link.carried in (carried, ())
    while link.below.links:
        (link,) = link.below.links
    (closing,) = link.below.tests
    assert isinstance(closing, Exists) and len(closing.facts.known) == 2


def test_negations_and_numbers_are_about_the_row() -> None:
    part = part_of("count : bad(A) :- not friend(A,B), N = number of event(A,C), N < 2, not vip(A)")
    absent, compare, vip = part.tests
    assert isinstance(absent, Absent) and absent.facts.args == (Input(0, "user"), New(1))
    assert isinstance(compare, Compare) and isinstance(compare.value, FactNumber)
    assert isinstance(vip, Absent) and part.links == ()


def test_the_value_and_the_time_are_at_one_row_each() -> None:
    part = part_of("last V : bad(A) :- age(A,V), event(A,B), friend(A,C)", times=True)
    assert part.value == Found(part.tests[0].facts, 1, "years")  # type: ignore[union-attr]
    event, friend = part.links
    assert event.below.time == HERE and event.below.has_time and not friend.below.has_time
    assert not event.below.has_value and part.time is None and part.has_time
    looked_up = part_of("last V : bad(A) :- event(A,B), amount(B,V)", times=True).links[0].below
    assert looked_up.time is looked_up.tests[0].facts  # type: ignore[union-attr]


def test_limits_in_time_are_kept_where_they_limit() -> None:
    limited = "within 30 last 5 event(A,B), last 2 friend(A,C), within 7 last 1 amount(B,V)"
    part = part_of(f"count : bad(A) :- {limited}")
    event, friend = part.links
    assert (event.facts.last, event.facts.within) == (5, 30.0)
    assert (friend.facts.last, friend.facts.within) == (None, None), "facts without times have no last ones"
    (amount,) = event.below.tests
    assert isinstance(amount, Exists) and (amount.facts.last, amount.facts.within) == (None, 7.0)


def test_an_atom_without_common_variables_depends_on_the_cut_off_alone() -> None:
    (link,) = part_of("count : bad(A) :- event(B,C)").links
    assert link.keys == () and link.facts.args == (New(0), New(1))


def test_a_variable_that_is_repeated_or_a_constant_is_in_the_facts() -> None:
    (link,) = part_of("count : bad(A) :- friend(B,B), event(B,C)").links
    assert link.facts.args == (New(0), New(0))
    (only,) = part_of("count : bad(A) :- event(anna,C)").links
    assert only.facts.args == ("anna", New(1)) and only.facts.known == ()


def test_things_of_different_kinds_are_different() -> None:
    part = part_of("count : bad(A) :- vip(A), not vip(A)")
    assert [type(test) for test in part.tests] == [Exists, Absent]
    (link,) = part_of("count : bad(A) :- friend(B,C), friend(B,A), friend(B,D), pair(D,A)").links
    below = link.below.tests[0]
    assert isinstance(below, Exists)
    assert below.facts.args == (Cell(0, "user"), Input(0, "user"))
    assert Input(0, "user") != Cell(0, "user")
