"""Facts that stay where they are: tables of a database, counted in place.

Nothing is exported or coded anew. Constants are the columns' own values, joined as they are; in
clauses and keys they go by their text. The user's tables are only read; what is made (constants of
each type, distinct rows of tables that repeat some) is temporary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from sqlglot import exp

from hornbeam.clauses import Value
from hornbeam.database import UNKNOWN, Codes, Database, Examples, Population, Relation
from hornbeam.engines.sql import SqlRelation, SqlTable, aliased, own_column, own_table
from hornbeam.engines.sql_messages import Connection, Values
from hornbeam.engines.sql_sizes import ColumnSizes
from hornbeam.errors import DataError, EngineError, SchemaError
from hornbeam.modes import Kind, Mode
from hornbeam.refine import Constants, Thresholds
from hornbeam.schema import Schema


class ExampleTable(NamedTuple):
    """A table of examples: the parts of its name, its key columns, and its column of labels 0 and 1."""

    name: tuple[str, ...]
    keys: tuple[str, ...]
    label: str


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

    def relation(self, predicate: str) -> Relation:
        self.schema.types_of(predicate)
        raise EngineError(
            f'the facts of "{predicate}" stay in their tables: use the engine of their database.'
        )

    @cached_property
    def constants(self) -> Constants:
        assert self.source is not None
        found = {
            (mode.predicate, position): self.source.constants_at(mode.predicate, position)
            for mode in self.modes
            for position, arg in enumerate(mode.args)
            if arg.kind is Kind.CONSTANT
        }
        return MappingProxyType(found)

    def thresholds(self, target: str, number: int) -> Thresholds:
        return {}


class TableSource:
    """The user's tables as a source of facts, through one connection."""

    def __init__(self, connection: Connection, schema: Schema, tables: Mapping[str, SqlTable]) -> None:
        if schema.numeric:
            raise SchemaError("numeric types cannot be compared in place yet; load the tables instead.")
        for predicate, table in tables.items():
            if len(table.columns) != schema.arity(predicate):
                raise SchemaError(
                    f'table {".".join(table.name)} has {len(table.columns)} columns for "{predicate}", '
                    f"which takes {schema.arity(predicate)}; name one column per argument."
                )
        self.connection = connection
        self._schema = schema
        self._tables = tables
        self._relations: dict[str, SqlRelation] = {}
        self._rows: dict[str, int] = {}
        self._sizes: dict[tuple[str, int], ColumnSizes] = {}
        self._constants: dict[str, str] = {}
        self.populations: dict[str, TablePopulation] = {}

    @property
    def schema(self) -> Schema:
        return self._schema

    # --- what queries are made of ----------------------------------------------------------------

    def relation(self, predicate: str) -> SqlRelation:
        """The table itself where its rows are distinct and complete, else a temporary one of such rows."""
        known = self._relations.get(predicate)
        if known is None:
            known = self._relations[predicate] = self._distinct(predicate)
        return known

    def equals(self, value: exp.Expr, type_name: str, name: str) -> exp.Expr:
        return exp.EQ(this=_text(value), expression=exp.Literal.string(name))

    def compares(self, value: exp.Expr, type_name: str, operator: str, threshold: Value) -> exp.Expr:
        raise EngineError("numeric types cannot be compared in place yet; load the tables instead.")

    def key_values(self, type_name: str, codes: Codes) -> Values:
        # The code of what is unknown, -1, finds the last place.
        names = np.array([*self.populations[type_name].names, None], dtype=object)
        return names[codes]

    def bound(self, keys: str, types: Sequence[str]) -> exp.Select | None:
        """Keys by the columns' own values, from a table of keys by their text; unknown ones are NULL."""
        query = exp.select("u.example", "u.weight").from_(own_table(keys, "u"))
        for number, type_name in enumerate(types):
            alias, key = f"c{number}", own_column(f"k{number}", "u")
            same = exp.EQ(this=own_column("name", alias), expression=key)
            query = query.join(own_table(self._constants_of(type_name), alias), on=same, join_type="LEFT")
            query = query.select(exp.alias_(own_column("constant", alias), f"k{number}"))
        return query

    # --- what is asked of the data ---------------------------------------------------------------

    def population(self, type_name: str, comparisons: Sequence[tuple[str, Value]] = ()) -> int:
        return len(self.populations[type_name])

    def rows(self, predicate: str) -> int:
        if predicate not in self._rows:
            relation = self.relation(predicate)
            query = exp.select(exp.Count(this=exp.Star())).from_(aliased(relation.item, "f"))
            self._rows[predicate] = self._number(query)
        return self._rows[predicate]

    def sizes(self, predicate: str, position: int) -> ColumnSizes:
        place = (predicate, position)
        if place not in self._sizes:
            relation = self.relation(predicate)
            value = relation.column(position, "f")
            counts = exp.select(exp.alias_(exp.Count(this=exp.Star()), "n"))
            counts = counts.from_(aliased(relation.item, "f")).group_by(value)
            query = exp.select(exp.Count(this=exp.Star()), exp.Max(this=own_column("n")))
            ((distinct, largest),) = self._run(query.from_(counts.subquery("counts")))
            self._sizes[place] = ColumnSizes(int(distinct), int(largest or 0))
        return self._sizes[place]

    def constants_at(self, predicate: str, position: int) -> tuple[str, ...]:
        """The constants at an argument, sorted."""
        relation = self.relation(predicate)
        value = _text(relation.column(position, "f"))
        rows = self._run(exp.select(value).distinct().from_(aliased(relation.item, "f")))
        return tuple(sorted(str(name) for (name,) in rows))

    def examples(self, table: ExampleTable) -> tuple[list[tuple[str, ...]], list[int]]:
        """Keys by their text, and labels; an example without a key or a label is refused."""
        item = SqlTable(table.name, (*table.keys, table.label))
        *keys, label = item.expressions("e")
        query = exp.select(*map(_text, keys), exp.cast(label, "INT")).from_(item.expression("e"))
        rows = self._run(query)
        for row in rows:
            if None in row:
                raise DataError(f"table {'.'.join(table.name)} has an example with an empty key or label.")
        return [tuple(map(str, row[:-1])) for row in rows], [int(row[-1]) for row in rows]

    def count_constants(self, named: Mapping[str, Iterable[str]]) -> None:
        """Fix the population of each type: what its columns have, and what is named besides."""
        for type_name in self._schema.types():
            table = self._constants_of(type_name)
            of_tables = self._number(exp.select(exp.Count(this=exp.Star())).from_(table))
            names = set(named.get(type_name, ()))
            extra = names - self._present(type_name, sorted(names))

            def present(some: Sequence[str], type_name: str = type_name, extra: set[str] = extra) -> set[str]:
                return extra.intersection(some) | self._present(type_name, some)

            self.populations[type_name] = TablePopulation([], of_tables + len(extra), present)

    def _present(self, type_name: str, names: Sequence[str]) -> set[str]:
        """Which of some names are constants in the tables."""
        if not names:
            return set()
        table = self.connection.new_name()
        self.connection.load(table, {"name": np.array(names, dtype=object)})
        same = exp.EQ(this=own_column("name", "c"), expression=own_column("name", "u"))
        query = exp.select("u.name").distinct().from_(own_table(table, "u"))
        rows = self._run(query.join(own_table(self._constants_of(type_name), "c"), on=same))
        self.connection.drop(table)
        return {str(name) for (name,) in rows}

    def _constants_of(self, type_name: str) -> str:
        """The table of a type's constants, as they are and as text."""
        if type_name not in self._constants:
            union: exp.Query | None = None
            for predicate in sorted(self._tables):
                relation = self.relation(predicate)
                for position, own in enumerate(self._schema.types_of(predicate)):
                    if own == type_name:
                        value = exp.alias_(relation.column(position, "f"), "constant")
                        part = exp.select(value).from_(aliased(relation.item, "f"))
                        union = part if union is None else union.union(part)
            if union is None:
                union = exp.select(exp.alias_(exp.cast(exp.null(), "TEXT"), "constant")).where(exp.false())
            constant = own_column("constant", "c")
            query = exp.select(constant, exp.alias_(_text(constant.copy()), "name")).distinct()
            self._constants[type_name] = self.connection.new_name()
            self.connection.create(self._constants[type_name], query.from_(union.subquery("c")))
        return self._constants[type_name]

    def _distinct(self, predicate: str) -> SqlRelation:
        if predicate not in self._tables:
            return self._nothing(predicate)
        given = self._tables[predicate]
        columns = given.expressions("f")
        present = [exp.Not(this=exp.Is(this=column.copy(), expression=exp.null())) for column in columns]
        named = [exp.alias_(column.copy(), f"c{number}") for number, column in enumerate(columns)]
        facts = exp.select(*named).distinct().from_(given.expression("f")).where(*present)
        all_rows = self._number(exp.select(exp.Count(this=exp.Star())).from_(given.expression("f")))
        count = exp.select(exp.Count(this=exp.Star())).from_(facts.subquery("facts"))
        self._rows[predicate] = self._number(count)
        if self._rows[predicate] == all_rows:
            return SqlRelation(given.item(), given.columns)
        return SqlRelation(
            exp.to_table(self._make(facts)), tuple(f"c{n}" for n in range(len(columns))), own=True
        )

    def _nothing(self, predicate: str) -> SqlRelation:
        """A relation without facts, its columns of the types that other columns of the same types have."""
        query = exp.Select().where(exp.false())
        for number, type_name in enumerate(self._schema.types_of(predicate)):
            constants = own_table(self._constants_of(type_name), f"t{number}")
            query = query.join(constants, join_type="CROSS") if number else query.from_(constants)
            query = query.select(exp.alias_(own_column("constant", f"t{number}"), f"c{number}"))
        own = tuple(f"c{number}" for number in range(self._schema.arity(predicate)))
        return SqlRelation(exp.to_table(self._make(query)), own, own=True)

    def _make(self, query: exp.Select) -> str:
        name = self.connection.new_name()
        self.connection.create(name, query)
        return name

    def _run(self, query: exp.Select) -> list[tuple[Any, ...]]:
        return self.connection.rows(self.connection.dialect.text(query))

    def _number(self, query: exp.Select) -> int:
        ((number,),) = self._run(query)
        return int(number)


def _text(value: exp.Expr) -> exp.Expr:
    return exp.cast(value, "TEXT")


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
    rows, labels = source.examples(examples)
    named = {name: set(names) for name, names in (ranges or {}).items()}
    for position, type_name in enumerate(schema.types_of(target)):
        named.setdefault(type_name, set()).update(row[position] for row in rows)
    source.count_constants(named)
    order = sorted(range(len(rows)), key=lambda row: -labels[row])
    codes = np.empty((len(rows), schema.arity(target)), dtype=np.int32)
    for position, type_name in enumerate(schema.types_of(target)):
        codes[:, position] = source.populations[type_name].encode(rows[row][position] for row in order)
    given = Examples(target, codes, np.array([labels[row] for row in order], dtype=np.int8))
    return TableDatabase(
        schema,
        tuple(modes),
        MappingProxyType(dict(source.populations)),
        MappingProxyType({}),
        MappingProxyType({target: given}),
        source=source,
    )
