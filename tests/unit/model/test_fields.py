"""Settings of model files: whatever they hold, reading gives a usable model or an error of one sentence."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.errors import HornbeamError, ModelError
from hornbeam.loading.tables.learned import learned_tables
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Model
from hornbeam.model.effects import FittedEffect
from hornbeam.model.files import model_text, parse_model

SCHEMA = Schema(
    {"good": ("users",), "orders": ("users", "orders"), "amount": ("orders", "orders_amount")},
    {"orders_amount": "number"},
)
SETTINGS: dict[str, object] = {
    "at_cutoff": "before",
    "average_log_odds": -0.1,
    "l2": 5.0,
    "max_effects": None,
    "names": {"users": {"u1": "Ann"}},
    "tables": {
        "orders": {"key": "id", "links": {"user_id": "users"}, "roles": {"amount": "number"}, "time": "at"},
        "users": {"key": "id", "links": {}, "roles": {}},
    },
    "target": "good(users)",
    "times": "date",
}
EFFECT = parse_effect("sum C [< 3: -0.5; else: 1] : good(A) :- orders(A,B), amount(B,C).", SCHEMA)
FIELDS = json.loads(
    model_text(Model("good", SCHEMA, -0.1, (), SETTINGS, effects=(FittedEffect(EFFECT, 0.4, (), (0, 5, 7)),)))
)


def places(value: object, at: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Every place in a JSON value: the names and numbers that lead to it."""
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return [at, *(place for name, each in members for place in places(each, (*at, name)))]


def changed(place: tuple[object, ...], value: object) -> str:
    """The text of the model file with another value at one place."""
    fields = copy.deepcopy(FIELDS)
    holder = fields
    for name in place[:-1]:
        holder = holder[name]
    holder[place[-1]] = value
    return json.dumps(fields)


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (("average_log_odds",), "much", '"average_log_odds" of "settings" must be a finite number'),
        (("average_log_odds",), 10**400, '"average_log_odds" of "settings" must be a finite number'),
        (("l2",), 1e300, '"l2" of "settings" must be a number of at most 1e\\+200'),
        (("times",), "dates", '"times" of "settings" must be date or number'),
        (("at_cutoff",), ["before"], '"at_cutoff" of "settings" must be before or include'),
        (("names",), {"users": ["Ann"]}, '"users" of "names" of "settings" must be a text for each constant'),
        (("tables", "orders"), {}, '"orders" of "tables" of "settings" must be a table with a key'),
        (
            ("tables", "orders", "links"),
            3,
            '"links" of "orders" of "tables" of "settings" must be a JSON object',
        ),
        (("tables", "orders", "links", "user_id"), "user", "must be links to tables of the model"),
        (("tables",), [[[[[[[[[[1]]]]]]]]]], "nested at most 8 deep"),
    ],
)
def test_a_setting_of_a_wrong_type_is_refused_when_the_file_is_read(place, value, sentence):
    with pytest.raises(ModelError, match=sentence):
        parse_model(changed(("settings", *place), value))


values = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(
        [-1, 3, 0.5, 1e300, 10**400, "", "x", "2001-12-31", [], {}, [1], [["a"]], {"a": 1}, {"a": {"b": [1]}}]
    ),
)


@given(st.sampled_from([place for place in places(FIELDS) if place]), values)
def test_a_file_with_any_field_changed_is_refused_in_a_sentence_or_can_be_shown(place, value):
    try:
        model = parse_model(changed(place, value))
        learned_tables(model.settings)
    except HornbeamError as error:
        assert "\n" not in str(error)
        return
    assert model.words()
    assert parse_model(model_text(model)) == model


def test_a_body_of_very_many_steps_is_refused_at_once():
    steps = ", ".join(f"orders(A,B{number})" for number in range(20_000))
    with pytest.raises(ModelError, match="more than 200 literals in one body"):
        parse_model(changed(("effects", 0, "clause"), f"good(A) :- {steps}."))


def test_cuts_may_be_as_large_as_any_value_of_the_data():
    cut = 1.7e308
    read = parse_model(changed(("effects", 0, "cuts", 0), cut))
    assert parse_model(model_text(read)) == read
    assert read.effects[0].effect.curve.cuts == (cut,)
