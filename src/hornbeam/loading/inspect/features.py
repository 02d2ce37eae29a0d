"""The features that a column offers to the default learner, by its role. ``docs/effects.md`` defines them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hornbeam.loading.tables.schema_file import Role
from hornbeam.logic.features import IN_ORDER, offered_for

_MEANING: Mapping[Role, str] = {
    Role.NUMBER: "value, mean, sum, smallest, largest, standard deviation; counts and shares above and below "
    "thresholds",
    Role.CATEGORY: "counts and shares of each value, number of different values, a weight for each value",
    Role.FLAG: "whether it is true; counts and shares of rows where it is",
    Role.DATE: "earliest date; time since it, for examples with cut-offs",
    Role.LINK: "number of rows, number of different keys, a weight for each key; the columns behind it",
    Role.TIME: "time since the first and the latest row, the first and the latest value of numbers, rows in "
    "the last days, the last rows, month of the cut-off; for examples with cut-offs",
}


def features_of(role: Role, timed: bool) -> tuple[str, ...]:
    """The features of a column with a role; ``timed`` says whether the rows of its table have times."""
    return (*offered_for(role.value), *(offered_for(IN_ORDER) if timed and role is Role.NUMBER else ()))


def features_text(columns: Iterable[tuple[str, str]]) -> list[str]:
    """For each role that some of the columns have: the columns and what they offer, in words."""
    by_role: dict[str, list[str]] = {}
    for name, role in columns:
        by_role.setdefault(role, []).append(name)
    lines = []
    for each, meaning in _MEANING.items():
        names = list(dict.fromkeys(by_role.get(each.value, ())))
        if names:
            shown = ", ".join([*names[:4], *(["..."] if len(names) > 4 else [])])
            lines.append(f"  {each.value} ({shown}): {meaning}")
    return lines
