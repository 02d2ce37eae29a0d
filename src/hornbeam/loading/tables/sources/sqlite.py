"""The tables of a SQLite file, with the keys that it states, read by Python's own driver."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from contextlib import closing
from pathlib import Path

from hornbeam.data.database import Notice
from hornbeam.errors import DataError
from hornbeam.files import quoted
from hornbeam.loading.tables.columns.column import (
    EVERY_VIEW,
    Column,
    Domain,
    ForeignKey,
    Table,
    Views,
    of_table,
    omitted_view,
    unread_column,
)
from hornbeam.loading.tables.columns.new_columns import value_column
from hornbeam.loading.tables.columns.types import as_domain

_DECLARED = {"BOOL": Domain.BOOLEAN, "DATE": Domain.MOMENT, "TIMESTAMP": Domain.MOMENT}
"""SQLite stores booleans as 0 and 1 and dates as text; only the declared type tells what they mean."""


def read_sqlite_file(
    path: Path,
    unused: Mapping[str, Collection[str]],
    left_out: Collection[str] = (),
    views: Views = EVERY_VIEW,
) -> list[Table]:
    """The tables and views of a SQLite file, sorted by name; some are left out."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as lite:
            # In one transaction all tables are from the same moment.
            lite.execute("BEGIN")
            names = lite.execute(
                "SELECT name, type = 'view' FROM sqlite_master WHERE type IN ('table', 'view') "
                "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
            ).fetchall()
            omitted = views.omitted({name: bool(is_view) for name, is_view in names})
            return [
                omitted_view(name) if name in omitted else _table(lite, name, unused.get(name, ()), is_view)
                for name, is_view in names
                if name not in left_out
            ]
    except sqlite3.Error as error:
        raise DataError(f'cannot read the SQLite file "{path}": {error}.') from None


def _table(lite: sqlite3.Connection, name: str, unused: Collection[str], is_view: bool) -> Table:
    description = lite.execute(
        "SELECT name, type, pk FROM pragma_table_info(?) ORDER BY cid", [name]
    ).fetchall()
    types = {column: declared.upper() for column, declared, _ in description if column not in unused}
    key = tuple(column for _, column in sorted((pk, column) for column, _, pk in description if pk))
    columns: dict[str, Column] = {}
    notices = []
    unread = []
    wanted = ", ".join(map(quoted, types)) or "1"
    # A view has no order of rows; sorting by their values makes their numbers the same each time.
    places = range(1, len(types) + 1) if is_view else ()
    order = ", ".join(f"{place} NULLS LAST" for place in places)
    rows = lite.execute(
        f"SELECT {wanted} FROM {quoted(name)}{f' ORDER BY {order}' if order else ''}"
    ).fetchall()
    for number, (column, declared) in enumerate(types.items()):
        cells = [row[number] for row in rows]
        if any(isinstance(cell, bytes) for cell in cells):
            unread.append(unread_column(column, "binary"))
            continue
        try:
            values, mixed = value_column(column, cells)
        except DataError as error:
            notices.append(Notice(f'table "{name}": column "{column}" is not used: {error.message}'))
            continue
        columns[column], undeclared = _as_declared(values, declared)
        notices += [of_table(name, notice) for notice in (mixed, undeclared) if notice is not None]
    foreign_keys = _foreign_keys(lite, name)
    return Table(name, columns, len(rows), key, foreign_keys, tuple(notices), unread=tuple(unread))


def _as_declared(column: Column, declared: str) -> tuple[Column, Notice | None]:
    """The column with values of its declared type; if some are not, the column as it is and a notice."""
    for word, domain in _DECLARED.items():
        if word in declared and (domain is Domain.BOOLEAN or column.domain is Domain.TEXT):
            try:
                return as_domain(column, domain), None
            except DataError:
                return column, Notice(
                    f'column "{column.name}" is declared {declared}, but not all of its values are of that '
                    f"type; it is read as {column.domain.value}."
                )
    return column, None


def _foreign_keys(lite: sqlite3.Connection, name: str) -> tuple[ForeignKey, ...]:
    """The foreign keys of a table. SQLite allows them to tables that do not exist or have no key."""
    rows = lite.execute(
        'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq', [name]
    ).fetchall()
    keys: dict[int, tuple[str, list[str], list[str | None]]] = {}
    for number, table, column, reference in rows:
        _, columns, references = keys.setdefault(number, (table, [], []))
        columns.append(_as_written(lite, name, column))
        references.append(reference)
    foreign_keys = []
    for table, columns, references in keys.values():
        named = [_as_written(lite, table, reference) for reference in references if reference is not None]
        if not named:
            # A foreign key that names no column refers to the primary key of the other table.
            primary = "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk"
            named = [row[0] for row in lite.execute(primary, [table])]
        foreign_keys.append(ForeignKey(tuple(columns), _as_written(lite, table), tuple(named)))
    return tuple(foreign_keys)


def _as_written(lite: sqlite3.Connection, table: str, column: str | None = None) -> str:
    """The name of a table or column as its definition has it: SQLite takes A and a for the same name."""
    names = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE"
    words = [table]
    if column is not None:
        names = "SELECT name FROM pragma_table_info(?) WHERE name = ? COLLATE NOCASE"
        words.append(column)
    name = lite.execute(names, words).fetchone()
    return str(name[0]) if name else words[-1]
