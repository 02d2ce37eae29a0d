"""HTML and SVG as text; everything in it that is not markup is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable

_VOID = frozenset(["br", "col", "hr", "img", "input", "link", "meta", "wbr"])
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})

MINUS = "−"
"""The minus sign, which is as wide as a plus, unlike the hyphen."""


class Markup(str):
    """Text that is already markup and is not escaped again."""

    __slots__ = ()


Child = str | Iterable[str | None] | None
Attribute = str | float | bool | None


def escape(text: str) -> Markup:
    """Text with the characters of markup escaped; markup stays as it is.

    >>> escape("<b>"), escape(Markup("<b>"))
    ('&lt;b&gt;', '<b>')
    """
    return text if isinstance(text, Markup) else Markup(text.translate(_ESCAPES))


def element(name: str, *children: Child, **attributes: Attribute) -> Markup:
    """An element. The attribute ``class_`` is written class, ``aria_label`` aria-label.

    Attributes that are None or False are left out; one that is True is written without a value.

    >>> element("p", "1 < 2, ", element("b", "yes"), class_="big", hidden=True)
    '<p class="big" hidden>1 &lt; 2, <b>yes</b></p>'
    """
    opened = f"<{name}{''.join(map(_attribute, attributes, attributes.values()))}>"
    if name in _VOID:
        return Markup(opened)
    return Markup(f"{opened}{together(children)}</{name}>")


def together(children: Iterable[Child]) -> Markup:
    """Children one after another, each escaped unless it is markup."""
    texts: list[str] = []
    for child in children:
        if isinstance(child, str):
            texts.append(escape(child))
        elif child is not None:
            texts.append(together(child))
    return Markup("".join(texts))


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    written = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {written}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value).translate(_ESCAPES)
    return f' {written}="{text}"'


def number_text(value: float, digits: int = 4) -> str:
    """A number for readers: rounded to significant digits, with a real minus sign.

    >>> number_text(-0.123456), number_text(1234567.0), number_text(2.0)
    ('−0.1235', '1.235e+06', '2')
    """
    return f"{value:.{digits}g}".replace("-", MINUS, 1) if value < 0 else f"{value:.{digits}g}"


def signed_text(value: float, digits: int = 4) -> str:
    """A number for readers whose sign is always shown, such as a contribution.

    >>> signed_text(0.5), signed_text(-0.5), signed_text(0.0)
    ('+0.5', '−0.5', '0')
    """
    return f"+{number_text(value, digits)}" if value > 0 else number_text(value, digits)


def factor_text(factor: float) -> str:
    """A factor of the odds for readers.

    >>> factor_text(0.2931), factor_text(1.0249), factor_text(5.214), factor_text(1234.5)
    ('× 0.29', '× 1.02', '× 5.21', '× 1.23e+03')
    """
    return f"× {factor:.2g}" if factor < 1 else f"× {factor:.3g}"


def percent_text(share: float, places: int = 0) -> str:
    """A share or probability for readers, in percent; small ones and those near 100 % keep two digits.

    >>> percent_text(0.437), percent_text(0.0312), percent_text(0.00042), percent_text(0.99987)
    ('44 %', '3.1 %', '0.042 %', '99.987 %')
    >>> percent_text(0.437, 1), percent_text(0.0), percent_text(1.0)
    ('43.7 %', '0 %', '100 %')
    """
    rest = 100.0 * min(share, 1.0 - share)
    if rest <= 1e-12:
        return "100 %" if share > 0.5 else "0 %"
    needed = 0 if rest >= 10 else 1 if rest >= 1 else 1 - math.floor(math.log10(rest))
    return f"{100.0 * share:.{min(max(places, needed), 12)}f} %"
