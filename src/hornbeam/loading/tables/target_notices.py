"""Notices about a target: tables that nothing connects with it, rows without a label, odd labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.data.database import UNLABELLED, Notice
from hornbeam.errors import plural
from hornbeam.loading.tables.given import GivenExamples
from hornbeam.loading.tables.roles import Form, Plan
from hornbeam.loading.tables.targets import Target

_OPPOSITES = (("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("0", "1"))
_ODD = 0.1
"""a third label is odd if fewer than this share of rows have it"""


def tables_apart(target: Target, plans: Sequence[Plan]) -> list[Notice]:
    """The notice about tables that no link connects with the target's table."""
    start = [target.table] if target.table is not None else list(target.arguments)
    near = {plan.name: {*plan.links.values()} for plan in plans}
    for plan in plans:
        for other in plan.links.values():
            near[other].add(plan.name)
    reached, waiting = set(start), list(start)
    while waiting:
        new = near[waiting.pop()] - reached
        reached |= new
        waiting += new
    apart = [f'"{plan.name}"' for plan in plans if plan.name not in reached and plan.table.size]
    if not apart:
        return []
    without_key = [plan.name for plan in plans if plan.name in start and plan.form is Form.ROWS]
    why = f' (table "{without_key[0]}" has no key that links could name)' if without_key else ""
    return [
        Notice(
            f"no link connects {', '.join(apart)} with the target{why}, so the model cannot use "
            f"{'this table' if len(apart) == 1 else 'these tables'}; state keys and links in schema.toml, or "
            "use = false."
        )
    ]


def label_notices(target: Target, given: GivenExamples | None) -> list[Notice]:
    """Notices about rows without a label, and about odd values besides true and false."""
    if given is None or target.column is None:
        return []
    notices = []
    n_missing = int(np.count_nonzero(given.labels == UNLABELLED))
    if n_missing:
        verb = "has" if n_missing == 1 else "have"
        notices.append(
            Notice(
                f'{plural(n_missing, "row")} of {len(given.labels):,} in "{target.table}" {verb} no value of '
                f'"{target.column}": nothing is learned from {"it" if n_missing == 1 else "them"}.'
            )
        )
    texts = [text.lower() for text in given.classes]
    pair = next((pair for pair in _OPPOSITES if set(pair) < set(texts)), None)
    if pair is not None:
        odd = [place for place, text in enumerate(texts) if text not in pair]
        rows = int(np.isin(given.labels, odd).sum())
        if rows < _ODD * len(given.labels):
            words = ", ".join(f'"{given.classes[place]}"' for place in odd)
            notices.append(
                Notice(
                    f'"{target.text}" holds {pair[0]} and {pair[1]}, but also {words} in '
                    f"{plural(rows, 'row')}, so it is learned as {len(texts)} classes; correct the values, "
                    f"or state missing = [{words}] in schema.toml."
                )
            )
    return notices
