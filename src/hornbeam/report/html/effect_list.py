"""The section of effects: one card each, the most important first."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hornbeam.drawing.markup import Child, Markup, element, factor_text
from hornbeam.errors import plural
from hornbeam.logic.effects import body_text
from hornbeam.logic.english.nouns import capital
from hornbeam.model.readable.cards import CardRow, EffectCard
from hornbeam.model.readable.constants import ConstantsCard
from hornbeam.report.html.elements import table
from hornbeam.report.plots.curve import curve_plot


def effect_item(number: int, card: EffectCard, importance: float, place: int | None = None) -> Markup:
    """The card of an effect; ``importance`` is relative to the most important one.

    ``place`` is that of the effect among the parts of the page's model; explanations lead to it.
    """
    return element(
        "li",
        element(
            "div",
            element("p", element("span", str(number), class_="nth"), card.sentence, class_="saying"),
            element("p", _change(card), class_="change") if card.change else None,
            _meter(importance),
            _numbers(card),
            class_="what",
        ),
        element("div", curve_plot(card).svg(), class_="drawn"),
        id=None if place is None else f"part-{place + 1}",
        class_="card",
    )


def _change(card: EffectCard) -> list[Markup | str]:
    """What the effect changes: in percent, and as factors of the odds."""
    rows = [row for row in card.shown_rows if row.values != "missing"]
    change = element("b", capital(card.change))
    factor = card.readers.scale.factor
    return [change, f", {factor} {_factors(rows)}"] if factor else [change]


def _factors(rows: Sequence[CardRow]) -> str:
    levels = [level for row in rows for level, _ in row.ends]
    low, high = min(levels), max(levels)
    first, last = (low, high) if levels[0] <= levels[-1] else (high, low)
    texts = (factor_text(math.exp(min(level, 709.0))) for level in (first, last))
    # A line does not break after the sign.
    return " to ".join(texts).replace("× ", "×\u00a0")


def _meter(importance: float) -> Markup:
    return element(
        "p",
        element("span", "importance", class_="word"),
        element(
            "svg",
            element("rect", width=100 * importance, height=8, rx=1.5, class_="strength"),
            viewBox="0 0 100 8",
            preserveAspectRatio="none",
            class_="figure meter",
            role="img",
            aria_label=f"{100 * importance:.0f} % of the most important effect",
        ),
        class_="importance",
    )


def _numbers(card: EffectCard) -> Markup:
    """The table of the curve, and the effect in logic notation, folded away."""
    from_table, rows = _table(card)
    return element(
        "details",
        element("summary", "The numbers", element("span", f" of: {card.sentence}", class_="quiet-reader")),
        element(
            "div",
            table(from_table, rows),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label=f"Numbers: {card.sentence}",
        ),
        element("p", element("code", _logic(card), class_="logic")),
    )


def _table(card: EffectCard) -> tuple[Sequence[str], Sequence[Sequence[Child]]]:
    drawn = curve_plot(card)
    return drawn.header, drawn.rows


def _logic(card: EffectCard) -> str:
    effect = card.fitted.effect
    return f"{effect.feature} : {body_text(effect.head, effect.body)}"


def constants_item(cards: Sequence[ConstantsCard], examples: str) -> Markup:
    """One card for all weights per constant: the strongest constants of each kind."""
    columns: list[Child] = []
    for card in cards:
        more, less, weight_name = card.words
        titles = (f"{more}: {card.title}", f"{less}: {card.title}")
        for title, entries in zip(titles, (card.rising, card.falling), strict=True):
            if entries:
                rows = [(name, card.text_of(weight)) for name, weight in entries]
                columns.append(table((title, weight_name), rows, class_="constants"))
    total = sum(card.total for card in cards)
    shown = sum(len(card.rising) + len(card.falling) for card in cards)
    more = f"The strongest of {plural(total, 'weight')} are shown." if shown < total else ""
    kinds = list(dict.fromkeys(card.title for card in cards))
    every = kinds[0] if len(kinds) == 1 else "of the things below"
    return element(
        "li",
        element(
            "div",
            element(
                "p", f"It matters which {every} {examples} has: each has its own weight.", class_="saying"
            ),
            element("p", more, class_="quiet") if more else None,
            element("div", *columns, class_="side"),
            class_="what",
        ),
        class_="card whole",
        id="constants",
    )
