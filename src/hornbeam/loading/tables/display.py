"""Display names: the column of a table that says what people call its rows, such as the title of a film.

Keys stay the names of constants everywhere; a display name is only shown to people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from hornbeam.loading.tables.columns.column import MISSING, Column, Domain
from hornbeam.loading.tables.roles import Form, Plan
from hornbeam.loading.tables.schema_file import Role, Statement, Statements, looks_like_name

ENOUGH = 0.5
"""Minimum number of different names for each row of a table, for a column that is guessed to hold names."""
MOST_NAMES = 1_000_000
"""Tables with more rows get no display names."""


def display_column(plan: Plan, stated: str | None) -> str | None:
    """The column that names the rows of a table: as stated, else a text column called name or title."""
    if plan.form is not Form.THINGS or plan.key is None or plan.table.size > MOST_NAMES:
        return None
    if stated is not None:
        return stated if stated in plan.table.columns else None
    for name, column in plan.table.columns.items():
        text = plan.roles[name] in (Role.UNUSED, Role.CATEGORY) and column.domain is Domain.TEXT
        differ = column.n_values >= ENOUGH * plan.table.size > 0
        if text and differ and looks_like_name(name, plan.name):
            return name
    return None


def display_names(
    plans: Iterable[Plan], types: Mapping[str, str], stated: Statements
) -> dict[str, dict[str, str]]:
    """For each type whose table has a display column or labels, the display names of its keys."""
    names: dict[str, dict[str, str]] = {}
    for plan in plans:
        statement = stated.get(plan.name, Statement())
        if plan.form is not Form.THINGS or plan.key is None or plan.key in plan.links:
            continue
        column = display_column(plan, statement.name)
        if column is None:
            names |= {types[plan.name]: dict(statement.labels)} if statement.labels else {}
            continue
        key, shown = plan.table.columns[plan.key or ""], plan.table.columns[column]
        if isinstance(key, Column) and isinstance(shown, Column):
            names[types[plan.name]] = _told_apart(key, shown) | dict(statement.labels)
    return names


def _told_apart(key: Column, shown: Column) -> dict[str, str]:
    """The name of each key; a name that several rows have is followed by the key."""
    rows = [
        (key.texts[code], shown.texts[text])
        for code, text in zip(key.codes.tolist(), shown.codes.tolist(), strict=True)
        if code != MISSING and text != MISSING
    ]
    often = Counter(name for _, name in rows)
    return {word: name if often[name] == 1 else f"{name} ({word})" for word, name in rows}
