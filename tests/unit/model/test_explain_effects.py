"""Why a prediction is what it is: what effects add, their values, and the rows behind the values."""

import json

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.logic.schema import DATE, NUMBER, Schema
from hornbeam.model.clause_model import Model
from hornbeam.model.effects import FittedEffect
from hornbeam.model.explain import explain

SCHEMA = Schema(
    {
        "bad": ("users",),
        "pair": ("users", "users"),
        "user": ("orders", "users"),
        "amount": ("orders", "amount_value"),
        "open": ("orders",),
        "birthday": ("users", "day"),
        "vip": ("users",),
    },
    {"amount_value": NUMBER, "day": DATE},
)
DATABASE = build(
    SCHEMA,
    (),
    {
        "user": [["o1", "o2", "o3", "o4"], ["ann", "ann", "ann", "bob"]],
        "amount": [["o1", "o2", "o3", "o4"], ["4", "8", "0.5", "2"]],
        "open": [["o2", "o3"]],
        "birthday": [["ann"], ["1990-05-01"]],
        "vip": [["ann"]],
    },
    ranges={"users": ["ann", "bob", "cat"]},
    times={"user": [1.0, 3.0, 2.0, 1.0]},
)
ORDERS = "bad(A) :- user(B,A), amount(B,C)."


def explained(*effects, name=("ann",), shown=5, target="bad"):
    fitted = tuple(FittedEffect(parse_effect(text, SCHEMA)) for text in effects)
    model = Model(target, SCHEMA, -1.0, (), effects=fitted)
    (key,) = DATABASE.encode_keys(target, np.array([name], dtype=object))
    return explain(model, MemoryEngine(DATABASE), key, name, shown)


def reason_of(effect, **options):
    (reason,) = explained(effect, **options).reasons
    return reason


@pytest.mark.parametrize(
    ("feature", "value", "number", "rows"),
    [
        ("mean C", 12.5 / 3, 3, (("o1", "4"), ("o2", "8"), ("o3", "0.5"))),
        ("spread C", 3.0641293851417059, 3, (("o1", "4"), ("o2", "8"), ("o3", "0.5"))),
        ("sum C", 12.5, 3, (("o1", "4"), ("o2", "8"), ("o3", "0.5"))),
        ("count", 3.0, 3, (("o1", "4"), ("o2", "8"), ("o3", "0.5"))),
        ("distinct B", 3.0, 3, (("o1", "4"), ("o2", "8"), ("o3", "0.5"))),
        ("min C", 0.5, 1, (("o3", "0.5"),)),
        ("max C", 8.0, 1, (("o2", "8"),)),
        ("first C", 4.0, 1, (("o1", "4"),)),
        ("last C", 8.0, 1, (("o2", "8"),)),
    ],
)
def test_a_reason_has_the_value_and_the_rows_that_made_it(feature, value, number, rows):
    reason = reason_of(f"{feature} [missing: 9; < 1: -0.5; else: 0.25] : {ORDERS}")
    assert reason.value == pytest.approx(value)
    assert reason.contribution == (-0.5 if value < 1 else 0.25)
    assert (reason.n_groundings, reason.variables, reason.groundings) == (number, ("B", "C"), rows)


def test_missing_values_have_no_rows():
    reason = reason_of(f"mean C [missing: 9; else: 0] : {ORDERS}", name=("cat",))
    assert (reason.value, reason.contribution, reason.n_groundings, reason.groundings) == (None, 9.0, 0, ())
    assert reason.because(("cat",)) == "the mean amount of the user's orders is missing"


def test_an_example_to_which_a_condition_does_not_apply_is_not_said_to_lack_a_value():
    body = "birthday(A,B), B < '2000-01-01', user(C,A), amount(C,D)"
    said = reason_of(f"mean D [missing: 9; else: 1] : bad(A) :- {body}.", name=("bob",)).because(("bob",))
    assert said.endswith(" (for users with birthday below 2000-01-01) is missing or does not apply")
    of_ann = reason_of("value B [else: 1] : bad(A) :- vip(A), birthday(A,B).").because(("ann",))
    assert of_ann.endswith(" is 1990-05-01")


def test_the_text_says_it_in_words():
    text = str(
        explained(
            f"mean C [else: 0.5] : {ORDERS}",
            "share [else: -2] : bad(A) :- user(B,A), open(B).",
            "value B [else: 0.25] : bad(A) :- birthday(A,B).",
            "count [else: 1] : bad(A) :- vip(A).",
            "max B [else: -0.125] : bad(A) :- B = number of user(C,A).",
            "count [else: 0] : bad(A) :- last 2 user(B,A).",
            shown=2,
        )
    )
    assert text == (
        "User ann: bad with probability 20.2 %, log-odds -1.375\n"
        "  -2 because the share of the user's orders that are open is 67 %, from 2 orders: o2, o3\n"
        "  +1 because the user is vip: yes\n"
        "  +0.5 because the mean amount of the user's orders is 4.167, from 3 rows (order, amount): (o1, 4), "
        "(o2, 8), ...\n"
        "  +0.25 because the user's birthday is 1990-05-01\n"
        "  -0.125 because the user's largest number of orders is 3, from 1 value: 3\n"
        "  +0 from 1 other effect\n"
        "  -1 from the prior"
    )


def test_pairs_are_named():
    effect = "count [else: 1] : pair(A,B) :- user(C,A), amount(C,D), user(E,B), amount(E,D)."
    reason = reason_of(effect, name=("ann", "bob"), target="pair")
    assert reason.value == 0.0
    assert reason.because(("ann", "bob")).startswith("the number of combinations of orders")
    assert "of bob" in reason.because(("ann", "bob"))


def test_an_explanation_is_json_and_a_data_frame():
    pytest.importorskip("pandas")
    explanation = explained(f"mean C [else: 0.5] : {ORDERS}", shown=1)
    (reason,) = json.loads(json.dumps(explanation.as_dict()))["reasons"]
    assert reason == {
        "effect": f"mean C [else: 0.5] : {ORDERS}",
        "sentence": "bad does not depend on the mean amount of the user's orders.",
        "feature": "mean C",
        "value": pytest.approx(12.5 / 3),
        "contribution": 0.5,
        "n_groundings": 3,
        "groundings": [{"B": "o1", "C": "4"}],
    }
    frame = explanation.to_frame()
    assert frame["adds"].tolist() == [0.5, -1.0]
    assert frame["because"].tolist()[1] == "the prior"


def test_effects_with_the_same_body_and_feature_are_one_reason():
    reason = reason_of(f"mean C [< 3: 1; else: 2] : {ORDERS}")
    both = explained(f"mean C [< 3: 1; else: 2] : {ORDERS}", f"mean C [< 5: 3; else: 4] : {ORDERS}")
    assert [each.contribution for each in both.reasons] == [reason.contribution + 3]
