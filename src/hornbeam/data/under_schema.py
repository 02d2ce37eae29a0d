"""A database seen under another schema: that of a model learned on other data.

Nothing is inferred again: predicates, arities and types are those of the given schema, the facts,
examples and constants those of the database. Where the database's own types already say the same,
its columns are shared, not copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from hornbeam.data.database import UNKNOWN, Codes, Database, Examples, Population, Relation
from hornbeam.data.numbers import Floats, moments_of, numbers_of
from hornbeam.errors import SchemaError
from hornbeam.logic.schema import Schema

_Recoding = Mapping[tuple[str, str], Codes | None]
"""From a type of the database to one of the schema: the new code of each old one, None for the same."""


def under(database: Database, schema: Schema) -> Database:
    """The database under a schema; predicates it lacks are empty, those the schema lacks are left out.

    A type's population holds the constants that the database has at arguments of that type (facts
    and examples), and what it declares for a type of that name. Modes are for learning: there are
    none in a view of other types.

    >>> from hornbeam.data.database import build
    >>> db = build(Schema({"smokes": ("t1",)}), (), {"smokes": [["ann", "bob"]]})
    >>> seen = under(db, Schema({"smokes": ("person",), "friends": ("person", "person")}))
    >>> len(seen.relation("smokes")), len(seen.relation("friends")), seen.population("person").names
    (2, 0, ['ann', 'bob'])
    """
    if database.schema.predicates == schema.predicates and database.schema.numeric == schema.numeric:
        return database
    if database.marks() is not None:
        raise SchemaError(
            "tables that stay in place must be those that the model was learned from; load them, with "
            "another engine."
        )
    for predicate, types in schema.predicates.items():
        own = database.schema.predicates.get(predicate)
        if own is not None and len(own) != len(types):
            raise SchemaError(
                f'"{predicate}" has {len(own)} arguments in the data, but {len(types)} were expected: '
                f"{predicate}({','.join(types)})."
            )
    populations, recoding = _populations(database, schema)
    relations: dict[str, Relation] = {}
    times: dict[str, Floats] = {}
    examples: dict[str, Examples] = {}
    for predicate, types in schema.predicates.items():
        pairs = list(zip(types, database.schema.predicates.get(predicate, ()), strict=False))
        sizes = [len(populations[type_name]) for type_name in types]
        if predicate in database.relations:
            columns = database.relations[predicate].columns
            coded = _recode(columns, pairs, recoding)
            if predicate in database.times:
                times[predicate] = database.times[predicate]
            if coded is columns:
                relations[predicate] = database.relations[predicate]
            elif predicate in times:
                relations[predicate], times[predicate] = Relation.timed(coded, times[predicate])
            else:
                relations[predicate] = Relation.of(coded, sizes)
        if predicate in database.example_sets:
            given = database.example_sets[predicate]
            columns = tuple(given.keys.T)[: len(types)]
            keys = np.stack(_recode(columns, pairs, recoding), axis=1)
            examples[predicate] = replace(given, keys=np.ascontiguousarray(keys))
    moments = moments_of(times)
    for predicate, given in examples.items():
        if given.cutoffs is not None and times:
            places = np.searchsorted(moments, given.cutoffs, "right").astype(np.int32)
            examples[predicate] = replace(given, keys=np.column_stack([given.keys, places]))
    return Database(
        schema,
        (),
        MappingProxyType(populations),
        MappingProxyType(relations),
        MappingProxyType(examples),
        database.notices,
        database.origin,
        MappingProxyType(_numbers(database, schema, populations)),
        MappingProxyType(times),
    )


def _numbers(database: Database, schema: Schema, populations: Mapping[str, Population]) -> dict[str, Floats]:
    """The values of the schema's numeric types: the database's own where it has them, else by name."""
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
    """The constants of each type of the schema, and how the database's codes become theirs."""
    wanted: dict[str, set[str]] = {}
    for predicate, types in schema.predicates.items():
        for type_name, own in zip(types, database.schema.predicates.get(predicate, ()), strict=False):
            wanted.setdefault(own, set()).add(type_name)
    for type_name in schema.types():
        if type_name in database.populations:
            wanted.setdefault(type_name, {type_name})
    sources: dict[str, list[str]] = {type_name: [] for type_name in schema.types()}
    for own, type_names in sorted(wanted.items()):
        for type_name in type_names:
            sources[type_name].append(own)
    populations: dict[str, Population] = {}
    recoding: dict[tuple[str, str], Codes | None] = {}
    for type_name, owns in sources.items():
        if len(owns) == 1 and len(wanted[owns[0]]) == 1:
            populations[type_name] = database.population(owns[0])
            recoding[type_name, owns[0]] = None
            continue
        codes: dict[str, int] = {}
        for own in owns:
            population = database.population(own)
            used = (
                np.arange(len(population), dtype=np.int32)
                if len(wanted[own]) == 1
                else _seen(database, schema, type_name, own)
            )
            new = np.full(len(population), UNKNOWN, dtype=np.int32)
            new[used] = [codes.setdefault(name, len(codes)) for name in population.decode(used)]
            recoding[type_name, own] = new
        populations[type_name] = Population(list(codes))
    return populations, recoding


def _seen(database: Database, schema: Schema, type_name: str, own: str) -> Codes:
    """The database's codes of its type ``own`` at arguments that are of ``type_name`` in the schema."""
    found = np.zeros(len(database.population(own)), dtype=np.bool_)
    for predicate, types in schema.predicates.items():
        for position, pair in enumerate(
            zip(types, database.schema.predicates.get(predicate, ()), strict=False)
        ):
            if pair == (type_name, own):
                if predicate in database.relations:
                    found[database.relations[predicate].columns[position]] = True
                if predicate in database.example_sets:
                    found[database.example_sets[predicate].keys[:, position]] = True
    return np.flatnonzero(found).astype(np.int32)


def _recode(
    columns: Sequence[Codes], pairs: Sequence[tuple[str, str]], recoding: _Recoding
) -> Sequence[Codes]:
    """Columns in the schema's codes; the very same object where no code changes."""
    maps = [recoding[pair] for pair in pairs]
    if all(new is None for new in maps):
        return columns
    return tuple(column if new is None else new[column] for column, new in zip(columns, maps, strict=True))
