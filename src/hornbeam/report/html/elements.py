"""Building blocks of the sections: tables, lists of names and values, figures with their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hornbeam.drawing.figure import Figure
from hornbeam.drawing.markup import Child, Markup, element
from hornbeam.logic.clauses import variable_name


def pieces_markup(pieces: Iterable[str | int]) -> list[Markup]:
    """The pieces of a clause's text as HTML, with variables marked as such."""
    return [
        element("var", variable_name(piece)) if isinstance(piece, int) else element("span", piece)
        for piece in pieces
    ]


def table(
    header: Sequence[str], rows: Iterable[Sequence[Child]], caption: str = "", class_: str = ""
) -> Markup:
    """A table whose first column names the rows; columns of numbers are aligned right."""
    body = list(rows)
    kinds = [
        "number" if body and all(map(_is_number, column)) else None for column in zip(*body, strict=True)
    ]
    kinds += [None] * (len(header) - len(kinds))

    def line(cells: Sequence[Child]) -> Markup:
        first, *others = [(cell, kind) for cell, kind in zip(cells, kinds, strict=True)]
        return element(
            "tr",
            element("th", first[0], scope="row", class_=first[1]),
            [element("td", cell, class_=kind) for cell, kind in others],
        )

    named = [element("th", name, scope="col", class_=kind) for name, kind in zip(header, kinds, strict=True)]
    return element(
        "table",
        element("caption", caption) if caption else None,
        element("thead", element("tr", named)),
        element("tbody", [line(row) for row in body]),
        class_=class_ or None,
    )


def _is_number(cell: Child) -> bool:
    """Whether the text of a cell is a number: it starts with a digit, or with a sign and a digit."""
    return isinstance(cell, str) and cell.lstrip("+-−")[:1].isdigit()


def pairs(rows: Iterable[tuple[str, Child]]) -> Markup:
    """A list of names and values."""
    return element("dl", [element("div", element("dt", name), element("dd", value)) for name, value in rows])


def figure(drawn: Figure, class_: str = "") -> Markup:
    """A figure with its caption and, folded away, its numbers."""
    # A region that may scroll must be reachable with the keyboard.
    scrolled: dict[str, str | None] = {"tabindex": None, "role": None, "aria_label": None}
    if "wide" in class_:
        scrolled = {"tabindex": "0", "role": "region", "aria_label": f"Drawing of {drawn.title}"}
    numbers = element(
        "details",
        element("summary", "The numbers", element("span", f" of {drawn.title}", class_="quiet-reader")),
        element(
            "div",
            table(drawn.header, drawn.rows),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label=f"Numbers of {drawn.title}",
        ),
    )
    return element(
        "figure",
        element("h3", drawn.title),
        element("div", drawn.svg(), class_="canvas", **scrolled),
        element("figcaption", drawn.caption),
        numbers if drawn.rows else None,
        class_=class_ or None,
    )


def section(name: str, title: str, lead: Child, *children: Child) -> Markup:
    """A section of the page, with a heading and an introduction."""
    return element(
        "section",
        element("h2", title, id=f"{name}-title"),
        element("p", lead, class_="lead") if lead else None,
        *children,
        id=name,
        aria_labelledby=f"{name}-title",
    )
