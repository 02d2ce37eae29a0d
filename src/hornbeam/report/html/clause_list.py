"""What was learned: each part as a sentence and as logic, with the range of what it adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hornbeam.drawing.figure import Scale, label, line, tick_text, ticks
from hornbeam.drawing.markup import Child, Markup, element, number_text, signed_text
from hornbeam.errors import plural
from hornbeam.logic.text import variable_name
from hornbeam.model.clause_model import Model
from hornbeam.model.features import LOG
from hornbeam.report.html.elements import figure, pieces_markup, section, table
from hornbeam.report.numbers.measured import Measured
from hornbeam.report.numbers.parts import Part, weights_text
from hornbeam.report.plots.spread import label_spreads, spread_bar

MOST_PARTS = 40
"""Parts in the plot of contributions by label, at most: the strongest."""
_BAR = 300
_FOLDED = 20
"""Parts that are listed unasked; the weaker ones are folded away."""
_MANY_CONSTANTS = 15
_LINES = 12
"""Trees of fewer lines are shown unasked."""


def clauses(measured: Measured) -> Markup:
    """Each part as a sentence and as logic, with its weights and the range of what it adds."""
    order = sorted(range(len(measured.parts)), key=lambda each: -measured.of_parts[each].strength)
    spreads = [each.all for each in measured.of_parts]
    low = min([0.0, *(spread.low for spread in spreads)])
    high = max([0.0, *(spread.high for spread in spreads)])
    room = 0.15 * (high - low or 1.0)
    scale = Scale(low - room, high + room, 0.0, float(_BAR))
    strongest = max([each.strength for each in measured.of_parts], default=0.0) or 1.0
    shared = sum(each.strength for each in measured.of_parts) or 1.0
    rows = []
    for number in order:
        part, told = measured.parts[number], measured.of_parts[number]
        rows.append(
            element(
                "li",
                element(
                    "div",
                    element(
                        "p",
                        element("span", str(number + 1), class_="nth", title=part.name),
                        pieces_markup(part.saying),
                        class_="saying",
                    ),
                    element(
                        "p",
                        element("code", weights_text(part), class_="weights"),
                        " : ",
                        element("code", pieces_markup(part.logic), class_="logic"),
                    )
                    if part.logic
                    else None,
                    _more(measured, number),
                    class_="what",
                ),
                element(
                    "div",
                    element(
                        "svg",
                        spread_bar(told.all, told.extremes, scale, lines=_faint(scale, low, high, 22)),
                        viewBox=f"0 0 {_BAR} 22",
                        class_="figure spread",
                        role="img",
                        aria_label=f"adds from {signed_text(told.all.low)} to {signed_text(told.all.high)}",
                    ),
                    element(
                        "p",
                        element("span", signed_text(told.all.low, 3)),
                        element("span", f"median {signed_text(told.all.median, 3)}"),
                        element("span", signed_text(told.all.high, 3)),
                        class_="ends",
                    ),
                    class_="range",
                ),
                element(
                    "div",
                    element(
                        "svg",
                        element(
                            "rect", width=100 * told.strength / strongest, height=8, rx=1.5, class_="strength"
                        ),
                        viewBox="0 0 100 8",
                        preserveAspectRatio="none",
                        class_="figure meter",
                        aria_hidden="true",
                    ),
                    element(
                        "p",
                        element("b", number_text(told.strength, 3)),
                        element("span", f" {100 * told.strength / shared:.0f} %"),
                        class_="share",
                    ),
                    class_="strong",
                ),
                id=f"part-{number + 1}",
            )
        )
    head = element(
        "div",
        element("p", "what it says", class_="what"),
        element(
            "div",
            element("p", "what it adds: all examples, nine in ten, half, median"),
            element(
                "svg",
                _axis(scale, low, high),
                viewBox=f"0 0 {_BAR} 20",
                class_="figure spread",
                aria_hidden="true",
            ),
            class_="range",
        ),
        element("p", "how much it tells examples apart", class_="strong"),
        class_="clauses-head",
    )
    kinds = measured.model.size_text
    lead = (
        f"{kinds}, the strongest first. The log-odds of an example are the prior, "
        f"{signed_text(measured.model.prior)}, and what each of these adds; above zero it is more likely "
        f"true than not.{_fading(measured)}"
        if rows
        else f"The model is its prior alone: {signed_text(measured.model.prior)}."
    )
    return section(
        "clauses",
        "What was learned",
        lead,
        head if rows else None,
        element("ol", rows[:_FOLDED], class_="clauses"),
        element(
            "details",
            element("summary", plural(len(rows) - _FOLDED, "weaker one")),
            element("ol", rows[_FOLDED:], class_="clauses"),
            class_="weaker",
        )
        if len(rows) > _FOLDED
        else None,
        _by_label(measured, order),
    )


def _fading(measured: Measured) -> str:
    model = measured.model
    if not isinstance(model, Model) or any(each.feature != LOG for each in model.clauses):
        return ""
    return " What counts is the logarithm of a count: the first grounding says most."


def _faint(scale: Scale, low: float, high: float, height: int) -> Markup:
    return Markup(
        "".join(line(scale(value), 0, scale(value), height, "grid") for value in ticks(low, high, 4))
    )


def _axis(scale: Scale, low: float, high: float) -> Markup:
    return Markup("".join(label(scale(value), 14, tick_text(value)) for value in ticks(low, high, 4)))


def _more(measured: Measured, number: int) -> Markup | None:
    """The weights by name, and what some counts add."""
    part, shown = measured.parts[number], measured.shown
    inside: list[Child] = []
    if part.note:
        inside.append(element("p", part.note))
    if part.drawing:
        inside.append(element("pre", part.drawing))
    if part.weights:
        inside.append(
            table(("weight of", "is"), [(name, number_text(weight, 6)) for name, weight in part.weights])
        )
    for title, kept in _constants(part):
        inside.append(table((title, "weight"), [(name, signed_text(weight)) for name, weight in kept]))
    if shown.counts and part.clause is not None and part.each is None and len(shown.rows):
        rows = count_rows(shown.counts[number].true, shown.contributions[:, number])
        inside.append(table(("true count", "adds", "of the examples shown"), rows))
    if not inside:
        return None
    return element(
        "details",
        element(
            "summary",
            "The tree" if part.drawing else "Weights and counts",
            element("span", f" of {part.name}", class_="quiet-reader"),
        ),
        element("div", *inside, class_="side"),
        open=0 < part.drawing.count("\n") < _LINES,
    )


def _constants(part: Part) -> list[tuple[str, list[tuple[str, float]]]]:
    """The constants with the greatest weights above zero, and those with the greatest below."""
    if part.each is None:
        return []
    name = variable_name(part.each)
    rising = [entry for entry in part.constants if entry[1] > 0][:_MANY_CONSTANTS]
    falling = [entry for entry in part.constants if entry[1] < 0][:_MANY_CONSTANTS]
    return [
        (title, kept)
        for title, kept in ((f"likelier with {name}", rising), (f"less likely with {name}", falling))
        if kept
    ]


def count_rows(
    true: np.ndarray[Any, Any], adds: np.ndarray[Any, Any], most: int = 8
) -> list[tuple[str, str, str]]:
    """What some of the true counts that occur add, and how many examples have them."""
    values, sizes = np.unique(true, return_counts=True)
    kept = np.unique(np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int))
    found = []
    for place in kept.tolist():
        own = adds[true == values[place]] if len(values) > 1 else adds
        low, high = float(own.min()), float(own.max())
        said = signed_text(low) if low == high else f"{signed_text(low)} to {signed_text(high)}"
        found.append((f"{int(values[place]):,}", said, f"{int(sizes[place]):,}"))
    return found


def _by_label(measured: Measured, order: Sequence[int]) -> Markup | None:
    if measured.scores is None or not order:
        return None
    kept = list(order[:MOST_PARTS])
    drawn = label_spreads(
        [measured.parts[number].name for number in kept],
        [measured.of_parts[number].positives for number in kept],
        [measured.of_parts[number].negatives for number in kept],
    )
    more = len(order) - len(kept)
    return element(
        "div",
        figure(drawn, "wide"),
        element(
            "p",
            f"Left out here: {plural(more, 'weaker one')}; the list above has all.",
            class_="quiet",
        )
        if more
        else None,
    )
