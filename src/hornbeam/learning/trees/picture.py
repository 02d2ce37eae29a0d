"""A picture of regression trees: one SVG drawing, no fonts, scripts or links needed to show it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from hornbeam.learning.trees.trees import Leaf, Tree

if TYPE_CHECKING:
    from hornbeam.learning.trees.model import TreeModel

LETTER, LINE, PAD = 7.3, 16.0, 9.0
"""Width of a letter of the monospaced font, height of a line, and room around the text of a box."""
BESIDE, BELOW, MARGIN = 18.0, 46.0, 24.0
"""Room between boxes, between levels, and around everything."""
LONGEST = 60
"""Letters of a line that are shown; the whole text is in the box's title."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
STYLE = (
    "text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#1b1f24}"
    ".head{font-weight:bold}.say{fill:#57606a}"
    "rect{stroke:#57606a;fill:#f6f8fa}.up{fill:#dbeafe}.down{fill:#ffedd5}"
    "path{stroke:#57606a;fill:none}.ground{fill:#ffffff;stroke:none}"
)


def tree_picture(model: TreeModel) -> str:
    """The trees of a model below each other, as an SVG document."""
    drawings = [_drawing(tree) for tree in model.trees]
    heading = f"{model.size_text} for {model.target}, prior {model.prior:.6g}"
    width = max([drawing.width for drawing in drawings] + [_text_width(heading)]) + 2 * MARGIN
    parts = [_label(MARGIN, MARGIN + LINE, heading, "head")]
    top = MARGIN + 2 * LINE
    for number, drawing in enumerate(drawings, start=1):
        parts.append(_label(MARGIN, top + LINE, f"tree {number}", "head"))
        parts.extend(drawing.shapes(MARGIN, top + 2 * LINE))
        top += 2 * LINE + drawing.height + MARGIN
    height = top + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}">',
            f"<title>{_safe(heading)}</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="ground" width="{width:.0f}" height="{height:.0f}"/>',
            *parts,
            "</svg>\n",
        ]
    )


@dataclass(frozen=True, slots=True)
class _Drawing:
    """A box and, below it, the drawings of what follows from yes and from no."""

    lines: tuple[str, ...]
    kind: str
    below: tuple[_Drawing, ...]
    box: float
    """width of the box"""
    width: float
    height: float

    @property
    def box_height(self) -> float:
        return len(self.lines) * LINE + 2 * PAD

    def shapes(self, left: float, top: float) -> Iterator[str]:
        """The elements of the drawing, lines before the boxes that they lead to."""
        middle, bottom = left + self.width / 2, top + self.box_height
        beside = left + (self.width - sum(each.width for each in self.below) - self._room()) / 2
        for each, word in zip(self.below, ("yes", "no"), strict=False):
            to, under = beside + each.width / 2, bottom + BELOW
            yield f'<path d="M{middle:.1f} {bottom:.1f}L{to:.1f} {under:.1f}"/>'
            # Beside the line, on the side that it leaves free.
            beside_line = (middle + to) / 2 + (6 if to > middle else -6 - _text_width(word))
            yield _label(beside_line, (bottom + under) / 2, word, "say")
            yield from each.shapes(beside, under)
            beside += each.width + BESIDE
        x = middle - self.box / 2
        yield f"<g><title>{_safe(chr(10).join(self.lines))}</title>"
        yield (
            f'<rect class="{self.kind}" x="{x:.1f}" y="{top:.1f}" width="{self.box:.1f}" '
            f'height="{self.box_height:.1f}" rx="6"/>'
        )
        for number, line in enumerate(self.lines, start=1):
            yield _label(x + PAD, top + PAD + number * LINE - 4, _short(line), "")
        yield "</g>"

    def _room(self) -> float:
        return BESIDE * max(len(self.below) - 1, 0)


def _drawing(tree: Tree) -> _Drawing:
    below: tuple[_Drawing, ...] = ()
    if isinstance(tree, Leaf):
        lines: tuple[str, ...] = (f"{tree.value:+.4g}", f"{tree.examples:,} examples")
        kind = "up" if tree.value > 0 else "down"
    else:
        *first, last = map(str, tree.test)
        lines, kind = (*(f"{literal}," for literal in first), f"{last}?"), "test"
        below = (_drawing(tree.holds), _drawing(tree.fails))
    box = max(_text_width(_short(line)) for line in lines) + 2 * PAD
    beside = sum(each.width for each in below) + BESIDE * max(len(below) - 1, 0)
    height = len(lines) * LINE + 2 * PAD
    if below:
        height += BELOW + max(each.height for each in below)
    return _Drawing(lines, kind, below, box, max(box, beside), height)


def _label(x: float, y: float, text: str, kind: str) -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}">{_safe(text)}</text>'


def _text_width(text: str) -> float:
    return LETTER * len(text)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _safe(text: str) -> str:
    """Text as XML: marks escaped, and what XML cannot hold replaced."""
    return escape(_NOT_XML.sub("\ufffd", text))
