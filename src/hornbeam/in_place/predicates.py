"""Tables that stay where they are, as logic: where the facts of each predicate are, and the examples.

Everything is judged as for tables that are read. What would need values that stay away is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from hornbeam.data.database import Notice
from hornbeam.errors import OptionError, SchemaError, plural
from hornbeam.in_place.described import DescribedColumn, with_values
from hornbeam.loading.kind_of_source import Source
from hornbeam.loading.tables.column import Domain, Table
from hornbeam.loading.tables.database import (
    Logic,
    Reader,
    Relational,
    TableOptions,
    given_in,
    logic_of,
    origin_of,
    read_relational,
)
from hornbeam.loading.tables.guess import is_flag
from hornbeam.loading.tables.roles import Form, Plan
from hornbeam.loading.tables.schema_file import Role, Statement
from hornbeam.loading.tables.targets import GivenExamples, Target
from hornbeam.loading.tables.to_logic import FactColumns, MappedPredicate

_ELSE = "or load the tables, with another engine"


class PlacedPredicate(NamedTuple):
    """Where the facts of a predicate are."""

    name: str
    table: str
    columns: tuple[str, ...]
    true: str | None
    """a column that must be true for a row to be a fact"""
    time: str | None
    texts: tuple[str, ...]
    """columns whose empty text is no value"""
    distinct: bool
    """whether no two rows are the same fact"""


@dataclass(frozen=True, eq=False)
class TablesInPlace:
    """All that a database whose facts stay in their tables is made of."""

    logic: Logic
    predicates: tuple[PlacedPredicate, ...]
    things: Mapping[str, Sequence[PlacedPredicate]]
    """for each type, tables whose keys are its constants"""
    examples: GivenExamples | None
    notices: tuple[Notice, ...]
    origin: Mapping[str, object]


def read_placed(source: Source, options: TableOptions, reader: Reader) -> TablesInPlace:
    """Tables that a reader describes, as logic."""
    stated: dict[str, Statement] = {}

    def described(source: Source, statements: Mapping[str, Statement]) -> list[Table]:
        stated.update(statements)
        return reader(source, statements)

    relational = read_relational(source, options, described)
    for plan in relational.plans:
        _check(plan, stated.get(plan.name, Statement()), options.origin is not None)
    target = relational.target
    if target is None:
        raise OptionError("tables that stay in place need a target: name what is to be learned.")
    logic = logic_of(relational)
    with_examples = _with_examples(relational, target)
    given, notices = given_in(with_examples, target, FactColumns(with_examples.plans), options)
    plans = {plan.name: plan for plan in relational.plans}
    repeats = {name for name, statement in stated.items() if statement.rows is False}
    things: dict[str, list[PlacedPredicate]] = {}
    for plan in relational.plans:
        if plan.form is Form.LINK or plan.key is None or plan.key in plan.links:
            continue
        if _is_there(plan, plan.key):
            type_name = relational.mapping.types[plan.name]
            things.setdefault(type_name, []).append(
                PlacedPredicate("", plan.name, (plan.key,), None, None, (), True)
            )
    return TablesInPlace(
        logic,
        tuple(
            _placed(each, plans[each.table], each.table not in repeats)
            for each in logic.predicates
            if _is_there(plans[each.table], *each.columns, each.flag)
        ),
        things,
        given,
        (*relational.notices, *notices),
        origin_of(relational, options),
    )


def _placed(predicate: MappedPredicate, plan: Plan, distinct: bool) -> PlacedPredicate:
    columns = tuple(name for name in predicate.columns if name is not None)
    texts = tuple(name for name in columns if _kind(plan, name) == "text")
    return PlacedPredicate(predicate.name, plan.name, columns, predicate.flag, plan.time, texts, distinct)


def _is_there(plan: Plan, *names: str | None) -> bool:
    """Whether a table has these columns; a model may know of some that it lacks, which give no facts."""
    columns = [plan.table.columns[name] for name in names if name is not None]
    return all(isinstance(column, DescribedColumn) for column in columns)


def _kind(plan: Plan, name: str) -> str:
    column = plan.table.columns[name]
    return column.kind if isinstance(column, DescribedColumn) else ""


def _check(plan: Plan, statement: Statement, of_model: bool) -> None:
    """Refuse what cannot stay in place."""
    if of_model and plan.form is Form.ROWS:
        raise SchemaError(
            f'the rows of table "{plan.name}" have no key and were numbered for the model, and rows are not '
            "numbered in place: load the tables, with another engine."
        )
    if of_model and plan.table.size and not _is_there(plan, plan.time):
        raise SchemaError(
            f'table "{plan.name}" lacks "{plan.time}", the time of its rows that the model knows: add it, '
            f"{_ELSE}."
        )
    if plan.form is Form.ROWS:
        why, remedy = _nameless(plan, statement)
        raise SchemaError(
            f'the rows of table "{plan.name}" {why}, and rows are not numbered in place: {remedy}, {_ELSE}.'
        )
    wanted = {
        Role.FLAG: "0 and 1, or true and false",
        Role.NUMBER: "numbers",
        Role.DATE: "dates",
    }
    for name, role in plan.roles.items():
        if not _is_there(plan, name):
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
                f"{wanted[role]} where it is: change its type there, {_ELSE}."
            )
        if role in (Role.KEY, Role.LINK, Role.CATEGORY) and _kind(plan, name) == "real":
            raise SchemaError(
                f'column "{name}" of table "{plan.name}" is a {role.value} of numbers with decimals, which '
                f"have no one text in place: make it text or whole numbers there, {_ELSE}."
            )


def _nameless(plan: Plan, statement: Statement) -> tuple[str, str]:
    """Why rows are things without a key (``catalogue`` decides it), and what can be stated against it."""
    key, once = "state a key", "or rows = false to take what is repeated once"
    if statement.rows:
        return "are stated to be things (rows = true) that have no key", f"{key}, or leave rows out"
    if not plan.links:
        return "have no key and no link to another table", f"{key}, links, or use = false to leave it out"
    others = plan.attributes()
    if len(plan.links) == 1 and len(others) != 1:
        told = plural(len(others), "other column") if others else "no other column that tells something"
        return f"have no key, one link and {told}", key
    if len(plan.links) == 1 and plan.roles[others[0].name] is not Role.CATEGORY:
        role = plan.roles[others[0].name].value
        return f"have no key, one link and a {role}, which may come again", f"{key}, {once}"
    return "have no key and repeat each other", f"{key}, {once}"


def _with_examples(relational: Relational, target: Target) -> Relational:
    """With the values of the columns that examples are made of."""
    plans = {plan.name: plan for plan in relational.plans}
    wanted: dict[str, set[str]] = {}
    if target.table is not None:
        plan = plans[target.table]
        links = [target.column] if target.column in plan.links and target.value is None else []
        if plan.form is Form.LINK:
            links = list(plan.links)
        wanted[plan.name] = {*filter(None, (plan.key, target.column)), *filter(None, links)}
        for link in filter(None, links):
            other = plans[plan.links[link]]
            wanted.setdefault(other.name, set()).update(filter(None, [other.key]))
    read = [
        replace(plan, table=with_values(plan.table, wanted[plan.name])) if plan.name in wanted else plan
        for plan in relational.plans
    ]
    return replace(relational, plans=tuple(read))
