"""Display names of keys whose tables stay in place: read by one query when they are first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from hornbeam.in_place.columns import with_values
from hornbeam.loading.tables.database import Relational
from hornbeam.loading.tables.display import display_column, display_names
from hornbeam.loading.tables.roles import Plan
from hornbeam.loading.tables.schema_file import Statement


class LateNames(Mapping[str, str]):
    """Names by key that are read when the first of them is asked for."""

    def __init__(self, read: Callable[[], Mapping[str, str]]) -> None:
        self._read = read

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return self._read()

    def __getitem__(self, key: str) -> str:
        return self._names[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def names_in_place(relational: Relational) -> dict[str, Mapping[str, str]]:
    """For each type whose table has a display column or labels, the display names of its keys."""
    names: dict[str, Mapping[str, str]] = {}
    for plan in relational.plans:
        stated = relational.stated.get(plan.name, Statement())
        column = display_column(plan, stated.name)
        if column is None and stated.labels:
            names |= display_names([plan], relational.mapping.types, relational.stated)
        elif column is not None and plan.key is not None and plan.key not in plan.links:
            names[relational.mapping.types[plan.name]] = LateNames(_reader(relational, plan, column))
    return names


def _reader(relational: Relational, plan: Plan, column: str) -> Callable[[], Mapping[str, str]]:
    def read() -> Mapping[str, str]:
        fetched = replace(plan, table=with_values(plan.table, {plan.key or "", column}))
        by_type = display_names([fetched], relational.mapping.types, relational.stated)
        return by_type.get(relational.mapping.types[plan.name], {})

    return read
