"""From tables to a Database: read them, plan them, map them to logic, add the examples of the target."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from hornbeam.data.build import build
from hornbeam.data.codes import without_facts
from hornbeam.data.database import Database, Notice
from hornbeam.data.names import names_not_in
from hornbeam.errors import DataError, ModelError, OptionError, Place, SchemaError
from hornbeam.loading.kind_of_source import Source
from hornbeam.loading.modes import target_mode
from hornbeam.loading.options import TableOptions
from hornbeam.loading.tables.columns.column import TIMES, Column, Domain, Table
from hornbeam.loading.tables.columns.other_forms import date_form
from hornbeam.loading.tables.columns.types import without_values
from hornbeam.loading.tables.display import display_names
from hornbeam.loading.tables.examples import CUTOFF, given_examples, read_examples, unused_columns
from hornbeam.loading.tables.given import GivenExamples
from hornbeam.loading.tables.joined import with_joined_keys
from hornbeam.loading.tables.notices import (
    label_notices,
    left_out,
    missing_words,
    pair_notices,
    tables_apart,
)
from hornbeam.loading.tables.roles import SHOW, Form, Plan, plans, with_time_as_value
from hornbeam.loading.tables.row_times import (
    Earliest,
    check_own_rows,
    check_times,
    guessed_times,
    with_times,
)
from hornbeam.loading.tables.schema_file import (
    Role,
    Statement,
    check_statements,
    statements,
    with_files_of,
    with_missing,
)
from hornbeam.loading.tables.sources.read import (
    SourceAccess,
    check_files,
    names_of_files,
    read_tables,
    stated_schema,
)
from hornbeam.loading.tables.targets import (
    NO_NEGATIVES,
    Target,
    argument_tables,
    examples_in_tables,
    find_target,
    head_types,
    key_columns,
    reached_from,
    tables_of,
    without_label,
)
from hornbeam.loading.tables.to_logic import (
    FactColumns,
    LogicMap,
    MappedPredicate,
    map_tables,
    modes_of,
    numeric_types,
    time_notices,
)
from hornbeam.logic.schema import DATE, NUMBER, Mode, Schema

PLAIN_NAMES = "plain_names"
"""The setting of a model that lists tables whose names have dots, but no schema."""
DROPPED = "dropped"
"""The setting of a model that has, for each table, the columns with links that were left out."""


@dataclass(frozen=True, eq=False)
class Relational:
    """Tables with their plans, predicates and target: what inspection shows, and what facts are made from."""

    plans: tuple[Plan, ...]
    mapping: LogicMap
    target: Target | None
    notices: tuple[Notice, ...]
    stated: Mapping[str, Statement] = field(default_factory=dict)
    times: str | None = None
    """whether the times of rows are numbers or dates; None without times"""
    examples: Table | None = None
    """the table of examples that the user gave"""


Reader = Callable[[Source, Mapping[str, Statement], SourceAccess], list[Table]]
"""Gives the tables of a source, without those that are stated to be left out."""


def read_relational(source: Source, options: TableOptions, reader: Reader = read_tables) -> Relational:
    """Reads the tables of a source, plans them and maps them to logic."""
    stated, place = stated_schema(source, options.schema)
    learned = statements_of_model(options.origin or {})
    # The model knows keys, links and roles; the schema still says how the files are written.
    stated = with_files_of(learned, stated) if learned else stated
    if not options.allow_outside:
        check_files(source, stated, place)
    stated = with_missing(stated, names_of_files(source, stated), options.missing)
    tables = reader(source, stated, SourceAccess(options.allow_outside, options.views))
    omitted = [table for table in tables if table.omitted]
    tables = [table for table in tables if not table.omitted]
    stated = with_missing(stated, [table.name for table in tables], options.missing)
    tables = [_as_stated_cells(table, stated.get(table.name, Statement())) for table in tables]
    notices = [notice for table in tables for notice in table.notices] + missing_words(tables)
    notices += [] if learned else left_out(tables, omitted)
    if learned:
        tables, more = _completed(tables, learned, (options.origin or {}).get("times") == DATE)
        notices += more
    else:
        check_statements(stated, {table.name: table.columns for table in tables}, place)
    # A few rows to predict may all have keys that are not there.
    planned, more = plans(tables, stated, options.dangling or ("drop" if learned else None))
    notices += more
    text = options.target or cast("str | None", (options.origin or {}).get("target"))
    target = None if text is None else find_target(text, planned)
    if target is not None and not learned:
        notices += [*tables_apart(target, planned), *pair_notices(target, planned)]
    examples = None if target is None or options.examples is None else read_examples(options.examples)
    if target is not None and examples is not None:
        asked = [plan for plan in planned if plan.name in tables_of(target) and plan.key is not None]
        by_name = {plan.name: plan.table for plan in asked}
        examples = with_joined_keys(examples, by_name, {plan.name: str(plan.key) for plan in asked})
    first = _earliest(examples, options.as_of, planned)
    if target is not None and first is not None and _own_kind(planned) in (None, first.kind):
        label = f"{target.table}.{target.column}"
        planned, more = with_times(planned, reached_from(target, planned), first, label, bool(learned))
        notices += more
    if first is None and not learned and options.dangling != SHOW:
        # Without cut-offs a time that was guessed says nothing but its value.
        planned = [with_time_as_value(plan, stated.get(plan.name, Statement())) for plan in planned]
    check_times(planned)
    notices += time_notices(planned)
    mapping = map_tables(planned if target is None else without_label(planned, target))
    times = _own_kind(planned) or cast("str | None", (options.origin or {}).get("times"))
    if times is None and first is not None and any(statement.time == "" for statement in stated.values()):
        # Nothing has a time, as stated: then cut-offs say which dates are missing.
        times = first.kind
    return Relational(tuple(planned), mapping, target, tuple(notices), stated, times, examples)


def _earliest(examples: Table | None, as_of: float, planned: Sequence[Plan]) -> Earliest | None:
    """The earliest cut-off of examples, or the time at which the data are frozen; None without either."""
    column = None if examples is None else examples.columns.get(CUTOFF)
    times = column.times() if column is not None and column.domain in TIMES else np.empty(0)
    earliest = min(as_of, float(times.min(initial=np.inf)))
    if not np.isfinite(earliest):
        return None
    if column is not None and len(times):
        return Earliest(earliest, NUMBER if column.domain is Domain.NUMBER else DATE)
    return Earliest(earliest, _own_kind(planned) or DATE)


def _own_kind(planned: Sequence[Plan]) -> str | None:
    """Whether the columns with times of rows have numbers or dates; None without such a column."""
    domains = [plan.table.columns[plan.time].domain for plan in planned if plan.time is not None]
    return None if not domains else NUMBER if domains[0] is Domain.NUMBER else DATE


_INDEX = re.compile(r"__index_level_[0-9]+__")
"""what pandas calls an index without a name in files: the numbers of rows, which say nothing"""


def _as_stated_cells(table: Table, statement: Statement) -> Table:
    """A table without an index of pandas, and in which the stated words are missing values."""
    words, named = statement.form.missing, {statement.key, *statement.roles, *(statement.links or ())}
    columns = {}
    for name, column in table.columns.items():
        if _INDEX.fullmatch(name) and name not in named:
            continue
        # In text files such words have been missing since reading.
        texts = column.texts if words and not column.stays else []
        absent = np.array([text in (words or ()) for text in texts], dtype=bool)
        columns[name] = without_values(column, absent) if absent.any() else column
    return replace(table, columns=columns)


def statements_of_model(origin: Mapping[str, object]) -> dict[str, Statement]:
    """What a model states about the tables it was learned from, checked: anyone may have edited its file."""
    tables = origin.get("tables", {})
    types = {
        "target": str,
        "negatives": str | int | float,
        "negatives_seed": int,
        "tables": Mapping,
        DROPPED: Mapping,
        PLAIN_NAMES: list,
    }
    for name, kind in types.items():
        if name in origin and not isinstance(origin[name], kind):
            raise ModelError(f'"{name}" in the settings of the model is damaged: found {origin[name]!r}.')
    return statements(cast(Any, tables), Place("model"))


@dataclass(frozen=True, eq=False)
class Logic:
    """The logic of tables: all parts of a database except facts and examples."""

    predicates: tuple[MappedPredicate, ...]
    schema: Schema
    modes: tuple[Mode, ...]
    head: str | None
    """the predicate of the target"""


def logic_of(relational: Relational, n_values: Callable[[MappedPredicate], int]) -> Logic:
    """The predicates, schema and modes that tables give.

    ``n_values`` gives the number of different values of a predicate, on which modes depend.
    """
    predicates = _searched(relational)
    types_of = {each.name: each.types for each in predicates}
    modes = [mode for each in predicates for mode in modes_of(each, n_values(each) if each.value else 0)]
    head = None
    target = relational.target
    if target is not None:
        head = _head(target, types_of)
        types_of[head] = head_types(target, relational.plans, relational.mapping)
        modes.append(target_mode(head, types_of[head]))
    used = {name for types in types_of.values() for name in types}
    numeric = {name: kind for name, kind in numeric_types(relational.mapping).items() if name in used}
    return Logic(tuple(predicates), Schema(types_of, numeric), tuple(modes), head)


def load_tables(
    source: Source, options: TableOptions, suspect: Callable[[Relational], Sequence[str]] = lambda _: ()
) -> Database:
    """Load facts, modes and examples from tables; ``suspect`` names columns that may be a mistake."""
    relational = read_relational(source, options)
    facts = FactColumns(relational.plans, relational.times == DATE)
    notices = list(relational.notices)
    given = None
    if relational.target is not None:
        given, more = given_in(relational, relational.target, facts, options)
        notices += more
    elif options.examples is not None:
        raise OptionError(
            "examples need a target; name the column or the predicate that they are examples of."
        )
    end = last_cutoff(given)
    logic = logic_of(relational, lambda each: facts.n_values(each, end))
    columns = {each.name: facts.columns(each) for each in logic.predicates}
    head = logic.head
    if given is not None and head is not None and options.examples is not None:
        names = [
            (type_name, coded.names)
            for each in logic.predicates
            for type_name, coded in zip(each.types, columns[each.name][0], strict=True)
        ]
        populations = _populations(relational, facts)
        notices += _unknown_keys(logic.schema.types_of(head), given, [*populations.items(), *names])
    database = build(
        logic.schema,
        logic.modes,
        {name: arguments for name, (arguments, _) in columns.items()},
        None if given is None or head is None else {head: (given.keys, given.to_merge())},  # type: ignore[dict-item]
        _populations(relational, facts),
        notices,
        origin_of(relational, options),
        {name: times for name, (_, times) in columns.items() if times is not None},
        None if given is None or head is None or given.cutoffs is None else {head: given.cutoffs},
        {relational.mapping.types[name]: times for name, times in _times_of_keys(relational, facts)},
    )
    shown = display_names(relational.plans, relational.mapping.types, relational.stated)
    database = replace(database, display_names=shown, suspicions=tuple(suspect(relational)))
    if given is None or head is None:
        return database
    examples = given.labelled(database.example_sets[head])
    return replace(database, example_sets={**database.example_sets, head: examples})


def _searched(relational: Relational) -> list[MappedPredicate]:
    """Predicates that a body may use: if the target is a link table, none of that table."""
    target = relational.target
    left_out = target.table if target is not None and target.column is None else None
    links = {plan.name for plan in relational.plans if plan.form is Form.LINK}
    return [each for each in relational.mapping.predicates if each.table != left_out or left_out not in links]


def _head(target: Target, taken: Mapping[str, object]) -> str:
    name, number = target.name, 1
    while name in taken:
        number += 1
        name = f"{target.name}_{number}"
    return name


def last_cutoff(given: GivenExamples | None) -> float:
    """The last cut-off of examples; infinity if some of them see all rows."""
    if given is None or given.cutoffs is None or not len(given.cutoffs):
        return np.inf
    return float(given.cutoffs.max())


def _populations(relational: Relational, facts: FactColumns) -> dict[str, Sequence[str]]:
    """The keys of each type; a table whose key links to another table adds none."""
    return {
        relational.mapping.types[plan.name]: facts.things(plan.name).names for plan in _things(relational)
    }


def _times_of_keys(
    relational: Relational, facts: FactColumns
) -> Iterator[tuple[str, npt.NDArray[np.float64]]]:
    """The tables of things whose rows have times, and the times of their keys."""
    for plan in _things(relational):
        times = facts.times_of_things(plan.name)
        if times is not None:
            yield plan.name, times


def _things(relational: Relational) -> list[Plan]:
    """The tables of things that are not those of another table."""
    return [plan for plan in relational.plans if plan.form is not Form.LINK and plan.key not in plan.links]


# --- examples --------------------------------------------------------------------------------


def given_in(
    relational: Relational, target: Target, facts: FactColumns, options: TableOptions
) -> tuple[GivenExamples | None, list[Notice]]:
    """The examples in the tables or in an examples file, with notices; None if there are none."""
    origin = options.origin or {}
    negatives = options.negatives
    if negatives is None:
        negatives = cast("str | float | None", origin.get("negatives"))
    seed = cast(int, origin.get("negatives_seed", options.seed))
    if options.examples is None:
        given = examples_in_tables(target, relational.plans, facts, negatives, seed, bool(origin))
        return given, [] if origin else label_notices(target, given, relational.plans)
    if options.negatives is not None:
        raise OptionError(
            "negatives cannot be used with examples, which list every example; leave one of them out."
        )
    known = examples_in_tables(target, relational.plans, facts, NO_NEGATIVES, seed, lenient=True)
    table = relational.examples
    assert table is not None
    _check_cutoffs(table, relational)
    arguments = key_columns(target, relational.plans)
    given = given_examples(table, arguments, known, [target.word])
    if not origin:
        tables = argument_tables(target, relational.plans)
        guessed = guessed_times(relational.plans, tables, relational.stated)
        check_own_rows(guessed, tables, facts, given)
    timed = any(plan.is_timed for plan in relational.plans)
    return given, [*table.notices, *unused_columns(table, arguments, timed)]


def _possible_time(plan: Plan) -> str:
    """The lines of schema.toml that make the first column of dates the time of rows; empty if none is."""
    for name, column in plan.table.columns.items():
        form = "" if plan.roles[name] is Role.DATE else date_form(column)
        if form is not None:
            written = f'dates = {{ {name} = "{form}" }}, ' if form else ""
            return f'[{plan.name}] {written}time = "{name}"'
    return ""


def _check_cutoffs(table: Table, relational: Relational) -> None:
    column = table.columns.get(CUTOFF)
    if column is None or not column.n_values:
        return
    if relational.times is None:
        example = next(filter(None, map(_possible_time, relational.plans)), '[visits] time = "date"')
        raise DataError(
            "the examples have cut-offs, but no table has a time column; state one, such as "
            f"{example}, in schema.toml."
        )
    numbers = relational.times == NUMBER
    if (column.domain is Domain.NUMBER) != numbers:
        kinds = ("dates", "numbers")
        raise DataError(
            f"the examples' cut-offs are {kinds[not numbers]}, but the times of the tables are "
            f"{kinds[numbers]}; write the cut-offs as {kinds[numbers]}."
        )


def _unknown_keys(
    types: Sequence[str], given: GivenExamples, known: Sequence[tuple[str, Sequence[str]]]
) -> list[Notice]:
    """Notices about examples whose keys no table has; ``known`` has pairs of a type and names of its keys."""
    unknown = []
    for type_name, column in zip(types, given.keys, strict=True):
        unknown.append(set(column.names))
        for own, names in known:
            if own == type_name and unknown[-1]:
                unknown[-1] = names_not_in(unknown[-1], names)
    return without_facts(given.keys, unknown)


# --- what a model keeps ----------------------------------------------------------------------


def origin_of(relational: Relational, options: TableOptions) -> dict[str, object]:
    """The tables and the target as the settings of a model keep them, in the words of ``schema.toml``."""
    tables = {plan.name: as_stated(plan) for plan in relational.plans}
    for name, section in tables.items():
        if name in relational.stated:
            statement = relational.stated[name]
            section |= {} if statement.name is None else {"name": statement.name}
            section |= {"labels": dict(statement.labels)} if statement.labels else {}
            section |= {} if statement.words is None else {"words": statement.words}
            missing = statement.form.missing
            section |= {} if missing is None else {"missing": list(missing)}
            section |= {"fold": list(statement.fold)} if statement.fold else {}
    origin: dict[str, object] = {"tables": tables}
    read = {plan.name: plan.table for plan in relational.plans}
    dropped = {plan.name: list(plan.dangling) for plan in relational.plans if plan.dangling}
    if dropped and options.dangling != "keep":
        origin[DROPPED] = dropped
    plain_names = [name for name, table in read.items() if "." in name and not table.in_schema]
    origin |= {PLAIN_NAMES: plain_names} if plain_names else {}
    if relational.times is not None:
        origin["times"] = relational.times
    if relational.target is not None:
        origin["target"] = relational.target.text
        if options.negatives is not None:
            origin["negatives"] = options.negatives
            origin["negatives_seed"] = options.seed
    return origin


def as_stated(plan: Plan) -> dict[str, object]:
    """The plan of a table as a full section of ``schema.toml``."""
    roles = {
        name: role.value
        for name, role in plan.roles.items()
        if role in (Role.FLAG, Role.CATEGORY, Role.NUMBER, Role.DATE)
    }
    unused = [name for name, role in plan.roles.items() if role is Role.UNUSED]
    joined = {name: list(parts) for name, parts in plan.table.joined.items()}
    stated: dict[str, object] = {
        **({"joined": joined} if joined else {}),
        "key": plan.key if plan.key is not None else False,
        "links": dict(plan.links),
    }
    if plan.form is Form.LINK and len(plan.links) > 1:
        # Other data may have the columns in another order: the model keeps the order of arguments.
        stated["arguments"] = list(plan.links)
    if plan.time is not None or plan.from_start:
        stated["time"] = False if plan.time is None else plan.time
    stated |= {"time_of": list(plan.time_of)} if plan.time_of else {}
    stated |= {"known": list(plan.known)} if plan.known else {}
    stated |= {"roles": roles} if roles else {}
    stated |= {"unused": unused} if unused else {}
    if plan.key is None:
        stated["rows"] = plan.form is Form.ROWS
    return stated


def _completed(
    tables: Sequence[Table], learned: Mapping[str, Statement], dates: bool
) -> tuple[list[Table], list[Notice]]:
    """The tables and columns that a model knows, empty where the data lack them; no others.

    ``dates`` says whether the times of the model's tables were dates.
    """
    given = {table.name: table for table in tables}
    missing = [name for name in learned if name not in given]
    if len(missing) == len(learned):
        raise SchemaError(
            f"the model does not fit these data: they have none of its tables ({', '.join(learned)}), "
            f"only {', '.join(given)}."
        )
    notices = []
    if missing:
        notices.append(
            Notice(f"the data lack tables of the training data ({', '.join(missing)}); they count as empty.")
        )
    completed = []
    for name, statement in learned.items():
        table = given.get(name) or Table(name, {}, 0)
        lacking = [column for column in _columns_of(statement) if column not in table.columns]
        if lacking and name in given:
            notices.append(
                Notice(
                    f'table "{name}" lacks columns of the training data ({", ".join(lacking)}); they count '
                    "as empty."
                )
            )
        completed.append(with_columns_of(table, statement, dates))
    return completed, notices


def with_columns_of(table: Table, statement: Statement, dates: bool) -> Table:
    """A table with the columns that a model knows, empty where the table lacks them, and no others."""
    columns = dict(table.columns)
    for column in _columns_of(statement):
        if column not in columns:
            codes = np.full(table.size, -1, dtype=np.int32)
            times = (Domain.MOMENT if dates else Domain.NUMBER) if column == statement.time else None
            columns[column] = Column(column, times or Domain.TEXT, np.empty(0, dtype=object), codes)
    wanted = [*_columns_of(statement), *statement.unused(), *filter(None, (statement.name,))]
    return replace(table, columns={name: column for name, column in columns.items() if name in wanted})


def _columns_of(statement: Statement) -> list[str]:
    """The columns that a model uses."""
    named = [*statement.roles, *(statement.links or ()), *filter(None, (statement.key, statement.time))]
    used = [name for name in named if name not in statement.unused() and name not in statement.joined]
    return [*used, *(part for part in sorted(statement.parts()) if part not in used)]
