"""Exported SQL gives the model's probabilities whatever the types of columns, on each database system.

A table is made in a database, loaded, and scored by the exported query in the same database. The matrix is
(system, type of the column, role of the column), and for moments also the time zone of the session.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb
import polars as pl
import pytest

import hornbeam as hb
import servers
from every_engine import ENGINES
from hornbeam.data.database import Database
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.logic.clauses import AT_LEAST, Atom, Clause, Comparison
from hornbeam.logic.schema import read_value
from hornbeam.model.clause_model import Model, WeightedClause

Rows = list[tuple[object, ...]]
ZONES = ("UTC", "America/New_York", "Asia/Kolkata")

WHOLE = ("3", "-1", "0", "70")
LONG = ("1234567890123456789", "1234567890123456788", "3")
SHORT = ("3.0", "2.5", "0.7", "0.1", "-1.0")
FLOATS = ("3.0", "2.5", "-0.0", "1e-07", "1e20", "0.30000000000000004", "0.3", "123456789.0")
WORDS = ("3", "3.0", "03", "Rome", "true", "2024-03-10")
TRUTH = ("true", "false")
DAYS = ("2024-03-10", "1969-07-20", "2024-03-11")
MIDNIGHTS = ("2024-03-10 00:00:00", "1969-07-20 00:00:00")
MOMENTS = ("2024-03-10 06:30:00", "2024-03-10 00:00:00", "1969-07-20 20:17:40.123456")
ZONED = ("2024-03-10 02:30:00-05:00", "2024-03-10 06:30:00+00:00", "2024-11-03 05:30:00+00:00")
UUIDS = ("11111111-2222-3333-4444-555555555555", "aaaaaaaa-2222-3333-4444-555555555555")

NUMBERS = ("category", "number", "link")
DATES = ("category", "date")
TYPES: dict[str, dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "duckdb": {
        "TINYINT": (WHOLE, NUMBERS),
        "BIGINT": (LONG, ("category", "link")),
        "HUGEINT": (("123456789012345678901234", "3"), ("category",)),
        "FLOAT": (SHORT, ("category", "number")),
        "DOUBLE": (FLOATS, ("category", "number")),
        "DECIMAL(3,1)": (SHORT, NUMBERS),
        "DECIMAL(18,4)": (SHORT, ("category", "number")),
        "DECIMAL(9,0)": (WHOLE, NUMBERS),
        "DECIMAL(38,0)": (("123456789012345678901234", "3"), ("category",)),
        "VARCHAR": (WORDS, ("category", "link")),
        "BOOLEAN": (TRUTH, ("category", "flag")),
        "DATE": (DAYS, DATES),
        "TIMESTAMP": (MOMENTS, DATES),
        "TIMESTAMP_S": (MIDNIGHTS, DATES),
        "TIMESTAMP_NS": (MOMENTS, DATES),
        "TIMESTAMPTZ": (ZONED, DATES),
        "UUID": (UUIDS, ("category", "link")),
    },
    "postgres": {
        "smallint": (WHOLE, NUMBERS),
        "bigint": (LONG, ("category", "link")),
        "real": (SHORT, ("category", "number")),
        "double precision": (FLOATS, ("category", "number")),
        "numeric": (SHORT, NUMBERS),
        "numeric(3,1)": (SHORT, NUMBERS),
        "numeric(24,0)": (("123456789012345678901234", "3"), ("category",)),
        "text": (WORDS, ("category", "link")),
        "varchar(40)": (WORDS, ("category",)),
        "boolean": (TRUTH, ("category", "flag")),
        "date": (DAYS, DATES),
        "timestamp": (MOMENTS, DATES),
        "timestamptz": (ZONED, DATES),
        "uuid": (UUIDS, ("category", "link")),
    },
    "sqlite": {
        "INTEGER": (WHOLE, NUMBERS),
        "REAL": (FLOATS, ("category", "number")),
        "NUMERIC": (SHORT, NUMBERS),
        "TEXT": (WORDS, ("category", "link")),
        "BOOLEAN": (("1", "0"), ("category", "flag")),
        "DATE": (DAYS, ("category",)),
        "TIMESTAMP": (MOMENTS, ("category",)),
    },
}
SYSTEMS = [system for system in TYPES if system == "sqlite" or system in ENGINES]
MATRIX = [
    pytest.param(system, kind, values, role, id=f"{system}-{kind}-{role}")
    for system in SYSTEMS
    for kind, (values, roles) in TYPES[system].items()
    for role in roles
]


@contextmanager
def filled(system: str, statements: list[str], folder: Path) -> Iterator[tuple[str, Callable[[str], Rows]]]:
    """A database with tables: what ``load`` reads, and a function that runs a query."""
    if system == "postgres":
        import psycopg

        schema = f"types_{uuid.uuid4().hex[:8]}"
        server = servers.postgres()
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}".encode())
            connection.execute(f"SET search_path TO {schema}".encode())
            try:
                for statement in statements:
                    connection.execute(statement.encode())
                yield f"{schema}", lambda text: connection.execute(text.encode()).fetchall()
            finally:
                connection.execute(f"DROP SCHEMA {schema} CASCADE".encode())
        return
    path = folder / f"data.{system}"
    if system == "duckdb":
        with duckdb.connect(str(path)) as made:
            for statement in statements:
                made.execute(statement)
        with duckdb.connect(str(path), read_only=True) as opened:
            # Loading opens the file as well, with other settings, so both use the same connection string.
            yield str(path), lambda text: opened.execute(text).fetchall()
        return
    with closing(sqlite3.connect(path)) as file:
        for statement in statements:
            file.execute(statement)
        file.commit()
        yield str(path), lambda text: file.execute(text).fetchall()


def tables(kind: str, values: tuple[str, ...], role: str) -> list[str]:
    """Users with a value, one without, and one with a value that another user has too."""
    rows = [(number, f"'{value}'") for number, value in enumerate((*values, values[0]))]
    rows.append((len(rows), "NULL"))
    users = ", ".join(f"({number}, {value})" for number, value in rows)
    statements = [
        f"CREATE TABLE users (id INTEGER PRIMARY KEY, v {kind})",
        f"INSERT INTO users VALUES {users}",
    ]
    if role == "link":
        things = ", ".join(f"('{value}')" for value in values)
        statements += [f"CREATE TABLE things (k {kind})", f"INSERT INTO things VALUES {things}"]
    return statements


def loaded(source: str, system: str, role: str, size: int) -> Database:
    prefix = f"{source}." if system == "postgres" else ""
    schema: dict[str, object] = {f"{prefix}users": {"key": "id", "roles": {"v": role}}}
    if role == "link":
        schema = {
            f"{prefix}users": {"key": "id", "links": {"v": f"{prefix}things"}},
            f"{prefix}things": {"key": "k"},
        }
    examples = pl.DataFrame({"id": list(range(size)), "label": [number % 2 for number in range(size)]})
    place = servers.postgres() if system == "postgres" else source
    if system == "postgres":
        schema |= {name: {"use": False} for name in _others(source)}
    return hb.load(place, target=f"churn({prefix}users)", schema=schema, examples=examples)


def _others(schema: str) -> list[str]:
    """The tables of the server that are not in a schema: other tests may have left them."""
    from hornbeam.loading.tables.sources.postgres import postgres_catalogue

    return [name for name in postgres_catalogue(servers.postgres()) if not name.startswith(f"{schema}.")]


def learned(database: Database, role: str) -> Model:
    """A model with every constant and every threshold of the column in a clause of its own."""
    (predicate,) = [
        name for name in database.schema.predicates if name != "churn" and database.has_facts(name)
    ]
    bodies = [(Atom(predicate, (0,)),)] if role == "flag" else [(Atom(predicate, (0, 1)),)]
    weighted = []
    if role != "flag":
        names = sorted(database.population(database.schema.types_of(predicate)[1]).names)
        bodies += [(Atom(predicate, (0, name)),) for name in names]
        if role in ("number", "date"):
            values = [value for name in names if (value := read_value(name)) is not None]
            bodies += [(Atom(predicate, (0, 1)), Comparison(1, AT_LEAST, value)) for value in values]
            bodies += [(Atom(predicate, (0, 1)), Comparison(1, "<", value)) for value in values]
        clause = Clause(Atom("churn", (0,)), (Atom(predicate, (0, 1)),))
        constants = tuple((name, 0.1 + 0.3 * number) for number, name in enumerate(names))
        if role not in ("number", "date"):
            weighted.append(WeightedClause(clause, (0.0, 1.0, 0.0), len(names), "count", 1, constants))
    for number, body in enumerate(bodies):
        clause = Clause(Atom("churn", (0,)), body)
        total = counter_of(MemoryEngine(database)).total(clause)
        weighted.append(WeightedClause(clause, (0.0, 0.07 * (number + 1) ** 1.3, 0.0), total))
    return Model("churn", database.schema, -1.0, tuple(weighted), {"populations": "training"})


@pytest.mark.parametrize(("system", "kind", "values", "role"), MATRIX)
def test_constants_are_compared_by_value(
    system: str, kind: str, values: tuple[str, ...], role: str, tmp_path: Path
) -> None:
    size = len(values) + 2
    with filled(system, tables(kind, values, role), tmp_path) as (source, run):
        database = loaded(source, system, role, size)
        model = learned(database, role)
        names, _ = database.examples("churn")
        keys = database.encode_keys("churn", names)
        expected = dict(
            zip(names[:, 0], model.probabilities(MemoryEngine(database), keys).tolist(), strict=True)
        )
        assert len(set(expected.values())) > 1
        (predicate,) = [
            name for name in database.schema.predicates if name != "churn" and database.has_facts(name)
        ]
        where = ("users", ["id"], "v") if role == "flag" else ("users", ["id", "v"])
        query = model.sql(system, {predicate: where}, ("users", ["id"]))
        zones = ("",) if system == "sqlite" else ZONES
        for zone in zones:
            if zone:
                run_setting(run, system, zone)
            scored = {str(row[0]): float(str(row[-1])) for row in run(query)}
            assert scored == pytest.approx(expected, abs=1e-9), zone


def run_setting(run: Callable[[str], Rows], system: str, zone: str) -> None:
    """Set the zone of the session; the statement of PostgreSQL must return rows."""
    run(
        f"SET TimeZone = '{zone}'"
        if system == "duckdb"
        else f"SELECT set_config('timezone', '{zone}', false)"
    )
