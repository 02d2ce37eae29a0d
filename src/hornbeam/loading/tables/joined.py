"""Keys of several columns: a new column joins them, so that all other code knows keys of one column only.

What is joined is stated in schema.toml, or by a catalogue: a primary key of several columns is a key if a
foreign key refers to it, or is made of the same columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from hornbeam.errors import DataError
from hornbeam.loading.tables.columns.column import ForeignKey, Table
from hornbeam.loading.tables.schema_file import Statement, Statements, joined_name


class _Link(NamedTuple):
    """A foreign key of several columns, in the order of the primary key that it refers to."""

    table: str
    stated: ForeignKey
    columns: tuple[str, ...]


def with_joined_columns(tables: Mapping[str, Table], stated: Statements) -> dict[str, Table]:
    """The tables with the columns that are made of several."""
    joined = {}
    for name, table in tables.items():
        wanted = stated.get(name, Statement()).joined
        joined[name] = _joined(table, wanted) if wanted else table
    return _as_in_catalogue(joined, stated)


def with_joined_keys(examples: Table, tables: Mapping[str, Table], keys: Mapping[str, str]) -> Table:
    """Examples with a column for each joined key whose parts they have; ``keys`` are those of the tables."""
    for name, key in keys.items():
        parts = tables[name].joined.get(key, ())
        if parts and key not in examples.columns and all(part in examples.columns for part in parts):
            made = _joined(examples, {key: parts})
            rest = {name: each for name, each in made.columns.items() if name not in (*parts, key)}
            examples = replace(made, columns={key: made.columns[key], **rest})
    return examples


def _joined(table: Table, joined: Mapping[str, tuple[str, ...]]) -> Table:
    try:
        return table.with_joined(joined)
    except DataError as error:
        raise DataError(f'table "{table.name}": {error.message}') from None


def _as_in_catalogue(tables: dict[str, Table], stated: Statements) -> dict[str, Table]:
    """The tables in which keys of several columns are one, by what a catalogue says about them."""
    links = list(_links(tables, stated))
    keys = {link.stated.table: tables[link.stated.table].key for link in links}
    for link in links:
        table = tables[link.table]
        if set(link.columns) == set(table.key) and _is_open(stated, link.table):
            keys.setdefault(link.table, link.columns)
    names: dict[tuple[str, tuple[str, ...]], str] = {}
    for table_name, columns in [*keys.items(), *((link.table, link.columns) for link in links)]:
        word = joined_name(columns)
        while word in tables[table_name].columns:
            word += "_"
        names[table_name, columns] = word
    made = dict(tables)
    for name in dict.fromkeys(table_name for table_name, _ in names):
        table = _joined(tables[name], {word: of for (where, of), word in names.items() if where == name})
        new = {link.stated: link for link in links if link.table == name}
        foreign_keys = tuple(
            _as_one(each, names[name, new[each].columns], names[each.table, keys[each.table]])
            if each in new
            else each
            for each in table.foreign_keys
        )
        key = (names[name, keys[name]],) if name in keys else table.key
        made[name] = replace(table, key=key, foreign_keys=foreign_keys)
    return made


def _as_one(foreign: ForeignKey, column: str, reference: str) -> ForeignKey:
    return ForeignKey((column,), foreign.table, (reference,))


def _links(tables: Mapping[str, Table], stated: Statements) -> Iterator[_Link]:
    """The foreign keys of several columns that refer to a whole primary key, where nothing else is stated."""
    for name, table in tables.items():
        if stated.get(name, Statement()).links is not None:
            continue
        for foreign in table.foreign_keys:
            other = tables.get(foreign.table)
            if len(foreign.columns) < 2 or other is None or not _is_open(stated, foreign.table):
                continue
            if len(foreign.columns) != len(foreign.references):  # SQLite declares what it does not check
                continue
            there = [*zip([table] * len(foreign.columns), foreign.columns, strict=True)]
            there += [(other, column) for column in other.key]
            if sorted(foreign.references) == sorted(other.key) and all(
                column in where.columns for where, column in there
            ):
                place = {ref: own for own, ref in zip(foreign.columns, foreign.references, strict=True)}
                yield _Link(name, foreign, tuple(place[part] for part in other.key))


def _is_open(stated: Statements, table: str) -> bool:
    """Whether no key of a table is stated."""
    statement = stated.get(table, Statement())
    return statement.key is None and not statement.rows
