"""Groundings that a query names are those that a search in memory finds."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.data.codes import Coded
from hornbeam.data.database import Database
from hornbeam.engines.sql.drivers.duckdb import DuckDBConnection
from hornbeam.engines.sql.expressions import SqlTable
from hornbeam.in_place.database import database_in_place
from hornbeam.in_place.facts import TableFacts
from hornbeam.in_place.source import TableSource
from hornbeam.loading.tables.given import GivenExamples
from hornbeam.logic.parse import parse_clause, parse_mode
from hornbeam.logic.schema import Schema
from hornbeam.model.explain import named_groundings

SCHEMA = Schema(
    {
        "churns": ("person",),
        "knows": ("person", "person"),
        "paid": ("person", "price"),
        "lives": ("person", "city"),
    },
    {"price": "number"},
)
MODES = [parse_mode("knows(+person,-person).")]
KNOWS = [("ann", "bob"), ("bob", "ann"), ("bob", "cat"), ("cat", "dan"), ("dan", "dan"), ("ann", "dan")]
PAID = [("ann", 10.0, 1.0), ("ann", 2.5, 2.0), ("bob", 7.0, 3.0), ("cat", 10.0, 4.0), ("dan", 3.0, 5.0)]
LIVES = [("ann", "O'Hara"), ("bob", 'say "hi"'), ("cat", "O'Hara")]
KEYS = ["ann", "bob", "dan", "eve"]
CLAUSES = [
    "churns(A) :- knows(A,B).",
    "churns(A) :- knows(B,A), knows(B,C).",
    "churns(A) :- knows(A,B), knows(B,C), knows(C,A).",
    "churns(A) :- knows(A,B), not knows(B,A).",
    "churns(A) :- not knows(A,B).",
    "churns(A) :- not knows(A,B), lives(B,C).",
    "churns(A) :- paid(A,B), B >= 5.",
    "churns(A) :- knows(A,B), paid(B,C), C < 7.5.",
    "churns(A) :- lives(A,B), lives(C,B).",
    "churns(A) :- knows(A,B), lives(B,'O\\'Hara').",
    "churns(A) :- knows(B,B).",
    "churns(A) :- lives(A,'nowhere'), knows(A,B).",
]


@pytest.fixture(params=[False, True], ids=["without times", "with times"])
def databases(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Database, Database]:
    """The same facts in memory and in a DuckDB file."""
    timed = request.param
    facts = {
        "knows": [list(column) for column in zip(*KNOWS, strict=True)],
        "paid": [[row[0] for row in PAID], [f"{row[1]:g}" for row in PAID]],
        "lives": [list(column) for column in zip(*LIVES, strict=True)],
    }
    labels = [1, 0, 1, 0]
    examples = {"churns": ([[key] for key in KEYS], labels)}
    times = {"paid": [row[2] for row in PAID]} if timed else None
    loaded = build(SCHEMA, MODES, facts, examples, times=times)
    with duckdb.connect(str(tmp_path / "facts.duckdb")) as made:
        made.execute("CREATE TABLE knows (who VARCHAR, whom VARCHAR)")
        made.executemany("INSERT INTO knows VALUES (?, ?)", [*KNOWS, KNOWS[0]])
        made.execute("CREATE TABLE paid (who VARCHAR, price DOUBLE, day DOUBLE)")
        made.executemany("INSERT INTO paid VALUES (?, ?, ?)", PAID)
        made.execute("CREATE TABLE lives (who VARCHAR, city VARCHAR)")
        made.executemany("INSERT INTO lives VALUES (?, ?)", [*LIVES, ("dan", None)])
    connection = DuckDBConnection(10**9)
    connection.attach(tmp_path / "facts.duckdb", "facts")
    tables = {
        "knows": SqlTable(("facts", "knows"), ("who", "whom")),
        "paid": SqlTable(("facts", "paid"), ("who", "price"), time="day" if timed else None),
        "lives": SqlTable(("facts", "lives"), ("who", "city")),
    }
    facts_in_place = TableFacts(TableSource(connection, SCHEMA, tables), closes_connection=True)
    keys = Coded(KEYS, np.arange(len(KEYS), dtype=np.int32))
    given = GivenExamples([keys], np.array(labels, dtype=np.int8))
    return loaded, database_in_place(facts_in_place, MODES, "churns", given)


@pytest.mark.parametrize("text", CLAUSES)
def test_the_groundings_named_in_place_are_those_found_in_memory(
    text: str, databases: tuple[Database, Database]
) -> None:
    loaded, in_place = databases
    clause = parse_clause(text, SCHEMA)
    names = [["ann"], ["bob"], ["cat"], ["dan"], ["eve"], ["stranger"]]
    if loaded.has_times:
        names = [[*name, cutoff] for name in names for cutoff in ("0", "2", "3.5", "inf")]
    rows = np.array(names, dtype=object)
    keys = zip(loaded.encode_keys("churns", rows), in_place.encode_keys("churns", rows), strict=True)
    for name, (key, same) in zip(names, keys, strict=True):
        right = named_groundings(loaded, clause, key, 1000)
        found = named_groundings(in_place, clause, same, 1000)
        # An example names eve, so she is in the population; but no table has her.
        assert set(found) == {each for each in right if "eve" not in each}, name
        assert len(found) == len(set(found))
        assert named_groundings(in_place, clause, same, 2) == found[:2]
    in_place.close()
