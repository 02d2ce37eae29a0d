"""Keys, links and roles of tables that no schema describes, guessed from values and names.

A column is a link if at least three quarters of its values, and of its rows, are keys of one other table.
Values alone are not enough where keys are a plain range of whole numbers: ages, for example, also occur among
user ids. Such a link needs a name that fits, and a table is then not linked to itself. Every guess is
reported, and a ``schema.toml`` overrides it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice

from hornbeam.loading.modes import MOST_CONSTANTS
from hornbeam.loading.tables.columns.column import Column, ColumnQuestions, Domain, Table
from hornbeam.loading.tables.link_targets import (
    KEY_ENDINGS,
    LinkTargets,
    TableNames,
    plain,
    stems,
    words_of,
)
from hornbeam.loading.tables.schema_file import Role

_TIMES = re.compile(r"(.*_)?(time|date|datetime|timestamp|ts|at|when|day|moment)")
_PERIODS = frozenset(["year", "season", "quarter", "month", "week", "round", "step", "tick", "period"])
"""the last words of columns that may count time"""
_ENOUGH = 0.75
"""a column is a link if at least this share of its values and of its rows are keys of the other table"""
_NEARLY = 0.5
"""a column may be a link if at least this share of its values and of its rows are keys of the other table"""
_MOST_KEYS = 0.5
"""numbers whose name fits no table are a link only if they cover this share of its keys"""
_BIRTHS = re.compile(r"born|birth|dob\b")
"""a birthday describes a thing; it is not the time at which a row was recorded"""
_MOSTLY = 0.5
"""a column named like a key was meant as one if more than this share of its rows have distinct values"""
_SOME = 4
"""fewer words are keys of another table by chance"""
_FEW = 20
"""if at least this many distinct numbers cover most keys of another table, it is unlikely to be by chance"""


def guess_key(table: Table, tables: TableNames) -> str | None:
    """The key of a table: unique, never missing, and either named like a key or the first column.

    A table with columns named after several other tables, or twice after one, is a link table: its first
    column is not its key, even where it happens to be unique.
    """
    links = _links_by_name(table, tables)
    named, first = [], None
    for position, column in enumerate(table.columns.values()):
        if not _may_be_key(column) or column.n_missing or not column.is_unique or not table.size:
            continue
        if _named_like_key(column.name, table.name):
            named.append(column.name)
        elif position == 0 and (column.name not in links or len(links) == 1):
            is_like_one = column.domain is Domain.TEXT or _last_word(column.name) in KEY_ENDINGS
            first = column.name if is_like_one else None
    return named[0] if named else first


def _links_by_name(table: Table, tables: TableNames) -> list[str]:
    """The columns that are named exactly after other tables; or those that are named after the same one."""
    exact = [
        name
        for name in table.columns
        if any(fit == 3 and other != table.name for other, fit in tables.fits(name).items())
    ]
    first, *others = table.columns
    after_first = _named_after(first, table.name, tables)
    alike = [name for name in others if after_first & _named_after(name, table.name, tables)]
    return exact if len(exact) > 1 or not alike else [first, *alike]


def _named_after(column: str, table: str, tables: TableNames) -> set[str]:
    """The other tables that a column is named after: alone, with a number, or after other words."""
    numbered = (other for other in tables.sharing(column) if _is_numbered_name(column, other))
    return {*tables.fits(column), *numbered} - {table}


def guess_broken_key(table: Table) -> str | None:
    """The column that is named like the key of its table, but repeats a few values."""
    for column in table.columns.values():
        if _may_be_key(column) and _named_like_key(column.name, table.name):
            rows = len(column) - column.n_missing
            if _MOSTLY * rows < column.n_values < rows:
                return column.name
    return None


def _named_like_key(column: str, table: str) -> bool:
    name = plain(column)
    if name in ("id", "key"):
        return True
    return any(name == stem + ending for stem in stems(table) for ending in ("", *KEY_ENDINGS))


def _may_be_key(column: ColumnQuestions) -> bool:
    return column.domain is Domain.TEXT or column.is_whole


def guess_links(table: Table, targets: LinkTargets) -> dict[str, str]:
    """The columns of a table that are links, each with the table it links to."""
    links = {}
    for column in table.columns.values():
        if column.is_rounded:
            # No exact keys. If the name says that they are meant as keys, the check of links refuses them.
            fits = targets.names.fits(column.name)
            for other in targets.keys:
                if fits.get(other, 0) >= 2 and targets.key_column(other).is_whole:
                    links[column.name] = other
        if not _may_be_key(column) or not column.n_values:
            continue
        best = max(_by_name(table, column, targets), default=None)
        if best is None and targets.keys.get(table.name) != column.name:
            best = max(_by_values(table, column, targets), default=None)
        if best is not None:
            links[column.name] = best[-1]
    return links


def _by_name(table: Table, column: Column, targets: LinkTargets) -> Iterator[tuple[float, float, str]]:
    """Tables that the name of a column fits: the fit, the share of its values that are keys, the table."""
    fits = targets.names.fits(column.name)
    if targets.keys.get(table.name) == column.name:
        # Keys counted from 1 overlap in all tables; only the name of the other table makes a key a link.
        own = fits.pop(table.name, 0)
        fits = {other: fit for other, fit in fits.items() if fit == 3 and own < fit}
    for other, fit in fits.items():
        if other == table.name and is_plain_range(targets.key_column(other)):
            # Any number of a thing is a key of its table: the number of a flight, for example.
            continue
        share = targets.share(column, other)
        if share >= _ENOUGH:
            yield fit, share, other


def _by_values(table: Table, column: Column, targets: LinkTargets) -> Iterator[tuple[float, float, str]]:
    """The table whose keys are most values of a column, if it is unlikely to be by chance."""
    fitting = targets.names.fits(column.name)
    # Keys that count from 1 overlap in all tables; a shared word tells which table is meant.
    sharing = [
        other
        for other in targets.names.sharing(column.name)
        if other not in (*fitting, table.name) and targets.share(column, other) >= _ENOUGH
    ]
    if len(sharing) == 1 and _is_numbered_name(column.name, sharing[0]):
        yield 0.5, 1.0, sharing[0]
    others = sharing or list(islice(_holding(column, targets, _ENOUGH, fitting), 2))
    # Two are enough to know that there is more than one.
    if len(others) == 1:
        key = targets.key_column(others[0])
        by_numbers = (
            column.is_whole
            and column.n_values >= _FEW
            and column.n_values >= _MOST_KEYS * key.n_values
            and not is_plain_range(key)
        )
        like_a_key = _last_word(column.name) in ("id", "key", "uuid") and not (
            others[0] == table.name and is_plain_range(key)
        )
        if column.domain is Domain.TEXT or like_a_key or by_numbers:
            yield 0, 1.0, others[0]


def _holding(column: Column, targets: LinkTargets, share: float, left_out: Collection[str]) -> Iterator[str]:
    """The tables whose keys include this share of the values and of the rows of a column."""
    for other in targets.large_enough(column, share):
        if other not in left_out and targets.share(column, other) >= share:
            yield other


def _is_numbered_name(column: str, table: str) -> bool:
    """Whether the name of a column is that of a table with a number or letter, such as team_1 or teamB."""
    others = [word for word in words_of(column) if word not in {*stems(table), *KEY_ENDINGS}]
    return bool(others) and all(len(word) == 1 or word.isdigit() for word in others)


def possible_links(table: Table, column: Column, targets: LinkTargets) -> list[tuple[str, float]]:
    """Tables whose keys are at least half of the values of a column that is no link, with that share.

    Where keys are a plain range of whole numbers, the column must share a word with the table.
    """
    if not _may_be_key(column) or column.n_values < 2:
        return []
    named = [*targets.names.fits(column.name), *targets.names.sharing(column.name)]
    others = list(_holding(column, targets, _NEARLY, named)) if column.n_values >= _SOME else []
    others = [other for other in others if not is_plain_range(targets.key_column(other))]
    shares = {
        other: targets.share(column, other)
        for other in targets.keys
        if other in (*named, *others) and other != table.name
    }
    return [(other, share) for other, share in shares.items() if share >= _NEARLY]


def is_plain_range(key: ColumnQuestions) -> bool:
    """Whether keys are whole numbers without large gaps: any rank or counter would be among them."""
    if not key.is_whole or not key.n_values:
        return False
    least, most = key.extent
    return most - least < 2 * key.n_values


def _last_word(name: str) -> str:
    """The last word of a name.

    >>> [_last_word(name) for name in ("user_id", "userId", "UserID", "paid", "ID")]
    ['id', 'id', 'id', 'paid', 'id']
    """
    words = words_of(name)
    return words[-1] if words else ""


def guess_role(column: ColumnQuestions, size: int) -> Role:
    """The role of a column that is neither key nor link."""
    if not column.n_values or is_constant(column, size):
        return Role.FLAG if is_flag(column) else Role.UNUSED
    if is_flag(column):
        return Role.FLAG
    if column.domain is Domain.NUMBER:
        if column.is_whole and _last_word(column.name) in ("id", "uuid"):
            return Role.UNUSED if is_nearly_unique(column, size) else Role.CATEGORY
        return Role.NUMBER
    if column.domain is Domain.TEXT:
        return Role.UNUSED if is_nearly_unique(column, size) else Role.CATEGORY
    return Role.DATE


def is_flag(column: ColumnQuestions) -> bool:
    """Whether the values are booleans, or numbers that are only 0 and 1."""
    if column.domain is Domain.BOOLEAN:
        return True
    return column.is_zero_one


def is_constant(column: ColumnQuestions, size: int) -> bool:
    """Whether every row has the same value."""
    return column.n_values == 1 and column.n_missing == 0 and size > 1


def is_nearly_unique(column: ColumnQuestions, size: int) -> bool:
    """Whether there are too many values to be constants and few rows share a value, as in titles or notes."""
    return column.n_values > MOST_CONSTANTS and 2 * column.n_values > size - column.n_missing


def is_birthday(column: str) -> bool:
    """Whether a column of dates says by its name that it describes a thing, as a date of birth does."""
    return _BIRTHS.search(column.lower()) is not None


def is_named_like_time(column: str) -> bool:
    """Whether a column of numbers says by its name that it may be a time.

    >>> [is_named_like_time(name) for name in ("paid_at", "year", "seasonYear", "yearly_pay")]
    [True, True, True, False]
    """
    return bool(_TIMES.fullmatch(column.lower())) or _last_word(column) in _PERIODS


def guess_time(table: Table, roles: Mapping[str, Role]) -> str | None:
    """The time of rows: the only date that is not a birthday, or else the only number named like a time."""
    dates = [name for name, role in roles.items() if role is Role.DATE and not is_birthday(name)]
    if dates:
        return dates[0] if len(dates) == 1 else None
    times = [
        name
        for name, role in roles.items()
        if role is Role.NUMBER
        and _TIMES.fullmatch(name.lower())
        and table.columns[name].n_values > MOST_CONSTANTS
    ]
    return times[0] if len(times) == 1 else None
