"""Figures and their shapes: text is escaped, and a figure that stands alone needs nothing else."""

import re
from xml.etree import ElementTree

import pytest

from hornbeam.drawing.axes import Frame, Margins, labelled_ticks, ticks
from hornbeam.drawing.figure import Figure, figure_style
from hornbeam.drawing.markup import together
from hornbeam.drawing.notebook import bar_picture
from hornbeam.drawing.shapes import bar, dot, label, line, moved

SVG = "{http://www.w3.org/2000/svg}"


def figure_of(*shapes, caption="c"):
    return Figure("t", caption, 100, 50, together(shapes))


def test_a_figure_alone_names_no_variable_and_no_root():
    style = figure_of().document().partition("<style>")[2].partition("</style>")[0]
    assert "var(" not in style
    assert ":root" not in style
    assert "--" not in style
    assert style.count("{") == figure_style().count("{") - 1, "every rule but that of the root"


def test_text_that_xml_cannot_hold_is_replaced():
    text = "a\x00b\x1b[31m\ud800 <script>"
    drawn = figure_of(label(0, 0, text), bar(0, 0, 1, 1, hint=text)).document()
    root = ElementTree.fromstring(drawn)
    (shown,) = [each.text for each in root.iter(f"{SVG}text")]
    assert shown == "a\ufffdb\ufffd[31m\ufffd <script>"
    assert drawn.encode()


def test_a_figure_without_a_caption_is_described_by_its_title():
    assert figure_of(caption="").description == "t"
    assert figure_of().description == "t. c"
    assert 'aria-label="t. c"' in figure_of().svg()


def test_hints_are_titles_of_their_shapes():
    root = ElementTree.fromstring(
        figure_of(bar(1, 2, 3, 4, "filled", "a bar"), dot(1, 2, 3, "dot")).document()
    )
    assert [each.text for each in root.iter(f"{SVG}title")] == ["t. c", "a bar"]


def test_a_bar_is_never_drawn_backwards():
    assert 'width="0"' in bar(1, 1, -3.0, 2)


def test_moved_shapes_keep_their_own_places():
    assert moved(3, 4.5, line(0, 0, 1, 1, "axis")) == (
        '<g transform="translate(3 4.5)"><line x1="0" y1="0" x2="1" y2="1" class="axis"></line></g>'
    )


@pytest.mark.parametrize("value, start", [(1.0, 45), (-1.0, 22.5)])
def test_the_bar_of_a_contribution_starts_at_zero(value, start):
    rect = ElementTree.fromstring(bar_picture(value, 2.0)).find("rect")
    assert (float(rect.get("x")), float(rect.get("width"))) == (start, 22.5)


def test_axes_have_the_ticks_of_their_ranges_within_the_margins():
    frame = Frame.of((0, 10), (0, 1), 200, 100, Margins(left=30, right=10, top=5, bottom=20))
    assert (frame.x(0), frame.x(10), frame.y(0), frame.y(1)) == (30, 190, 80, 5)
    drawn = frame.axes("", "")
    texts = re.findall(r">([^<>]+)</text>", drawn)
    assert texts == [text for low, high in ((0, 1), (0, 10)) for _, text in labelled_ticks(low, high)]
    assert len(ticks(0, 1)) == drawn.count('class="grid"')
