"""The two kinds of charts in the report: groups of bars, and panels of lines; scores from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hornbeam.drawing.axes import Frame, Margins
from hornbeam.drawing.figure import Figure
from hornbeam.drawing.markup import Child, Markup, element, together
from hornbeam.drawing.shapes import bar, dot, label, line, moved, path_of

COLOURS = ("grey", "ochre", "violet", "pink", "sky", "blue", "green")
"""Classes of ``figure.css``, one for each series."""
_SCORES = [(tenth / 10, f"{tenth / 10:.1f}") for tenth in range(0, 11, 2)]
_MARGIN, _ROW = 16, 20
_LEGEND_COLUMNS, _LEGEND_WIDTH = 4, 195
_BAR, _GAP, _BETWEEN_GROUPS = 13, 3, 22
"""Widths of a bar, of the gap after it, and of the gap between groups of bars."""
_PANEL_COLUMNS, _PANEL_WIDTH, _PANEL_HEIGHT = 3, 290, 216


class Bar(NamedTuple):
    """One bar: its height, the spread drawn on it, and the published value drawn hollow beside it."""

    height: float | None
    spread: float | None = None
    published: float | None = None


class Line(NamedTuple):
    """The points of a line, from left to right."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: str
    dashed: bool = False


class Panel(NamedTuple):
    """One of several plots of lines, side by side."""

    title: str
    lines: Sequence[Line]


def bar_chart(
    title: str, groups: Sequence[str], series: Sequence[tuple[str, Sequence[Bar]]], note: str
) -> Figure:
    """Groups of bars; each series has one bar in each group."""
    colours = [COLOURS[number % len(COLOURS)] for number in range(len(series))]
    widths = [_slot_width(bars) for _, bars in series]
    step = sum(widths) + _BETWEEN_GROUPS
    inside = len(groups) * step + _BETWEEN_GROUPS
    # One unit across is one pixel; below the axis there is room for names and the note.
    frame = Frame.of((0, inside), (0, 1), 56 + inside, 310, Margins(56, 0, 10, 60))
    starts = [_BETWEEN_GROUPS + place * step for place in range(len(groups))]
    names = [(start + sum(widths) / 2, group) for start, group in zip(starts, groups, strict=True)]
    drawn: list[Child] = [frame.axes("", "", names, _SCORES)]
    for number, (name, bars) in enumerate(series):
        shapes = [
            shape
            for start, group, each in zip(starts, groups, bars, strict=True)
            for shape in _bar(frame, start + sum(widths[:number]), each, f"{group}, {name}")
        ]
        drawn.append(element("g", shapes, class_=f"series {colours[number]}"))
    drawn.append(label(56, frame.height - 10, note, anchor="start"))
    legend = [
        (name, element("g", bar(0, -9, 18, 9, "filled"), class_=f"series {colour}"))
        for (name, _), colour in zip(series, colours, strict=True)
    ]
    return _figure(title, note, legend, together(drawn), frame.width, frame.height)


def _slot_width(bars: Sequence[Bar]) -> int:
    """The width that a series takes in each group: that of one bar, or of two where one is hollow."""
    return _BAR * (2 if any(each.published is not None for each in bars) else 1) + _GAP


def _bar(frame: Frame, start: float, drawn: Bar, name: str) -> Iterator[Markup]:
    x, bottom = frame.x(start), frame.y(0)
    if drawn.height is not None:
        spread = "" if drawn.spread is None else f" ± {drawn.spread:.3f}"
        top = frame.y(drawn.height)
        yield bar(x, top, _BAR, bottom - top, "filled", f"{name}: {drawn.height:.3f}{spread}")
        if drawn.spread:
            # Scores lie between 0 and 1, so a spread is drawn no further.
            ends = [max(drawn.height - drawn.spread, 0.0), min(drawn.height + drawn.spread, 1.0)]
            middle = x + _BAR / 2
            yield line(middle, frame.y(ends[0]), middle, frame.y(ends[1]), "error")
            for end in ends:
                yield line(middle - 3, frame.y(end), middle + 3, frame.y(end), "error")
    if drawn.published is not None:
        top = frame.y(drawn.published)
        hint = f"{name}, published: {drawn.published:.2f}"
        yield bar(x + _BAR, top, _BAR - 1, bottom - top, "hollow", hint)


def line_panels(
    title: str, panels: Sequence[Panel], x_title: str, x_ticks: Sequence[tuple[float, str]], note: str
) -> Figure:
    """Panels of lines with the same axes: the ticks span the horizontal one."""
    legend: dict[str, Markup] = {}
    drawn: list[Child] = []
    columns = min(len(panels), _PANEL_COLUMNS)
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        drawn.append(
            moved(column * _PANEL_WIDTH, row * _PANEL_HEIGHT, _panel(panel, x_title, x_ticks)),
        )
        for each in panel.lines:
            legend.setdefault(each.name, _in_colour(each, [line(0, -4, 18, -4, _line_class(each))]))
    height = math.ceil(len(panels) / columns) * _PANEL_HEIGHT + 32
    drawn.append(label(44, height - 10, note, anchor="start"))
    return _figure(title, note, list(legend.items()), together(drawn), columns * _PANEL_WIDTH, height)


def _panel(panel: Panel, x_title: str, x_ticks: Sequence[tuple[float, str]]) -> Markup:
    low, high = x_ticks[0][0], x_ticks[-1][0]
    room = 0.04 * ((high - low) or 1.0)
    frame = Frame.of(
        (low - room, high + room), (0, 1), _PANEL_WIDTH, _PANEL_HEIGHT - 12, Margins(44, 16, 22, 42)
    )
    drawn: list[Child] = [
        label(44, 12, panel.title, "name", "start"),
        frame.axes(x_title, "", x_ticks, _SCORES),
    ]
    for each in panel.lines:
        points = [(frame.x(x), frame.y(min(max(y, 0.0), 1.0))) for x, y in each.points]
        dots = [
            dot(x, y, 3, "dot", f"{panel.title}, {each.name}: {value:.3f}")
            for (x, y), (_, value) in zip(points, each.points, strict=True)
        ]
        path = [path_of(points, _line_class(each))] if points else []
        drawn.append(_in_colour(each, [*path, *dots]))
    return together(drawn)


def _line_class(each: Line) -> str:
    return "curve second" if each.dashed else "curve"


def _in_colour(each: Line, shapes: Iterable[Markup]) -> Markup:
    return element("g", shapes, class_=f"series {each.colour}")


def _figure(
    title: str, note: str, legend: Sequence[tuple[str, Markup]], plot: Markup, width: int, height: int
) -> Figure:
    """The title, the legend below it, and the plot below both."""
    drawn: list[Child] = [label(_MARGIN, 26, title, "heading", "start")]
    for number, (name, sample) in enumerate(legend):
        row, column = divmod(number, _LEGEND_COLUMNS)
        x, y = _MARGIN + column * _LEGEND_WIDTH, 50 + row * _ROW
        drawn.append(moved(x, y, sample, label(24, 0, name, anchor="start")))
    top = 50 + math.ceil(len(legend) / _LEGEND_COLUMNS) * _ROW
    drawn.append(moved(0, top, plot))
    least = _LEGEND_COLUMNS * _LEGEND_WIDTH + _MARGIN
    return Figure(title, note, max(width, least) + _MARGIN, top + height, together(drawn))
