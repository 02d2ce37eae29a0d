"""Notices about tables and a target: what is missing, not used, or not connected, and odd labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.data.database import UNLABELLED, Notice
from hornbeam.errors import plural, shown
from hornbeam.loading.tables.columns.column import Table
from hornbeam.loading.tables.columns.folding import spellings
from hornbeam.loading.tables.given import GivenExamples
from hornbeam.loading.tables.roles import Form, Plan
from hornbeam.loading.tables.targets import Target, reached_from, tables_of

_OPPOSITES = (("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("0", "1"))
_ODD = 0.1
"""a third label is odd if fewer than this share of rows have it"""


def missing_words(tables: Sequence[Table]) -> list[Notice]:
    """The notice about columns in which words such as NA are missing values."""
    cells = {
        f"{table.name}.{name}": column.n_words
        for table in tables
        for name, column in table.columns.items()
        if column.n_words
    }
    if not cells:
        return []
    where = f"{plural(sum(cells.values()), 'cell')} of {plural(len(cells), 'column')} ({shown(list(cells))})"
    keep = "to keep such words, state missing = [] in schema.toml"
    return [Notice(f"words such as NA are missing values in {where}; {keep}.")]


def left_out(tables: Sequence[Table], omitted: Sequence[Table]) -> list[Notice]:
    """The notice about what is not used: views, columns of types that cannot be read, empty tables."""
    parts = []
    if omitted:
        names = shown([f'"{table.name}"' for table in omitted])
        parts.append(f"{plural(len(omitted), 'view')} ({names}; --views reads all)")
    columns = [f"{table.name}.{column}" for table in tables for column in table.unread]
    if columns:
        parts.append(f"{plural(len(columns), 'column')} of types that cannot be read ({shown(columns)})")
    empty = [f'"{table.name}"' for table in tables if not table.size]
    if empty:
        parts.append(f"{plural(len(empty), 'empty table')} ({shown(empty)})")
    return [Notice(f"not used: {'; '.join(parts)}.")] if parts else []


def tables_apart(target: Target, plans: Sequence[Plan]) -> list[Notice]:
    """The notice about tables that no link connects with the target's table."""
    start, reached = tables_of(target), reached_from(target, plans)
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


def pair_notices(target: Target, plans: Sequence[Plan]) -> list[Notice]:
    """The notice that a column is learned as links between things, not as classes."""
    for plan in plans:
        if plan.name == target.table and plan.form is not Form.LINK and target.value is None:
            other = plan.links.get(target.column or "")
            if other is not None:
                return [
                    Notice(
                        f'"{target.text}" is a link, so each pair of keys of "{plan.name}" and "{other}" is '
                        "an example, linked or not; to learn it as classes, state "
                        f'roles = {{ {target.column} = "category" }} under [{plan.name}] in schema.toml.'
                    )
                ]
    return []


def _words_of_label(target: Target, plans: Sequence[Plan]) -> int:
    """The rows whose label is a word for a missing value, which another notice is about."""
    return sum(plan.table.columns[target.column or ""].n_words for plan in plans if plan.name == target.table)


def label_notices(target: Target, given: GivenExamples | None, plans: Sequence[Plan]) -> list[Notice]:
    """Notices about rows without a label, and about odd values besides true and false."""
    if given is None or target.column is None:
        return []
    notices = []
    n_missing = int(np.count_nonzero(given.labels == UNLABELLED))
    if n_missing > _words_of_label(target, plans):
        verb = "has" if n_missing == 1 else "have"
        notices.append(
            Notice(
                f'{plural(n_missing, "row")} of {len(given.labels):,} in "{target.table}" {verb} no value of '
                f'"{target.column}": nothing is learned from {"it" if n_missing == 1 else "them"}.'
            )
        )
    found = spellings(given.classes, target.table or "", target.column)
    if found:
        learned = f'"{target.text}" is learned as {len(given.classes)} classes, but {found}.'
        return [*notices, Notice(learned)]
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
