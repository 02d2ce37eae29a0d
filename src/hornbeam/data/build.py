"""A database in memory, built from names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hornbeam.data.codes import Coded, Coder, NameRows, example_columns, merged_examples
from hornbeam.data.database import Database
from hornbeam.data.facts import FactsInMemory, with_cutoff_codes
from hornbeam.data.names import Codes
from hornbeam.data.numbers import STRICT, Floats, numbers_of, times_of
from hornbeam.data.relations import Examples, Notice, Population, Relation
from hornbeam.errors import SchemaError
from hornbeam.logic.schema import Mode, Schema

FactNames = Mapping[str, Sequence[Sequence[str] | Coded]]
"""For each predicate, one column of names per argument."""
ExampleNames = Mapping[str, tuple[NameRows | Sequence[Coded], Sequence[int]]]
"""For each target, the keys of its examples, as rows of names or as coded columns, and their labels."""
Times = Mapping[str, Sequence[float] | Floats]
"""A time for each fact of a predicate, or for each example of a target. Not all of them need times."""


def build(
    schema: Schema,
    modes: Sequence[Mode],
    facts: FactNames,
    examples: ExampleNames | None = None,
    ranges: Mapping[str, Sequence[str]] | None = None,
    notices: Sequence[Notice] = (),
    origin: Mapping[str, object] | None = None,
    times: Times | None = None,
    cutoffs: Times | None = None,
    range_times: Times | None = None,
) -> Database:
    """A database from names: columns of facts by predicate, and examples with labels by target.

    Duplicate examples count once, and an example with both labels is positive; a notice tells the user in
    either case. ``ranges`` lists constants by type; they need not occur in facts. ``times`` has the times of
    facts by predicate, and ``cutoffs`` the cut-off times of examples by target: the same key with another
    cut-off is another example. Facts before the cut-off exist; ``Database.under_rule`` can change that.
    ``range_times`` has, for some types, the time since which each constant of the range exists.
    Values of numeric types are read from the names of their constants.

    >>> db = build(Schema({"smokes": ("person",)}), (), {"smokes": [["ann", "bob", "ann"]]})
    >>> len(db.relation("smokes")), len(db.population("person"))
    (2, 2)
    """
    coder = Coder(schema.types())
    declared = {
        type_name: _declared(coder.encode(names, type_name), (range_times or {}).get(type_name))
        for type_name, names in (ranges or {}).items()
    }
    fact_codes = {
        predicate: [
            coder.encode(column, type_name)
            for column, type_name in zip(columns, _types(schema, predicate, len(columns)), strict=True)
        ]
        for predicate, columns in facts.items()
    }
    example_codes = _example_codes(coder, schema, examples or {})
    populations = coder.populations()
    in_memory = _facts_in_memory(schema, populations, fact_codes, times or {})
    example_sets, merged = _example_sets(in_memory, example_codes, cutoffs or {})
    return Database(
        schema=schema,
        modes=tuple(modes),
        populations=populations,
        relations=in_memory.relations,
        example_sets=example_sets,
        notices=(*notices, *merged),
        origin=origin or {},
        numbers=in_memory.numbers,
        times=in_memory.times,
        declared=declared if in_memory.times else {},
    )


def _declared(codes: Codes, times: Sequence[float] | Floats | None) -> Floats:
    """For each code the time since which its constant is declared."""
    size = int(codes.max(initial=-1)) + 1
    if times is None:
        return np.broadcast_to(-np.inf, size)
    since = np.full(size, np.inf)
    np.minimum.at(since, codes, times)
    return since


_ExampleCodes = Mapping[str, tuple[list[Codes], Sequence[int]]]


def _types(schema: Schema, predicate: str, arity: int) -> tuple[str, ...]:
    types = schema.types_of(predicate)
    if len(types) != arity:
        raise SchemaError(
            f'facts of "{predicate}" have {arity} arguments, but the schema says '
            f"{predicate}({','.join(types)})."
        )
    return types


def _example_codes(coder: Coder, schema: Schema, examples: ExampleNames) -> _ExampleCodes:
    """The keys of examples as columns of codes, and their labels; new names get new codes."""
    coded = {}
    for target, (keys, labels) in examples.items():
        types = schema.types_of(target)
        columns = example_columns(keys, len(types))
        coded[target] = (
            [coder.encode(column, type_name) for column, type_name in zip(columns, types, strict=True)],
            labels,
        )
    return coded


def _facts_in_memory(
    schema: Schema,
    populations: Mapping[str, Population],
    columns: Mapping[str, Sequence[Codes]],
    times: Times,
) -> FactsInMemory:
    numbers = {
        type_name: numbers_of(populations[type_name].names, kind, type_name)
        for type_name, kind in schema.numeric.items()
        if type_name in populations
    }
    relations: dict[str, Relation] = {}
    times_of_rows: dict[str, Floats] = {}
    for predicate, codes in columns.items():
        if predicate in times:
            row_times = times_of(times[predicate], f'facts of "{predicate}"')
            relations[predicate], times_of_rows[predicate] = Relation.timed(codes, row_times)
        else:
            sizes = [len(populations[type_name]) for type_name in schema.types_of(predicate)]
            relations[predicate] = Relation.of(codes, sizes)
    return FactsInMemory(schema, populations, relations, numbers, times_of_rows)


def _example_sets(
    facts: FactsInMemory, examples: _ExampleCodes, cutoffs: Times
) -> tuple[dict[str, Examples], list[Notice]]:
    """The examples of each target without duplicates, and notices about the duplicates."""
    example_sets, notices = {}, []
    for target, (keys, labels) in examples.items():
        populations = [facts.populations[type_name] for type_name in facts.schema.types_of(target)]
        times = times_of(cutoffs[target], f'examples of "{target}"') if target in cutoffs else None
        merged, about_duplicates = merged_examples(target, keys, labels, populations, times)
        notices += about_duplicates
        example_sets[target] = with_cutoff_codes(merged, facts, STRICT)
    return example_sets, notices
