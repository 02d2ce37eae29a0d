"""Tables in place as logic: the table of each predicate's facts, and the examples.

Keys, links and roles are found as for tables that are loaded. Anything that needs the values of columns other
than those of the examples is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hornbeam.data.database import Notice
from hornbeam.data.numbers import TimeColumn
from hornbeam.engines.sql.expressions import SqlTable
from hornbeam.errors import OptionError, SchemaError, plural
from hornbeam.in_place.columns import ColumnInPlace, with_values
from hornbeam.in_place.names import names_in_place
from hornbeam.in_place.table_queries import MOMENT, REAL, TEXT
from hornbeam.loading.kind_of_source import Source
from hornbeam.loading.options import TableOptions
from hornbeam.loading.tables.columns.column import Domain, Table
from hornbeam.loading.tables.database import (
    Logic,
    Reader,
    Relational,
    given_in,
    last_cutoff,
    logic_of,
    origin_of,
    read_relational,
)
from hornbeam.loading.tables.examples import CUTOFF
from hornbeam.loading.tables.given import GivenExamples
from hornbeam.loading.tables.guess import is_flag
from hornbeam.loading.tables.roles import Form, Plan
from hornbeam.loading.tables.row_times import guessed_times
from hornbeam.loading.tables.schema_file import Role, Statement
from hornbeam.loading.tables.sources.read import SourceAccess
from hornbeam.loading.tables.targets import Target, argument_tables
from hornbeam.loading.tables.to_logic import (
    FactColumns,
    MappedPredicate,
    columns_of_row_times,
    time_columns,
)
from hornbeam.logic.schema import DATE

_ELSE = 'or load the tables into memory (engine "memory")'
"""The alternative that every message ends with."""


@dataclass(frozen=True, eq=False)
class TablesInPlace:
    """The parts of a database whose facts stay in their tables."""

    logic: Logic
    tables: Mapping[str, SqlTable]
    """for each predicate the table of its facts"""
    key_tables: Mapping[str, Sequence[SqlTable]]
    """for each type the tables whose keys are its constants"""
    examples: GivenExamples | None
    notices: tuple[Notice, ...]
    origin: Mapping[str, object]
    display_names: Mapping[str, Mapping[str, str]]


def read_in_place(source: Source, options: TableOptions, reader: Reader) -> TablesInPlace:
    """What the tables of a source are and mean in logic; ``reader`` gives tables that stay in place."""
    stated: dict[str, Statement] = {}

    def read(source: Source, statements: Mapping[str, Statement], access: SourceAccess) -> list[Table]:
        stated.update(statements)
        return reader(source, statements, access)

    relational = read_relational(source, options, read)
    for plan in relational.plans:
        _check(plan, stated.get(plan.name, Statement()), options.origin is not None)
    examples, notices = _examples(relational, options)
    plans = {plan.name: plan for plan in relational.plans}
    end = last_cutoff(examples)
    logic = logic_of(relational, lambda each: _n_values(each, plans, end, relational.times))
    dated = relational.times == DATE
    repeating = {
        name for name, statement in stated.items() if statement.rows is False or len(statement.arguments) > 1
    }
    return TablesInPlace(
        logic,
        {
            predicate.name: _fact_table(predicate, plans, predicate.table not in repeating, dated)
            for predicate in logic.predicates
            if _has_columns(plans[predicate.table], *predicate.columns, predicate.flag)
        },
        _key_tables(relational),
        examples,
        (*relational.notices, *notices),
        origin_of(relational, options),
        names_in_place(relational),
    )


def _fact_table(
    predicate: MappedPredicate, plans: Mapping[str, Plan], distinct: bool, dated: bool
) -> SqlTable:
    """The table of a predicate's facts; ``distinct`` tells that no two rows are the same fact, and ``dated``
    that times are dates.
    """
    plan = plans[predicate.table]
    columns = tuple(name for name in predicate.columns if name is not None)
    texts = tuple(name for name in columns if _kind(plan, name) == TEXT)
    times = _in_database(time_columns(predicate, plans, dated), plans)
    all_rows = predicate.flag is None and not any(plan.table.columns[name].n_missing for name in columns)
    return SqlTable(
        _table_name(plan, columns[0]),
        columns,
        predicate.flag,
        None,
        texts,
        distinct,
        times,
        plan.table.size if all_rows else None,
        tuple(name for name in columns if name == plan.key),
        tuple(name for name in columns if _is_covered(plan, name)),
    )


def _is_covered(plan: Plan, name: str) -> bool:
    """Whether all values of a column are keys of the table that is named after their type."""
    return name not in plan.dangling and (name in plan.links or name == plan.key)


def _n_values(predicate: MappedPredicate, plans: Mapping[str, Plan], end: float, times: str | None) -> int:
    """The number of different values of a predicate, in rows before a time."""
    plan, name = plans[predicate.table], predicate.columns[-1]
    assert name is not None
    column = plan.table.columns[name]
    of_rows = _in_database(columns_of_row_times(plan, plans), plans)
    if end == np.inf or not of_rows or times is None or not isinstance(column, ColumnInPlace):
        return column.n_values
    return column.queries.n_values_before(name, of_rows, end, times)


def _in_database(times: Iterable[TimeColumn], plans: Mapping[str, Plan]) -> tuple[TimeColumn, ...]:
    """Columns of times, whose links name tables as the database does."""
    return tuple(
        TimeColumn(name, tuple((link, _table_name(plans[table], key), key) for link, table, key in links))
        for name, links in times
    )


def _key_tables(relational: Relational) -> dict[str, list[SqlTable]]:
    """For each type the tables whose keys are its constants, whether they have facts or not."""
    key_tables: dict[str, list[SqlTable]] = {}
    plans = {plan.name: plan for plan in relational.plans}
    for plan in relational.plans:
        if plan.form is Form.LINK or plan.key is None or plan.key in plan.links:
            continue
        if _has_columns(plan, plan.key):
            times = _in_database(columns_of_row_times(plan, plans), plans)
            table = SqlTable(
                _table_name(plan, plan.key), (plan.key,), distinct=True, since=times, rows=plan.table.size
            )
            key_tables.setdefault(relational.mapping.types[plan.name], []).append(table)
    return key_tables


def _table_name(plan: Plan, column: str) -> tuple[str, ...]:
    """The name of a table in its database, taken from one of its columns there."""
    in_place = plan.table.columns[column]
    assert isinstance(in_place, ColumnInPlace)
    return in_place.queries.name


def _has_columns(plan: Plan, *names: str | None) -> bool:
    """Whether the database has these columns; columns that only the model has give no facts."""
    columns = [plan.table.columns[name] for name in names if name is not None]
    return all(isinstance(column, ColumnInPlace) for column in columns)


def _kind(plan: Plan, name: str) -> str:
    column = plan.table.columns[name]
    return column.kind if isinstance(column, ColumnInPlace) else ""


def _check(plan: Plan, statement: Statement, of_model: bool) -> None:
    """Raise an error for a table that cannot stay in place."""
    if of_model and plan.form is Form.ROWS:
        raise SchemaError(
            f'the rows of table "{plan.name}" have no key and were numbered for the model, and rows are not '
            'numbered in place: load the tables into memory (engine "memory").'
        )
    if of_model and plan.table.size and not _has_columns(plan, plan.time, *plan.time_of):
        raise SchemaError(
            f'table "{plan.name}" has no column "{plan.time}", which has the time of its rows in the model: '
            f"add it, {_ELSE}."
        )
    for column in statement.dates:
        if _has_columns(plan, column):
            raise SchemaError(
                f'column "{column}" of table "{plan.name}" has dates of the form {statement.dates[column]}, '
                f"but in place dates are read as 2024-12-31 only: convert the column, {_ELSE}."
            )
    if plan.form is Form.ROWS:
        why, remedy = _why_without_key(plan, statement)
        raise SchemaError(
            f'the rows of table "{plan.name}" {why}, and rows are not numbered in place: {remedy}, {_ELSE}.'
        )
    _check_roles(plan)


def _check_roles(plan: Plan) -> None:
    """Raise an error for a column whose values do not have the type that its role needs."""
    expected = {
        Role.FLAG: "0 and 1, or true and false",
        Role.NUMBER: "numbers",
        Role.DATE: "dates",
    }
    for name, role in plan.roles.items():
        if not _has_columns(plan, name):
            continue
        column = plan.table.columns[name]
        fits = {
            Role.FLAG: is_flag(column),
            Role.NUMBER: column.domain is Domain.NUMBER,
            Role.DATE: column.domain in (Domain.DATE, Domain.MOMENT),
        }
        if not fits.get(role, True):
            raise SchemaError(
                f'column "{name}" of table "{plan.name}" is stated to be a {role.value}, but does not hold '
                f"{expected[role]}: change its type in the database, {_ELSE}."
            )
        odd = {REAL: ("decimal numbers", "whole numbers"), MOMENT: ("moments", "dates")}
        held, plain = odd.get(_kind(plan, name), (None, None))
        if role in (Role.KEY, Role.LINK, Role.CATEGORY) and held is not None:
            raise SchemaError(
                f'column "{name}" of table "{plan.name}" is a {role.value} that holds {held}, whose text '
                f"differs between systems: change it to text or {plain} in the database, {_ELSE}."
            )


def _why_without_key(plan: Plan, statement: Statement) -> tuple[str, str]:
    """Why the rows of a table are things without a key, and what the user can state to change that."""
    key, once = "state a key", "or rows = false to count repeated rows once"
    if statement.rows:
        return "are stated to be things (rows = true) that have no key", f"{key}, or leave rows out"
    if not plan.links:
        return "have no key and no link to another table", f"{key}, links, or use = false to leave it out"
    others = plan.attributes()
    if len(plan.links) == 1 and len(others) != 1:
        columns = plural(len(others), "other column") if others else "no other usable column"
        return f"have no key, one link and {columns}", key
    if len(plan.links) == 1 and plan.roles[others[0].name] is not Role.CATEGORY:
        role = plan.roles[others[0].name].value
        return f"have no key, one link and a {role}, which may repeat", f"{key}, {once}"
    return "have no key and repeat each other", f"{key}, {once}"


def _examples(relational: Relational, options: TableOptions) -> tuple[GivenExamples | None, list[Notice]]:
    """The examples of the target, if there is a target, and notices about them."""
    if relational.target is None:
        if options.examples is not None:
            raise OptionError(
                "examples need a target: name the column or the predicate that they are examples of."
            )
        return None, []
    fetched = _with_example_columns(relational, relational.target)
    return given_in(fetched, relational.target, FactColumns(fetched.plans), options)


def _with_example_columns(relational: Relational, target: Target) -> Relational:
    """The tables with the values of the columns that the examples are made of."""
    plans = {plan.name: plan for plan in relational.plans}
    fetched: dict[str, set[str]] = {}
    if target.table is not None:
        plan = plans[target.table]
        links = [target.column] if target.column in plan.links and target.value is None else []
        if plan.form is Form.LINK:
            links = list(plan.links)
        fetched[plan.name] = {*filter(None, (plan.key, target.column)), *filter(None, links)}
        for link in filter(None, links):
            other = plans[plan.links[link]]
            fetched.setdefault(other.name, set()).update(filter(None, [other.key]))
    if relational.examples is not None and CUTOFF in relational.examples.columns:
        tables = argument_tables(target, relational.plans)
        for plan in guessed_times(relational.plans, tables, relational.stated):
            fetched.setdefault(plan.name, set()).update(filter(None, (plan.key, plan.time)))
    with_examples = [
        replace(plan, table=with_values(plan.table, fetched[plan.name])) if plan.name in fetched else plan
        for plan in relational.plans
    ]
    return replace(relational, plans=tuple(with_examples))
