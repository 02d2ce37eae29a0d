"""Sessions of SQL engines: budgets that drop tables, nothing left behind, and faults in one sentence."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

import servers
from every_engine import ENGINES, MISSING
from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.datasets.worlds import smokers
from hornbeam.engines.contract import BYTES_PER_ANSWER, Counts, Skipped
from hornbeam.engines.counting.exact_sums import whole_logarithms
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.counts import tables as count_tables
from hornbeam.engines.sql.drivers.duckdb import DuckDBConnection, DuckDBEngine
from hornbeam.engines.sql.engine import SqlEngine
from hornbeam.engines.sql.expressions import SqlTable
from hornbeam.engines.sql.queries import logarithms_query
from hornbeam.errors import EngineError
from hornbeam.in_place.database import ExampleTable, in_place
from hornbeam.learning.boosting.boost import fit
from hornbeam.learning.loop import Control
from hornbeam.learning.problem import language_for
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.refine import refinements
from hornbeam.logic.schema import Schema
from hornbeam.model.files import model_text
from plain_options import plain
from strategies import Case, cases

OPTIONS = plain(n_steps=3, max_literals=2, l2=1.0, neg_pos_ratio=None, feature="count")
with_postgres = pytest.mark.skipif("postgres" not in ENGINES, reason="no PostgreSQL server to start")


@pytest.fixture(scope="module")
def world() -> Database:
    return smokers(n_persons=60, seed=3)


def tables_of(engine: DuckDBEngine) -> set[str]:
    assert engine._connection is not None
    return {name for (name,) in engine._connection.rows("SELECT table_name FROM duckdb_tables()")}


# --- templates of queries ----------------------------------------------------------------------


def test_a_query_written_once_serves_other_examples_and_other_heads() -> None:
    pairs = ("person", "person")
    likes = [[f"p{n % 12}" for n in range(40)], [f"p{(n * n + n // 5) % 12}" for n in range(40)]]
    world = build(Schema({"likes": pairs, "knows": pairs}), (), {"likes": likes}, {})
    clauses = [
        parse_clause(f"knows(A,B) :- {body}.", world.schema)
        for body in (
            "likes(A,C), likes(C,D)",
            "likes(C,A), likes(C,B)",
            "likes(A,C), likes(C,D), likes(D,A)",
            "likes(A,C), likes(D,B)",
            "not likes(B,C)",
        )
    ]
    engine, right = DuckDBEngine(world), NaiveEngine(world)
    written = []
    for seed in range(3):
        keys = np.random.default_rng(seed).integers(-1, 12, (9, 2), dtype=np.int32)
        for some in [[clause] for clause in clauses] + [clauses]:
            found, expected = engine.count(some, keys), right.count(some, keys)
            for ours, theirs in zip(found, expected, strict=True):
                assert isinstance(ours, Counts)
                assert isinstance(theirs, Counts)
                assert (ours.true.tolist(), ours.total) == (theirs.true.tolist(), theirs.total)
        written.append(dict(engine._templates._templates))
    assert len(written[0]) > len(clauses)
    assert written[0] == written[2]
    engine.close()


# --- budgets -----------------------------------------------------------------------------------


@given(case=cases(), memory=st.sampled_from((400, 1_000, 2_000, 5_000)), seed=st.integers(0, 9))
@pytest.mark.parametrize("engine", [DuckDBEngine], ids=["duckdb"])
def test_tables_dropped_for_room_change_no_sum(
    engine: type[DuckDBEngine], case: Case, memory: int, seed: int
) -> None:
    clauses = list(dict.fromkeys(case.clauses))
    session = engine(case.database, memory).session(case.keys)
    right = NaiveEngine(case.database).session(case.keys)
    random = np.random.default_rng(seed)
    for some in (clauses, clauses[:1], clauses[::-1]):
        gradients = random.integers(-(2**30), 2**30, len(case.keys))
        session.set_gradients(gradients)
        right.set_gradients(gradients)
        found = session.sums(some)
        expected = right.sums(found.clauses)
        assert {*found.clauses} | {skipped.clause for skipped in found.skipped} == set(some)
        assert found.true == expected.true
        assert found.true_squared == expected.true_squared
        assert found.true_gradient == expected.true_gradient
        for clause in found.clauses:
            assert session.column(clause).tolist() == right.column(clause).tolist()
    session.close()


def test_a_search_within_a_small_budget_drops_tables_and_finds_the_same(world: Database) -> None:
    examples = world.examples_of("cancer")
    language = language_for(world, "cancer", False, 0)
    first = refinements(language.empty(), language)
    clauses = list(dict.fromkeys(longer for clause in first for longer in refinements(clause, language)))
    sums = []
    dropped = []
    for memory, again in ((2_000_000_000, 0), (12_000, len(clauses))):
        engine = DuckDBEngine(world, memory)
        session = engine.session(examples.keys)
        session.set_gradients(np.arange(len(examples), dtype=np.int64) * 1000)
        session.sums(clauses)
        session.set_gradients(np.arange(len(examples), dtype=np.int64) * 7)
        found = session.sums(clauses)
        # Within a small budget, the answers are forgotten too.
        assert found.counted == again and not found.skipped
        sums.append((found.true, found.true_squared, found.true_gradient))
        assert engine._connection is not None
        dropped.append(engine._connection._names - len(tables_of(engine)))
        session.close()
    assert sums[0] == sums[1]
    assert dropped[1] > dropped[0]


def test_answers_are_forgotten_before_they_exceed_their_share_of_the_budget(world: Database) -> None:
    """The sums of forgotten clauses are computed again, and are the same."""
    examples = world.examples_of("cancer")
    language = language_for(world, "cancer", False, 0)
    first = refinements(language.empty(), language)
    clauses = list(dict.fromkeys(longer for clause in first for longer in refinements(clause, language)))
    assert len(clauses) >= 8
    memory = 4 * BYTES_PER_ANSWER * (len(clauses) // 2)
    sessions = [DuckDBEngine(world, budget).session(examples.keys) for budget in (memory, 2_000_000_000)]
    found = []
    for session in sessions:
        session.set_gradients(np.arange(len(examples), dtype=np.int64) * 1000)
        sums = []
        for start in [*range(0, len(clauses), 3), 0]:
            some = session.sums(clauses[start : start + 3])
            sums.append((some.clauses, some.true, some.true_squared, some.true_gradient))
        found.append((sums, len(session._answers)))  # type: ignore[attr-defined]
        session.close()
    assert found[0][0] == found[1][0]
    assert BYTES_PER_ANSWER * found[0][1] <= memory // 4 < BYTES_PER_ANSWER * found[1][1]


# --- nothing is left behind ----------------------------------------------------------------------


def test_closing_a_session_leaves_only_the_facts(world: Database) -> None:
    engine = DuckDBEngine(world)
    examples = world.examples_of("cancer")
    fit(engine, examples, OPTIONS)
    assert engine._source is not None
    assert tables_of(engine) == {relation.item.name for relation in engine._source._relations.values()}


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupt_or_an_error_leaves_only_the_facts(world: Database, error: type[BaseException]) -> None:
    engine = DuckDBEngine(world)
    examples = world.examples_of("cancer")

    def on_step(step: object) -> None:
        raise error

    if error is KeyboardInterrupt:
        assert fit(engine, examples, OPTIONS, Control(on_step=on_step)).history.cut
    else:
        with pytest.raises(error):
            fit(engine, examples, OPTIONS, Control(on_step=on_step))
    assert engine._source is not None
    assert len(tables_of(engine)) == len(engine._source._relations)


def test_an_engine_can_be_used_again_after_it_was_closed(world: Database) -> None:
    engine = DuckDBEngine(world)
    examples = world.examples_of("cancer")
    models = []
    for _ in range(2):
        models.append(model_text(fit(engine, examples, OPTIONS).model))
        engine.close()
    assert models[0] == models[1]


def test_closing_waits_for_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    # It may run while a thread starts and holds a lock that waiting for another thread needs.
    def never(thread: threading.Thread, timeout: float | None = None) -> None:
        raise AssertionError("waited for a thread")

    connection = DuckDBConnection(10**9)
    assert connection.rows("SELECT 1") == [(1,)]
    monkeypatch.setattr(threading.Thread, "join", never)
    connection.close()


def test_the_spill_folder_is_removed(tmp_path: Path) -> None:
    connection = DuckDBConnection(0, tmp_path)
    connection.rows("SELECT COUNT(*) FROM (SELECT DISTINCT hash(range) h, range FROM range(20000000))")
    connection.close()
    assert list(tmp_path.iterdir()) == []


def interrupted(connection: Connection, query: str) -> None:
    """Press Ctrl-C during a query that would run far longer than the test waits."""
    timer = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        connection.rows(query)
    timer.join()
    assert connection.rows("SELECT 1") == [(1,)]


def test_ctrl_c_amid_a_query_of_duckdb_is_just_that() -> None:
    import polars  # noqa: F401 - it sets a handler of Ctrl-C of its own, which does not end a wait

    connection = DuckDBConnection(2_000_000_000)
    endless = "SELECT COUNT(*) FROM range(100000000) a, range(100000) b WHERE hash(a.range + b.range) % 7 = 0"
    interrupted(connection, endless)
    connection.close()


@with_postgres
def test_ctrl_c_amid_a_query_of_postgres_is_just_that() -> None:
    from hornbeam.engines.sql.drivers.postgres import PostgresConnection

    connection = PostgresConnection(servers.postgres(), 2_000_000_000)
    interrupted(connection, "SELECT pg_sleep(3600)")
    connection.close()


# --- faults: DuckDB ------------------------------------------------------------------------------


def one_sentence(error: EngineError) -> str:
    text = str(error)
    assert "\n" not in text
    return text


def test_no_room_to_spill_is_one_sentence(tmp_path: Path) -> None:
    connection = DuckDBConnection(0, tmp_path)
    connection.rows("SET max_temp_directory_size = '1MB'")
    with pytest.raises(EngineError) as caught:
        connection.rows("SELECT COUNT(*) FROM (SELECT DISTINCT hash(range) h, range FROM range(50000000))")
    assert re.match(r"DuckDB ran out of memory or of disk space in .*memory=", one_sentence(caught.value))
    assert connection.rows("SELECT 1") == [(1,)]
    connection.close()


def test_a_table_that_somebody_dropped_is_one_sentence(tmp_path: Path) -> None:
    import duckdb

    file = tmp_path / "facts.parquet"
    with duckdb.connect() as own:
        own.execute(f"COPY (SELECT range AS a, (range + 1) % 9 AS b FROM range(9)) TO '{file}'")
        own.execute(f"COPY (SELECT range AS a, range % 2 AS y FROM range(9)) TO '{tmp_path / 'e.parquet'}'")
    world = smokers(n_persons=10, seed=1)
    connection = DuckDBConnection(2_000_000_000)
    database = in_place(
        connection,
        world.schema,
        world.modes,
        {"friends": SqlTable((str(file),), ("a", "b"))},
        "cancer",
        ExampleTable((str(tmp_path / "e.parquet"),), ("a",), "y"),
    )
    examples = database.examples_of("cancer")
    engine = DuckDBEngine(database)
    fit(engine, examples, OPTIONS)
    before = connection.rows("SELECT COUNT(*) FROM duckdb_tables()")
    file.unlink()
    with pytest.raises(EngineError) as caught:
        fit(engine, examples, OPTIONS)
    assert "facts.parquet" in one_sentence(caught.value)
    assert connection.rows("SELECT COUNT(*) FROM duckdb_tables()") == before
    connection.close()


# --- faults: PostgreSQL --------------------------------------------------------------------------


@pytest.fixture
def own_server() -> Iterator[tuple[str, Path]]:
    server, folder = servers.start()
    yield server, folder
    servers.stop(folder)


@with_postgres
def test_a_fit_goes_on_from_its_last_step_after_the_server_was_lost(
    world: Database, own_server: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hornbeam.engines.sql.drivers.postgres import PostgresEngine

    # Counts that were fetched would be enough for all steps.
    monkeypatch.setattr(count_tables, "MOST_FETCHED", 0)
    server, folder = own_server
    examples = world.examples_of("cancer")
    steps = []

    def on_step(step: object) -> None:
        steps.append(step)
        if len(steps) == 2:
            servers.stop(folder)

    with pytest.raises(EngineError) as caught:
        engine = PostgresEngine(world, server=server)
        fit(engine, examples, OPTIONS, Control(on_step=on_step, checkpoint=tmp_path / "saved"))
    assert "connection to PostgreSQL was lost" in one_sentence(caught.value)
    assert len(steps) == 2
    with pytest.raises(EngineError) as caught:
        PostgresEngine(world, server=server).session(examples.keys)
    assert "PostgreSQL cannot be reached" in one_sentence(caught.value)

    again = []
    engine = PostgresEngine(world, server=servers.postgres())
    found = fit(engine, examples, OPTIONS, Control(on_step=again.append, checkpoint=tmp_path / "saved"))
    assert len(again) == 1
    right = fit(MemoryEngine(world), examples, OPTIONS)
    assert model_text(found.model) == model_text(right.model)


@with_postgres
def test_a_missing_permission_says_what_to_grant_and_a_scratch_schema_serves(world: Database) -> None:
    import psycopg

    from hornbeam.engines.sql.drivers.postgres import PostgresEngine

    server = servers.postgres()
    reader = server.replace("user=hornbeam", "user=reader")
    examples = world.examples_of("cancer")
    with psycopg.connect(server, autocommit=True) as own:
        own.execute('DROP SCHEMA IF EXISTS "my scratch" CASCADE')
        own.execute("DROP ROLE IF EXISTS reader")
        own.execute("CREATE ROLE reader LOGIN")
        own.execute("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
        try:
            with pytest.raises(EngineError) as caught:
                fit(PostgresEngine(world, server=reader), examples, OPTIONS)
            assert re.search(r"PostgreSQL refused: permission denied.*grant", one_sentence(caught.value))
            own.execute('CREATE SCHEMA "my scratch" AUTHORIZATION reader')
            engine = PostgresEngine(world, server=reader, scratch="my scratch")
            found = fit(engine, examples, OPTIONS)
            count = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'my scratch'"
            assert engine._source is not None
            assert own.execute(count).fetchall() == [(len(engine._source._relations),)]
            engine.close()
            assert own.execute(count).fetchall() == [(0,)]
        finally:
            own.execute("GRANT TEMPORARY ON DATABASE postgres TO PUBLIC")
            own.execute('DROP SCHEMA IF EXISTS "my scratch" CASCADE')
            own.execute("DROP ROLE reader")
    right = fit(MemoryEngine(world), examples, OPTIONS)
    assert model_text(found.model) == model_text(right.model)


@with_postgres
def test_a_fact_table_dropped_in_a_server_is_one_sentence(world: Database) -> None:
    import psycopg

    from hornbeam.engines.sql.drivers.postgres import PostgresConnection

    with psycopg.connect(servers.postgres(), autocommit=True) as own:
        own.execute("CREATE TABLE knows (a INT, b INT)")
        own.execute("INSERT INTO knows VALUES (1, 2), (2, 3)")
        own.execute("CREATE TABLE sick (a INT, y INT)")
        own.execute("INSERT INTO sick VALUES (1, 1), (2, 0)")
        try:
            connection = PostgresConnection(servers.postgres(), 2_000_000_000)
            tables = {"friends": SqlTable(("knows",), ("a", "b"))}
            where = ExampleTable(("sick",), ("a",), "y")
            database = in_place(connection, world.schema, world.modes, tables, "cancer", where)
        finally:
            own.execute("DROP TABLE knows, sick")
    examples = database.examples_of("cancer")
    with pytest.raises(EngineError) as caught:
        engine = ENGINES["postgres"](database)
        fit(engine, examples, OPTIONS)
    assert re.search(r'no longer has .*"knows"', one_sentence(caught.value))
    assert database.tables is not None
    source = database.tables.source
    made = {*source._constants.values(), *(r.item.name for r in source._relations.values() if r.own)}
    query = "SELECT relname FROM pg_class WHERE relnamespace = pg_my_temp_schema() AND relkind = 'r'"
    assert {name for (name,) in connection.rows(query)} == made
    connection.close()


# --- faults: Spark -------------------------------------------------------------------------------


@pytest.mark.skipif("spark" not in ENGINES, reason=f"no Spark: it needs {MISSING.get('spark')}")
def test_a_stopped_spark_is_one_sentence_and_a_fit_goes_on_in_another(
    world: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hornbeam.engines.sql.drivers.spark import SparkConnection, SparkEngine

    monkeypatch.setattr(count_tables, "MOST_FETCHED", 0)
    examples = world.examples_of("cancer")
    engine = SparkEngine(world)
    given = (examples, replace(OPTIONS, max_literals=1))

    def on_step(step: object) -> None:
        assert isinstance(engine._connection, SparkConnection)
        engine._connection._spark.stop()

    with pytest.raises(EngineError) as caught:
        fit(engine, *given, Control(on_step, tmp_path / "saved"))
    assert one_sentence(caught.value).startswith("Spark ")
    engine.close()
    again: list[object] = []
    found = fit(engine, *given, Control(again.append, tmp_path / "saved"))
    engine.close()
    assert len(again) == 2
    assert model_text(found.model) == model_text(fit(MemoryEngine(world), *given).model)


# --- large numbers -------------------------------------------------------------------------------


SQL_ENGINES = {name: engine for name, engine in ENGINES.items() if name not in ("naive", "memory")}


@pytest.mark.parametrize("engine", SQL_ENGINES.values(), ids=SQL_ENGINES.keys())
def test_logarithms_are_summed_as_in_memory(engine: type[SqlEngine], world: Database) -> None:
    examples = world.examples_of("cancer")
    texts = (
        "cancer(A) :- friends(A,B), friends(B,C), friends(C,D).",
        "cancer(A) :- friends(A,B), smokes(B).",
        "cancer(A) :- friends(B,C), not smokes(A).",
        "cancer(A) :- smokes(A).",
    )
    clauses = [parse_clause(text, world.schema) for text in texts]
    sessions = [
        counting.session(examples.keys, logarithm=True) for counting in (engine(world), MemoryEngine(world))
    ]
    for factor in (2**20, -3):
        for session in sessions:
            session.set_gradients(np.arange(len(examples), dtype=np.int64) * factor)
        found, right = (session.sums(clauses) for session in sessions)
        for part in ("clauses", "total", "true", "true_squared", "true_gradient", "counted"):
            assert getattr(found, part) == getattr(right, part), part
    for clause in clauses:
        assert sessions[0].column(clause).tolist() == sessions[1].column(clause).tolist()
    for session in sessions:
        session.close()


@pytest.mark.parametrize("engine", SQL_ENGINES.values(), ids=SQL_ENGINES.keys())
def test_a_logarithm_is_the_same_whole_number_everywhere(engine: type[SqlEngine], world: Database) -> None:
    large = (2 ** np.linspace(20, 62.9, 400_000)).astype(np.int64)
    counts = np.concatenate([np.arange(1_600_000), large])[:: 10 if engine.name == "spark" else 1]
    connection = engine(world)._connect()
    name = connection.new_name()
    numbers = np.arange(len(counts))
    connection.load(name, {"example": numbers, "weight": numbers, "t0": counts})
    table = exp.select("example", "weight", "t0").from_(name)
    query = connection.dialect.text(logarithms_query(connection.dialect, table, 1))
    example, _, found = connection.integers(query, 3)
    assert np.array_equal(found, whole_logarithms(counts)[example])
    connection.close()


@pytest.mark.parametrize("engine", SQL_ENGINES.values(), ids=SQL_ENGINES.keys())
def test_squares_past_every_integer_type_are_summed_exactly(engine: type, world: Database) -> None:
    """Counts near 2**62: their squares are near 2**124, and the sum of a few exceeds every wide type."""
    from hornbeam.data.build import build
    from hornbeam.logic.clauses import Atom, Clause, head_atom
    from hornbeam.logic.schema import Schema

    schema = Schema({"t": ("p",), "q": ("p", "v")})
    size = 2**10 + 3
    facts = {"q": [["a"] * size + ["b"], [f"v{i}" for i in range(size)] + ["v0"]]}
    database = build(schema, (), facts, {"t": ([["a"], ["b"], ["c"]], [1, 0, 0])})
    keys = np.array([[0], [0], [0], [1], [0], [0], [0], [0]], dtype=np.int32)
    session = engine(database).session(keys)
    body = tuple(Atom("q", (0, 1 + number)) for number in range(6))
    clauses = [Clause(head_atom("t", 1), body), Clause(head_atom("t", 1), (*body, Atom("q", (0, 7))))]
    gradients = np.array([2**30, -(2**30), 3, 4, 5, 6, 7, 2**30], dtype=np.int64)
    session.set_gradients(gradients)
    sums = session.sums(clauses)
    count = [size**6 if key == 0 else 1 for key in keys.ravel().tolist()]
    assert list(sums.clauses) == clauses[:1]
    assert [type(skipped) for skipped in sums.skipped] == [Skipped]
    assert sums.skipped[0].estimate == size**7
    assert sums.true == [sum(count)]
    assert sums.true_squared == [sum(t * t for t in count)]
    assert sums.true_gradient == [sum(t * d for t, d in zip(count, gradients.tolist(), strict=True))]
    assert session.column(clauses[0]).tolist() == count
    session.close()
    (counted,) = engine(database).count(clauses[:1], keys)
    assert isinstance(counted, Counts) and counted.true.tolist() == count
