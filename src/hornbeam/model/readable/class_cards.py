"""Effects of classes that were learned together: a table for each, with a column for each class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hornbeam.drawing.markup import Markup, element, number_text, percent_text, signed_text
from hornbeam.drawing.notebook import notebook_table
from hornbeam.errors import plural
from hornbeam.logic.effects import body_text, in_order_of_use
from hornbeam.logic.english.clauses import text_of
from hornbeam.logic.english.curves import curve_rows
from hornbeam.logic.english.nouns import capital
from hornbeam.logic.english.phrases import feature_pieces
from hornbeam.logic.english.wording import Wording, class_question
from hornbeam.logic.schema import Schema
from hornbeam.model.effects import SHOWN_EFFECTS, FittedEffect
from hornbeam.model.features import WeightedClause

MOST_COLUMNS = 6
"""Maximum number of classes in a table: those that the effect moves most."""


class ClassReaders(NamedTuple):
    """What is needed to describe the effects of classes that were learned together."""

    target: str
    schema: Schema
    settings: Mapping[str, object]
    wording: Wording
    dated: bool
    size_text: str
    classes: Sequence[str]
    averages: Sequence[float]
    """the logarithm of the probability of each class for an average example; empty if unknown"""
    effects: Sequence[tuple[FittedEffect, ...]]
    """each effect with the levels of each class"""
    clauses: Sequence[WeightedClause]
    """clauses whose constants have weights, for the first class"""
    edits: Sequence[list[str]]
    """what was edited in each class"""


class ClassCard(NamedTuple):
    """One effect with all classes."""

    phrase: str
    """the feature as a noun phrase"""
    importance: float
    """the mean over the classes"""
    header: list[str]
    rows: list[list[str]]
    name: str
    """the effect without its levels"""
    left_out: int
    """number of classes that the table leaves out"""


def class_card(own: Sequence[FittedEffect], readers: ClassReaders) -> ClassCard:
    """An effect with probabilities of an average example if these are known, else with levels."""
    first = own[0].effect
    order = sorted(range(len(own)), key=lambda each: -own[each].importance)
    chosen = sorted(order[:MOST_COLUMNS])
    phrase = text_of(feature_pieces(first, readers.schema, readers.dated, readers.wording))
    columns = [curve_rows(fitted.effect.curve, first.feature) for fitted in own]
    values = [row.values for row in columns[0]]
    if phrase.startswith("whether ") and len(first.curve.levels) == 2:
        values[:2] = ["no", "yes"]
    # Examples begin with the missing values, rows end with them.
    numbers = [*own[0].examples[1:], *own[0].examples[:1]]
    rows = []
    for number, value in enumerate(values):
        levels = [column[number].level if number < len(column) else 0.0 for column in columns]
        if value == "missing" and not any(levels) and not (numbers and numbers[number]):
            continue
        cells = [_cell(levels[each], readers.averages[each] if readers.averages else None) for each in chosen]
        rows.append([value, *cells, *([f"{numbers[number]:,}"] if numbers else [])])
    header = ["value", *(readers.classes[each] for each in chosen), *(["examples"] if numbers else [])]
    importance = math.fsum(fitted.importance for fitted in own) / len(own)
    head, body, feature, _ = in_order_of_use(first)
    name = f"{feature} : {body_text(head, body)}"
    return ClassCard(phrase, importance, header, rows, name, len(own) - len(chosen))


def _cell(level: float, average: float | None) -> str:
    """The probability of a class for an example that is average otherwise, or the level."""
    return signed_text(level, 3) if average is None else percent_text(min(math.exp(average + level), 1.0))


def class_cards(readers: ClassReaders, most: int = SHOWN_EFFECTS) -> list[ClassCard]:
    """The first effects, the most important first."""
    return [class_card(own, readers) for own in readers.effects[:most]]


def card_lines(card: ClassCard, number: int) -> list[str]:
    """A card as lines of text."""
    widths = [max(len(row[place]) for row in [card.header, *card.rows]) for place in range(len(card.header))]
    more = (
        f" The {len(card.header) - 2} classes of {len(card.header) - 2 + card.left_out} that it moves most:"
    )
    lines = [f"{number}. {capital(card.phrase)}.{more if card.left_out else ''}"]
    for row in (card.header, *card.rows):
        first, *others = [
            text.ljust(width) if place == 0 else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(f"     {'  '.join([first, *others])}".rstrip())
    return [*lines, f"     {card.name}"]


def together_text(readers: ClassReaders) -> str:
    """The model for people: an average example, weights per constant, and each effect with all classes."""
    parts = [f"{question_of(readers)}\n{readers.size_text}"]
    if readers.averages:
        example = readers.wording.example or "pair"
        parts.append(f"Probabilities of an average {example}: {averages_text(readers)}")
    lines = edit_lines(readers)
    if lines:
        parts.append("\n".join(["Edited:", *(f"     {line}" for line in lines)]))
    parts += [
        f"Weights of {plural(len(each.constants), 'constant')} for each class: {each.clause}"
        for each in readers.clauses
    ]
    cards = class_cards(readers)
    parts += ["\n".join(card_lines(card, number)) for number, card in enumerate(cards, start=1)]
    more = len(readers.effects) - len(cards)
    return "\n\n".join([*parts, f"and {plural(more, 'more effect')}"] if more else parts)


def edit_lines(readers: ClassReaders) -> list[str]:
    """What was edited, with the class if it was not edited in all."""
    first = readers.edits[0]
    if all(lines == first for lines in readers.edits):
        return first
    both = zip(readers.classes, readers.edits, strict=True)
    return [f"class {name}: {line}" for name, lines in both for line in lines]


def question_of(readers: ClassReaders) -> str:
    """``Which club do the readers have?``"""
    return class_question(readers.target, readers.schema, readers.settings)


def averages_text(readers: ClassReaders) -> str:
    """The probabilities of an average example, the largest first."""
    pairs = sorted(zip(readers.averages, readers.classes, strict=True), key=lambda pair: -pair[0])
    return ", ".join(f"{name} {percent_text(math.exp(average))}" for average, name in pairs)


def together_html(readers: ClassReaders) -> Markup:
    """The effects as a table for notebooks."""
    cards, rows = class_cards(readers), []
    for card in cards:
        curve = element(
            "table",
            element("tr", [element("th", name, style=_SMALL) for name in card.header]),
            [element("tr", [element("td", text, style=_SMALL) for text in line]) for line in card.rows],
        )
        folded = element("details", element("summary", "levels"), curve, element("code", card.name))
        rows.append((number_text(card.importance, 3), [capital(card.phrase), folded]))
    more = len(readers.effects) - len(cards)
    note = f"and {plural(more, 'more effect')}" if more else ""
    title = f"{question_of(readers)} {readers.size_text}"
    if readers.averages:
        title += f"; an average {readers.wording.example or 'pair'}: {averages_text(readers)}"
    return notebook_table(title, ("importance", "effect"), rows, 1, note)


_SMALL = "padding:0 .8em 0 0;text-align:right"
