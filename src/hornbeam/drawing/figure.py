"""Figures: SVG drawings with a title, a caption and the numbers they show.

Shapes name a class of ``figure.css`` instead of a colour, so a page can show the same figure in its own
colours. A figure that stands alone (a file, a cell of a notebook) carries the light colours with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path

from hornbeam.drawing.markup import Markup, element
from hornbeam.files import write_file

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def figure_style() -> str:
    """The style sheet of figures; its colours are variables of ``:root``, which a page may override."""
    return (files("hornbeam.drawing") / "figure.css").read_text(encoding="utf-8")


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

    @property
    def description(self) -> str:
        """The title and the caption, for those who do not see the drawing."""
        return f"{self.title}. {self.caption}" if self.caption else self.title

    def svg(self) -> Markup:
        """The drawing, for a page that has the style sheet."""
        return element(
            "svg",
            self.drawing,
            viewBox=f"0 0 {self.width} {self.height}",
            class_="figure",
            role="img",
            aria_label=self.description,
        )

    def document(self) -> str:
        """The drawing as an SVG document of its own: it needs no style sheet, font, script or link."""
        drawn = element(
            "svg",
            element("title", self.description),
            element("style", Markup(_style_without_variables())),
            element("rect", width="100%", height="100%", class_="ground"),
            self.drawing,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {self.width} {self.height}",
            width=self.width,
            height=self.height,
            class_="figure",
            role="img",
        )
        # Names in the data may hold characters that no XML document can hold.
        return _NOT_XML.sub("\ufffd", drawn) + "\n"

    def _repr_svg_(self) -> str:
        return self.document()

    def save(self, path: str | Path) -> None:
        """Write the figure as an SVG file."""
        write_file(path, self.document())


@cache
def _style_without_variables() -> str:
    """The style sheet with each colour in place of its variable.

    Programs other than browsers do not support CSS variables, and a figure must not restyle the ``:root`` of
    a notebook.
    """
    root, _, rules = figure_style().partition("}")
    colours = dict(re.findall(r"--([\w-]+): *([^;]+);", root))
    return re.sub(r"var\(--([\w-]+)\)", lambda name: colours[name[1]], rules).strip()
