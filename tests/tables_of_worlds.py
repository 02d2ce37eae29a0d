"""Random databases as tables of a SQL system, so that their facts stay in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from sqlglot import exp

from hornbeam.data.database import Codes, Database
from hornbeam.data.numbers import Floats
from hornbeam.engines.contract import Engine
from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.expressions import SqlTable
from hornbeam.in_place.database import database_in_place
from hornbeam.in_place.facts import TableFacts
from hornbeam.in_place.source import TableSource
from hornbeam.logic.schema import DATE, NUMBER, value_of
from strategies import STRANGER, TARGET, with_cutoffs

SQL_TYPES = {None: "TEXT", NUMBER: "DOUBLE", DATE: "TIMESTAMP"}
EARLIEST = -86_400_000_000.0
"""The time that takes the place of minus infinity, which no date is."""


def connected(engine: type[Engine]) -> Connection:
    """A connection to the system of an engine."""
    if engine.name == "postgres":
        from hornbeam.engines.sql.drivers.postgres import PostgresConnection

        return PostgresConnection("", 10**9)
    if engine.name == "spark":
        from hornbeam.engines.sql.drivers.spark import SparkConnection

        return SparkConnection()
    from hornbeam.engines.sql.drivers.duckdb import DuckDBConnection

    return DuckDBConnection(10**9)


def with_dates_for_times(database: Database) -> Database:
    """The database; if its times are dates, none of them is minus infinity."""
    if database.origin.get("times") != DATE:
        return database
    times = {name: np.where(each == -np.inf, EARLIEST, each) for name, each in database.times.items()}
    return replace(database, times=times)


def facts_in_place(database: Database, connection: Connection) -> Database:
    """The same facts in tables of a connection, without examples."""
    schema = database.schema
    time_kind = str(database.origin.get("times", NUMBER))
    tables = {}
    for predicate, relation in database.relations.items():
        types = schema.types_of(predicate)
        columns = {
            f"c{place}": np.array([*database.population(name).decode(codes), None], dtype=object)[:-1]
            for place, (name, codes) in enumerate(zip(types, relation.columns, strict=True))
        }
        kinds: dict[str, str | None] = {
            f"c{place}": schema.numeric.get(name) for place, name in enumerate(types)
        }
        times = database.times.get(predicate)
        if times is not None:
            columns["day"] = np.array([*_texts(times, time_kind), None], dtype=object)[:-1]
            kinds["day"] = time_kind
        name = _table(connection, columns, kinds)
        tables[predicate] = SqlTable((name,), tuple(f"c{n}" for n in range(len(types))), None, None)
        if times is not None:
            tables[predicate] = tables[predicate]._replace(time="day")
    # Tables of keys have the constants that occur in no fact.
    keys = {}
    for type_name in schema.types():
        names = np.array([*database.population(type_name).names, None], dtype=object)[:-1]
        name = _table(connection, {"c0": names}, {"c0": schema.numeric.get(type_name)})
        keys[type_name] = [SqlTable((name,), ("c0",))]
    facts = TableFacts(TableSource(connection, schema, tables, keys, time_kind))
    in_place = database_in_place(facts, (), None, None, origin=dict(database.origin))
    return in_place.under_rule(database.rule)


def _texts(times: Floats, kind: str) -> list[str | None]:
    """Times as text; a fact without a time has the time infinity in memory."""
    return [
        None if time == np.inf else str(value_of(time, kind)) if np.isfinite(time) else "-inf"
        for time in times.tolist()
    ]


def _table(connection: Connection, columns: Mapping[str, np.ndarray], kinds: Mapping[str, str | None]) -> str:
    texts, name = connection.new_name(), connection.new_name()
    # One more row, which is then left out, so that each column has text whatever the facts are.
    connection.load(
        texts,
        {
            "used": np.array([*["yes"] * len(columns["c0"]), "no"], dtype=object),
            **{key: np.array([*values, "1"], dtype=object) for key, values in columns.items()},
        },
    )
    values = [exp.alias_(exp.cast(exp.column(key), SQL_TYPES[kinds[key]]), key) for key in columns]
    used = exp.EQ(this=exp.column("used"), expression=exp.Literal.string("yes"))
    rows = exp.select("*").from_(exp.to_table(texts)).where(used).subquery("u")
    connection.create(name, exp.select(*values).from_(rows))
    return name


def has_one_name_for_each_value(database: Database) -> bool:
    """In place a number is its value, whatever its text: such data, and keys that are not numbers."""
    schema = database.schema
    is_key = any(name in schema.numeric for name in schema.types_of(TARGET))
    return not is_key and all(len(np.unique(each)) == len(each) for each in database.numbers.values())


def dated(database: Database, keys: Codes) -> tuple[Database, Codes]:
    """The database; if its times are dates, none of them is minus infinity. And the keys in its codes."""
    changed = with_dates_for_times(database)
    cutoffs = database.real_cutoffs_of(TARGET, keys)
    if cutoffs is None:
        return changed, keys
    return changed, with_cutoffs(changed, keys[:, : database.schema.arity(TARGET)], cutoffs)


def keys_in_place(loaded: Database, keys: Codes, database: Database) -> Codes:
    """Keys and cut-offs of loaded data in the codes of a database in place."""
    types = database.schema.types_of(TARGET)
    columns = []
    for codes, name in zip(keys.T, types, strict=False):
        names = [*loaded.population(name).names, STRANGER]
        columns.append(database.population(name).encode(names[code] for code in codes.tolist()))
    named = np.column_stack(columns)
    cutoffs = loaded.real_cutoffs_of(TARGET, keys)
    return named if cutoffs is None else np.column_stack([named, database.cutoff_codes(cutoffs)])
