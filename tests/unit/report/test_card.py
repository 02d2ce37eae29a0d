"""The card of a model: what it says, and that names are text."""

from dataclasses import replace

import pytest

from hornbeam.data.build import build
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.logic.schema import Schema
from hornbeam.model.class_model import ClassModel
from hornbeam.model.clause_model import Model
from hornbeam.model.effects import FittedEffect
from hornbeam.report.card import model_card

SCHEMA = Schema({"bad": ("person",), "orders": ("person", "order")})


@pytest.fixture
def model():
    schema = build(SCHEMA, [], {}).schema
    effect = parse_effect("count [< 3: -0.5; else: 0.5] : bad(A) :- orders(A,B).", schema)
    settings = {
        "held_out_loss": 0.25,
        "base_loss": 0.5,
        "average_log_odds": 0.0,
        "tables": {"my_orders": {"key": None, "links": {"person": "people"}, "roles": {}}},
    }
    return Model("bad", schema, 0.1, (), settings, effects=(FittedEffect(effect, 1.0),))


def test_a_card_has_its_sections_in_order(model):
    lines = model_card(model).splitlines()
    titles = ["## Data", "## Scores", "## Effects", "## Limits"]
    assert [line for line in lines if line.startswith("## ")] == titles
    assert "- Table my\\_orders: `person` links to people." in lines
    loss = "- Loss on training examples that were left out while learning: 0.2500; of a constant: 0.5000."
    assert loss in lines
    (effect,) = [line for line in lines if line.startswith("1. ")]
    assert "likelier" in effect
    assert effect.endswith("From 38 % to 62 %.")


def test_edits_are_on_the_card(model):
    card = model_card(model.edited("off 1", by="<b>Ann</b>"))
    assert "## Edits by hand" in card
    assert "\\<b\\>Ann" in card


def test_the_losses_of_one_class_are_not_those_of_all(model):
    members = (model, model, replace(model, prior=1.0))
    classes = ClassModel("bad", model.schema, ("a", "b", "c"), members, model.settings)
    card = model_card(classes)
    assert "0.2500" not in card
    assert [line for line in card.splitlines() if line.startswith("### ")] == ["### a", "### b", "### c"]
