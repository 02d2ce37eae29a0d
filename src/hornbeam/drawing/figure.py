"""Figures: drawings as SVG with the numbers they show; in a notebook they show themselves.

Colours and fonts are names of classes, so that a page gives them its own; a figure that stands alone
carries the light ones with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from hornbeam.drawing.markup import MINUS, Child, Markup, element, together
from hornbeam.files import write_file


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with its title, a caption in words, and the numbers behind it as a table."""

    title: str
    caption: str
    width: int
    height: int
    drawing: Markup
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = field(default=())

    def svg(self) -> Markup:
        """The drawing for a page that has the classes."""
        return element(
            "svg",
            self.drawing,
            viewBox=f"0 0 {self.width} {self.height}",
            class_="figure",
            role="img",
            aria_label=f"{self.title}. {self.caption}",
        )

    def _repr_svg_(self) -> str:
        style = (files("hornbeam.drawing") / "figure.css").read_text(encoding="utf-8")
        # In a notebook the root is not ours to colour.
        style = style.replace(":root", "svg.figure")
        drawn = element(
            "svg",
            element("title", f"{self.title}. {self.caption}"),
            element("style", Markup(style)),
            element("rect", width="100%", height="100%", class_="ground"),
            self.drawing,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {self.width} {self.height}",
            width=self.width,
            height=self.height,
            class_="figure",
        )
        return f"{drawn}\n"

    def save(self, path: str | Path) -> None:
        """Write the figure as an SVG file."""
        write_file(path, self._repr_svg_())


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers of an axis to places on the paper."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        width = self.high - self.low
        share = (value - self.low) / width if width else 0.5
        return round(self.start + share * (self.end - self.start), 2)


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers from low to high, about as many as wanted.

    >>> ticks(0, 1), ticks(-0.3, 2.2, 4)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 1.0, 2.0])
    """
    width = high - low
    if not width > 0 or not math.isfinite(width):
        return [low]
    rough = width / max(wanted, 1)
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12) + 0.0 for number in range(first, last + 1)]


def tick_text(value: float) -> str:
    """A tick's number, short.

    >>> tick_text(0.25), tick_text(-3.0), tick_text(250000.0)
    ('0.25', '−3', '250k')
    """
    size = abs(value)
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= limit:
            return f"{value / (1e3 if unit == 'k' else limit):.4g}{unit}".replace("-", MINUS)
    return f"{value:.4g}".replace("-", MINUS)


def marks(low: float, high: float) -> list[tuple[float, str]]:
    """Ticks with their texts; small fractions have as many places as the longest of them.

    >>> marks(0, 1)[-2:], marks(0.135, 0.145)[2:4]
    ([(0.8, '0.8'), (1.0, '1')], [(0.14, '0.140'), (0.142, '0.142')])
    """
    found = [(value, tick_text(value)) for value in ticks(low, high)]
    fractions = [text for _, text in found if "." in text and text[-1].isdigit()]
    places = max((len(text.partition(".")[2]) for text in fractions), default=0)
    return [
        (value, text.ljust(text.find(".") + 1 + places, "0") if text in fractions else text)
        for value, text in found
    ]


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def bar(
    x: float, y: float, width: float, height: float, class_: str, hint: str = "", round_: float = 0
) -> Markup:
    return element(
        "rect",
        element("title", hint) if hint else None,
        x=round(x, 2),
        y=round(y, 2),
        width=round(max(width, 0.0), 2),
        height=round(max(height, 0.0), 2),
        rx=round_ or None,
        class_=class_,
    )


def label(x: float, y: float, text: str, class_: str = "tick", anchor: str = "middle") -> Markup:
    return element("text", text, x=x, y=y, class_=class_, text_anchor=None if anchor == "start" else anchor)


def path_of(points: Iterable[tuple[float, float]], class_: str) -> Markup:
    """A line through points."""
    return element("path", d="M" + "L".join(f"{x:g} {y:g}" for x, y in points), class_=class_)


@dataclass(frozen=True, slots=True)
class Frame:
    """The axes of a plot: a scale each way within margins."""

    x: Scale
    y: Scale
    width: int
    height: int

    @classmethod
    def of(
        cls,
        across: tuple[float, float],
        up: tuple[float, float],
        width: int = 440,
        height: int = 340,
        left: int | None = None,
        bottom: int = 46,
        top: int = 14,
        right: int = 14,
    ) -> Frame:
        """Axes over two ranges; on the left there is room for the numbers of the ticks beside the title."""
        if left is None:
            left = max(52, 30 + 7 * max(len(text) for _, text in marks(*up)))
        return cls(Scale(*across, left, width - right), Scale(*up, height - bottom, top), width, height)

    def axes(
        self,
        x_title: str,
        y_title: str,
        x_ticks: Sequence[tuple[float, str]] | None = None,
        y_ticks: Sequence[tuple[float, str]] | None = None,
    ) -> Markup:
        """Faint lines at the ticks, their numbers, and what the axes mean."""
        x, y = self.x, self.y
        across = marks(x.low, x.high) if x_ticks is None else x_ticks
        up = marks(y.low, y.high) if y_ticks is None else y_ticks
        drawn: list[Child] = []
        for value, text in up:
            drawn.append(line(x.start, y(value), x.end, y(value), "grid"))
            drawn.append(label(x.start - 8, y(value) + 4, text, anchor="end"))
        for value, text in across:
            drawn.append(line(x(value), y.start, x(value), y.start + 4, "axis"))
            drawn.append(label(x(value), y.start + 18, text))
        drawn.append(line(x.start, y.start, x.end, y.start, "axis"))
        drawn.append(label((x.start + x.end) / 2, self.height - 6, x_title, "title"))
        if y_title:
            middle = (y.start + y.end) / 2
            drawn.append(
                element(
                    "text",
                    y_title,
                    x=14,
                    y=middle,
                    class_="title",
                    text_anchor="middle",
                    transform=f"rotate(-90 14 {middle:g})",
                )
            )
        return together(drawn)
