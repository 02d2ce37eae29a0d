"""The plan of each table: its key, its links to other tables, and the role of every column.

The schema of the user decides first, then the catalogue of the database, then a guess from values and
names. The result is checked: keys are unique, and links refer to keys that exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from hornbeam.data.database import Notice
from hornbeam.errors import DataError, OptionError, SchemaError, plural, shown
from hornbeam.loading.tables.columns.column import TIMES, Column, Domain, Table
from hornbeam.loading.tables.columns.folding import folded_column, meant_keys, spelled_as_keys
from hornbeam.loading.tables.columns.other_forms import other_form
from hornbeam.loading.tables.columns.types import as_domain, inferred
from hornbeam.loading.tables.guess import guess_broken_key, guess_key, guess_links, guess_role, guess_time
from hornbeam.loading.tables.joined import with_joined_columns
from hornbeam.loading.tables.link_targets import LinkTargets, TableNames
from hornbeam.loading.tables.near_links import FoldedTargets
from hornbeam.loading.tables.schema_file import Role, Statement, Statements

DANGLING = ("drop", "error", "keep")
"""What to do with links to keys that do not exist: leave the link out, refuse, or keep it and add the key.
By default they are left out, unless these are most of the rows."""
_MOST = 0.5
"""By default, dangling links in more than this share of the rows with a link are refused."""
MOST_PERIODS = 1_000
"""A guessed time with more values that are no dates is a running clock: it says when, and nothing else."""
SHOW = "show"
"""Keep such links and only list them in the plan, for ``hornbeam inspect``."""


class Form(Enum):
    """What the rows of a table are."""

    THINGS = "things"
    """each row has a key of its own"""
    LINK = "link"
    """each row joins keys of other tables, and no two rows join the same keys"""
    ROWS = "rows"
    """things without a key; the rows are numbered"""


@dataclass(frozen=True, slots=True)
class DanglingLinks:
    """Links of one column to keys that do not exist in another table."""

    table: str
    """the table that the links refer to"""
    keys: int
    rows: int
    first: tuple[str, ...]
    most: bool = False
    """whether these are most of the rows with a link, which is refused by default"""
    remedy: str = ""
    """how many of the keys are meant as keys that exist, and what makes them these"""

    def __str__(self) -> str:
        verb = "is" if self.keys == 1 else "are"
        return (
            f"{plural(self.keys, 'key')} in {plural(self.rows, 'row')} {verb} not in "
            f'"{self.table}" (first: {", ".join(self.first)}){self.remedy}'
        )


@dataclass(frozen=True, eq=False)
class Plan:
    """The key, links and roles of a table."""

    table: Table
    form: Form
    key: str | None
    links: Mapping[str, str]
    """the linked table by column, in the order of arguments"""
    roles: Mapping[str, Role]
    time: str | None
    """the column with the time of each row"""
    guessed: tuple[str, ...] = ()
    """what was guessed, in words"""
    time_of: tuple[str, ...] = ()
    """linking columns: a row has the time of the rows that it links to, the latest of them"""
    known: tuple[str, ...] = ()
    """columns of dates that are known ahead"""
    from_start: bool = False
    """whether all rows are known from the start, whatever their dates"""
    ignored: frozenset[str] = frozenset()
    """columns that are stated to be of no use"""
    dangling: Mapping[str, DanglingLinks] = field(default_factory=dict)
    """by column"""

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def is_timed(self) -> bool:
        """Whether rows have times."""
        return self.time is not None or bool(self.time_of)

    def attributes(self) -> list[Column]:
        """Columns that give predicates and are neither key nor link."""
        roles = (Role.FLAG, Role.CATEGORY, Role.NUMBER, Role.DATE)
        return [column for name, column in self.table.columns.items() if self.roles[name] in roles]


def plans(
    tables: Sequence[Table], stated: Statements, dangling: str | None = None
) -> tuple[list[Plan], list[Notice]]:
    """The plan of each table, in the order given, and notices about guesses and rows left out."""
    if dangling not in (None, *DANGLING, SHOW):
        raise OptionError(f"dangling={dangling!r} is refused: it must be {' or '.join(map(repr, DANGLING))}.")
    nothing = Statement()
    by_name = {table.name: table for table in tables}
    _check_names(by_name)
    by_name = {name: _retyped(table, stated.get(name, nothing)) for name, table in by_name.items()}
    by_name = with_joined_columns(by_name, stated)
    names = TableNames(by_name)
    keys: dict[str, str] = {}
    guessed: dict[str, list[str]] = {name: [] for name in by_name}
    for name, table in by_name.items():
        key, is_guess = _key(table, stated.get(name, nothing), names)
        if key is not None:
            _check_key(table, key)
            keys[name] = key
            if is_guess:
                guessed[name].append(f'"{key}" is the key')
    notices: list[Notice] = []
    targets = LinkTargets(by_name, keys)
    near = FoldedTargets(targets)
    has_catalogue = any(table.foreign_keys for table in by_name.values())
    planned = []
    for name, table in by_name.items():
        statement = stated.get(name, nothing)
        links, is_guess = _links(table, statement, by_name, targets, has_catalogue, notices)
        if is_guess:
            guessed[name] += [f'"{column}" links to "{other}"' for column, other in links.items()]
            notices += near.near_links(table, links, {keys.get(name), statement.time, *statement.roles})
        table = _with_keys_spelled(table, links, statement, targets)
        table, lost = _checked_links(table, links, by_name, keys, dangling)
        plan = _plan(table, keys.get(name), links, statement, guessed[name])
        planned.append(replace(plan, dangling=lost))
        notices += _unread(plan, statement)
    if dangling != SHOW:
        notices += _dangling_notices(planned, kept=dangling == "keep")
    return planned, notices + _plan_notices(planned, inspected=dangling == SHOW)


def _check_names(tables: Mapping[str, Table]) -> None:
    lower: dict[str, str] = {}
    for name in tables:
        if lower.setdefault(name.lower(), name) != name:
            raise SchemaError(
                f'two tables are named "{lower[name.lower()]}" and "{name}", which differ in case only; '
                "rename one."
            )


def _retyped(table: Table, statement: Statement) -> Table:
    """The table with columns read as the types that their stated roles need."""
    wanted: dict[str, Domain] = {}
    if statement.fold and statement.key in statement.fold and statement.key not in (statement.links or ()):
        raise SchemaError(
            f'[{table.name}] fold: "{statement.key}" is the key, which stays as it is written; fold the '
            "columns that link to it."
        )
    for name, role in statement.roles.items():
        if name in table.columns and not table.columns[name].stays:
            domain = table.columns[name].domain
            if role is Role.NUMBER:
                wanted[name] = Domain.NUMBER
            elif role is Role.FLAG and not table.columns[name].is_zero_one:
                wanted[name] = Domain.BOOLEAN
            elif role is Role.DATE:
                wanted[name] = Domain.MOMENT
            elif role is Role.CATEGORY and domain is not Domain.TEXT:
                wanted[name] = domain
    wanted |= {name: Domain.MOMENT for name in statement.dates if not table.columns[name].stays}
    # Data for a model may lack columns that are of no use.
    columns = dict(table.columns)
    columns |= {name: folded_column(columns[name]) for name in statement.fold if name in columns}
    time = columns.get(statement.time) if statement.time else None
    if time is not None and not time.stays and time.name not in wanted:
        # In frames and databases, dates are often text.
        columns[time.name] = inferred(time)
    for name, domain in wanted.items():
        try:
            columns[name] = as_domain(columns[name], domain, statement.dates.get(name))
        except DataError as error:
            raise DataError(f'table "{table.name}": {error.message}') from None
    return replace(table, columns=columns)


# --- keys ------------------------------------------------------------------------------------


def _key(table: Table, statement: Statement, tables: TableNames) -> tuple[str | None, bool]:
    """The key of a table, and whether it is a guess."""
    if statement.key is not None:
        return statement.key or None, False
    if table.key:
        return (table.key[0] if len(table.key) == 1 and table.key[0] in table.columns else None), False
    if statement.rows:
        return None, False
    if len(statement.links or ()) > 1:
        # In few rows, a column that links may be unique by chance.
        table = replace(
            table, columns={n: c for n, c in table.columns.items() if n not in (statement.links or ())}
        )
    key = guess_key(table, tables) if table.columns else None
    broken = guess_broken_key(table) if key is None else None
    if broken is not None:
        raise DataError(
            f'table "{table.name}", column "{broken}" is named like the key, but '
            f"{_repeated(table.columns[broken])}."
        )
    return key, True


def _check_key(table: Table, key: str) -> None:
    column = table.columns[key]
    if column.n_missing:
        raise DataError(
            f'table "{table.name}", key "{key}": {plural(column.n_missing, "row")} of {table.size:,} '
            f"{'has' if column.n_missing == 1 else 'have'} no value; every row needs a key: fill it in, or "
            "state another key in schema.toml."
        )
    if column.is_rounded:
        raise _rounded(table.name, column)
    if not column.is_unique:
        raise DataError(f'table "{table.name}", key "{key}": {_repeated(column)}.')


def _rounded(table: str, column: Column) -> DataError:
    return DataError(
        f'table "{table}", column "{column.name}" holds floating-point numbers too large to tell '
        "neighbouring whole numbers apart, so they cannot name keys; store whole numbers or text (pandas "
        'makes floats of whole numbers if one is missing: read the column with dtype "Int64").'
    )


def _repeated(column: Column) -> str:
    number, first = column.repeated()
    occur = "occurs" if number == 1 else "occur"
    return (
        f"{plural(number, 'value')} {occur} in more than one row (first: {', '.join(first)}); remove the "
        "copies, or state another key in schema.toml (key = false for none)"
    )


# --- links -----------------------------------------------------------------------------------


def _links(
    table: Table,
    statement: Statement,
    tables: Mapping[str, Table],
    targets: LinkTargets,
    has_catalogue: bool,
    notices: list[Notice],
) -> tuple[dict[str, str], bool]:
    """The linked table by column, in stated order or else that of the columns, and whether it is a guess."""
    if statement.links is not None:
        for column, other in statement.links.items():
            if other not in targets.keys:
                raise SchemaError(
                    f'[{table.name}] links: "{column}" links to "{other}", which has no key; '
                    f'state one, such as key = "{next(iter(tables[other].columns), "id")}".'
                )
        return _ordered(table, statement.links, statement.arguments), False
    left_out = {statement.time, *statement.roles}
    if has_catalogue:
        declared = _declared(table, targets.keys, notices)
        links = {name: other for name, other in declared.items() if name not in left_out}
        return _ordered(table, links, statement.arguments), False
    guesses = guess_links(table, targets)
    links = {name: other for name, other in guesses.items() if name not in left_out}
    return _ordered(table, links, statement.arguments), True


def _declared(table: Table, keys: Mapping[str, str], notices: list[Notice]) -> dict[str, str]:
    links: dict[str, str] = {}
    for foreign in table.foreign_keys:
        if len(foreign.columns) > 1 or foreign.references != (keys.get(foreign.table),):
            columns, references = ", ".join(foreign.columns), ", ".join(foreign.references) or "no key"
            notices.append(
                Notice(
                    f'table "{table.name}": the foreign key ({columns}) to "{foreign.table}" ({references}) '
                    "is not used: a link must refer to the key of a table."
                )
            )
        elif foreign.columns[0] in table.columns:
            links[foreign.columns[0]] = foreign.table
    return links


def _ordered(table: Table, links: Mapping[str, str], arguments: Sequence[str]) -> dict[str, str]:
    for name in arguments:
        if name not in links:
            raise SchemaError(f'[{table.name}] arguments: column "{name}" is not a link; leave it out.')
    return {name: links[name] for name in dict.fromkeys([*arguments, *table.columns]) if name in links}


def _with_keys_spelled(
    table: Table, links: Mapping[str, str], statement: Statement, targets: LinkTargets
) -> Table:
    """The table with folded links spelled as the keys that they mean."""
    spelled = {
        name: spelled_as_keys(table.columns[name], targets.key_column(links[name]))
        for name in statement.fold
        if name in links
    }
    return replace(table, columns={**table.columns, **spelled})


def _checked_links(
    table: Table,
    links: Mapping[str, str],
    tables: Mapping[str, Table],
    keys: Mapping[str, str],
    dangling: str | None,
) -> tuple[Table, dict[str, DanglingLinks]]:
    """The table with its dangling links refused, left out or kept; and these links by column."""
    lost: dict[str, DanglingLinks] = {}
    for name, other in links.items():
        column, key = table.columns[name], tables[other].columns[keys[other]]
        if column.is_rounded:
            raise _rounded(table.name, column)
        number, rows, first = column.lost(key)
        if number:
            most = rows > _MOST * (len(column) - column.n_missing)
            remedy = _remedy(table.name, column, key) if dangling in (None, SHOW) else ""
            lost[name] = DanglingLinks(other, number, rows, tuple(first), most, remedy)
            _check_dangling(table.name, name, lost[name], dangling)
    if dangling in (None, "drop") and lost:
        table = table.with_links_only_to(
            {name: tables[links[name]].columns[keys[links[name]]] for name in lost}
        )
    return table, lost


def _remedy(table: str, column: Column, key: Column) -> str:
    """How many dangling links mean keys that exist, and what to state then; empty if none does."""
    number, meant = meant_keys(column, key)
    if not meant:
        return ""
    return (
        f"; {meant:,} of {number:,} would match without spaces and capital letters: "
        f'state fold = ["{column.name}"] under [{table}] in schema.toml'
    )


def _check_dangling(table: str, column: str, lost: DanglingLinks, dangling: str | None) -> None:
    if dangling == "error" or (dangling is None and lost.most):
        refused = ", more than half of the rows that have one" if lost.most else ""
        raise DataError(
            f'table "{table}", column "{column}": {lost}{refused}; correct them, state other links in '
            'schema.toml, or set dangling (--dangling) to "drop" to leave these links out, or to "keep" to '
            "add the keys."
        )


# --- roles and forms -------------------------------------------------------------------------


def _plan(
    table: Table, key: str | None, links: Mapping[str, str], statement: Statement, guessed: list[str]
) -> Plan:
    roles: dict[str, Role] = {}
    # What was joined is for keys and links; its parts are there to learn from.
    table = table.without({name for name in table.joined if name != key and name not in links})
    for name, column in table.columns.items():
        if name == key:
            roles[name] = Role.KEY
        elif name in links:
            roles[name] = Role.LINK
        else:
            roles[name] = statement.roles.get(name) or guess_role(column, table.size)
    time = statement.time
    for name in statement.time_of:
        if name not in links:
            raise SchemaError(f'[{table.name}] time_of: column "{name}" is not a link; state it in links.')
    if time is None and not statement.time_of and links and key not in links:
        open_roles = {name: role for name, role in roles.items() if name not in statement.roles}
        time = guess_time(table, open_roles)
        if time is not None:
            guessed = [*guessed, f'"{time}" is the time of a row']
    if time:
        _check_time(table, time)
        if time not in statement.roles:
            roles[time] = Role.TIME
    plan = Plan(table, Form.THINGS, key, links, roles, time or None, tuple(guessed))
    plan = replace(plan, time_of=statement.time_of, known=statement.known, from_start=time == "")
    plan = replace(plan, ignored=statement.unused())
    return replace(plan, form=_form(plan, statement))


def with_time_as_value(plan: Plan, statement: Statement) -> Plan:
    """The plan in which a guessed time is a number or date to learn from, too."""
    if plan.time is None or statement.time is not None or plan.roles[plan.time] is not Role.TIME:
        return plan
    if plan.form is Form.LINK and len(plan.links) == 1:
        # Its only attribute tells its rows apart; a second one would make it another table.
        return plan
    column = plan.table.columns[plan.time]
    if column.domain is not Domain.DATE and column.n_values > MOST_PERIODS:
        return plan
    return replace(plan, roles={**plan.roles, plan.time: guess_role(column, plan.table.size)})


def _check_time(table: Table, time: str) -> None:
    column = table.columns[time]
    if column.domain not in TIMES:
        raise DataError(
            f'table "{table.name}", time "{time}": a time is a number or a date, but this column holds '
            f"{column.domain.value} values; name another column, or state by dates = {{ ... }} how its dates "
            "are written."
        )


def _form(plan: Plan, statement: Statement) -> Form:
    if plan.key is not None:
        return Form.THINGS
    linked = [plan.table.columns[name] for name in plan.links]
    stated_link = statement.rows is False or (len(linked) > 1 and bool(statement.arguments))
    if statement.rows or not linked:
        return Form.ROWS
    told_by = [*linked]
    if len(linked) == 1:
        # One link and one category are the values that a thing has; a number may be measured repeatedly.
        attributes = plan.attributes()
        if len(attributes) != 1 or (plan.roles[attributes[0].name] is not Role.CATEGORY and not stated_link):
            return Form.ROWS
        told_by += attributes
    return Form.LINK if stated_link or told_by[0].rows_differ(told_by[1:]) else Form.ROWS


def _unread(plan: Plan, statement: Statement) -> Iterator[Notice]:
    """Notices about columns of text that may be dates or numbers in a form that is not read."""
    for name, column in plan.table.columns.items():
        if plan.roles[name] in (Role.UNUSED, Role.CATEGORY) and name not in statement.roles:
            form = other_form(column)
            if form:
                where = f" under [{plan.name}] in schema.toml" if "state " in form else ""
                yield Notice(f'table "{plan.name}": column "{name}" is read as text; {form}{where}.')


def _dangling_notices(planned: Sequence[Plan], kept: bool) -> list[Notice]:
    """One notice about the dangling links of all tables."""
    lost = [(f"{plan.name}.{name}", links) for plan in planned for name, links in plan.dangling.items()]
    if not lost:
        return []
    done = "the keys are added" if kept else "these links are left out; --dangling error refuses them"
    if len(lost) == 1:
        ((where, links),) = lost
        return [Notice(f"{where}: {links}; {done}.")]
    cells = plural(sum(links.rows for _, links in lost), "row")
    columns = shown([f"{where} ({links.rows:,}){links.remedy}" for where, links in lost])
    return [
        Notice(f"keys in {cells} of {len(lost):,} columns are not in the linked tables: {columns}; {done}.")
    ]


def _plan_notices(planned: Sequence[Plan], inspected: bool) -> list[Notice]:
    notices = []
    guesses = [f"{plan.name}: {', '.join(plan.guessed)}" for plan in planned if plan.guessed]
    if guesses and inspected:
        notices.append(
            Notice("inferred keys and links may be wrong; --toml prints a schema.toml that you can correct.")
        )
    elif guesses:
        notices.append(
            Notice(
                f"keys and links were inferred ({'; '.join(guesses)}). Run `hornbeam inspect` to check "
                "these; override them in schema.toml.",
                is_guess=True,
            )
        )
    for plan in planned:
        for name in plan.links if plan.form is Form.LINK else ():
            lacking = plan.table.columns[name].n_missing
            if lacking:
                give = "gives" if lacking == 1 else "give"
                notices.append(
                    Notice(f'table "{plan.name}": {plural(lacking, "row")} without "{name}" {give} no facts.')
                )
    return notices
