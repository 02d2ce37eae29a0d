"""The shapes that every drawing is made of: lines, bars, dots, paths and text, as SVG elements.

Shapes get their colours from a class of ``figure.css``, or from further attributes of SVG. A ``hint`` is the
text that a browser shows when the pointer rests on the shape.
"""

from __future__ import annotations

from collections.abc import Iterable

from hornbeam.drawing.markup import Attribute, Child, Markup, element


def line(
    x1: float, y1: float, x2: float, y2: float, class_: str | None = None, **attributes: Attribute
) -> Markup:
    """A straight line between two points."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_, **attributes)


def bar(
    x: float,
    y: float,
    width: float,
    height: float,
    class_: str | None = None,
    hint: str = "",
    **attributes: Attribute,
) -> Markup:
    """A rectangle whose upper left corner is at a point."""
    return element(
        "rect",
        _title(hint),
        x=round(x, 2),
        y=round(y, 2),
        width=round(max(width, 0.0), 2),
        height=round(max(height, 0.0), 2),
        class_=class_,
        **attributes,
    )


def dot(x: float, y: float, radius: float, class_: str, hint: str = "", **attributes: Attribute) -> Markup:
    """A circle around a point."""
    return element("circle", _title(hint), cx=x, cy=y, r=radius, class_=class_, **attributes)


def label(x: float, y: float, text: str, class_: str = "tick", anchor: str = "middle") -> Markup:
    """Text on a base line through a point, which is the start, the middle or the end of the text."""
    return element("text", text, x=x, y=y, class_=class_, text_anchor=None if anchor == "start" else anchor)


def path_of(points: Iterable[tuple[float, float]], class_: str) -> Markup:
    """A line through points."""
    return element("path", d="M" + "L".join(f"{x:g} {y:g}" for x, y in points), class_=class_)


def moved(x: float, y: float, *shapes: Child) -> Markup:
    """Shapes moved by ``x`` to the right and by ``y`` down."""
    return element("g", *shapes, transform=f"translate({x:g} {y:g})")


def shortened(text: str, most: int) -> str:
    """Text of at most ``most`` characters; text that is cut ends in an ellipsis.

    >>> shortened("publication", 6), shortened("ta", 6)
    ('publi…', 'ta')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _title(hint: str) -> Markup | None:
    return element("title", hint) if hint else None
