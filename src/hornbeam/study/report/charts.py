"""Charts as SVG text, written by hand: the same numbers give the same bytes, on every machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

_STYLE = (
    "text{font:12px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1b1f24}"
    ".title{font-size:15px;font-weight:600}.small{font-size:11px;fill:#57606a}"
    ".grid{stroke:#d0d7de;stroke-width:1}.axis{stroke:#57606a;stroke-width:1}"
    ".error{stroke:#1b1f24;stroke-width:1}.ground{fill:#ffffff}"
)
COLOURS = ("#8c959f", "#d29922", "#8250df", "#bf3989", "#54aeff", "#0969da", "#1a7f37")
_MARGIN, _LINE = 16.0, 18.0


class Bar(NamedTuple):
    """A bar: its height, the spread drawn on it, and a hollow one beside it for somebody else's value."""

    height: float | None
    spread: float | None = None
    other: float | None = None


class Line(NamedTuple):
    """Points of a line, from left to right; a dashed line is somebody else's."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: str
    dashed: bool = False


class Panel(NamedTuple):
    """One of several drawings with lines, side by side."""

    title: str
    lines: Sequence[Line]


def bar_chart(
    title: str, groups: Sequence[str], series: Sequence[tuple[str, Sequence[Bar]]], note: str
) -> str:
    """Groups of bars from 0 to 1, one of each series in each group."""
    bar, gap, beside = 13.0, 3.0, 22.0
    widths = [_bar_width(bar, gap, bars) for _, bars in series]
    group_width = sum(widths)
    left, top, height = 56.0, 64.0 + _LINE * math.ceil(len(series) / 4), 240.0
    width = left + len(groups) * (group_width + beside) + beside + _MARGIN
    bottom = top + height
    parts = [
        *_heading(title, [(name, COLOURS[i % len(COLOURS)], False) for i, (name, _) in enumerate(series)])
    ]
    parts += _unit_axis(left, width - _MARGIN, top, height)
    for place, group in enumerate(groups):
        x = left + beside + place * (group_width + beside)
        parts.append(_text(x + group_width / 2, bottom + 18, group, anchor="middle"))
        for number, (name, bars) in enumerate(series):
            found = bars[place]
            colour = COLOURS[number % len(COLOURS)]
            parts.extend(_bar(x, bottom, bar, height, found, colour, f"{group}, {name}"))
            x += widths[number]
    parts.append(_text(left, bottom + 40, note, "small"))
    return _document(width, bottom + 40 + _MARGIN, title, parts)


def _bar_width(bar: float, gap: float, bars: Sequence[Bar]) -> float:
    hollow = any(each.other is not None for each in bars)
    return bar * (2 if hollow else 1) + gap


def _bar(
    x: float, bottom: float, bar: float, height: float, found: Bar, colour: str, hint: str
) -> Iterator[str]:
    if found.height is not None:
        tall = found.height * height
        said = f"{hint}: {found.height:.3f}" + (f" ± {found.spread:.3f}" if found.spread is not None else "")
        yield (
            f'<rect x="{_n(x)}" y="{_n(bottom - tall)}" width="{_n(bar)}" height="{_n(tall)}" '
            f'fill="{colour}"><title>{escape(said)}</title></rect>'
        )
        if found.spread:
            # The scores end at 0 and 1; a spread says nothing beyond.
            low, high = max(found.height - found.spread, 0.0), min(found.height + found.spread, 1.0)
            middle = x + bar / 2
            yield _stroke(middle, bottom - low * height, middle, bottom - high * height, "error")
            for end in (low, high):
                yield _stroke(middle - 3, bottom - end * height, middle + 3, bottom - end * height, "error")
    if found.other is not None:
        tall = found.other * height
        yield (
            f'<rect x="{_n(x + bar)}" y="{_n(bottom - tall)}" width="{_n(bar - 1)}" height="{_n(tall)}" '
            f'fill="none" stroke="{colour}" stroke-dasharray="3 2"><title>'
            f"{escape(f'{hint}, published: {found.other:.2f}')}</title></rect>"
        )


def line_panels(
    title: str, panels: Sequence[Panel], x_name: str, x_ticks: Sequence[tuple[float, str]], note: str
) -> str:
    """Panels of lines with one scale: x as the ticks say, y from 0 to 1."""
    names: dict[str, tuple[str, str, bool]] = {}
    for panel in panels:
        for line in panel.lines:
            names.setdefault(line.name, (line.name, line.colour, line.dashed))
    columns = min(len(panels), 3)
    wide, height, left = 230.0, 150.0, 44.0
    top = 64.0 + _LINE * math.ceil(len(names) / 4)
    width = columns * (left + wide + _MARGIN) + _MARGIN
    parts = [*_heading(title, list(names.values()))]
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        x = left + column * (left + wide + _MARGIN)
        y = top + 10 + row * (height + 78)
        parts.append(_text(x, y, panel.title))
        parts.extend(_panel(panel, x, y + 12, wide, height, x_ticks))
        parts.append(_text(x + wide / 2, y + height + 46, x_name, "small", "middle"))
    bottom = top + 10 + math.ceil(len(panels) / columns) * (height + 78)
    parts.append(_text(left, bottom, note, "small"))
    return _document(width, bottom + _MARGIN, title, parts)


def _panel(
    panel: Panel, left: float, top: float, wide: float, height: float, ticks: Sequence[tuple[float, str]]
) -> Iterator[str]:
    yield from _unit_axis(left, left + wide, top, height)
    low, high = ticks[0][0], ticks[-1][0]

    def across(value: float) -> float:
        return left + 8 + (value - low) / ((high - low) or 1.0) * (wide - 16)

    for value, name in ticks:
        yield _stroke(across(value), top + height, across(value), top + height + 4, "axis")
        yield _text(across(value), top + height + 17, name, "small", "middle")
    for line in panel.lines:
        places = [(across(x), top + height * (1 - min(max(y, 0.0), 1.0))) for x, y in line.points]
        path = " ".join(f"{_n(x)},{_n(y)}" for x, y in places)
        dashes = ' stroke-dasharray="4 3"' if line.dashed else ""
        yield f'<polyline points="{path}" fill="none" stroke="{line.colour}" stroke-width="2"{dashes}/>'
        for (x, y), (_, value) in zip(places, line.points, strict=True):
            hint = escape(f"{panel.title}, {line.name}: {value:.3f}")
            dot = f'<circle cx="{_n(x)}" cy="{_n(y)}" r="3" fill="{line.colour}">'
            yield f"{dot}<title>{hint}</title></circle>"


def _unit_axis(left: float, right: float, top: float, height: float) -> Iterator[str]:
    for tenth in range(0, 11, 2):
        y = top + height * (1 - tenth / 10)
        yield _stroke(left, y, right, y, "axis" if tenth == 0 else "grid")
        yield _text(left - 6, y + 4, f"{tenth / 10:.1f}", "small", "end")


def _heading(title: str, names: Sequence[tuple[str, str, bool]]) -> Iterator[str]:
    yield _text(_MARGIN, 26, title, "title")
    for number, (name, colour, dashed) in enumerate(names):
        row, column = divmod(number, 4)
        x, y = _MARGIN + column * 180.0, 48.0 + row * _LINE
        dashes = ' stroke-dasharray="4 3"' if dashed else ""
        yield (
            f'<line x1="{_n(x)}" y1="{_n(y - 4)}" x2="{_n(x + 18)}" y2="{_n(y - 4)}" stroke="{colour}" '
            f'stroke-width="{3 if dashed else 9}"{dashes}/>'
        )
        yield _text(x + 24, y, name)


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "") -> str:
    more = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{_n(x)}" y="{_n(y)}"{more}>{escape(words)}</text>'


def _stroke(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}" class="{kind}"/>'


def _document(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    width = max(width, 4 * 180.0 + 2 * _MARGIN)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{_n(width)}" height="{_n(height)}" '
            f'viewBox="0 0 {_n(width)} {_n(height)}">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            '<rect class="ground" width="100%" height="100%"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _n(value: float) -> str:
    """A coordinate, to a hundredth.

    >>> _n(3.0), _n(2.499999), _n(-0.001)
    ('3', '2.5', '0')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
