"""Tables as logic: which predicates they give, over which types, with which modes.

- A table of things gives a type, named as the table, whose population are its keys, and one predicate
  per column: ``occupation(users, occupation_value)``; ``premium(users)`` for a flag, true rows only;
  ``city_id(users, cities)`` for a link; ``age(users, age_value)`` with a numeric type for a number or a
  date. A table whose key is a link, too, tells more of those things: it has their type, and a predicate
  of its own name says which have a row.
- A link table gives a predicate over its links, ``ratings(users, movies)``, and one per other column
  with these arguments first: ``rating(users, movies, rating_value)``. With one link and one column,
  the latter is all.
- Rows without a key that say something twice are things with numbers for keys.
- What is missing is no fact. A column's predicate has its name, in lower case, unless another table
  has such a column or is named so: then ``table_column``.

Every predicate knows its table and columns, so facts can be led back to rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Coded, Notice
from hornbeam.data.relations import Numbered
from hornbeam.errors import SchemaError, plural
from hornbeam.loading.modes import MOST_CONSTANTS
from hornbeam.loading.tables.column import MISSING, Column, Domain, places_in
from hornbeam.loading.tables.roles import Form, Plan
from hornbeam.loading.tables.schema_file import Role
from hornbeam.logic.modes import Argument, Kind, Mode
from hornbeam.logic.schema import DATE, NUMBER

FEW_NUMBERS = 10
"""Numbers of which there are no more different ones are offered as constants, too."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MappedPredicate:
    """A predicate and where its facts are: the columns of its arguments, and what must be true of a row."""

    name: str
    table: str
    columns: tuple[str | None, ...]
    """None stands for the number of the row"""
    types: tuple[str, ...]
    flag: str | None = None
    """the column that must be true"""
    value: Role | None = None
    """of a predicate whose last argument is a value: what kind of value"""

    def as_dict(self) -> dict[str, object]:
        where = {} if self.flag is None else {"true": self.flag}
        return {
            "predicate": self.name,
            "types": list(self.types),
            "table": self.table,
            "columns": list(self.columns),
            **where,
        }


@dataclass(frozen=True, eq=False)
class LogicMap:
    """All predicates that tables give, and the type of each table's rows."""

    predicates: tuple[MappedPredicate, ...]
    types: Mapping[str, str]
    """by table; link tables have none"""


def map_tables(plans: Sequence[Plan]) -> LogicMap:
    """The predicates of all tables; columns with the role of a label or of a time give none."""
    by_name = {plan.name: plan for plan in plans}
    types = {plan.name: _type(plan, by_name) for plan in plans if plan.form is not Form.LINK}
    names = _Names(plans)
    found = [each for plan in plans for each in _predicates(plan, types, names)]
    return LogicMap(tuple(found), types)


def _type(plan: Plan, plans: Mapping[str, Plan]) -> str:
    """A table's type: its own name, or that of the table which its key leads to."""
    seen = [plan.name]
    while plan.key is not None and plan.key in plan.links:
        plan = plans[plan.links[plan.key]]
        if plan.name in seen:
            raise SchemaError(
                f"the keys of {', '.join(seen)} are links that lead in a circle; one of them is no link: "
                "state its links in schema.toml."
            )
        seen.append(plan.name)
    return plan.name.lower()


def _predicates(plan: Plan, types: Mapping[str, str], names: _Names) -> Iterator[MappedPredicate]:
    table, columns = plan.name, plan.table.columns
    base: tuple[str | None, ...]
    if plan.form is Form.LINK:
        base = tuple(plan.links)
        own = tuple(types[other] for other in plan.links.values())
        if len(base) > 1:
            yield MappedPredicate(names.of_table(table), table, base, own)
    else:
        base, own = (plan.key,), (types[table],)
        if plan.key in plan.links:
            yield MappedPredicate(names.of_table(table), table, base, own)
    for name in columns:
        role = plan.roles[name]
        if role is Role.LINK and plan.form is not Form.LINK and name != plan.key:
            other = types[plan.links[name]]
            yield MappedPredicate(names.of_column(table, name), table, (*base, name), (*own, other))
        elif role is Role.FLAG:
            yield MappedPredicate(names.of_column(table, name), table, base, own, flag=name)
        elif role in (Role.CATEGORY, Role.NUMBER, Role.DATE):
            predicate = names.of_column(table, name)
            value = names.of_value(predicate)
            yield MappedPredicate(predicate, table, (*base, name), (*own, value), value=role)


class _Names:
    """Names of predicates and of types of values, each once."""

    def __init__(self, plans: Iterable[Plan]) -> None:
        plans = list(plans)
        self._columns: dict[str, int] = {}
        for plan in plans:
            self._columns[plan.name.lower()] = self._columns.get(plan.name.lower(), 0) + 1
            for name in plan.table.columns:
                if plan.roles[name] not in (Role.KEY, Role.UNUSED, Role.TIME) and not (
                    plan.form is Form.LINK and name in plan.links
                ):
                    self._columns[name.lower()] = self._columns.get(name.lower(), 0) + 1
        self._taken = {plan.name.lower() for plan in plans}
        self._types = set(self._taken)

    def of_table(self, table: str) -> str:
        return table.lower()

    def of_column(self, table: str, column: str) -> str:
        name = column.lower()
        return self._fresh(name if self._columns[name] == 1 else f"{table.lower()}_{name}", self._taken)

    def of_value(self, predicate: str) -> str:
        return self._fresh(f"{predicate}_value", self._types)

    def _fresh(self, name: str, taken: set[str]) -> str:
        number, found = 1, name
        while found in taken:
            number += 1
            found = f"{name}_{number}"
        taken.add(found)
        return found


# --- modes -----------------------------------------------------------------------------------


def modes_of(predicate: MappedPredicate, n_values: int) -> Iterator[Mode]:
    """Modes of a predicate: each argument in turn is bound, the others may be new.

    A value is a constant where there are few different ones, compared where it is a number or a date,
    and else shared: something that several things have.
    """
    things = predicate.types if predicate.value is None else predicate.types[:-1]

    def mode(bound: int, *last: Kind) -> Mode:
        kinds = [Kind.BOUND if place == bound else Kind.OPEN for place in range(len(things))]
        return Mode(predicate.name, tuple(map(Argument, [*kinds, *last], predicate.types)))

    compared = predicate.value in (Role.NUMBER, Role.DATE)
    few = n_values <= (FEW_NUMBERS if compared else MOST_CONSTANTS)
    for bound in range(len(things)):
        if predicate.value is None:
            yield mode(bound)
            continue
        if compared:
            yield mode(bound, Kind.NEW)
        if few and predicate.value is not Role.DATE:
            yield mode(bound, Kind.CONSTANT)
        if not compared and not few:
            yield mode(bound, Kind.OPEN)
    if predicate.value is Role.CATEGORY and not few:
        yield mode(-1, Kind.BOUND)


def numeric_types(mapping: LogicMap) -> dict[str, str]:
    """The kind of each numeric type."""
    kinds = {Role.NUMBER: NUMBER, Role.DATE: DATE}
    return {each.types[-1]: kinds[each.value] for each in mapping.predicates if each.value in kinds}


# --- facts -----------------------------------------------------------------------------------


def row_names(plan: Plan) -> Sequence[str]:
    """Names of the rows of a table without a single key: its composite key, else numbers from 1."""
    key = [plan.table.columns[name] for name in plan.table.key if name in plan.table.columns]
    if len(key) > 1 and len(key) == len(plan.table.key):
        words = [[column.texts[code] for code in column.codes] for column in key]
        joined = ["/".join(row) for row in zip(*words, strict=True)]
        if len(set(joined)) == len(joined):
            return joined
    return Numbered("", plan.table.size, first=1)


def things_of(plan: Plan) -> Coded:
    """The thing that each row of a table of things is."""
    if plan.key is not None:
        column = plan.table.columns[plan.key]
        return Coded(column.texts, column.codes)
    return Coded(row_names(plan), np.arange(plan.table.size, dtype=np.int32))


class FactColumns:
    """The facts of predicates, made one predicate at a time; names of things are made once."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self._plans = {plan.name: plan for plan in plans}
        self._things: dict[str, Coded] = {}
        self._arguments: dict[tuple[str, str], Coded] = {}
        self._times: dict[str, Floats] = {}

    def things(self, table: str) -> Coded:
        if table not in self._things:
            self._things[table] = things_of(self._plans[table])
        return self._things[table]

    def columns(self, predicate: MappedPredicate) -> tuple[list[Coded], Floats | None]:
        """The arguments of each fact, and when it came to be where the table tells."""
        plan = self._plans[predicate.table]
        coded = [self.argument(plan, name) for name in predicate.columns]
        holds = np.ones(plan.table.size, dtype=bool)
        for each in coded:
            holds &= each.codes != MISSING
        if predicate.flag is not None:
            holds &= is_true(plan.table.columns[predicate.flag])
        times = self._times_of(plan)
        if holds.all():
            return coded, times
        return [Coded(each.names, each.codes[holds]) for each in coded], None if times is None else times[
            holds
        ]

    def argument(self, plan: Plan, name: str | None) -> Coded:
        """The constant at a column in each row; without a name, the thing that the row is."""
        if name is None or name == plan.key:
            return self.things(plan.name)
        if (plan.name, name) not in self._arguments:
            self._arguments[plan.name, name] = self._coded(plan, name)
        return self._arguments[plan.name, name]

    def _coded(self, plan: Plan, name: str) -> Coded:
        column = plan.table.columns[name]
        if name not in plan.links:
            return Coded(column.texts, column.codes)
        other = self._plans[plan.links[name]]
        key = other.table.columns[other.key or ""]
        places = places_in(column, key)
        if (places == MISSING).any():
            # Links to keys that are not there, which were to be kept.
            return Coded(column.texts, column.codes)
        names = self.things(other.name).names
        if np.array_equal(places, np.arange(len(names))):
            return Coded(names, column.codes)
        return Coded(names, np.append(places, MISSING).astype(np.int32)[column.codes])

    def _times_of(self, plan: Plan) -> Floats | None:
        if plan.time is None:
            return None
        if plan.name not in self._times:
            self._times[plan.name] = times_of_rows(plan.table.columns[plan.time])
        return self._times[plan.name]


def is_true(column: Column) -> npt.NDArray[np.bool_]:
    """For each row whether a flag is set."""
    truth: npt.NDArray[np.bool_] = np.append(column.values.astype(bool), False)
    return truth[column.codes]


def times_of_rows(column: Column) -> Floats:
    """Times as numbers, or microseconds since 1970; a row without one exists for no cut-off: infinity."""
    values = column.values
    if column.domain is not Domain.NUMBER:
        values = values.astype("datetime64[us]").view(np.int64)
    return np.append(values.astype(np.float64), np.inf)[column.codes]


def time_notices(plans: Iterable[Plan]) -> list[Notice]:
    """What to say of rows without a time, and of tables whose times cannot be compared."""
    notices = []
    kinds: dict[bool, str] = {}
    for plan in plans:
        if plan.time is not None:
            column = plan.table.columns[plan.time]
            kinds.setdefault(column.domain is Domain.NUMBER, plan.name)
            if column.n_missing:
                notices.append(
                    Notice(
                        f'table "{plan.name}": {plural(column.n_missing, "row")} without "{plan.time}", '
                        "which exist for no example with a cut-off."
                    )
                )
    if len(kinds) > 1:
        raise SchemaError(
            f'the times of "{kinds[True]}" are numbers, those of "{kinds[False]}" dates, which cannot be '
            "compared; make them one kind, or state the time of only one of them."
        )
    return notices
