"""HTML for notebooks, which do not load Hornbeam's style sheet: every element has its own style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hornbeam.drawing.markup import Child, Markup, element, signed_text
from hornbeam.drawing.shapes import bar, line

_CELL = (
    "padding:.25em .8em .25em 0;text-align:left;vertical-align:top;"
    "border-bottom:1px solid rgba(128,128,128,.35)"
)
_NUMBER = f"{_CELL};text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap"
RISE, FALL = "#c4641c", "#3f7fbf"
"""Colours of contributions that raise and that lower a probability, readable on white and on black."""


def notebook_table(
    title: Child, header: Sequence[str], rows: Iterable[Sequence[Child]], numbers: int, note: str = ""
) -> Markup:
    """A table with a title above it and a note below; its first ``numbers`` columns hold numbers."""

    def cells(name: str, row: Sequence[Child]) -> Markup:
        styles = (_NUMBER if place < numbers else _CELL for place in range(len(row)))
        return element(
            "tr", *(element(name, cell, style=style) for cell, style in zip(row, styles, strict=True))
        )

    return element(
        "div",
        element("p", title, style="margin:.3em 0"),
        element(
            "table",
            element("thead", cells("th", header)),
            element("tbody", *(cells("td", row) for row in rows)),
            style="border-collapse:collapse;background:none",
        ),
        element("p", note, style="margin:.3em 0;opacity:.75") if note else None,
    )


def bar_picture(value: float, most: float, width: int = 90) -> Markup:
    """A small bar: right of the middle for a number above zero, left of it for one below."""
    middle = width / 2
    length = round(middle * min(abs(value) / most, 1.0), 1) if most else 0.0
    start, colour = (middle, RISE) if value >= 0 else (middle - length, FALL)
    return element(
        "svg",
        line(middle, 0, middle, 14, stroke="#888", stroke_width=1),
        bar(start, 3, length, 8, fill=colour),
        width=width,
        height=14,
        role="img",
        aria_label=signed_text(value),
    )
