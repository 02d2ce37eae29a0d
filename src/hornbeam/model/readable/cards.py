"""Effects for readers: a sentence, what it changes in percent, and the curve as a small table.

The report, ``show`` and notebooks all show these cards, so they have the same words, numbers and order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hornbeam.drawing.markup import Markup, element, factor_text, number_text, percent_text, signed_text
from hornbeam.drawing.notebook import notebook_table
from hornbeam.errors import plural
from hornbeam.logic.english.clauses import text_of
from hornbeam.logic.english.curves import FALLS, RISES, curve_rows, shape_of
from hornbeam.logic.english.effects import effect_sentence
from hornbeam.logic.english.nouns import capital
from hornbeam.logic.english.phrases import feature_pieces
from hornbeam.logic.english.wording import PLAIN, Wording
from hornbeam.logic.features import SHARE
from hornbeam.logic.schema import Schema
from hornbeam.model.effects import SHOWN_EFFECTS, FittedEffect, by_importance, mean_level
from hornbeam.model.scales import LOG_ODDS, Scale

ALIKE = 0.05
"""Neighbouring levels that differ by less than this share of a curve's range are one row of its table."""


@dataclass(frozen=True, slots=True)
class Readers:
    """What is needed to describe the effects of a model: its schema and words, and the average example."""

    schema: Schema
    dated: bool = False
    """whether lengths of time are in days"""
    wording: Wording = PLAIN
    average: float | None = None
    """mean score of the training examples; None if it is not known"""
    scale: Scale = LOG_ODDS
    """what scores stand for"""

    def text_of(self, prediction: float, places: int = 0) -> str:
        """A prediction for readers."""
        return number_text(prediction, 3 + places) if self.scale.numeric else percent_text(prediction, places)


@dataclass(frozen=True, slots=True)
class CardRow:
    """One level of a curve."""

    values: str
    level: float
    error: float | None
    """standard error of the level, if the model has bags"""
    examples: int | None
    """number of training examples with such values"""
    probability: float | None
    """prediction for an example that is average in all other effects"""
    at_end: tuple[float, float | None] | None = None
    """level and prediction at the end of the range, if the curve has a slope"""

    @property
    def ends(self) -> list[tuple[float, float | None]]:
        """The level and the prediction: where the range begins, and where it ends if that is another one."""
        first = self.level, self.probability
        return [first] if self.at_end is None else [first, self.at_end]


@dataclass(frozen=True, slots=True)
class EffectCard:
    """One effect for readers."""

    fitted: FittedEffect
    sentence: str
    change: str
    """``from 30 % to 44 %``; empty if the average example is not known, or the effect is weak"""
    phrase: str
    """the feature as a noun phrase"""
    rows: tuple[CardRow, ...]
    """from small values to large ones, then missing values"""
    readers: Readers

    @property
    def shown_rows(self) -> tuple[CardRow, ...]:
        """The rows without one for missing values that never occur."""
        return tuple(row for row in self.rows if row.values != "missing" or row.level or row.examples)

    @property
    def whether(self) -> bool:
        """Whether the feature is true or false."""
        return self.phrase.startswith("whether ")

    @property
    def in_percent(self) -> bool:
        """Whether the values of the feature are shares."""
        return self.fitted.effect.feature.kind == SHARE


def effect_card(fitted: FittedEffect, readers: Readers) -> EffectCard:
    """An effect for readers."""
    effect = fitted.effect
    described = readers.schema, readers.dated, readers.wording
    sentence = text_of(effect_sentence(effect, *described, fitted.is_weak))
    phrase = text_of(feature_pieces(effect, *described))
    rows = _rows(fitted, readers, phrase.startswith("whether "))
    n_levels = sum(row.values != "missing" for row in rows)
    change = "" if fitted.is_weak else _change(rows, n_levels, readers)
    return EffectCard(fitted, capital(sentence), change, phrase, rows, readers)


def effect_cards(
    effects: Sequence[FittedEffect], readers: Readers, most: int | None = SHOWN_EFFECTS
) -> list[EffectCard]:
    """The most important effects for readers, at most ``most``, the most important first."""
    return [effect_card(fitted, readers) for fitted in by_importance(effects)[:most]]


def _rows(fitted: FittedEffect, readers: Readers, whether: bool) -> tuple[CardRow, ...]:
    """The rows of a curve; neighbours whose levels hardly differ are one row with their mean level."""
    curve = fitted.effect.curve
    base = readers.average
    # A level of a class is already the difference from an average example.
    if base is not None and not readers.scale.of_class:
        base -= mean_level(fitted)
    groups = [[place] for place in range(len(curve.levels))] if curve.slope else _alike(curve.levels)
    levels = [_mean([curve.levels[place] for place in group], fitted, group) for group in groups]
    cuts = tuple(curve.cuts[group[0] - 1] for group in groups[1:])
    short = curve._replace(cuts=cuts, levels=tuple(levels))
    rows = curve_rows(short, fitted.effect.feature)
    # Errors and examples begin with the missing values, rows end with them.
    places = [*([place + 1 for place in group] for group in groups), [0]]

    def chance(level: float) -> float | None:
        return None if base is None else readers.scale.of_score(base + level)

    words = ["no", "yes"] if whether and len(levels) == 2 else []
    return tuple(
        CardRow(
            words[number] if number < len(words) else row.values,
            row.level,
            max(fitted.errors[place] for place in group) if fitted.errors else None,
            sum(fitted.examples[place] for place in group) if fitted.examples else None,
            chance(row.level),
            None if row.end is None else (row.end, chance(row.end)),
        )
        for number, (row, group) in enumerate(zip(rows, places, strict=False))
    )


def _alike(levels: Sequence[float]) -> list[list[int]]:
    """Places of neighbouring levels that differ by a small part of the curve's range."""
    near = ALIKE * (max(levels) - min(levels))
    groups: list[list[int]] = [[0]]
    for place in range(1, len(levels)):
        members = [levels[each] for each in (*groups[-1], place)]
        if max(members) - min(members) <= near:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def _mean(levels: Sequence[float], fitted: FittedEffect, group: Sequence[int]) -> float:
    """The mean of levels over the training examples that have them."""
    weights = [fitted.examples[place + 1] for place in group] if fitted.examples else [1] * len(group)
    if len(levels) == 1 or not sum(weights):
        return levels[0]
    return math.fsum(n * level for n, level in zip(weights, levels, strict=True)) / sum(weights)


def _change(rows: Sequence[CardRow], n_levels: int, readers: Readers) -> str:
    """``from 30 % to 44 %``: the prediction at small values and at large ones."""
    ends = [end for row in rows[:n_levels] for end in row.ends]
    known = [chance for _, chance in ends if chance is not None]
    if len(known) < 2:
        return ""
    rising = shape_of([level for level, _ in ends]) in (RISES, FALLS)
    both = (known[0], known[-1]) if rising else (min(known), max(known))
    for places in range(3):
        low, high = (readers.text_of(end, places) for end in both)
        if low != high:
            return f"from {low} to {high}" if rising else f"between {low} and {high}"
    return ""


def card_table(card: EffectCard) -> tuple[list[str], list[tuple[str, ...]]]:
    """The header and the rows of the table of a card; columns that are not known are left out."""
    rows = card.shown_rows
    header, columns = ["value"], [[row.values for row in rows]]

    def add(name: str, texts: list[str]) -> None:
        header.append(name)
        columns.append(texts)

    readers = card.readers
    scale = readers.scale
    add(scale.adds, [" to ".join(signed_text(level, 3) for level, _ in row.ends) for row in rows])
    if any(row.error is not None for row in rows):
        add("±", [number_text(row.error or 0.0, 2) for row in rows])
    if scale.factor:
        factors = [[factor_text(math.exp(min(level, 709.0))) for level, _ in row.ends] for row in rows]
        add(scale.factor, [" to ".join(each) for each in factors])
    if all(row.probability is not None for row in rows):
        chances = [[readers.text_of(chance or 0.0) for _, chance in row.ends] for row in rows]
        add(scale.prediction, [" to ".join(each) for each in chances])
    if any(row.examples is not None for row in rows):
        add("examples", [f"{row.examples or 0:,}" for row in rows])
    return header, list(zip(*columns, strict=True))


def card_lines(card: EffectCard, number: int) -> list[str]:
    """A card as lines of text: the sentence, the curve as a small table, and the effect in logic notation."""
    header, rows = card_table(card)
    widths = [max(len(row[place]) for row in [tuple(header), *rows]) for place in range(len(header))]
    change = f" {capital(card.change)}." if card.change else ""
    lines = [f"{number}. {card.sentence}{change}"]
    for row in (tuple(header), *rows):
        first, *others = [
            text.ljust(width) if place == 0 else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(f"     {'  '.join([first, *others])}".rstrip())
    return [*lines, f"     {card.fitted}"]


def effects_text(effects: Sequence[FittedEffect], readers: Readers) -> str:
    """The most important effects as text; the others are counted."""
    cards = effect_cards(effects, readers)
    blocks = ["\n".join(card_lines(card, number)) for number, card in enumerate(cards, start=1)]
    more = len(effects) - len(cards)
    return "\n\n".join([*blocks, f"and {plural(more, 'more effect')}"] if more else blocks)


def effects_html(title: str, effects: Sequence[FittedEffect], readers: Readers) -> Markup:
    """The most important effects as a table for notebooks."""
    cards = effect_cards(effects, readers)
    rows = []
    for card in cards:
        header, lines = card_table(card)
        curve = element(
            "table",
            element("tr", [element("th", name, style=_SMALL) for name in header]),
            [element("tr", [element("td", text, style=_SMALL) for text in line]) for line in lines],
        )
        folded = element("details", element("summary", "curve"), curve, element("code", str(card.fitted)))
        rows.append((number_text(card.fitted.importance, 3), card.change, [card.sentence, folded]))
    more = len(effects) - len(cards)
    note = f"and {plural(more, 'more effect')}" if more else ""
    return notebook_table(title, ("importance", readers.scale.prediction, "effect"), rows, 1, note)


_SMALL = "padding:0 .8em 0 0;text-align:right"
