"""Since when the rows of tables are known, if examples have cut-offs: so that no example sees the future.

A table that is reached from the target's things gets, in this order,

1. what the user states: a column of times, ``time_of`` links, or ``time = false``;
2. the time that it has: its only column of dates that is no birthday;
3. an error that names the candidates, if it has dates at or after the earliest cut-off;
4. the times of the rows that it links to, if these have times: no row is older than those it refers to;
5. else its rows are known from the start.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import Notice
from hornbeam.errors import SchemaError, plural
from hornbeam.loading.tables.columns.cells import read_moment, reads
from hornbeam.loading.tables.columns.column import Column, Domain
from hornbeam.loading.tables.columns.other_forms import DAY_NUMBERS, date_form, day_numbers, holds_months
from hornbeam.loading.tables.columns.types import inferred
from hornbeam.loading.tables.given import GivenExamples
from hornbeam.loading.tables.guess import is_birthday, is_named_like_time
from hornbeam.loading.tables.roles import Plan
from hornbeam.loading.tables.schema_file import Role, Statement, Statements
from hornbeam.loading.tables.to_logic import FactColumns
from hornbeam.logic.clauses import format_value
from hornbeam.logic.schema import DATE, NUMBER, value_of


class Earliest(NamedTuple):
    """The earliest cut-off of the examples."""

    time: float
    kind: str
    """whether cut-offs are numbers or dates"""

    def __str__(self) -> str:
        return format_value(value_of(self.time, self.kind))


class _Dates(NamedTuple):
    """A column that may say when a row came to be."""

    name: str
    rows: int
    """the number of rows whose value is at or after the earliest cut-off"""
    form: str = ""
    """how its dates are written, if they are not read as they are"""


def with_times(
    plans: Sequence[Plan], reached: Collection[str], first: Earliest, label: str | None, learned: bool
) -> tuple[list[Plan], list[Notice]]:
    """The plans with the times of rows, and what to tell the user.

    ``reached`` has the tables that links connect with the target's things, without the target's ``label``.
    An open question is an error. A model states all times: if the tables were ``learned``, nothing is found
    out.
    """
    dates = {plan.name: list(_dates(plan, first, label)) for plan in plans if plan.name in reached}
    found = {plan.name: plan for plan in plans}
    if not learned:
        found |= {name: _with_own_time(found[name], dates[name], first) for name in dates}
    unclear = [found[name] for name in dates if _is_unclear(found[name], dates[name], first)]
    if unclear:
        raise _unclear(unclear, dates, first)
    if not learned:
        found = _with_linked_times(found, dates)
        found |= {name: replace(found[name], from_start=not found[name].is_timed) for name in dates}
    notices = [_told(plan, before) for plan, before in zip(found.values(), plans, strict=True)]
    notices += [_early(found[name], dates[name], first) for name in dates]
    return list(found.values()), [notice for notice in notices if notice is not None]


def _is_settled(plan: Plan) -> bool:
    return plan.is_timed or plan.from_start


def _dates(plan: Plan, first: Earliest, label: str | None) -> Iterator[_Dates]:
    """The columns that may say when a row came to be: dates that are no birthdays.

    If cut-offs are numbers, they are numbers with the name of a time.
    """
    for name, column in plan.table.columns.items():
        role = plan.roles[name]
        if (
            f"{plan.name}.{name}" == label
            or role in (Role.KEY, Role.LINK)
            or is_birthday(name)
            or name in plan.ignored
        ):
            continue
        if first.kind == NUMBER:
            if column.domain is Domain.NUMBER and role is not Role.FLAG and is_named_like_time(name):
                yield _Dates(name, column.n_from(first.time))
            continue
        if column.domain is Domain.TEXT:
            column = inferred(column)
        if role is not Role.FLAG and day_numbers(column):
            yield _Dates(name, column.n_from(float(f"{value_of(first.time, DATE):%Y%m%d}")), DAY_NUMBERS)
        elif column.domain is Domain.TEXT and holds_months(column):
            yield _Dates(name, len(column) - column.n_missing, _MONTHS)
        elif column.domain in (Domain.DATE, Domain.MOMENT):
            yield _Dates(name, column.n_from(first.time))
        elif column.domain is Domain.TEXT and _holds_dates(column):
            # Dates in a form that is not read may be of any time.
            yield _Dates(name, len(column) - column.n_missing, date_form(column) or "")


def _holds_dates(column: Column) -> bool:
    """Whether a column of text holds dates, in any form of writing."""
    if column.stays:
        words = column.first()
        return bool(words) and all(reads(read_moment, word) for word in words)
    return date_form(column) is not None


def _with_own_time(plan: Plan, dates: Sequence[_Dates], first: Earliest) -> Plan:
    """The plan with its only column of dates as the time of its rows, if every row has one."""
    if _is_settled(plan) or len(dates) != 1 or first.kind != DATE:
        return plan
    name = dates[0].name
    column = plan.table.columns[name]
    if column.domain not in (Domain.DATE, Domain.MOMENT) or column.n_missing or name in plan.known:
        return plan
    # As a feature the column stays: how long ago the row came to be.
    role = Role.DATE if plan.roles[name] is Role.DATE else Role.TIME
    return replace(plan, time=name, roles={**plan.roles, name: role})


def _is_unclear(plan: Plan, dates: Sequence[_Dates], first: Earliest) -> bool:
    """Whether some rows of a table may be of the future, and nothing says which."""
    if _is_settled(plan):
        return False
    if first.kind == NUMBER and plan.links and plan.key not in plan.links and _dated(plan):
        # Dates do not compare with numbers, and a table that links to others grows.
        return True
    return any(each.rows for each in dates)


def _dated(plan: Plan) -> list[str]:
    return [
        name
        for name, column in plan.table.columns.items()
        if column.domain in (Domain.DATE, Domain.MOMENT)
        and plan.roles[name] in (Role.DATE, Role.UNUSED)
        and not is_birthday(name)
        and name not in plan.ignored
    ]


def _unclear(plans: Sequence[Plan], dates: Mapping[str, Sequence[_Dates]], first: Earliest) -> SchemaError:
    parts = []
    for plan in plans:
        lines = [_line(each) for each in dates[plan.name]]
        held = plan.name, ", ".join(f'"{each.name}"' for each in dates[plan.name])
        if not lines:
            dated = ", ".join(f'"{name}"' for name in _dated(plan))
            why = f'"{plan.name}" has dates ({dated}), which do not compare with cut-offs that are numbers'
        else:
            later = max(each.rows for each in dates[plan.name])
            why = f'"{held[0]}" has {plural(later, "row")} dated at or after it ({held[1]})'
        options = " or ".join([*lines, "time = false"])
        parts.append(f"{why}: state {options} under [{plan.name}]")
    return SchemaError(
        f"the examples have cut-offs, the earliest is {first}, but it is not stated when rows came to be. "
        f"{'; '.join(parts)}. Write this to schema.toml: the column with the time of a row, or false if all "
        "rows are known from the start."
    )


_MONTHS = "months"
"""The form of months, which say no day: such a column cannot be a time."""


def _line(dates: _Dates) -> str:
    if dates.form == _MONTHS:
        return f'another column than "{dates.name}", which holds months, as time,'
    written = f'dates = {{ {dates.name} = "{dates.form}" }} and ' if dates.form else ""
    return f'{written}time = "{dates.name}"'


def _with_linked_times(plans: Mapping[str, Plan], dates: Mapping[str, Sequence[_Dates]]) -> dict[str, Plan]:
    """The plans in which tables without times take over those of the tables that they link to."""
    found = dict(plans)
    waiting = [name for name in dates if not _is_settled(found[name])]
    while True:
        changed = False
        for name in waiting:
            plan = found[name]
            links = tuple(link for link, other in plan.links.items() if found[other].is_timed)
            # A table that waits for its own times, directly or in a circle, has none to give.
            links = tuple(link for link in links if name not in _behind(found, plan.links[link]))
            if links != plan.time_of:
                found[name] = replace(plan, time_of=links)
                changed = True
        if not changed:
            return found


def _behind(plans: Mapping[str, Plan], name: str) -> set[str]:
    """A table and those whose times it takes over."""
    seen, waiting = {name}, [name]
    while waiting:
        plan = plans[waiting.pop()]
        new = {plan.links[link] for link in plan.time_of} - seen
        seen |= new
        waiting += new
    return seen


def _told(plan: Plan, before: Plan) -> Notice | None:
    """What was found out about the times of a table."""
    if plan.time is not None and before.time is None:
        return Notice(
            f'table "{plan.name}": "{plan.time}" is taken as the time of a row; cut-offs apply to it.'
        )
    if plan.time_of and not before.time_of:
        links = ", ".join(f'"{plan.links[link]}" ({link})' for link in plan.time_of)
        return Notice(
            f'table "{plan.name}": a row takes over the time of the row that it links to in {links}.'
        )
    return None


def _early(plan: Plan, dates: Sequence[_Dates], first: Earliest) -> Notice | None:
    """The warning that rows that are known from the start are dated later than a cut-off."""
    later = max((each.rows for each in dates), default=0)
    if not plan.from_start or not later:
        return None
    names = ", ".join(f'"{each.name}"' for each in dates if each.rows)
    are = "is" if later == 1 else "are"
    return Notice(
        f'table "{plan.name}": {plural(later, "row")} {are} dated at or after the earliest cut-off, {first} '
        f"({names}), but time = false is stated, so every example sees all rows."
    )


# --- what follows for examples ----------------------------------------------------------------


def guessed_times(plans: Sequence[Plan], tables: Sequence[str], stated: Statements) -> list[Plan]:
    """The plans of these tables whose times were found out, not stated."""
    by_name = {plan.name: plan for plan in plans}
    return [
        by_name[name]
        for name in dict.fromkeys(tables)
        if by_name[name].time is not None and stated.get(name, Statement()).time is None
    ]


def check_own_rows(
    plans: Sequence[Plan], tables: Sequence[str], facts: FactColumns, given: GivenExamples
) -> None:
    """Refuse a guessed time of the target's things if examples exist before it: then it is no such time.

    The date of a last login, for example, is written again and again. ``plans`` are those whose times were
    guessed, ``tables`` those of the arguments.
    """
    if given.cutoffs is None:
        return
    for plan in plans:
        times = facts.times_of_things(plan.name)
        assert times is not None
        since = dict(zip(facts.things(plan.name).names, times.tolist(), strict=True))
        for table, column in zip(tables, given.keys, strict=True):
            if table == plan.name:
                known = np.array([*(since.get(name, np.inf) for name in column.names), np.inf])[column.codes]
                late = np.isfinite(known) & np.isfinite(given.cutoffs) & (known >= given.cutoffs)
                if late.any():
                    raise _later(plan, int(late.sum()), len(late))


def _later(plan: Plan, late: int, of: int) -> SchemaError:
    time = f'"{plan.time}"'
    return SchemaError(
        f'{time} was taken as the time since when a row of "{plan.name}" is known, but the rows of {late:,} '
        f"of {of:,} examples come later than their cut-offs. Write to schema.toml under [{plan.name}]: "
        f"time = {time} if these rows are not known yet, time = false if all are known from the start, "
        f"unused = [{time}] if the column is written again later."
    )


# --- what follows for facts -------------------------------------------------------------------


def check_times(plans: Sequence[Plan]) -> None:
    """Refuse ``time_of`` links to tables without times, and ``known`` columns that hold no dates."""
    by_name = {plan.name: plan for plan in plans}
    for plan in plans:
        for link in plan.time_of:
            other = by_name[plan.links[link]]
            if not other.is_timed or plan.name in _behind(by_name, other.name):
                raise SchemaError(
                    f'[{plan.name}] time_of: "{link}" links to "{other.name}", whose rows have no times of '
                    "their own; state its time, or leave time_of out."
                )
        for name in plan.known:
            if plan.roles[name] is not Role.DATE:
                raise SchemaError(
                    f'[{plan.name}] known: "{name}" is no column of dates, but {plan.roles[name].value}; '
                    "leave it out."
                )
