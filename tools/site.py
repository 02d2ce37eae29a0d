"""Extensions of the documentation site: formulas without a network, and tables from result files.

mkdocs calls the functions named ``on_...`` (see ``hooks`` in mkdocs.yml). Formulas are written as on
GitHub, ``$...$`` and ``$$...$$``, and become MathML, which browsers draw themselves. A line
``<!-- table: NAME -->`` is followed by the table of that name from ``result_tables``.
"""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

sys.path.insert(0, str(Path(__file__).resolve().parent))
from result_tables import table_named

_TABLE = re.compile(r"^<!-- table: ([a-z0-9 -]+) -->$", re.MULTILINE)
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put tables in place of the lines that name them."""
    return _TABLE.sub(lambda line: table_named(line[1]), markdown)


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """Convert formulas to MathML."""
    return _FORMULA.sub(_mathml, content)


def _mathml(formula: re.Match[str]) -> str:
    display = "block" if formula[2] == "[" else "inline"
    return convert(html.unescape(formula[3]).strip(), display=display)
