"""Extensions of the documentation site: formulas without a network.

mkdocs calls the functions named ``on_...`` (see ``hooks`` in mkdocs.yml). Formulas are written as on
GitHub, ``$...$`` and ``$$...$$``, and become MathML, which browsers draw themselves. The comments around
tables, by which ``tools/reference.py`` finds them, are left out.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

_TABLE = re.compile(r"^<!-- (table: [a-z0-9 -]+|end of table) -->\n", re.MULTILINE)
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Leave out the comments around tables."""
    return _TABLE.sub("", markdown)


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """Convert formulas to MathML."""
    return _FORMULA.sub(_mathml, content)


def _mathml(formula: re.Match[str]) -> str:
    display = "block" if formula[2] == "[" else "inline"
    return convert(html.unescape(formula[3]).strip(), display=display)
