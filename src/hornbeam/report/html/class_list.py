"""The section of all classes: how well each is told from the others, and the effects of its own model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hornbeam.drawing.markup import Child, Markup, element, percent_text
from hornbeam.errors import plural
from hornbeam.logic.english.wording import wording_of
from hornbeam.model.clause_model import Model
from hornbeam.model.readable.cards import effect_cards
from hornbeam.report.html.effect_list import effect_item
from hornbeam.report.html.elements import section, table
from hornbeam.report.numbers.classes import Confusion, OneClass

FIRST_EFFECTS = 5
"""Effects of each class that are shown; its own page has all."""


def all_classes(
    classes: Sequence[OneClass],
    confusion: Confusion | None,
    display_names: Mapping[str, Mapping[str, str]],
) -> Markup | None:
    """A table of the classes, which are taken for which, and the most important effects of each."""
    if not classes:
        return None
    header = ("class", "examples", "recall", "precision", "AUC-ROC")
    rows = [
        (row.name, f"{row.examples:,}", *map(_percent, (row.recall, row.precision, row.auc)))
        for row in classes
    ]
    return section(
        "classes",
        "All classes",
        "Recall: the share of the examples of a class that is taken for it. Precision: the share of the "
        "class among those that are taken for it. An example is taken for its most probable class.",
        _scrolled("Scores of all classes", table(header, rows)),
        None if confusion is None else confusion_matrix(*confusion),
        element("h3", "What speaks for each class"),
        [_effects(row, display_names) for row in classes],
    )


def _percent(share: float | None) -> str:
    return "" if share is None else percent_text(share, 1)


def _scrolled(name: str, drawn: Markup) -> Markup:
    return element("div", drawn, class_="scroll", tabindex="0", role="region", aria_label=name)


def _effects(row: OneClass, display_names: Mapping[str, Mapping[str, str]]) -> Markup:
    """The most important effects of a class, folded away."""
    model = row.model
    inside: Child = element("pre", str(model))
    number = model.size_text
    if isinstance(model, Model) and model.effects:
        shown = model.shown_for(row.name)
        about = shown.target, shown.schema, shown.settings, row.name, display_names
        words = wording_of(*about, unit=shown.scale.unit)
        cards = effect_cards(model.effects, replace(shown.readers, wording=words), FIRST_EFFECTS)
        most = max(card.fitted.importance for card in cards) or 1.0
        items = [
            effect_item(place, card, card.fitted.importance / most)
            for place, card in enumerate(cards, start=1)
        ]
        inside = element("ol", items, class_="cards")
        more = len(model.effects) - len(cards)
        number = plural(len(model.effects), "effect") + (f", the first {len(cards)}" if more else "")
    return element("details", element("summary", f"{row.name}: {number}"), inside, class_="of-class")


def confusion_matrix(classes: Sequence[str], counts: Sequence[Sequence[int]]) -> Markup:
    """How many examples of each class are taken for each class."""
    right = sum(row[place] for place, row in enumerate(counts))
    total = sum(map(sum, counts))
    rows = [
        element(
            "tr",
            element("th", name, scope="row"),
            [
                element("td", f"{count:,}", class_="number hit" if place == own else "number")
                for place, count in enumerate(row)
            ],
        )
        for own, (name, row) in enumerate(zip(classes, counts, strict=True))
    ]
    return element(
        "figure",
        element("h3", "Which classes are taken for which"),
        element(
            "div",
            element(
                "table",
                element("caption", "Rows: the class of the example. Columns: its most probable class."),
                element(
                    "thead",
                    element(
                        "tr",
                        element("th", "", scope="col"),
                        [element("th", name, scope="col", class_="number") for name in classes],
                    ),
                ),
                element("tbody", rows),
                class_="confusion",
            ),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label="Confusion matrix",
        ),
        element("figcaption", f"{percent_text(right / total)} of {total:,} examples are on the diagonal."),
        class_="wide",
    )
