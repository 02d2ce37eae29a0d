"""Facts that stay in their tables are counted as if they had been loaded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from every_engine import ENGINES
from example_tables import ExampleTable, in_place
from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.data.numbers import quantiles
from hornbeam.data.under_schema import under
from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.drivers.duckdb import DuckDBConnection, DuckDBEngine
from hornbeam.engines.sql.expressions import SqlTable
from hornbeam.errors import EngineError, LimitError, OptionError, SchemaError
from hornbeam.in_place.histogram import Histogram
from hornbeam.learning.learners import learn
from hornbeam.logic.parse import parse_clause, parse_mode
from hornbeam.logic.schema import Schema, schema_of
from hornbeam.model.files import model_text
from plain_options import plain

MODES = tuple(
    map(parse_mode, ["risk(+person).", "friends(+person,-person).", "job(+person,#work).", "rich(+person)."])
)
SCHEMA = schema_of(MODES)
HOSTILE = ['clerk"; DROP TABLE x; --', "it's", "back\\slash", "naïve Ω", "", "NULL", "%s {} $1 ?"]
FRIENDS = [(1, 2), (1, 3), (2, 3), (3, 4), (4, 1), (5, 5), (1, 2), (None, 2), (2, None)]
JOBS = [(n % 7, HOSTILE[n % len(HOSTILE)]) for n in range(12)] + [(9, None)]
EXAMPLES = [(1, 1), (2, 1), (3, 0), (4, 0), (5, 1), (77, 0)]
CLAUSES = [
    "risk(A) :- friends(A,B).",
    "risk(A) :- friends(A,B), friends(B,C), not friends(C,A).",
    "risk(A) :- friends(A,B), job(B,'it\\'s').",
    "risk(A) :- job(A,'clerk\"; DROP TABLE x; --').",
    "risk(A) :- friends(A,B), job(B,''), job(A,'back\\\\slash').",
    "risk(A) :- not job(A,B), friends(C,D).",
    "risk(A) :- friends(A,B), job(B,nobody).",
    "risk(A) :- rich(A).",
    "risk(A) :- friends(A,A).",
]
CYCLES = [
    "risk(A) :- friends(A,B), friends(B,C), friends(C,A).",
    "risk(A) :- friends(A,B), friends(A,C), friends(A,D), friends(B,C), friends(B,D), friends(C,D).",
    "risk(A) :- friends(B,C), friends(C,D), friends(D,B).",
]
TABLES = {"friends": ("friend ships", ["from", "to"]), "job": ('jobs"`', ["who", "what"])}


def expected() -> Database:
    facts = {
        "friends": [[str(pair[side]) for pair in FRIENDS if None not in pair] for side in (0, 1)],
        "job": [[str(pair[side]) for pair in JOBS if None not in pair] for side in (0, 1)],
    }
    rows = [[str(key)] for key, _ in EXAMPLES]
    return build(SCHEMA, MODES, facts, {"risk": (rows, [label for _, label in EXAMPLES])})


def duckdb_file(folder: Path) -> Connection:
    """A DuckDB file, read only."""
    file = folder / "facts.duckdb"
    with duckdb.connect(str(file)) as own:
        own.execute('CREATE TABLE "friend ships" ("from" INTEGER, "to" INTEGER)')
        own.executemany('INSERT INTO "friend ships" VALUES (?, ?)', FRIENDS)
        own.execute('CREATE TABLE "jobs""`" (who INTEGER, what VARCHAR)')
        own.executemany('INSERT INTO "jobs""`" VALUES (?, ?)', JOBS)
        own.execute("CREATE TABLE people (id INTEGER, label BOOLEAN)")
        own.executemany("INSERT INTO people VALUES (?, ?)", EXAMPLES)
    connection = DuckDBConnection(2_000_000_000)
    connection.attach(file, "facts")
    return connection


def postgres_tables(folder: Path) -> Connection:
    import psycopg

    import servers
    from hornbeam.engines.sql.drivers.postgres import PostgresConnection

    with psycopg.connect(servers.postgres(), autocommit=True) as own, own.cursor() as cursor:
        cursor.execute("DROP SCHEMA IF EXISTS facts CASCADE; CREATE SCHEMA facts")
        cursor.execute('CREATE TABLE facts."friend ships" ("from" INTEGER, "to" INTEGER)')
        cursor.executemany('INSERT INTO facts."friend ships" VALUES (%s, %s)', FRIENDS)
        cursor.execute('CREATE TABLE facts."jobs""`" (who INTEGER, what VARCHAR(90))')
        cursor.executemany('INSERT INTO facts."jobs""`" VALUES (%s, %s)', JOBS)
        cursor.execute("CREATE TABLE facts.people (id INTEGER, label BOOLEAN)")
        cursor.executemany("INSERT INTO facts.people VALUES (%s, %s)", [(k, bool(y)) for k, y in EXAMPLES])
    return PostgresConnection(servers.postgres(), 2_000_000_000)


def spark_views(folder: Path) -> Connection:
    import pyarrow

    from hornbeam.engines.sql.drivers.spark import SparkConnection

    connection = SparkConnection()
    tables = {"friend ships": (["from", "to"], FRIENDS), 'jobs"`': (["who", "what"], JOBS)}
    tables["people"] = (["id", "label"], EXAMPLES)
    for name, (columns, rows) in tables.items():
        arrays = [pyarrow.array(values) for values in zip(*rows, strict=True)]
        frame = connection._spark.createDataFrame(pyarrow.table(arrays, names=columns))
        # A name with a backtick cannot be a view; a file can have any name.
        file = folder / name.replace("/", "")
        frame.write.parquet(str(file))
    return connection


PLACES = {"duckdb": duckdb_file, "postgres": postgres_tables, "spark": spark_views}


@pytest.fixture(params=[name for name in PLACES if name in ENGINES])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Database, type[Engine]]]:
    connection = PLACES[request.param](tmp_path)

    def name(table: str) -> tuple[str, ...]:
        if request.param == "spark":
            return ("parquet", str(tmp_path / table))
        return ("facts", table)

    tables = {key: SqlTable(name(table), tuple(columns)) for key, (table, columns) in TABLES.items()}
    examples = ExampleTable(name("people"), ("id",), "label")
    yield in_place(connection, SCHEMA, MODES, tables, "risk", examples), ENGINES[request.param]
    connection.close()


def test_counts_totals_and_constants_are_those_of_loaded_facts(
    opened: tuple[Database, type[Engine]],
) -> None:
    database, engine = opened
    loaded = expected()
    assert {name: len(database.population(name)) for name in SCHEMA.types()} == {
        name: len(loaded.population(name)) for name in SCHEMA.types()
    }
    assert database.constants == loaded.constants
    clauses = [parse_clause(text, SCHEMA) for text in CLAUSES]
    names = np.array([["1"], ["2"], ["77"], ["5"], ["stranger"], ["9"]], dtype=object)
    keys, same = database.encode_keys("risk", names), loaded.encode_keys("risk", names)
    assert (keys == -1).tolist() == (same == -1).tolist()
    for clause, found, right in zip(
        clauses,
        counter_of(engine(database)).count(clauses, keys),
        counter_of(MemoryEngine(loaded)).count(clauses, same),
        strict=True,
    ):
        assert isinstance(found, Counts) and isinstance(right, Counts)
        assert found.true.tolist() == right.true.tolist(), clause
        assert found.total == right.total, clause


def test_what_is_counted_in_place_within_a_budget_is_right(opened: tuple[Database, type[Engine]]) -> None:
    database, engine = opened
    loaded = expected()
    clauses = [parse_clause(text, SCHEMA) for text in [*CLAUSES, *CYCLES]]
    names = np.array([["1"], ["2"], ["77"], ["5"], ["stranger"], ["9"]], dtype=object)
    keys, same = database.encode_keys("risk", names), loaded.encode_keys("risk", names)
    right = counter_of(MemoryEngine(loaded)).count(clauses, same)
    for budget in (0, 2_000, 100_000_000):
        found = counter_of(engine(database, budget)).count(clauses, keys)
        for counts, true in zip(found, right, strict=True):
            assert isinstance(true, Counts)
            if isinstance(counts, Skipped):
                assert counts.estimate > counts.budget == budget
            else:
                assert counts.true.tolist() == true.true.tolist()


def test_facts_that_do_not_fit_the_budget_are_not_loaded_for_a_search(
    opened: tuple[Database, type[Engine]],
) -> None:
    database, engine = opened
    with pytest.raises(LimitError, match=r"facts take about .* MB, more than the budget of 0\.0003 MB"):
        learn("rlr", engine(database, 300), database.examples_of("risk"), plain())


def test_questions_about_facts_are_answered_by_queries(opened: tuple[Database, type[Engine]]) -> None:
    database, _ = opened
    loaded = expected()
    assert database.is_in_place and not loaded.is_in_place
    for predicate in SCHEMA.predicates:
        assert database.n_facts(predicate) == loaded.n_facts(predicate), predicate
        assert database.has_facts(predicate) == loaded.has_facts(predicate), predicate
        assert database.facts.is_identity(predicate) == loaded.facts.is_identity(predicate), predicate
        places = range(SCHEMA.arity(predicate))
        for positions in ((), *((place,) for place in places), tuple(places)):
            assert database.facts.shape_at(predicate, positions) == loaded.facts.shape_at(
                predicate, positions
            ), (predicate, positions)
    for least in (1, 2, 3, 4):
        assert database.frequent("friends", 0, least) == loaded.frequent("friends", 0, least)
    assert database.has_times is loaded.has_times is False
    with pytest.raises(SchemaError, match=r"must have the schema that the model was learned with.*origin="):
        under(database, Schema({"friends": ("human", "human")}))


def test_the_same_model_is_learned_where_the_facts_are(opened: tuple[Database, type[Engine]]) -> None:
    database, engine = opened
    options = plain(n_steps=2, max_literals=2, l2=0.5, neg_pos_ratio=None)
    models = []
    for data, counting in ((database, engine(database)), (expected(), MemoryEngine(expected()))):
        examples = data.examples_of("risk")
        models.append(model_text(learn("rlr", counting, examples, options).model))
    assert models[0] == models[1]


def test_parquet_and_csv_files_are_read_in_place(tmp_path: Path) -> None:
    with duckdb.connect() as own:
        own.execute(f"COPY (SELECT 1 a, 2 b UNION ALL SELECT 2, 3) TO '{tmp_path / 'f.parquet'}'")
        own.execute(f"COPY (SELECT 1 who, 1 label UNION ALL SELECT 2, 0) TO '{tmp_path / 'e.csv'}' (HEADER)")
    connection = DuckDBConnection(2_000_000_000)
    tables = {"friends": SqlTable((str(tmp_path / "f.parquet"),), ("a", "b"))}
    examples = ExampleTable((str(tmp_path / "e.csv"),), ("who",), "label")
    database = in_place(connection, SCHEMA, MODES, tables, "risk", examples)
    clause = parse_clause("risk(A) :- friends(A,B), friends(B,C).", SCHEMA)
    (counts,) = counter_of(DuckDBEngine(database)).count([clause], database.examples_of("risk").keys)
    assert isinstance(counts, Counts) and (counts.true.tolist(), counts.total) == ([1, 0], 9)
    connection.close()


@given(
    values=st.lists(st.sampled_from([0.0, -1.5, 2.0, 7.25, 1e300, 3.0, 4.0, 5.0]), max_size=30),
    number=st.integers(1, 6),
)
@settings(max_examples=20)
def test_thresholds_asked_for_are_those_of_values_that_are_here(values: list[float], number: int) -> None:
    connection = DuckDBConnection(2_000_000_000)
    counts = exp.select(exp.alias_(exp.column("x"), "v"), exp.alias_(exp.Count(this=exp.Star()), "n"))
    rows = exp.values([(value,) for value in values] or [(None,)], alias="t", columns=["x"])
    counts = counts.from_(rows).where("x IS NOT NULL").group_by("x")
    found = Histogram(connection, counts).thresholds(number)
    connection.close()
    assert found == quantiles(np.array(values, dtype=np.float64), number, "number")


def test_other_engines_and_wrong_tables_are_refused(tmp_path: Path) -> None:
    connection = duckdb_file(tmp_path)
    friends = {"friends": SqlTable(("facts", "friend ships"), ("from", "to"))}
    examples = ExampleTable(("facts", "people"), ("id",), "label")
    database = in_place(connection, SCHEMA, MODES, friends, "risk", examples)
    clause = parse_clause("risk(A) :- friends(A,B).", SCHEMA)
    with pytest.raises(EngineError, match='only engine="duckdb" can count them there'):
        counter_of(MemoryEngine(database)).count([clause], database.examples_of("risk").keys)
    if "postgres" in ENGINES:
        with pytest.raises(OptionError, match='use engine="duckdb"'):
            counter_of(ENGINES["postgres"](database)).count([clause], database.examples_of("risk").keys)
    with pytest.raises(SchemaError, match='1 columns for "friends", which takes 2'):
        in_place(connection, SCHEMA, MODES, {"friends": SqlTable(("x",), ("a",))}, "risk", examples)
    with pytest.raises(EngineError, match=r"DuckDB failed: .*gone"):
        in_place(connection, SCHEMA, MODES, {"friends": SqlTable(("gone",), ("a", "b"))}, "risk", examples)
    connection.close()
