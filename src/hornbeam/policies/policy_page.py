"""The page of a policy: the effects of each action, in the order of their importance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hornbeam.drawing.markup import Markup, element
from hornbeam.model.clause_model import Model
from hornbeam.policies.decisions import head_text

if TYPE_CHECKING:
    from hornbeam.report import Report

STYLE = (
    "body{font-family:system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;"
    "line-height:1.45;color:#222;background:#fff}h2{margin-top:2.2rem;border-bottom:1px solid #ccc}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}}"
)


def policy_page(
    title: str, note: str, models: Mapping[str, Model], heads: Mapping[str, Sequence[str]]
) -> Report:
    """An HTML page of a policy; it needs no script, and nothing from elsewhere."""
    from hornbeam.report import Report

    parts = [element("h1", "A relational policy"), element("p", title), element("p", note) if note else None]
    for name, model in models.items():
        parts += [element("h2", head_text(name, heads.get(name, ()))), Markup(model._repr_html_())]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("title", "A relational policy"),
        element("style", Markup(STYLE)),
    )
    page = element("html", head, element("body", *parts), lang="en")
    return Report(f"<!doctype html>\n{page}\n")
