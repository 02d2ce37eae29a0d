"""Inspection of tables and facts: keys, links, roles, populations, and columns that look wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hornbeam.data.database import UNLABELLED, Database
from hornbeam.data.numbers import TimeColumn
from hornbeam.loading.inspect.features import features_of
from hornbeam.loading.inspect.findings import ColumnReport, FactsInspection, Inspection, TableReport
from hornbeam.loading.inspect.suspicions import leaks, odd_columns, unstated_links
from hornbeam.loading.kind_of_source import Source
from hornbeam.loading.options import TableOptions
from hornbeam.loading.tables.database import Relational, as_stated, read_relational
from hornbeam.loading.tables.given import GivenExamples
from hornbeam.loading.tables.roles import SHOW, Form, Plan
from hornbeam.loading.tables.schema_file import Role, Statement, file_settings
from hornbeam.loading.tables.sources.read import stated_schema
from hornbeam.loading.tables.targets import NO_NEGATIVES, examples_in_tables
from hornbeam.loading.tables.to_logic import FactColumns, MappedPredicate, time_columns
from hornbeam.logic.clauses import format_name
from hornbeam.logic.schema import DATE


def inspect_tables(source: Source, options: TableOptions) -> Inspection:
    """Read tables and report on them; dangling links are listed, not refused."""
    relational = read_relational(source, replace(options, dangling=SHOW))
    facts = FactColumns(relational.plans, relational.times == DATE)
    target = relational.target
    given = None
    if target is not None:
        given = examples_in_tables(target, relational.plans, facts, NO_NEGATIVES, lenient=True)
    suspicions = [each for plan in relational.plans for each in odd_columns(plan)]
    suspicions += unstated_links(relational.plans)
    if given is not None and target is not None and target.table is not None and len(given.keys) == 1:
        suspicions += leaks(relational, target.table, target.column, given, facts)
    things = {plan.name: plan for plan in relational.plans if plan.form is not Form.LINK}
    stated, _ = stated_schema(source, options.schema)
    return Inspection(
        tuple(_report(plan, relational) for plan in relational.plans),
        {
            relational.mapping.types[name]: plan.table.size
            for name, plan in things.items()
            if plan.key not in plan.links
        },
        tuple(suspicions),
        {plan.name: _in_full(plan, stated.get(plan.name, Statement())) for plan in relational.plans}
        | {name: {"use": False} for name, statement in stated.items() if not statement.use},
        {} if given is None else _label_counts(given),
        _places(relational),
        relational.notices,
    )


def _places(relational: Relational) -> dict[str, dict[str, object]]:
    """The table and columns of each predicate, except those of numbered rows, which no column names."""
    plans = {plan.name: plan for plan in relational.plans}
    places: dict[str, dict[str, object]] = {}
    for each in relational.mapping.predicates:
        if None not in each.columns:
            places[each.name] = {
                "table": each.table,
                "columns": list(each.columns),
                **({} if each.flag is None else {"true": each.flag}),
                **_places_of_times(time_columns(each, plans, relational.times == DATE)),
            }
    return places


def _places_of_times(times: Sequence[TimeColumn]) -> dict[str, object]:
    """The columns with times of facts: one of the table itself by its name, else each with its links."""
    if len(times) == 1 and not times[0].links:
        return {"time": times[0].column}
    listed = [{"column": name, "links": [list(link) for link in links]} for name, links in times]
    return {"time": listed} if listed else {}


def _in_full(plan: Plan, statement: Statement) -> dict[str, object]:
    """A full section of a schema.toml: with the settings of the file, and columns that were not read."""
    settings = file_settings(statement) | as_stated(plan)
    unused = [name for name, role in plan.roles.items() if role is Role.UNUSED]
    unread = statement.unused() - plan.roles.keys()
    return settings | ({"unused": sorted([*unused, *unread])} if unused or unread else {})


def _report(plan: Plan, relational: Relational) -> TableReport:
    predicates = {
        each.flag or each.columns[-1]: each
        for each in relational.mapping.predicates
        if each.table == plan.name and (each.flag or each.value or plan.form is not Form.LINK)
    }
    of_rows = next(
        (
            each
            for each in relational.mapping.predicates
            if each.table == plan.name and each.name == plan.name.lower()
        ),
        None,
    )
    target = relational.target
    columns = []
    for name, column in plan.table.columns.items():
        is_label = target is not None and (target.table, target.column) == (plan.name, name)
        role = Role.LABEL if is_label else plan.roles[name]
        predicate = _signature(predicates.get(name)) if role not in (Role.KEY, Role.LABEL) else ""
        columns.append(
            ColumnReport(
                name,
                role.value,
                column.domain.value,
                column.n_values,
                column.n_missing,
                predicate,
                features_of(role, plan.is_timed),
            )
        )
    return TableReport(
        plan.name,
        plan.table.size,
        plan.form.value,
        plan.key,
        plan.links,
        plan.time,
        tuple(f"{name} -> {plan.links[name]}" for name in plan.time_of),
        plan.from_start,
        _signature(of_rows),
        tuple(columns),
        plan.guessed,
    )


def _signature(predicate: MappedPredicate | None) -> str:
    if predicate is None:
        return ""
    return f"{format_name(predicate.name)}({','.join(map(format_name, predicate.types))})"


def _label_counts(given: GivenExamples) -> dict[str, int]:
    names = dict(enumerate(given.classes)) if given.classes else {1: "positive", 0: "negative"}
    if given.values is not None:
        names = {0: "numbers"}
    counts = {name: int(np.count_nonzero(given.labels == label)) for label, name in names.items()}
    unknown = int(np.count_nonzero(given.labels == UNLABELLED))
    return counts | ({"without a label": unknown} if unknown else {})


def inspect_facts(database: Database) -> FactsInspection:
    """Report on the facts and examples of a database."""
    return FactsInspection(
        tuple(
            (name, types, len(database.relation(name)))
            for name, types in sorted(database.schema.predicates.items())
            if name not in database.example_sets
        ),
        {name: len(population) for name, population in sorted(database.populations.items())},
        {
            name: (int((examples.labels == 1).sum()), int((examples.labels == 0).sum()))
            for name, examples in sorted(database.example_sets.items())
        },
    )
