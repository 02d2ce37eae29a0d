"""Each kind of feature is known everywhere: in memory, in SQL, in words, and in the documents."""

import re
from pathlib import Path

import pytest

from hornbeam.engines.export.effects import NEEDED
from hornbeam.engines.features.values import OF_GROUNDINGS, OF_VALUES
from hornbeam.logic.effects import Curve, Effect
from hornbeam.logic.english.clauses import text_of
from hornbeam.logic.english.phrases import feature_pieces
from hornbeam.logic.features import DATES, DEFINITIONS, KINDS, MEASURES, NUMBERS, offered_for
from hornbeam.logic.parse_effect import parse_feature
from hornbeam.logic.schema import DATE, NUMBER, Schema

DOCUMENT = Path(__file__).parents[3] / "docs" / "effects.md"
SCHEMA = Schema(
    {"bad": ("users",), "user": ("orders", "users"), "amount": ("orders", "much"), "day": ("orders", "when")},
    {"much": NUMBER, "when": DATE},
)


def phrase_of(kind: str) -> str:
    """A feature of the orders of users, in words."""
    row = KINDS[kind]
    column = "day" if row.needs == DATES else "amount"
    text = f"{kind} C" if row.has_variable else kind
    head, body, feature = parse_feature(text, f"bad(A) :- user(B,A), {column}(B,C).", SCHEMA)
    return text_of(feature_pieces(Effect(head, body, feature, Curve((1.5,), (0.0, 1.0))), SCHEMA, True))


def test_memory_sql_and_plain_python_compute_each_measure():
    assert {*OF_GROUNDINGS, *OF_VALUES} == {*MEASURES}
    assert {*NEEDED} == {*MEASURES}
    assert {*DEFINITIONS} == {*OF_VALUES}


def test_each_kind_is_said_in_words_of_its_own():
    phrases = [phrase_of(kind) for kind in KINDS]
    assert len({*phrases}) == len(KINDS)
    assert all(re.match(r"(the|its|whether|their) ", phrase) for phrase in phrases)


@pytest.mark.parametrize("kind", KINDS)
def test_the_document_defines_each_kind(kind: str):
    named = re.findall(
        r"`([a-z ]+?)(?: V)?`", "\n".join(re.findall(r"^\|(.*?)\|", DOCUMENT.read_text(), re.M))
    )
    assert kind in named


def test_the_default_learner_offers_each_kind_for_something_it_knows():
    for name, row in KINDS.items():
        assert row.offered or name == "month"
        assert all(name in offered_for(what) for what in row.offered)


def test_a_feature_of_values_names_its_measure_in_words():
    for name, row in KINDS.items():
        assert bool(row.words) == (name != "value") or row.needs != NUMBERS
