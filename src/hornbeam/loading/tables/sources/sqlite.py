"""The tables of a SQLite file, with the keys that it states; read by Python's own driver."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from contextlib import closing
from pathlib import Path

from hornbeam.data.database import Notice
from hornbeam.errors import DataError
from hornbeam.loading.tables.column import Column, Domain, ForeignKey, Table, value_column
from hornbeam.loading.tables.types import as_domain
from hornbeam.quoting import quoted

_DECLARED = {"BOOL": Domain.BOOLEAN, "DATE": Domain.MOMENT, "TIMESTAMP": Domain.MOMENT}
"""SQLite keeps booleans as 0 and 1 and dates as text: what they mean is in the declared type."""


def read_sqlite_file(path: Path, unused: Mapping[str, Collection[str]]) -> list[Table]:
    """The tables and views of a SQLite file, in the order of their names."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as made:
            names = made.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
                "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
            ).fetchall()
            return [_table(made, name, unused.get(name, ())) for (name,) in names]
    except sqlite3.Error as error:
        raise DataError(f'cannot read the SQLite file "{path}": {error}.') from None


def _table(made: sqlite3.Connection, name: str, unused: Collection[str]) -> Table:
    described = made.execute(
        "SELECT name, type, pk FROM pragma_table_info(?) ORDER BY cid", [name]
    ).fetchall()
    types = {column: declared.upper() for column, declared, _ in described if column not in unused}
    key = tuple(column for _, column in sorted((pk, column) for column, _, pk in described if pk))
    columns: dict[str, Column] = {}
    notices = []
    wanted = ", ".join(map(quoted, types)) or "1"
    rows = made.execute(f"SELECT {wanted} FROM {quoted(name)}").fetchall()
    for number, (column, declared) in enumerate(types.items()):
        try:
            found, said = value_column(column, [row[number] for row in rows])
        except DataError as error:
            notices.append(Notice(f'table "{name}": column "{column}" is not used: {error.message}'))
            continue
        columns[column], strange = _declared(found, declared)
        notices += [Notice(f'table "{name}": {notice}') for notice in (said, strange) if notice is not None]
    return Table(name, columns, len(rows), key, _foreign_keys(made, name), tuple(notices))


def _declared(column: Column, declared: str) -> tuple[Column, Notice | None]:
    """The column as what it is declared to be; if it is not, as what it is, and said so."""
    for word, domain in _DECLARED.items():
        if word in declared and (domain is Domain.BOOLEAN or column.domain is Domain.TEXT):
            try:
                return as_domain(column, domain), None
            except DataError:
                return column, Notice(
                    f'column "{column.name}" is declared {declared}, but its values are not all of that '
                    f"kind; "
                    f"taken as {column.domain.value}."
                )
    return column, None


def _foreign_keys(made: sqlite3.Connection, name: str) -> tuple[ForeignKey, ...]:
    rows = made.execute(
        'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq', [name]
    ).fetchall()
    found: dict[int, tuple[str, list[str], list[str]]] = {}
    for number, table, column, reference in rows:
        _, columns, references = found.setdefault(number, (table, [], []))
        columns.append(column)
        if reference is None:
            # Without a column the primary key of the other table is meant.
            of_key = made.execute("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", [table])
            reference = [row[0] for row in of_key][len(references)]
        references.append(reference)
    return tuple(
        ForeignKey(tuple(columns), table, tuple(references)) for table, columns, references in found.values()
    )
