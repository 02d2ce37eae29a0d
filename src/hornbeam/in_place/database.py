"""A database whose facts stay in their tables; only the examples are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from sqlglot import exp

from hornbeam.data.codes import without_facts
from hornbeam.data.database import (
    Coded,
    Database,
    Examples,
    Notice,
    merged_examples,
)
from hornbeam.data.facts import with_cutoff_codes
from hornbeam.data.numbers import STRICT
from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.expressions import SqlTable
from hornbeam.errors import DataError
from hornbeam.in_place.facts import TableFacts
from hornbeam.in_place.population import PopulationInPlace
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


def database_in_place(
    facts: TableFacts,
    modes: Sequence[Mode],
    target: str | None,
    examples: GivenExamples | None,
    notices: Sequence[Notice] = (),
    origin: Mapping[str, object] | None = None,
) -> Database:
    """A database of facts in place, with the examples of a target, if there are any."""
    source = facts.source
    schema = source.schema
    keys: dict[str, set[str]] = {}
    if target is not None and examples is not None:
        for type_name, column in zip(schema.types_of(target), examples.keys, strict=True):
            keys.setdefault(type_name, set()).update(column.names)
    not_in_tables = {type_name: source.add_names(type_name, names) for type_name, names in keys.items()}
    populations = {name: _population(source, name, not_in_tables.get(name, set())) for name in schema.types()}
    example_sets: dict[str, Examples] = {}
    about_examples: list[Notice] = []
    if target is not None and examples is not None:
        types = schema.types_of(target)
        merged, duplicates = _merged(target, examples, [populations[type_name] for type_name in types])
        unknown = [not_in_tables[type_name] for type_name in types]
        about_examples = [*without_facts(examples.keys, unknown), *duplicates]
        example_sets[target] = with_cutoff_codes(merged, facts, STRICT)
    return Database(
        schema=schema,
        modes=tuple(modes),
        populations=populations,
        relations={},
        example_sets=example_sets,
        notices=(*notices, *about_examples),
        origin=origin or {},
        tables=facts,
    )


def _population(source: TableSource, type_name: str, not_in_tables: set[str]) -> PopulationInPlace:
    """The constants of a type in the tables, and names of examples that no table has."""

    def present(names: Sequence[str]) -> set[str]:
        return not_in_tables.intersection(names) | source.present(type_name, names)

    source.names[type_name] = []
    return PopulationInPlace(source.names[type_name], lambda: source.population(type_name), present)


def _merged(
    target: str, examples: GivenExamples, populations: Sequence[PopulationInPlace]
) -> tuple[Examples, list[Notice]]:
    """The examples with their keys as codes, each once, and notices about duplicates."""
    codes = [
        population.encode(column.names)[column.codes]
        for population, column in zip(populations, examples.keys, strict=True)
    ]
    labels = np.asarray(examples.to_merge(), dtype=np.int8)
    merged, notices = merged_examples(target, codes, labels, populations, examples.cutoffs)
    return examples.labelled(merged), notices


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
