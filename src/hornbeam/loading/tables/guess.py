"""Keys, links and roles of tables that no schema describes, guessed from values and names.

Values alone are not enough: ages, for example, also occur among user ids. A link needs a name that fits, or
values that are unlikely to fit by chance. Every guess is reported, and a ``schema.toml`` overrides it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from hornbeam.loading.modes import MOST_CONSTANTS
from hornbeam.loading.tables.columns.column import Column, ColumnQuestions, Domain, Table
from hornbeam.loading.tables.schema_file import Role

_KEY_ENDINGS = ("id", "key", "code", "no", "nr", "number", "uuid")
_PLAIN_KEYS = frozenset([*_KEY_ENDINGS, "name"])
_TIMES = re.compile(r"(.*_)?(time|date|datetime|timestamp|ts|at|when|day|moment)")
_ENOUGH = 0.5
"""a column whose name fits is a link if at least this share of its values are keys of the other table"""
_NEARLY = 0.95
"""a column that shares a word with a table may be a link if at least this share of its values are keys"""
_BIRTHS = re.compile(r"born|birth|dob\b")
"""a birthday describes a thing; it is not the time at which a row was recorded"""
_MOSTLY = 0.5
"""a column named like a key was meant as one if more than this share of its rows have distinct values"""
_FEW = 20
"""if at least this many distinct numbers cover most keys of another table, it is unlikely to be by chance"""


def guess_key(table: Table, tables: Sequence[str] = ()) -> str | None:
    """The key of a table: unique, never missing, and either named like a key or the first column.

    A table with columns named after several other tables is a link table: its first column is not its
    key, even where it happens to be unique.
    """
    others = [other for other in tables if other != table.name]
    links = [name for name in table.columns if any(_fit(name, other, "") == 3 for other in others)]
    named, first = [], None
    for position, column in enumerate(table.columns.values()):
        if not _may_be_key(column) or column.n_missing or not column.is_unique or not table.size:
            continue
        if _named_like_key(column.name, table.name):
            named.append(column.name)
        elif position == 0 and (column.name not in links or len(links) == 1):
            is_like_one = column.domain is Domain.TEXT or _last_word(column.name) in _KEY_ENDINGS
            first = column.name if is_like_one else None
    return named[0] if named else first


def guess_broken_key(table: Table) -> str | None:
    """The column that is named like the key of its table, but repeats a few values."""
    for column in table.columns.values():
        if _may_be_key(column) and _named_like_key(column.name, table.name):
            rows = len(column) - column.n_missing
            if _MOSTLY * rows < column.n_values < rows:
                return column.name
    return None


def _named_like_key(column: str, table: str) -> bool:
    name = _plain(column)
    if name in ("id", "key"):
        return True
    return any(name == stem + ending for stem in _stems(table) for ending in ("", *_KEY_ENDINGS))


def _may_be_key(column: ColumnQuestions) -> bool:
    return column.domain is Domain.TEXT or column.is_whole


def guess_links(table: Table, tables: Mapping[str, Table], keys: Mapping[str, str]) -> dict[str, str]:
    """The columns of a table that are links, each with the table it links to."""
    links = {}
    for column in table.columns.values():
        if column.is_rounded:
            # No exact keys. If the name says that they are meant as keys, the check of links refuses them.
            for other, key in keys.items():
                if _fit(column.name, other, key) >= 2 and tables[other].columns[key].is_whole:
                    links[column.name] = other
        if not _may_be_key(column) or not column.n_values:
            continue
        best = max(_candidates(table, column, tables, keys), default=None)
        if best is not None:
            links[column.name] = best[-1]
    return links


def _candidates(
    table: Table, column: Column, tables: Mapping[str, Table], keys: Mapping[str, str]
) -> Iterator[tuple[float, float, str]]:
    """Tables that a column may link to: the fit of its name, the share of values that are keys, the table."""
    own_key = keys.get(table.name) == column.name
    unnamed = []
    for other, key in keys.items():
        if own_key and other == table.name:
            continue
        key_column = tables[other].columns[key]
        fit = _fit(column.name, other, key)
        if key_column.domain is not column.domain and not fit:
            continue
        inside = column.n_shared(key_column)
        share = inside / column.n_values
        if own_key and (fit < 3 or _fit(column.name, table.name, column.name) >= fit):
            # Keys counted from 1 overlap in all tables; only the name of the other table makes this a link.
            continue
        if fit and share >= _ENOUGH:
            yield fit, share, other
        elif share == 1.0 and not own_key and not fit:
            unnamed.append((inside / key_column.n_values, other))
    # Keys that count from 1 overlap in all tables; a shared word tells which table is meant.
    sharing = [each for each in unnamed if shares_word(column.name, each[1])]
    if len(sharing) == 1 and _is_numbered_name(column.name, sharing[0][1]):
        yield 0.5, 1.0, sharing[0][1]
    unnamed = sharing or unnamed
    if len(unnamed) == 1:
        cover, other = unnamed[0]
        like_a_key = _last_word(column.name) in ("id", "key", "uuid")
        by_numbers = (
            column.is_whole
            and column.n_values >= _FEW
            and cover >= _ENOUGH
            and _is_sparse(tables[other].columns[keys[other]])
        )
        if column.domain is Domain.TEXT or like_a_key or by_numbers:
            yield 0, 1.0, other


def shares_word(column: str, table: str) -> bool:
    """Whether a word of a column's name is the name of a table, in singular or plural.

    >>> shares_word("team_1", "teams"), shares_word("awayTeam", "shop.teams"), shares_word("steam", "teams")
    (True, True, False)
    """
    return not _stems(table).isdisjoint(_words(column))


def _is_numbered_name(column: str, table: str) -> bool:
    """Whether the name of a column is that of a table with a number or letter, such as team_1 or teamB."""
    others = [word for word in _words(column) if word not in {*_stems(table), *_KEY_ENDINGS}]
    return bool(others) and all(len(word) == 1 or word.isdigit() for word in others)


def possible_links(
    table: Table, column: ColumnQuestions, tables: Mapping[str, Table], keys: Mapping[str, str]
) -> list[tuple[str, float]]:
    """Tables that share a word with a column and whose keys are nearly all of its values, with that share."""
    if not _may_be_key(column) or column.n_values < 2:
        return []
    shared = [
        (other, column.n_shared(tables[other].columns[key]) / column.n_values)
        for other, key in keys.items()
        if shares_word(column.name, other) and other != table.name
    ]
    return [(other, share) for other, share in shared if share >= _NEARLY]


def _is_sparse(key: ColumnQuestions) -> bool:
    """Whether a key has gaps. Any rank or counter would fit a key that counts from 1 without gaps."""
    least, most = key.extent
    return most - least >= 2 * key.n_values


def _fit(column: str, table: str, key: str) -> int:
    """How well the name of a column fits the key of a table: 0 not at all, 3 by the table's own name."""
    name = _plain(column)
    for stem in _stems(table):
        if name in {stem, *(stem + ending for ending in _KEY_ENDINGS)}:
            return 3
    if column.lower() == key.lower() and _plain(key) not in _PLAIN_KEYS:
        return 2
    words = re.split(r"[^a-z0-9]+", column.lower())
    parts = {"".join(words[start:]) for start in range(1, len(words))}
    for stem in _stems(table):
        if parts & {stem, *(stem + ending for ending in _KEY_ENDINGS)}:
            return 1
    return 0


def _stems(table: str) -> set[str]:
    """The name of a table without its schema and punctuation, and its possible singulars.

    >>> sorted(_stems("shop.Categories")), sorted(_stems("movies"))
    (['categorie', 'categories', 'category'], ['movie', 'movies', 'movy'])
    """
    name = _plain(table.rpartition(".")[2])
    if name.endswith("ies"):
        return {name, name[:-3] + "y", name[:-1]}
    if name.endswith(("sses", "shes", "ches", "xes")):
        return {name, name[:-2]}
    return {name, name[:-1]} if name.endswith("s") and len(name) > 2 else {name}


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.lower())


def _last_word(name: str) -> str:
    """The last word of a name.

    >>> [_last_word(name) for name in ("user_id", "userId", "UserID", "paid", "ID")]
    ['id', 'id', 'id', 'paid', 'id']
    """
    words = _words(name)
    return words[-1] if words else ""


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W_A-Z\d]+|\d+", name)]


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


def guess_time(table: Table, roles: Mapping[str, Role]) -> str | None:
    """The time of rows: the only date that is not a birthday, or else the only number named like a time."""
    dates = [name for name, role in roles.items() if role is Role.DATE and not _BIRTHS.search(name.lower())]
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
