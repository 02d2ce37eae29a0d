"""Axes: scales from numbers to places on the paper, round numbers for ticks, and the frame of a plot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hornbeam.drawing.markup import MINUS, Child, Markup, element, together
from hornbeam.drawing.shapes import label, line


@dataclass(frozen=True, slots=True)
class AxisScale:
    """The numbers from ``low`` to ``high`` laid out on the paper from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        width = self.high - self.low
        share = (value - self.low) / width if width else 0.5
        return round(self.start + share * (self.end - self.start), 2)


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers from low to high, about ``wanted`` of them.

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
    """The number of a tick, short enough for an axis.

    >>> tick_text(0.25), tick_text(-3.0), tick_text(250000.0)
    ('0.25', '−3', '250k')
    """
    size = abs(value)
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= limit:
            return f"{value / (1e3 if unit == 'k' else limit):.4g}{unit}".replace("-", MINUS)
    return f"{value:.4g}".replace("-", MINUS)


def labelled_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Ticks with their texts; fractions all have as many decimal places as the longest one.

    >>> labelled_ticks(0, 1)[-2:], labelled_ticks(0.135, 0.145)[2:4]
    ([(0.8, '0.8'), (1.0, '1')], [(0.14, '0.140'), (0.142, '0.142')])
    """
    texts = [(value, tick_text(value)) for value in ticks(low, high)]
    fractions = [text for _, text in texts if "." in text and text[-1].isdigit()]
    places = max((len(text.partition(".")[2]) for text in fractions), default=0)
    return [
        (value, text.ljust(text.find(".") + 1 + places, "0") if text in fractions else text)
        for value, text in texts
    ]


class Margins(NamedTuple):
    """Room around the axes of a plot, in pixels."""

    left: int | None = None
    """``None`` leaves room for the numbers of the ticks and a title beside them"""
    right: int = 14
    top: int = 14
    bottom: int = 46


@dataclass(frozen=True, slots=True)
class Frame:
    """The axes of a plot: a horizontal and a vertical scale within margins."""

    x: AxisScale
    y: AxisScale
    width: int
    height: int

    @classmethod
    def of(
        cls,
        across: tuple[float, float],
        up: tuple[float, float],
        width: int = 440,
        height: int = 340,
        margins: Margins | None = None,
    ) -> Frame:
        """Axes over a horizontal and a vertical range of numbers."""
        left, right, top, bottom = margins or Margins()
        if left is None:
            left = max(52, 30 + 7 * max(len(text) for _, text in labelled_ticks(*up)))
        return cls(
            AxisScale(*across, left, width - right), AxisScale(*up, height - bottom, top), width, height
        )

    def axes(
        self,
        x_title: str,
        y_title: str,
        x_ticks: Sequence[tuple[float, str]] | None = None,
        y_ticks: Sequence[tuple[float, str]] | None = None,
    ) -> Markup:
        """Faint lines at the vertical ticks, the numbers of all ticks, and the titles of the axes."""
        x, y = self.x, self.y
        across = labelled_ticks(x.low, x.high) if x_ticks is None else x_ticks
        up = labelled_ticks(y.low, y.high) if y_ticks is None else y_ticks
        drawn: list[Child] = []
        for value, text in up:
            drawn.append(line(x.start, y(value), x.end, y(value), "grid"))
            drawn.append(label(x.start - 8, y(value) + 4, text, anchor="end"))
        for value, text in across:
            drawn.append(line(x(value), y.start, x(value), y.start + 4, "axis"))
            drawn.append(label(x(value), y.start + 18, text))
        drawn.append(line(x.start, y.start, x.end, y.start, "axis"))
        if x_title:
            drawn.append(label((x.start + x.end) / 2, self.height - 6, x_title, "title"))
        if y_title:
            middle = (y.start + y.end) / 2
            turned = f"rotate(-90 14 {middle:g})"
            drawn.append(element("g", label(14, middle, y_title, "title"), transform=turned))
        return together(drawn)
