"""A database whose facts stay in tables: what a learner asks of it, answered by these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from sqlglot import exp

from hornbeam.data.codes import without_facts
from hornbeam.data.database import (
    UNKNOWN,
    Coded,
    Codes,
    Database,
    Examples,
    Notice,
    Population,
    Relation,
    merged_examples,
)
from hornbeam.data.numbers import Floats, numbers_of, quantiles
from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.expressions import SqlTable
from hornbeam.errors import DataError, EngineError
from hornbeam.in_place.source import TableSource
from hornbeam.logic.clauses import Value
from hornbeam.logic.modes import Kind, Mode
from hornbeam.logic.refine import Constants, Thresholds
from hornbeam.logic.schema import Schema


class ExampleTable(NamedTuple):
    """A table of examples: the parts of its name, its key columns, and its column of labels 0 and 1."""

    name: tuple[str, ...]
    keys: tuple[str, ...]
    label: str


class PlacedExamples(NamedTuple):
    """Examples by name: a column of keys per argument of the target, labels, and perhaps more."""

    target: str
    keys: Sequence[Coded]
    labels: Any
    classes: tuple[str, ...] = ()
    cutoffs: Floats | None = None


@dataclass(frozen=True, eq=False)
class TablePopulation(Population):
    """Constants of a type in a database; only those that somebody named have codes here."""

    size: int = 0
    present: Callable[[Sequence[str]], set[str]] = field(default=lambda names: set())
    """which of some names are constants of the type"""

    def __len__(self) -> int:
        return self.size

    def code(self, name: str) -> int:
        return int(self.encode([name])[0])

    def encode(self, names: Iterable[str]) -> Codes:
        wanted = list(names)
        codes = self._codes
        new = list(dict.fromkeys(name for name in wanted if name not in codes))
        if new:
            found = self.present(new)
            assert isinstance(self.names, list)
            for name in new:
                if name in found:
                    codes[name] = len(self.names)
                    self.names.append(name)
        return np.array([codes.get(name, UNKNOWN) for name in wanted], dtype=np.int32)


@dataclass(frozen=True, eq=False)
class TableDatabase(Database):
    """A database whose facts stay in tables; only engines that speak SQL can count over it."""

    source: TableSource | None = None
    own: bool = False
    """whether the connection is ours to close"""

    def close(self) -> None:
        self.placed.close()
        if self.own:
            self.placed.connection.close()

    @property
    def placed(self) -> TableSource:
        assert self.source is not None
        return self.source

    def relation(self, predicate: str) -> Relation:
        self.schema.types_of(predicate)
        raise EngineError(
            f'the facts of "{predicate}" stay in their tables: use the engine of their database.'
        )

    def has_facts(self, predicate: str) -> bool:
        return self.placed.rows(predicate) > 0

    def marks(self) -> object:
        return self.placed.marks()

    def cutoff_codes(self, cutoffs: Floats) -> Codes:
        return self.placed.cutoff_codes(cutoffs.tolist())

    def cutoffs_of(self, target: str, keys: Codes) -> Floats | None:
        arity = self.schema.arity(target)
        if keys.shape[1] == arity:
            return None
        return np.array(self.placed.cutoffs(), dtype=np.float64)[keys[:, arity]]

    @cached_property
    def constants(self) -> Constants:
        found = {
            (mode.predicate, position): self.placed.constants_at(mode.predicate, position)
            for mode in self.modes
            for position, arg in enumerate(mode.args)
            if arg.kind is Kind.CONSTANT
        }
        return MappingProxyType(found)

    def frequent(self, predicate: str, position: int, least: int) -> tuple[str, ...]:
        return self.placed.frequent_at(predicate, position, least)

    def thresholds(self, target: str, number: int, until: float = np.inf) -> Thresholds:
        found: dict[tuple[str, int], tuple[Value, ...]] = {}
        for predicate in dict.fromkeys([*(mode.predicate for mode in self.modes), target]):
            for position, type_name in enumerate(self.schema.types_of(predicate)):
                kind = self.schema.numeric.get(type_name)
                if kind is None or not number:
                    continue
                values: tuple[Value, ...] = ()
                if predicate != target:
                    values = self.placed.thresholds(predicate, position, number, until)
                elif target in self.example_sets:
                    names = self.population(type_name).decode(self.example_sets[target].keys[:, position])
                    values = quantiles(numbers_of(names, kind, type_name), number, kind)
                if values:
                    found[predicate, position] = values
        return MappingProxyType(found)


def in_place(
    connection: Connection,
    schema: Schema,
    modes: Sequence[Mode],
    tables: Mapping[str, SqlTable],
    target: str,
    examples: ExampleTable,
    ranges: Mapping[str, Sequence[str]] | None = None,
) -> TableDatabase:
    """A database of facts that stay in their tables, read through a connection, and its examples.

    The connection stays the caller's: an engine uses it and leaves it open.
    """
    source = TableSource(connection, schema, tables)
    return placed_database(source, modes, _examples(connection, target, examples), ranges)


def placed_database(
    source: TableSource,
    modes: Sequence[Mode],
    examples: PlacedExamples | None,
    ranges: Mapping[str, Sequence[str]] | None = None,
    notices: Sequence[Notice] = (),
    origin: Mapping[str, object] | None = None,
    own: bool = False,
) -> TableDatabase:
    """A database of the facts of a source, with examples given by name.

    With ``own``, closing the database closes the source's connection.
    """
    schema = source.schema
    named = {name: set(names) for name, names in (ranges or {}).items()}
    types = () if examples is None else schema.types_of(examples.target)
    if examples is not None:
        for type_name, column in zip(types, examples.keys, strict=True):
            named.setdefault(type_name, set()).update(column.names)
    strange = source.count_constants(named)
    populations: dict[str, TablePopulation] = {}
    for type_name in schema.types():

        def present(some: Sequence[str], type_name: str = type_name) -> set[str]:
            return strange[type_name].intersection(some) | source.present(type_name, some)

        population = TablePopulation([], source.populations[type_name], present)
        populations[type_name] = population
        source.names[type_name] = population.names
    times = {predicate: np.empty(0) for predicate in source.timed()}
    said, sets = list(notices), {}
    if examples is not None:
        codes = [
            populations[type_name].encode(column.names)[column.codes]
            for type_name, column in zip(types, examples.keys, strict=True)
        ]
        of_arguments = [populations[type_name] for type_name in types]
        found, more = _merged(examples, codes, of_arguments)
        said += [*without_facts(examples.keys, [strange[type_name] for type_name in types]), *more]
        if found.cutoffs is not None and times:
            cutoffs = source.cutoff_codes(found.cutoffs.tolist())
            found = replace(found, keys=np.column_stack([found.keys, cutoffs]))
        sets[examples.target] = found
    return TableDatabase(
        schema,
        tuple(modes),
        MappingProxyType(dict(populations)),
        MappingProxyType({}),
        MappingProxyType(sets),
        tuple(said),
        MappingProxyType(dict(origin or {})),
        times=MappingProxyType(times),
        source=source,
        own=own,
    )


def _merged(
    examples: PlacedExamples, codes: Sequence[Codes], populations: Sequence[Population]
) -> tuple[Examples, list[Notice]]:
    labels = np.asarray(examples.labels, dtype=np.int8)
    if not examples.classes:
        return merged_examples(examples.target, codes, labels, populations, examples.cutoffs)
    # Classes are put in afterwards: to the merging an example is positive or negative.
    nothing = np.zeros(len(labels), dtype=np.int8)
    found, notices = merged_examples(examples.target, codes, nothing, populations, examples.cutoffs)
    if len(found) != len(labels):
        raise DataError("an example is given twice; for a target with classes each may stand once only.")
    return replace(found, labels=labels, classes=examples.classes), notices


def _examples(connection: Connection, target: str, table: ExampleTable) -> PlacedExamples:
    """Keys by their text, and labels; an example without a key or a label is refused."""
    item = SqlTable(table.name, (*table.keys, table.label))
    *keys, label = item.expressions("e")
    wanted = [exp.cast(key, "TEXT") for key in keys]
    query = exp.select(*wanted, exp.cast(label, "INT")).from_(item.expression("e"))
    rows = connection.rows(connection.dialect.text(query))
    if any(None in row for row in rows):
        raise DataError(f"table {'.'.join(table.name)} has an example with an empty key or label.")
    columns = []
    for position in range(len(keys)):
        codes: dict[str, int] = {}
        coded = [codes.setdefault(str(row[position]), len(codes)) for row in rows]
        columns.append(Coded(list(codes), np.array(coded, dtype=np.int32)))
    return PlacedExamples(target, columns, [int(row[-1]) for row in rows])
