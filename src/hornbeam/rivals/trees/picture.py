"""A picture of regression trees, each test in a box above the boxes that yes and no lead to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hornbeam.drawing.figure import Figure
from hornbeam.drawing.markup import Markup, element, together
from hornbeam.drawing.shapes import bar, label, path_of, shortened
from hornbeam.rivals.trees.trees import Leaf, Tree

LETTER, LINE, PAD = 7.3, 16.0, 9.0
"""Width of a letter of the monospaced font, height of a line, and room around the text of a box."""
BESIDE, BELOW, MARGIN = 18.0, 46.0, 24.0
"""Room between boxes, between levels, and around the whole picture."""
LONGEST = 60
"""Maximum number of letters shown in a line; the tooltip of the box has the whole text."""


def tree_picture(heading: str, trees: Sequence[Tree]) -> Figure:
    """Trees below each other, under a heading."""
    drawings = [_drawing(tree) for tree in trees]
    width = max([drawing.width for drawing in drawings] + [_text_width(heading)]) + 2 * MARGIN
    shapes = [label(MARGIN, MARGIN + LINE, heading, "heading", "start")]
    top = MARGIN + 2 * LINE
    for number, drawing in enumerate(drawings, start=1):
        shapes.append(label(MARGIN, top + LINE, f"tree {number}", "name", "start"))
        shapes.extend(drawing.shapes(MARGIN, top + 2 * LINE))
        top += 2 * LINE + drawing.height + MARGIN
    return Figure(heading, "", round(width), round(top), together(shapes))


@dataclass(frozen=True, slots=True)
class _Drawing:
    """A box and, below it, the drawings of its two branches."""

    lines: tuple[str, ...]
    kind: str
    branches: tuple[_Drawing, ...]
    """the drawings below yes and below no; a leaf has none"""
    box_width: float
    width: float
    height: float

    @property
    def box_height(self) -> float:
        return len(self.lines) * LINE + 2 * PAD

    def shapes(self, left: float, top: float) -> Iterator[Markup]:
        """The shapes of the drawing: each branch before the box that it starts from."""
        middle, bottom = left + self.width / 2, top + self.box_height
        start = left + (self.width - _width_beside(self.branches)) / 2
        for branch, answer in zip(self.branches, ("yes", "no"), strict=False):
            end, under = start + branch.width / 2, bottom + BELOW
            yield path_of([(middle, bottom), (end, under)], "branch")
            # The label is beside the line, on its outer side.
            shift, anchor = (6, "start") if end > middle else (-6, "end")
            yield label((middle + end) / 2 + shift, (bottom + under) / 2, answer, anchor=anchor)
            yield from branch.shapes(start, under)
            start += branch.width + BESIDE
        x = middle - self.box_width / 2
        texts = [
            label(x + PAD, top + PAD + number * LINE - 4, shortened(text, LONGEST), "code", "start")
            for number, text in enumerate(self.lines, start=1)
        ]
        hint = element("title", "\n".join(self.lines))
        box = bar(x, top, self.box_width, self.box_height, f"box {self.kind}", rx=6)
        yield element("g", hint, box, texts)


def _drawing(tree: Tree) -> _Drawing:
    branches: tuple[_Drawing, ...] = ()
    if isinstance(tree, Leaf):
        lines: tuple[str, ...] = (f"{tree.value:+.4g}", f"{tree.examples:,} examples")
        kind = "rise" if tree.value > 0 else "fall"
    else:
        *first, last = map(str, tree.test)
        lines, kind = (*(f"{literal}," for literal in first), f"{last}?"), "test"
        branches = (_drawing(tree.holds), _drawing(tree.fails))
    box_width = max(_text_width(shortened(text, LONGEST)) for text in lines) + 2 * PAD
    height = len(lines) * LINE + 2 * PAD
    if branches:
        height += BELOW + max(branch.height for branch in branches)
    return _Drawing(lines, kind, branches, box_width, max(box_width, _width_beside(branches)), height)


def _width_beside(drawings: Sequence[_Drawing]) -> float:
    """The width of drawings side by side."""
    return sum(each.width for each in drawings) + BESIDE * max(len(drawings) - 1, 0)


def _text_width(text: str) -> float:
    return LETTER * len(text)
