"""Tables in place with a table of examples, read through a connection of a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from sqlglot import exp

from hornbeam.data.codes import Coded
from hornbeam.data.database import Database
from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.expressions import SqlTable
from hornbeam.errors import DataError
from hornbeam.in_place.database import database_in_place
from hornbeam.in_place.facts import TableFacts
from hornbeam.in_place.source import TableSource
from hornbeam.loading.tables.given import GivenExamples
from hornbeam.logic.schema import Mode, Schema


class ExampleTable(NamedTuple):
    """A table of examples: the parts of its name, its key columns, and its column of labels 0 and 1."""

    name: tuple[str, ...]
    keys: tuple[str, ...]
    label: str


def in_place(
    connection: Connection,
    schema: Schema,
    modes: Sequence[Mode],
    tables: Mapping[str, SqlTable],
    target: str,
    examples: ExampleTable,
) -> Database:
    """A database of facts that stay in their tables, read through a connection, with its examples.

    The caller closes the connection.
    """
    source = TableSource(connection, schema, tables)
    return database_in_place(TableFacts(source), modes, target, _read_examples(connection, examples))


def _read_examples(connection: Connection, table: ExampleTable) -> GivenExamples:
    """The keys as text and the labels of a table; an example without a key or a label is an error."""
    columns = SqlTable(table.name, (*table.keys, table.label))
    *keys, label = columns.expressions("e")
    texts = [exp.cast(key, "TEXT") for key in keys]
    query = exp.select(*texts, exp.cast(label, "INT")).from_(columns.expression("e"))
    rows = connection.rows(connection.dialect.text(query))
    if any(None in row for row in rows):
        raise DataError(
            f"table {'.'.join(table.name)} has an example with an empty key or label; fill it in, or remove "
            "the example."
        )
    coded_keys = []
    for position in range(len(keys)):
        codes: dict[str, int] = {}
        coded = [codes.setdefault(str(row[position]), len(codes)) for row in rows]
        coded_keys.append(Coded(list(codes), np.array(coded, dtype=np.int32)))
    return GivenExamples(coded_keys, np.array([row[-1] for row in rows], dtype=np.int8))
