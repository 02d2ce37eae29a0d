"""Clauses, effects and curves for people: English sentences and small tables."""

from hornbeam.logic.english.clauses import (
    Pieces,
    atom_text,
    body_pieces,
    clause_pieces,
    literal_pieces,
    sentence,
    text_of,
)
from hornbeam.logic.english.curves import CurveRow, curve_rows, curve_table, odds_text
from hornbeam.logic.english.effects import effect_sentence
from hornbeam.logic.english.nouns import capital, listed, plain_name, plural_of, with_article
from hornbeam.logic.english.phrases import feature_pieces, some_examples, variable_nouns
from hornbeam.logic.english.wording import PLAIN, Wording, named_by_target, wording_of

__all__ = [
    "PLAIN",
    "CurveRow",
    "Pieces",
    "Wording",
    "atom_text",
    "body_pieces",
    "capital",
    "clause_pieces",
    "curve_rows",
    "curve_table",
    "effect_sentence",
    "feature_pieces",
    "listed",
    "literal_pieces",
    "named_by_target",
    "odds_text",
    "plain_name",
    "plural_of",
    "sentence",
    "some_examples",
    "text_of",
    "variable_nouns",
    "with_article",
    "wording_of",
]
