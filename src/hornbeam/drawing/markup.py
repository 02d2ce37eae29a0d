"""HTML and SVG as text that cannot be broken out of: whatever is not markup is escaped."""

from __future__ import annotations

from collections.abc import Iterable

_VOID = frozenset(["br", "col", "hr", "img", "input", "link", "meta", "wbr"])
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})

MINUS = "−"
"""As wide as a plus, unlike the hyphen."""


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | Iterable[str | None] | None
Attribute = str | float | bool | None


def escape(text: str) -> Markup:
    """Text as markup shows it; markup stays as it is.

    >>> escape("<b>"), escape(Markup("<b>"))
    ('&lt;b&gt;', '<b>')
    """
    return text if isinstance(text, Markup) else Markup(text.translate(_ESCAPES))


def element(name: str, *children: Child, **attributes: Attribute) -> Markup:
    """An element. ``class_`` is written class, ``aria_label`` aria-label; None and False are left out.

    >>> element("p", "1 < 2, ", element("b", "yes"), class_="big", hidden=True)
    '<p class="big" hidden>1 &lt; 2, <b>yes</b></p>'
    """
    opened = f"<{name}{''.join(map(_attribute, attributes, attributes.values()))}>"
    if name in _VOID:
        return Markup(opened)
    return Markup(f"{opened}{together(children)}</{name}>")


def together(children: Iterable[Child]) -> Markup:
    """Pieces one after another, each escaped unless it is markup."""
    found: list[str] = []
    for child in children:
        if isinstance(child, str):
            found.append(escape(child))
        elif child is not None:
            found.append(together(child))
    return Markup("".join(found))


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    written = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {written}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value).translate(_ESCAPES)
    return f' {written}="{text}"'


def number_text(value: float, digits: int = 4) -> str:
    """A number to read, to so many significant digits, with a real minus sign.

    >>> number_text(-0.123456), number_text(1234567.0), number_text(2.0)
    ('−0.1235', '1.235e+06', '2')
    """
    return f"{value:.{digits}g}".replace("-", MINUS, 1) if value < 0 else f"{value:.{digits}g}"


def signed_text(value: float, digits: int = 4) -> str:
    """A contribution to read: its sign always shown.

    >>> signed_text(0.5), signed_text(-0.5), signed_text(0.0)
    ('+0.5', '−0.5', '0')
    """
    return f"+{number_text(value, digits)}" if value > 0 else number_text(value, digits)
