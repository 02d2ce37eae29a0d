"""Facts in tables, loaded for a search of clauses, which counts in memory only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from hornbeam.data.database import Database, Population, Relation
from hornbeam.data.facts import FactsInMemory
from hornbeam.data.numbers import Floats
from hornbeam.data.relations import Examples
from hornbeam.engines.contract import Engine
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.sql.expressions import aliased, own_alias
from hornbeam.engines.sql.tallies.numbers import Numbers
from hornbeam.errors import LimitError, size_text
from hornbeam.logic.clauses import format_value
from hornbeam.logic.schema import value_of

BYTES_PER_CONSTANT = 150
"""About the bytes that a constant takes, with its name and its code."""

_LOADED: WeakKeyDictionary[Engine, dict[str, MemoryEngine]] = WeakKeyDictionary()


def loaded(engine: Engine, examples: Examples) -> tuple[Engine, Examples]:
    """An engine whose facts are in memory, and the examples with its codes.

    Both stay as they are if the facts are in memory. Facts that exceed the memory budget are an error.
    """
    database = engine.database
    if not database.is_in_place:
        return engine, examples
    by_target = _LOADED.setdefault(engine, {})
    if examples.target not in by_target:
        loader = _Loader(database, examples.target)
        loader.check_size(engine.memory)
        by_target[examples.target] = MemoryEngine(loader.database(), engine.memory)
    made = by_target[examples.target]
    return made, _with_codes_of(made.database.facts, examples, database)


@dataclass(frozen=True, slots=True, eq=False)
class _NewCodes:
    """The constants of a type in memory, the code of each number of the system, and values of numbers."""

    names: list[str]
    of_number: npt.NDArray[np.int32]
    values: Floats | None = None


class _Loader:
    """Fetches facts as numbers, which are made codes."""

    def __init__(self, database: Database, target: str) -> None:
        assert database.tables is not None
        self._given = database
        schema = database.schema
        words = {mode.predicate for mode in database.modes}
        self._predicates = sorted(words.intersection(database.facts.predicates()))
        self._types = {name for each in (*words, target) for name in schema.types_of(each)}
        self._source: Any = database.tables.source
        self._connection = self._source.connection
        self._numbers = Numbers(database, self._connection, self._source)
        self._codes: dict[str, _NewCodes] = {}

    def check_size(self, memory: int) -> None:
        """Raise an error if the facts would take more than the memory."""
        database, timed = self._given, self._given.facts.timed()
        cells = sum(
            database.n_facts(each) * (database.schema.arity(each) + 2 * (each in timed))
            for each in self._predicates
        )
        size = 4 * cells + BYTES_PER_CONSTANT * sum(len(database.population(each)) for each in self._types)
        if size > memory:
            raise LimitError(
                f"clauses are searched in memory only, where the facts take about {size_text(size)}, more "
                f"than the budget of {size_text(memory)}; allow more memory (--memory), or learn effects, "
                "the default, which leave tables where they are."
            )

    def database(self) -> Database:
        """The database in memory; constants that have a code keep it."""
        given = self._given
        relations: dict[str, Relation] = {}
        times: dict[str, Floats] = {}
        try:
            codes = {name: self._of_type(name) for name in sorted(self._types)}
            for predicate in self._predicates:
                relations[predicate], since = self._relation(predicate)
                if since is not None:
                    times[predicate] = since
        finally:
            self._numbers.close()
        populations = {name: Population(each.names) for name, each in codes.items()}
        numbers = {name: each.values for name, each in codes.items() if each.values is not None}
        facts = FactsInMemory(given.schema, populations, relations, numbers, times)
        return replace(
            given,
            populations=populations,
            relations=relations,
            numbers=numbers,
            times=times,
            tables=None,
            example_sets={
                name: _with_codes_of(facts, each, given)
                for name, each in given.example_sets.items()
                if self._types.issuperset(given.schema.types_of(name))
            },
        )

    def _relation(self, predicate: str) -> tuple[Relation, Floats | None]:
        """The facts of a predicate and, if it has times, the time of each."""
        relation, dialect = self._source.relation(predicate), self._connection.dialect
        types = self._given.schema.types_of(predicate)
        select = exp.Select().from_(aliased(relation.item, "f"), copy=False)
        values = [
            self._numbers.of_constant(select, relation.column(place, "f"), type_name, f"n{place}")
            for place, type_name in enumerate(types)
        ]
        if relation.time is not None:
            values.append(self._numbers.of_time(select, relation.since("f"), predicate, "m"))
        named = [own_alias(value, f"g{place}") for place, value in enumerate(values)]
        text = dialect.text(select.select(*named, copy=False))
        fetched = self._connection.integers(text, len(values))
        columns = [
            self._of_type(type_name).of_number[numbers]
            for type_name, numbers in zip(types, fetched, strict=False)
        ]
        if relation.time is not None:
            return Relation.timed(columns, self._numbers.times(predicate)[fetched[-1]])
        return Relation.of(columns, [len(self._of_type(each).names) for each in types]), None

    def _of_type(self, type_name: str) -> _NewCodes:
        if type_name not in self._codes:
            made = self._numeric if type_name in self._given.schema.numeric else self._named
            self._codes[type_name] = made(type_name)
        return self._codes[type_name]

    def _named(self, type_name: str) -> _NewCodes:
        codes = self._numbers.values(type_name).values.astype(np.int32)
        return _NewCodes(list(self._given.population(type_name).names), codes)

    def _numeric(self, type_name: str) -> _NewCodes:
        kind, names = self._given.schema.numeric[type_name], list(self._given.population(type_name).names)
        known = self._given.facts.values_of(type_name, np.arange(len(names), dtype=np.int32))
        values = self._numbers.values(type_name).values
        code_of: dict[float, int] = {}
        for code, value in enumerate(known.tolist()):
            code_of.setdefault(value, code)
        new = [value for value in dict.fromkeys(values.tolist()) if value not in code_of]
        code_of |= {value: code for code, value in enumerate(new, start=len(names))}
        names += [format_value(value_of(value, kind)) for value in new]
        of_number = np.array([code_of[value] for value in values.tolist()], dtype=np.int32)
        return _NewCodes(names, of_number, np.concatenate([known, np.array(new, dtype=np.float64)]))


def _with_codes_of(facts: Any, examples: Examples, given: Database) -> Examples:
    """The examples with the codes that their cut-offs have in memory."""
    last = given.last_times_of(examples.target, examples.keys)
    plain = examples.keys[:, : given.schema.arity(examples.target)]
    keys = plain if last is None else np.column_stack([plain, facts.cutoff_codes(last)])
    return replace(examples, keys=np.ascontiguousarray(keys, dtype=np.int32))
