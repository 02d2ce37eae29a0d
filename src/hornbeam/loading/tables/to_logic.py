"""Tables as logic: which predicates they give, over which types, with which modes.

- A table of things gives a type of the same name, whose population is the keys of the table, and one
  predicate per column: ``occupation(users, occupation_value)``; ``premium(users)`` for a flag, with the
  true rows only; ``city_id(users, cities)`` for a link; ``age(users, age_value)`` with a numeric type
  for a number or a date. A table whose key is also a link describes the things of the linked table: it
  has their type, and a predicate with the name of the table lists the things that have a row.
- A link table gives a predicate over its links, ``ratings(users, movies)``, and one per other column
  with these arguments first: ``rating(users, movies, rating_value)``. A link table with one link and
  one column gives only the latter.
- Rows that have no key and repeat each other are things; their keys are row numbers.
- A missing value gives no fact. The predicate of a column has the name of the column, in lower case;
  if another table has that name, or a column of that name, it is ``table_column``.

Every predicate knows its table and columns, so that facts can be traced back to rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Coded, Notice
from hornbeam.data.names import Numbered
from hornbeam.data.numbers import TimeColumn
from hornbeam.errors import SchemaError, plural
from hornbeam.loading.modes import MOST_CONSTANTS
from hornbeam.loading.tables.columns.column import MISSING, Column, Domain, places_in
from hornbeam.loading.tables.roles import Form, Plan
from hornbeam.loading.tables.schema_file import Role
from hornbeam.logic.schema import DATE, NUMBER, Argument, Kind, Mode

FEW_NUMBERS = 10
"""A column with at most this many distinct numbers also offers them as constants."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MappedPredicate:
    """A predicate and where its facts are: a table, a column per argument, and a flag that must be true."""

    name: str
    table: str
    columns: tuple[str | None, ...]
    """the column of each argument; None stands for the number of the row"""
    types: tuple[str, ...]
    flag: str | None = None
    """the column that must be true"""
    value: Role | None = None
    """the role of the last argument, if that is a value"""

    def as_dict(self) -> dict[str, object]:
        condition = {} if self.flag is None else {"true": self.flag}
        return {
            "predicate": self.name,
            "types": list(self.types),
            "table": self.table,
            "columns": list(self.columns),
            **condition,
        }


@dataclass(frozen=True, eq=False)
class LogicMap:
    """All predicates that tables give, and the type of each table's rows."""

    predicates: tuple[MappedPredicate, ...]
    types: Mapping[str, str]
    """by table; link tables have none"""


def map_tables(plans: Sequence[Plan]) -> LogicMap:
    """The predicates of all tables; a column that is a label or a time gives none."""
    by_name = {plan.name: plan for plan in plans}
    types = {plan.name: _type(plan, by_name) for plan in plans if plan.form is not Form.LINK}
    names = _Names(plans)
    predicates = [each for plan in plans for each in _predicates(plan, types, names)]
    return LogicMap(tuple(predicates), types)


def _type(plan: Plan, plans: Mapping[str, Plan]) -> str:
    """The type of the rows of a table: named after the table, or after the one that its key links to."""
    seen = [plan.name]
    while plan.key is not None and plan.key in plan.links:
        plan = plans[plan.links[plan.key]]
        if plan.name in seen:
            raise SchemaError(
                f"the keys of {', '.join(seen)} link to each other in a circle; one of them is not a link: "
                "state the links of its table in schema.toml."
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
    """Gives every predicate and every type of values a unique name."""

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
        number, fresh = 1, name
        while fresh in taken:
            number += 1
            fresh = f"{name}_{number}"
        taken.add(fresh)
        return fresh


# --- modes -----------------------------------------------------------------------------------


def modes_of(predicate: MappedPredicate, n_values: int) -> Iterator[Mode]:
    """The modes of a predicate: each argument in turn is bound, and the others may be new variables.

    A value is a constant if the column has few of them, and is compared if it is a number or a date.
    Any other value is a variable, which several things may share.
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
    """Names for the rows of a table without a key column: its composite key, or else numbers from 1."""
    key = [plan.table.columns[name] for name in plan.table.key if name in plan.table.columns]
    if len(key) > 1 and len(key) == len(plan.table.key):
        words = [[column.texts[code] for code in column.codes] for column in key]
        joined = ["/".join(row) for row in zip(*words, strict=True)]
        if len(set(joined)) == len(joined):
            return joined
    return Numbered("", plan.table.size, first=1)


def things_of(plan: Plan) -> Coded:
    """For each row of a table of things the name of its thing."""
    if plan.key is not None:
        column = plan.table.columns[plan.key]
        return Coded(column.texts, column.codes)
    return Coded(row_names(plan), np.arange(plan.table.size, dtype=np.int32))


def time_columns(
    predicate: MappedPredicate, plans: Mapping[str, Plan], dated: bool
) -> tuple[TimeColumn, ...]:
    """The columns whose latest value is the time of a predicate's fact; none if its facts have no times.

    These are the times of the row, and a date itself, which is not known before it comes, unless its column
    is stated as known ahead. ``dated`` says whether times are dates.
    """
    plan = plans[predicate.table]
    times = list(columns_of_row_times(plan, plans))
    name = predicate.columns[-1]
    if dated and predicate.value is Role.DATE and name is not None and name not in (plan.time, *plan.known):
        times.append(TimeColumn(name))
    return tuple(times)


def columns_of_row_times(plan: Plan, plans: Mapping[str, Plan]) -> Iterator[TimeColumn]:
    """The columns that have times of the rows of a table, its own or those of tables that it links to."""
    if plan.time is not None:
        yield TimeColumn(plan.time)
    for link in plan.time_of:
        other = plans[plan.links[link]]
        assert other.key is not None
        for column, links in columns_of_row_times(other, plans):
            yield TimeColumn(column, ((link, other.name, other.key), *links))


class FactColumns:
    """Makes the facts of one predicate at a time; the columns that predicates share are made once."""

    def __init__(self, plans: Sequence[Plan], dated: bool = False) -> None:
        """``dated`` says whether the times of rows are dates."""
        self._dated = dated
        self._plans = {plan.name: plan for plan in plans}
        self._things: dict[str, Coded] = {}
        self._arguments: dict[tuple[str, str], Coded] = {}
        self._times: dict[str, Floats] = {}

    def things(self, table: str) -> Coded:
        if table not in self._things:
            self._things[table] = things_of(self._plans[table])
        return self._things[table]

    def columns(self, predicate: MappedPredicate) -> tuple[list[Coded], Floats | None]:
        """The arguments of each fact, and the time of each fact if the table has times."""
        plan = self._plans[predicate.table]
        coded = [self.argument(plan, name) for name in predicate.columns]
        holds = np.ones(plan.table.size, dtype=bool)
        for each in coded:
            holds &= each.codes != MISSING
        if predicate.flag is not None:
            holds &= is_true(plan.table.columns[predicate.flag])
        times = self._times_of_facts(predicate, plan)
        if holds.all():
            return coded, times
        return [Coded(each.names, each.codes[holds]) for each in coded], None if times is None else times[
            holds
        ]

    def argument(self, plan: Plan, name: str | None) -> Coded:
        """For each row the constant in a column; without a column, the thing that the row is."""
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
            # Dangling links that the user chose to keep.
            return Coded(column.texts, column.codes)
        names = self.things(other.name).names
        if np.array_equal(places, np.arange(len(names))):
            return Coded(names, column.codes)
        return Coded(names, np.append(places, MISSING).astype(np.int32)[column.codes])

    def n_values(self, predicate: MappedPredicate, end: float) -> int:
        """The number of different values of a predicate, in rows before a time."""
        plan, name = self._plans[predicate.table], predicate.columns[-1]
        assert name is not None
        column = plan.table.columns[name]
        if end == np.inf or not plan.is_timed:
            return column.n_values
        times = [self._linked_times(plan, *place) for place in columns_of_row_times(plan, self._plans)]
        codes = column.codes[np.maximum.reduce(times) < end]
        return len(np.unique(codes[codes != MISSING]))

    def times_of_things(self, table: str) -> Floats | None:
        """For each thing of a table, in the order of their names, the time of its row; None without times."""
        plan, things = self._plans[table], self.things(table)
        if not plan.is_timed:
            return None
        times = np.full(len(things.names), np.inf)
        known = things.codes != MISSING
        each = [self._linked_times(plan, *place) for place in columns_of_row_times(plan, self._plans)]
        times[things.codes[known]] = np.maximum.reduce(each)[known]
        return times

    def _times_of_facts(self, predicate: MappedPredicate, plan: Plan) -> Floats | None:
        """For each row the latest of its times; None if the facts have no times."""
        times = None
        for column, links in time_columns(predicate, self._plans, self._dated):
            more = self._linked_times(plan, column, links)
            times = more if times is None else np.maximum(times, more)
        return times

    def _linked_times(self, plan: Plan, column: str, links: tuple[tuple[str, str, str], ...]) -> Floats:
        """For each row the time in a column of the table that links lead to; infinity without a row there."""
        place = "\0".join([plan.name, column, *(link for link, _, _ in links)])
        if place not in self._times and not links:
            self._times[place] = times_of_rows(plan.table.columns[column])
        elif place not in self._times:
            (link, table, key), *further = links
            other = self._plans[table]
            at_rows = self._linked_times(other, column, tuple(further))
            keys = other.table.columns[key]
            of_key = np.full(len(keys.values) + 1, np.inf)
            of_key[keys.codes] = at_rows
            of_key[-1] = np.inf  # no row has the key MISSING
            linking = plan.table.columns[link]
            self._times[place] = of_key[np.append(places_in(linking, keys), MISSING)[linking.codes]]
        return self._times[place]


def is_true(column: Column) -> npt.NDArray[np.bool_]:
    """For each row whether a flag is set."""
    truth: npt.NDArray[np.bool_] = np.append(column.values.astype(bool), False)
    return truth[column.codes]


def times_of_rows(column: Column) -> Floats:
    """Times as numbers, dates in microseconds since 1970; a missing time is infinity, after every cut-off."""
    times: Floats = np.append(column.times(), np.inf)[column.codes]
    return times


def time_notices(plans: Iterable[Plan]) -> list[Notice]:
    """Notices about rows without a time; times that cannot be compared with each other are an error."""
    notices = []
    kinds: dict[bool, str] = {}
    for plan in plans:
        for link in plan.time_of if plan.form is not Form.LINK else ():
            lacking = plan.table.columns[link].n_missing
            if lacking:
                rows = plural(lacking, "row")
                notices.append(
                    Notice(
                        f'table "{plan.name}": {rows} without "{link}", from which rows have their time; no '
                        "example with a cut-off sees such a row."
                    )
                )
        if plan.time is not None:
            column = plan.table.columns[plan.time]
            kinds.setdefault(column.domain is Domain.NUMBER, plan.name)
            if column.n_missing:
                notices.append(
                    Notice(
                        f'table "{plan.name}": {plural(column.n_missing, "row")} without "{plan.time}"; no '
                        "example with a cut-off sees such a row."
                    )
                )
    if len(kinds) > 1:
        raise SchemaError(
            f'the times of "{kinds[True]}" are numbers and those of "{kinds[False]}" are dates, so they '
            "cannot be compared; convert one of them, or state a time for only one of these tables."
        )
    return notices
