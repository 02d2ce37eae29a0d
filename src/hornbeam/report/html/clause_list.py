"""The section "What was learned": each part as a sentence and a formula, with the range of what it adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hornbeam.drawing.axes import AxisScale, tick_text, ticks
from hornbeam.drawing.markup import Child, Markup, element, number_text, signed_text
from hornbeam.drawing.shapes import label, line
from hornbeam.errors import plural
from hornbeam.logic.clauses import variable_name
from hornbeam.logic.english.nouns import with_article
from hornbeam.model.clause_model import Model
from hornbeam.model.features import LOG
from hornbeam.model.readable.cards import effect_cards
from hornbeam.model.readable.clauses import constants_of
from hornbeam.report.html.effect_list import constants_item, effect_item
from hornbeam.report.html.elements import figure, pieces_markup, section, table
from hornbeam.report.numbers.measurements import Measurements, PartSummary
from hornbeam.report.numbers.parts import ModelPart, weights_text
from hornbeam.report.plots.spread import label_spreads, spread_bar

MOST_PARTS = 40
"""Maximum number of parts in the plot of contributions by label; the strongest are shown."""
_BAR = 300
"""Width of the drawing of a range."""
_FIRST_EFFECTS = 10
"""Effects that are shown at once; less important ones are folded away."""
_UNFOLDED = 20
"""Parts that the list shows at once; weaker parts are folded away."""
_MOST_CONSTANTS = 15
"""Maximum number of constants with positive weights, and with negative ones, in the table of a part."""
_SHORT_TREE = 12
"""Trees with fewer lines than this are shown unfolded."""


def clauses(measurements: Measurements) -> Markup:
    """Each part as a sentence and a formula, with its weights and the range of what it adds."""
    summaries, prior = measurements.summaries, signed_text(measurements.model.prior)
    if not summaries:
        return section("clauses", "What was learned", f"The model is its prior alone: {prior}.")
    if any(part.fitted is not None for part in measurements.parts):
        return _effects(measurements)
    order = sorted(range(len(summaries)), key=lambda number: -summaries[number].strength)
    axis = _Axis.of(summaries)
    rows = [_row(measurements, number, axis) for number in order]
    lead = (
        f"{measurements.model.size_text}, the strongest first. The log-odds of an example are the prior, "
        f"{prior}, plus what each of these adds. Log-odds above zero mean that the example is more likely "
        f"true than false.{_logarithm_note(measurements)}"
    )
    return section(
        "clauses",
        "What was learned",
        lead,
        _head(axis),
        element("ol", rows[:_UNFOLDED], class_="clauses"),
        _weaker(rows[_UNFOLDED:]),
        _by_label(measurements, order),
    )


def _effects(measurements: Measurements) -> Markup:
    """The section for a model with effects: weights per constant, effects as cards, then other clauses."""
    model, wording = measurements.model, measurements.wording
    assert isinstance(model, Model)
    places = {part.fitted: place for place, part in enumerate(measurements.parts) if part.fitted is not None}
    cards = effect_cards(model.effects, measurements.readers, None)
    most = max((card.fitted.importance for card in cards), default=0.0) or 1.0
    items = [
        effect_item(number, card, card.fitted.importance / most, places[card.fitted])
        for number, card in enumerate(cards, start=1)
    ]
    items, folded = items[:_FIRST_EFFECTS], items[_FIRST_EFFECTS:]
    constants = constants_of(model.clauses, model.schema, wording, model.scale)
    example = with_article(wording.example or "example")
    if constants:
        items.insert(0, constants_item(constants, example))
    plain = [place for place, part in enumerate(measurements.parts) if part.clause and part.each is None]
    axis = _Axis.of([measurements.summaries[place] for place in plain]) if plain else None
    return section(
        "clauses",
        "What was learned",
        f"The most important effects first. A chart shows {_shown(measurements)}, with one standard error up "
        "and down; the grey bars below it show how many training examples have the value. "
        f"{_meaning(measurements, example)}",
        element("ol", items, class_="cards"),
        element(
            "details",
            element("summary", plural(len(folded), "less important effect")),
            element("ol", folded, class_="cards"),
            class_="weaker",
        )
        if folded
        else None,
        _head(axis) if axis else None,
        element("ol", [_row(measurements, place, axis) for place in plain], class_="clauses")
        if axis
        else None,
    )


def _meaning(measurements: Measurements, example: str) -> str:
    """For which example the numbers beside a chart are."""
    if measurements.readers.scale.of_choice:
        return (
            "With odds × 2, an alternative is twice as probable as another one of its choice that is equal "
            "in everything else."
        )
    what = "Numbers" if measurements.wording.numeric else "Percentages"
    return f"{what} are for {example} that is average in everything else."


def _shown(measurements: Measurements) -> str:
    """What the chart of an effect shows."""
    scale = measurements.readers.scale
    if not scale.factor:
        return "what is added to the prediction for each value"
    what = "by which factor the prediction changes" if scale.numeric else f"how the {scale.factor} change"
    return f"{what} with the value (× 1 is no change)"


class _Axis(NamedTuple):
    """The axis that the ranges of all parts share."""

    low: float
    high: float
    scale: AxisScale

    @classmethod
    def of(cls, summaries: Sequence[PartSummary]) -> _Axis:
        low = min([0.0, *(summary.all.low for summary in summaries)])
        high = max([0.0, *(summary.all.high for summary in summaries)])
        margin = 0.15 * (high - low or 1.0)
        return cls(low, high, AxisScale(low - margin, high + margin, 0.0, float(_BAR)))

    def grid(self, height: int) -> Markup:
        """Faint lines at the ticks."""
        return Markup(
            "".join(
                line(self.scale(value), 0, self.scale(value), height, "grid")
                for value in ticks(self.low, self.high, 4)
            )
        )

    def labels(self) -> Markup:
        """The numbers at the ticks."""
        return Markup(
            "".join(label(self.scale(value), 14, tick_text(value)) for value in ticks(self.low, self.high, 4))
        )


def _head(axis: _Axis) -> Markup:
    """The titles of the columns, and the axis of the ranges."""
    return element(
        "div",
        element("p", "what it says", class_="what"),
        element(
            "div",
            element("p", "what it adds: all examples, nine in ten, half, median"),
            element(
                "svg",
                axis.labels(),
                viewBox=f"0 0 {_BAR} 20",
                class_="figure spread",
                aria_hidden="true",
            ),
            class_="range",
        ),
        element("p", "how much it separates examples", class_="strong"),
        class_="clauses-head",
    )


def _row(measurements: Measurements, number: int, axis: _Axis) -> Markup:
    """One part of the list."""
    summary = measurements.summaries[number]
    return element(
        "li",
        _text_cell(measurements, number),
        _range_cell(summary, axis),
        _strength_cell(summary, measurements.summaries),
        id=f"part-{number + 1}",
    )


def _text_cell(measurements: Measurements, number: int) -> Markup:
    """The sentence and the formula of a part."""
    part = measurements.parts[number]
    formula = element(
        "p",
        element("code", weights_text(part), class_="weights"),
        " : ",
        element("code", pieces_markup(part.formula), class_="logic"),
    )
    return element(
        "div",
        element(
            "p",
            element("span", str(number + 1), class_="nth", title=part.name),
            pieces_markup(part.sentence),
            class_="saying",
        ),
        formula if part.formula else None,
        _details(measurements, number),
        class_="what",
    )


def _range_cell(summary: PartSummary, axis: _Axis) -> Markup:
    """The range of what a part adds, drawn and as numbers."""
    spread = summary.all
    return element(
        "div",
        element(
            "svg",
            spread_bar(spread, summary.extremes, axis.scale, lines=axis.grid(22)),
            viewBox=f"0 0 {_BAR} 22",
            class_="figure spread",
            role="img",
            aria_label=f"adds from {signed_text(spread.low)} to {signed_text(spread.high)}",
        ),
        element(
            "p",
            f"nine in ten: {signed_text(spread.low, 3)} to {signed_text(spread.high, 3)}, "
            f"median {signed_text(spread.median, 3)}",
            class_="ends",
        ),
        class_="range",
    )


def _strength_cell(summary: PartSummary, summaries: Sequence[PartSummary]) -> Markup:
    """The strength of a part, relative to the strongest and as a share of all."""
    strongest = max(each.strength for each in summaries) or 1.0
    total = sum(each.strength for each in summaries) or 1.0
    return element(
        "div",
        element(
            "svg",
            element("rect", width=100 * summary.strength / strongest, height=8, rx=1.5, class_="strength"),
            viewBox="0 0 100 8",
            preserveAspectRatio="none",
            class_="figure meter",
            aria_hidden="true",
        ),
        element(
            "p",
            element("b", number_text(summary.strength, 3)),
            element("span", f" {100 * summary.strength / total:.0f} %"),
            class_="share",
        ),
        class_="strong",
    )


def _weaker(rows: Sequence[Markup]) -> Markup | None:
    """The weaker parts, folded away."""
    if not rows:
        return None
    return element(
        "details",
        element("summary", plural(len(rows), "weaker one")),
        element("ol", rows, class_="clauses"),
        class_="weaker",
    )


def _logarithm_note(measurements: Measurements) -> str:
    """A sentence for models that only use logarithms of counts."""
    model = measurements.model
    if (
        not isinstance(model, Model)
        or not model.clauses
        or any(each.feature != LOG for each in model.clauses)
    ):
        return ""
    return " Weights multiply the logarithm of a count, so that the first grounding adds most."


def _details(measurements: Measurements, number: int) -> Markup | None:
    """The tree or the weights of a part, and what some counts add."""
    part, shown = measurements.parts[number], measurements.shown
    inside: list[Child] = []
    if part.note:
        inside.append(element("p", part.note))
    if part.tree:
        inside.append(element("pre", part.tree))
    if part.weights:
        # A weight that is zero says nothing.
        rows = [(name, number_text(weight, 4)) for name, weight in part.weights if weight]
        inside.append(table(("weight of", "is"), rows) if rows else None)
    for title, constants in _constants(part):
        inside.append(table((title, "weight"), [(name, signed_text(weight)) for name, weight in constants]))
    if shown.counts and part.clause is not None and part.each is None and len(shown.rows):
        counted = count_rows(shown.counts[number].true, shown.contributions[:, number])
        inside.append(table(("true count", "adds", "examples shown"), counted))
    if not inside:
        return None
    return element(
        "details",
        element(
            "summary",
            "The tree" if part.tree else "Weights and counts",
            element("span", f" of {part.name}", class_="quiet-reader"),
        ),
        element("div", *inside, class_="side"),
        open=0 < part.tree.count("\n") < _SHORT_TREE,
    )


def _constants(part: ModelPart) -> list[tuple[str, list[tuple[str, float]]]]:
    """The constants with the largest positive weights, and those with the largest negative ones."""
    if part.each is None:
        return []
    name = variable_name(part.each)
    rising = [entry for entry in part.constants if entry[1] > 0][:_MOST_CONSTANTS]
    falling = [entry for entry in part.constants if entry[1] < 0][:_MOST_CONSTANTS]
    return [
        (title, constants)
        for title, constants in ((f"likelier with {name}", rising), (f"less likely with {name}", falling))
        if constants
    ]


def count_rows(
    true: np.ndarray[Any, Any], adds: np.ndarray[Any, Any], most: int = 8
) -> list[tuple[str, str, str]]:
    """What a part adds for each true count, and how many examples have it; many counts are put in ranges.

    Every count that occurs is in one row. Frequent counts have a row of their own.
    """
    values, sizes = np.unique(true, return_counts=True)
    groups = _ranges(sizes.tolist(), most)
    rows = []
    for first, last in groups:
        low_count, high_count = int(values[first]), int(values[last])
        added = adds[(true >= low_count) & (true <= high_count)]
        low, high = float(added.min()), float(added.max())
        text = signed_text(low) if low == high else f"{signed_text(low)} to {signed_text(high)}"
        counts = f"{low_count:,}" if first == last else f"{low_count:,} to {high_count:,}"
        rows.append((counts, text, f"{int(sizes[first : last + 1].sum()):,}"))
    return rows


def _ranges(sizes: Sequence[int], most: int) -> list[tuple[int, int]]:
    """At most ``most`` ranges of places, from first to last, with about equal numbers of examples."""
    if len(sizes) <= most:
        return [(place, place) for place in range(len(sizes))]
    ranges: list[tuple[int, int]] = []
    first = 0
    while first < len(sizes):
        if len(ranges) == most - 1:
            return [*ranges, (first, len(sizes) - 1)]
        wanted = sum(sizes[first:]) / (most - len(ranges))
        last, inside = first, sizes[first]
        while last + 1 < len(sizes) and inside + sizes[last + 1] / 2 <= wanted:
            last, inside = last + 1, inside + sizes[last + 1]
        ranges.append((first, last))
        first = last + 1
    return ranges


def _by_label(measurements: Measurements, order: Sequence[int]) -> Markup | None:
    """The contributions of the strongest parts to positives and to negatives, as a plot."""
    if measurements.scores is None:
        return None
    strongest = list(order[:MOST_PARTS])
    drawn = label_spreads(
        [measurements.parts[number].name for number in strongest],
        [measurements.summaries[number].positives for number in strongest],
        [measurements.summaries[number].negatives for number in strongest],
    )
    more = len(order) - len(strongest)
    note = f"The plot leaves out {plural(more, 'weaker one')}; the list above has all."
    return element("div", figure(drawn, "wide"), element("p", note, class_="quiet") if more else None)
