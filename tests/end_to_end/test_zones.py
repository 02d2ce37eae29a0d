"""Moments mean the same in every time zone: of the machine, of a session, loaded, in place and in SQL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl
import pytest

import servers
from every_engine import ENGINES

ZONES = ("UTC", "America/New_York", "Asia/Kolkata")
CUTOFFS = ("2024-03-10T05:30:30Z", "2024-03-10 05:30:30", "2024-03-10T00:30:30-05:00")
"""the same moment, written in three ways"""
THRESHOLD = "2024-03-10T00:00:00"
MOMENTS = [datetime(2024, 3, 10) + timedelta(hours=hours) for hours in range(-20, 20)]
SCHEMA = {
    "users": {"key": "id"},
    "events": {
        "key": "event",
        "links": {"user_id": "users"},
        "time": "happened",
        "roles": {"due": "date"},
    },
}
SCRIPT = """
import json, sys
import hornbeam as hb
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.registry import open_engine
from hornbeam.logic.parse import parse_clause
from hornbeam.model.clause_model import Model, WeightedClause

source, engine, schema, examples, threshold, sql = json.loads(sys.argv[1])
database = hb.load(source, target="churn(users)", schema=schema, examples=examples, engine=engine)
asked = database.examples_of("churn")
bodies = ["user_id(B,A)", f"user_id(B,A), due(B,C), C < '{threshold}'"]
clauses = [parse_clause(f"churn(A) :- {body}.", database.schema) for body in bodies]
counts = counter_of(open_engine(engine or "memory", database)).count(clauses, asked.keys)
names = [name for name, in database.names_of("churn", asked.keys).tolist()]
shown = [sorted(zip(names, map(int, each.true.tolist()))) for each in counts]
thresholds = database.thresholds("churn", 3, database.last_cutoff("churn", asked.keys))
result = {"counts": shown, "thresholds": sorted(map(str, thresholds.get(("due", 1), ())))}
if sql:
    import duckdb

    weighted = tuple(WeightedClause(clause, (0.0, 1.0, 0.0), 9) for clause in clauses)
    model = Model("churn", database.schema, 0.0, weighted, dict(database.origin))
    tables = {name: ("events", ["event", name], None, "happened") for name in ("user_id", "due")}
    query = model.sql("duckdb", tables, ("asked", ["id"], None, "cutoff"))
    with duckdb.connect() as connection:
        for name in ("users", "events"):
            connection.execute(f"CREATE TABLE {name} AS FROM '{source}/{name}.parquet'")
        connection.execute(f"CREATE TABLE asked AS FROM read_csv('{examples}', all_varchar=true)")
        rows = connection.execute(query).fetchall()
    result["sql"] = [sorted([str(row[0]), int(row[at])] for row in rows) for at in (2, 3)]
print(json.dumps(result))
"""


def asked(folder: Path, cutoff: str) -> str:
    file = folder / "examples.csv"
    file.write_text("id,cutoff,label\n" + "".join(f"{user},{cutoff},{user % 2}\n" for user in range(4)))
    return str(file)


def expected() -> list[list[list[object]]]:
    """The definition: events before the cut-off, and those of them that are due before the threshold."""
    cutoff, threshold = datetime(2024, 3, 10, 5, 30, 30), datetime.fromisoformat(THRESHOLD)
    seen = [(event % 4, moment) for event, moment in enumerate(MOMENTS) if moment < cutoff]
    return [
        [[str(user), sum(who == user and moment < last for who, moment in seen)] for user in range(4)]
        for last in (datetime.max, threshold)
    ]


def answers(zone: str, *words: object) -> dict[str, object]:
    environment = os.environ | {"TZ": zone, "PGTZ": zone}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(words)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def parquet(folder: Path, unit: str, zoned: bool) -> None:
    moments = pl.Series(MOMENTS).cast(pl.Datetime(unit))
    if zoned:
        moments = moments.dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Lisbon")
    events = {"event": range(len(MOMENTS)), "user_id": [event % 4 for event in range(len(MOMENTS))]}
    pl.DataFrame({**events, "happened": moments, "due": moments}).write_parquet(folder / "events.parquet")
    pl.DataFrame({"id": range(4)}).write_parquet(folder / "users.parquet")


@pytest.mark.parametrize(("unit", "zoned"), [("us", True), ("ns", True), ("us", False), ("ns", False)])
@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_a_parquet_file_says_the_same_in_every_zone(
    unit: str, zoned: bool, cutoff: str, tmp_path: Path
) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    parquet(folder, unit, zoned)
    examples = asked(tmp_path, cutoff)
    thresholds = set()
    for zone in ZONES if cutoff == CUTOFFS[0] else ZONES[1:2]:
        loaded = answers(zone, str(folder), None, SCHEMA, examples, THRESHOLD, True)
        in_place = answers(zone, str(folder), "duckdb", SCHEMA, examples, THRESHOLD, False)
        assert loaded["counts"] == in_place["counts"] == loaded["sql"] == expected()
        thresholds |= {tuple(loaded["thresholds"]), tuple(in_place["thresholds"])}
    assert len(thresholds) == 1


@pytest.mark.skipif("postgres" not in ENGINES, reason="PostgreSQL is not available")
@pytest.mark.parametrize("kind", ["timestamptz", "timestamp"])
def test_a_server_says_the_same_in_every_zone(kind: str, tmp_path: Path) -> None:
    import psycopg

    name = f"zones_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(servers.postgres(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    server = f"{servers.postgres()} dbname={name}"
    try:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute("SET timezone = 'UTC'")
            connection.execute("CREATE TABLE users (id int PRIMARY KEY)")
            connection.execute("INSERT INTO users VALUES (0), (1), (2), (3)")
            connection.execute(
                f"CREATE TABLE events (event int PRIMARY KEY, user_id int, happened {kind}, "
                f"due {kind})".encode()
            )
            rows = [
                (event, event % 4, moment.replace(tzinfo=UTC), moment.replace(tzinfo=UTC))
                for event, moment in enumerate(MOMENTS)
            ]
            connection.cursor().executemany("INSERT INTO events VALUES (%s, %s, %s, %s)", rows)
            connection.execute(f"ALTER DATABASE {name} SET datestyle = 'German'".encode())
        examples = asked(tmp_path, CUTOFFS[0])
        for zone in ZONES:
            for engine in (None, "postgres"):
                found = answers(zone, server, engine, SCHEMA, examples, THRESHOLD, False)
                assert found["counts"] == expected(), (zone, engine)
    finally:
        with psycopg.connect(servers.postgres(), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name}".encode())


def test_nanoseconds_are_cut_to_microseconds(tmp_path: Path) -> None:
    """As for texts and frames, also before 1970; a moment is never rounded past a cut-off."""
    import hornbeam as hb

    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT 0 AS id, TIMESTAMP_NS '1960-03-10 06:30:00.123456789' AS born UNION ALL "
            "SELECT 1, TIMESTAMP_NS '2024-03-10 06:30:00.123456789') "
            f"TO '{tmp_path / 'users.parquet'}' (FORMAT parquet)"
        )
    schema = {"users": {"key": "id", "roles": {"born": "date"}}}
    examples = pl.DataFrame({"id": [0, 1], "label": [0, 1]})
    for engine in (None, "duckdb"):
        data = hb.load(tmp_path, target="old(users)", schema=schema, examples=examples, engine=engine)
        thresholds = data.thresholds("old", 3)["born", 1]
        assert thresholds == (datetime(2024, 3, 10, 6, 30, 0, 123456),)
        (first,) = data.facts.constants_at("born", 1)[:1]
        assert first == "1960-03-10T06:30:00.123456"
