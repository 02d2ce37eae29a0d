"""The clauses of a model for readers: as text, and as tables for notebooks."""

from __future__ import annotations

from collections.abc import Sequence

from hornbeam.drawing.markup import Markup, element, number_text
from hornbeam.drawing.notebook import notebook_table
from hornbeam.logic.english.clauses import sentence, text_of
from hornbeam.logic.english.wording import Wording
from hornbeam.logic.schema import Schema
from hornbeam.model.features import COUNT, SHARE, WeightedClause
from hornbeam.model.readable.constants import ConstantsCard, constants_card, constants_lines
from hornbeam.model.scales import Scale

WEIGHT_NAMES = ("bias", "true", "false")


def weight_columns(clauses: Sequence[WeightedClause]) -> tuple[int, ...]:
    """Which of the weights (bias, true, false) some clause uses; the others are zero everywhere."""
    return tuple(place for place in range(3) if any(weighted.weights[place] for weighted in clauses))


def constants_of(
    clauses: Sequence[WeightedClause], schema: Schema, wording: Wording, scale: Scale
) -> list[ConstantsCard]:
    """The cards of all clauses that have a weight for each constant; equal weights share a card."""
    groups: dict[object, list[WeightedClause]] = {}
    for weighted in clauses:
        if weighted.each is not None:
            groups.setdefault((weighted.constants, weighted.feature), []).append(weighted)
    cards = []
    for members in groups.values():
        constants = [(name, weight * len(members)) for name, weight in members[0].constants]
        bodies = [(each.clause, each.each) for each in members if each.each is not None]
        cards.append(constants_card(bodies, constants, schema, wording, scale))
    return cards


def clauses_text(clauses: Sequence[WeightedClause], schema: Schema, wording: Wording, scale: Scale) -> str:
    """Clauses as text: weights per constant in words, other clauses in logic notation."""
    blocks = ["\n".join(constants_lines(card)) for card in constants_of(clauses, schema, wording, scale)]
    others = [str(weighted) for weighted in clauses if weighted.each is None]
    return "\n\n".join([*blocks, *(["\n".join(others)] if others else [])])


def constants_cards(
    clauses: Sequence[WeightedClause], schema: Schema, wording: Wording, scale: Scale
) -> list[Markup]:
    """Weights per constant as tables for notebooks."""
    tables = []
    for card in constants_of(clauses, schema, wording, scale):
        rows = [(card.text_of(weight), name) for name, weight in (*card.rising, *card.falling)]
        note = f"and {card.more:,} more" if card.more else ""
        tables.append(notebook_table(f"Weights of {card.title}", (card.words[2], ""), rows, 1, note))
    return tables


def clauses_html(title: str, clauses: Sequence[WeightedClause], schema: Schema) -> Markup:
    """Clauses as a table for notebooks."""
    columns = weight_columns(clauses)
    rows = [
        (
            *(number_text(weighted.weights[place]) for place in columns),
            "" if weighted.feature == COUNT else weighted.feature,
            [
                element("code", str(weighted.clause)),
                element("br"),
                text_of(sentence(weighted.clause, schema, weighted.rises(), share=weighted.feature == SHARE)),
            ],
        )
        for weighted in clauses
    ]
    names = [WEIGHT_NAMES[place] for place in columns]
    return notebook_table(title, (*names, "feature", "clause"), rows, len(names))
