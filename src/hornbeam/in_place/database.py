"""A database whose facts stay in their tables; only the examples are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hornbeam.data.codes import without_facts
from hornbeam.data.database import (
    Database,
    Examples,
    Notice,
    merged_examples,
)
from hornbeam.data.facts import with_cutoff_codes
from hornbeam.data.numbers import STRICT
from hornbeam.in_place.facts import TableFacts
from hornbeam.in_place.population import PopulationInPlace
from hornbeam.in_place.source import TableSource
from hornbeam.loading.tables.given import GivenExamples
from hornbeam.logic.schema import Mode


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
