"""A database seen under another schema: that of a model learned from other data.

Nothing is inferred again: predicates, arities and types are those of the given schema; facts, examples and
constants are those of the database. Columns are shared, not copied, if the types of the database and of the
schema have the same constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hornbeam.data.database import UNKNOWN, Codes, Database, Examples, Population, Relation
from hornbeam.data.facts import FactsInMemory, with_cutoff_codes
from hornbeam.data.numbers import Floats, numbers_of
from hornbeam.errors import SchemaError
from hornbeam.logic.schema import Schema

_Recoding = Mapping[tuple[str, str], Codes | None]
"""For a type of the schema and a type of the database: the new code of each old code, or None if all codes
stay the same."""


def under(database: Database, schema: Schema) -> Database:
    """The database under a schema.

    A predicate that only the schema has is empty; a predicate that only the database has is left out.

    The population of a type holds the constants that the database has at arguments of that type (facts
    and examples), and those that it declares for a type of that name. Modes are for learning: a
    database under other types has none.

    >>> from hornbeam.data.build import build
    >>> db = build(Schema({"smokes": ("t1",)}), (), {"smokes": [["ann", "bob"]]})
    >>> seen = under(db, Schema({"smokes": ("person",), "friends": ("person", "person")}))
    >>> len(seen.relation("smokes")), len(seen.relation("friends")), seen.population("person").names
    (2, 0, ['ann', 'bob'])
    """
    if database.schema.predicates == schema.predicates and database.schema.numeric == schema.numeric:
        return database
    _check(database, schema)
    populations, recoding = _populations(database, schema)
    recoder = _Recoder(database, schema, recoding)
    relations, times = recoder.relations(populations)
    numbers = _numbers(database, schema, populations)
    facts = FactsInMemory(schema, populations, relations, numbers, times)
    return Database(
        schema=schema,
        modes=(),
        populations=populations,
        relations=relations,
        example_sets={
            target: with_cutoff_codes(examples, facts, database.rule)
            for target, examples in recoder.examples().items()
        },
        notices=database.notices,
        origin=database.origin,
        numbers=numbers,
        times=times,
        rule=database.rule,
    )


def _check(database: Database, schema: Schema) -> None:
    """Refuse a schema that the database cannot be seen under."""
    if database.is_in_place:
        raise SchemaError(
            "tables that stay in place must have the schema that the model was learned with; load them with "
            "origin=model.settings, or into memory, without engine=."
        )
    for predicate, types in schema.predicates.items():
        given = database.schema.predicates.get(predicate)
        if given is not None and len(given) != len(types):
            raise SchemaError(
                f'"{predicate}" has {len(given)} arguments in the data, but {len(types)} were expected: '
                f"{predicate}({','.join(types)})."
            )


@dataclass(frozen=True, eq=False)
class _Recoder:
    """Translates the facts and examples of a database to the codes of another schema."""

    database: Database
    schema: Schema
    recoding: _Recoding

    def relations(
        self, populations: Mapping[str, Population]
    ) -> tuple[dict[str, Relation], dict[str, Floats]]:
        """The facts of each predicate of the schema, and the times of those that have times."""
        relations: dict[str, Relation] = {}
        times: dict[str, Floats] = {}
        for predicate, types in self.schema.predicates.items():
            if predicate not in self.database.relations:
                continue
            relation = self.database.relations[predicate]
            columns = self._recoded(predicate, relation.columns)
            if predicate in self.database.times:
                times[predicate] = self.database.times[predicate]
            if columns is relation.columns:
                relations[predicate] = relation
            elif predicate in times:
                relations[predicate], times[predicate] = Relation.timed(columns, times[predicate])
            else:
                relations[predicate] = Relation.of(columns, [len(populations[name]) for name in types])
        return relations, times

    def examples(self) -> dict[str, Examples]:
        """The examples of each target of the schema, their keys without cut-offs."""
        example_sets: dict[str, Examples] = {}
        for target, types in self.schema.predicates.items():
            if target in self.database.example_sets:
                given = self.database.example_sets[target]
                keys = np.stack(self._recoded(target, tuple(given.keys.T)[: len(types)]), axis=1)
                example_sets[target] = replace(given, keys=np.ascontiguousarray(keys))
        return example_sets

    def _recoded(self, predicate: str, columns: Sequence[Codes]) -> Sequence[Codes]:
        """Columns in the schema's codes; the same object if no code changes."""
        types = zip(self.schema.types_of(predicate), self.database.schema.types_of(predicate), strict=True)
        new_codes = [self.recoding[pair] for pair in types]
        if all(new is None for new in new_codes):
            return columns
        return tuple(
            column if new is None else new[column] for column, new in zip(columns, new_codes, strict=True)
        )


def _numbers(database: Database, schema: Schema, populations: Mapping[str, Population]) -> dict[str, Floats]:
    """The values of the schema's numeric types: those of the database if it has them, or read from names."""
    numbers: dict[str, Floats] = {}
    for type_name, kind in schema.numeric.items():
        population = populations.get(type_name)
        if population is None:
            continue
        same_kind = database.schema.numeric.get(type_name) == kind
        if same_kind and population is database.populations.get(type_name):
            numbers[type_name] = database.numbers[type_name]
        else:
            numbers[type_name] = numbers_of(population.names, kind, type_name)
    return numbers


def _populations(database: Database, schema: Schema) -> tuple[dict[str, Population], _Recoding]:
    """The constants of each type of the schema, and their new codes."""
    new_types: dict[str, set[str]] = {}
    for predicate, types in schema.predicates.items():
        for type_name, old in zip(types, database.schema.predicates.get(predicate, ()), strict=False):
            new_types.setdefault(old, set()).add(type_name)
    for type_name in schema.types():
        if type_name in database.populations:
            new_types.setdefault(type_name, {type_name})
    old_types: dict[str, list[str]] = {type_name: [] for type_name in schema.types()}
    for old, type_names in sorted(new_types.items()):
        for type_name in type_names:
            old_types[type_name].append(old)
    populations: dict[str, Population] = {}
    recoding: dict[tuple[str, str], Codes | None] = {}
    for type_name, olds in old_types.items():
        if len(olds) == 1 and len(new_types[olds[0]]) == 1:
            populations[type_name] = database.population(olds[0])
            recoding[type_name, olds[0]] = None
            continue
        codes: dict[str, int] = {}
        for old in olds:
            population = database.population(old)
            used = (
                np.arange(len(population), dtype=np.int32)
                if len(new_types[old]) == 1
                else _codes_at(database, schema, type_name, old)
            )
            new = np.full(len(population), UNKNOWN, dtype=np.int32)
            new[used] = [codes.setdefault(name, len(codes)) for name in population.decode(used)]
            recoding[type_name, old] = new
        populations[type_name] = Population(list(codes))
    return populations, recoding


def _codes_at(database: Database, schema: Schema, type_name: str, old: str) -> Codes:
    """The codes of the database's type ``old`` at arguments that have ``type_name`` in the schema."""
    used = np.zeros(len(database.population(old)), dtype=np.bool_)
    for predicate, types in schema.predicates.items():
        old_types = database.schema.predicates.get(predicate, ())
        for position, pair in enumerate(zip(types, old_types, strict=False)):
            if pair == (type_name, old):
                if predicate in database.relations:
                    used[database.relations[predicate].columns[position]] = True
                if predicate in database.example_sets:
                    used[database.example_sets[predicate].keys[:, position]] = True
    return np.flatnonzero(used).astype(np.int32)
