"""The data that end at the last cut-off of some examples: what comes later has no part in a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Database, Examples, Population, Relation
from hornbeam.data.facts import FactsInMemory, with_cutoff_codes
from hornbeam.data.numbers import Floats

Mask = npt.NDArray[np.bool_]


def before_the_end(database: Database, examples: Examples) -> tuple[Database, Examples]:
    """The database without the facts that none of the examples sees, and the examples in it.

    Constants that only such facts have are left out, too. Without cut-offs, or if an example sees all facts,
    both stay as they are.

    >>> from hornbeam.data.build import build
    >>> from hornbeam.logic.schema import Schema
    >>> facts, times = {"paid": [["ann", "bob"]]}, {"paid": [1.0, 3.0]}
    >>> schema = Schema({"paid": ("t",), "vip": ("t",)})
    >>> db = build(schema, (), facts, {"vip": ([("ann",)], [1])}, None, (), None, times, {"vip": [2.0]})
    >>> ended, examples = before_the_end(db, db.example_sets["vip"])
    >>> len(ended.relation("paid")), ended.population("t").names
    (1, ['ann'])
    """
    last = database.last_times_of(examples.target, examples.keys)
    end = np.inf if last is None else float(last.max(initial=-np.inf))
    if last is None or not np.isfinite(end):
        return database, examples
    if database.tables is not None:
        named: dict[str, set[str]] = {}
        for each in [*database.example_sets.values(), examples]:
            for position, type_name in enumerate(database.schema.types_of(each.target)):
                codes = np.unique(each.keys[:, position])
                names = database.population(type_name).decode(codes[codes >= 0])
                named.setdefault(type_name, set()).update(names)
        ended = database.tables.until(end, database.populations, named)
        if ended is None:
            return database, examples
        return replace(database, tables=ended[0], populations=ended[1]), examples
    kept = {name: times <= end for name, times in database.times.items()}
    used = _used(database, examples, kept, end)
    if all(mask.all() for mask in [*kept.values(), *used.values()]):
        return database, examples
    return _ended(database, examples, kept, used, last)


def _used(database: Database, examples: Examples, kept: Mapping[str, Mask], end: float) -> dict[str, Mask]:
    """For each type which constants occur in facts up to the end or in examples, or are declared by then."""
    used = {name: np.zeros(len(each), dtype=bool) for name, each in database.populations.items()}
    for name, since in database.declared.items():
        used[name][: len(since)] |= since <= end
    for predicate, relation in database.relations.items():
        for type_name, codes in zip(database.schema.types_of(predicate), relation.columns, strict=True):
            used[type_name][codes[kept[predicate]] if predicate in kept else codes] = True
    for each in [*database.example_sets.values(), examples]:
        for position, type_name in enumerate(database.schema.types_of(each.target)):
            codes = each.keys[:, position]
            used[type_name][codes[codes >= 0]] = True
    return used


def _ended(
    database: Database, examples: Examples, kept: Mapping[str, Mask], used: Mapping[str, Mask], last: Floats
) -> tuple[Database, Examples]:
    """The facts that are kept, with new codes, and the examples with these codes."""
    codes = {name: np.append(np.cumsum(mask) - 1, -1).astype(np.int32) for name, mask in used.items()}
    populations = {
        name: population
        if used[name].all()
        else Population(population.decode(np.flatnonzero(used[name]).astype(np.int32)))
        for name, population in database.populations.items()
    }
    relations, times = {}, {}
    for predicate, relation in database.relations.items():
        columns: tuple[Codes, ...] = relation.columns
        if predicate in kept:
            columns = tuple(column[kept[predicate]] for column in columns)
            times[predicate] = database.times[predicate][kept[predicate]]
        types = database.schema.types_of(predicate)
        # Codes keep their order, so that rows stay sorted.
        relations[predicate] = Relation(
            tuple(codes[type_name][column] for type_name, column in zip(types, columns, strict=True))
        )
    numbers = {name: values[used[name]] for name, values in database.numbers.items()}
    declared = {name: since[used[name][: len(since)]] for name, since in database.declared.items()}
    facts = FactsInMemory(database.schema, populations, relations, numbers, times)

    def recoded(each: Examples) -> Examples:
        types = database.schema.types_of(each.target)
        keys = [codes[type_name][each.keys[:, place]] for place, type_name in enumerate(types)]
        return replace(each, keys=np.stack(keys, axis=1))

    ended = replace(
        database,
        populations=populations,
        relations=relations,
        numbers=numbers,
        times=times,
        declared=declared,
        example_sets={
            name: with_cutoff_codes(recoded(each), facts, database.rule)
            for name, each in database.example_sets.items()
        },
    )
    of_keys = recoded(examples)
    return ended, replace(of_keys, keys=np.column_stack([of_keys.keys, facts.cutoff_codes(last)]))
